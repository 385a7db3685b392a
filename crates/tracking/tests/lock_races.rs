//! Runs that find the same dead lock: one wins, whatever the order of their steps.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

mod support;

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier};
use std::time::{Duration, SystemTime};

use bellis_tracking::{Files, Identity, LockTiming, OpenOptions, TrackingError, TrackingStore};
use support::faulty::FaultyFiles;
use support::process::Process;
use support::turns::Turns;
use support::{dead, line, Scratch};

const LOCK: &str = "bellis.lock";

fn open(
    path: &Path,
    files: Arc<dyn Files>,
    identity: Identity,
) -> Result<TrackingStore, TrackingError> {
    let options = OpenOptions {
        files,
        identity,
        // The thread that renews a lock has no turns.
        lock_timing: LockTiming {
            renew: Duration::from_secs(3600),
            ..LockTiming::default()
        },
        ..OpenOptions::default()
    };
    TrackingStore::open(path, &line(0, 40, 10), options)
}

/// Leaves the lock of a run that was killed.
fn abandoned(path: &Path) {
    let store = open(path, Arc::new(FaultyFiles::default()), dead()).unwrap();
    let content = fs::read(path.join(LOCK)).unwrap();
    drop(store);
    fs::write(path.join(LOCK), content).unwrap();
}

/// Leaves the lock of a run that was killed before it wrote who it is.
fn torn(path: &Path) {
    let lock = fs::File::create(path.join(LOCK)).unwrap();
    lock.set_modified(SystemTime::now() - Duration::from_secs(61))
        .unwrap();
}

/// How many of these get the store when each of their steps waits for its turn.
///
/// One that is killed on the way doesn't.
fn winners(path: &Path, seed: u64, contenders: Vec<(FaultyFiles, Identity)>) -> usize {
    let turns = Arc::new(Turns::new(contenders.len(), seed));
    let everybody_done = Barrier::new(contenders.len());
    std::thread::scope(|scope| {
        let threads: Vec<_> = contenders
            .into_iter()
            .enumerate()
            .map(|(thread, (files, identity))| {
                let (turns, everybody_done) = (&turns, &everybody_done);
                scope.spawn(move || {
                    let files = files.taking_turns(turns, thread);
                    let opened = open(path, Arc::new(files.clone()), identity);
                    turns.leave(thread);
                    // Nobody gives the lock back while another still tries to get it.
                    everybody_done.wait();
                    match opened {
                        _ if files.was_cut() => 0,
                        Ok(store) => {
                            store.close().unwrap();
                            1
                        }
                        Err(TrackingError::Locked { .. }) => 0,
                        Err(error) => panic!("seed {seed}: {error}"),
                    }
                })
            })
            .collect();
        threads.into_iter().map(|one| one.join().unwrap()).sum()
    })
}

fn alive() -> (FaultyFiles, Identity) {
    (FaultyFiles::default(), Identity::current())
}

fn names_of_locks(path: &Path) -> Vec<String> {
    fs::read_dir(path)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with(LOCK))
        .collect()
}

#[test]
fn of_many_that_find_a_dead_lock_one_wins() {
    for seed in 0..400 {
        let scratch = Scratch::in_memory("race");
        let path = scratch.join("store");
        abandoned(&path);
        assert_eq!(
            winners(&path, seed, vec![alive(), alive(), alive(), alive()]),
            1,
            "seed {seed}"
        );
        assert!(names_of_locks(&path).is_empty(), "seed {seed}");
    }
}

#[test]
fn of_many_that_find_a_dead_lock_one_wins_on_any_file_system() {
    for seed in 0..400 {
        let scratch = Scratch::in_memory("race");
        let path = scratch.join("store");
        abandoned(&path);
        if seed % 3 == 0 {
            torn(&path);
        }
        let files = match seed % 2 {
            0 => FaultyFiles::without_links(),
            _ => FaultyFiles::losing_answers(),
        };
        let contenders = (0..3).map(|_| (files.clone(), Identity::current()));
        assert_eq!(winners(&path, seed, contenders.collect()), 1, "seed {seed}");
        assert!(names_of_locks(&path).is_empty(), "seed {seed}");
    }
}

/// Runs several things at once, each of their steps in its turn.
fn in_turns(seed: u64, files: &FaultyFiles, things: Vec<Box<dyn FnOnce(FaultyFiles) + Send>>) {
    let turns = Arc::new(Turns::new(things.len(), seed));
    std::thread::scope(|scope| {
        for (thread, thing) in things.into_iter().enumerate() {
            let files = files.clone().taking_turns(&turns, thread);
            let turns = &turns;
            scope.spawn(move || {
                thing(files);
                turns.leave(thread);
            });
        }
    });
}

#[test]
fn locks_that_are_given_back_while_others_come_have_one_owner_at_a_time() {
    let mut most = 0;
    for seed in 0..400 {
        let scratch = Scratch::in_memory("race");
        let path = &scratch.join("store");
        abandoned(path);
        if seed % 2 == 0 {
            torn(path);
        }
        let (owners, won) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let things = (0..4).map(|_| {
            let (path, owners, won) = (path.clone(), Arc::clone(&owners), Arc::clone(&won));
            Box::new(move |files: FaultyFiles| {
                match open(&path, Arc::new(files), Identity::current()) {
                    Ok(mut store) => {
                        assert_eq!(owners.fetch_add(1, SeqCst), 0, "seed {seed}");
                        won.fetch_add(1, SeqCst);
                        store.record_done(0, None).unwrap();
                        store.flush().unwrap();
                        owners.fetch_sub(1, SeqCst);
                        store.close().unwrap();
                    }
                    Err(TrackingError::Locked { .. }) => {}
                    Err(error) => panic!("seed {seed}: {error}"),
                }
            }) as Box<dyn FnOnce(FaultyFiles) + Send>
        });
        let files = match seed % 3 {
            0 => FaultyFiles::without_links(),
            _ => FaultyFiles::default(),
        };
        in_turns(seed, &files, things.collect());
        let won = won.load(SeqCst);
        assert!(won >= 1, "seed {seed}");
        most = most.max(won);
        assert!(names_of_locks(path).is_empty(), "seed {seed}");
    }
    assert!(most > 1, "one after the other never happened");
}

#[test]
fn of_many_that_find_no_lock_one_wins() {
    for seed in 0..100 {
        let scratch = Scratch::in_memory("race");
        let path = scratch.join("store");
        open(&path, Arc::new(FaultyFiles::default()), Identity::current())
            .unwrap()
            .close()
            .unwrap();
        assert_eq!(
            winners(&path, seed, vec![alive(), alive(), alive()]),
            1,
            "seed {seed}"
        );
    }
}

#[test]
fn runs_killed_while_they_take_over_a_dead_lock_are_followed_by_one() {
    let mut followed = 0;
    for seed in 0..400 {
        let scratch = Scratch::in_memory("race");
        let path = scratch.join("store");
        abandoned(&path);
        let killed = |at| {
            let process = Arc::new(Process::start());
            let identity = process.identity();
            (FaultyFiles::killed_at(at, process), identity)
        };
        let contenders = vec![killed(seed % 5), killed(seed % 7), alive(), alive()];
        let won = winners(&path, seed, contenders);
        assert!(won <= 1, "seed {seed}");
        followed += won;
        // None may have won: one that was killed had just begun when the others looked. But the
        // next one gets the store.
        let next = open(&path, Arc::new(FaultyFiles::default()), Identity::current());
        next.unwrap().close().unwrap();
        assert!(!path.join(LOCK).exists(), "seed {seed}");
    }
    assert!(followed > 100, "{followed} of 400");
}

#[test]
fn on_real_threads_too_one_wins() {
    for round in 0..20 {
        let scratch = Scratch::new("race");
        let path = scratch.join("store");
        abandoned(&path);
        let start = Barrier::new(8);
        let opened: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8)
                .map(|_| {
                    scope.spawn(|| {
                        start.wait();
                        open(&path, Arc::new(FaultyFiles::default()), Identity::current())
                    })
                })
                .collect();
            threads.into_iter().map(|one| one.join().unwrap()).collect()
        });
        let (won, lost): (Vec<_>, Vec<_>) = opened.into_iter().partition(Result::is_ok);
        assert_eq!(won.len(), 1, "round {round}");
        for result in lost {
            let error = result.unwrap_err();
            assert!(matches!(error, TrackingError::Locked { .. }), "{error}");
        }
        won.into_iter().next().unwrap().unwrap().close().unwrap();
    }
}
