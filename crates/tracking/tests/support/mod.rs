//! What the tests of the store share: scratch directories, layouts, golden stores.

#![allow(dead_code, unreachable_pub, missing_docs, clippy::unwrap_used)]

pub mod faulty;
pub mod process;
pub mod turns;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use bellis_core::{BlockRecord, BlockStats};
use bellis_tracking::{Identity, Layout, StoredFit, StoredRoi};
use serde_json::Value;

/// A directory that is removed at the end of a test.
pub struct Scratch(PathBuf);

impl Scratch {
    pub fn new(name: &str) -> Self {
        Self::in_directory(&std::env::temp_dir(), name)
    }

    /// One in memory where there is such a place, for tests that sync all the time.
    pub fn in_memory(name: &str) -> Self {
        let memory = Path::new("/dev/shm");
        let parent = if memory.is_dir() {
            memory.to_owned()
        } else {
            std::env::temp_dir()
        };
        Self::in_directory(&parent, name)
    }

    pub fn in_directory(parent: &Path, name: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = parent.join(format!("bellis-{name}-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub fn vectors() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../__test__/vectors")
}

pub fn roi(offset: &[i64], shape: &[i64]) -> StoredRoi {
    StoredRoi {
        offset: offset.to_vec(),
        shape: shape.to_vec(),
    }
}

/// One axis, no context: `total` voxels from `offset` in blocks of `block`.
pub fn line(offset: i64, total: i64, block: i64) -> Layout {
    line_with(offset, total, block, 0, StoredFit::Valid)
}

pub fn line_with(offset: i64, total: i64, block: i64, context: i64, fit: StoredFit) -> Layout {
    Layout::new(
        roi(&[offset], &[total]),
        roi(&[-context], &[block + 2 * context]),
        roi(&[0], &[block]),
        fit,
    )
    .unwrap()
}

/// A process of this machine that has ended.
pub fn dead() -> Identity {
    Identity {
        pid: u32::MAX - 1,
        start_time: Some(1),
        ..Identity::current()
    }
}

pub fn record(worker_id: u32, wall_seconds: f64) -> BlockRecord {
    BlockRecord {
        stats: Some(BlockStats {
            wall_seconds,
            cpu_seconds: wall_seconds / 2.0,
            peak_rss_bytes: 1 << 20,
            io_read_bytes: 11,
            io_write_bytes: 22,
        }),
        worker_id,
        sent_at: 1e9,
        returned_at: 1e9 + wall_seconds,
    }
}

/// A whole number in a golden file, where big ones are texts.
pub fn integer(value: &Value) -> i64 {
    value
        .as_i64()
        .or_else(|| value.as_str()?.parse().ok())
        .unwrap()
}

pub fn golden_roi(value: &Value) -> StoredRoi {
    let list = |value: &Value| value.as_array().unwrap().iter().map(integer).collect();
    StoredRoi {
        offset: list(&value[0]),
        shape: list(&value[1]),
    }
}

pub fn golden_layout(case: &Value) -> Layout {
    let fit = serde_json::from_value(case["fit"].clone()).unwrap();
    let [total, read, write] = ["total", "read", "write"].map(|name| golden_roi(&case[name]));
    Layout::new(total, read, write, fit).unwrap()
}

/// All golden stores with their recorded answers.
pub fn golden_stores() -> Vec<Value> {
    let text = fs::read_to_string(vectors().join("stores/expected.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

pub fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_tree(&entry.path(), &target);
        } else {
            fs::write(&target, fs::read(entry.path()).unwrap()).unwrap();
        }
    }
}

/// Every file below a directory with its content, by relative path.
pub fn tree(root: &Path) -> Vec<(String, Vec<u8>)> {
    fn walk(root: &Path, at: &Path, found: &mut Vec<(String, Vec<u8>)>) {
        for entry in fs::read_dir(at).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(root, &path, found);
            } else {
                let name = path
                    .strip_prefix(root)
                    .unwrap()
                    .to_string_lossy()
                    .into_owned();
                found.push((name, fs::read(&path).unwrap()));
            }
        }
    }
    let mut found = Vec::new();
    walk(root, root, &mut found);
    found.sort();
    found
}
