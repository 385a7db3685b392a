//! A disk that is really full, and one that can't be written: small file systems in memory.
//!
//! They need the right to mount. Without it each test says so and checks nothing.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use bellis_tracking::{OpenOptions, StoreReader, SystemFiles, TrackingStore};
use rustix::io::Errno;
use support::{line, record, Scratch};

/// A file system of a megabyte, unmounted at the end.
struct SmallDisk {
    at: PathBuf,
    _scratch: Scratch,
}

impl SmallDisk {
    fn mount() -> Option<Self> {
        let scratch = Scratch::new("small-disk");
        let at = scratch.join("disk");
        fs::create_dir(&at).unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=1m", "bellis-test"])
            .arg(&at)
            .output();
        match mounted {
            Ok(output) if output.status.success() => Some(Self {
                at,
                _scratch: scratch,
            }),
            Ok(output) => {
                let reason = String::from_utf8_lossy(&output.stderr).trim().to_owned();
                println!("not checked, a file system can't be mounted here: {reason}");
                None
            }
            Err(error) => {
                println!("not checked, a file system can't be mounted here: {error}");
                None
            }
        }
    }

    fn make_read_only(&self) {
        let options = "remount,ro,size=1m";
        let done = Command::new("mount")
            .args(["-o", options])
            .arg(&self.at)
            .status()
            .unwrap();
        assert!(done.success());
    }

    fn join(&self, name: &str) -> PathBuf {
        self.at.join(name)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.at).status();
    }
}

fn options(plain: bool) -> OpenOptions {
    OpenOptions {
        resource_tracking: true,
        force_plain_writes: plain,
        ..OpenOptions::default()
    }
}

fn done_on_disk(path: &Path) -> u64 {
    let reader = StoreReader::open(&SystemFiles, path, None)
        .unwrap()
        .unwrap();
    reader.status().unwrap().done
}

#[test]
fn a_full_disk_ends_recording_with_an_error() {
    for plain in [false, true] {
        let Some(disk) = SmallDisk::mount() else {
            return;
        };
        let path = disk.join("store");
        let layout = line(0, 1_000_000, 1);
        let mut store = TrackingStore::open(&path, &layout, options(plain)).unwrap();
        assert_eq!(store.is_mapped(), !plain);
        let mut count = 0;
        let error = loop {
            match store.record_done(count, Some(&record(1, 1.0))) {
                Ok(()) => count += 1,
                Err(error) => break error,
            }
        };
        assert!(error.is_os_error(Errno::NOSPC), "{error}");
        assert!(
            error.to_string().contains("Free some space and run again"),
            "{error}"
        );
        assert!(count > 1_000 && count < 100_000, "{count}");
        // Nothing that was refused is marked, and what was marked can be synced and read.
        assert!(!store.is_done(count));
        store.close().unwrap();
        assert_eq!(done_on_disk(&path), count);
        // Rerunning what is done needs no space; failures of it neither once their page is there.
        let mut store = TrackingStore::open(&path, &layout, options(plain)).unwrap();
        assert!(store.is_done(count - 1) && !store.is_done(count));
        assert!(store.record_done(count, Some(&record(1, 1.0))).is_err());
    }
}

#[test]
fn a_disk_that_was_full_from_the_start_is_left_as_it_was() {
    let Some(disk) = SmallDisk::mount() else {
        return;
    };
    let path = disk.join("store");
    fs::create_dir(&path).unwrap();
    let mut size = 2 << 20;
    while size > 0 {
        match fs::write(disk.join(&size.to_string()), vec![1; size]) {
            Ok(()) => {}
            Err(_) => size /= 2,
        }
    }
    let error = TrackingStore::open(&path, &line(0, 40, 10), options(false)).unwrap_err();
    assert!(error.is_os_error(Errno::NOSPC), "{error}");
    assert_eq!(fs::read_dir(&path).unwrap().count(), 0);
}

#[test]
fn a_disk_that_fills_up_while_a_volume_grows_leaves_the_old_store() {
    let Some(disk) = SmallDisk::mount() else {
        return;
    };
    let path = disk.join("store");
    let layout = line(0, 5_000, 1);
    let mut store = TrackingStore::open(&path, &layout, options(false)).unwrap();
    for cell in 0..5_000 {
        store.record_done(cell, Some(&record(1, 1.0))).unwrap();
    }
    store.close().unwrap();
    let ballast = disk.join("ballast");
    let mut size = 700 << 10;
    while fs::write(&ballast, vec![1; size]).is_err() {
        size -= 16 << 10;
    }
    let grown = line(0, 10_000, 1);
    let error = TrackingStore::open(&path, &grown, options(false)).unwrap_err();
    assert!(error.is_os_error(Errno::NOSPC), "{error}");
    assert_eq!(done_on_disk(&path), 5_000);
    assert!(!disk.join(".store.bellis-new").exists());
    fs::remove_file(ballast).unwrap();
    let store = TrackingStore::open(&path, &grown, options(false)).unwrap();
    assert_eq!(
        store.done_bytes().iter().filter(|byte| **byte != 0).count(),
        5_000
    );
}

#[test]
fn a_read_only_disk_can_be_looked_at_but_not_written() {
    let Some(disk) = SmallDisk::mount() else {
        return;
    };
    let path = disk.join("store");
    let layout = line(0, 40, 10);
    let mut store = TrackingStore::open(&path, &layout, options(false)).unwrap();
    store.record_done(2, None).unwrap();
    store.close().unwrap();
    disk.make_read_only();
    let error = TrackingStore::open(&path, &layout, options(false)).unwrap_err();
    assert!(error.is_os_error(Errno::ROFS), "{error}");
    assert!(
        error.to_string().contains("on a writable file system"),
        "{error}"
    );
    let error = TrackingStore::open(&disk.join("new"), &layout, options(false)).unwrap_err();
    assert!(error.is_os_error(Errno::ROFS), "{error}");
    assert_eq!(done_on_disk(&path), 1);
}
