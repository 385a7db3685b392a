//! What a run asks of JavaScript or tells it.

use napi::bindgen_prelude::Float64Array;
use napi_derive::napi;

use super::report::{NativeBlockFailure, NativeRunResult};

/// Events of a run, delivered in order on the thread of the one who started it. All are rare.
#[napi(
    discriminant = "kind",
    discriminant_case = "camelCase",
    use_nullable = true
)]
pub enum NativeRunEvent {
    /// Start a worker; answer with `runWorkerStarted` or `runStartFailed`.
    StartWorker {
        /// Position of the task.
        task: u32,
        /// Number of the worker.
        worker: u32,
    },
    /// Stop a worker; `runWorkerExited` follows if its handle tells.
    KillWorker {
        /// Number of the worker.
        worker: u32,
        /// Why.
        #[napi(
            ts_type = "'lost' | 'timeout' | 'shutdown' | 'interrupt' | 'never-connected' | 'retired'"
        )]
        reason: String,
        /// How long it may take to end by itself, in milliseconds.
        grace_ms: f64,
    },
    /// Ask the check function about blocks; answer with `runChecked`.
    Check {
        /// Position of the task.
        task: u32,
        /// Block indices.
        blocks: Float64Array,
    },
    /// An attempt failed. Of many only some are told one by one.
    Failure {
        /// The attempt.
        failure: NativeBlockFailure,
    },
    /// Something the user should know.
    Notice {
        /// How bad it is.
        #[napi(ts_type = "'info' | 'warning'")]
        level: String,
        /// Stable name of the notice.
        code: String,
        /// Position of the task that it is about.
        task: Option<u32>,
        /// In words.
        message: String,
    },
    /// No block of the task is left.
    TaskFinished {
        /// Position of the task.
        task: u32,
    },
    /// The run is over; nothing follows.
    Finished {
        /// What is left of it.
        result: NativeRunResult,
    },
}
