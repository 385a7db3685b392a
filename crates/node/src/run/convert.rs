//! From the run's own types to what JavaScript gets. Instants become UNIX seconds, durations seconds.

use bellis_core::run::{
    AbandonReason, Distribution, ErrorReport, FailureKind, FailureReport, MeasuredBlocks, Nanos,
    RunSnapshot, TaskReport, TaskSnapshot, WorkerEnd, WorkerReport,
};

use super::report::{
    NativeBlockFailure, NativeErrorReport, NativeResourceReport, NativeRunSnapshot,
    NativeRunningBlock, NativeStat, NativeTaskReport, NativeTaskState, NativeWorkerReport,
};

/// Where the run's clock stands on the calendar.
#[derive(Clone, Copy)]
pub(crate) struct Calendar {
    /// UNIX seconds at the run's instant 0.
    pub(crate) zero: f64,
}

impl Calendar {
    /// UNIX seconds of an instant of the run.
    pub(crate) fn seconds(self, at: Nanos) -> f64 {
        self.zero + at.as_secs_f64()
    }

    pub(crate) fn failure(self, failure: &FailureReport) -> NativeBlockFailure {
        NativeBlockFailure {
            task: failure.task.0,
            block: failure.block.map(|block| block.0 as f64),
            worker: (failure.worker.0 != u32::MAX).then_some(failure.worker.0),
            attempt: failure.attempt,
            permanent: failure.permanent,
            kind: match failure.kind {
                FailureKind::Thrown => "error",
                FailureKind::TimedOut => "timeout",
                FailureKind::Exited => "exit",
                FailureKind::Lost => "lost",
                FailureKind::Start => "start",
            }
            .to_owned(),
            error: error_report(&failure.error),
            at: self.seconds(failure.at),
        }
    }

    /// `measured` says whether the task asked for measurements.
    pub(crate) fn task_report(self, report: &TaskReport, measured: bool) -> NativeTaskReport {
        let workers = &report.workers;
        let ends = |wanted: WorkerEnd| {
            workers
                .iter()
                .filter(|worker| worker.exit == wanted)
                .count() as f64
        };
        let (mut startup, mut idle, mut teardown, mut compute) = Default::default();
        for worker in workers {
            if let Some(duration) = startup_of(worker) {
                Distribution::add(&mut startup, duration);
            }
            if let Some(duration) = worker.teardown {
                Distribution::add(&mut teardown, duration.as_secs_f64());
            }
            Distribution::merge(&mut idle, &worker.idle);
            Distribution::merge(&mut compute, &worker.compute);
        }
        NativeTaskReport {
            started_at: report.began.map(|at| self.seconds(at)),
            finished_at: report.ended.map(|at| self.seconds(at)),
            round_trip: stat(&report.round_trip),
            workers: workers.iter().map(|worker| self.worker(worker)).collect(),
            startup: stat(&startup),
            idle: stat(&idle),
            teardown: stat(&teardown),
            compute: stat(&compute),
            clean_exits: ends(WorkerEnd::Clean),
            error_exits: ends(WorkerEnd::Error) + ends(WorkerEnd::Lost),
            stopped_exits: ends(WorkerEnd::Stopped),
            resources: measured.then(|| resources(&report.measured)),
        }
    }

    fn worker(self, worker: &WorkerReport) -> NativeWorkerReport {
        NativeWorkerReport {
            worker: worker.worker.0,
            started_by_run: worker.started_by_run,
            started_at: self.seconds(worker.started_at),
            connected: worker.connected,
            first_acquire_at: worker.first_acquire_at.map(|at| self.seconds(at)),
            exited_at: worker.ended_at.map(|at| self.seconds(at)),
            startup: startup_of(worker),
            blocks: worker.blocks as f64,
            idle: stat(&worker.idle),
            compute: stat(&worker.compute),
            teardown: worker.teardown.map(Nanos::as_secs_f64),
            exit: match worker.exit {
                WorkerEnd::Running => "running",
                WorkerEnd::Clean => "clean",
                WorkerEnd::Stopped => "stopped",
                WorkerEnd::Error => "error",
                WorkerEnd::Lost => "lost",
            }
            .to_owned(),
            exit_reason: worker.exit_reason.clone(),
        }
    }
}

/// Seconds from a worker's start to its first question; only for those the run started.
fn startup_of(worker: &WorkerReport) -> Option<f64> {
    let first = worker.first_acquire_at.filter(|_| worker.started_by_run)?;
    Some((first - worker.started_at).as_secs_f64())
}

pub(crate) fn error_report(error: &ErrorReport) -> NativeErrorReport {
    NativeErrorReport {
        name: error.name.clone(),
        message: error.message.clone(),
        stack: error.stack.clone(),
        details: error.details.clone(),
    }
}

impl From<NativeErrorReport> for ErrorReport {
    fn from(error: NativeErrorReport) -> Self {
        Self {
            name: error.name,
            message: error.message,
            stack: error.stack,
            details: error.details,
        }
    }
}

/// An error in words: its stack where there is one, which begins with name and message.
pub(crate) fn words(error: &ErrorReport) -> String {
    match &error.stack {
        Some(stack) if stack.contains(&error.message) => stack.clone(),
        Some(stack) => format!("{}: {}\n{stack}", error.name, error.message),
        None => format!("{}: {}", error.name, error.message),
    }
}

/// Longest error in a notice, in characters.
const LONGEST_HEADLINE: usize = 500;

/// An error's name and the first line of its message: a notice is one line.
pub(crate) fn headline(error: &ErrorReport) -> String {
    let headline = match error.message.trim().lines().next() {
        Some(line) => format!("{}: {line}", error.name),
        None => error.name.clone(),
    };
    match headline.char_indices().nth(LONGEST_HEADLINE) {
        Some((end, _)) => format!("{}…", &headline[..end]),
        None => headline,
    }
}

pub(crate) fn stat(distribution: &Distribution) -> NativeStat {
    NativeStat {
        count: distribution.count() as f64,
        mean: distribution.mean(),
        std: distribution.std(),
        min: distribution.min(),
        max: distribution.max(),
        total: distribution.sum(),
    }
}

fn resources(measured: &MeasuredBlocks) -> NativeResourceReport {
    NativeResourceReport {
        measured: measured.wall_seconds.count() as f64,
        max_peak_rss: measured.max_peak_rss_bytes as f64,
        wall: stat(&measured.wall_seconds),
        cpu: stat(&measured.cpu_seconds),
        peak_rss: stat(&measured.peak_rss_bytes),
        io_read: stat(&measured.io_read_bytes),
        io_write: stat(&measured.io_write_bytes),
    }
}

pub(crate) fn snapshot(snapshot: &RunSnapshot) -> NativeRunSnapshot {
    NativeRunSnapshot {
        tasks: snapshot.tasks.iter().map(task_state).collect(),
        oldest_running: snapshot.oldest_running.map(|running| NativeRunningBlock {
            task: running.task.0,
            block: running.block.0 as f64,
            worker: running.worker.0,
            age: running.age.as_secs_f64(),
        }),
    }
}

pub(crate) fn task_state(task: &TaskSnapshot) -> NativeTaskState {
    NativeTaskState {
        total: task.total as f64,
        ready: task.ready as f64,
        pending: task.pending as f64,
        processing: task.processing as f64,
        completed: task.completed as f64,
        skipped: task.skipped as f64,
        failed: task.failed as f64,
        orphaned: task.orphaned as f64,
        started: task.started,
        done: task.done,
        abandoned: task.abandoned.is_some(),
        abandon_reason: task.abandoned.map(|reason| match reason {
            AbandonReason::RestartsUsedUp => "worker restart cap exhausted".to_owned(),
            AbandonReason::UpstreamAbandoned { .. } => "upstream task abandoned".to_owned(),
        }),
        worker_starts: task.worker_starts.into(),
        worker_restarts: task.worker_restarts.into(),
        worker_failures: task.worker_failures.into(),
        failed_attempts: task.failed_attempts as f64,
        check_errors: task.check_errors as f64,
        timeouts: task.timeouts as f64,
        starting_workers: task.starting_workers,
        connected_workers: task.connected_workers,
        idle_workers: task.idle_workers,
        ending_workers: task.ending_workers,
        waits_for_resources: task.waits_for_resources,
        first_error: None,
        last_error: None,
    }
}

/// The state at the end: as [`task_state`], with the errors.
pub(crate) fn final_state(report: &TaskReport) -> NativeTaskState {
    NativeTaskState {
        first_error: report.first_error.as_ref().map(words),
        last_error: report.last_error.as_ref().map(words),
        ..task_state(&report.counters)
    }
}
