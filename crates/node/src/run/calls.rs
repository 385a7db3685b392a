//! What JavaScript tells a run that goes on. A run that is over hears nothing.

use bellis_core::run::{CheckAnswer, ErrorReport, Exit, ExitKind, RunError, WorkerId};
use bellis_core::TaskIndex;
use bellis_net::Command;
use napi::bindgen_prelude::{Object, Uint8Array};
use napi::Env;
use napi_derive::napi;

use super::convert;
use super::host::lock;
use super::report::NativeErrorReport;
use super::start::with_runs;
use crate::error::envelope;

/// How a worker's process ended.
#[napi(object, use_nullable = true)]
pub struct NativeExit {
    /// Exit code, if it had one.
    pub code: Option<i32>,
    /// Signal that ended it, such as `SIGKILL`.
    pub signal: Option<String>,
    /// In words.
    pub reason: String,
    /// Last lines of its stderr; empty where unknown.
    pub stderr_tail: String,
    /// It was stopped on the run's behalf: no failure of its own.
    pub stopped: bool,
    /// Code 0 and no signal.
    pub clean: bool,
}

fn tell(env: &Env, handle: u32, command: impl FnOnce() -> Command) -> napi::Result<Object<'_>> {
    envelope(env, || {
        with_runs(|runs| {
            runs.get(handle)?.commands.send(command());
            Ok(())
        })
    })
}

/// The launcher gave a handle; with `tracksExit`, `runWorkerExited` will follow.
#[napi(ts_return_type = "{ ok: null } | { error: NativeError }")]
pub fn run_worker_started(
    env: &Env,
    handle: u32,
    worker: u32,
    tracks_exit: bool,
) -> napi::Result<Object<'_>> {
    tell(env, handle, || Command::WorkerStarted {
        worker: WorkerId(worker),
        exit_reported: tracks_exit,
    })
}

/// The launcher failed.
#[napi(ts_return_type = "{ ok: null } | { error: NativeError }")]
pub fn run_start_failed(
    env: &Env,
    handle: u32,
    worker: u32,
    error: NativeErrorReport,
) -> napi::Result<Object<'_>> {
    tell(env, handle, || Command::StartFailed {
        worker: WorkerId(worker),
        error: error.into(),
    })
}

/// A worker's process ended. Also confirms a stop.
#[napi(ts_return_type = "{ ok: null } | { error: NativeError }")]
pub fn run_worker_exited(
    env: &Env,
    handle: u32,
    worker: u32,
    exit: NativeExit,
) -> napi::Result<Object<'_>> {
    tell(env, handle, || Command::WorkerExited {
        worker: WorkerId(worker),
        exit: exit.into(),
    })
}

/// Answers to a `check` event in its order: 0 not done, 1 done, 2 the function failed. `firstError` is what the
/// first of those that failed threw.
#[napi(ts_return_type = "{ ok: null } | { error: NativeError }")]
pub fn run_checked<'env>(
    env: &'env Env,
    handle: u32,
    task: u32,
    answers: Uint8Array,
    #[napi(ts_arg_type = "NativeErrorReport | null")] first_error: Option<NativeErrorReport>,
) -> napi::Result<Object<'env>> {
    tell(env, handle, || {
        let error = ErrorReport::from(first_error.unwrap_or_else(unnamed));
        let answers = answers.iter().map(|answer| match answer {
            0 => CheckAnswer::NotDone,
            1 => CheckAnswer::Done,
            _ => CheckAnswer::Error(Box::new(error.clone())),
        });
        Command::Checked {
            task: TaskIndex(task),
            answers: answers.collect(),
        }
    })
}

fn unnamed() -> NativeErrorReport {
    NativeErrorReport {
        name: "Error".to_owned(),
        message: "the check function failed".to_owned(),
        stack: None,
        details: None,
    }
}

/// Stop in order: running blocks get the shutdown grace.
#[napi(ts_return_type = "{ ok: null } | { error: NativeError }")]
pub fn run_interrupt(env: &Env, handle: u32) -> napi::Result<Object<'_>> {
    tell(env, handle, || Command::Interrupt)
}

/// Stop now, without grace.
#[napi(ts_return_type = "{ ok: null } | { error: NativeError }")]
pub fn run_abort(env: &Env, handle: u32) -> napi::Result<Object<'_>> {
    tell(env, handle, || Command::Abort)
}

/// End the run with an error of the program around it.
#[napi(ts_return_type = "{ ok: null } | { error: NativeError }")]
pub fn run_fail(env: &Env, handle: u32, code: String, message: String) -> napi::Result<Object<'_>> {
    tell(env, handle, || {
        Command::Fatal(RunError::Driver { code, message })
    })
}

/// How things are: what the run's thread last showed, at most ten times a second.
#[napi(ts_return_type = "{ ok: NativeRunSnapshot | null } | { error: NativeError }")]
pub fn run_snapshot(env: &Env, handle: u32) -> napi::Result<Object<'_>> {
    envelope(env, || {
        with_runs(|runs| {
            Ok(lock(&runs.get(handle)?.snapshot)
                .as_ref()
                .map(convert::snapshot))
        })
    })
}

/// Forgets a run. One that isn't over ends here and now, without waiting for its workers.
#[napi(catch_unwind)]
pub fn run_free(handle: u32) {
    if let Some(run) = with_runs(|runs| runs.remove(handle)) {
        run.halt();
    }
}

impl From<NativeExit> for Exit {
    fn from(exit: NativeExit) -> Self {
        Self {
            kind: kind(&exit),
            description: exit.reason,
            stderr_tail: Some(exit.stderr_tail).filter(|tail| !tail.is_empty()),
        }
    }
}

fn kind(exit: &NativeExit) -> ExitKind {
    if exit.stopped {
        return ExitKind::Stopped;
    }
    match (&exit.signal, exit.code) {
        _ if exit.clean => ExitKind::Clean,
        (None, Some(bellis_net::DEADLINE_EXIT_CODE)) => ExitKind::TimedOut,
        _ if exit.reason.contains("out of memory") => ExitKind::OutOfMemory,
        (Some(signal), _) => ExitKind::Signal(number(signal)),
        (None, Some(code)) => ExitKind::Code(code),
        (None, None) => ExitKind::Unknown,
    }
}

/// The number of a signal where it is the same on all systems; 0 for others.
fn number(signal: &str) -> i32 {
    match signal {
        "SIGHUP" => 1,
        "SIGINT" => 2,
        "SIGQUIT" => 3,
        "SIGILL" => 4,
        "SIGTRAP" => 5,
        "SIGABRT" => 6,
        "SIGFPE" => 8,
        "SIGKILL" => 9,
        "SIGSEGV" => 11,
        "SIGPIPE" => 13,
        "SIGALRM" => 14,
        "SIGTERM" => 15,
        _ => 0,
    }
}
