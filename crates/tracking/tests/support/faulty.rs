//! A file layer that fails on demand: one operation with an error number, or everything from one
//! operation on, as if the machine had lost its power there.

#![allow(dead_code, unreachable_pub, missing_docs, clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use bellis_tracking::{ChunkFile, EntryKind, Files, SystemFiles};

use super::process::Process;
use super::turns::Turns;

/// What an operation does to the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    Kind,
    Read,
    List,
    CreateDir,
    Create,
    SyncFile,
    Append,
    Rename,
    Link,
    RemoveFile,
    RemoveDir,
    SyncDir,
    Touch,
    Modified,
    CreateChunk,
    OpenChunk,
    Length,
    Allocate,
    ReadAt,
    WriteAt,
    SyncChunk,
}

impl Operation {
    fn changes_the_disk(self) -> bool {
        !matches!(
            self,
            Self::Kind
                | Self::Read
                | Self::List
                | Self::Modified
                | Self::OpenChunk
                | Self::Length
                | Self::ReadAt
        )
    }
}

#[derive(Debug, Default)]
struct State {
    /// Changes seen so far.
    changes: u64,
    /// The change at which the power goes.
    cut_at: Option<u64>,
    /// Only this process goes then, and what it wrote stays.
    process: Option<Arc<Process>>,
    is_cut: bool,
    /// Files whose content is not on the disk.
    unsynced: BTreeSet<PathBuf>,
    /// Fails these operations on paths that contain the text.
    fault: Option<(Operation, String, i32)>,
    log: Vec<(Operation, PathBuf)>,
    visit: Option<Visit>,
}

/// What happens in between, before one of the next operations.
struct Visit {
    /// Operations until then.
    after: u64,
    what: Box<dyn FnOnce() + Send>,
}

impl std::fmt::Debug for Visit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "visit after {}", self.after)
    }
}

#[derive(Debug, Clone, Default)]
pub struct FaultyFiles {
    state: Arc<Mutex<State>>,
    mapping_is_unsafe: bool,
    /// As on a file system without hard links.
    has_no_links: bool,
    /// As on a network where answers get lost: what was done is asked for again, and fails then.
    loses_answers: bool,
    /// The turns that its operations wait for, and the thread that makes them.
    turns: Option<(Arc<Turns>, usize)>,
}

#[derive(Debug)]
struct FaultyChunk {
    inner: Box<dyn ChunkFile>,
    path: PathBuf,
    files: FaultyFiles,
}

impl FaultyFiles {
    /// The power goes at change number `at`, counted from 0.
    pub fn cut_at(at: u64) -> Self {
        let files = Self::default();
        files.state.lock().unwrap().cut_at = Some(at);
        files
    }

    /// The process is killed at change number `at`, counted from 0.
    pub fn killed_at(at: u64, process: Arc<Process>) -> Self {
        let files = Self::cut_at(at);
        files.state.lock().unwrap().process = Some(process);
        files
    }

    /// Each operation waits for a turn of this thread.
    pub fn taking_turns(self, turns: &Arc<Turns>, thread: usize) -> Self {
        Self {
            turns: Some((Arc::clone(turns), thread)),
            ..self
        }
    }

    /// There are no hard links, and a file exists for a moment before its content.
    pub fn without_links() -> Self {
        Self {
            has_no_links: true,
            ..Self::default()
        }
    }

    /// Files are linked, and locks renamed, but that fails.
    pub fn losing_answers() -> Self {
        Self {
            loses_answers: true,
            ..Self::default()
        }
    }

    /// All files count as lying on a network file system.
    pub fn without_mapping() -> Self {
        Self {
            mapping_is_unsafe: true,
            ..Self::default()
        }
    }

    /// From now on this operation fails on paths that contain the text.
    pub fn fail(&self, operation: Operation, path: &str, errno: i32) {
        self.state.lock().unwrap().fault = Some((operation, path.to_owned(), errno));
    }

    pub fn heal(&self) {
        self.state.lock().unwrap().fault = None;
    }

    /// Does something before the operation `after` from now, counted from 0.
    pub fn visit(&self, after: u64, what: impl FnOnce() + Send + 'static) {
        let what = Box::new(what);
        self.state.lock().unwrap().visit = Some(Visit { after, what });
    }

    /// Whether the visit is still to come.
    pub fn is_expecting(&self) -> bool {
        self.state.lock().unwrap().visit.is_some()
    }

    pub fn was_cut(&self) -> bool {
        self.state.lock().unwrap().is_cut
    }

    pub fn changes(&self) -> u64 {
        self.state.lock().unwrap().changes
    }

    pub fn log(&self) -> Vec<(Operation, PathBuf)> {
        self.state.lock().unwrap().log.clone()
    }

    fn at(&self, operation: Operation, path: &Path) -> io::Result<()> {
        if let Some((turns, thread)) = &self.turns {
            turns.wait(*thread);
        }
        let visit = self.state.lock().unwrap().visit.take();
        match visit {
            Some(Visit { after: 0, what }) => what(),
            Some(later) => {
                let after = later.after - 1;
                self.state.lock().unwrap().visit = Some(Visit { after, ..later });
            }
            None => {}
        }
        let mut state = self.state.lock().unwrap();
        state.log.push((operation, path.to_owned()));
        if let Some((fault, text, errno)) = &state.fault {
            if *fault == operation && path.to_string_lossy().contains(text.as_str()) {
                return Err(io::Error::from_raw_os_error(*errno));
            }
        }
        if !operation.changes_the_disk() {
            return if state.is_cut {
                Err(power_gone())
            } else {
                Ok(())
            };
        }
        if !state.is_cut && state.cut_at == Some(state.changes) {
            state.is_cut = true;
            if let Some(process) = &state.process {
                process.kill();
            } else {
                state.lose_unsynced();
            }
        }
        state.changes += 1;
        if state.is_cut {
            Err(power_gone())
        } else {
            Ok(())
        }
    }

    fn is_unsynced(&self, path: &Path) {
        self.state.lock().unwrap().unsynced.insert(path.to_owned());
    }

    fn is_synced(&self, path: &Path) {
        self.state.lock().unwrap().unsynced.remove(path);
    }
}

impl State {
    /// What was never synced may be lost: the worst case is that all of it is.
    fn lose_unsynced(&mut self) {
        for path in std::mem::take(&mut self.unsynced) {
            if let Ok(file) = OpenOptions::new().write(true).open(&path) {
                file.set_len(0).unwrap();
            }
        }
    }
}

fn power_gone() -> io::Error {
    io::Error::other("the power is gone")
}

impl Files for FaultyFiles {
    fn kind(&self, path: &Path) -> io::Result<Option<EntryKind>> {
        self.at(Operation::Kind, path)?;
        SystemFiles.kind(path)
    }

    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        SystemFiles.resolve(path)
    }

    fn read(&self, path: &Path, limit: u64) -> io::Result<Vec<u8>> {
        self.at(Operation::Read, path)?;
        SystemFiles.read(path, limit)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<OsString>> {
        self.at(Operation::List, path)?;
        SystemFiles.list(path)
    }

    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        self.at(Operation::CreateDir, path)?;
        SystemFiles.create_dir_all(path)
    }

    fn create(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        if let Err(error) = self.at(Operation::Create, path) {
            if self.was_cut() {
                // Torn in the middle.
                let _ = SystemFiles.create(path, &content[..content.len() / 2]);
            }
            return Err(error);
        }
        if self.has_no_links {
            let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
            if let Some((turns, thread)) = &self.turns {
                turns.wait(*thread);
            }
            file.write_all(content)?;
        } else {
            SystemFiles.create(path, content)?;
        }
        self.is_unsynced(path);
        Ok(())
    }

    fn sync_file(&self, path: &Path) -> io::Result<()> {
        self.at(Operation::SyncFile, path)?;
        SystemFiles.sync_file(path)?;
        self.is_synced(path);
        Ok(())
    }

    fn append_line(&self, path: &Path, line: &[u8]) -> io::Result<()> {
        self.at(Operation::Append, path)?;
        SystemFiles.append_line(path, line)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.at(Operation::Rename, from)?;
        SystemFiles.rename(from, to)?;
        let mut state = self.state.lock().unwrap();
        state.unsynced = std::mem::take(&mut state.unsynced)
            .into_iter()
            .map(|path| match path.strip_prefix(from) {
                Ok(rest) if rest.as_os_str().is_empty() => to.to_owned(),
                Ok(rest) => to.join(rest),
                Err(_) => path,
            })
            .collect();
        if self.loses_answers && to.ends_with("bellis.lock") {
            return Err(io::ErrorKind::NotFound.into());
        }
        Ok(())
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.at(Operation::Link, to)?;
        if self.has_no_links {
            return Err(rustix::io::Errno::PERM.into());
        }
        SystemFiles.link(from, to)?;
        if self.loses_answers {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        Ok(())
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.at(Operation::RemoveFile, path)?;
        SystemFiles.remove_file(path)?;
        self.is_synced(path);
        Ok(())
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        self.at(Operation::RemoveDir, path)?;
        SystemFiles.remove_dir(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.at(Operation::SyncDir, path)?;
        SystemFiles.sync_dir(path)
    }

    fn touch(&self, path: &Path) -> io::Result<()> {
        self.at(Operation::Touch, path)?;
        SystemFiles.touch(path)
    }

    fn modified(&self, path: &Path) -> io::Result<SystemTime> {
        self.at(Operation::Modified, path)?;
        SystemFiles.modified(path)
    }

    fn create_chunk(&self, path: &Path, length: u64) -> io::Result<Box<dyn ChunkFile>> {
        self.at(Operation::CreateChunk, path)?;
        let inner = SystemFiles.create_chunk(path, length)?;
        Ok(Box::new(FaultyChunk {
            inner,
            path: path.to_owned(),
            files: self.clone(),
        }))
    }

    fn open_chunk(&self, path: &Path, writable: bool) -> io::Result<Box<dyn ChunkFile>> {
        self.at(Operation::OpenChunk, path)?;
        let inner = SystemFiles.open_chunk(path, writable)?;
        Ok(Box::new(FaultyChunk {
            inner,
            path: path.to_owned(),
            files: self.clone(),
        }))
    }

    fn mapping_is_safe(&self, directory: &Path) -> io::Result<bool> {
        Ok(!self.mapping_is_unsafe && SystemFiles.mapping_is_safe(directory)?)
    }
}

impl ChunkFile for FaultyChunk {
    fn length(&self) -> io::Result<u64> {
        self.files.at(Operation::Length, &self.path)?;
        self.inner.length()
    }

    fn allocate(&self, offset: u64, length: u64) -> io::Result<()> {
        self.files.at(Operation::Allocate, &self.path)?;
        self.inner.allocate(offset, length)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.files.at(Operation::ReadAt, &self.path)?;
        self.inner.read_at(buffer, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.files.at(Operation::WriteAt, &self.path)?;
        self.inner.write_at(bytes, offset)
    }

    fn sync(&self) -> io::Result<()> {
        self.files.at(Operation::SyncChunk, &self.path)?;
        self.inner.sync()
    }

    fn next_data(&self, offset: u64) -> io::Result<Option<u64>> {
        self.inner.next_data(offset)
    }

    fn mappable(&self) -> Option<&File> {
        self.inner.mappable()
    }
}
