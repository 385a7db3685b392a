//! One run at a time: live locks refuse, dead ones are taken over, lost ones stop a run.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

mod support;

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use bellis_tracking::{
    reset, reset_failed, Identity, LockTiming, Notice, OpenOptions, StoreReader, SystemFiles,
    TrackingError, TrackingStore,
};
use support::{dead, line, Scratch};

const LOCK: &str = "bellis.lock";

fn open(path: &Path, options: OpenOptions) -> Result<TrackingStore, TrackingError> {
    TrackingStore::open(path, &line(0, 40, 10), options)
}

fn by(identity: Identity) -> OpenOptions {
    OpenOptions {
        identity,
        ..OpenOptions::default()
    }
}

/// Another machine that shares the file system, or this one before it was started again.
fn elsewhere() -> Identity {
    Identity {
        host: "elsewhere".to_owned(),
        boot_id: Some("another start".to_owned()),
        ..Identity::current()
    }
}

/// A container on this machine: its process ids mean nothing here.
fn other_namespace() -> Identity {
    Identity {
        pid_namespace: Some("pid:[1]".to_owned()),
        ..Identity::current()
    }
}

/// This process id, but of a process that was started at another time.
fn reused_pid() -> Identity {
    Identity {
        start_time: Some(1),
        ..Identity::current()
    }
}

/// Leaves the lock of a run that ended without giving it back.
fn abandoned(path: &Path, identity: Identity) {
    let store = open(path, by(identity)).unwrap();
    let content = fs::read(path.join(LOCK)).unwrap();
    drop(store);
    assert!(!path.join(LOCK).exists(), "a lock is given back");
    fs::write(path.join(LOCK), content).unwrap();
}

fn set_age(path: &Path, age: Duration) {
    let file = fs::OpenOptions::new()
        .write(true)
        .open(path.join(LOCK))
        .unwrap();
    file.set_modified(SystemTime::now() - age).unwrap();
}

#[track_caller]
fn is_locked(result: Result<TrackingStore, TrackingError>) {
    let error = result.unwrap_err();
    assert!(matches!(error, TrackingError::Locked { .. }), "{error}");
}

#[test]
fn a_second_run_is_refused_naming_the_first() {
    let scratch = Scratch::new("second");
    let path = scratch.join("store");
    let store = open(&path, OpenOptions::default()).unwrap();
    let error = open(&path, OpenOptions::default()).unwrap_err();
    assert_eq!(error.code(), "ERR_BELLIS_STORE_LOCKED");
    let text = error.to_string();
    let me = Identity::current();
    assert!(
        text.contains(&format!("process {} on {}", me.pid, me.host)),
        "{text}"
    );
    // Nor may it be removed meanwhile, but it may be looked at.
    let options = OpenOptions::default();
    assert_eq!(
        reset(&path, &options).unwrap_err().code(),
        "ERR_BELLIS_STORE_LOCKED"
    );
    assert_eq!(
        reset_failed(&path, &options).unwrap_err().code(),
        "ERR_BELLIS_STORE_LOCKED"
    );
    let reader = StoreReader::open(&SystemFiles, &path, None)
        .unwrap()
        .unwrap();
    assert_eq!(reader.status().unwrap().held_by.unwrap().pid, me.pid);
    drop(store);
    assert_eq!(reader.status().unwrap().held_by, None);
    open(&path, options).unwrap();
}

#[test]
fn the_lock_of_a_dead_process_is_taken_over_at_once() {
    for identity in [dead(), reused_pid()] {
        let scratch = Scratch::new("dead");
        let path = scratch.join("store");
        abandoned(&path, identity.clone());
        let mut store = open(&path, OpenOptions::default()).unwrap();
        let notices = store.take_notices();
        let [Notice::LockTakenOver { holder, .. }] = notices.as_slice() else {
            panic!("{notices:?}")
        };
        assert_eq!(holder.pid, identity.pid);
        store.close().unwrap();
        let left: Vec<_> = fs::read_dir(&path)
            .unwrap()
            .map(|e| e.unwrap().file_name())
            .collect();
        assert!(
            left.iter()
                .all(|name| !name.to_string_lossy().contains(LOCK)),
            "{left:?}"
        );
    }
}

#[test]
fn an_unreaped_process_is_dead() {
    let mut child = std::process::Command::new("true").spawn().unwrap();
    let stat = format!("/proc/{}/stat", child.id());
    let field = |text: &str, at: usize| {
        let rest = text[text.rfind(')').unwrap() + 2..].to_owned();
        rest.split(' ').nth(at).unwrap().to_owned()
    };
    // It has ended when it is a zombie, and stays one until it is waited for.
    let text = loop {
        let text = fs::read_to_string(&stat).unwrap();
        if field(&text, 0) == "Z" {
            break text;
        }
        std::thread::yield_now();
    };
    let identity = Identity {
        pid: child.id(),
        start_time: Some(field(&text, 19).parse().unwrap()),
        ..Identity::current()
    };
    let scratch = Scratch::new("zombie");
    let path = scratch.join("store");
    abandoned(&path, identity);
    open(&path, OpenOptions::default()).unwrap();
    child.wait().unwrap();
}

const VISITED: &str = "BELLIS_TEST_VISITED_STORE";

/// Plays another user when this program was started for that, and does nothing in a normal run.
#[test]
fn another_user() {
    if let Ok(store) = std::env::var(VISITED) {
        match open(Path::new(&store), OpenOptions::default()) {
            Err(TrackingError::Locked { .. }) => println!("it is locked"),
            other => println!("it is not locked: {other:?}"),
        }
    }
}

/// Needs the right to mount. Without it the test says so and checks nothing.
#[test]
fn the_process_of_another_user_is_not_dead_for_being_hidden() {
    let scratch = Scratch::new("hidden");
    let path = scratch.join("store");
    let store = open(&path, OpenOptions::default()).unwrap();
    let script = "chmod -R a+rwX \"$2\" && mount -t proc -o hidepid=2 proc /proc && \
        cd / && exec setpriv --reuid=65534 --regid=65534 --clear-groups \
        \"$1\" --exact another_user --nocapture";
    let output = std::process::Command::new("unshare")
        .args(["--mount", "sh", "-c", script, "sh"])
        .arg(std::env::current_exe().unwrap())
        .arg(scratch.path())
        .env(VISITED, &path)
        .output();
    let told = match output {
        Ok(output) if output.status.success() => String::from_utf8(output.stdout).unwrap(),
        other => return println!("not checked, processes can't be hidden here: {other:?}"),
    };
    assert!(told.contains("it is locked"), "{told}");
    store.close().unwrap();
}

#[test]
fn what_is_no_lock_is_not_taken_for_one() {
    let scratch = Scratch::new("no-lock");
    let path = scratch.join("store");
    let lock = path.join(LOCK);
    open(&path, OpenOptions::default())
        .unwrap()
        .close()
        .unwrap();
    let refused = || {
        let error = open(&path, OpenOptions::default()).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("where the lock should be"), "{text}");
        assert!(text.contains("rm -rf"), "{text}");
    };
    fs::create_dir(&lock).unwrap();
    refused();
    fs::remove_dir(&lock).unwrap();
    std::os::unix::fs::symlink("/nowhere/at/all", &lock).unwrap();
    refused();
    fs::remove_file(&lock).unwrap();
    fs::write(&lock, vec![b' '; 70_000]).unwrap();
    refused();
    fs::remove_file(&lock).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, &lock, 0o600.into()).unwrap();
    refused();
}

#[test]
fn elsewhere_age_decides() {
    for identity in [elsewhere(), other_namespace()] {
        let scratch = Scratch::new("age");
        let path = scratch.join("store");
        abandoned(&path, identity);
        set_age(&path, Duration::from_secs(55));
        is_locked(open(&path, OpenOptions::default()));
        set_age(&path, Duration::from_secs(65));
        let mut store = open(&path, OpenOptions::default()).unwrap();
        assert!(matches!(
            store.take_notices().as_slice(),
            [Notice::LockTakenOver { .. }]
        ));
    }
}

#[test]
fn a_live_process_is_never_stale_here() {
    let scratch = Scratch::new("suspended");
    let path = scratch.join("store");
    let store = open(&path, OpenOptions::default()).unwrap();
    set_age(&path, Duration::from_secs(100_000));
    is_locked(open(&path, OpenOptions::default()));
    drop(store);
}

#[test]
fn a_lock_that_cannot_be_read_is_judged_by_its_age() {
    for content in ["", "{\"owner\":", "nonsense"] {
        let scratch = Scratch::new("torn-lock");
        let path = scratch.join("store");
        open(&path, OpenOptions::default())
            .unwrap()
            .close()
            .unwrap();
        fs::write(path.join(LOCK), content).unwrap();
        is_locked(open(&path, OpenOptions::default()));
        set_age(&path, Duration::from_secs(65));
        open(&path, OpenOptions::default()).unwrap();
    }
}

#[test]
fn a_run_that_lost_its_lock_stops_and_leaves_the_other_alone() {
    let scratch = Scratch::new("lost");
    let path = scratch.join("store");
    // A run on another machine was held up for too long, and this one took over.
    let mut first = open(&path, by(elsewhere())).unwrap();
    first.record_done(0, None).unwrap();
    first.flush().unwrap();
    set_age(&path, Duration::from_secs(65));
    let mut second = open(&path, OpenOptions::default()).unwrap();
    first.record_done(1, None).unwrap();
    let error = first.flush().unwrap_err();
    assert_eq!(error.code(), "ERR_BELLIS_STORE_LOCKED");
    let me = Identity::current();
    assert!(error
        .to_string()
        .contains(&format!("process {} on {} took it over", me.pid, me.host)));
    let error = first.append_run("{}").unwrap_err();
    assert_eq!(error.code(), "ERR_BELLIS_STORE_LOCKED");
    drop(first);
    second.record_done(2, None).unwrap();
    second.close().unwrap();
    assert!(!path.join(LOCK).exists());
}

#[test]
fn a_removed_lock_stops_the_run() {
    let scratch = Scratch::new("removed");
    let path = scratch.join("store");
    let mut store = open(&path, OpenOptions::default()).unwrap();
    fs::remove_file(path.join(LOCK)).unwrap();
    let error = store.flush().unwrap_err();
    assert!(
        error.to_string().contains("its lock file was removed"),
        "{error}"
    );
}

#[test]
fn a_removed_store_stops_the_run() {
    let scratch = Scratch::new("removed-store");
    let path = scratch.join("store");
    let mut store = open(&path, OpenOptions::default()).unwrap();
    fs::remove_dir_all(&path).unwrap();
    let error = store.flush().unwrap_err();
    assert_eq!(error.code(), "ERR_BELLIS_STORE_LOCKED");
}

#[test]
fn the_lock_is_renewed_by_a_thread_of_its_own() {
    let scratch = Scratch::new("renewed");
    let path = scratch.join("store");
    let timing = LockTiming {
        renew: Duration::from_millis(1),
        stale_after: Duration::from_secs(60),
    };
    let options = OpenOptions {
        lock_timing: timing,
        ..by(elsewhere())
    };
    let store = open(&path, options).unwrap();
    set_age(&path, Duration::from_secs(1000));
    // This thread does nothing for it: it waits until the file is fresh, and would wait for ever.
    let lock = path.join(LOCK);
    let fresh = || {
        let renewed = fs::metadata(&lock).unwrap().modified().unwrap();
        SystemTime::now()
            .duration_since(renewed)
            .map_or(true, |age| age < Duration::from_secs(60))
    };
    while !fresh() {
        std::thread::yield_now();
    }
    is_locked(open(&path, OpenOptions::default()));
    drop(store);
    assert!(!lock.exists());
}

#[test]
fn a_run_between_the_renames_of_its_migration_is_not_disturbed() {
    let scratch = Scratch::new("between");
    let path = scratch.join("store");
    let store = open(&path, OpenOptions::default()).unwrap();
    // As it stands for a moment: the old store aside, the new one with the same lock not yet there.
    let (new, old) = (
        scratch.join(".store.bellis-new"),
        scratch.join(".store.bellis-old"),
    );
    fs::rename(&path, &old).unwrap();
    support::copy_tree(&old, &new);
    let error = open(&path, OpenOptions::default()).unwrap_err();
    assert!(
        matches!(&error, TrackingError::Locked { path: at, .. } if *at == path),
        "{error}"
    );
    assert!(new.exists() && old.exists() && !path.exists());
    let error = StoreReader::open(&SystemFiles, &path, None).unwrap_err();
    assert!(
        error.to_string().contains("in the middle of a migration"),
        "{error}"
    );
    fs::remove_dir_all(&new).unwrap();
    fs::rename(&old, &path).unwrap();
    store.close().unwrap();
}
