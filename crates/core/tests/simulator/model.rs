//! What must hold, whatever happens. The model sees every event before the run does and every action
//! after it, and knows nothing of how the run works.

use std::collections::HashMap;
use std::sync::atomic::Ordering::Relaxed;

use bellis_core::run::{
    Action, BlockResult, BlockStatus, ConnectionId, Event, Loss, Outbox, Outcome, Run, RunError,
};

use crate::plan::Plan;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum State {
    #[default]
    Fresh,
    /// Granted, and not heard of since.
    Out(ConnectionId),
    /// Was granted, and came back without success, or its holder was lost.
    Open,
    Completed,
}

pub(crate) struct Model {
    blocks: Vec<Vec<State>>,
    /// Connections that the run welcomed and neither lost nor closed.
    open: HashMap<ConnectionId, Peer>,
    /// Connections that may resume.
    lost: HashMap<ConnectionId, Peer>,
    starts: Vec<u32>,
    finished_tasks: Vec<bool>,
    pub(crate) finished: bool,
    interrupted: bool,
}

#[derive(Clone)]
struct Peer {
    task: usize,
    leaving: bool,
    in_hand: Vec<usize>,
    retracted: Option<Vec<usize>>,
}

impl Model {
    pub(crate) fn new(plan: &Plan) -> Model {
        Model {
            blocks: plan
                .tasks
                .iter()
                .map(|task| vec![State::Fresh; task.needs.len()])
                .collect(),
            open: HashMap::new(),
            lost: HashMap::new(),
            starts: vec![0; plan.tasks.len()],
            finished_tasks: vec![false; plan.tasks.len()],
            finished: false,
            interrupted: false,
        }
    }

    /// Takes in what the run is about to be told.
    pub(crate) fn before(&mut self, event: &Event<'_>) {
        match event {
            Event::Released { conn, results } => {
                for result in results.iter() {
                    self.release(*conn, result);
                }
            }
            Event::Returned { conn, blocks } => {
                if let Some(peer) = self.open.get_mut(conn) {
                    peer.retracted = None;
                }
                for block in blocks.iter() {
                    self.put_down(*conn, block.0 as usize, State::Open);
                }
            }
            Event::Disconnected { conn, loss } => self.part(*conn, *loss != Loss::Goodbye),
            Event::Interrupt | Event::Abort | Event::Fatal(_) => self.interrupted = true,
            _ => {}
        }
    }

    fn release(&mut self, conn: ConnectionId, result: &BlockResult) {
        let end = match result.status {
            BlockStatus::Success => State::Completed,
            BlockStatus::Failed => State::Open,
            // Stays in the hands of the dead until its death is sure.
            BlockStatus::TimedOut => return,
        };
        self.put_down(conn, result.block.0 as usize, end);
    }

    /// A peer that holds a block has it no more. Nobody else's word counts.
    fn put_down(&mut self, conn: ConnectionId, block: usize, end: State) {
        let Some(peer) = self.open.get_mut(&conn) else {
            return;
        };
        let Some(at) = peer.in_hand.iter().position(|held| *held == block) else {
            return;
        };
        peer.in_hand.remove(at);
        let state = &mut self.blocks[peer.task][block];
        assert_eq!(*state, State::Out(conn), "{block} is in the hands of two");
        *state = end;
    }

    fn part(&mut self, conn: ConnectionId, may_return: bool) {
        if let Some(peer) = self.open.remove(&conn) {
            if may_return {
                self.lost.insert(conn, peer);
            } else {
                self.open_up(&peer);
            }
        }
    }

    fn open_up(&mut self, peer: &Peer) {
        for block in &peer.in_hand {
            self.blocks[peer.task][*block] = State::Open;
        }
    }

    /// Looks at what the run answers.
    pub(crate) fn after(&mut self, plan: &Plan, run: &Run, event: &Event<'_>, out: &Outbox) {
        // Others may be granted what this made ready.
        if let Event::LastWords { conn, results, .. } = event {
            self.inherit(plan, run, *conn, results);
        }
        for action in out.actions() {
            let late = matches!(action, Action::Shutdown { .. } | Action::KillWorker { .. });
            assert!(!self.finished || late, "after the end: {action:?}");
            self.take(plan, event, action, out);
        }
        self.check(plan, run);
    }

    /// What a dead worker had finished counts if the run was still waiting for that: all or nothing.
    fn inherit(&mut self, plan: &Plan, run: &Run, conn: ConnectionId, results: &[BlockResult]) {
        let Some(task) = self.lost.get(&conn).map(|peer| peer.task) else {
            return;
        };
        let done: Vec<usize> = results
            .iter()
            .filter(|result| result.status == BlockStatus::Success)
            .map(|result| result.block.0 as usize)
            .filter(|block| self.blocks[task][*block] == State::Out(conn))
            .collect();
        let counted = &run.snapshot().tasks[task];
        let more = (counted.completed - counted.skipped).saturating_sub(self.completed(task));
        let whole = more == 0 || more == done.len() as u64;
        assert!(whole || self.store_breaks(plan), "{more} of {done:?}");
        for block in &done[..done.len().min(more as usize)] {
            self.blocks[task][*block] = State::Completed;
        }
    }

    fn take(&mut self, plan: &Plan, event: &Event<'_>, action: &Action, out: &Outbox) {
        match action {
            Action::Welcome { conn, task, .. } => {
                let peer = match event {
                    Event::Resumed { previous, held, .. } => {
                        self.welcome_back(*conn, *previous, held)
                    }
                    _ => Peer {
                        task: task.at(),
                        leaving: false,
                        in_hand: Vec::new(),
                        retracted: None,
                    },
                };
                assert!(
                    self.open.insert(*conn, peer).is_none(),
                    "{conn:?} was welcomed twice"
                );
            }
            Action::Grant {
                conn,
                blocks,
                alone,
            } => {
                let blocks: Vec<usize> = out
                    .blocks(*blocks)
                    .iter()
                    .map(|block| block.0 as usize)
                    .collect();
                self.grant(plan, *conn, &blocks, *alone);
            }
            Action::Retract { conn, blocks } => {
                let peer = self.open.get_mut(conn).expect("asked back from nobody");
                assert!(
                    peer.retracted.is_none(),
                    "{conn:?} is asked back twice at once"
                );
                let asked: Vec<usize> = out
                    .blocks(*blocks)
                    .iter()
                    .map(|block| block.0 as usize)
                    .collect();
                assert!(
                    !asked.is_empty() && asked.iter().all(|block| peer.in_hand.contains(block))
                );
                peer.retracted = Some(asked);
            }
            Action::Shutdown { conn, .. } => {
                if let Some(peer) = self.open.get_mut(conn) {
                    assert!(!peer.leaving, "{conn:?} is told to leave twice");
                    peer.leaving = true;
                }
            }
            Action::CloseConnection { conn, .. } => {
                if let Some(peer) = self.open.remove(conn) {
                    self.lost.insert(*conn, peer);
                }
            }
            Action::StartWorker { task, .. } => {
                let config = &plan.tasks[task.at()].config;
                self.starts[task.at()] += 1;
                let budget = config.max_workers + config.max_worker_restarts;
                assert!(
                    self.starts[task.at()] <= budget,
                    "more starts than {budget}"
                );
                assert!(
                    !self.finished_tasks[task.at()],
                    "a start for a finished task"
                );
                assert!(!self.interrupted, "a start after an interrupt");
            }
            Action::Failed(report) => {
                let retries = plan.tasks[report.task.at()].max_retries;
                assert!(report.attempt <= retries + 1, "{report:?}");
                assert!(!report.permanent || report.block.is_some());
                assert!(
                    !self.interrupted || report.block.is_none(),
                    "a try lost by an interrupt"
                );
            }
            Action::TaskFinished { task } => {
                assert!(!std::mem::replace(
                    &mut self.finished_tasks[task.at()],
                    true
                ));
            }
            Action::Finished => self.finished = true,
            Action::Check { task, blocks } => {
                assert!(plan.tasks[task.at()].has_check && !blocks.is_empty());
            }
            Action::KillWorker { .. } | Action::Warn(_) => {}
        }
    }

    fn welcome_back(
        &mut self,
        conn: ConnectionId,
        previous: ConnectionId,
        held: &[bellis_core::BlockIndex],
    ) -> Peer {
        let known = self
            .lost
            .remove(&previous)
            .or_else(|| self.open.remove(&previous));
        let mut peer = known.expect("somebody unknown came back");
        let (kept, lost): (Vec<usize>, Vec<usize>) = peer
            .in_hand
            .iter()
            .partition(|block| held.iter().any(|named| named.0 as usize == **block));
        for block in lost {
            self.blocks[peer.task][block] = State::Open;
        }
        for block in &kept {
            let state = &mut self.blocks[peer.task][*block];
            assert_eq!(
                *state,
                State::Out(previous),
                "came back for a block that others have"
            );
            *state = State::Out(conn);
        }
        (peer.in_hand, peer.retracted, peer.leaving) = (kept, None, false);
        peer
    }

    fn grant(&mut self, plan: &Plan, conn: ConnectionId, blocks: &[usize], alone: bool) {
        assert!(!blocks.is_empty() && !self.interrupted);
        let task = {
            let peer = self.open.get_mut(&conn).expect("a grant to nobody");
            assert!(!peer.leaving, "a grant to somebody who was told to leave");
            assert!(
                !alone || (peer.in_hand.is_empty() && blocks.len() == 1),
                "not alone"
            );
            peer.in_hand.extend(blocks);
            peer.task
        };
        for &block in blocks {
            match self.blocks[task][block] {
                State::Fresh | State::Open => {}
                State::Out(holder) => {
                    // Only the lost can have it, and they have lost it now.
                    let peer = self.lost.get_mut(&holder);
                    let peer = peer.unwrap_or_else(|| panic!("{block} is still with {holder:?}"));
                    peer.in_hand.retain(|held| *held != block);
                }
                State::Completed => panic!("block {block} of task {task} runs again"),
            }
            for &other in &plan.tasks[task].conflicts[block] {
                let free = matches!(self.blocks[task][other], State::Fresh | State::Completed);
                assert!(
                    free,
                    "{block} beside {other}: {:?}",
                    self.blocks[task][other]
                );
            }
            for &(before, needed) in &plan.tasks[task].needs[block] {
                let open = matches!(self.blocks[before][needed], State::Out(_) | State::Open);
                assert!(!open, "{block} before {needed} of task {before}");
            }
            self.blocks[task][block] = State::Out(conn);
        }
    }

    fn completed(&self, task: usize) -> u64 {
        self.blocks[task]
            .iter()
            .filter(|state| **state == State::Completed)
            .count() as u64
    }

    fn check(&self, plan: &Plan, run: &Run) {
        let snapshot = run.snapshot();
        for (at, task) in snapshot.tasks.iter().enumerate() {
            let sum = task.ready
                + task.pending
                + task.processing
                + task.completed
                + task.failed
                + task.orphaned;
            assert_eq!(sum, task.total, "{task:?}");
            assert!(task.skipped <= task.completed, "{task:?}");
            let broken = matches!(run.outcome(), Some(Outcome::Failed(_)));
            if !broken && !self.store_breaks(plan) {
                assert_eq!(
                    task.completed - task.skipped,
                    self.completed(at),
                    "task {at}: {task:?}"
                );
            }
            let out = self.open.values().filter(|peer| peer.task == at);
            let out: usize = out.map(|peer| peer.in_hand.len()).sum();
            assert!(
                task.processing >= out as u64,
                "task {at}: {out} out, {task:?}"
            );
        }
        assert_eq!(run.outcome().is_some(), self.finished);
    }

    fn store_breaks(&self, plan: &Plan) -> bool {
        plan.tasks
            .iter()
            .filter_map(|task| task.store.as_ref())
            .any(|store| store.breaks_in.load(Relaxed) > 0)
    }

    /// What must hold once a history is over.
    pub(crate) fn check_end(&self, plan: &Plan, run: &Run) {
        assert!(self.finished);
        let snapshot = run.snapshot();
        for (at, task) in snapshot.tasks.iter().enumerate() {
            assert_eq!(task.processing, 0, "task {at}: {task:?}");
            if run.outcome() == Some(&Outcome::Finished) {
                assert!(self.finished_tasks[at] && task.done, "task {at}: {task:?}");
                assert_eq!(task.ready + task.pending, 0, "task {at}: {task:?}");
                let blameless = task.abandoned.is_none() && task.failed == 0;
                let upstream_failed = snapshot.tasks[..at].iter().any(|task| task.failed > 0);
                assert!(
                    !blameless || upstream_failed || task.orphaned == 0,
                    "task {at}: {task:?}"
                );
            }
            // What a broken store refused isn't done, though a worker finished it.
            if !matches!(
                run.outcome(),
                Some(Outcome::Failed(RunError::Record { .. }))
            ) {
                self.check_store(plan, at);
            }
        }
    }

    /// The store names exactly the blocks that were finished.
    fn check_store(&self, plan: &Plan, at: usize) {
        let task = &plan.tasks[at];
        let Some(store) = &task.store else {
            return;
        };
        for (block, cell) in task.cells.iter().enumerate() {
            let Some(cell) = cell else {
                continue;
            };
            let marks = store.done[*cell as usize].load(Relaxed);
            let completed = self.blocks[at][block] == State::Completed;
            assert!(
                !completed || marks >= 1,
                "block {block} was finished and not marked"
            );
            let unfinished = matches!(self.blocks[at][block], State::Out(_) | State::Open);
            assert!(
                !unfinished || marks == 0,
                "block {block} was handed out, did not finish and is marked"
            );
        }
    }
}
