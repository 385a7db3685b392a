//! What one history is about: tasks, settings, and how badly things go.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::Arc;

use bellis_core::run::{Nanos, OnBlockError, Order, RunConfig, TaskConfig};
use bellis_core::{
    BlockIndex, BlockRecord, DoneMap, Fit, RecordError, Roi, Scheduler, SkipMask, TaskGraph,
    TaskIndex, TaskInputs, TaskSpec,
};

use crate::dice::Dice;

pub(crate) const SECOND: Nanos = Nanos::from_secs(1);
pub(crate) const MILLI: Nanos = Nanos::from_millis(1);

/// How often things go wrong, in so many of a thousand cases.
pub(crate) struct Trouble {
    pub(crate) throws: u64,
    pub(crate) dies: u64,
    pub(crate) hangs: u64,
    pub(crate) freezes: u64,
    pub(crate) cuts: u64,
    pub(crate) start_fails: u64,
    pub(crate) never_connects: u64,
    pub(crate) clones: u64,
    pub(crate) lies: u64,
    pub(crate) whims: u64,
    pub(crate) store_fails: u64,
    pub(crate) unusable: u64,
}

/// One task and what a brute force knows of its blocks.
pub(crate) struct TaskPlan {
    pub(crate) config: TaskConfig,
    pub(crate) max_retries: u32,
    /// Launchers of it report exits.
    pub(crate) exit_reported: bool,
    pub(crate) local: bool,
    pub(crate) concurrency: u32,
    pub(crate) has_check: bool,
    /// By block: conflicting blocks of the same task.
    pub(crate) conflicts: Vec<Vec<usize>>,
    /// By block: blocks of tasks before it that must be completed.
    pub(crate) needs: Vec<Vec<(usize, usize)>>,
    pub(crate) block_time: Nanos,
    pub(crate) store: Option<Arc<SharedStore>>,
    /// By block: its cell in the store.
    pub(crate) cells: Vec<Option<u64>>,
}

pub(crate) struct Plan {
    pub(crate) tasks: Vec<TaskPlan>,
    pub(crate) trouble: Trouble,
    pub(crate) interrupt_at: Option<Nanos>,
    pub(crate) second_interrupt: Option<Nanos>,
    pub(crate) fatal_at: Option<Nanos>,
    pub(crate) outsiders: u64,
    pub(crate) jumps: bool,
}

/// A store whose cells the simulator can look into.
#[derive(Default)]
pub(crate) struct SharedStore {
    pub(crate) done: Vec<AtomicU32>,
    pub(crate) failures: Vec<AtomicU32>,
    /// The next write fails when this reaches 1.
    pub(crate) breaks_in: AtomicU32,
}

struct StoreHandle(Arc<SharedStore>);

impl StoreHandle {
    fn write(&self, cell: Option<&AtomicU32>) -> Result<(), RecordError> {
        let refuse = |message: &str| RecordError {
            code: "ERR_BELLIS_STORE",
            message: message.into(),
            path: None,
        };
        let left = self.0.breaks_in.load(Relaxed);
        if left > 0 {
            if left == 1 {
                return Err(refuse("no space left"));
            }
            self.0.breaks_in.store(left - 1, Relaxed);
        }
        cell.ok_or_else(|| refuse("no such cell"))?
            .fetch_add(1, Relaxed);
        Ok(())
    }
}

impl DoneMap for StoreHandle {
    fn is_done(&self, cell: u64) -> bool {
        self.0
            .done
            .get(cell as usize)
            .is_some_and(|done| done.load(Relaxed) > 0)
    }

    fn record_done(&mut self, cell: u64, _: Option<&BlockRecord>) -> Result<(), RecordError> {
        self.write(self.0.done.get(cell as usize))
    }

    fn record_undone(&mut self, cell: u64) -> Result<(), RecordError> {
        if let Some(done) = self.0.done.get(cell as usize) {
            done.store(0, Relaxed);
        }
        Ok(())
    }

    fn record_failure(&mut self, cell: u64) -> Result<(), RecordError> {
        self.write(self.0.failures.get(cell as usize))
    }
}

/// Rolls everything that is fixed before a history begins.
pub(crate) fn roll(dice: &mut Dice) -> (Plan, Scheduler, RunConfig) {
    let count = [1, 1, 1, 2, 2, 3][dice.below(6) as usize];
    let calm = dice.chance(150);
    let trouble = if calm {
        Trouble::none()
    } else {
        Trouble::roll(dice)
    };
    let dims = if dice.chance(750) { 1 } else { 2 };
    let specs: Vec<TaskSpec> = (0..count).map(|task| roll_spec(dice, task, dims)).collect();
    let mut edges = Vec::new();
    for downstream in 1..count {
        for upstream in 0..downstream {
            if dice.chance(if upstream + 1 == downstream { 800 } else { 250 }) {
                edges.push((TaskIndex(upstream as u32), TaskIndex(downstream as u32)));
            }
        }
    }
    let graph = TaskGraph::new(specs.clone(), &edges).expect("a right graph");
    let mut tasks: Vec<TaskPlan> = Vec::new();
    let mut inputs = Vec::new();
    for spec in &specs {
        let (plan, input) = roll_task(dice, &graph, spec, tasks.len(), &edges, &trouble);
        tasks.push(plan);
        inputs.push(input);
    }
    let mut config = RunConfig::new(tasks.iter().map(|task| task.config.clone()).collect());
    config.resources = vec![("gpu".into(), dice.between(1, 3)), ("disk".into(), 1)];
    config.order = if dice.chance(250) {
        Order::DepthFirst
    } else {
        Order::Levels
    };
    config.max_failures = dice.chance(80).then(|| dice.between(1, 3));
    config.cores = dice.between(1, 3) as u32;
    config.seed = dice.roll();
    config.shutdown_grace = dice.period(MILLI, SECOND.times(6));
    config.kept_failures = dice.below(4) as usize;
    config.timing.skip_slice = dice.between(1, 8) as usize;
    let late = SECOND.times(12);
    let plan = Plan {
        interrupt_at: dice.chance(120).then(|| dice.period(MILLI, late)),
        second_interrupt: dice
            .chance(500)
            .then(|| dice.period(MILLI, SECOND.times(2))),
        fatal_at: dice.chance(20).then(|| dice.period(MILLI, late)),
        outsiders: if dice.chance(150) {
            dice.between(1, 3)
        } else {
            0
        },
        jumps: !calm && dice.chance(200),
        tasks,
        trouble,
    };
    let scheduler = Scheduler::eager(graph, inputs).expect("a right scheduler");
    (plan, scheduler, config)
}

fn roll_spec(dice: &mut Dice, task: usize, dims: usize) -> TaskSpec {
    let write = dice.between(1, 4) as i64;
    let below = dice.below(4) as i64;
    let above = dice.below(4) as i64;
    let most = if dims == 1 { 14 } else { 5 };
    let extent = write * dice.between(1, most) as i64 + dice.below(3) as i64;
    let roi = |offset: i64, shape: i64| {
        Roi::from_slices(&vec![offset; dims], &vec![shape; dims]).expect("axes match")
    };
    TaskSpec {
        fit: Fit::ALL[dice.below(Fit::ALL.len() as u64) as usize],
        read_write_conflict: dice.chance(600),
        max_retries: dice.below(3) as u32,
        allow_uncovered: true,
        ..TaskSpec::new(
            format!("t{task}"),
            roi(dice.below(5) as i64 - below, extent + below + above),
            roi(-below, write + below + above),
            roi(0, write),
        )
    }
}

fn roll_task(
    dice: &mut Dice,
    graph: &TaskGraph,
    spec: &TaskSpec,
    at: usize,
    edges: &[(TaskIndex, TaskIndex)],
    trouble: &Trouble,
) -> (TaskPlan, TaskInputs) {
    let grid = graph.grid(TaskIndex(at as u32)).expect("a task");
    let blocks: Vec<BlockIndex> = (0..grid.count() as u64).map(BlockIndex).collect();
    let conflict = |one: BlockIndex, other: BlockIndex| {
        one != other
            && spec.read_write_conflict
            && (grid.write_roi(one).intersects(&grid.read_roi(other))
                || grid.read_roi(one).intersects(&grid.write_roi(other)))
    };
    let conflicts = blocks
        .iter()
        .map(|one| {
            (0..blocks.len())
                .filter(|other| conflict(*one, blocks[*other]))
                .collect()
        })
        .collect();
    let mut needs: Vec<Vec<(usize, usize)>> = vec![Vec::new(); blocks.len()];
    for (upstream, downstream) in edges {
        if downstream.0 as usize != at {
            continue;
        }
        let before = graph.grid(*upstream).expect("a task");
        for (block, needed) in needs.iter_mut().enumerate() {
            let read = grid.read_roi(blocks[block]);
            for other in 0..before.count() as u64 {
                if before.write_roi(BlockIndex(other)).intersects(&read) {
                    needed.push((upstream.0 as usize, other as usize));
                }
            }
        }
    }
    let tracked = dice.chance(500);
    let cells = grid.store_shape().product().unwrap_or(0) as usize;
    let done_before = if dice.chance(300) {
        dice.below(1001)
    } else {
        0
    };
    let store = tracked.then(|| {
        let breaks = dice
            .chance(trouble.store_fails)
            .then(|| dice.between(2, 20) as u32);
        Arc::new(SharedStore {
            done: (0..cells)
                .map(|_| AtomicU32::new(dice.chance(done_before) as u32))
                .collect(),
            failures: (0..cells).map(|_| AtomicU32::new(0)).collect(),
            breaks_in: AtomicU32::new(breaks.unwrap_or(0)),
        })
    });
    let masked = dice.chance(200);
    let mask: Vec<u8> = blocks.iter().map(|_| dice.chance(400) as u8).collect();
    let has_check = dice.chance(200);
    let input = TaskInputs {
        done: store.clone().map(|store| Box::new(StoreHandle(store)) as _),
        skip_mask: masked.then(|| SkipMask::new(mask)),
        has_check,
        verify_done: has_check && dice.chance(300),
    };
    let mut requires = Vec::new();
    if dice.chance(250) {
        requires.push(("gpu".to_owned(), 1));
    }
    if dice.chance(80) {
        requires.push(("disk".to_owned(), 1));
    }
    let local = dice.chance(700);
    let config = TaskConfig {
        max_workers: dice.between(1, 4) as u32,
        max_worker_restarts: [0, 1, 3, 10, 40][dice.below(5) as usize],
        timeout: dice.period(MILLI.times(200), SECOND.times(8)),
        requires,
        priority: dice.below(3) as i32,
        retry_delay: if dice.chance(250) {
            dice.period(MILLI, SECOND)
        } else {
            Nanos::ZERO
        },
        on_block_error: if dice.chance(400) {
            OnBlockError::RestartWorker
        } else {
            OnBlockError::KeepWorker
        },
        connect_timeout: Some(dice.period(SECOND, SECOND.times(20))),
        paced_starts: local,
        resource_tracking: false,
        check_batch: dice.between(1, 6) as usize,
    };
    let plan = TaskPlan {
        config,
        max_retries: spec.max_retries,
        exit_reported: dice.chance(if local { 850 } else { 400 }),
        local,
        concurrency: if dice.chance(200) {
            dice.between(2, 4) as u32
        } else {
            1
        },
        has_check,
        conflicts,
        needs,
        block_time: dice.period(Nanos::from_micros(2), MILLI.times(300)),
        store,
        cells: blocks.iter().map(|block| grid.store_cell(*block)).collect(),
    };
    (plan, input)
}

impl Trouble {
    fn none() -> Trouble {
        Trouble {
            throws: 0,
            dies: 0,
            hangs: 0,
            freezes: 0,
            cuts: 0,
            start_fails: 0,
            never_connects: 0,
            clones: 0,
            lies: 0,
            whims: 0,
            store_fails: 0,
            unusable: 0,
        }
    }

    fn roll(dice: &mut Dice) -> Trouble {
        let mut often = |most: u64| {
            if dice.chance(400) {
                dice.below(most)
            } else {
                0
            }
        };
        Trouble {
            throws: often(400),
            dies: often(150),
            hangs: often(80),
            freezes: often(60),
            cuts: often(120),
            start_fails: often(300),
            never_connects: often(300),
            clones: often(300),
            lies: often(150),
            whims: often(200),
            store_fails: often(200),
            unusable: often(40),
        }
    }
}
