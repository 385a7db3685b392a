//! What can go wrong with a tracking store, each with a stable code and a message that says what
//! to do.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// One field in which a store's layout differs from the task's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldDifference {
    /// Name as users write it, such as `totalRoi.shape`.
    pub field: String,
    /// What the store was written for.
    pub stored: String,
    /// What the task asks for.
    pub expected: String,
}

/// A store that was written for another layout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LayoutMismatch {
    /// Directory of the store.
    pub path: PathBuf,
    /// Layout hash in the store; `None` where it has none.
    pub stored: Option<String>,
    /// Layout hash of the task.
    pub expected: String,
    /// What differs; empty when the store holds only a hash, which can't be taken apart.
    pub fields: Vec<FieldDifference>,
    /// A way out other than deleting the store, where there is one.
    pub hint: Option<String>,
}

/// Who holds the lock of a store.
#[derive(Debug, Clone, PartialEq)]
pub struct LockHolder {
    /// Machine that the holder runs on.
    pub host: String,
    /// Its process id, in its own pid namespace; 0 when its lock can't be read.
    pub pid: u32,
    /// When it took the lock, seconds since the UNIX epoch.
    pub since: f64,
}

/// An error of the tracking store.
#[derive(Debug)]
pub enum TrackingError {
    /// The store belongs to another layout.
    LayoutMismatch(Box<LayoutMismatch>),
    /// The store can't be used, or a file operation on it failed.
    Store {
        /// File or directory concerned.
        path: PathBuf,
        /// What is wrong.
        problem: String,
        /// What to do about it.
        remedy: String,
        /// The operating system's error, if one is the cause.
        source: Option<io::Error>,
    },
    /// Another run holds the store.
    Locked {
        /// Directory of the store.
        path: PathBuf,
        /// Who holds it.
        holder: LockHolder,
    },
    /// The lock was taken over or removed while this run was on.
    LockLost {
        /// Directory of the store.
        path: PathBuf,
        /// Who has it now; `None` when the lock file is gone.
        holder: Option<LockHolder>,
    },
    /// A layout that no store can have.
    Validation {
        /// Option concerned, such as `totalRoi.shape`.
        path: String,
        /// What is wrong with it.
        problem: String,
    },
}

impl TrackingError {
    /// The stable code that error classes carry.
    pub fn code(&self) -> &'static str {
        match self {
            Self::LayoutMismatch(_) => "ERR_BELLIS_LAYOUT_MISMATCH",
            Self::Store { .. } => "ERR_BELLIS_STORE",
            Self::Locked { .. } | Self::LockLost { .. } => "ERR_BELLIS_STORE_LOCKED",
            Self::Validation { .. } => "ERR_BELLIS_VALIDATION",
        }
    }

    /// The file, directory or option concerned.
    pub fn path(&self) -> &Path {
        match self {
            Self::LayoutMismatch(mismatch) => &mismatch.path,
            Self::Store { path, .. } | Self::Locked { path, .. } | Self::LockLost { path, .. } => {
                path
            }
            Self::Validation { path, .. } => Path::new(path),
        }
    }

    pub(crate) fn io(path: &Path, doing: &str, source: io::Error) -> Self {
        let remedy = remedy_for(&source);
        Self::Store {
            path: path.to_owned(),
            problem: format!("{doing} failed: {source}"),
            remedy: remedy.to_owned(),
            source: Some(source),
        }
    }

    pub(crate) fn broken(
        path: &Path,
        problem: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self::Store {
            path: path.to_owned(),
            problem: problem.into(),
            remedy: remedy.into(),
            source: None,
        }
    }

    /// Whether something was missing that had just been there.
    pub(crate) fn is_missing(&self) -> bool {
        matches!(self, Self::Store { source: Some(source), .. }
            if source.kind() == io::ErrorKind::NotFound)
    }

    /// Whether this is an error of the operating system with that number.
    #[cfg(unix)]
    pub fn is_os_error(&self, errno: rustix::io::Errno) -> bool {
        matches!(self, Self::Store { source: Some(source), .. }
            if source.raw_os_error() == Some(errno.raw_os_error()))
    }
}

/// What a user can do about an error of the operating system.
fn remedy_for(error: &io::Error) -> &'static str {
    use io::ErrorKind;
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "Free some space and run again: blocks that were already marked stay marked."
        }
        ErrorKind::PermissionDenied => {
            "Give this user write permission there, or choose another tracking path."
        }
        ErrorKind::ReadOnlyFilesystem => "Choose a tracking path on a writable file system.",
        ErrorKind::StaleNetworkFileHandle => {
            "The file server lost the file: check the mount and run again."
        }
        ErrorKind::InvalidFilename => "Choose a shorter tracking path.",
        ErrorKind::ResourceBusy | ErrorKind::CrossesDevices => {
            "A store that is itself a mount point can't be replaced: use a directory below it."
        }
        _ => "Check the file system and run again: blocks that were already marked stay marked.",
    }
}

/// The shell line that deletes a store.
pub(crate) fn remove_line(path: &Path) -> String {
    format!("rm -rf {}", shell_quoted(path))
}

/// A path as a shell takes it: as it is where that is safe, else in single quotes.
pub(crate) fn shell_quoted(path: &Path) -> String {
    let text = path.to_string_lossy();
    let plain = |c: char| c.is_alphanumeric() || "/._-+@%,:=".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.into_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

impl fmt::Display for LockHolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pid {
            0 => write!(f, "an unknown process"),
            pid => write!(f, "process {pid} on {}", self.host),
        }
    }
}

impl fmt::Display for TrackingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LayoutMismatch(mismatch) => mismatch.fmt(f),
            Self::Store {
                path,
                problem,
                remedy,
                ..
            } => {
                write!(f, "tracking store {}: {problem}", path.display())?;
                if remedy.is_empty() {
                    Ok(())
                } else {
                    write!(f, "\n{remedy}")
                }
            }
            Self::Locked { path, holder } => write!(
                f,
                "tracking store {} is in use by another run ({holder}). Wait for it to end, or \
                 give this task another tracking path.",
                path.display()
            ),
            Self::LockLost { path, holder } => {
                write!(
                    f,
                    "tracking store {} is no longer this run's: ",
                    path.display()
                )?;
                match holder {
                    Some(holder) => write!(f, "{holder} took it over. ")?,
                    None => write!(f, "its lock file was removed. ")?,
                }
                write!(f, "Nothing more is recorded; run again when it is free.")
            }
            Self::Validation { path, problem } => write!(f, "{path}: {problem}"),
        }
    }
}

impl fmt::Display for LayoutMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "tracking store {} was written for another task layout",
            self.path.display()
        )?;
        for (index, difference) in self.fields.iter().enumerate() {
            let lead = if index == 0 { ": " } else { "; " };
            write!(
                f,
                "{lead}{} is {} in the store and {} in the task",
                difference.field, difference.stored, difference.expected
            )?;
        }
        let stored = self.stored.as_deref().unwrap_or("none");
        write!(f, " (stored hash {stored}, expected {}).", self.expected)?;
        if let Some(hint) = &self.hint {
            write!(f, " {hint}")?;
        }
        write!(
            f,
            " To start fresh, delete it:\n    {}",
            remove_line(&self.path)
        )
    }
}

impl std::error::Error for TrackingError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Store {
                source: Some(source),
                ..
            } => Some(source),
            _ => None,
        }
    }
}

/// Something that a user should be told once, and that did not stop the work.
#[derive(Debug, Clone, PartialEq)]
pub enum Notice {
    /// A chunk file was missing; its cells count as never written.
    ChunkMissing {
        /// The file.
        path: PathBuf,
    },
    /// The metadata of an array was missing and was written again.
    MetadataRestored {
        /// The file.
        path: PathBuf,
    },
    /// A migration that was cut in the middle was completed or undone.
    MigrationRepaired {
        /// Directory of the store.
        path: PathBuf,
        /// What was done.
        what: &'static str,
    },
    /// A grown volume was taken over.
    Migrated {
        /// Directory of the store.
        path: PathBuf,
        /// Done blocks that stay done.
        kept: u64,
        /// Done blocks whose regions changed, which run again.
        cleared: u64,
    },
    /// The store was written for another layout and was started fresh, as asked.
    Recreated {
        /// Directory of the store.
        path: PathBuf,
    },
    /// A dead run's lock was taken over.
    LockTakenOver {
        /// Directory of the store.
        path: PathBuf,
        /// The dead run.
        holder: LockHolder,
    },
    /// The `bellis` attribute contradicts the hash beside it and was ignored.
    AttributeIgnored {
        /// The file.
        path: PathBuf,
    },
    /// A store without a layout hash: checked by shape only.
    WithoutHash {
        /// Directory of the store.
        path: PathBuf,
    },
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ChunkMissing { path } => write!(
                f,
                "{} was missing: all of its cells count as never written",
                path.display()
            ),
            Self::MetadataRestored { path } => {
                write!(f, "{} was missing and was written again", path.display())
            }
            Self::MigrationRepaired { path, what } => {
                write!(f, "tracking store {}: {what}", path.display())
            }
            Self::Migrated {
                path,
                kept,
                cleared,
            } => {
                write!(
                    f,
                    "tracking store {}: the volume has grown; {kept} done blocks were kept",
                    path.display()
                )?;
                if *cleared > 0 {
                    write!(f, ", {cleared} run again because their regions changed")?;
                }
                Ok(())
            }
            Self::Recreated { path } => write!(
                f,
                "tracking store {} was written for another task layout and was started fresh",
                path.display()
            ),
            Self::LockTakenOver { path, holder } => write!(
                f,
                "tracking store {}: took over the lock of a run that has died ({holder})",
                path.display()
            ),
            Self::AttributeIgnored { path } => write!(
                f,
                "{}: the bellis attribute does not fit the layout hash and was ignored",
                path.display()
            ),
            Self::WithoutHash { path } => write!(
                f,
                "tracking store {} has no layout hash: it is accepted for its shape alone",
                path.display()
            ),
        }
    }
}
