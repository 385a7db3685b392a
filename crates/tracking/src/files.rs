//! The file operations that a store needs, behind a trait so that tests can make each of them fail.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::Path;
use std::time::SystemTime;

/// What a directory entry is, without following links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// A socket, a device or the like.
    Other,
}

/// File operations of a store. [`SystemFiles`](crate::SystemFiles) is the real one.
pub trait Files: Send + Sync + std::fmt::Debug {
    /// What stands at a path, or `None` when nothing does. Links are not followed.
    fn kind(&self, path: &Path) -> io::Result<Option<EntryKind>>;
    /// A path without links.
    fn resolve(&self, path: &Path) -> io::Result<std::path::PathBuf>;
    /// The content of a file, refused beyond `limit` bytes.
    fn read(&self, path: &Path, limit: u64) -> io::Result<Vec<u8>>;
    /// Names in a directory.
    fn list(&self, path: &Path) -> io::Result<Vec<OsString>>;
    /// Makes a directory and the missing ones above it.
    fn create_dir_all(&self, path: &Path) -> io::Result<()>;
    /// Makes a file that must not exist yet, with this content; not synced.
    fn create(&self, path: &Path, content: &[u8]) -> io::Result<()>;
    /// Writes a file's content to the disk.
    fn sync_file(&self, path: &Path) -> io::Result<()>;
    /// Appends to a file, making it where it is missing, synced. A last line that was torn is ended
    /// first.
    fn append_line(&self, path: &Path, line: &[u8]) -> io::Result<()>;
    /// Renames, replacing a file or an empty directory at the target.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// A second name for a file; an error of kind `AlreadyExists` when the target is taken.
    fn link(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file.
    fn remove_file(&self, path: &Path) -> io::Result<()>;
    /// Removes an empty directory.
    fn remove_dir(&self, path: &Path) -> io::Result<()>;
    /// Writes the entries of a directory to the disk.
    fn sync_dir(&self, path: &Path) -> io::Result<()>;
    /// Sets the modification time of a file to the file system's present.
    fn touch(&self, path: &Path) -> io::Result<()>;
    /// Modification time of a file.
    fn modified(&self, path: &Path) -> io::Result<SystemTime>;
    /// Makes a sparse file of `length` zero bytes that must not exist yet, open for both.
    fn create_chunk(&self, path: &Path, length: u64) -> io::Result<Box<dyn ChunkFile>>;
    /// Opens a chunk file.
    fn open_chunk(&self, path: &Path, writable: bool) -> io::Result<Box<dyn ChunkFile>>;
    /// Whether files in this directory may be written through a memory map: a local file system on
    /// which an allocated page can't run out of space.
    fn mapping_is_safe(&self, directory: &Path) -> io::Result<bool>;
}

/// An open chunk file.
pub trait ChunkFile: Send + Sync + std::fmt::Debug {
    /// Present length in bytes.
    fn length(&self) -> io::Result<u64>;
    /// Reserves space for a range without changing the length. `Unsupported` where it can't be done.
    fn allocate(&self, offset: u64, length: u64) -> io::Result<()>;
    /// Fills the buffer from an offset.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()>;
    /// Writes all bytes at an offset.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;
    /// Writes the content to the disk, what came in through a map included.
    fn sync(&self) -> io::Result<()>;
    /// The start of the first data at or after an offset; `None` when only holes follow.
    fn next_data(&self, offset: u64) -> io::Result<Option<u64>>;
    /// The file to map; `None` where it can't be mapped.
    fn mappable(&self) -> Option<&File>;
}
