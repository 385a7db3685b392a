//! Where the workers of this machine write down what they do, so that their driver knows it when they
//! die: a file for each, in memory where the system has a place for that.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bellis_core::run::WorkerId;
use bellis_net::{SharedWords, NOTE_WORDS};
use bellis_tracking::WordFile;

/// A file as the wire sees it.
pub(crate) struct Notes(WordFile);

impl SharedWords for Notes {
    fn words(&self) -> &[std::sync::atomic::AtomicU64] {
        self.0.words()
    }
}

impl Notes {
    /// The notes of a worker, opened by itself; `None` where there are none.
    pub(crate) fn open(folder: &Path, worker: u32) -> Option<Arc<dyn SharedWords>> {
        let file = WordFile::open(&file_of(folder, worker), NOTE_WORDS).ok()?;
        Some(Arc::new(Notes(file)))
    }
}

fn file_of(folder: &Path, worker: u32) -> PathBuf {
    folder.join(worker.to_string())
}

const PREFIX: &str = ".bellis-notes-";

/// The folder; removed when dropped.
pub(super) struct NotesFolder {
    folder: PathBuf,
    /// Locked while the run lives, so that others can tell a folder that was left behind.
    _hold: Option<File>,
    files: HashMap<WorkerId, Arc<dyn SharedWords>>,
}

impl NotesFolder {
    /// Makes it. A run goes on without, too: it only knows less of a dead worker then.
    pub(super) fn new(run_id: &str) -> Option<Self> {
        let name = format!("{PREFIX}{}-{run_id}", std::process::id());
        let memory = PathBuf::from("/dev/shm");
        [memory, std::env::temp_dir()]
            .into_iter()
            .find_map(|parent| {
                remove_left_behind(&parent);
                make(parent.join(&name)).ok()
            })
    }

    pub(super) fn path(&self) -> &Path {
        &self.folder
    }

    /// Notes for a worker that is about to start.
    pub(super) fn begin(&mut self, worker: WorkerId) {
        let path = file_of(&self.folder, worker.0);
        if let Ok(file) = WordFile::create(&path, NOTE_WORDS) {
            self.files.insert(worker, Arc::new(Notes(file)));
        }
    }

    pub(super) fn of(&self, worker: WorkerId) -> Option<Arc<dyn SharedWords>> {
        self.files.get(&worker).map(Arc::clone)
    }

    pub(super) fn forget(&mut self, worker: WorkerId) {
        self.files.remove(&worker);
    }
}

fn make(folder: PathBuf) -> io::Result<NotesFolder> {
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt;
        builder.mode(0o700);
    }
    builder.create(&folder)?;
    let made = NotesFolder {
        _hold: hold(&folder)?,
        folder,
        files: HashMap::new(),
    };
    // Not every place keeps its promises.
    WordFile::create(&made.folder.join("trial"), NOTE_WORDS)?;
    Ok(made)
}

/// Locks a folder for as long as the file is open, or says that another process has. The lock goes with its process,
/// however that ends, and holds across pid namespaces.
#[cfg(unix)]
fn hold(folder: &Path) -> io::Result<Option<File>> {
    use rustix::fs::{flock, FlockOperation};
    let file = File::open(folder)?;
    flock(&file, FlockOperation::NonBlockingLockExclusive)?;
    Ok(Some(file))
}

#[cfg(not(unix))]
fn hold(_: &Path) -> io::Result<Option<File>> {
    Ok(None)
}

/// Removes the folders of runs whose process was killed before it could. Where nothing can be locked they stay.
fn remove_left_behind(parent: &Path) {
    let Ok(entries) = std::fs::read_dir(parent) else {
        return;
    };
    for entry in entries.flatten() {
        let ours = entry.file_name().to_string_lossy().starts_with(PREFIX);
        if ours && matches!(hold(&entry.path()), Ok(Some(_))) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

impl Drop for NotesFolder {
    fn drop(&mut self) {
        for worker in self.files.keys() {
            // A connection may still hold the file, but nobody opens it any more.
            let _ = std::fs::remove_file(file_of(&self.folder, worker.0));
        }
        let _ = std::fs::remove_dir(&self.folder);
    }
}
