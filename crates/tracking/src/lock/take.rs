//! How a run comes by the lock: by making it, or by taking a dead run's over.
//!
//! A lock is made under another name and linked into place, so that it is never seen half written.
//! A dead one is replaced by the run that holds the *claim* on it, a file whose name follows from
//! the dead lock's content and that only one can make. A claim is a lock of its own: who dies with
//! one is followed by the run that makes the claim on that claim. With its claim in hand a run looks
//! again whether what it found dead is still there and still dead; claims go away after the lock was
//! replaced, so a run that comes late with an old judgement sees another lock and starts anew. An
//! owner gives its lock back with the claim on it in hand, too, so that it never removes the lock of
//! a run that took it for dead.
//!
//! On network file systems the answer to a request may get lost, and the client asks again: a file
//! that was made seems to have been there before, one that was renamed seems to be missing. So what
//! counts is whose record is in the file.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use sha2::{Digest, Sha256};

use super::record::LockRecord;
use crate::directory::LOCK;
use crate::error::LockHolder;
use crate::files::Files;
use crate::host::Identity;

/// How often one tries again when others come and go in between.
const TRIES: usize = 16;
/// Largest lock file that is read.
pub(super) const LIMIT: u64 = 64 << 10;

/// A run that wants the lock.
pub(super) struct Contender<'a> {
    pub(super) files: &'a dyn Files,
    pub(super) store: &'a Path,
    /// This run's record as a file beside the lock, to be linked into place.
    pub(super) candidate: &'a Path,
    pub(super) content: &'a [u8],
    pub(super) identity: &'a Identity,
    pub(super) stale_after: Duration,
}

pub(super) enum Taken {
    /// The lock is this run's; the dead one's that it replaced, if there was one.
    Ours(Option<LockHolder>),
    Held(LockHolder),
}

/// What an existing lock or claim is worth.
enum Verdict {
    Live(LockHolder),
    Dead(LockHolder),
    Gone,
}

enum Replaced {
    Ours,
    /// Another is just doing it.
    Claimed(LockHolder),
    /// Something came between: what was found no longer holds.
    Changed,
}

/// A file and what it held when it was judged.
struct Found {
    path: PathBuf,
    content: Vec<u8>,
}

impl Contender<'_> {
    pub(super) fn take(&self) -> io::Result<Taken> {
        let path = self.store.join(LOCK);
        for _ in 0..TRIES {
            if self.place(&path)? {
                return Ok(Taken::Ours(None));
            }
            let Some(lock) = self.find(&path)? else {
                continue;
            };
            match self.judge(&lock)? {
                Verdict::Gone => {}
                Verdict::Live(holder) => return Ok(Taken::Held(holder)),
                Verdict::Dead(holder) => match self.replace(lock)? {
                    Replaced::Ours => return Ok(Taken::Ours(Some(holder))),
                    Replaced::Claimed(by) => return Ok(Taken::Held(by)),
                    Replaced::Changed => {}
                },
            }
        }
        Err(io::Error::other("the lock changes all the time"))
    }

    /// Removes this run's lock, unless another run is just taking it over.
    pub(super) fn give_back(&self) -> io::Result<()> {
        let path = self.store.join(LOCK);
        let claim = self.claim_on(self.content);
        if !self.place(&claim)? {
            let found = self.find(&claim)?;
            if let Some(Verdict::Live(_)) = found.map(|claim| self.judge(&claim)).transpose()? {
                return Ok(());
            }
            return self.remove_own(&path);
        }
        let removed = self.remove_own(&path);
        let _ = self.files.remove_file(&claim);
        removed
    }

    pub(super) fn remove_own(&self, path: &Path) -> io::Result<()> {
        if self.is_ours(path)? {
            self.files.remove_file(path)?;
        }
        Ok(())
    }

    /// Puts this run's lock in the place of a dead one, if the claim on it can be had.
    fn replace(&self, lock: Found) -> io::Result<Replaced> {
        let path = lock.path.clone();
        let mut dead = vec![lock];
        while let Some(last) = dead.last().filter(|_| dead.len() <= TRIES) {
            let claim = self.claim_on(&last.content);
            if self.place(&claim)? {
                let replaced = self.replace_claimed(&path, &dead);
                let done = matches!(replaced, Ok(Replaced::Ours));
                let followed = dead.iter().skip(1).filter(|_| done);
                for leftover in followed.map(|claim| &claim.path).chain([&claim]) {
                    // One that stays does no harm: what it is a claim on never comes again.
                    let _ = self.files.remove_file(leftover);
                }
                return replaced;
            }
            let Some(claim) = self.find(&claim)? else {
                return Ok(Replaced::Changed);
            };
            match self.judge(&claim)? {
                Verdict::Dead(_) => dead.push(claim),
                Verdict::Live(holder) if self.all_still_dead(&dead)? => {
                    return Ok(Replaced::Claimed(holder));
                }
                Verdict::Live(_) | Verdict::Gone => return Ok(Replaced::Changed),
            }
        }
        Ok(Replaced::Changed)
    }

    fn replace_claimed(&self, path: &Path, dead: &[Found]) -> io::Result<Replaced> {
        if !self.all_still_dead(dead)? {
            return Ok(Replaced::Changed);
        }
        match self.files.rename(self.candidate, path) {
            Err(error) if !self.is_ours(path)? => Err(error),
            _ => Ok(Replaced::Ours),
        }
    }

    /// Looks again at what was found dead. The same content isn't enough: of two locks that were cut
    /// before their record was written, one may be dead and the other just being made.
    fn all_still_dead(&self, files: &[Found]) -> io::Result<bool> {
        for file in files {
            let dead = match self.find(&file.path)? {
                Some(now) if now.content == file.content => self.judge(&now)?,
                _ => return Ok(false),
            };
            if !matches!(dead, Verdict::Dead(_)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn is_ours(&self, path: &Path) -> io::Result<bool> {
        let found = self.find(path)?;
        Ok(found.is_some_and(|found| found.content == self.content))
    }

    /// Name of the claim on a dead lock or claim with this content, in which its owner's random id
    /// is.
    fn claim_on(&self, content: &[u8]) -> PathBuf {
        let digest = Sha256::digest(content);
        let tag: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        self.store.join(format!("{LOCK}.after.{tag}"))
    }

    /// Makes a file with this run's record; `false` where there is one already.
    fn place(&self, at: &Path) -> io::Result<bool> {
        let linked = match self.files.link(self.candidate, at) {
            Err(error) if no_links(&error) => self.files.create(at, self.content),
            other => other,
        };
        match linked {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => self.is_ours(at),
            Err(error) => Err(error),
        }
    }

    fn find(&self, path: &Path) -> io::Result<Option<Found>> {
        match self.files.read(path, LIMIT) {
            Ok(content) => Ok(Some(Found {
                path: path.to_owned(),
                content,
            })),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn judge(&self, found: &Found) -> io::Result<Verdict> {
        let record = serde_json::from_slice::<LockRecord>(&found.content).ok();
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
            if self.identity.can_judge(&theirs) {
                match theirs.is_alive() {
                    Some(true) => return Ok(Verdict::Live(holder)),
                    Some(false) => return Ok(Verdict::Dead(holder)),
                    // As for one elsewhere, the age decides.
                    None => {}
                }
            }
        }
        // Both times come from the clock of the file system, whatever the clocks of the machines say.
        self.files.touch(self.candidate)?;
        let now = self.files.modified(self.candidate)?;
        let renewed = match self.files.modified(&found.path) {
            Ok(renewed) => renewed,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Verdict::Gone),
            Err(error) => return Err(error),
        };
        Ok(if distance(now, renewed) > self.stale_after {
            Verdict::Dead(holder)
        } else {
            Verdict::Live(holder)
        })
    }
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
