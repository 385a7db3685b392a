//! What a run is made of, as `src/run` says it.

use std::collections::HashMap;

use napi::bindgen_prelude::Uint8Array;
use napi_derive::napi;

use crate::dto::{NativeRoi, NativeTaskSpec};

/// A run: its tasks and the rules for all of them. `null` means not given.
#[napi(object, use_nullable = true)]
pub struct NativeRunConfig {
    /// The tasks, in pipeline order.
    pub tasks: Vec<NativeRunTask>,
    /// Pairs of upstream and downstream task positions.
    #[napi(ts_type = "[number, number][]")]
    pub edges: Vec<Vec<u32>>,
    /// Global budget of named resources.
    pub resources: HashMap<String, f64>,
    /// Which task is served first; `null` is round robin in pipeline order.
    #[napi(ts_type = "'levels' | 'depth-first'")]
    pub order: Option<String>,
    /// The run stops after that many permanently failed blocks.
    pub max_failures: Option<f64>,
    /// The run stops at the first permanent failure.
    pub fail_fast: bool,
    /// How long running blocks may go on after an interrupt, in milliseconds.
    pub shutdown_grace_ms: f64,
    /// `null` is loopback, `'auto'` finds an address, else a name or address to bind and advertise.
    pub host: Option<String>,
    /// 16 hex digits, for messages.
    pub run_id: String,
    /// Directory of the worker logs, passed on to workers.
    pub log_dir: Option<String>,
    /// How many failures per task are kept in the result; the rest is counted.
    pub failures_kept: u32,
    /// How many local workers may start at once.
    pub cores: u32,
}

/// One task of a run.
#[napi(object, use_nullable = true)]
pub struct NativeRunTask {
    /// Geometry and retries.
    pub spec: NativeTaskSpec,
    /// Workers at once.
    pub max_workers: u32,
    /// Starts beyond `maxWorkers` over the run.
    pub max_worker_restarts: u32,
    /// Time a block may take, in milliseconds.
    pub timeout_ms: f64,
    /// Cost of one worker in named resources.
    pub requires: HashMap<String, f64>,
    /// Higher goes first; 0 is usual.
    pub priority: f64,
    /// Delay before a failed block is tried again, in milliseconds; doubles with each attempt.
    pub retry_delay_ms: f64,
    /// What a worker does after a block that threw.
    #[napi(ts_type = "'restart-worker' | 'keep-worker'")]
    pub on_block_error: String,
    /// A start that isn't connected by then is lost, in milliseconds; `null` is never.
    pub connect_timeout_ms: Option<f64>,
    /// Blocks that one worker runs at once.
    pub concurrency: u32,
    /// Workers are processes on this machine: their starts are paced to the cores.
    pub local: bool,
    /// Directory of the tracking store; `null` is none.
    pub tracking_path: Option<String>,
    /// Blocks are measured in the worker and the figures kept in the store.
    pub resource_tracking: bool,
    /// What happens to a store of another layout.
    #[napi(ts_type = "'error' | 'recreate'")]
    pub on_layout_mismatch: String,
    /// The total region that an old store without structural parameters was made for.
    pub grown_from: Option<NativeRoi>,
    /// One byte per block, row-major; not zero is to be skipped.
    pub skip_mask: Option<Uint8Array>,
    /// Blocks are to be asked about through `check` events.
    pub has_check: bool,
    /// Done blocks are asked about too.
    pub verify_done: bool,
    /// Opaque; travels to the workers.
    pub function_reference: String,
    /// Opaque; travels to the workers.
    pub config: Option<Uint8Array>,
}
