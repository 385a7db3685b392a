//! Looking into stores, recording, removing them.

#![allow(clippy::unwrap_used)]

mod support;

use std::fs;
use std::path::Path;

use bellis_core::{DoneMap, RecordError};
use bellis_tracking::{
    reset, reset_failed, runs, ArrayKind, FailedCell, OpenOptions, StoreReader, StoredFit,
    SystemFiles, TrackingStore,
};
use serde_json::{json, Value};
use support::{line, line_with, record, tree, Scratch};

fn store(path: &Path) -> TrackingStore {
    let options = OpenOptions {
        resource_tracking: true,
        ..OpenOptions::default()
    };
    TrackingStore::open(path, &line(0, 60, 10), options).unwrap()
}

fn reader(path: &Path) -> StoreReader<'static> {
    StoreReader::open(&SystemFiles, path, None)
        .unwrap()
        .unwrap()
}

#[test]
fn status_and_failed_blocks_need_no_run() {
    let scratch = Scratch::new("status");
    let path = scratch.join("store");
    assert!(StoreReader::open(&SystemFiles, &path, None)
        .unwrap()
        .is_none());
    let mut store = store(&path);
    store.record_done(0, Some(&record(1, 0.25))).unwrap();
    store.record_failure(1).unwrap();
    store.record_failure(1).unwrap();
    store.record_done(1, Some(&record(2, 0.5))).unwrap();
    store.record_failure(4).unwrap();
    store.close().unwrap();
    let reader = reader(&path);
    let status = reader.status().unwrap();
    assert_eq!(
        (status.done, status.failed, status.failed_attempts),
        (2, 1, 3)
    );
    assert_eq!((status.blocks, status.has_resources), (Some(6), true));
    assert_eq!(status.grid_shape, [6]);
    assert_eq!(status.hash, Some(line(0, 60, 10).hash()));
    assert_eq!(reader.layout(), Some(&line(0, 60, 10)));
    assert_eq!(
        reader.failed_cells().unwrap(),
        [FailedCell {
            cell: 4,
            attempts: 1
        }]
    );
    // Asked for another layout it says so.
    let other = line(0, 60, 20);
    let error = StoreReader::open(&SystemFiles, &path, Some(&other)).unwrap_err();
    assert_eq!(error.code(), "ERR_BELLIS_LAYOUT_MISMATCH");
}

#[test]
fn blocks_that_are_done_and_not_masked_are_counted() {
    let scratch = Scratch::new("unmasked");
    let path = scratch.join("store");
    // A read context of 10 puts block 0 into cell 1.
    let layout = line_with(-10, 70, 10, 10, StoredFit::Valid);
    let mut store = TrackingStore::open(&path, &layout, OpenOptions::default()).unwrap();
    for block in [0, 1, 4] {
        let cell = layout.cell_of(block).unwrap();
        assert_eq!(cell, block + 1);
        store.record_done(cell, None).unwrap();
    }
    store.close().unwrap();
    let reader = reader(&path);
    assert_eq!(reader.done_unmasked(&[0; 5]).unwrap(), 3);
    assert_eq!(reader.done_unmasked(&[0, 1, 1, 0, 0]).unwrap(), 2);
    assert_eq!(reader.done_unmasked(&[1; 5]).unwrap(), 0);
    // Blocks beyond the mask are not masked.
    assert_eq!(reader.done_unmasked(&[]).unwrap(), 3);
}

#[test]
fn a_block_gives_what_was_recorded_and_nothing_where_nothing_was() {
    let scratch = Scratch::new("block");
    let path = scratch.join("store");
    let mut store = store(&path);
    let measured = record(5, 0.25);
    store.record_done(0, Some(&measured)).unwrap();
    store.record_done(1, Some(&record(u32::MAX, 0.5))).unwrap();
    store.record_done(2, None).unwrap();
    store.record_failure(3).unwrap();
    store.close().unwrap();
    let reader = reader(&path);
    let block = reader.block(0).unwrap();
    assert_eq!(
        (block.wall_seconds, block.cpu_seconds),
        (Some(0.25), Some(0.125))
    );
    assert_eq!(
        (block.io_read_bytes, block.io_write_bytes),
        (Some(11), Some(22))
    );
    assert_eq!(block.peak_rss_bytes, Some(1 << 20));
    assert_eq!((block.worker_id, block.sent_at), (Some(5), Some(1e9)));
    assert_eq!(block.returned_at, Some(1e9 + 0.25));
    let block = reader.block(1).unwrap();
    assert_eq!(
        (block.worker_id, block.returned_at),
        (None, Some(1e9 + 0.5))
    );
    let block = reader.block(2).unwrap();
    assert!(block.done);
    assert_eq!((block.wall_seconds, block.returned_at), (None, None));
    let block = reader.block(3).unwrap();
    assert_eq!(
        (block.done, block.failures, block.wall_seconds),
        (false, 1, None)
    );
    assert_eq!(reader.block(6).unwrap_err().code(), "ERR_BELLIS_VALIDATION");
    // On the disk: reserved values in finished blocks, zeros in all others.
    let gpu = fs::read(path.join("gpu_util_pct/c/0")).unwrap();
    assert!(f32::from_le_bytes(gpu[..4].try_into().unwrap()).is_nan());
    assert!(gpu[8..].iter().all(|byte| *byte == 0));
    let workers = fs::read(path.join("worker_id/c/0")).unwrap();
    assert_eq!(workers[4..8], [0xff; 4]);
    assert!(workers[8..].iter().all(|byte| *byte == 0));
}

#[test]
fn failures_stop_at_what_the_array_holds() {
    let scratch = Scratch::new("saturate");
    let path = scratch.join("store");
    store(&path).close().unwrap();
    fs::write(
        path.join("failures/c/0"),
        [[0xfe, 0xff, 0xff, 0xff], [0; 4]].concat().repeat(3),
    )
    .unwrap();
    let mut store = store(&path);
    for wanted in [u32::MAX, u32::MAX, u32::MAX] {
        store.record_failure(2).unwrap();
        assert_eq!(store.failures(2).unwrap(), wanted);
    }
    assert_eq!(store.failures(3).unwrap(), 0);
}

#[test]
fn cells_outside_the_grid_are_errors() {
    let scratch = Scratch::new("outside");
    let mut store = store(&scratch.join("store"));
    let map: &mut dyn DoneMap = &mut store;
    for cell in [6, u64::MAX / 8, u64::MAX] {
        assert!(!map.is_done(cell));
        let error: RecordError = map.record_done(cell, None).unwrap_err();
        assert_eq!(error.code, "ERR_BELLIS_STORE");
        assert!(map.record_failure(cell).is_err());
    }
    map.record_done(5, None).unwrap();
    assert!(map.is_done(5));
    assert_eq!(map.done_words(), Some([0, 0, 0, 0, 0, 1].as_slice()));
}

#[test]
fn a_keeper_syncs_from_another_thread() {
    let scratch = Scratch::new("keeper");
    let mut store = store(&scratch.join("store"));
    let keeper = store.keeper();
    std::thread::scope(|scope| {
        let kept = scope.spawn(move || (0..50).try_for_each(|_| keeper.flush()));
        for cell in (0..6).cycle().take(3000) {
            store.record_done(cell, Some(&record(0, 1.0))).unwrap();
        }
        kept.join().unwrap().unwrap();
    });
    store.close().unwrap();
}

#[test]
fn reset_removes_the_store_and_nothing_else() {
    let scratch = Scratch::new("reset");
    let path = scratch.join("store");
    let options = OpenOptions::default();
    assert!(!reset(&path, &options).unwrap());
    let mut made = store(&path);
    made.append_run("{}").unwrap();
    made.close().unwrap();
    assert!(reset(&path, &options).unwrap());
    assert!(!path.exists());

    store(&path).close().unwrap();
    fs::write(path.join("notes.txt"), "mine").unwrap();
    fs::write(path.join("done/c/1"), "mine too").unwrap();
    fs::create_dir(path.join("plots")).unwrap();
    assert!(reset(&path, &options).unwrap());
    let left: Vec<_> = tree(&path).into_iter().map(|(name, _)| name).collect();
    assert_eq!(left, ["done/c/1", "notes.txt"]);
    assert!(path.join("plots").is_dir());
}

#[test]
fn reset_refuses_what_is_not_certainly_a_store() {
    let scratch = Scratch::new("reset-refused");
    let options = OpenOptions::default();
    let folder = scratch.join("photos");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("a.jpg"), "x").unwrap();
    let group = |attributes: Value| {
        json!({"zarr_format": 3, "node_type": "group", "attributes": attributes}).to_string()
    };
    let zarr = scratch.join("data.zarr");
    fs::create_dir_all(zarr.join("done")).unwrap();
    fs::create_dir_all(zarr.join("raw")).unwrap();
    fs::write(zarr.join("zarr.json"), group(json!({}))).unwrap();
    let odd = scratch.join("odd");
    fs::create_dir_all(odd.join("done")).unwrap();
    fs::write(
        odd.join("zarr.json"),
        group(json!({"daisy_task_hash": "x"})),
    )
    .unwrap();
    let file = scratch.join("file");
    fs::write(&file, "x").unwrap();
    let before = tree(scratch.path());
    for path in [&folder, &zarr, &odd, &file] {
        let error = reset(path, &options).unwrap_err();
        assert_eq!(error.code(), "ERR_BELLIS_STORE", "{error}");
    }
    assert!(tree(scratch.path()) == before);
    // A hand-made store of exactly our children is one.
    let hand_made = scratch.join("hand-made");
    store(&hand_made).close().unwrap();
    fs::write(hand_made.join("zarr.json"), group(json!({}))).unwrap();
    assert!(reset(&hand_made, &options).unwrap());
    assert!(!hand_made.exists());
}

#[cfg(unix)]
#[test]
fn reset_does_not_follow_links() {
    use std::os::unix::fs::symlink;
    let scratch = Scratch::new("reset-links");
    let path = scratch.join("store");
    store(&path).close().unwrap();
    let elsewhere = scratch.join("elsewhere");
    fs::rename(path.join("failures"), &elsewhere).unwrap();
    symlink(&elsewhere, path.join("failures")).unwrap();
    assert!(reset(&path, &OpenOptions::default()).unwrap());
    assert!(elsewhere.join("c/0").exists());
    assert!(path.join("failures").is_symlink());
}

#[test]
fn reset_of_failed_forgets_only_those() {
    let scratch = Scratch::new("reset-failed");
    let path = scratch.join("store");
    let options = OpenOptions::default();
    assert_eq!(reset_failed(&path, &options).unwrap(), 0);
    let mut made = store(&path);
    for cell in [0, 1, 1, 3] {
        made.record_failure(cell).unwrap();
    }
    made.record_done(1, Some(&record(1, 1.0))).unwrap();
    made.close().unwrap();
    assert_eq!(reset_failed(&path, &options).unwrap(), 2);
    let reader = reader(&path);
    assert_eq!(reader.failed_cells().unwrap(), []);
    assert_eq!(reader.block(1).unwrap().failures, 2);
    let status = reader.status().unwrap();
    assert_eq!((status.done, status.failed_attempts), (1, 2));
    assert_eq!(reset_failed(&path, &options).unwrap(), 0);
}

#[test]
fn reports_are_appended_and_a_torn_one_is_left_out() {
    let scratch = Scratch::new("runs");
    let path = scratch.join("store");
    let mut made = store(&path);
    made.append_run("{\"run\": 1, \"text\": \"ü\"}").unwrap();
    for bad in ["", "[]", "nonsense", "{\"a\":\n1}"] {
        assert_eq!(
            made.append_run(bad).unwrap_err().code(),
            "ERR_BELLIS_STORE",
            "{bad}"
        );
    }
    made.close().unwrap();
    let file = path.join("runs.jsonl");
    let mut text = fs::read(&file).unwrap();
    text.extend_from_slice(b"{\"run\": 2, \"wall\": 0.");
    fs::write(&file, text).unwrap();
    store(&path).append_run("{\"run\": 3}").unwrap();
    let lines = ["{\"run\": 1, \"text\": \"ü\"}", "{\"run\": 3}"];
    assert_eq!(reader(&path).runs().unwrap(), lines);
    assert_eq!(runs::read(&SystemFiles, &path).unwrap(), lines);
    assert_eq!(runs::read(&SystemFiles, scratch.path()).unwrap(), [""; 0]);
}

#[test]
fn marks_where_no_block_is_do_not_count() {
    // Only a hand-made store can have them: cells 0, 1 and 6 to 8 hold no block.
    let layout = line_with(-25, 90, 10, 25, StoredFit::Valid);
    let scratch = Scratch::new("no-block");
    let path = scratch.join("store");
    TrackingStore::open(&path, &layout, OpenOptions::default())
        .unwrap()
        .close()
        .unwrap();
    fs::write(
        path.join("zarr.json"),
        "{\"zarr_format\":3,\"node_type\":\"group\"}",
    )
    .unwrap();
    fs::write(path.join("done/c/0"), [1; 9]).unwrap();
    fs::write(path.join("failures/c/0"), [1; 36]).unwrap();
    let reader = StoreReader::open(&SystemFiles, &path, Some(&layout))
        .unwrap()
        .unwrap();
    let status = reader.status().unwrap();
    assert_eq!((status.done, status.blocks, status.failed), (4, Some(4), 0));
    assert_eq!(status.hash, None);
}

#[cfg(target_os = "linux")]
#[test]
fn a_store_costs_the_disk_only_what_was_touched_and_reruns_add_nothing() {
    use std::os::unix::fs::MetadataExt;
    let scratch = Scratch::new("size");
    let path = scratch.join("store");
    let layout = line(0, 10_000_000, 1);
    let with = OpenOptions {
        resource_tracking: true,
        ..OpenOptions::default()
    };
    let used = || -> u64 {
        ArrayKind::ALL
            .iter()
            .map(|kind| {
                fs::metadata(path.join(kind.name()).join("c/0"))
                    .unwrap()
                    .blocks()
                    * 512
            })
            .sum()
    };
    let mut store = TrackingStore::open(&path, &layout, with.clone()).unwrap();
    for cell in 5_000_000..5_001_000 {
        store.record_done(cell, Some(&record(1, 1.0))).unwrap();
    }
    store.close().unwrap();
    let first = used();
    assert!(first < 256 << 10, "{first} bytes");
    for _ in 0..10 {
        let mut store = TrackingStore::open(&path, &layout, with.clone()).unwrap();
        assert!(store.is_done(5_000_500));
        store.record_done(5_000_500, Some(&record(2, 1.0))).unwrap();
        store.close().unwrap();
    }
    assert_eq!(used(), first);
}

#[test]
fn a_mark_is_taken_back_and_set_again() {
    let scratch = Scratch::new("undone");
    let path = scratch.join("s");
    let mut store = store(&path);
    store.record_done(1, None).unwrap();
    store.record_undone(1).unwrap();
    store.record_undone(2).unwrap();
    assert!(!store.is_done(1));
    assert_eq!(reader(&path).status().unwrap().done, 0);
    store.record_done(1, None).unwrap();
    assert!(store.record_undone(u64::MAX).is_err());
    store.close().unwrap();
    assert!(reader(&path).block(1).unwrap().done);
}
