//! Memory maps, of chunk files and of words that processes share: the only unsafe code of this
//! crate.
//!
//! # The contract
//! A mapped file that another process shortens turns the next touch of a lost page into a signal
//! that ends this process, and bytes that another process writes change under a shared reference.
//! What keeps this sound enough to use:
//!
//! - Only one run writes a store at a time; its lock says so. Others only read.
//! - Every bit pattern is a valid value of what the chunks hold (bytes, integers, floats), so that
//!   a foreign write can spoil a value but not the program.
//! - A page is allocated on the disk before it is first written (`Chunk::prepare`), so that a full
//!   disk is an error of that call and never a signal.
//! - The length is checked at opening and before each batch of records; marks are read from a copy
//!   in memory, never from the map. What is left is a foreign process that shortens the file
//!   between that check and a write of the same batch; nothing short of giving up the map rules
//!   this out, and no signal handler is installed for it.

#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicU64, AtomicU8, Ordering};

use memmap2::{MmapMut, MmapOptions, MmapRaw};

/// A chunk file in memory, readable and writable.
#[derive(Debug)]
pub(crate) struct Mapping {
    map: MmapMut,
}

impl Mapping {
    /// Maps the first `length` bytes of a file that is open for both; `length` is not 0.
    pub(crate) fn new(file: &File, length: usize) -> io::Result<Self> {
        // SAFETY: the file is a chunk of a store whose lock this process holds; see the contract
        // at the top for what other processes may do to it and what that means.
        let map = unsafe { MmapOptions::new().len(length).map_mut(file)? };
        Ok(Self { map })
    }

    /// All bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.map
    }

    /// Writes an element. The range lies inside the map: the caller has checked it.
    pub(crate) fn store(&mut self, offset: usize, bytes: &[u8]) {
        self.map[offset..offset + bytes.len()].copy_from_slice(bytes);
    }

    /// Writes one byte after everything that was written before it. The offset lies inside the map:
    /// the caller has checked it.
    pub(crate) fn store_byte_last(&mut self, offset: usize, value: u8) {
        let target: *mut u8 = &mut self.map[offset];
        // SAFETY: the pointer comes from a unique reference to one byte of the map and nothing else
        // touches that byte in this process until the store is over; a byte is always aligned.
        let target = unsafe { AtomicU8::from_ptr(target) };
        target.store(value, Ordering::Release);
    }
}

/// Words of a file in memory, which several processes read and write at once.
#[derive(Debug)]
pub(crate) struct MappedWords {
    map: MmapRaw,
    count: usize,
}

impl MappedWords {
    /// Maps the first `count` words of a file that is open for both, and is allocated that far.
    pub(crate) fn new(file: &File, count: usize) -> io::Result<Self> {
        let length = count.checked_mul(8).filter(|length| *length > 0);
        let length = length.ok_or(io::ErrorKind::InvalidInput)?;
        let map = MmapOptions::new().len(length).map_raw(file)?;
        Ok(Self { map, count })
    }

    pub(crate) fn words(&self) -> &[AtomicU64] {
        let start: *mut AtomicU64 = self.map.as_mut_ptr().cast();
        // SAFETY: the map begins at a page, so the words are aligned; it has `count` of them and lives
        // as long as `self`; whoever else has it in memory writes atomically too, and any bit pattern
        // is a valid value.
        unsafe { std::slice::from_raw_parts(start, self.count) }
    }
}
