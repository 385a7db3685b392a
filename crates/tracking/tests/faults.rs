//! Disks that are full, broken, gone or cut off in the middle: every file operation made to fail.

#![cfg(unix)]
#![allow(clippy::unwrap_used)]

mod support;

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bellis_tracking::{
    reset, Files, Identity, Layout, Notice, OnLayoutMismatch, OpenOptions, StoreReader, StoredFit,
    SystemFiles, TrackingError, TrackingStore,
};
use rustix::io::Errno;
use support::faulty::{FaultyFiles, Operation};
use support::{copy_tree, line, line_with, record, tree, Scratch};

fn with(files: &FaultyFiles) -> OpenOptions {
    OpenOptions {
        files: Arc::new(files.clone()) as Arc<dyn Files>,
        resource_tracking: true,
        ..OpenOptions::default()
    }
}

fn done(store: &TrackingStore) -> Vec<u64> {
    (0..store.layout().cells())
        .filter(|cell| store.is_done(*cell))
        .collect()
}

#[test]
fn a_full_disk_is_an_error_and_nothing_is_marked() {
    for errno in [Errno::NOSPC, Errno::DQUOT, Errno::IO] {
        for array in ["done", "wall_seconds", "returned_at"] {
            let scratch = Scratch::new("full");
            let path = scratch.join("store");
            let files = FaultyFiles::default();
            let mut store = TrackingStore::open(&path, &line(0, 40, 10), with(&files)).unwrap();
            assert!(store.is_mapped());
            let before = tree(&path);
            files.fail(
                Operation::Allocate,
                &format!("/{array}/"),
                errno.raw_os_error(),
            );
            let error = store.record_done(2, Some(&record(1, 1.0))).unwrap_err();
            assert!(error.is_os_error(errno), "{error}");
            assert_eq!(error.code(), "ERR_BELLIS_STORE");
            assert!(error.to_string().contains("run again"), "{error}");
            assert!(!store.is_done(2));
            // Not even its values: space is reserved for all of it first.
            assert!(tree(&path) == before);
            files.heal();
            store.record_done(2, Some(&record(1, 1.0))).unwrap();
            assert!(store.is_done(2));
        }
    }
}

#[test]
fn plain_writes_fail_before_the_mark() {
    for array in ["wall_seconds", "returned_at", "done"] {
        let scratch = Scratch::new("plain");
        let path = scratch.join("store");
        let files = FaultyFiles::without_mapping();
        let mut store = TrackingStore::open(&path, &line(0, 40, 10), with(&files)).unwrap();
        assert!(!store.is_mapped());
        store.record_done(0, Some(&record(1, 1.0))).unwrap();
        files.fail(
            Operation::WriteAt,
            &format!("/{array}/"),
            Errno::NOSPC.raw_os_error(),
        );
        let error = store.record_done(2, Some(&record(1, 1.0))).unwrap_err();
        assert!(error.is_os_error(Errno::NOSPC), "{error}");
        assert_eq!(done(&store), [0]);
        assert_eq!(fs::read(path.join("done/c/0")).unwrap(), [1, 0, 0, 0]);
    }
}

#[test]
fn space_that_cannot_be_reserved_means_plain_writes() {
    let scratch = Scratch::new("no-fallocate");
    let path = scratch.join("store");
    let files = FaultyFiles::default();
    files.fail(Operation::Allocate, "", Errno::OPNOTSUPP.raw_os_error());
    let mut store = TrackingStore::open(&path, &line(0, 40, 10), with(&files)).unwrap();
    assert!(store.is_mapped());
    store.record_done(1, Some(&record(7, 0.5))).unwrap();
    store.record_failure(3).unwrap();
    assert!(!store.is_mapped());
    assert_eq!(done(&store), [1]);
    assert_eq!(store.failures(3).unwrap(), 1);
    store.close().unwrap();
    let reader = StoreReader::open(&SystemFiles, &path, None)
        .unwrap()
        .unwrap();
    let block = reader.block(1).unwrap();
    assert_eq!(
        (block.done, block.worker_id, block.wall_seconds),
        (true, Some(7), Some(0.5))
    );
}

#[test]
fn both_ways_of_writing_give_the_same_bytes() {
    let mut trees = Vec::new();
    for files in [FaultyFiles::default(), FaultyFiles::without_mapping()] {
        let scratch = Scratch::new("same-bytes");
        let path = scratch.join("store");
        let mut store = TrackingStore::open(&path, &line(0, 20_000, 1), with(&files)).unwrap();
        for step in 0..300u32 {
            let cell = u64::from(step.wrapping_mul(2_654_435_761) % 20_000);
            store.record_failure(cell / 2).unwrap();
            store
                .record_done(cell, Some(&record(step, f64::from(step))))
                .unwrap();
        }
        store.close().unwrap();
        trees.push(tree(&path));
    }
    assert!(trees[0] == trees[1]);
}

#[test]
fn a_lost_file_handle_is_an_error_of_the_batch() {
    let scratch = Scratch::new("stale");
    let path = scratch.join("store");
    let files = FaultyFiles::default();
    let mut store = TrackingStore::open(&path, &line(0, 1000, 1), with(&files)).unwrap();
    files.fail(Operation::Length, "failures", Errno::STALE.raw_os_error());
    let error = store.begin_batch().unwrap_err();
    assert!(error.is_os_error(Errno::STALE), "{error}");
    assert!(error.to_string().contains("check the mount"), "{error}");
    // Also when nobody asks, before many blocks have gone by.
    let recorded = (0..1000)
        .take_while(|cell| store.record_done(*cell, None).is_ok())
        .count();
    assert!(recorded <= 256, "{recorded}");
}

#[test]
fn a_file_that_was_shortened_is_an_error_and_no_signal() {
    let scratch = Scratch::new("shortened");
    let path = scratch.join("store");
    let options = OpenOptions::default();
    let mut store = TrackingStore::open(&path, &line(0, 100_000, 1), options.clone()).unwrap();
    store.record_done(0, None).unwrap();
    let file = fs::OpenOptions::new()
        .write(true)
        .open(path.join("done/c/0"))
        .unwrap();
    file.set_len(10).unwrap();
    let error = store.begin_batch().unwrap_err();
    assert!(
        error
            .to_string()
            .contains("has 10 bytes and should have 100000"),
        "{error}"
    );
    drop(store);
    let error = TrackingStore::open(&path, &line(0, 100_000, 1), options).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("has 10 bytes and should have 100000"),
        "{error}"
    );
}

#[test]
fn a_failed_sync_is_reported_and_stays_so() {
    for operation in [Operation::SyncChunk, Operation::SyncFile] {
        let scratch = Scratch::new("sync");
        let path = scratch.join("store");
        let files = FaultyFiles::default();
        let mut store = TrackingStore::open(&path, &line(0, 40, 10), with(&files)).unwrap();
        store.record_done(1, None).unwrap();
        files.fail(operation, "done", Errno::IO.raw_os_error());
        let error = store.flush().unwrap_err();
        assert!(error.is_os_error(Errno::IO), "{error}");
        // The system drops what it could not write, so that a later success would prove nothing.
        files.heal();
        assert!(store
            .flush()
            .unwrap_err()
            .to_string()
            .contains("earlier failure"));
        let error = store.close().unwrap_err();
        assert!(error.to_string().contains("earlier failure"), "{error}");
    }
}

#[test]
fn only_what_was_written_is_synced() {
    let scratch = Scratch::new("flush");
    let path = scratch.join("store");
    let files = FaultyFiles::default();
    let mut store = TrackingStore::open(&path, &line(0, 40, 10), with(&files)).unwrap();
    store.record_done(1, None).unwrap();
    store.flush().unwrap();
    store.flush().unwrap();
    let synced: Vec<_> = files
        .log()
        .into_iter()
        .filter(|(operation, _)| *operation == Operation::SyncChunk)
        .map(|(_, path)| path.parent().unwrap().to_owned())
        .collect();
    assert_eq!(
        synced,
        [path.join("done/c")],
        "only what was written, and only once"
    );
}

#[test]
fn values_reach_the_disk_before_marks() {
    let scratch = Scratch::new("order");
    let path = scratch.join("store");
    let files = FaultyFiles::without_mapping();
    let mut store = TrackingStore::open(&path, &line(0, 40, 10), with(&files)).unwrap();
    store.record_done(1, Some(&record(0, 1.0))).unwrap();
    store.flush().unwrap();
    for operation in [Operation::WriteAt, Operation::SyncChunk] {
        let log = files.log();
        let paths: Vec<_> = log
            .iter()
            .filter(|(found, _)| *found == operation)
            .map(|(_, path)| path.parent().unwrap())
            .collect();
        assert_eq!(paths.len(), 11, "{operation:?}");
        assert_eq!(paths[10], path.join("done/c"), "{operation:?}");
    }
}

#[test]
fn what_cannot_be_made_is_said() {
    for (operation, errno) in [
        (Operation::CreateDir, Errno::ACCESS),
        (Operation::CreateDir, Errno::ROFS),
        (Operation::Create, Errno::ROFS),
        (Operation::Create, Errno::ACCESS),
        (Operation::CreateChunk, Errno::NOSPC),
        (Operation::Rename, Errno::IO),
        (Operation::List, Errno::ACCESS),
    ] {
        let scratch = Scratch::new("cannot");
        let path = scratch.join("store");
        let files = FaultyFiles::default();
        files.fail(operation, "", errno.raw_os_error());
        let error = TrackingStore::open(&path, &line(0, 40, 10), with(&files)).unwrap_err();
        assert!(error.is_os_error(errno), "{operation:?}: {error}");
        assert!(error.to_string().lines().count() == 2, "{error}");
        // It can be tried again at once.
        files.heal();
        TrackingStore::open(&path, &line(0, 40, 10), with(&files))
            .unwrap()
            .close()
            .unwrap();
    }
}

/// A run that died: its process id is that of nobody.
fn dead_identity() -> Identity {
    Identity {
        pid: u32::MAX - 1,
        start_time: Some(1),
        ..Identity::current()
    }
}

/// Runs `step` with the power going at each of its changes in turn, and `check` after each.
fn at_each_cut(
    prepare: impl Fn(&Path),
    step: impl Fn(&Path, OpenOptions) -> Result<(), TrackingError>,
    check: impl Fn(&Path, u64),
) -> u64 {
    for at in 0..10_000 {
        let scratch = Scratch::in_memory("cut");
        prepare(scratch.path());
        let files = FaultyFiles::cut_at(at);
        let options = OpenOptions {
            identity: dead_identity(),
            ..with(&files)
        };
        let result = step(scratch.path(), options);
        if !files.was_cut() {
            result.unwrap();
            assert!(at > 3, "only {at} changes");
            return at;
        }
        age_locks(scratch.path());
        check(scratch.path(), at);
    }
    panic!("it never ends");
}

/// The machine was off for a while.
fn age_locks(path: &Path) {
    for entry in fs::read_dir(path).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            age_locks(&path);
        } else if path
            .file_name()
            .unwrap()
            .to_string_lossy()
            .starts_with("bellis.lock")
        {
            let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(3600))
                .unwrap();
        }
    }
}

fn finished_store(path: &Path, layout: &Layout) {
    let options = OpenOptions {
        resource_tracking: true,
        ..OpenOptions::default()
    };
    let mut store = TrackingStore::open(path, layout, options).unwrap();
    for cell in 0..layout.cells() {
        store.record_failure(cell).unwrap();
        store.record_done(cell, Some(&record(9, 2.5))).unwrap();
    }
    store.append_run("{\"run\":1}").unwrap();
    store.close().unwrap();
}

/// Opens with real files after a crash; documents that lost their content are the only excuse.
fn reopen(path: &Path, layout: &Layout) -> Result<TrackingStore, TrackingError> {
    let options = OpenOptions {
        resource_tracking: true,
        ..OpenOptions::default()
    };
    TrackingStore::open(path, layout, options)
}

#[test]
fn a_migration_may_be_cut_anywhere() {
    let old = line_with(0, 45, 10, 0, StoredFit::Shrink);
    let new = line_with(-10, 75, 10, 0, StoredFit::Shrink);
    let cuts = at_each_cut(
        |scratch| finished_store(&scratch.join("store"), &old),
        |scratch, options| TrackingStore::open(&scratch.join("store"), &new, options)?.close(),
        |scratch, at| {
            let path = scratch.join("store");
            // By the new layout: whatever was cut is ended, and nothing is lost.
            let copy = Scratch::in_memory("cut-copy");
            copy_tree(scratch, copy.path());
            age_locks(copy.path());
            let mut store = reopen(&path, &new).unwrap_or_else(|error| panic!("cut {at}: {error}"));
            assert_eq!(done(&store), [1, 2, 3, 4], "cut {at}");
            assert_eq!(store.failures(1).unwrap(), 1, "cut {at}");
            assert_eq!(store.failures(5).unwrap(), 0, "cut {at}");
            let notices = store.take_notices();
            store.close().unwrap();
            let left: Vec<_> = fs::read_dir(scratch)
                .unwrap()
                .map(|entry| entry.unwrap().file_name())
                .collect();
            assert_eq!(left, ["store"], "cut {at}: {notices:?}");
            let reader = StoreReader::open(&SystemFiles, &path, Some(&new))
                .unwrap()
                .unwrap();
            assert_eq!(reader.runs().unwrap(), ["{\"run\":1}"], "cut {at}");
            assert_eq!(reader.block(4).unwrap().worker_id, Some(9), "cut {at}");

            // By the old layout: either all of the old store, or a clear refusal.
            let path = copy.join("store");
            match reopen(&path, &old) {
                Ok(store) => assert_eq!(done(&store), [0, 1, 2, 3, 4], "cut {at}"),
                Err(error) => assert_eq!(error.code(), "ERR_BELLIS_LAYOUT_MISMATCH", "cut {at}"),
            }
        },
    );
    println!("{cuts} cuts of a migration");
}

#[test]
fn making_a_store_may_be_cut_anywhere() {
    let layout = line(0, 40, 10);
    let cuts = at_each_cut(
        |_| {},
        |scratch, options| {
            let mut store = TrackingStore::open(&scratch.join("store"), &layout, options)?;
            store.record_done(1, None)?;
            store.close()
        },
        |scratch, at| match reopen(&scratch.join("store"), &layout) {
            Ok(store) => assert!(done(&store).iter().all(|cell| *cell == 1), "cut {at}"),
            // A power failure took the content of files that were never synced: said clearly.
            Err(error) => {
                let text = error.to_string();
                assert!(
                    text.contains("is empty") || text.contains("has 0 bytes"),
                    "{at}: {text}"
                );
                assert!(text.contains("rm -rf"), "cut {at}: {text}");
            }
        },
    );
    println!("{cuts} cuts of a new store");
}

#[test]
fn adding_arrays_and_stamping_may_be_cut_anywhere() {
    let layout = line(0, 40, 10);
    let name = "complete-1d";
    let golden = line(0, 80, 10);
    at_each_cut(
        |scratch| {
            copy_tree(
                &support::vectors().join("stores").join(name),
                &scratch.join("store"),
            )
        },
        |scratch, options| TrackingStore::open(&scratch.join("store"), &golden, options)?.close(),
        |scratch, at| {
            let path = scratch.join("store");
            // What daisy wrote is never lost; arrays that were just added may be.
            assert_eq!(fs::read(path.join("done/c/0")).unwrap(), [1; 8], "cut {at}");
            let basic = OpenOptions::default();
            let store = TrackingStore::open(&path, &golden, basic)
                .unwrap_or_else(|error| panic!("cut {at}: {error}"));
            assert_eq!(done(&store), [0, 1, 2, 3, 4, 5, 6, 7], "cut {at}");
        },
    );
    assert_eq!(layout.cells(), 4);
}

#[test]
fn starting_fresh_may_be_cut_anywhere() {
    let old = line(0, 40, 10);
    let new = line(0, 40, 5);
    at_each_cut(
        |scratch| finished_store(&scratch.join("store"), &old),
        |scratch, options| {
            let options = OpenOptions {
                on_layout_mismatch: OnLayoutMismatch::Recreate,
                ..options
            };
            TrackingStore::open(&scratch.join("store"), &new, options)?.close()
        },
        |scratch, at| {
            let options = OpenOptions {
                on_layout_mismatch: OnLayoutMismatch::Recreate,
                ..OpenOptions::default()
            };
            match TrackingStore::open(&scratch.join("store"), &new, options) {
                Ok(store) => assert_eq!(done(&store), [0u64; 0], "cut {at}"),
                Err(error) => {
                    let text = error.to_string();
                    let lost = text.contains("is empty") || text.contains("has 0 bytes");
                    assert!(lost && text.contains("rm -rf"), "cut {at}: {text}");
                }
            }
        },
    );
}

#[test]
fn a_reset_may_be_cut_anywhere() {
    let layout = line(0, 40, 10);
    at_each_cut(
        |scratch| finished_store(&scratch.join("store"), &layout),
        |scratch, options| reset(&scratch.join("store"), &options).map(|_| ()),
        |scratch, at| {
            let path = scratch.join("store");
            let store = reopen(&path, &layout).unwrap_or_else(|error| panic!("cut {at}: {error}"));
            let marks = done(&store);
            assert!(marks.is_empty() || marks.len() == 4, "cut {at}: {marks:?}");
            drop(store);
            let options = OpenOptions::default();
            assert!(reset(&path, &options).unwrap(), "cut {at}");
            assert!(!path.exists(), "cut {at}");
        },
    );
}

#[test]
fn a_failed_migration_leaves_the_old_store() {
    let old = line(0, 40, 10);
    let new = line(0, 80, 10);
    for (operation, path_part) in [
        (Operation::CreateChunk, "bellis-new"),
        (Operation::WriteAt, "bellis-new"),
        (Operation::SyncChunk, "bellis-new"),
        (Operation::SyncDir, "bellis-new"),
        (Operation::Touch, "bellis-new"),
        (Operation::Rename, "store"),
    ] {
        let scratch = Scratch::new("failed-migration");
        let path = scratch.join("store");
        finished_store(&path, &old);
        let before = tree(&path);
        let files = FaultyFiles::default();
        files.fail(operation, path_part, Errno::NOSPC.raw_os_error());
        let error = TrackingStore::open(&path, &new, with(&files)).unwrap_err();
        assert!(error.is_os_error(Errno::NOSPC), "{operation:?}: {error}");
        assert!(tree(&path) == before, "{operation:?}");
        files.heal();
        let mut store = TrackingStore::open(&path, &new, with(&files)).unwrap();
        assert_eq!(done(&store), [0, 1, 2, 3], "{operation:?}");
        assert!(matches!(
            store.take_notices().as_slice(),
            [
                ..,
                Notice::Migrated {
                    kept: 4,
                    cleared: 0,
                    ..
                }
            ]
        ));
    }
}

#[test]
fn the_old_store_without_the_new_one_is_not_thrown_away() {
    let scratch = Scratch::new("only-old");
    let path = scratch.join("store");
    finished_store(&path, &line(0, 40, 10));
    let old = scratch.join(".store.bellis-old");
    fs::rename(&path, &old).unwrap();
    let before = tree(&old);
    let error = reopen(&path, &line(0, 80, 10)).unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains(&format!("mv {} {}", old.display(), path.display())),
        "{text}"
    );
    assert!(tree(&old) == before);
    // A store made anew while both wait is not overwritten either.
    let new = scratch.join(".store.bellis-new");
    copy_tree(&old, &new);
    finished_store(&scratch.join("other"), &line(0, 40, 10));
    fs::rename(scratch.join("other"), &path).unwrap();
    let error = reopen(&path, &line(0, 40, 10)).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("was made anew while a cut migration"),
        "{error}"
    );
    assert!(tree(&old) == before && tree(&new) == before);
}
