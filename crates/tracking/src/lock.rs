//! One run at a time: a lock file with its owner's identity, kept fresh by a thread of its own.
//!
//! The file is made under another name and linked into place, so that it is never seen half
//! written. A dead owner's lock is renamed aside, looked at again, and only then replaced: of two
//! runs that find the same dead lock one wins, and neither can remove a live one for good. An owner
//! looks at its lock before each sync and stops when it is no longer its own.

use std::hash::{BuildHasher, Hasher};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::directory::LOCK;
use crate::error::{LockHolder, TrackingError};
use crate::files::Files;
use crate::host::Identity;

/// How often one tries again when others come and go in between.
const TRIES: usize = 16;
/// Largest lock file that is read.
const LIMIT: u64 = 64 << 10;

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

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct LockRecord {
    owner: String,
    host: String,
    boot_id: Option<String>,
    pid_namespace: Option<String>,
    pid: u32,
    start_time: Option<u64>,
    since: f64,
}

impl LockRecord {
    fn identity(&self) -> Identity {
        Identity {
            host: self.host.clone(),
            boot_id: self.boot_id.clone(),
            pid_namespace: self.pid_namespace.clone(),
            pid: self.pid,
            start_time: self.start_time,
        }
    }

    fn holder(&self) -> LockHolder {
        LockHolder {
            host: self.host.clone(),
            pid: self.pid,
            since: self.since,
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
}

/// What an existing lock is worth.
enum Verdict {
    Live(LockHolder),
    Dead(LockHolder),
    Gone,
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
        let record = LockRecord {
            owner: owner.clone(),
            host: identity.host.clone(),
            boot_id: identity.boot_id.clone(),
            pid_namespace: identity.pid_namespace.clone(),
            pid: identity.pid,
            start_time: identity.start_time,
            since: seconds_now(),
        };
        let content = serde_json::to_vec(&record).unwrap_or_default();
        let candidate = store.join(format!("{LOCK}.{owner}"));
        let failed = |error| TrackingError::io(&store.join(LOCK), "taking the lock", error);
        files.create(&candidate, &content).map_err(failed)?;
        let taken = take(
            &**files,
            store,
            &candidate,
            &content,
            identity,
            timing.stale_after,
        );
        let _ = files.remove_file(&candidate);
        let taken_over = match taken.map_err(failed)? {
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
            let path = self.shared.store().join(LOCK);
            let _ = self.shared.files.remove_file(&path);
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

    fn renew(&self) {
        if self.verify().is_ok() {
            // A failure shows as an old lock, which the next verification or run notices.
            let path = self.store().join(LOCK);
            let _ = self.files.touch(&path);
        }
    }
}

enum Taken {
    Ours(Option<LockHolder>),
    Held(LockHolder),
}

fn take(
    files: &dyn Files,
    store: &Path,
    candidate: &Path,
    content: &[u8],
    identity: &Identity,
    stale_after: Duration,
) -> io::Result<Taken> {
    let path = store.join(LOCK);
    let mut taken_over = None;
    let mut last = None;
    for _ in 0..TRIES {
        let linked = match files.link(candidate, &path) {
            Err(error) if no_links(&error) => files.create(&path, content),
            other => other,
        };
        match linked {
            Ok(()) => return Ok(Taken::Ours(taken_over)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
        let found = match files.read(&path, LIMIT) {
            Ok(found) => found,
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        match judge(files, &path, &found, candidate, identity, stale_after)? {
            Verdict::Gone => {}
            Verdict::Live(holder) => return Ok(Taken::Held(holder)),
            Verdict::Dead(holder) => {
                if move_aside(files, &path, &found, candidate)? {
                    taken_over = Some(holder);
                } else {
                    last = Some(holder);
                }
            }
        }
    }
    match last {
        Some(holder) => Ok(Taken::Held(holder)),
        None => Err(io::Error::new(
            ErrorKind::ResourceBusy,
            "the lock changes all the time",
        )),
    }
}

/// Removes a dead lock unless another has replaced it meanwhile; tells whether it was removed.
fn move_aside(files: &dyn Files, path: &Path, judged: &[u8], candidate: &Path) -> io::Result<bool> {
    let mut aside = candidate.as_os_str().to_owned();
    aside.push(".stale");
    let aside = PathBuf::from(aside);
    match files.rename(path, &aside) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    }
    let ours_to_remove = files.read(&aside, LIMIT)? == judged;
    if !ours_to_remove {
        // A live one came between: give it back its place unless somebody has taken that too, which
        // its owner will notice.
        let _ = files.link(&aside, path);
    }
    files.remove_file(&aside)?;
    Ok(ours_to_remove)
}

fn judge(
    files: &dyn Files,
    path: &Path,
    found: &[u8],
    candidate: &Path,
    identity: &Identity,
    stale_after: Duration,
) -> io::Result<Verdict> {
    let record = serde_json::from_slice::<LockRecord>(found).ok();
    let holder = record.as_ref().map_or_else(
        || LockHolder {
            host: String::new(),
            pid: 0,
            since: 0.0,
        },
        LockRecord::holder,
    );
    if let Some(record) = &record {
        let theirs = record.identity();
        if identity.can_judge(&theirs) {
            return Ok(if theirs.is_alive() {
                Verdict::Live(holder)
            } else {
                Verdict::Dead(holder)
            });
        }
    }
    // Both times come from the clock of the file system, whatever the clocks of the machines say.
    files.touch(candidate)?;
    let now = files.modified(candidate)?;
    let renewed = match files.modified(path) {
        Ok(renewed) => renewed,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Verdict::Gone),
        Err(error) => return Err(error),
    };
    Ok(if distance(now, renewed) > stale_after {
        Verdict::Dead(holder)
    } else {
        Verdict::Live(holder)
    })
}

/// Who holds a store's lock by the look of it, without taking it; for status and messages.
pub(crate) fn holder(files: &dyn Files, store: &Path) -> Option<LockHolder> {
    let content = files.read(&store.join(LOCK), LIMIT).ok()?;
    let record = serde_json::from_slice::<LockRecord>(&content).ok()?;
    let theirs = record.identity();
    let dead = Identity::current().can_judge(&theirs) && !theirs.is_alive();
    (!dead).then(|| record.holder())
}

fn no_links(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Unsupported | ErrorKind::PermissionDenied | ErrorKind::TooManyLinks
    )
}

fn distance(a: SystemTime, b: SystemTime) -> Duration {
    a.duration_since(b).unwrap_or_else(|error| error.duration())
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
