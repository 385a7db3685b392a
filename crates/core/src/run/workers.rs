//! Everybody who works or was asked to: one row each, from the start to the exit.

use super::{
    ConnectionId, Distribution, ErrorReport, Exit, Nanos, WorkerEnd, WorkerId, WorkerReport,
};
use crate::TaskIndex;

/// Why a worker ended, as far as the run had a part in it or was told.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum EndCause {
    /// Its block threw and the task restarts workers on errors.
    BlockFailed,
    /// A block ran past its deadline.
    TimedOut,
    /// Its connection broke or fell silent.
    Lost,
    /// It couldn't work, or not any more: the launcher failed, its setup or teardown threw, it didn't
    /// connect in time, an error that nobody caught ended it between blocks.
    Unusable(String),
    /// The run had it stopped.
    Stopped,
}

/// One worker.
#[derive(Debug)]
pub(super) struct Worker {
    pub(super) task: TaskIndex,
    /// Started by the run; others came by themselves.
    pub(super) launched: bool,
    /// Whether its exit will be reported; `None` until its start was answered.
    pub(super) exit_reported: Option<bool>,
    /// Its process lives, as far as anybody can tell.
    pub(super) process: bool,
    pub(super) conn: Option<ConnectionId>,
    /// It has blocks that wait for its death to be confirmed, or for its return.
    pub(super) in_limbo: bool,
    /// Whose context it shares, when it is a clone.
    pub(super) parent: Option<WorkerId>,
    /// Clones of it that are connected.
    pub(super) clones: u32,
    pub(super) connected_once: bool,
    pub(super) killed: bool,
    /// One of its blocks lost a try by its end.
    pub(super) blamed: bool,
    /// Counted among the living of its task.
    pub(super) alive: bool,
    pub(super) cause: Option<EndCause>,
    /// For how long it had said nothing when it was given up.
    pub(super) silent_for: Option<Nanos>,
    pub(super) exit: Option<Exit>,
    /// What kept it from working.
    pub(super) start_error: Option<ErrorReport>,
    pub(super) started_at: Nanos,
    pub(super) first_acquire_at: Option<Nanos>,
    pub(super) told_to_leave_at: Option<Nanos>,
    pub(super) ended_at: Option<Nanos>,
    /// End of its last block, or its first request: where idling begins.
    pub(super) free_since: Nanos,
    pub(super) blocks: u64,
    pub(super) idle: Distribution,
    pub(super) compute: Distribution,
}

impl Worker {
    fn new(task: TaskIndex, launched: bool, now: Nanos) -> Worker {
        Worker {
            task,
            launched,
            exit_reported: None,
            process: launched,
            conn: None,
            in_limbo: false,
            parent: None,
            clones: 0,
            connected_once: false,
            killed: false,
            blamed: false,
            alive: true,
            cause: None,
            silent_for: None,
            exit: None,
            start_error: None,
            started_at: now,
            first_acquire_at: None,
            told_to_leave_at: None,
            ended_at: None,
            free_since: now,
            blocks: 0,
            idle: Distribution::default(),
            compute: Distribution::default(),
        }
    }

    /// Whether anything of it may still be there.
    pub(super) fn may_live(&self) -> bool {
        // Where no exit is reported, a worker lives and dies by its connection.
        let unseen = self.connected_once && self.exit_reported == Some(false);
        (self.process && !unseen) || self.conn.is_some() || self.in_limbo
    }

    /// Asked for, and not yet connected.
    pub(super) fn is_starting(&self) -> bool {
        self.alive && self.launched && !self.connected_once
    }

    /// A block ran from `began` to `ended`.
    #[inline]
    pub(super) fn record_block(&mut self, began: Nanos, ended: Nanos) {
        self.blocks += 1;
        self.idle.add((began - self.free_since).as_secs_f64());
        self.compute.add((ended - began).as_secs_f64());
        self.free_since = self.free_since.max(ended);
    }

    /// How it ended, in one word.
    pub(super) fn end(&self) -> WorkerEnd {
        if self.alive {
            // A run that is over doesn't wait for those it stopped before they had connected.
            return match self.killed {
                true => WorkerEnd::Stopped,
                false => WorkerEnd::Running,
            };
        }
        match (&self.cause, &self.exit) {
            (Some(EndCause::BlockFailed | EndCause::TimedOut | EndCause::Unusable(_)), _) => {
                WorkerEnd::Error
            }
            (Some(EndCause::Lost), Some(exit)) if exit.kind.is_dirty() => WorkerEnd::Error,
            (Some(EndCause::Lost), _) => WorkerEnd::Lost,
            (Some(EndCause::Stopped), _) => WorkerEnd::Stopped,
            (None, Some(exit)) if exit.kind.is_dirty() => WorkerEnd::Error,
            (None, _) => WorkerEnd::Clean,
        }
    }

    /// Whether its end counts as a failure of the worker.
    pub(super) fn failed(&self) -> bool {
        matches!(self.end(), WorkerEnd::Error | WorkerEnd::Lost)
    }

    /// The end in words; empty for a clean one.
    pub(super) fn end_in_words(&self) -> String {
        let exit = self.exit.as_ref().map(|exit| exit.description.as_str());
        match (&self.cause, self.end()) {
            (_, WorkerEnd::Running | WorkerEnd::Clean) => String::new(),
            (Some(EndCause::Unusable(why)), _) => why.clone(),
            (Some(EndCause::TimedOut), _) => "killed for a block past its timeout".into(),
            (Some(EndCause::Stopped), _) => "stopped by the run".into(),
            (Some(EndCause::BlockFailed), _) => exit.unwrap_or("a block failed").to_owned(),
            (Some(EndCause::Lost) | None, _) => self.loss_in_words(),
        }
    }

    /// What is known of a worker that was there and then wasn't.
    pub(super) fn loss_in_words(&self) -> String {
        let exit = self.exit.as_ref().map(|exit| exit.description.as_str());
        let Some(silent_for) = self.silent_for else {
            return exit.unwrap_or("its connection was lost").to_owned();
        };
        let silence = format!("it said nothing for {}", silent_for.in_words());
        exit.map_or_else(|| silence.clone(), |exit| format!("{silence}, then {exit}"))
    }

    /// From the word to leave to the end; none after an error.
    fn teardown(&self) -> Option<Nanos> {
        (self.end() == WorkerEnd::Clean).then(|| Some(self.ended_at? - self.told_to_leave_at?))?
    }

    fn report(&self, worker: WorkerId) -> WorkerReport {
        WorkerReport {
            worker,
            started_by_run: self.launched,
            started_at: self.started_at,
            connected: self.connected_once,
            first_acquire_at: self.first_acquire_at,
            ended_at: self.ended_at,
            blocks: self.blocks,
            idle: self.idle,
            compute: self.compute,
            teardown: self.teardown(),
            exit: self.end(),
            exit_reason: self.end_in_words(),
        }
    }
}

/// All rows; a worker's number is its position.
#[derive(Debug, Default)]
pub(super) struct Workers {
    rows: Vec<Worker>,
}

impl Workers {
    pub(super) fn add(&mut self, task: TaskIndex, launched: bool, now: Nanos) -> WorkerId {
        self.rows.push(Worker::new(task, launched, now));
        WorkerId((self.rows.len() - 1) as u32)
    }

    #[inline]
    pub(super) fn get(&self, worker: WorkerId) -> Option<&Worker> {
        self.rows.get(worker.0 as usize)
    }

    #[inline]
    pub(super) fn get_mut(&mut self, worker: WorkerId) -> Option<&mut Worker> {
        self.rows.get_mut(worker.0 as usize)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (WorkerId, &Worker)> {
        self.rows
            .iter()
            .enumerate()
            .map(|(at, row)| (WorkerId(at as u32), row))
    }

    pub(super) fn reports(&self, task: TaskIndex) -> Vec<WorkerReport> {
        self.iter()
            .filter(|(_, row)| row.task == task)
            .map(|(worker, row)| row.report(worker))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::ExitKind;

    fn ended(cause: Option<EndCause>, kind: Option<ExitKind>) -> Worker {
        let mut worker = Worker::new(TaskIndex(0), true, Nanos(0));
        worker.alive = false;
        worker.cause = cause;
        worker.exit = kind.map(|kind| Exit {
            kind,
            description: "exited with code 3".into(),
            stderr_tail: None,
        });
        worker.told_to_leave_at = Some(Nanos(100));
        worker.ended_at = Some(Nanos(130));
        worker
    }

    #[test]
    fn a_clean_end_has_a_teardown_and_no_words() {
        let worker = ended(None, Some(ExitKind::Clean));
        assert_eq!(worker.end(), WorkerEnd::Clean);
        assert_eq!(worker.report(WorkerId(4)).teardown, Some(Nanos(30)));
        assert_eq!(worker.end_in_words(), "");
    }

    #[test]
    fn an_error_has_words_and_no_teardown() {
        let worker = ended(None, Some(ExitKind::Code(3)));
        assert_eq!(worker.end(), WorkerEnd::Error);
        assert_eq!(worker.report(WorkerId(4)).teardown, None);
        assert_eq!(worker.end_in_words(), "exited with code 3");
    }

    #[test]
    fn what_the_run_stopped_did_not_fail() {
        let worker = ended(Some(EndCause::Stopped), Some(ExitKind::Signal(9)));
        assert!(!worker.failed());
        assert!(ended(Some(EndCause::BlockFailed), Some(ExitKind::Clean)).failed());
        assert!(ended(Some(EndCause::Lost), None).failed());
    }

    #[test]
    fn idle_time_is_the_gap_before_each_block() {
        let mut worker = Worker::new(TaskIndex(0), true, Nanos(0));
        worker.free_since = Nanos(100);
        worker.record_block(Nanos(150), Nanos(250));
        worker.record_block(Nanos(260), Nanos(300));
        assert_eq!(worker.blocks, 2);
        assert!((worker.idle.sum() - 60e-9).abs() < 1e-15);
        assert!((worker.compute.sum() - 140e-9).abs() < 1e-15);
    }
}
