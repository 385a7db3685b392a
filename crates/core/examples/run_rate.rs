//! How fast the run alone hands out and takes back blocks that take no time.
//!
//! `cargo run --release -p bellis-core --example run_rate -- REPEATS` prints one JSON object: case -> rates in blocks per
//! second, one a repeat, after one repeat that isn't counted. A case is named for its grid and its number of workers.

use std::time::Instant;

use bellis_core::run::{
    Action, BlockResult, BlockStatus, ConnectionId, ConnectionIds, Event, Hello, Nanos, Outbox,
    Run, RunConfig, TaskConfig,
};
use bellis_core::{BlockIndex, Roi, Scheduler, TaskGraph, TaskIndex, TaskSpec};

/// Most results in one message of a worker.
const MESSAGE: usize = 256;

fn roi(dims: usize, offset: i64, shape: i64) -> Roi {
    Roi::from_slices(&vec![offset; dims], &vec![shape; dims]).expect("a fixed rank")
}

/// Blocks of 10 voxels; in three dimensions with 2 of context on each side.
fn scheduler(dims: usize, side: i64) -> Scheduler {
    let context = if dims == 3 { 2 } else { 0 };
    let spec = TaskSpec {
        read_write_conflict: dims == 3,
        ..TaskSpec::new(
            "rate",
            roi(dims, 0, 10 * side + 2 * context),
            roi(dims, 0, 10 + 2 * context),
            roi(dims, context, 10),
        )
    };
    let graph = TaskGraph::new(vec![spec], &[]).expect("a right task");
    Scheduler::eager(graph, Vec::new()).expect("a right scheduler")
}

/// Blocks per second of one whole run with so many workers.
fn rate(dims: usize, side: i64, workers: usize) -> f64 {
    let mut config = RunConfig::new(vec![TaskConfig::default()]);
    config.kept_failures = 1;
    let mut run = Run::new(scheduler(dims, side), config).expect("a right configuration");
    let (mut names, mut out) = (ConnectionIds::new(), Outbox::new());
    let mut hands: Vec<(ConnectionId, Vec<BlockIndex>)> = Vec::new();
    let mut results: Vec<BlockResult> = Vec::new();
    let mut now = Nanos::ZERO;
    for _ in 0..workers {
        let conn = names.allocate();
        let hello = Hello {
            task: TaskIndex(0),
            worker: None,
            local: true,
        };
        run.handle(now, Event::Connected { conn, hello }, &mut out);
        run.handle(now, Event::Acquire { conn, n: 1 }, &mut out);
        hands.push((conn, Vec::new()));
    }
    let total = (side as u64).pow(dims as u32);
    let start = Instant::now();
    let mut done = 0u64;
    while done < total {
        for at in 0..hands.len() {
            take_in(&mut hands, &mut out);
            let (conn, hand) = &mut hands[at];
            let count = hand.len().min(MESSAGE);
            if count == 0 {
                continue;
            }
            results.clear();
            for block in hand.drain(..count) {
                let started = now;
                now = now + Nanos(400);
                results.push(BlockResult {
                    block,
                    status: BlockStatus::Success,
                    started,
                    ended: now,
                    stats: None,
                    error: None,
                });
            }
            done += count as u64;
            let conn = *conn;
            let event = Event::Released {
                conn,
                results: &results,
            };
            run.handle(now, event, &mut out);
        }
        for (conn, _) in &hands {
            let event = Event::Heartbeat {
                conn: *conn,
                sent: now,
                round_trip: Some(Nanos(1000)),
                running: &[],
            };
            run.handle(now, event, &mut out);
        }
    }
    let rate = total as f64 / start.elapsed().as_secs_f64();
    let completed = run.snapshot().tasks[0].completed;
    assert_eq!(completed, total, "every block is done");
    rate
}

/// Gives the granted blocks to their workers.
fn take_in(hands: &mut [(ConnectionId, Vec<BlockIndex>)], out: &mut Outbox) {
    for action in out.actions() {
        if let Action::Grant { conn, blocks, .. } = action {
            hands[conn.slot as usize].1.extend(out.blocks(*blocks));
        }
    }
    out.clear();
}

fn main() {
    let repeats: usize = std::env::args()
        .nth(1)
        .and_then(|n| n.parse().ok())
        .unwrap_or(3);
    let cases = [
        ("1d-2000000", 1, 2_000_000),
        ("3d-64000", 3, 40),
        ("3d-1000000", 3, 100),
    ];
    let mut printed = Vec::new();
    for (grid, dims, side) in cases {
        for workers in [1, 4, 64, 2000] {
            rate(dims, side, workers);
            let rates: Vec<String> = (0..repeats)
                .map(|_| format!("{:.0}", rate(dims, side, workers)))
                .collect();
            printed.push(format!(
                "\"{grid}/{workers} workers\": [{}]",
                rates.join(", ")
            ));
        }
    }
    println!("{{{}}}", printed.join(",\n "));
}
