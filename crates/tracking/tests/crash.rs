//! Drivers that are killed: what was recorded before is there, nothing else is, and the next run
//! goes on.
//!
//! The driver is this test program itself, started again with the name of a scenario in the
//! environment. It tells each step on its standard output, and is killed at a seeded one.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

mod support;

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use bellis_tracking::{Layout, Notice, OpenOptions, TrackingStore};
use support::{line, record, Scratch};

const SCENARIO: &str = "BELLIS_TEST_SCENARIO";
const STORE: &str = "BELLIS_TEST_STORE";
const CELLS: u64 = 2_000;
const ROUNDS: u64 = 20;

fn options(plain: bool) -> OpenOptions {
    OpenOptions {
        resource_tracking: true,
        force_plain_writes: plain,
        ..OpenOptions::default()
    }
}

/// All cells in an order that jumps about.
fn cell_of(step: u64) -> u64 {
    (step * 769) % CELLS
}

fn volume(steps: u64) -> Layout {
    line(-(steps as i64), 100 + 2 * steps as i64, 1)
}

/// Plays the driver when this program was started for that, and does nothing in a normal run.
#[test]
fn driver() {
    let (Ok(scenario), Ok(store)) = (std::env::var(SCENARIO), std::env::var(STORE)) else {
        return;
    };
    let path = Path::new(&store);
    let mut out = std::io::stdout().lock();
    let mut tell = |step: u64| {
        writeln!(out, "step {step}").unwrap();
        out.flush().unwrap();
    };
    match scenario.as_str() {
        "record" | "record-plain" => {
            let plain = scenario == "record-plain";
            let mut store = TrackingStore::open(path, &line(0, CELLS as i64, 1), options(plain));
            let store = store.as_mut().unwrap();
            let from = (0..CELLS).position(|step| !store.is_done(cell_of(step)));
            for step in from.unwrap_or(0) as u64..CELLS {
                let cell = cell_of(step);
                store.record_failure(cell).unwrap();
                store
                    .record_done(cell, Some(&record(cell as u32, cell as f64)))
                    .unwrap();
                if step % 100 == 0 {
                    store.flush().unwrap();
                }
                tell(step);
            }
        }
        "grow" => {
            for steps in 0..1_000 {
                TrackingStore::open(path, &volume(steps), options(false))
                    .unwrap()
                    .close()
                    .unwrap();
                tell(steps);
            }
        }
        other => panic!("{other}"),
    }
}

struct Driver {
    child: Child,
    steps: BufReader<ChildStdout>,
}

impl Driver {
    fn start(scenario: &str, store: &Path) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["driver", "--exact", "--nocapture", "--test-threads=1"])
            .env(SCENARIO, scenario)
            .env(STORE, store)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let steps = BufReader::new(child.stdout.take().unwrap());
        Self { child, steps }
    }

    /// The next step that it tells; `None` at the end.
    fn step(&mut self) -> Option<u64> {
        loop {
            let mut line = String::new();
            if self.steps.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            // The test harness prints its own lines, the first of them on the same line as a step.
            if let Some((_, step)) = line.rsplit_once("step ") {
                if let Ok(step) = step.trim().parse() {
                    return Some(step);
                }
            }
        }
    }

    /// Kills it, and gives the last step that it told.
    fn kill(mut self) -> Option<u64> {
        self.child.kill().unwrap();
        let mut last = None;
        while let Some(step) = self.step() {
            last = Some(step);
        }
        self.child.wait().unwrap();
        last
    }
}

/// Numbers from a seed, the same every time.
struct Seeded(u64);

impl Seeded {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

fn killed_while_recording(scenario: &str, plain: bool) {
    let seed = 0x5eed_0001;
    println!("seed {seed:#x}");
    let mut seeded = Seeded(seed);
    let scratch = Scratch::new(scenario);
    let path = scratch.join("store");
    let layout = line(0, CELLS as i64, 1);
    let mut recorded = 0;
    for round in 0..ROUNDS {
        let mut driver = Driver::start(scenario, &path);
        let wanted = 1 + seeded.below(2 * CELLS / ROUNDS);
        let mut told = None;
        for _ in 0..wanted {
            told = driver.step().or(told);
        }
        let told = driver.kill().or(told);
        recorded = told.map_or(recorded, |step| step + 1);

        // Everything that it told is there, with all of its values; one more may be.
        let array = |name: &str| std::fs::read(path.join(name).join("c/0")).unwrap();
        let marks = array("done");
        let (failures, workers) = (array("failures"), array("worker_id"));
        let (walls, returned) = (array("wall_seconds"), array("returned_at"));
        let done = marks.iter().filter(|byte| **byte != 0).count() as u64;
        assert!(
            (recorded..=recorded + 1).contains(&done),
            "round {round}: {recorded} told and {done} done"
        );
        for step in 0..CELLS {
            let cell = cell_of(step) as usize;
            let four = |bytes: &[u8]| <[u8; 4]>::try_from(&bytes[4 * cell..][..4]).unwrap();
            let is_done = marks[cell] != 0;
            assert_eq!(is_done, step < done, "round {round} step {step}");
            if is_done {
                assert_eq!(
                    u32::from_le_bytes(four(&workers)),
                    cell as u32,
                    "round {round}"
                );
                assert_eq!(
                    f32::from_le_bytes(four(&walls)),
                    cell as f32,
                    "round {round}"
                );
                let at = <[u8; 8]>::try_from(&returned[8 * cell..][..8]).unwrap();
                assert_eq!(f64::from_le_bytes(at), 1e9 + cell as f64, "round {round}");
            }
            let failures = u32::from_le_bytes(four(&failures));
            assert!(
                failures <= 2 && failures >= u32::from(is_done),
                "round {round}"
            );
        }
        println!("round {round}: killed at {recorded}");
        recorded = done;
        if recorded == CELLS {
            break;
        }
    }
    println!("{recorded} of {CELLS} recorded");
    // The next run goes on: the dead one's lock is no obstacle.
    let mut store = TrackingStore::open(&path, &layout, options(plain)).unwrap();
    let notices = store.take_notices();
    if recorded < CELLS {
        assert!(
            matches!(notices.as_slice(), [Notice::LockTakenOver { .. }]),
            "{notices:?}"
        );
    }
    store.close().unwrap();
}

#[test]
fn killed_while_recording_through_the_map() {
    killed_while_recording("record", false);
}

#[test]
fn killed_while_recording_by_position() {
    killed_while_recording("record-plain", true);
}

#[test]
fn killed_while_a_volume_grows() {
    let seed = 0x5eed_0002;
    println!("seed {seed:#x}");
    let mut seeded = Seeded(seed);
    let scratch = Scratch::in_memory("grow");
    for round in 0..ROUNDS {
        let path = scratch.join(&format!("store-{round}"));
        let mut store = TrackingStore::open(&path, &volume(0), options(false)).unwrap();
        for cell in [0, 50, 99] {
            store.record_done(cell, Some(&record(3, 1.0))).unwrap();
        }
        store.close().unwrap();
        let mut driver = Driver::start("grow", &path);
        let mut told = None;
        for _ in 0..=seeded.below(8) {
            told = driver.step();
        }
        // Somewhere inside of the next migration.
        for _ in 0..seeded.below(200) {
            std::thread::yield_now();
        }
        let grown = driver.kill().or(told).unwrap();
        // It may have finished one more than it could tell; grow it a bit beyond either.
        let mut store = TrackingStore::open(&path, &volume(grown + 2), options(false)).unwrap();
        let notices = store.take_notices();
        let done: Vec<u64> = (0..store.layout().cells())
            .filter(|cell| store.is_done(*cell))
            .collect();
        assert_eq!(
            done,
            [0, 50, 99].map(|cell| cell + grown + 2),
            "round {round}: {notices:?}"
        );
        store.close().unwrap();
        let beside: Vec<_> = std::fs::read_dir(scratch.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .filter(|name| name.to_string_lossy().starts_with('.'))
            .collect();
        assert!(beside.is_empty(), "round {round}: {beside:?}");
    }
}
