//! daisy 2.0.0 and bellis on one store: either goes on with what the other did, and zarr reads it
//! while it is written.
//!
//! Needs a Python with the packages of `benchmark/peers/requirements-2.0.0.txt`: the one that
//! `BELLIS_DAISY_PYTHON` names, or the environment that `npm run bench` makes. Without one each test
//! says so and checks nothing, unless `BELLIS_REQUIRE_DAISY` is set.

#![allow(clippy::unwrap_used)]

mod support;

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use bellis_core::{BlockGrid, BlockIndex, Fit, Roi, TaskSpec};
use bellis_tracking::{Layout, OpenOptions, StoreReader, SystemFiles, TrackingStore};
use serde_json::{json, Value};
use support::{record, Scratch};

fn python() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let made = root.join(".build/peer-daisy-2.0.0/bin/python");
    let found = std::env::var_os("BELLIS_DAISY_PYTHON").map(PathBuf::from);
    let found = found.or_else(|| made.exists().then_some(made));
    if found.is_none() {
        let text = "not checked: no Python with daisy 2.0.0 (set BELLIS_DAISY_PYTHON)";
        assert!(std::env::var_os("BELLIS_REQUIRE_DAISY").is_none(), "{text}");
        println!("{text}");
    }
    found
}

/// Has daisy answer all requests in one process.
fn ask(python: &Path, requests: &[Value]) -> Vec<Value> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/interchange/daisy_run.py");
    let scratch = Scratch::new("daisy-cwd");
    let mut child = Command::new(python)
        .arg(script)
        .current_dir(scratch.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input
        .write_all(Value::from(requests.to_vec()).to_string().as_bytes())
        .unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8(output.stdout).unwrap();
    serde_json::from_str(text.trim_end().lines().last().unwrap()).unwrap()
}

struct Case {
    name: String,
    grid: BlockGrid,
    layout: Layout,
    resource_tracking: bool,
    fit: &'static str,
}

impl Case {
    fn new(shape: [&[i64]; 2], read: [&[i64]; 2], write: [&[i64]; 2], fit: Fit, all: bool) -> Self {
        let roi = |[offset, shape]: [&[i64]; 2]| Roi::from_slices(offset, shape).unwrap();
        let mut spec = TaskSpec::new("interchange", roi(shape), roi(read), roi(write));
        spec.fit = fit;
        spec.read_write_conflict = false;
        Self {
            name: format!("{}-{}-{all}", shape[0].len(), fit.name()),
            grid: BlockGrid::new(&spec).unwrap(),
            layout: Layout::of_task(&spec).unwrap(),
            resource_tracking: all,
            fit: fit.name(),
        }
    }

    fn path(&self, scratch: &Scratch) -> PathBuf {
        scratch.join(&self.name)
    }

    fn open(&self, scratch: &Scratch) -> TrackingStore {
        let resource_tracking = self.resource_tracking;
        let options = OpenOptions {
            resource_tracking,
            ..OpenOptions::default()
        };
        TrackingStore::open(&self.path(scratch), &self.layout, options).unwrap()
    }

    fn blocks(&self) -> impl Iterator<Item = BlockIndex> {
        (0..self.layout.blocks()).map(BlockIndex)
    }

    fn cell(&self, block: BlockIndex) -> u64 {
        let cell = self.layout.cell_of(block.0).unwrap();
        assert_eq!(self.grid.store_cell(block), Some(cell), "{}", self.name);
        cell
    }

    fn id(&self, block: BlockIndex) -> u64 {
        self.grid.number(block).try_into().unwrap()
    }

    /// The task as daisy gets it.
    fn request(&self, scratch: &Scratch) -> Value {
        let roi = |roi: &bellis_tracking::StoredRoi| json!([roi.offset, roi.shape]);
        json!({
            "total": roi(self.layout.total()),
            "read": roi(self.layout.read()),
            "write": roi(self.layout.write()),
            "fit": self.fit,
            "trackingPath": self.path(scratch),
            "resourceTracking": self.resource_tracking,
        })
    }

    fn ids(&self, wanted: impl Fn(BlockIndex) -> bool) -> BTreeSet<u64> {
        self.blocks()
            .filter(|block| wanted(*block))
            .map(|block| self.id(block))
            .collect()
    }
}

/// 1-D to 3-D, every fit, with and without measurements, context also wider than a block.
fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for fit in [Fit::Valid, Fit::Overhang, Fit::Shrink] {
        for all in [false, true] {
            cases.extend([
                Case::new([&[-25], &[94]], [&[-25], &[60]], [&[0], &[10]], fit, all),
                Case::new(
                    [&[0, -7], &[27, 22]],
                    [&[0, 0], &[8, 5]],
                    [&[2, 0], &[4, 5]],
                    fit,
                    all,
                ),
                Case::new(
                    [&[-7, -100, 3], &[9, 13, 10]],
                    [&[0, 0, 0], &[4, 5, 7]],
                    [&[1, 1, 1], &[2, 3, 4]],
                    fit,
                    all,
                ),
            ]);
        }
    }
    cases
}

fn even(block: BlockIndex) -> bool {
    block.0 % 2 == 0
}

fn set(answer: &Value) -> BTreeSet<u64> {
    answer
        .as_array()
        .unwrap()
        .iter()
        .map(|id| id.as_u64().unwrap())
        .collect()
}

#[test]
fn daisy_does_half_and_bellis_finishes() {
    let Some(python) = python() else { return };
    let scratch = Scratch::new("daisy-first");
    let cases = cases();
    let requests: Vec<_> = cases
        .iter()
        .map(|case| {
            let mut request = case.request(&scratch);
            let mask: Vec<u8> = case.blocks().map(|block| u8::from(!even(block))).collect();
            request["mask"] = json!(mask);
            request["maskShape"] = json!(case.layout.block_grid_shape());
            request
        })
        .collect();
    for (case, answer) in cases.iter().zip(ask(&python, &requests)) {
        let name = &case.name;
        assert_eq!(set(&answer["ran"]), case.ids(even), "{name}");
        let mut store = case.open(&scratch);
        assert_eq!(store.take_notices(), [], "{name}");
        for block in case.blocks() {
            let cell = case.cell(block);
            assert_eq!(
                store.is_done(cell),
                even(block),
                "{name} block {}",
                case.id(block)
            );
            if !even(block) {
                store.record_done(cell, Some(&record(1, 0.5))).unwrap();
            }
        }
        store.close().unwrap();
    }
    // Nothing is left for daisy.
    let requests: Vec<_> = cases.iter().map(|case| case.request(&scratch)).collect();
    for (case, answer) in cases.iter().zip(ask(&python, &requests)) {
        assert_eq!(answer["ran"], json!([]), "{}", case.name);
        assert_eq!(
            answer["completed"],
            json!(case.layout.blocks()),
            "{}",
            case.name
        );
        assert_eq!(answer["skipped"], answer["completed"], "{}", case.name);
    }
}

#[test]
fn bellis_does_half_and_daisy_finishes() {
    let Some(python) = python() else { return };
    let scratch = Scratch::new("bellis-first");
    let cases = cases();
    for case in &cases {
        let mut store = case.open(&scratch);
        for block in case.blocks().filter(|block| even(*block)) {
            store
                .record_done(case.cell(block), Some(&record(7, 0.5)))
                .unwrap();
        }
        store.close().unwrap();
    }
    let requests: Vec<_> = cases.iter().map(|case| case.request(&scratch)).collect();
    for (case, answer) in cases.iter().zip(ask(&python, &requests)) {
        let name = &case.name;
        assert_eq!(
            set(&answer["ran"]),
            case.ids(|block| !even(block)),
            "{name}"
        );
        let reader = StoreReader::open(&SystemFiles, &case.path(&scratch), Some(&case.layout));
        let reader = reader.unwrap().unwrap();
        assert_eq!(
            reader.status().unwrap().done,
            case.layout.blocks(),
            "{name}"
        );
        for block in case.blocks() {
            let stored = reader.block(case.cell(block)).unwrap();
            assert!(stored.done, "{name}");
            let ours = case.resource_tracking && even(block);
            assert_eq!(
                stored.worker_id,
                ours.then_some(7),
                "{name}: daisy leaves ours alone"
            );
            assert_eq!(
                stored.wall_seconds.is_some(),
                case.resource_tracking,
                "{name}"
            );
        }
    }
}

#[test]
fn failures_of_both_add_up() {
    let Some(python) = python() else { return };
    let scratch = Scratch::new("daisy-failures");
    let case = Case::new(
        [&[0], &[60]],
        [&[0], &[10]],
        [&[0], &[10]],
        Fit::Valid,
        true,
    );
    let mut store = case.open(&scratch);
    store.record_failure(4).unwrap();
    store.record_failure(2).unwrap();
    store.close().unwrap();
    let mut request = case.request(&scratch);
    request["fail"] = json!([2, 3]);
    let answer = &ask(&python, &[request])[0];
    assert_eq!(answer["failed"], json!([2, 3]));
    assert_eq!(answer["completed"], json!(4));
    let reader = StoreReader::open(&SystemFiles, &case.path(&scratch), None)
        .unwrap()
        .unwrap();
    let failed: Vec<_> = reader
        .failed_cells()
        .unwrap()
        .iter()
        .map(|f| (f.cell, f.attempts))
        .collect();
    // One of ours and, with one retry, two of daisy's.
    assert_eq!(failed, [(2, 3), (3, 2)]);
    assert_eq!(reader.block(4).unwrap().failures, 1);
    assert!(reader.block(4).unwrap().done);
}

#[test]
fn zarr_reads_the_same_while_a_run_is_on() {
    let Some(python) = python() else { return };
    let scratch = Scratch::new("zarr");
    let case = Case::new(
        [&[0, 0], &[20, 30]],
        [&[0, 0], &[10, 10]],
        [&[0, 0], &[10, 10]],
        Fit::Valid,
        true,
    );
    let mut store = case.open(&scratch);
    store.record_done(4, Some(&record(7, 0.5))).unwrap();
    store.record_failure(5).unwrap();
    let answer = &ask(&python, &[json!({"look": case.path(&scratch)})])[0];
    assert_eq!(answer["hash"], json!(case.layout.hash()));
    let arrays = &answer["arrays"];
    assert_eq!(arrays.as_object().unwrap().len(), 12);
    assert_eq!(arrays["done"], json!([0, 0, 0, 0, 1, 0]));
    assert_eq!(arrays["failures"], json!([0, 0, 0, 0, 0, 1]));
    assert_eq!(
        arrays["wall_seconds"],
        json!([0.0, 0.0, 0.0, 0.0, 0.5, 0.0])
    );
    assert_eq!(
        arrays["gpu_util_pct"],
        json!([0.0, 0.0, 0.0, 0.0, "NaN", 0.0])
    );
    assert_eq!(arrays["peak_rss_bytes"], json!([0, 0, 0, 0, 1 << 20, 0]));
    assert_eq!(arrays["worker_id"], json!([0, 0, 0, 0, 7, 0]));
    assert_eq!(
        arrays["returned_at"],
        json!([0.0, 0.0, 0.0, 0.0, 1e9 + 0.5, 0.0])
    );
    store.close().unwrap();
}

#[test]
fn daisys_store_grows() {
    let Some(python) = python() else { return };
    let scratch = Scratch::new("daisy-grown");
    let case = Case::new(
        [&[0], &[45]],
        [&[0], &[10]],
        [&[0], &[10]],
        Fit::Shrink,
        true,
    );
    let answer = &ask(&python, &[case.request(&scratch)])[0];
    assert_eq!(answer["completed"], json!(5));
    let mut grown = Case::new(
        [&[-20], &[95]],
        [&[0], &[10]],
        [&[0], &[10]],
        Fit::Shrink,
        true,
    );
    grown.name.clone_from(&case.name);
    let options = OpenOptions {
        resource_tracking: true,
        grown_from: Some(case.layout.total().clone()),
        ..OpenOptions::default()
    };
    let store = TrackingStore::open(&grown.path(&scratch), &grown.layout, options).unwrap();
    let done: Vec<u64> = (0..grown.layout.cells())
        .filter(|cell| store.is_done(*cell))
        .collect();
    assert_eq!(done, [2, 3, 4, 5]);
    store.close().unwrap();
    // And daisy goes on with the grown one.
    let answer = &ask(&python, &[grown.request(&scratch)])[0];
    assert_eq!(answer["skipped"], json!(4));
    assert_eq!(set(&answer["ran"]), [0, 1, 6, 7, 8, 9].into());
}
