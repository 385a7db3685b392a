//! The real file operations.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::files::{ChunkFile, EntryKind, Files};
pub(crate) use platform::{allocate, mapping_is_safe};

/// File operations of the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemFiles;

#[derive(Debug)]
struct SystemChunk(File);

impl Files for SystemFiles {
    fn kind(&self, path: &Path) -> io::Result<Option<EntryKind>> {
        match fs::symlink_metadata(path) {
            Ok(metadata) => {
                let kind = metadata.file_type();
                Ok(Some(if kind.is_symlink() {
                    EntryKind::Link
                } else if kind.is_dir() {
                    EntryKind::Directory
                } else if kind.is_file() {
                    EntryKind::File
                } else {
                    EntryKind::Other
                }))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        fs::canonicalize(path)
    }

    fn read(&self, path: &Path, limit: u64) -> io::Result<Vec<u8>> {
        let mut content = Vec::new();
        regular(path_options().read(true), path)?
            .take(limit.saturating_add(1))
            .read_to_end(&mut content)?;
        if content.len() as u64 > limit {
            return Err(io::Error::new(
                io::ErrorKind::FileTooLarge,
                format!("the file is larger than {limit} bytes"),
            ));
        }
        Ok(content)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<OsString>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(path)? {
            names.push(entry?.file_name());
        }
        names.sort();
        Ok(names)
    }

    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        fs::create_dir_all(path)
    }

    fn create(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
        file.write_all(content).inspect_err(|_| {
            // Half of a file would be taken for something.
            let _ = fs::remove_file(path);
        })
    }

    fn sync_file(&self, path: &Path) -> io::Result<()> {
        File::open(path)?.sync_all()
    }

    fn append_line(&self, path: &Path, line: &[u8]) -> io::Result<()> {
        let mut file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .open(path)?;
        let mut text = Vec::with_capacity(line.len() + 2);
        if file.metadata()?.len() > 0 {
            file.seek(SeekFrom::End(-1))?;
            let mut last = [0];
            file.read_exact(&mut last)?;
            if last != *b"\n" {
                text.push(b'\n');
            }
        }
        text.extend_from_slice(line);
        text.push(b'\n');
        file.write_all(&text)?;
        file.sync_all()
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::hard_link(from, to)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        // Directories can't be opened for this on every platform; their entries are safe there.
        if cfg!(unix) {
            File::open(path)?.sync_all()
        } else {
            Ok(())
        }
    }

    fn touch(&self, path: &Path) -> io::Result<()> {
        platform::touch(path)
    }

    fn modified(&self, path: &Path) -> io::Result<SystemTime> {
        fs::symlink_metadata(path)?.modified()
    }

    fn create_chunk(&self, path: &Path, length: u64) -> io::Result<Box<dyn ChunkFile>> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .open(path)?;
        file.set_len(length)?;
        Ok(Box::new(SystemChunk(file)))
    }

    fn open_chunk(&self, path: &Path, writable: bool) -> io::Result<Box<dyn ChunkFile>> {
        let file = regular(path_options().read(true).write(writable), path)?;
        Ok(Box::new(SystemChunk(file)))
    }

    fn mapping_is_safe(&self, directory: &Path) -> io::Result<bool> {
        platform::mapping_is_safe(directory)
    }
}

/// Opens what must be a regular file. Opening a pipe would wait for its other end for ever.
fn regular(options: &OpenOptions, path: &Path) -> io::Result<File> {
    let file = options.open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "not a regular file",
        ));
    }
    Ok(file)
}

/// Options with which opening never waits.
fn path_options() -> OpenOptions {
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        let mut options = OpenOptions::new();
        options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32);
        options
    }
    #[cfg(not(unix))]
    OpenOptions::new()
}

impl ChunkFile for SystemChunk {
    fn length(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn allocate(&self, offset: u64, length: u64) -> io::Result<()> {
        platform::allocate(&self.0, offset, length)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        platform::read_at(&self.0, buffer, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        platform::write_at(&self.0, bytes, offset)
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn next_data(&self, offset: u64) -> io::Result<Option<u64>> {
        platform::next_data(&self.0, offset)
    }

    fn mappable(&self) -> Option<&File> {
        Some(&self.0)
    }
}

#[cfg(unix)]
mod platform {
    use std::fs::File;
    use std::io;
    use std::os::unix::fs::FileExt;
    use std::path::Path;

    use rustix::fs::{utimensat, AtFlags, Timespec, Timestamps, CWD, UTIME_NOW};

    pub(super) fn touch(path: &Path) -> io::Result<()> {
        let now = Timespec {
            tv_sec: 0,
            tv_nsec: UTIME_NOW,
        };
        let times = Timestamps {
            last_access: now,
            last_modification: now,
        };
        Ok(utimensat(CWD, path, &times, AtFlags::empty())?)
    }

    pub(super) fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        file.read_exact_at(buffer, offset)
    }

    pub(super) fn write_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
        file.write_all_at(bytes, offset)
    }

    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub(crate) fn allocate(file: &File, offset: u64, length: u64) -> io::Result<()> {
        use rustix::fs::{fallocate, FallocateFlags};
        loop {
            match fallocate(file, FallocateFlags::KEEP_SIZE, offset, length) {
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => {
                    return Err(io::ErrorKind::Unsupported.into());
                }
                other => return Ok(other?),
            }
        }
    }

    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    pub(crate) fn allocate(_file: &File, _offset: u64, _length: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Local file systems that keep a page once it is allocated. Those that write each page to a new
    /// place (btrfs, ZFS), and all that live behind a network or a user's process, are left out.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub(crate) fn mapping_is_safe(directory: &Path) -> io::Result<bool> {
        const EXT: u32 = 0xef53;
        const XFS: u32 = 0x5846_5342;
        const TMPFS: u32 = 0x0102_1994;
        const OVERLAY: u32 = 0x794c_7630;
        const F2FS: u32 = 0xf2f5_2010;
        let kind = rustix::fs::statfs(directory)?.f_type as u32;
        Ok([EXT, XFS, TMPFS, OVERLAY, F2FS].contains(&kind))
    }

    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    pub(crate) fn mapping_is_safe(_directory: &Path) -> io::Result<bool> {
        Ok(false)
    }

    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub(super) fn next_data(file: &File, offset: u64) -> io::Result<Option<u64>> {
        match rustix::fs::seek(file, rustix::fs::SeekFrom::Data(offset)) {
            Ok(found) => Ok(Some(found)),
            Err(rustix::io::Errno::NXIO) => Ok(None),
            // Without knowledge of holes all of it counts as data.
            Err(rustix::io::Errno::INVAL | rustix::io::Errno::OPNOTSUPP) => Ok(Some(offset)),
            Err(error) => Err(error.into()),
        }
    }

    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    pub(super) fn next_data(_file: &File, offset: u64) -> io::Result<Option<u64>> {
        Ok(Some(offset))
    }
}

#[cfg(not(unix))]
mod platform {
    use std::fs::{File, OpenOptions};
    use std::io::{self, Read, Seek, SeekFrom, Write};
    use std::path::Path;
    use std::time::SystemTime;

    pub(super) fn touch(path: &Path) -> io::Result<()> {
        OpenOptions::new()
            .write(true)
            .open(path)?
            .set_modified(SystemTime::now())
    }

    // One thread writes a chunk, so that a shared file position does no harm.
    pub(super) fn read_at(mut file: &File, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        file.seek(SeekFrom::Start(offset))?;
        file.read_exact(buffer)
    }

    pub(super) fn write_at(mut file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
        file.seek(SeekFrom::Start(offset))?;
        file.write_all(bytes)
    }

    pub(crate) fn allocate(_file: &File, _offset: u64, _length: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn mapping_is_safe(_directory: &Path) -> io::Result<bool> {
        Ok(false)
    }

    pub(super) fn next_data(_file: &File, offset: u64) -> io::Result<Option<u64>> {
        Ok(Some(offset))
    }
}
