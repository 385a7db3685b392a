//! Passes on to JavaScript what a run asks for and tells.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bellis_core::run::{
    FailureReport, KillReason, Outcome, RunError, RunSnapshot, TaskReport, WorkerId,
};
use bellis_core::{BlockIndex, TaskIndex};
use bellis_net::{Ended, Host, Keeper, Notice, SharedWords};
use bellis_tracking::StoreKeeper;
use napi::bindgen_prelude::Float64Array;
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use napi::Status;

use super::convert::{final_state, task_state, Calendar};
use super::event::NativeRunEvent;
use super::notes_folder::NotesFolder;
use super::notice;
use super::report::{NativeRunError, NativeRunResult};
use super::secret_folder::SecretFolder;

/// Calls the listener of a run. While one exists, Node stays alive.
pub(super) type Listener =
    ThreadsafeFunction<NativeRunEvent, (), NativeRunEvent, Status, false, false, 0>;

/// Failures that may wait to be told; what comes beyond is only counted by the run.
const WAITING_FAILURES: usize = 1000;

/// Events on their way to JavaScript, in order.
pub(super) struct Events {
    pub(super) listener: Listener,
    /// Events that JavaScript hasn't heard yet.
    pub(super) waiting: Arc<AtomicUsize>,
}

impl Events {
    /// Never blocks. Without a listener (its thread is over) nothing happens.
    pub(super) fn send(&self, event: NativeRunEvent) {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let status = self
            .listener
            .call(event, ThreadsafeFunctionCallMode::NonBlocking);
        if status != Status::Ok {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// What a run of the server knows of the program around it.
pub(super) struct RunHost {
    pub(super) events: Events,
    pub(super) snapshot: Arc<Mutex<Option<RunSnapshot>>>,
    pub(super) calendar: Calendar,
    /// Whether each task asked for measurements.
    pub(super) measured: Vec<bool>,
    /// Each task's store, for errors.
    pub(super) paths: Vec<Option<String>>,
    /// Lives as long as the run.
    pub(super) secret: Option<SecretFolder>,
    /// Whether each task's workers are processes of this machine.
    pub(super) local: Vec<bool>,
    /// Lives as long as the run.
    pub(super) notes: Option<NotesFolder>,
}

impl Host for RunHost {
    fn notes(&mut self, worker: WorkerId) -> Option<Arc<dyn SharedWords>> {
        self.notes.as_ref()?.of(worker)
    }

    fn forget(&mut self, worker: WorkerId) {
        if let Some(notes) = &mut self.notes {
            notes.forget(worker);
        }
    }

    fn start_worker(&mut self, task: TaskIndex, worker: WorkerId) {
        let local = self.local.get(task.0 as usize) == Some(&true);
        if let Some(notes) = self.notes.as_mut().filter(|_| local) {
            notes.begin(worker);
        }
        self.events.send(NativeRunEvent::StartWorker {
            task: task.0,
            worker: worker.0,
        });
    }

    fn kill_worker(&mut self, worker: WorkerId, reason: KillReason) {
        let reason = match reason {
            KillReason::TimedOut => "timeout",
            KillReason::Lost => "lost",
            KillReason::NeverConnected => "never-connected",
            KillReason::NotNeeded => "retired",
            KillReason::DidNotLeave => "shutdown",
            KillReason::Interrupted => "interrupt",
        };
        self.events.send(NativeRunEvent::KillWorker {
            worker: worker.0,
            reason: reason.to_owned(),
            grace_ms: 0.0,
        });
    }

    fn check(&mut self, task: TaskIndex, blocks: &[BlockIndex]) {
        let blocks = blocks.iter().map(|block| block.0 as f64).collect();
        self.events.send(NativeRunEvent::Check {
            task: task.0,
            blocks: Float64Array::new(blocks),
        });
    }

    fn failed(&mut self, report: &FailureReport) {
        if self.events.waiting.load(Ordering::Relaxed) < WAITING_FAILURES {
            self.events.send(NativeRunEvent::Failure {
                failure: self.calendar.failure(report),
            });
        }
    }

    fn notice(&mut self, notice: Notice) {
        if let Some(event) = notice::of_server(notice) {
            self.events.send(event);
        }
    }

    fn task_finished(&mut self, task: TaskIndex) {
        self.events
            .send(NativeRunEvent::TaskFinished { task: task.0 });
    }

    fn progress(&mut self, snapshot: RunSnapshot) {
        *lock(&self.snapshot) = Some(snapshot);
    }

    fn finished(&mut self, ended: Ended) {
        // Before JavaScript hears of the end, so that nothing is left behind by a program that ends then.
        self.secret = None;
        self.notes = None;
        let result = self.result(ended);
        self.events.send(NativeRunEvent::Finished { result });
    }
}

impl RunHost {
    fn result(&self, ended: Ended) -> NativeRunResult {
        let Ended {
            outcome,
            snapshot,
            reports,
        } = ended;
        let mut result = self.calendar.result(&reports, &self.measured);
        if reports.is_empty() {
            let last = snapshot.or_else(|| lock(&self.snapshot).take());
            result.states = match last {
                Some(last) => last.tasks.iter().map(task_state).collect(),
                None => self
                    .measured
                    .iter()
                    .map(|_| task_state(&Default::default()))
                    .collect(),
            };
        }
        let (name, error) = match outcome {
            Outcome::Finished => ("finished", None),
            Outcome::Interrupted => ("interrupted", None),
            Outcome::FailureLimit => ("failure-limit", None),
            Outcome::Failed(error) => ("failed", Some(self.error(error))),
        };
        result.outcome = name.to_owned();
        result.error = error;
        result
    }

    fn error(&self, error: RunError) -> NativeRunError {
        let mut native = run_error(&error);
        let store = native
            .task
            .and_then(|task| self.paths.get(task as usize)?.clone());
        if let (Some(path), "ERR_BELLIS_STORE") = (store, native.code.as_str()) {
            native
                .details
                .get_or_insert_default()
                .insert("path".to_owned(), path);
        }
        native
    }
}

impl Calendar {
    /// The result of a run that finished, so far as reports tell.
    pub(super) fn result(self, reports: &[TaskReport], measured: &[bool]) -> NativeRunResult {
        let now = super::unix_seconds();
        NativeRunResult {
            states: reports.iter().map(final_state).collect(),
            failures: reports
                .iter()
                .map(|report| {
                    report
                        .failures
                        .iter()
                        .map(|one| self.failure(one))
                        .collect()
                })
                .collect(),
            first_worker_error: reports
                .iter()
                .map(|report| report.first_worker_error.clone())
                .collect(),
            reports: reports
                .iter()
                .zip(measured)
                .map(|(report, &measured)| self.task_report(report, measured))
                .collect(),
            outcome: "finished".to_owned(),
            error: None,
            started_at: self.zero,
            finished_at: now,
        }
    }
}

/// Why a run couldn't begin or go on, with the code of the error class.
pub(super) fn run_error(error: &RunError) -> NativeRunError {
    let (code, task) = match error {
        RunError::TaskCount { .. } => ("ERR_BELLIS_NATIVE", None),
        RunError::Resources { task, .. } => ("ERR_BELLIS_VALIDATION", Some(task.0)),
        RunError::Record { task, .. } => ("ERR_BELLIS_STORE", Some(task.0)),
        RunError::NoMeasurements { task, .. } => ("ERR_BELLIS_CONNECTION", Some(task.0)),
        RunError::Unusable { task, .. } => ("ERR_BELLIS_MODULE", Some(task.0)),
        RunError::Driver { code, .. } => (code.as_str(), None),
    };
    NativeRunError {
        code: code.to_owned(),
        message: error.to_string(),
        task,
        details: None,
    }
}

/// Keeps the stores of a run on disk.
pub(super) struct StoresKeeper(pub(super) Vec<StoreKeeper>);

impl Keeper for StoresKeeper {
    fn flush(&mut self) -> Result<(), RunError> {
        for keeper in &self.0 {
            keeper.flush().map_err(|error| RunError::Driver {
                code: error.code().to_owned(),
                message: error.to_string(),
            })?;
        }
        Ok(())
    }
}

/// A poisoned lock means that a thread panicked while it held it; what is inside is a plain value.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
