//! Volumes that grew: done blocks stay done, blocks whose regions changed run again, everything else
//! is refused.

#![allow(clippy::unwrap_used)]

mod support;

use std::fs;
use std::path::Path;

use bellis_tracking::{
    Layout, Notice, OnLayoutMismatch, OpenOptions, StoreReader, StoredFit, StoredRoi, SystemFiles,
    TrackingError, TrackingStore,
};
use proptest::prelude::*;
use serde_json::Value;
use support::{line, line_with, roi, tree, Scratch};

fn open(path: &Path, layout: &Layout) -> Result<TrackingStore, TrackingError> {
    TrackingStore::open(path, layout, OpenOptions::default())
}

fn done(store: &TrackingStore) -> Vec<u64> {
    (0..store.layout().cells())
        .filter(|cell| store.is_done(*cell))
        .collect()
}

/// Marks these cells in a store of `old`, grows it to `new`, and gives what is done then.
fn grown(old: &Layout, marks: &[u64], new: &Layout) -> (Vec<u64>, Vec<Notice>) {
    let scratch = Scratch::in_memory("grown");
    let path = scratch.join("store");
    let mut store = open(&path, old).unwrap();
    for cell in marks {
        store.record_done(*cell, None).unwrap();
    }
    store.close().unwrap();
    let mut store = open(&path, new).unwrap();
    let notices = store.take_notices();
    let cells = done(&store);
    store.close().unwrap();
    // Nothing is left beside it, and it is an ordinary store of the new layout.
    assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 1);
    let mut store = open(&path, new).unwrap();
    assert_eq!(store.take_notices(), []);
    assert_eq!(done(&store), cells);
    (cells, notices)
}

fn counts(notices: &[Notice]) -> (u64, u64) {
    match notices {
        [Notice::Migrated { kept, cleared, .. }] => (*kept, *cleared),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_line_grows_at_either_end() {
    let old = line(0, 40, 10);
    let (cells, notices) = grown(&old, &[0, 2], &line(0, 70, 10));
    assert_eq!((cells, counts(&notices)), (vec![0, 2], (2, 0)));
    let (cells, notices) = grown(&old, &[0, 2], &line(-30, 70, 10));
    assert_eq!((cells, counts(&notices)), (vec![3, 5], (2, 0)));
    let (cells, notices) = grown(&old, &[0, 1, 2, 3], &line(-10, 65, 10));
    assert_eq!((cells, counts(&notices)), (vec![1, 2, 3, 4], (4, 0)));
}

#[test]
fn a_shrunk_block_runs_again_when_it_has_grown() {
    let old = line_with(0, 45, 10, 0, StoredFit::Shrink);
    let (cells, notices) = grown(
        &old,
        &[0, 3, 4],
        &line_with(0, 70, 10, 0, StoredFit::Shrink),
    );
    assert_eq!((cells, counts(&notices)), (vec![0, 3], (2, 1)));
    // Growth at the front alone leaves it as it is.
    let (cells, notices) = grown(
        &old,
        &[0, 3, 4],
        &line_with(-10, 55, 10, 0, StoredFit::Shrink),
    );
    assert_eq!((cells, counts(&notices)), (vec![1, 4, 5], (3, 0)));
    // Whole blocks that stick out have the same regions as before.
    let old = line_with(0, 45, 10, 0, StoredFit::Overhang);
    let (cells, notices) = grown(
        &old,
        &[0, 3, 4],
        &line_with(0, 70, 10, 0, StoredFit::Overhang),
    );
    assert_eq!((cells, counts(&notices)), (vec![0, 3, 4], (3, 0)));
}

#[test]
fn context_wider_than_a_block_moves_along() {
    let old = line_with(-25, 90, 10, 25, StoredFit::Valid);
    assert_eq!(old.blocks(), 4);
    let (cells, _) = grown(
        &old,
        &[2, 5],
        &line_with(-45, 130, 10, 25, StoredFit::Valid),
    );
    assert_eq!(cells, [4, 7]);
}

#[test]
fn other_changes_are_refused_as_before() {
    let scratch = Scratch::new("not-grown");
    let path = scratch.join("store");
    open(&path, &line(0, 40, 10)).unwrap().close().unwrap();
    let before = tree(&path);
    for (layout, text) in [
        (
            line(0, 30, 10),
            "totalRoi.shape is [40] in the store and [30] in the task",
        ),
        (
            line(10, 50, 10),
            "totalRoi.offset is [0] in the store and [10] in the task",
        ),
        (
            line(0, 80, 20),
            "writeRoi.shape is [10] in the store and [20] in the task",
        ),
        (
            line_with(0, 80, 10, 1, StoredFit::Valid),
            "readRoi.shape is [10] in the store and [12]",
        ),
        (
            line_with(0, 80, 10, 0, StoredFit::Shrink),
            "fit is valid in the store and shrink",
        ),
        (
            line(-5, 45, 10),
            "the nearest valid totalRoi.offset is [-10]",
        ),
        (line(-4, 44, 10), "the nearest valid totalRoi.offset is [0]"),
        (
            line(-14, 54, 10),
            "the nearest valid totalRoi.offset is [-10]",
        ),
    ] {
        let error = open(&path, &layout).unwrap_err();
        assert_eq!(error.code(), "ERR_BELLIS_LAYOUT_MISMATCH");
        assert!(
            error.to_string().contains(text),
            "`{text}` is not in: {error}"
        );
        assert_eq!(tree(&path), before);
        assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 1);
    }
}

#[test]
fn more_axes_are_another_layout() {
    let scratch = Scratch::new("axes");
    let path = scratch.join("store");
    open(&path, &line(0, 40, 10)).unwrap().close().unwrap();
    let plane = Layout::new(
        roi(&[0, 0], &[40, 40]),
        roi(&[0, 0], &[10, 10]),
        roi(&[0, 0], &[10, 10]),
        StoredFit::Valid,
    );
    let error = open(&path, &plane.unwrap()).unwrap_err();
    assert_eq!(error.code(), "ERR_BELLIS_LAYOUT_MISMATCH");
}

fn as_daisy_left_it(path: &Path) {
    let document = path.join("zarr.json");
    let mut group: Value = serde_json::from_slice(&fs::read(&document).unwrap()).unwrap();
    group["attributes"]
        .as_object_mut()
        .unwrap()
        .remove("bellis");
    fs::write(&document, format!("{group:#}\n")).unwrap();
}

#[test]
fn a_store_of_daisys_grows_when_its_old_total_is_named() {
    let scratch = Scratch::new("grown-from");
    let path = scratch.join("store");
    let mut store = open(&path, &line(0, 40, 10)).unwrap();
    store.record_done(1, None).unwrap();
    store.close().unwrap();
    as_daisy_left_it(&path);
    let new = line(-10, 80, 10);
    let with = |total: StoredRoi| OpenOptions {
        grown_from: Some(total),
        ..OpenOptions::default()
    };
    let error = open(&path, &new).unwrap_err();
    assert!(error.to_string().contains("pass grownFrom"), "{error}");
    for wrong in [roi(&[0], &[30]), roi(&[0, 0], &[40, 40]), roi(&[0], &[-1])] {
        let error = TrackingStore::open(&path, &new, with(wrong)).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("grownFrom does not give the stored hash"),
            "{error}"
        );
    }
    let mut store = TrackingStore::open(&path, &new, with(roi(&[0], &[40]))).unwrap();
    assert_eq!(counts(&store.take_notices()), (1, 0));
    assert_eq!(done(&store), [2]);
    store.close().unwrap();
    // Named again later it says nothing, for the store now has its own parameters.
    let mut store = TrackingStore::open(&path, &new, with(roi(&[0], &[40]))).unwrap();
    assert_eq!(store.take_notices(), []);
}

#[test]
fn templates_anchored_at_the_total_move_along() {
    let anchored = |offset: i64, total: i64| {
        Layout::new(
            roi(&[offset], &[total]),
            roi(&[offset], &[10]),
            roi(&[offset], &[10]),
            StoredFit::Valid,
        )
        .unwrap()
    };
    let (cells, _) = grown(&anchored(0, 40), &[0, 3], &anchored(-20, 60));
    assert_eq!(cells, [2, 5]);
    // Also where only the hash is left.
    let scratch = Scratch::new("anchored");
    let path = scratch.join("store");
    let mut store = open(&path, &anchored(0, 40)).unwrap();
    store.record_done(3, None).unwrap();
    store.close().unwrap();
    as_daisy_left_it(&path);
    let options = OpenOptions {
        grown_from: Some(roi(&[0], &[40])),
        ..OpenOptions::default()
    };
    let store = TrackingStore::open(&path, &anchored(-20, 60), options).unwrap();
    assert_eq!(done(&store), [5]);
}

#[test]
fn values_failures_reports_and_what_others_put_there_come_along() {
    let scratch = Scratch::new("all-of-it");
    let path = scratch.join("store");
    let with = OpenOptions {
        resource_tracking: true,
        ..OpenOptions::default()
    };
    let old = line_with(0, 45, 10, 0, StoredFit::Shrink);
    let mut store = TrackingStore::open(&path, &old, with.clone()).unwrap();
    let record = support::record(3, 1.5);
    store.record_done(1, Some(&record)).unwrap();
    store.record_done(4, Some(&record)).unwrap();
    store.record_failure(1).unwrap();
    store.record_failure(3).unwrap();
    store.record_failure(4).unwrap();
    store.append_run("{\"run\": 1}").unwrap();
    store.close().unwrap();
    fs::write(path.join("notes.txt"), "mine").unwrap();
    fs::create_dir(path.join("plots")).unwrap();
    fs::write(path.join("plots/a.png"), "png").unwrap();

    let new = line_with(-10, 75, 10, 0, StoredFit::Shrink);
    let mut store = TrackingStore::open(&path, &new, with).unwrap();
    assert_eq!(counts(&store.take_notices()), (1, 1));
    store.close().unwrap();
    let reader = StoreReader::open(&SystemFiles, &path, Some(&new))
        .unwrap()
        .unwrap();
    assert_eq!(reader.runs().unwrap(), ["{\"run\": 1}"]);
    let block = reader.block(2).unwrap();
    assert!(block.done);
    assert_eq!((block.failures, block.worker_id), (1, Some(3)));
    assert_eq!(block.wall_seconds, Some(1.5));
    assert_eq!(
        reader
            .failed_cells()
            .unwrap()
            .iter()
            .map(|f| f.cell)
            .collect::<Vec<_>>(),
        [4]
    );
    // The cell of the block that has grown is as if it had never run.
    assert_eq!(
        reader.block(5).unwrap(),
        bellis_tracking::StoredBlock::default()
    );
    for kind in bellis_tracking::ArrayKind::ALL {
        let bytes = fs::read(path.join(kind.name()).join("c/0")).unwrap();
        let size = kind.item_size() as usize;
        assert!(
            bytes[5 * size..].iter().all(|byte| *byte == 0),
            "{}",
            kind.name()
        );
    }
    assert_eq!(fs::read_to_string(path.join("notes.txt")).unwrap(), "mine");
    assert_eq!(fs::read_to_string(path.join("plots/a.png")).unwrap(), "png");
    assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 1);
}

#[test]
fn recreate_still_migrates_what_has_only_grown() {
    let scratch = Scratch::new("recreate-grown");
    let path = scratch.join("store");
    let mut store = open(&path, &line(0, 40, 10)).unwrap();
    store.record_done(1, None).unwrap();
    store.close().unwrap();
    let options = OpenOptions {
        on_layout_mismatch: OnLayoutMismatch::Recreate,
        ..OpenOptions::default()
    };
    let store = TrackingStore::open(&path, &line(0, 80, 10), options).unwrap();
    assert_eq!(done(&store), [1]);
}

#[test]
fn a_grown_sparse_store_stays_sparse() {
    let scratch = Scratch::new("sparse");
    let path = scratch.join("store");
    let mut store = open(&path, &line(0, 100_000_000, 1)).unwrap();
    store.record_done(5, None).unwrap();
    store.record_done(99_999_999, None).unwrap();
    store.close().unwrap();
    let store = open(&path, &line(-10, 150_000_010, 1)).unwrap();
    assert!(store.is_done(15) && store.is_done(100_000_009));
    #[cfg(target_os = "linux")]
    {
        use std::os::unix::fs::MetadataExt;
        let blocks = fs::metadata(path.join("done/c/0")).unwrap().blocks();
        assert!(blocks * 512 <= 64 << 10, "{blocks} blocks of 512 bytes");
    }
}

/// Arrays of several megabytes are carried over piece by piece.
#[test]
fn every_value_of_a_large_volume_moves_with_its_block() {
    let scratch = Scratch::in_memory("large");
    let layout = |offset: [i64; 2], shape: [i64; 2]| {
        let block = roi(&[0, 0], &[1, 1]);
        Layout::new(roi(&offset, &shape), block.clone(), block, StoredFit::Valid).unwrap()
    };
    // Rows longer than a page, than a piece, and short ones with gaps.
    for (rows, columns) in [(3_i64, 300_000_i64), (900, 1001), (200_000, 4)] {
        let path = scratch.join(&format!("{rows}"));
        let old = layout([0, 0], [rows, columns]);
        let new = layout([-1, -2], [rows + 2, columns + 3]);
        open(&path, &old).unwrap().close().unwrap();
        let cells = (rows * columns) as usize;
        let value = |cell: usize| match cell % 97 {
            // With stretches of nothing.
            _ if (cell / 5_000) % 3 == 1 => 0,
            part => (cell * 31 + part) as u32 | 1,
        };
        let failures: Vec<u8> = (0..cells)
            .flat_map(|cell| value(cell).to_le_bytes())
            .collect();
        fs::write(path.join("failures/c/0/0"), &failures).unwrap();
        open(&path, &new).unwrap().close().unwrap();
        let moved = fs::read(path.join("failures/c/0/0")).unwrap();
        let width = (columns + 3) as usize;
        let mut expected = vec![0; width * (rows + 2) as usize * 4];
        for row in 0..rows as usize {
            let from = row * columns as usize * 4;
            let to = ((row + 1) * width + 2) * 4;
            let length = columns as usize * 4;
            expected[to..to + length].copy_from_slice(&failures[from..from + length]);
        }
        assert!(moved == expected, "{rows} x {columns}");
    }
}

/// A block's final regions by the rules themselves, axis by axis.
fn regions(layout: &Layout, cell: &[i64]) -> Vec<[i64; 4]> {
    let axes = 0..cell.len();
    axes.map(|axis| {
        let (total, read, write) = (layout.total(), layout.read(), layout.write());
        let lower = write.offset[axis] - read.offset[axis];
        let upper = read.offset[axis] + read.shape[axis] - write.offset[axis] - write.shape[axis];
        let (begin, end) = (total.offset[axis], total.offset[axis] + total.shape[axis]);
        let index = cell[axis] - lower / write.shape[axis];
        let at = begin + lower + index * write.shape[axis];
        let mut interval = [
            at - lower,
            at + write.shape[axis] + upper,
            at,
            at + write.shape[axis],
        ];
        if layout.fit() == StoredFit::Shrink {
            interval[1] = interval[1].min(end);
            interval[3] = interval[3].min(end - upper);
        }
        interval
    })
    .collect()
}

fn position(cell: u64, shape: &[u64]) -> Vec<i64> {
    let mut rest = cell;
    let mut position: Vec<i64> = shape
        .iter()
        .rev()
        .map(|extent| {
            let index = rest % extent;
            rest /= extent;
            index as i64
        })
        .collect();
    position.reverse();
    position
}

#[derive(Debug, Clone)]
struct Axis {
    offset: i64,
    extent: i64,
    write: i64,
    lower: i64,
    upper: i64,
    front: i64,
    back: i64,
}

fn axis() -> impl Strategy<Value = Axis> {
    (
        -20i64..20,
        0i64..20,
        1i64..6,
        0i64..8,
        0i64..8,
        0i64..3,
        0i64..9,
    )
        .prop_map(|(offset, extent, write, lower, upper, front, back)| Axis {
            offset,
            extent: extent + lower + upper,
            write,
            lower,
            upper,
            front,
            back,
        })
}

fn layouts(axes: &[Axis], fit: StoredFit) -> (Layout, Layout) {
    let list = |each: fn(&Axis) -> i64| axes.iter().map(each).collect::<Vec<_>>();
    let read = roi(&list(|a| -a.lower), &list(|a| a.write + a.lower + a.upper));
    let write = roi(&list(|_| 0), &list(|a| a.write));
    let old = roi(&list(|a| a.offset), &list(|a| a.extent));
    let new = roi(
        &list(|a| a.offset - a.front * a.write),
        &list(|a| a.extent + a.front * a.write + a.back),
    );
    (
        Layout::new(old, read.clone(), write.clone(), fit).unwrap(),
        Layout::new(new, read, write, fit).unwrap(),
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// A block is done afterwards exactly when a block with the same final regions was done before.
    #[test]
    fn marks_follow_the_regions(
        axes in prop::collection::vec(axis(), 1..4),
        fit in prop_oneof![
            Just(StoredFit::Valid), Just(StoredFit::Overhang), Just(StoredFit::Shrink)
        ],
        every in 1u64..4,
    ) {
        let (old, new) = layouts(&axes, fit);
        let before = old.grid_shape();
        let marks: Vec<u64> =
            (0..old.cells()).filter(|cell| old.block_index(*cell).is_some() && cell % every == 0)
                .collect();
        let had: Vec<_> = marks.iter().map(|cell| regions(&old, &position(*cell, &before))).collect();
        let (found, _) = if old == new { (marks.clone(), vec![]) } else { grown(&old, &marks, &new) };
        let after = new.grid_shape();
        for cell in 0..new.cells() {
            let wanted = new.block_index(cell).is_some()
                && had.contains(&regions(&new, &position(cell, &after)));
            prop_assert_eq!(found.contains(&cell), wanted, "cell {}", cell);
        }
    }

    /// Cells and block indices are each other's inverse, in row-major order.
    #[test]
    fn cells_hold_blocks_in_order(
        axes in prop::collection::vec(axis(), 1..4),
        fit in prop_oneof![
            Just(StoredFit::Valid), Just(StoredFit::Overhang), Just(StoredFit::Shrink)
        ],
    ) {
        let (layout, _) = layouts(&axes, fit);
        let blocks: Vec<u64> =
            (0..layout.cells()).filter_map(|cell| layout.block_index(cell)).collect();
        prop_assert_eq!(&blocks, &(0..layout.blocks()).collect::<Vec<_>>());
        for block in blocks {
            prop_assert_eq!(layout.cell_of(block).and_then(|cell| layout.block_index(cell)), Some(block));
        }
        prop_assert_eq!(layout.block_index(layout.cells()), None);
        prop_assert_eq!(layout.cell_of(layout.blocks()), None);
    }
}
