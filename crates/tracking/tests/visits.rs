//! Two runs that meet at one store: before each step of the one, the other comes and does all it wants.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use bellis_tracking::{
    look, reset, Identity, LockTiming, OpenOptions, TrackingError, TrackingStore,
};
use support::faulty::FaultyFiles;
use support::{dead, line, Scratch};

const LOCK: &str = "bellis.lock";

fn options(files: FaultyFiles, identity: Identity) -> OpenOptions {
    OpenOptions {
        files: Arc::new(files),
        identity,
        // A thread that renews the lock would have steps of its own.
        lock_timing: LockTiming {
            renew: Duration::from_secs(3600),
            ..LockTiming::default()
        },
        ..OpenOptions::default()
    }
}

/// What a run does at the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Does {
    /// Opens it for a layout, and holds it.
    Holds(i64),
    /// Opens it, records a block, closes it.
    Uses(i64),
    Resets,
}

/// The store where a run holds it; `None` where it was refused or is through.
fn does(what: Does, path: &Path, files: FaultyFiles, told: &str) -> Option<TrackingStore> {
    let options = options(files, Identity::current());
    let open = |blocks: i64, options| match TrackingStore::open(
        path,
        &line(0, blocks * 10, 10),
        options,
    ) {
        Ok(store) => Some(store),
        Err(TrackingError::Locked { path: at, .. }) if at == path => None,
        Err(error) => panic!("{told}: {error}"),
    };
    match what {
        Does::Holds(blocks) => open(blocks, options),
        Does::Uses(blocks) => {
            if let Some(mut store) = open(blocks, options) {
                record(&mut store, told);
                store.close().unwrap();
            }
            None
        }
        Does::Resets => match reset(path, &options) {
            Ok(_) | Err(TrackingError::Locked { .. }) => None,
            Err(error) => panic!("{told}: {error}"),
        },
    }
}

fn record(store: &mut TrackingStore, told: &str) {
    let recorded = store.record_done(1, None).and_then(|()| store.flush());
    recorded.unwrap_or_else(|error| panic!("{told}: {error}"));
}

/// Makes the store as it is before the two meet.
type Before = fn(&Path);

fn of_four_blocks(path: &Path) {
    of_a_past_run(path, 4);
}

fn of_four_blocks_locked(path: &Path) {
    of_a_dead_run(path, 4);
}

fn of_a_past_run(path: &Path, blocks: i64) {
    let layout = line(0, blocks * 10, 10);
    let mut store = TrackingStore::open(path, &layout, OpenOptions::default()).unwrap();
    store.record_done(1, None).unwrap();
    store.close().unwrap();
}

fn of_a_dead_run(path: &Path, blocks: i64) {
    of_a_past_run(path, blocks);
    let layout = line(0, blocks * 10, 10);
    let store = TrackingStore::open(path, &layout, options(FaultyFiles::default(), dead()));
    let content = fs::read(path.join(LOCK)).unwrap();
    drop(store);
    fs::write(path.join(LOCK), content).unwrap();
}

/// Between the two renames of a run that died there.
fn cut(path: &Path) {
    let sibling = |role: &str| path.with_file_name(format!(".store.bellis-{role}"));
    let elsewhere = path.with_file_name("elsewhere");
    of_a_dead_run(path, 4);
    of_a_dead_run(&elsewhere, 5);
    fs::rename(path, sibling("old")).unwrap();
    fs::rename(elsewhere, sibling("new")).unwrap();
}

fn nothing(_path: &Path) {}

fn meet(before: Before, host: Does, visitor: Does) {
    let mut met = 0;
    for step in 0.. {
        let scratch = Scratch::in_memory("visits");
        let path: PathBuf = scratch.join("store");
        before(&path);
        let told = format!("{visitor:?} before step {step} of {host:?}");
        let held: Arc<Mutex<Option<TrackingStore>>> = Arc::default();
        let files = FaultyFiles::default();
        let (at, visited, its_told) = (path.clone(), Arc::clone(&held), told.clone());
        files.visit(step, move || {
            *visited.lock().unwrap() = does(visitor, &at, FaultyFiles::default(), &its_told);
        });
        let host_has = does(host, &path, files.clone(), &told);
        if files.is_expecting() {
            break;
        }
        met += 1;
        let visitor_has = held.lock().unwrap().take();
        assert!(host_has.is_none() || visitor_has.is_none(), "{told}");
        for mut store in host_has.into_iter().chain(visitor_has) {
            record(&mut store, &told);
            store.close().unwrap();
        }
        // And whatever they did to each other, the next one gets it.
        let layout = line(0, 50, 10);
        let next = TrackingStore::open(&path, &layout, OpenOptions::default());
        next.unwrap_or_else(|error| panic!("{told}: {error}"))
            .close()
            .unwrap();
    }
    assert!(met > 10, "{host:?} has only {met} steps");
}

#[test]
fn whoever_comes_to_a_reset_is_not_harmed() {
    for visitor in [Does::Holds(4), Does::Uses(4), Does::Resets] {
        meet(of_four_blocks, Does::Resets, visitor);
        meet(of_four_blocks_locked, Does::Resets, visitor);
    }
}

#[test]
fn whoever_comes_to_an_opening_is_not_harmed() {
    for visitor in [Does::Holds(4), Does::Uses(4), Does::Resets] {
        meet(nothing, Does::Holds(4), visitor);
        meet(of_four_blocks, Does::Holds(4), visitor);
        meet(of_four_blocks_locked, Does::Holds(4), visitor);
    }
}

#[test]
fn whoever_comes_while_a_volume_grows_is_not_harmed() {
    for visitor in [Does::Holds(5), Does::Uses(5), Does::Resets] {
        for before in [of_four_blocks as Before, of_four_blocks_locked, cut] {
            meet(before, Does::Holds(5), visitor);
        }
        meet(cut, Does::Resets, visitor);
    }
}

#[test]
fn whoever_looks_at_a_store_while_it_changes_sees_no_damage() {
    for (visitor, blocks) in [(Does::Holds(5), 5), (Does::Uses(5), 5), (Does::Resets, 0)] {
        let mut met = 0;
        for step in 0.. {
            let scratch = Scratch::in_memory("visits");
            let path = scratch.join("store");
            of_four_blocks(&path);
            let files = FaultyFiles::default();
            let told = format!("{visitor:?} before step {step} of looking");
            let held: Arc<Mutex<Option<TrackingStore>>> = Arc::default();
            let (at, visited, its_told) = (path.clone(), Arc::clone(&held), told.clone());
            files.visit(step, move || {
                *visited.lock().unwrap() = does(visitor, &at, FaultyFiles::default(), &its_told);
            });
            let seen = look(&files, &path, None, |reader| {
                Ok::<_, TrackingError>((reader.status()?, reader.failed_cells()?))
            });
            if files.is_expecting() {
                break;
            }
            met += 1;
            match seen.unwrap_or_else(|error| panic!("{told}: {error}")) {
                None => assert_eq!(visitor, Does::Resets, "{told}"),
                Some((status, _)) => {
                    let cells: u64 = status.grid_shape.iter().product();
                    assert!([4, blocks].contains(&cells), "{told}: {cells}");
                    let is_half_removed = visitor == Does::Resets && status.done == 0;
                    assert!(status.done == 1 || is_half_removed, "{told}");
                }
            }
        }
        assert!(met > 10, "{met}");
    }
}

#[test]
fn a_run_that_was_taken_for_dead_does_not_give_back_the_lock_of_another() {
    let mut taken_over = 0;
    for step in 0.. {
        let scratch = Scratch::in_memory("visits");
        let path = scratch.join("store");
        let elsewhere = Identity {
            boot_id: Some("another start".to_owned()),
            ..Identity::current()
        };
        let files = FaultyFiles::default();
        let its_options = options(files.clone(), elsewhere);
        let store = TrackingStore::open(&path, &line(0, 40, 10), its_options).unwrap();
        let lock = fs::File::options().write(true).open(path.join(LOCK));
        lock.unwrap()
            .set_modified(SystemTime::now() - Duration::from_secs(61))
            .unwrap();
        let told = format!("before step {step} of giving back");
        let held: Arc<Mutex<Option<TrackingStore>>> = Arc::default();
        let (at, visited, its_told) = (path.clone(), Arc::clone(&held), told.clone());
        files.visit(step, move || {
            let visitor = Does::Holds(4);
            *visited.lock().unwrap() = does(visitor, &at, FaultyFiles::default(), &its_told);
        });
        drop(store);
        if files.is_expecting() {
            break;
        }
        let visitor = held.lock().unwrap().take();
        if let Some(mut store) = visitor {
            record(&mut store, &told);
            store.close().unwrap();
            taken_over += 1;
        }
        assert!(!path.join(LOCK).exists(), "{told}");
    }
    assert!(taken_over > 0);
}

#[test]
fn a_lock_that_is_just_being_made_is_not_taken_for_a_torn_one_of_before() {
    let mut refused = 0;
    for step in 0.. {
        let scratch = Scratch::in_memory("visits");
        let path = scratch.join("store");
        of_four_blocks(&path);
        let lock = fs::File::create(path.join(LOCK)).unwrap();
        lock.set_modified(SystemTime::now() - Duration::from_secs(61))
            .unwrap();
        let files = FaultyFiles::without_links();
        let at = path.clone();
        let made = Arc::new(Mutex::new(false));
        let its_made = Arc::clone(&made);
        let told = format!("before step {step} of taking over");
        let its_told = told.clone();
        files.visit(step, move || {
            // The torn one is taken over and given back, and then a third run comes.
            does(Does::Uses(4), &at, FaultyFiles::default(), &its_told);
            *its_made.lock().unwrap() = fs::File::create_new(at.join(LOCK)).is_ok();
        });
        let store = does(Does::Holds(4), &path, files.clone(), &told);
        if files.is_expecting() {
            break;
        }
        if *made.lock().unwrap() {
            assert!(store.is_none(), "{told}");
            refused += 1;
        }
    }
    assert!(refused > 5, "{refused}");
}
