//! What a worker is told, as JavaScript gets it.

use bellis_core::Fit;
use bellis_net::message::{ErrorReport, TaskSetup};
use bellis_net::{End, NotInHand};
use napi::bindgen_prelude::Uint8Array;
use napi_derive::napi;

use crate::dto::NativeTaskSpec;
use crate::error::{Failure, NativeError};
use crate::run::report::NativeErrorReport;

/// How to make a client.
#[napi(object)]
pub struct NativeClientOptions {
    /// The text of `BELLIS_CONTEXT`.
    pub context: String,
    /// Whether the process ends, after one line on stderr, when the driver is gone.
    pub exit_when_gone: bool,
}

/// The task that a worker works for.
#[napi(object, use_nullable = true)]
pub struct NativeWelcome {
    /// Geometry. `maxRetries` and `allowUncovered` are the driver's business and not told.
    pub spec: NativeTaskSpec,
    /// Time a block may take, in milliseconds.
    pub timeout_ms: f64,
    /// Blocks are measured.
    pub resource_tracking: bool,
    /// What the worker does after a block that threw.
    #[napi(ts_type = "'restart-worker' | 'keep-worker'")]
    pub on_block_error: String,
    /// Blocks that may run at once.
    pub concurrency: u32,
    /// Where log files go.
    pub log_dir: Option<String>,
    /// Which function to run, in the words of whoever made the task.
    pub function_reference: String,
    /// The user's settings, in the encoding of whoever made the task.
    pub config: Option<Uint8Array>,
    /// The worker's number, which may differ from the one in its context.
    pub worker_id: u32,
}

/// How a client's work ends.
#[napi(object)]
pub struct NativeClientEnd {
    /// In words.
    pub reason: String,
    /// With which code a worker process should end.
    pub exit_code: i32,
    /// The driver sent the worker home.
    pub sent_home: bool,
}

/// Where a client stands.
#[napi(object)]
pub struct NativeClientStatus {
    /// There is a driver on the other side.
    pub connected: bool,
    /// Blocks here, running and waiting.
    pub in_hand: u32,
}

pub(super) fn welcome(setup: &TaskSetup, worker: Option<u32>) -> NativeWelcome {
    let geometry = &setup.geometry;
    let numbers = |entries: &[i64]| entries.iter().map(|&entry| entry as f64).collect();
    NativeWelcome {
        spec: NativeTaskSpec {
            task_id: geometry.task_id.clone(),
            total_offset: numbers(&geometry.total_offset),
            total_shape: numbers(&geometry.total_shape),
            read_offset: numbers(&geometry.read_offset),
            read_shape: numbers(&geometry.read_shape),
            write_offset: numbers(&geometry.write_offset),
            write_shape: numbers(&geometry.write_shape),
            fit: Fit::from(geometry.fit).name().to_owned(),
            read_write_conflict: geometry.read_write_conflict,
            max_retries: 0,
            allow_uncovered: false,
        },
        timeout_ms: setup.timeout_millis as f64,
        resource_tracking: setup.resource_tracking,
        on_block_error: if setup.restart_on_error {
            "restart-worker"
        } else {
            "keep-worker"
        }
        .to_owned(),
        concurrency: setup.concurrency,
        log_dir: setup.log_dir.clone(),
        function_reference: setup.function.clone(),
        config: (!setup.config.0.is_empty()).then(|| Uint8Array::from(setup.config.0.as_slice())),
        worker_id: worker.unwrap_or(u32::MAX),
    }
}

impl From<&End> for NativeClientEnd {
    fn from(end: &End) -> Self {
        Self {
            reason: end.message().to_owned(),
            exit_code: end.exit_code(),
            sent_home: matches!(end, End::Shutdown(_)),
        }
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

impl From<NotInHand> for Failure {
    fn from(error: NotInHand) -> Self {
        NativeError::validation(
            "block",
            format!("{error}: it was finished already, or never acquired"),
        )
    }
}
