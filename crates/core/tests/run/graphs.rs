//! Small graphs to run.
//!
//! ```text
//! row(4)         0 1 2 3           four blocks that know nothing of each other
//! chain(3, 2)    0 1 -> 0 1 -> 0 1 block i of a task waits for block i of the one before
//! apart(2, 3)    0 1 2   0 1 2     tasks without edges
//! neighbours(3)  0-1-2             blocks with context: neighbours never run together
//! ```

use bellis_core::{
    BlockRecord, DoneMap, MemoryDoneMap, RecordError, Roi, Scheduler, TaskGraph, TaskIndex,
    TaskInputs, TaskSpec,
};

pub(crate) struct Graph {
    specs: Vec<TaskSpec>,
    edges: Vec<(TaskIndex, TaskIndex)>,
    done: Vec<Option<Vec<u8>>>,
    check: bool,
    broken_store: bool,
}

impl Graph {
    pub(crate) fn row(blocks: u64) -> Graph {
        Graph::apart(1, blocks)
    }

    pub(crate) fn apart(tasks: u32, blocks: u64) -> Graph {
        let specs: Vec<TaskSpec> = (0..tasks).map(|task| line(task, blocks, 0)).collect();
        Graph {
            done: specs.iter().map(|_| None).collect(),
            specs,
            edges: Vec::new(),
            check: false,
            broken_store: false,
        }
    }

    pub(crate) fn chain(tasks: u32, blocks: u64) -> Graph {
        let edges = (1..tasks)
            .map(|task| (TaskIndex(task - 1), TaskIndex(task)))
            .collect();
        Graph {
            edges,
            ..Graph::apart(tasks, blocks)
        }
    }

    pub(crate) fn neighbours(blocks: u64) -> Graph {
        Graph {
            specs: vec![line(0, blocks, 1)],
            ..Graph::row(blocks)
        }
    }

    pub(crate) fn without_retries(mut self) -> Graph {
        for spec in &mut self.specs {
            spec.max_retries = 0;
        }
        self
    }

    pub(crate) fn with_check(mut self) -> Graph {
        self.check = true;
        self
    }

    pub(crate) fn with_done(mut self, task: usize, blocks: &[usize]) -> Graph {
        let cells = self.specs[task].total_roi.shape.as_slice()[0] as usize / 10;
        let mut done = vec![0; cells];
        for block in blocks {
            done[*block] = 1;
        }
        self.done[task] = Some(done);
        self
    }

    pub(crate) fn with_broken_store(mut self) -> Graph {
        self.broken_store = true;
        self
    }

    pub(crate) fn scheduler(self) -> Scheduler {
        let (check, broken) = (self.check, self.broken_store);
        let inputs = self
            .done
            .into_iter()
            .map(|done| TaskInputs {
                done: match done {
                    _ if broken => Some(Box::new(BrokenStore)),
                    Some(done) => Some(Box::new(MemoryDoneMap::from_done(done))),
                    None => None,
                },
                has_check: check,
                ..TaskInputs::default()
            })
            .collect();
        let graph = TaskGraph::new(self.specs, &self.edges).expect("the graph is right");
        Scheduler::eager(graph, inputs).expect("the scheduler is right")
    }
}

/// Blocks of ten voxels in a row, each reading so much of its neighbours.
fn line(task: u32, blocks: u64, context: i64) -> TaskSpec {
    let roi = |offset, shape| Roi::from_slices(&[offset], &[shape]).expect("one axis");
    let total = blocks as i64 * 10 + 2 * context;
    TaskSpec {
        read_write_conflict: context > 0,
        ..TaskSpec::new(
            format!("task{task}"),
            roi(-context, total),
            roi(-context, 10 + 2 * context),
            roi(0, 10),
        )
    }
}

struct BrokenStore;

impl DoneMap for BrokenStore {
    fn is_done(&self, _cell: u64) -> bool {
        false
    }

    fn record_done(&mut self, _: u64, _: Option<&BlockRecord>) -> Result<(), RecordError> {
        Err(full())
    }

    fn record_undone(&mut self, _: u64) -> Result<(), RecordError> {
        Err(full())
    }

    fn record_failure(&mut self, _: u64) -> Result<(), RecordError> {
        Err(full())
    }
}

fn full() -> RecordError {
    RecordError {
        code: "ERR_BELLIS_STORE",
        message: "no space left".into(),
        path: None,
    }
}
