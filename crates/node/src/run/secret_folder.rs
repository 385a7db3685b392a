//! A folder that only its owner can look into, with the secret of a run in a file, for workers that
//! aren't children of the driver. The driver's JavaScript puts the configs of worker functions beside it.

use std::io;
use std::path::{Path, PathBuf};

use bellis_net::{write_secret_file, Secret};

/// The folder; removed when dropped.
#[derive(Debug)]
pub(super) struct SecretFolder {
    folder: PathBuf,
    file: PathBuf,
}

impl SecretFolder {
    /// Makes the folder inside `parent` and writes the secret.
    pub(super) fn new(parent: &Path, run_id: &str, secret: &Secret) -> io::Result<Self> {
        std::fs::create_dir_all(parent)?;
        let folder = parent.join(format!(".bellis-{}-{run_id}", std::process::id()));
        let mut builder = std::fs::DirBuilder::new();
        #[cfg(unix)]
        {
            use std::os::unix::fs::DirBuilderExt;
            builder.mode(0o700);
        }
        // Fails when somebody else made it first.
        builder.create(&folder)?;
        let made = Self {
            file: folder.join("secret"),
            folder,
        };
        write_secret_file(&made.file, secret)?;
        Ok(made)
    }

    pub(super) fn file(&self) -> &Path {
        &self.file
    }
}

impl Drop for SecretFolder {
    fn drop(&mut self) {
        // What can't be removed holds the secret of a run that is over.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
