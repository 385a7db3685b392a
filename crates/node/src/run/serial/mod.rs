//! A run without workers: the program's own thread takes blocks and gives them back.

mod flusher;
mod state;

use std::cell::RefCell;

use bellis_core::{BlockIndex, TaskIndex};
use napi::bindgen_prelude::{AsyncTask, Object, ToNapiValue};
use napi::Env;
use napi_derive::napi;

use self::state::{SerialRun, Taken};
use super::config::NativeRunConfig;
use super::report::{NativeErrorReport, NativeRunResult};
use crate::background::{background, Background, Envelope};
use crate::error::{envelope, guarded, sentinel, Failure, NativeError};
use crate::handles::Handles;
use crate::shared_buffer::SharedBuffer;

thread_local! {
    static RUNS: RefCell<Handles<SerialRun>> = const { RefCell::new(Handles::new("serial run")) };
}

/// A job for the thread pool that opens the stores of a serial run.
pub struct SerialStart(NativeRunConfig);

impl napi::Task for SerialStart {
    type Output = Result<SerialRun, Failure>;
    type JsValue = Envelope<u32>;

    fn compute(&mut self) -> napi::Result<Self::Output> {
        Ok(guarded(|| SerialRun::new(&self.0)))
    }

    fn resolve(&mut self, _env: Env, output: Self::Output) -> napi::Result<Self::JsValue> {
        let handle = output.and_then(|run| RUNS.with_borrow_mut(|runs| runs.insert(run)));
        Ok(crate::background::to_envelope(handle))
    }
}

/// Opens the stores of a run without workers.
#[napi(ts_return_type = "Promise<{ ok: number } | { error: NativeError }>")]
pub fn serial_start(config: NativeRunConfig) -> AsyncTask<SerialStart> {
    AsyncTask::new(SerialStart(config))
}

/// What opening the stores had to tell, once.
#[napi(ts_return_type = "{ ok: NativeRunEvent[] } | { error: NativeError }")]
pub fn serial_notices(env: &Env, handle: u32) -> napi::Result<Object<'_>> {
    cold(env, handle, |run| Ok(run.take_notices()))
}

/// Runs `body` with the run, task and block that slots 0, 1 and 2 name.
fn hot(
    body: impl FnOnce(&mut SerialRun, TaskIndex, BlockIndex, &SharedBuffer) -> Result<f64, Failure>,
) -> f64 {
    sentinel(|| {
        SharedBuffer::with(|shared| {
            RUNS.with_borrow_mut(|runs| {
                let run = runs.get(shared.get_u32(0))?;
                let (task, block) = (TaskIndex(shared.get_u32(1)), BlockIndex(shared.get_u64(2)));
                body(run, task, block, shared)
            })
        })
    })
}

fn cold<'env, T: ToNapiValue>(
    env: &'env Env,
    handle: u32,
    body: impl FnOnce(&mut SerialRun) -> Result<T, Failure>,
) -> napi::Result<Object<'env>> {
    envelope(env, || RUNS.with_borrow_mut(|runs| body(runs.get(handle)?)))
}

/// Slots: 0 handle, 1 task. The next block's index; -1 when none is ready, -3 when there is more to skip first, in
/// whatever task: call again.
#[napi]
pub fn serial_take() -> f64 {
    hot(|run, task, _, _| {
        Ok(match run.take(task)? {
            Taken::Block(block) => block.0 as f64,
            Taken::Nothing => -1.0,
            Taken::Skipping => -3.0,
        })
    })
}

/// Slots: 0 handle, 1 task, 2 block, 3 answer. What the check function said of a block that was taken: 0 not
/// done, 1 done (it is recorded and counts as skipped), 2 the function failed.
#[napi]
pub fn serial_checked() -> f64 {
    hot(|run, task, block, shared| {
        run.checked(task, block, shared.get_u32(3))?;
        Ok(0.0)
    })
}

/// Slots: 0 handle, 1 task, 2 block. The block begins to run; it is measured if its task asks for that.
#[napi]
pub fn serial_begin() -> f64 {
    hot(|run, task, block, _| {
        run.begin(task, block);
        Ok(0.0)
    })
}

/// Slots: 0 handle, 1 task, 2 block. The block is done and recorded. 1 when slots 3 to 7 hold its wall seconds,
/// processor seconds, peak memory, bytes read and written; 0 when it wasn't measured.
#[napi]
pub fn serial_release() -> f64 {
    hot(|run, task, block, shared| {
        let Some(stats) = run.release(task, block)? else {
            return Ok(0.0);
        };
        let numbers = [
            stats.wall_seconds,
            stats.cpu_seconds,
            stats.peak_rss_bytes as f64,
            stats.io_read_bytes as f64,
            stats.io_write_bytes as f64,
        ];
        for (slot, number) in numbers.into_iter().enumerate() {
            shared.set(3 + slot, number);
        }
        Ok(1.0)
    })
}

/// Slots: 0 handle, 1 task, 2 block. A block that was taken goes back as if it had never been.
#[napi]
pub fn serial_give_back() -> f64 {
    hot(|run, task, block, _| {
        run.give_back(task, block)?;
        Ok(0.0)
    })
}

/// The block failed, for good: a serial run has no retries.
#[napi(ts_return_type = "{ ok: null } | { error: NativeError }")]
pub fn serial_fail(
    env: &Env,
    handle: u32,
    task: u32,
    block: f64,
    error: NativeErrorReport,
) -> napi::Result<Object<'_>> {
    cold(env, handle, |run| {
        run.fail(TaskIndex(task), BlockIndex(block as u64), error.into())
    })
}

/// A narrower measurement of the block that runs begins.
#[napi(ts_return_type = "{ ok: null } | { error: NativeError }")]
pub fn serial_profile_start(env: &Env, handle: u32) -> napi::Result<Object<'_>> {
    cold(env, handle, |run| {
        run.profile_start();
        Ok(())
    })
}

/// The innermost measurement ends; the first to end counts.
#[napi(ts_return_type = "{ ok: null } | { error: NativeError }")]
pub fn serial_profile_end(env: &Env, handle: u32) -> napi::Result<Object<'_>> {
    cold(env, handle, |run| {
        run.profile_end();
        Ok(())
    })
}

/// The counters of all tasks.
#[napi(ts_return_type = "{ ok: NativeTaskState[] } | { error: NativeError }")]
pub fn serial_states(env: &Env, handle: u32) -> napi::Result<Object<'_>> {
    cold(env, handle, |run| Ok(run.states()))
}

/// Drops a serial run and closes its stores without waiting for the disk; unknown handles are ignored.
#[napi(catch_unwind)]
pub fn serial_free(handle: u32) {
    drop(RUNS.with_borrow_mut(|runs| runs.remove(handle)));
}

/// Writes the stores to the disk, closes them and tells how the run went; `outcome` is taken as given.
#[napi(ts_return_type = "Promise<{ ok: NativeRunResult } | { error: NativeError }>")]
pub fn serial_end(
    handle: u32,
    #[napi(ts_arg_type = "NativeRunResult['outcome']")] outcome: String,
) -> AsyncTask<Background<NativeRunResult>> {
    let run = RUNS.with_borrow_mut(|runs| runs.remove(handle));
    background(move || {
        let run = run.ok_or_else(|| NativeError::internal("the serial run has ended"))?;
        run.end(outcome)
    })
}
