//! One array's only chunk: written through a memory map where that is safe, else by position.

use std::io;
use std::sync::Arc;

use crate::arrays::ArrayKind;
use crate::files::ChunkFile;
use crate::mapped::Mapping;

/// Unit of allocation: the page of all file systems on which maps are used.
const PAGE: u64 = 4096;
/// Bytes read at once where a chunk is taken into memory.
const READ_STEP: usize = 1 << 20;

/// An open chunk.
#[derive(Debug)]
pub(crate) struct Chunk {
    kind: ArrayKind,
    file: Arc<dyn ChunkFile>,
    length: u64,
    storage: Storage,
    dirty: bool,
}

#[derive(Debug)]
enum Storage {
    Mapped {
        map: Mapping,
        /// One bit a page: known to be allocated.
        allocated: Vec<u64>,
    },
    Plain {
        /// All bytes of the `done` array, which the scheduler reads all the time.
        mirror: Option<Vec<u8>>,
    },
}

impl Chunk {
    /// Takes an open chunk file of the right length; `mapped` where its file system allows it.
    pub(crate) fn new(
        kind: ArrayKind,
        file: Arc<dyn ChunkFile>,
        length: u64,
        mapped: bool,
    ) -> io::Result<Self> {
        let storage = match file.mappable().filter(|_| mapped && length > 0) {
            Some(mappable) => Storage::Mapped {
                map: Mapping::new(mappable, in_memory(length)?)?,
                allocated: vec![0; in_memory(length.div_ceil(PAGE).div_ceil(64))?],
            },
            None => plain(kind, &*file, length)?,
        };
        Ok(Self {
            kind,
            file,
            length,
            storage,
            dirty: false,
        })
    }

    pub(crate) fn kind(&self) -> ArrayKind {
        self.kind
    }

    pub(crate) fn file(&self) -> &Arc<dyn ChunkFile> {
        &self.file
    }

    pub(crate) fn is_mapped(&self) -> bool {
        matches!(self.storage, Storage::Mapped { .. })
    }

    /// Whether something was written since the last call; it counts as not written afterwards.
    pub(crate) fn take_dirty(&mut self) -> bool {
        std::mem::take(&mut self.dirty)
    }

    /// All bytes, where they are in memory: always for `done`.
    pub(crate) fn bytes(&self) -> Option<&[u8]> {
        match &self.storage {
            Storage::Mapped { map, .. } => Some(map.bytes()),
            Storage::Plain { mirror } => mirror.as_deref(),
        }
    }

    /// Reads an element into the buffer.
    pub(crate) fn read(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let bytes = self.bytes().and_then(|bytes| {
            let from = usize::try_from(offset).ok()?;
            bytes.get(from..from.checked_add(buffer.len())?)
        });
        match bytes {
            Some(bytes) => {
                buffer.copy_from_slice(bytes);
                Ok(())
            }
            None => self.file.read_at(buffer, offset),
        }
    }

    /// Makes sure that writing a range can't fail for want of space. Where space can't be reserved
    /// the chunk is written by position from then on, and a full disk shows when it is written.
    pub(crate) fn prepare(&mut self, offset: u64, length: u64) -> io::Result<()> {
        let Storage::Mapped { allocated, .. } = &mut self.storage else {
            return Ok(());
        };
        // An element never crosses a page: its size divides the page's.
        let page = offset / PAGE;
        debug_assert_eq!(page, (offset + length.max(1) - 1) / PAGE);
        let (word, bit) = ((page / 64) as usize, 1u64 << (page % 64));
        match allocated.get(word) {
            Some(bits) if bits & bit != 0 => return Ok(()),
            Some(_) => {}
            None => return Err(out_of_range()),
        }
        let begin = page * PAGE;
        match self.file.allocate(begin, PAGE.min(self.length - begin)) {
            Ok(()) => {
                allocated[word] |= bit;
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                self.storage = plain(self.kind, &*self.file, self.length)?;
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// Writes an element into a range that was prepared.
    pub(crate) fn write(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.dirty = true;
        let written = match &mut self.storage {
            Storage::Mapped { map, .. } => match (usize::try_from(offset), bytes) {
                (Ok(offset), [byte]) => map.store_byte_last(offset, *byte),
                (Ok(offset), bytes) => map.store(offset, bytes),
                (Err(_), _) => false,
            },
            Storage::Plain { mirror } => {
                if offset.saturating_add(bytes.len() as u64) > self.length {
                    return Err(out_of_range());
                }
                self.file.write_at(bytes, offset)?;
                match mirror {
                    Some(mirror) => copy_into(mirror, offset, bytes),
                    None => true,
                }
            }
        };
        if written {
            Ok(())
        } else {
            Err(out_of_range())
        }
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

fn plain(kind: ArrayKind, file: &dyn ChunkFile, length: u64) -> io::Result<Storage> {
    let mirror = match kind {
        ArrayKind::Done => Some(read_all(file, length)?),
        _ => None,
    };
    Ok(Storage::Plain { mirror })
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

fn copy_into(target: &mut [u8], offset: u64, bytes: &[u8]) -> bool {
    let Ok(from) = usize::try_from(offset) else {
        return false;
    };
    match from
        .checked_add(bytes.len())
        .and_then(|end| target.get_mut(from..end))
    {
        Some(target) => {
            target.copy_from_slice(bytes);
            true
        }
        None => false,
    }
}

/// A length as a size of memory.
fn in_memory(length: u64) -> io::Result<usize> {
    usize::try_from(length).map_err(|_| io::ErrorKind::OutOfMemory.into())
}

fn out_of_range() -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidInput,
        "the cell lies outside the store's grid",
    )
}
