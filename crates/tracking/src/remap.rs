//! Moving the cells of a grid into a larger one.

use std::io;

use crate::chunk::in_memory;
use crate::files::ChunkFile;
use crate::growth::Growth;
use crate::layout::Layout;

/// Bytes gathered before they are written.
const STEP: usize = 1 << 20;
/// Stretches of zeros of this size stay holes in the file.
const PAGE: usize = 4096;

/// How the cells of kept blocks move.
#[derive(Debug)]
pub(crate) struct Remap {
    from: Vec<u64>,
    to: Vec<u64>,
    /// First kept cell of each axis in the old grid.
    first: Vec<u64>,
    /// Kept cells along each axis.
    kept: Vec<u64>,
    shift: Vec<u64>,
}

impl Remap {
    pub(crate) fn new(from: &Layout, to: &Layout, growth: &Growth) -> Self {
        Self {
            from: from.grid_shape(),
            to: to.grid_shape(),
            first: (0..from.axes())
                .map(|axis| from.blocks_along(axis).0)
                .collect(),
            kept: growth.kept.clone(),
            shift: growth.shift.clone(),
        }
    }

    /// Calls back with the first old cell, the first new cell and the length of each row of kept
    /// cells, in ascending order of both.
    fn rows<E>(&self, mut row: impl FnMut(u64, u64, u64) -> Result<(), E>) -> Result<(), E> {
        if self.kept.contains(&0) {
            return Ok(());
        }
        let last = self.kept.len() - 1;
        let mut at = vec![0u64; last];
        loop {
            let (mut old, mut new) = (0, 0);
            for axis in 0..=last {
                let index = self.first[axis] + at.get(axis).copied().unwrap_or(0);
                old = old * self.from[axis] + index;
                new = new * self.to[axis] + index + self.shift[axis];
            }
            row(old, new, self.kept[last])?;
            let mut axis = last;
            loop {
                if axis == 0 {
                    return Ok(());
                }
                axis -= 1;
                at[axis] += 1;
                if at[axis] < self.kept[axis] {
                    break;
                }
                at[axis] = 0;
            }
        }
    }

    /// Done blocks among the kept.
    pub(crate) fn count_kept(&self, done: &[u8]) -> u64 {
        let mut count = 0;
        let counted: Result<(), std::convert::Infallible> = self.rows(|old, _, length| {
            let row = done
                .get(old as usize..(old + length) as usize)
                .unwrap_or_default();
            count += row.iter().filter(|byte| **byte != 0).count() as u64;
            Ok(())
        });
        match counted {
            Ok(()) => count,
        }
    }

    /// Writes the kept elements of an array at their new places; zeros are left to the hole that
    /// the new file is.
    pub(crate) fn copy(
        &self,
        old: &dyn ChunkFile,
        size: u64,
        mut write: impl FnMut(u64, &[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let length = self.from.iter().product::<u64>() * size;
        let mut old = Window::new(old, length);
        let mut gathered: Vec<u8> = Vec::with_capacity(2 * STEP);
        let mut begin = 0u64;
        self.rows(|from, to, length| {
            let mut copied = 0;
            while copied < length * size {
                let piece = old.bytes(
                    from * size + copied,
                    (length * size - copied).min(STEP as u64),
                )?;
                let at = to * size + copied;
                let end = begin + gathered.len() as u64;
                if gathered.is_empty() {
                    begin = at;
                } else if at - end <= PAGE as u64 && gathered.len() < STEP {
                    // A small gap between rows is zeros: cheaper to write than to skip.
                    gathered.resize(gathered.len() + (at - end) as usize, 0);
                } else {
                    write_data(begin, &gathered, &mut write)?;
                    gathered.clear();
                    begin = at;
                }
                gathered.extend_from_slice(piece);
                copied += piece.len() as u64;
            }
            io::Result::Ok(())
        })?;
        write_data(begin, &gathered, &mut write)
    }
}

/// A file seen through a buffer that moves along it, so that a large one takes little memory.
struct Window<'a> {
    file: &'a dyn ChunkFile,
    length: u64,
    begin: u64,
    buffer: Vec<u8>,
}

impl<'a> Window<'a> {
    fn new(file: &'a dyn ChunkFile, length: u64) -> Self {
        Self {
            file,
            length,
            begin: 0,
            buffer: Vec::new(),
        }
    }

    /// Bytes of the file; ranges come in ascending order.
    fn bytes(&mut self, begin: u64, length: u64) -> io::Result<&[u8]> {
        let end = begin + length;
        if begin < self.begin || end > self.begin + self.buffer.len() as u64 {
            if end > self.length {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let count = length.max(STEP as u64).min(self.length - begin);
            self.buffer.resize(in_memory(count)?, 0);
            match self.file.next_data(begin)? {
                Some(data) if data < begin + count => {
                    self.file.read_at(&mut self.buffer, begin)?;
                }
                _ => self.buffer.fill(0),
            }
            self.begin = begin;
        }
        let from = (begin - self.begin) as usize;
        Ok(&self.buffer[from..from + length as usize])
    }
}

/// Writes the stretches of pages that hold something.
fn write_data(
    begin: u64,
    bytes: &[u8],
    write: &mut impl FnMut(u64, &[u8]) -> io::Result<()>,
) -> io::Result<()> {
    // Pieces end where the file's pages end, so that a page of zeros stays a hole.
    let mut run: Option<(usize, usize)> = None;
    let mut from = 0;
    while from < bytes.len() {
        let to_border = PAGE - ((begin + from as u64) % PAGE as u64) as usize;
        let to = (from + to_border).min(bytes.len());
        if bytes[from..to].iter().any(|byte| *byte != 0) {
            run = Some((run.map_or(from, |run| run.0), to));
        } else if let Some((start, end)) = run.take() {
            write(begin + start as u64, &bytes[start..end])?;
        }
        from = to;
    }
    match run {
        Some((start, end)) => write(begin + start as u64, &bytes[start..end]),
        None => Ok(()),
    }
}
