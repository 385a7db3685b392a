//! How fast the scheduler alone drains the geometries of the drain benchmark.
//!
//! `cargo run --release -p bellis-core --example drain_rate -- REPEATS CASE…` prints one JSON object: case -> rates in
//! blocks per second, one a repeat, after one repeat that isn't counted. `cube:SIDE` is a 3-D case of any size.
//! `peak:CASE` gives, for both orders, the most upstream blocks that were finished while a block that reads them was
//! not. `memory:CASE` gives the rate of a single drain and the most resident memory of the process in bytes, so far.

use std::time::Instant;

use bellis_core::{
    BlockIndex, Coordinate, Fit, MemoryDoneMap, Order, Roi, Scheduler, TaskGraph, TaskIndex,
    TaskInputs, TaskSpec,
};

/// Blocks taken at a time, as a server does for a worker of short blocks.
const BATCH: usize = 256;

fn coordinate(values: &[i64]) -> Coordinate {
    Coordinate::new(values).expect("a fixed rank")
}

fn roi(offset: &[i64], shape: &[i64]) -> Roi {
    Roi {
        offset: coordinate(offset),
        shape: coordinate(shape),
    }
}

fn task(id: &str, total: Roi, read: Roi, write: Roi, conflict: bool) -> TaskSpec {
    TaskSpec {
        id: id.to_owned(),
        total_roi: total,
        read_roi: read,
        write_roi: write,
        fit: Fit::Valid,
        read_write_conflict: conflict,
        max_retries: 2,
        allow_uncovered: false,
    }
}

/// Blocks of 10 voxels with 2 of context on each side.
fn volume(id: &str, begin: i64, side: i64, conflict: bool) -> TaskSpec {
    let size = 10 * side + 4;
    task(
        id,
        roi(&[begin; 3], &[size; 3]),
        roi(&[0; 3], &[14; 3]),
        roi(&[2; 3], &[10; 3]),
        conflict,
    )
}

fn chain(side: i64) -> (Vec<TaskSpec>, Vec<(TaskIndex, TaskIndex)>) {
    let cube = roi(&[0; 3], &[10; 3]);
    let first = task("a", roi(&[0; 3], &[10 * side; 3]), cube, cube, false);
    let specs = vec![first, volume("b", -2, side, false)];
    (specs, vec![(TaskIndex(0), TaskIndex(1))])
}

/// Tasks, edges, and whether every block is done already.
type Case = (Vec<TaskSpec>, Vec<(TaskIndex, TaskIndex)>, bool);

fn case(name: &str) -> Option<Case> {
    let line = |blocks: i64| {
        let block = roi(&[0], &[10]);
        vec![task("t", roi(&[0], &[10 * blocks]), block, block, false)]
    };
    let cube = |side: i64| vec![volume("t", 0, side, true)];
    let (specs, edges, done) = match name {
        "1d-100000" => (line(100_000), vec![], false),
        "1d-10000000" => (line(10_000_000), vec![], false),
        "3d-8000" => (cube(20), vec![], false),
        "3d-64000" => (cube(40), vec![], false),
        "3d-100000" => (cube(46), vec![], false),
        "3d-1000000" => (cube(100), vec![], false),
        "3d-10000000" => (cube(215), vec![], false),
        "3d-100000000" => (cube(464), vec![], false),
        "resumed" => (cube(40), vec![], true),
        "chain" => {
            let (specs, edges) = chain(32);
            (specs, edges, false)
        }
        _ => {
            let side = name.strip_prefix("cube:")?.parse().ok()?;
            (cube(side), vec![], false)
        }
    };
    Some((specs, edges, done))
}

fn scheduler(name: &str) -> Option<(Scheduler, usize)> {
    let (specs, edges, done) = case(name)?;
    let tasks = specs.len();
    let graph = TaskGraph::new(specs, &edges).expect("fixed tasks make a graph");
    let inputs = (0..tasks)
        .map(|_| TaskInputs {
            done: done.then(|| Box::new(MemoryDoneMap::from_done(vec![1; 41 * 41 * 41])) as _),
            ..TaskInputs::default()
        })
        .collect();
    let scheduler = Scheduler::new(graph, inputs).expect("fixed tasks make a scheduler");
    Some((scheduler, tasks))
}

/// Drains a case and gives blocks per second, the building of the scheduler included.
fn drain(name: &str) -> Option<f64> {
    let start = Instant::now();
    let (mut scheduler, tasks) = scheduler(name)?;
    let mut batch: Vec<BlockIndex> = Vec::with_capacity(BATCH);
    for task in (0..tasks as u32).map(TaskIndex) {
        loop {
            batch.clear();
            if scheduler.acquire_batch(task, BATCH, &mut batch) == 0 {
                break;
            }
            for &block in &batch {
                scheduler.release(task, block).expect("the block is held");
            }
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    let mut blocks = 0;
    for task in (0..tasks as u32).map(TaskIndex) {
        let counters = scheduler.counters(task);
        assert_eq!(
            counters.completed, counters.total,
            "{name} must drain whole"
        );
        blocks += counters.total;
    }
    Some(blocks as f64 / seconds)
}

/// The most upstream blocks finished while a reader of theirs was not, with 8 blocks in processing at a time and
/// downstream blocks taken first when they are ready.
fn peak_frontier(name: &str, order: Order) -> Option<u64> {
    let (mut scheduler, tasks) = scheduler(name)?;
    if tasks != 2 {
        return None;
    }
    scheduler.set_order(order);
    let [upstream, downstream] = [TaskIndex(0), TaskIndex(1)];
    let mut open = 0u64;
    let mut peak = 0u64;
    let mut unfinished: Vec<u32> = vec![0; scheduler.counters(upstream).total as usize];
    let mut held = std::collections::VecDeque::new();
    loop {
        while held.len() < 8 {
            let first = match order {
                Order::DepthFirst => [downstream, upstream],
                Order::Levels => [upstream, downstream],
            };
            let next = first
                .into_iter()
                .find_map(|task| scheduler.acquire(task).map(|block| (task, block)));
            match next {
                Some(taken) => held.push_back(taken),
                None => break,
            }
        }
        let Some((task, block)) = held.pop_front() else {
            break;
        };
        scheduler.release(task, block).expect("the block is held");
        if task == upstream {
            let readers = scheduler
                .graph()
                .downstream(task, block)
                .expect("a block")
                .len();
            unfinished[block.0 as usize] = readers as u32;
            open += u64::from(readers > 0);
        } else {
            for (_, read) in scheduler.graph().upstream(task, block).expect("a block") {
                let left = &mut unfinished[read.0 as usize];
                *left -= 1;
                open -= u64::from(*left == 0);
            }
        }
        peak = peak.max(open);
    }
    Some(peak)
}

/// The most memory that the process had resident, in bytes; `None` where the system doesn't tell.
fn peak_resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let repeats: usize = arguments.next().and_then(|n| n.parse().ok()).unwrap_or(5);
    let mut parts = Vec::new();
    for name in arguments {
        if let Some(chain) = name.strip_prefix("peak:") {
            let peaks = [Order::Levels, Order::DepthFirst].map(|order| peak_frontier(chain, order));
            if let [Some(levels), Some(depth)] = peaks {
                parts.push(format!("\"{name}\": [{levels}, {depth}]"));
            }
            continue;
        }
        if let Some(case) = name.strip_prefix("memory:") {
            if let Some(rate) = drain(case) {
                let peak = peak_resident().unwrap_or(0);
                parts.push(format!("\"{name}\": [{rate:.0}, {peak}]"));
            }
            continue;
        }
        if drain(&name).is_none() {
            continue;
        }
        let rates: Vec<String> = (0..repeats)
            .filter_map(|_| drain(&name))
            .map(|rate| format!("{rate:.0}"))
            .collect();
        parts.push(format!("\"{name}\": [{}]", rates.join(", ")));
    }
    println!("{{{}}}", parts.join(", "));
}
