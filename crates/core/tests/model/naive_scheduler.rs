//! A scheduler that looks at every block and edge each time.

use std::collections::{BTreeSet, HashMap, VecDeque};

use bellis_core::{Counters, TaskSpec};

use crate::naive_tasks::{blocks, NaiveBlock};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Waiting,
    Ready,
    Processing,
    Completed,
    Skipped,
    Failed,
    Orphaned,
}

pub(crate) struct NaiveTask {
    pub(crate) blocks: Vec<NaiveBlock>,
    pub(crate) level_count: usize,
    /// By task, then position: what each block waits for.
    pub(crate) upstream: Vec<BTreeSet<(usize, usize)>>,
    pub(crate) state: Vec<State>,
    queue: VecDeque<usize>,
    attempts: HashMap<usize, u32>,
    max_retries: u32,
    /// By position; the test's mask or done map.
    pub(crate) skip: Vec<bool>,
}

pub(crate) struct NaiveScheduler {
    pub(crate) tasks: Vec<NaiveTask>,
}

impl NaiveScheduler {
    pub(crate) fn new(specs: &[TaskSpec], edges: &[(usize, usize)]) -> Self {
        let mut tasks: Vec<NaiveTask> = Vec::new();
        for (task, spec) in specs.iter().enumerate() {
            let (blocks, level_count) = blocks(spec);
            let mut upstream: Vec<BTreeSet<(usize, usize)>> = blocks
                .iter()
                .map(|block| block.upstream.iter().map(|&other| (task, other)).collect())
                .collect();
            for &(up, _) in edges.iter().filter(|edge| edge.1 == task) {
                for (position, block) in blocks.iter().enumerate() {
                    let writers = tasks[up].blocks.iter().enumerate();
                    upstream[position].extend(
                        writers
                            .filter(|(_, w)| w.write.meets(&block.read))
                            .map(|(k, _)| (up, k)),
                    );
                }
            }
            let count = blocks.len();
            tasks.push(NaiveTask {
                queue: (0..count).filter(|&k| upstream[k].is_empty()).collect(),
                state: upstream
                    .iter()
                    .map(|u| {
                        if u.is_empty() {
                            State::Ready
                        } else {
                            State::Waiting
                        }
                    })
                    .collect(),
                blocks,
                level_count,
                upstream,
                attempts: HashMap::new(),
                max_retries: spec.max_retries,
                skip: vec![false; count],
            });
        }
        Self { tasks }
    }

    pub(crate) fn counters(&self, task: usize) -> Counters {
        let count = |wanted: State| {
            self.tasks[task]
                .state
                .iter()
                .filter(|&&s| s == wanted)
                .count()
        };
        Counters {
            total: self.tasks[task].blocks.len() as u64,
            ready: count(State::Ready) as u64,
            pending: count(State::Waiting) as u64,
            processing: count(State::Processing) as u64,
            completed: (count(State::Completed) + count(State::Skipped)) as u64,
            skipped: count(State::Skipped) as u64,
            failed: count(State::Failed) as u64,
            orphaned: count(State::Orphaned) as u64,
        }
    }

    pub(crate) fn acquire(&mut self, task: usize) -> Option<usize> {
        loop {
            let block = self.tasks[task].queue.pop_front()?;
            if !self.tasks[task].skip[block] {
                self.tasks[task].state[block] = State::Processing;
                return Some(block);
            }
            self.complete(task, block, State::Skipped);
        }
    }

    pub(crate) fn release(&mut self, task: usize, block: usize) {
        self.complete(task, block, State::Completed);
    }

    pub(crate) fn fail(&mut self, task: usize, block: usize) {
        let attempts = self.tasks[task].attempts.entry(block).or_default();
        *attempts += 1;
        if *attempts <= self.tasks[task].max_retries {
            self.tasks[task].state[block] = State::Ready;
            self.tasks[task].queue.push_back(block);
            return;
        }
        self.tasks[task].state[block] = State::Failed;
        loop {
            let bad = |&(t, b): &(usize, usize)| {
                matches!(self.tasks[t].state[b], State::Failed | State::Orphaned)
            };
            let lost: Vec<(usize, usize)> = self
                .waiting()
                .filter(|&(t, b)| self.tasks[t].upstream[b].iter().any(bad))
                .collect();
            if lost.is_empty() {
                return;
            }
            for (t, b) in lost {
                self.tasks[t].state[b] = State::Orphaned;
            }
        }
    }

    fn waiting(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.tasks.iter().enumerate().flat_map(|(t, task)| {
            let states = task.state.iter().enumerate();
            states
                .filter(|(_, &s)| s == State::Waiting)
                .map(move |(b, _)| (t, b))
        })
    }

    fn complete(&mut self, task: usize, block: usize, state: State) {
        self.tasks[task].state[block] = state;
        let complete = |&(t, b): &(usize, usize)| {
            matches!(self.tasks[t].state[b], State::Completed | State::Skipped)
        };
        let mut unlocked: Vec<(usize, usize)> = self
            .waiting()
            .filter(|&(t, b)| self.tasks[t].upstream[b].iter().all(complete))
            .collect();
        unlocked.sort_by_key(|&(t, b)| (t, self.tasks[t].blocks[b].number));
        for (t, b) in unlocked {
            self.tasks[t].state[b] = State::Ready;
            self.tasks[t].queue.push_back(b);
        }
    }
}
