//! The scheduler for people who drive it themselves. Except for making and freeing one, all calls are
//! hot: arguments and results are in the shared buffer, and -2 means that `takeError` has an error.

use std::cell::RefCell;

use bellis_core::{BlockIndex, FailOutcome, Scheduler, SkipMask, TaskGraph, TaskIndex, TaskInputs};
use napi::bindgen_prelude::{Object, Uint8Array};
use napi::Env;
use napi_derive::napi;

use crate::dto::{self, NativeTaskSpec};
use crate::error::{envelope, sentinel, Failure};
use crate::graph::core_specs;
use crate::handles::Handles;
use crate::shared_buffer::{SharedBuffer, ARGUMENTS, BATCH};

struct Driven {
    scheduler: Scheduler,
    /// Kept between batches, so that a batch allocates nothing.
    batch: Vec<BlockIndex>,
}

thread_local! {
    static SCHEDULERS: RefCell<Handles<Driven>> = const { RefCell::new(Handles::new("scheduler")) };
}

/// Runs `body` with the scheduler and the task that slots 0 and 1 name.
#[inline]
fn hot(body: impl FnOnce(&mut Driven, TaskIndex, &SharedBuffer) -> Result<f64, Failure>) -> f64 {
    sentinel(|| {
        SharedBuffer::with(|shared| {
            SCHEDULERS.with_borrow_mut(|schedulers| {
                let driven = schedulers.get(shared.get_u32(0))?;
                body(driven, TaskIndex(shared.get_u32(1)), shared)
            })
        })
    })
}

/// Makes a scheduler for tasks and `edges` (pairs of upstream and downstream positions). A mask has one
/// byte per block, not zero where the block is to be skipped. Refuses uncovered pipelines.
#[napi(ts_return_type = "{ ok: number } | { error: NativeError }")]
pub fn scheduler_new(
    env: &Env,
    specs: Vec<NativeTaskSpec>,
    #[napi(ts_arg_type = "[number, number][]")] edges: Vec<Vec<u32>>,
    #[napi(ts_arg_type = "(Uint8Array | null)[]")] masks: Vec<Option<Uint8Array>>,
) -> napi::Result<Object<'_>> {
    envelope(env, || {
        let graph = TaskGraph::new(core_specs(&specs)?, &dto::edges(&edges)?)?;
        let inputs = masks.into_iter().map(|mask| TaskInputs {
            done: None,
            skip_mask: mask.map(|cells| SkipMask::new(cells.to_vec())),
            has_check: false,
            verify_done: false,
        });
        let scheduler = Scheduler::new(graph, inputs.collect())?;
        SCHEDULERS.with_borrow_mut(|schedulers| {
            schedulers.insert(Driven {
                scheduler,
                batch: Vec::new(),
            })
        })
    })
}

/// Drops a scheduler; unknown handles are ignored.
#[napi(catch_unwind)]
pub fn scheduler_free(handle: u32) {
    SCHEDULERS.with_borrow_mut(|schedulers| schedulers.remove(handle));
}

/// Slots: 0 handle, 1 task. Returns the index of the block handed out, or -1 when none is ready.
#[napi]
pub fn scheduler_acquire() -> f64 {
    hot(|driven, task, _| {
        Ok(driven
            .scheduler
            .acquire(task)
            .map_or(-1.0, |block| block.0 as f64))
    })
}

/// Slots: 0 handle, 1 task, 2 block index. The block is done.
#[napi]
pub fn scheduler_release() -> f64 {
    hot(|driven, task, shared| {
        driven
            .scheduler
            .release(task, BlockIndex(shared.get_u64(2)))?;
        Ok(0.0)
    })
}

/// Slots: 0 handle, 1 task, 2 block index. The attempt failed: 0 when the block will be tried again, 1 when not.
#[napi]
pub fn scheduler_fail() -> f64 {
    hot(|driven, task, shared| {
        Ok(number(
            driven.scheduler.fail(task, BlockIndex(shared.get_u64(2)))?,
        ))
    })
}

/// Slots: 0 handle, 1 task, 2 block index. A check function said that the block is done: it counts as skipped.
#[napi]
pub fn scheduler_skip() -> f64 {
    hot(|driven, task, shared| {
        driven.scheduler.skip(task, BlockIndex(shared.get_u64(2)))?;
        Ok(0.0)
    })
}

/// Slots: 0 handle, 1 task, 2 how many at most (and at most 8192). Returns how many block indices it wrote
/// from slot 16 on.
#[napi]
pub fn scheduler_acquire_batch() -> f64 {
    hot(|driven, task, shared| {
        let most = (shared.get_u32(2) as usize).min(BATCH);
        driven.batch.clear();
        driven
            .scheduler
            .acquire_batch(task, most, &mut driven.batch);
        for (slot, block) in driven.batch.iter().enumerate() {
            shared.set(ARGUMENTS + slot, block.0 as f64);
        }
        Ok(driven.batch.len() as f64)
    })
}

/// Slots: 0 handle, 1 task, 2 count, and from 16 on block indices, those that failed as -1 - index. Entries that
/// failed are replaced: 0 will be tried again, 1 won't. Changes nothing when one of the blocks isn't held.
#[napi]
pub fn scheduler_release_batch() -> f64 {
    hot(|driven, task, shared| {
        let count = (shared.get_u32(2) as usize).min(BATCH);
        let slots = ARGUMENTS..ARGUMENTS + count;
        for slot in slots.clone() {
            let block = returned(shared.get(slot)).0;
            if !driven.scheduler.is_held(task, block) {
                driven.scheduler.release(task, block)?;
            }
        }
        for slot in slots {
            match returned(shared.get(slot)) {
                (block, false) => driven.scheduler.release(task, block)?,
                (block, true) => shared.set(slot, number(driven.scheduler.fail(task, block)?)),
            }
        }
        Ok(count as f64)
    })
}

/// An entry of a batch: the block, and whether it failed.
fn returned(entry: f64) -> (BlockIndex, bool) {
    if entry < 0.0 {
        (BlockIndex((-1.0 - entry) as u64), true)
    } else {
        (BlockIndex(entry as u64), false)
    }
}

fn number(outcome: FailOutcome) -> f64 {
    match outcome {
        FailOutcome::Retry { .. } => 0.0,
        FailOutcome::Permanent { .. } => 1.0,
    }
}

/// Slots: 0 handle, 1 task; writes from slot 2 on total, ready, pending, processing, completed, skipped,
/// failed and orphaned. Returns 0.
#[napi]
pub fn scheduler_counters() -> f64 {
    hot(|driven, task, shared| {
        let counters = driven.scheduler.counters(task);
        let numbers = [
            counters.total,
            counters.ready,
            counters.pending,
            counters.processing,
            counters.completed,
            counters.skipped,
            counters.failed,
            counters.orphaned,
        ];
        for (slot, number) in numbers.into_iter().enumerate() {
            shared.set(2 + slot, number as f64);
        }
        Ok(0.0)
    })
}
