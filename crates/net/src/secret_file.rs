//! A file with the secret of a run, for workers that aren't children of the driver: no secret lands
//! in a command line or in the accounting of a job.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;

use crate::secret::Secret;

/// Writes the secret to a new file that only its owner may read.
///
/// # Errors
/// The file exists already (also as a link), or the system refuses.
pub fn write_secret_file(path: &Path, secret: &Secret) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    let mut file = options.open(path)?;
    file.write_all(secret.to_hex().as_bytes())?;
    file.write_all(b"\n")
}

/// Reads what [`write_secret_file`] wrote.
///
/// # Errors
/// The file can't be read, others may read it too, or it holds no secret. No error shows its content.
pub fn read_secret_file(path: &Path) -> io::Result<Secret> {
    let file = File::open(path)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        if file.metadata()?.permissions().mode() & 0o077 != 0 {
            return Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                "the secret file may be read or changed by others; expected mode 0600",
            ));
        }
    }
    let mut text = String::new();
    file.take(100).read_to_string(&mut text)?;
    Secret::from_hex(text.trim_end())
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "the file holds no secret"))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn only_the_owner_may_read_it() {
        let dir = std::env::temp_dir().join(format!("bellis-secret-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let path = dir.join("secret");
        let secret = Secret::random().unwrap();
        write_secret_file(&path, &secret).unwrap();
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(read_secret_file(&path).unwrap(), secret);
        assert!(write_secret_file(&path, &secret).is_err(), "exists");
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).unwrap();
        let refused = read_secret_file(&path).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied);
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
