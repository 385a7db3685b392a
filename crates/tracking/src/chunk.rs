//! One array's only chunk: written through a memory map where that is safe, else by position.

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use crate::arrays::ArrayKind;
use crate::files::ChunkFile;
use crate::keeper::KeptChunk;
use crate::mapped::Mapping;

/// Unit of allocation: the page of all file systems on which maps are used.
const PAGE: u64 = 4096;
/// Most pages allocated at once. Page by page, the pages of twelve arrays would alternate on the
/// disk, and a sync would write each of them by itself.
const MOST_PAGES: u64 = 64;
/// Bytes read at once where a chunk is taken into memory: stays in the processor's cache.
const READ_STEP: usize = 256 << 10;

/// An open chunk.
#[derive(Debug)]
pub(crate) struct Chunk {
    kind: ArrayKind,
    path: PathBuf,
    file: Arc<dyn ChunkFile>,
    length: u64,
    /// `None` where bytes are written by position.
    map: Option<Pages>,
    /// A copy of all marks, which the scheduler reads all the time: a read from the map would end
    /// the process when another one shortens the file.
    marks: Option<Vec<u8>>,
    dirty: Arc<AtomicBool>,
}

/// A map and what is known of its pages.
#[derive(Debug)]
struct Pages {
    map: Mapping,
    /// One bit a page: known to be allocated.
    allocated: Vec<u64>,
    /// The page behind the last that were allocated, and how many those were: pages that are
    /// touched one after another are allocated in ever larger pieces, lone ones by themselves.
    next: u64,
    ahead: u64,
}

impl Chunk {
    /// Takes an open chunk file of the right length; `mapped` where its file system allows it.
    pub(crate) fn new(
        kind: ArrayKind,
        path: PathBuf,
        file: Arc<dyn ChunkFile>,
        length: u64,
        mapped: bool,
    ) -> io::Result<Self> {
        let map = match file.mappable().filter(|_| mapped && length > 0) {
            Some(mappable) => Some(Pages {
                map: Mapping::new(mappable, in_memory(length)?)?,
                allocated: vec![0; in_memory(length.div_ceil(PAGE).div_ceil(64))?],
                next: 0,
                ahead: 0,
            }),
            None => None,
        };
        let marks = match kind {
            ArrayKind::Done => Some(read_all(&*file, length)?),
            _ => None,
        };
        Ok(Self {
            kind,
            path,
            file,
            length,
            map,
            marks,
            dirty: Arc::default(),
        })
    }

    pub(crate) fn kind(&self) -> ArrayKind {
        self.kind
    }

    pub(crate) fn path(&self) -> &std::path::Path {
        &self.path
    }

    pub(crate) fn is_mapped(&self) -> bool {
        self.map.is_some() || self.length == 0
    }

    /// What the thread that syncs needs of it.
    pub(crate) fn kept(&self) -> KeptChunk {
        let (path, file) = (self.path.clone(), Arc::clone(&self.file));
        KeptChunk {
            path,
            file,
            dirty: Arc::clone(&self.dirty),
        }
    }

    /// One byte a cell of the `done` array; nothing of any other.
    pub(crate) fn marks(&self) -> &[u8] {
        self.marks.as_deref().unwrap_or_default()
    }

    /// Reads an element into the buffer.
    pub(crate) fn read(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let Some(pages) = &self.map else {
            return self.file.read_at(buffer, offset);
        };
        let from = in_memory(offset)?;
        let end = from.checked_add(buffer.len()).ok_or_else(out_of_range)?;
        buffer.copy_from_slice(pages.map.bytes().get(from..end).ok_or_else(out_of_range)?);
        Ok(())
    }

    /// Makes sure that writing a range can't fail for want of space. Where space can't be reserved
    /// the chunk is written by position from then on, and a full disk shows when it is written.
    pub(crate) fn prepare(&mut self, offset: u64) -> io::Result<()> {
        let Some(pages) = &mut self.map else {
            return Ok(());
        };
        // An element never crosses a page: its size divides the page's.
        let page = offset / PAGE;
        let (word, bit) = ((page / 64) as usize, 1u64 << (page % 64));
        match pages.allocated.get(word) {
            Some(bits) if bits & bit != 0 => return Ok(()),
            Some(_) => {}
            None => return Err(out_of_range()),
        }
        match pages.allocate(page, &*self.file, self.length) {
            Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                self.map = None;
                Ok(())
            }
            other => other,
        }
    }

    /// Writes an element into a range that was prepared. A single byte is written after everything
    /// that was written before it.
    pub(crate) fn write(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        if offset.saturating_add(bytes.len() as u64) > self.length {
            return Err(out_of_range());
        }
        let at = in_memory(offset)?;
        match (&mut self.map, bytes) {
            (Some(pages), [byte]) => pages.map.store_byte_last(at, *byte),
            (Some(pages), bytes) => pages.map.store(at, bytes),
            (None, bytes) => self.file.write_at(bytes, offset)?,
        }
        if let Some(marks) = &mut self.marks {
            if let Some(target) = marks.get_mut(at..at + bytes.len()) {
                target.copy_from_slice(bytes);
            }
        }
        if !self.dirty.load(Ordering::Relaxed) {
            self.dirty.store(true, Ordering::Release);
        }
        Ok(())
    }

    /// Fails when the file is no longer as long as it was.
    pub(crate) fn check_length(&self) -> io::Result<()> {
        let length = self.file.length()?;
        if length == self.length {
            return Ok(());
        }
        Err(io::Error::new(
            io::ErrorKind::UnexpectedEof,
            format!(
                "the file has {length} bytes and should have {}",
                self.length
            ),
        ))
    }
}

impl Pages {
    /// Allocates a page and, behind a page that was allocated just before, some more.
    fn allocate(&mut self, page: u64, file: &dyn ChunkFile, length: u64) -> io::Result<()> {
        let end = length.div_ceil(PAGE);
        let wanted = if page == self.next {
            (2 * self.ahead).clamp(1, MOST_PAGES)
        } else {
            1
        };
        let mut count = wanted.min(end - page);
        let reserve = |count: u64| {
            let begin = page * PAGE;
            file.allocate(begin, (count * PAGE).min(length - begin))
        };
        let mut reserved = reserve(count);
        if count > 1 && reserved.as_ref().is_err_and(is_full) {
            count = 1;
            reserved = reserve(count);
        }
        reserved?;
        for page in page..page + count {
            self.allocated[(page / 64) as usize] |= 1 << (page % 64);
        }
        (self.next, self.ahead) = (page + count, count);
        Ok(())
    }
}

fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
    )
}

/// All bytes of a file. Stretches of zeros stay untouched memory, so that they cost none.
pub(crate) fn read_all(file: &dyn ChunkFile, length: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; in_memory(length)?];
    let mut step = vec![0; READ_STEP.min(bytes.len())];
    let mut offset = 0;
    while offset < length {
        match file.next_data(offset)? {
            Some(data) => offset = data.max(offset),
            None => break,
        }
        if offset >= length {
            break;
        }
        let count = ((length - offset).min(READ_STEP as u64)) as usize;
        file.read_at(&mut step[..count], offset)?;
        for (index, page) in step[..count].chunks(PAGE as usize).enumerate() {
            if page.iter().any(|byte| *byte != 0) {
                let from = offset as usize + index * PAGE as usize;
                bytes[from..from + page.len()].copy_from_slice(page);
            }
        }
        offset += count as u64;
    }
    Ok(bytes)
}

/// A length as a size of memory.
pub(crate) fn in_memory(length: u64) -> io::Result<usize> {
    usize::try_from(length).map_err(|_| io::ErrorKind::OutOfMemory.into())
}

fn out_of_range() -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidInput,
        "the cell lies outside the store's grid",
    )
}
