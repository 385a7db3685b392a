//! One run at a time: a lock file with its owner's identity, kept fresh by a thread of its own.
//!
//! Of all runs that find a store without a lock, or with a dead one, exactly one gets it (`take.rs`
//! says how). Only a run that another machine took for dead can lose its lock while it lives: an
//! owner looks at its lock before each sync and stops when it is no longer its own.

mod record;
mod take;

use std::hash::{BuildHasher, Hasher};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use self::record::LockRecord;
use self::take::{Contender, Taken, LIMIT};
use crate::directory::LOCK;
use crate::error::{remove_line, LockHolder, TrackingError};
use crate::files::{EntryKind, Files};
use crate::host::Identity;

/// How often a lock is renewed, and after how long without that it counts as dead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockTiming {
    /// Time between two renewals.
    pub renew: Duration,
    /// Age at which a lock whose process can't be asked after is taken over.
    pub stale_after: Duration,
}

impl Default for LockTiming {
    fn default() -> Self {
        Self {
            renew: Duration::from_secs(10),
            stale_after: Duration::from_secs(60),
        }
    }
}

/// A lock that this run holds, given back when dropped.
#[derive(Debug)]
pub(crate) struct Lock {
    shared: Arc<Shared>,
    stop: Option<Sender<()>>,
    renewer: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    files: Arc<dyn Files>,
    owner: String,
    content: Vec<u8>,
    /// The store's directory: it moves once when an interrupted migration is completed.
    store: Mutex<PathBuf>,
    lost: AtomicBool,
    identity: Identity,
    timing: LockTiming,
}

impl Lock {
    /// Takes the lock of a store, whose directory exists. Gives the dead run whose lock it took
    /// over, if there was one.
    pub(crate) fn acquire(
        files: &Arc<dyn Files>,
        store: &Path,
        identity: &Identity,
        timing: LockTiming,
    ) -> Result<(Self, Option<LockHolder>), TrackingError> {
        let owner = random_id();
        let record = LockRecord::new(owner.clone(), identity, seconds_now());
        let content = serde_json::to_vec(&record).unwrap_or_default();
        let candidate = candidate(store, &owner);
        let failed = |error| TrackingError::io(&store.join(LOCK), "taking the lock", error);
        files.create(&candidate, &content).map_err(failed)?;
        let contender = Contender {
            files: &**files,
            store,
            candidate: &candidate,
            content: &content,
            identity,
            stale_after: timing.stale_after,
        };
        let taken = contender.take();
        // Gone already where it was renamed into place.
        let _ = files.remove_file(&candidate);
        let taken = taken.map_err(|error| match no_lock(&**files, &store.join(LOCK), &error) {
            true => TrackingError::broken(
                &store.join(LOCK),
                "stands where the lock should be and is none",
                format!(
                    "When no run is on, remove it:\n    {}",
                    remove_line(&store.join(LOCK))
                ),
            ),
            false => failed(error),
        })?;
        let taken_over = match taken {
            Taken::Ours(taken_over) => taken_over,
            Taken::Held(holder) => {
                return Err(TrackingError::Locked {
                    path: store.to_owned(),
                    holder,
                });
            }
        };
        let shared = Arc::new(Shared {
            files: Arc::clone(files),
            owner,
            content,
            store: Mutex::new(store.to_owned()),
            lost: AtomicBool::new(false),
            identity: identity.clone(),
            timing,
        });
        let (stop, stopped) = mpsc::channel::<()>();
        let kept = Arc::clone(&shared);
        let renewer = std::thread::Builder::new()
            .name("bellis-lock".to_owned())
            .spawn(move || {
                while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(timing.renew) {
                    kept.renew();
                }
            })
            .map_err(failed)?;
        Ok((
            Self {
                shared,
                stop: Some(stop),
                renewer: Some(renewer),
            },
            taken_over,
        ))
    }

    /// Random id of this owner; also makes names of unfinished files unique.
    pub(crate) fn owner(&self) -> &str {
        &self.shared.owner
    }

    /// A check that can be asked from another thread.
    pub(crate) fn watch(&self) -> LockWatch {
        LockWatch(Arc::clone(&self.shared))
    }

    /// Fails when the lock is no longer ours.
    pub(crate) fn verify(&self) -> Result<(), TrackingError> {
        self.shared.verify()
    }

    /// Puts the same lock into a directory that will take the store's place.
    pub(crate) fn copy_into(&self, directory: &Path) -> io::Result<()> {
        self.shared
            .files
            .create(&directory.join(LOCK), &self.shared.content)
    }

    /// Runs a step that moves the directory with the lock, and goes on at the new place.
    pub(crate) fn moved_to<T>(
        &self,
        directory: &Path,
        step: impl FnOnce() -> io::Result<T>,
    ) -> io::Result<T> {
        let mut store = self.shared.store();
        let done = step()?;
        directory.clone_into(&mut store);
        Ok(done)
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(renewer) = self.renewer.take() {
            let _ = renewer.join();
        }
        if self.shared.verify().is_ok() {
            self.shared.give_back();
        }
    }
}

/// Asks after a lock from another thread.
#[derive(Debug, Clone)]
pub(crate) struct LockWatch(Arc<Shared>);

impl LockWatch {
    pub(crate) fn verify(&self) -> Result<(), TrackingError> {
        self.0.verify()
    }
}

impl Shared {
    fn store(&self) -> MutexGuard<'_, PathBuf> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn verify(&self) -> Result<(), TrackingError> {
        let store = self.store();
        let path = store.join(LOCK);
        let lost = |holder| TrackingError::LockLost {
            path: store.clone(),
            holder,
        };
        match self.files.read(&path, LIMIT) {
            Ok(content) => match serde_json::from_slice::<LockRecord>(&content) {
                Ok(record) if record.owner == self.owner => {
                    if self.lost.load(Ordering::Acquire) {
                        // It was another's for a while: what that one wrote is unknown.
                        return Err(lost(None));
                    }
                    Ok(())
                }
                Ok(record) => {
                    self.lost.store(true, Ordering::Release);
                    Err(lost(Some(record.holder())))
                }
                Err(_) => {
                    self.lost.store(true, Ordering::Release);
                    Err(lost(None))
                }
            },
            Err(error) if error.kind() == ErrorKind::NotFound => {
                self.lost.store(true, Ordering::Release);
                Err(lost(None))
            }
            Err(error) => Err(TrackingError::io(&path, "reading the lock", error)),
        }
    }

    fn give_back(&self) {
        let store = self.store();
        let candidate = candidate(&store, &self.owner);
        let made = self.files.create(&candidate, &self.content);
        let contender = Contender {
            files: &*self.files,
            store: &store,
            candidate: &candidate,
            content: &self.content,
            identity: &self.identity,
            stale_after: self.timing.stale_after,
        };
        let given_back = made.and_then(|()| contender.give_back());
        let _ = self.files.remove_file(&candidate);
        if given_back.is_err() {
            // No room for a claim, most likely.
            let _ = contender.remove_own(&store.join(LOCK));
        }
    }

    fn renew(&self) {
        if self.verify().is_ok() {
            // A failure shows as an old lock, which the next verification or run notices.
            let path = self.store().join(LOCK);
            let _ = self.files.touch(&path);
        }
    }
}

/// Who holds a store's lock by the look of it, without taking it; for status and messages.
pub(crate) fn holder(files: &dyn Files, store: &Path) -> Option<LockHolder> {
    let content = files.read(&store.join(LOCK), LIMIT).ok()?;
    let record = serde_json::from_slice::<LockRecord>(&content).ok()?;
    let theirs = record.identity();
    let dead = Identity::current().can_judge(&theirs) && theirs.is_alive() == Some(false);
    (!dead).then(|| record.holder())
}

/// Whether what keeps a run from taking the lock is something else in its place.
fn no_lock(files: &dyn Files, path: &Path, error: &io::Error) -> bool {
    error.kind() == ErrorKind::FileTooLarge
        || matches!(files.kind(path), Ok(Some(kind)) if kind != EntryKind::File)
}

/// A file with an owner's record, from which its lock and claims are linked.
fn candidate(store: &Path, owner: &str) -> PathBuf {
    store.join(format!("{LOCK}.{owner}"))
}

fn seconds_now() -> f64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0.0, |since| since.as_secs_f64())
}

/// 128 random bits in hexadecimal, from the seeds of the standard library's hash maps.
fn random_id() -> String {
    let mut id = String::with_capacity(32);
    for _ in 0..2 {
        let mut hasher = std::collections::hash_map::RandomState::new().build_hasher();
        hasher.write_u32(std::process::id());
        if let Ok(now) = SystemTime::now().duration_since(UNIX_EPOCH) {
            hasher.write_u128(now.as_nanos());
        }
        id.push_str(&format!("{:016x}", hasher.finish()));
    }
    id
}
