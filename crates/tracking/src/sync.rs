//! Writing to the disk on a thread of its own, so that a slow disk holds up nobody.

use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, Sender, TryRecvError};
use std::sync::Arc;
use std::thread::JoinHandle;

use crate::error::TrackingError;
use crate::files::{ChunkFile, Files};
use crate::lock::LockWatch;

/// What is to be written to the disk, in this order.
#[derive(Debug, Default)]
pub(crate) struct Work {
    pub(crate) files: Option<Arc<dyn Files>>,
    /// Documents and directories made since the last time.
    pub(crate) made: Vec<PathBuf>,
    /// Chunks, values before marks.
    pub(crate) chunks: Vec<(PathBuf, Arc<dyn ChunkFile>)>,
}

/// The thread, and what it is doing.
#[derive(Debug)]
pub(crate) struct Syncer {
    jobs: Option<Sender<Work>>,
    results: Receiver<Result<(), TrackingError>>,
    under_way: bool,
    /// An earlier failure. The system forgets what it could not write, so that a later success
    /// would prove nothing: nothing more is written to the disk.
    failed: Option<(PathBuf, String)>,
    thread: Option<JoinHandle<()>>,
}

impl Syncer {
    pub(crate) fn start(lock: LockWatch) -> io::Result<Self> {
        let (jobs, inbox) = mpsc::channel::<Work>();
        let (outbox, results) = mpsc::channel();
        let thread = std::thread::Builder::new()
            .name("bellis-sync".to_owned())
            .spawn(move || {
                while let Ok(work) = inbox.recv() {
                    let done = lock.verify().and_then(|()| work.run());
                    if outbox.send(done).is_err() {
                        return;
                    }
                }
            })?;
        Ok(Self {
            jobs: Some(jobs),
            results,
            under_way: false,
            failed: None,
            thread: Some(thread),
        })
    }

    /// Whether nothing is under way; an earlier failure comes out here.
    pub(crate) fn is_idle(&mut self) -> Result<bool, TrackingError> {
        self.check()?;
        if !self.under_way {
            return Ok(true);
        }
        match self.results.try_recv() {
            Ok(result) => self.ended(result).map(|()| true),
            Err(TryRecvError::Empty) => Ok(false),
            Err(TryRecvError::Disconnected) => self.ended(Err(thread_gone())).map(|()| true),
        }
    }

    /// Starts a piece of work; the caller has seen to it that none is under way.
    pub(crate) fn start_work(&mut self, work: Work) {
        if let Some(jobs) = self.jobs.as_ref().filter(|_| self.failed.is_none()) {
            self.under_way = jobs.send(work).is_ok();
        }
    }

    /// Waits for what is under way.
    pub(crate) fn wait(&mut self) -> Result<(), TrackingError> {
        self.check()?;
        if !self.under_way {
            return Ok(());
        }
        let result = self.results.recv().unwrap_or_else(|_| Err(thread_gone()));
        self.ended(result)
    }

    fn ended(&mut self, result: Result<(), TrackingError>) -> Result<(), TrackingError> {
        self.under_way = false;
        if let Err(error) = &result {
            self.failed = Some((error.path().to_owned(), error.to_string()));
        }
        result
    }

    fn check(&self) -> Result<(), TrackingError> {
        match &self.failed {
            None => Ok(()),
            Some((path, problem)) => Err(TrackingError::broken(
                path,
                format!("nothing is written since an earlier failure: {problem}"),
                "",
            )),
        }
    }
}

impl Drop for Syncer {
    fn drop(&mut self) {
        drop(self.jobs.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Work {
    fn run(&self) -> Result<(), TrackingError> {
        if let Some(files) = &self.files {
            for path in &self.made {
                let failed = |error| TrackingError::io(path, "writing it to the disk", error);
                match files.kind(path).map_err(failed)? {
                    Some(crate::EntryKind::Directory) => files.sync_dir(path).map_err(failed)?,
                    Some(_) => files.sync_file(path).map_err(failed)?,
                    None => {}
                }
            }
        }
        for (path, chunk) in &self.chunks {
            chunk
                .sync()
                .map_err(|error| TrackingError::io(path, "writing it to the disk", error))?;
        }
        Ok(())
    }
}

fn thread_gone() -> TrackingError {
    TrackingError::broken(
        &PathBuf::new(),
        "the thread that writes to the disk has ended",
        "This is a defect of bellis: please report it.",
    )
}
