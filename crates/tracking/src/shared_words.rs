//! A file of words that two processes of one machine have in memory, for what has to outlive one of
//! them.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;

use crate::mapped::MappedWords;
use crate::system_files::{allocate, mapping_is_safe};

/// The file; who made it removes it when dropped.
#[derive(Debug)]
pub struct WordFile {
    map: MappedWords,
    made: Option<PathBuf>,
}

impl WordFile {
    /// Makes a file of `count` zeros that only its owner may open.
    ///
    /// # Errors
    /// It exists, or its file system can't promise that touching it later goes well (a full one, one
    /// behind a network, or a system where nothing is known).
    pub fn create(path: &Path, count: usize) -> io::Result<WordFile> {
        let parent = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
        if !mapping_is_safe(parent)? {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true);
        #[cfg(unix)]
        {
            use std::os::unix::fs::OpenOptionsExt;
            options.mode(0o600);
        }
        let file = options.open(path)?;
        let made = Made(Some(path.to_owned()));
        let length = length(count)?;
        file.set_len(length)?;
        allocate(&file, 0, length)?;
        let map = MappedWords::new(&file, count)?;
        Ok(WordFile {
            map,
            made: made.keep(),
        })
    }

    /// Opens one that another process made with as many words.
    ///
    /// # Errors
    /// It isn't there, isn't a file of that length, or can't be mapped.
    pub fn open(path: &Path, count: usize) -> io::Result<WordFile> {
        let file = File::options().read(true).write(true).open(path)?;
        let found = file.metadata()?;
        if !found.is_file() || found.len() != length(count)? {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let map = MappedWords::new(&file, count)?;
        Ok(WordFile { map, made: None })
    }

    /// All of them.
    pub fn words(&self) -> &[AtomicU64] {
        self.map.words()
    }
}

impl Drop for WordFile {
    fn drop(&mut self) {
        drop(Made(self.made.take()));
    }
}

/// A file that is removed unless it is kept.
struct Made(Option<PathBuf>);

impl Made {
    fn keep(mut self) -> Option<PathBuf> {
        self.0.take()
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            // It is of no use to anybody, and small.
            let _ = std::fs::remove_file(path);
        }
    }
}

fn length(count: usize) -> io::Result<u64> {
    let length = (count as u64).checked_mul(8);
    length.ok_or_else(|| io::ErrorKind::InvalidInput.into())
}
