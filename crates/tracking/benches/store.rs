//! What the store costs: a block recorded, a finished run taken in, a grown volume carried over.
//!
//! Run with `cargo bench -p bellis-tracking`. Rates are blocks a second.

#![allow(missing_docs, clippy::unwrap_used)]

use std::fs;
use std::path::PathBuf;

use bellis_core::{BlockRecord, BlockStats};
use bellis_tracking::{Layout, OpenOptions, StoredFit, StoredRoi, TrackingStore};
use divan::counter::ItemsCount;
use divan::Bencher;

/// Blocks along each axis of the volume whose blocks are recorded.
const SIDE: u64 = 100;

struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("bellis-bench-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn store(&self) -> PathBuf {
        self.0.join("store")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn layout(shape: &[i64]) -> Layout {
    let zeros = vec![0; shape.len()];
    let ones = StoredRoi {
        offset: zeros.clone(),
        shape: vec![1; shape.len()],
    };
    let total = StoredRoi {
        offset: zeros,
        shape: shape.to_vec(),
    };
    Layout::new(total, ones.clone(), ones, StoredFit::Valid).unwrap()
}

fn cube() -> Layout {
    layout(&[SIDE as i64; 3])
}

/// Cells in the order in which blocks with conflicts are handed out: eight levels, row by row.
fn hand_out_order() -> Vec<u64> {
    let mut cells = Vec::with_capacity((SIDE * SIDE * SIDE) as usize);
    for level in (0..8).rev() {
        let [z, y, x] = [level >> 2 & 1, level >> 1 & 1, level & 1];
        for i in (z..SIDE).step_by(2) {
            for j in (y..SIDE).step_by(2) {
                cells.extend((x..SIDE).step_by(2).map(|k| (i * SIDE + j) * SIDE + k));
            }
        }
    }
    cells
}

fn record(cell: u64) -> BlockRecord {
    BlockRecord {
        stats: Some(BlockStats {
            wall_seconds: 0.5,
            cpu_seconds: 0.25,
            peak_rss_bytes: cell,
            io_read_bytes: 1,
            io_write_bytes: 2,
        }),
        worker_id: 3,
        sent_at: 1.0,
        returned_at: 2.0,
    }
}

fn options(resource_tracking: bool, plain: bool) -> OpenOptions {
    OpenOptions {
        resource_tracking,
        force_plain_writes: plain,
        ..OpenOptions::default()
    }
}

fn record_all(store: &mut TrackingStore, cells: &[u64]) {
    for cell in cells {
        store.record_done(*cell, Some(&record(*cell))).unwrap();
    }
}

/// 10^6 blocks in hand-out order, all pages allocated before.
#[divan::bench(args = [true, false], sample_count = 11, sample_size = 1)]
fn record_with_pages_allocated(bencher: Bencher, all_arrays: bool) {
    let scratch = Scratch::new("allocated");
    let cells = hand_out_order();
    let mut store =
        TrackingStore::open(&scratch.store(), &cube(), options(all_arrays, false)).unwrap();
    record_all(&mut store, &cells);
    bencher
        .counter(ItemsCount::new(cells.len()))
        .bench_local(|| record_all(&mut store, &cells));
}

/// The same on a new store: each page is allocated when it is first touched.
#[divan::bench(args = [true, false], sample_count = 5, sample_size = 1)]
fn record_with_first_touch(bencher: Bencher, all_arrays: bool) {
    let cells = hand_out_order();
    bencher
        .counter(ItemsCount::new(cells.len()))
        .with_inputs(|| {
            let scratch = Scratch::new("touch");
            let options = options(all_arrays, false);
            let store = TrackingStore::open(&scratch.store(), &cube(), options).unwrap();
            (store, scratch)
        })
        .bench_local_refs(|(store, _)| record_all(store, &cells));
}

/// The same by position, as on a network file system.
#[divan::bench(args = [true, false], sample_count = 3, sample_size = 1)]
fn record_by_position(bencher: Bencher, all_arrays: bool) {
    let scratch = Scratch::new("position");
    let cells = hand_out_order();
    let mut store =
        TrackingStore::open(&scratch.store(), &cube(), options(all_arrays, true)).unwrap();
    record_all(&mut store, &cells);
    bencher
        .counter(ItemsCount::new(cells.len()))
        .bench_local(|| record_all(&mut store, &cells));
}

fn finished(scratch: &Scratch, layout: &Layout, resource_tracking: bool) {
    let path = scratch.store();
    let options = options(resource_tracking, false);
    TrackingStore::open(&path, layout, options)
        .unwrap()
        .close()
        .unwrap();
    let axes = layout.axes();
    fs::write(
        path.join(format!("done/c{}", "/0".repeat(axes))),
        vec![1; layout.cells() as usize],
    )
    .unwrap();
}

/// A finished store opened and its marks counted.
#[divan::bench(args = [20_000, 1_000_000, 100_000_000], sample_count = 7, sample_size = 1)]
fn open_and_count_finished(bencher: Bencher, cells: i64) {
    let scratch = Scratch::new("finished");
    let layout = layout(&[cells]);
    finished(&scratch, &layout, false);
    bencher
        .counter(ItemsCount::new(cells as u64))
        .bench_local(|| {
            let store =
                TrackingStore::open(&scratch.store(), &layout, options(false, false)).unwrap();
            count_done(store.done_bytes())
        });
}

/// The marks of a finished store counted, eight at a time.
#[divan::bench(args = [100_000_000], sample_count = 11, sample_size = 1)]
fn scan_of_finished(bencher: Bencher, cells: i64) {
    let scratch = Scratch::new("scan");
    let layout = layout(&[cells]);
    finished(&scratch, &layout, false);
    let store = TrackingStore::open(&scratch.store(), &layout, options(false, false)).unwrap();
    bencher
        .counter(ItemsCount::new(cells as u64))
        .bench_local(|| count_done(store.done_bytes()));
}

fn count_done(bytes: &[u8]) -> usize {
    let whole = u64::from_ne_bytes([1; 8]);
    let mut words = bytes.chunks_exact(8);
    let mut count = 0;
    for word in &mut words {
        match word.try_into().map(u64::from_ne_bytes) {
            Ok(word) if word == whole => count += 8,
            _ => count += word.iter().filter(|byte| **byte != 0).count(),
        }
    }
    count + words.remainder().iter().filter(|byte| **byte != 0).count()
}

/// 10^7 cells carried over to a volume that has grown on every side.
#[divan::bench(args = [false, true], sample_count = 3, sample_size = 1)]
fn grow_ten_million(bencher: Bencher, all_arrays: bool) {
    let old = layout(&[200, 250, 200]);
    let mut total = old.total().clone();
    total.offset = vec![-10, -10, -10];
    total.shape = vec![220, 270, 220];
    let new = Layout::new(
        total,
        old.read().clone(),
        old.write().clone(),
        StoredFit::Valid,
    )
    .unwrap();
    bencher
        .counter(ItemsCount::new(old.cells()))
        .with_inputs(|| {
            let scratch = Scratch::new("grow");
            finished(&scratch, &old, all_arrays);
            if all_arrays {
                let options = options(true, false);
                let mut store = TrackingStore::open(&scratch.store(), &old, options).unwrap();
                record_all(&mut store, &(0..old.cells()).collect::<Vec<_>>());
            }
            scratch
        })
        .bench_local_values(|scratch| {
            let store =
                TrackingStore::open(&scratch.store(), &new, options(all_arrays, false)).unwrap();
            (store, scratch)
        });
}

fn main() {
    divan::main();
}
