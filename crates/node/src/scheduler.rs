//! The scheduler for people who drive it themselves. Except for making and freeing one, all calls are
//! hot: arguments and results are in the shared buffer, and -2 means that `takeError` has an error.

use std::cell::RefCell;
use std::path::Path;

use bellis_core::{
    BlockIndex, DoneMap, FailOutcome, Scheduler, SkipMask, TaskGraph, TaskIndex, TaskInputs,
};
use bellis_tracking::{StoreKeeper, TrackingStore};
use napi::bindgen_prelude::{Object, Uint8Array};
use napi::Env;
use napi_derive::napi;

use crate::dto::{self, NativeRoi, NativeTaskSpec};
use crate::error::{envelope, sentinel, Failure};
use crate::graph::core_specs;
use crate::handles::Handles;
use crate::shared_buffer::{SharedBuffer, ARGUMENTS, BATCH};
use crate::store_plan::StorePlan;

/// A task for a scheduler.
#[napi(object, use_nullable = true)]
pub struct NativeScheduledTask {
    /// Geometry and retries.
    pub spec: NativeTaskSpec,
    /// One byte per block, row-major; not zero is to be skipped.
    pub skip_mask: Option<Uint8Array>,
    /// Whoever drives the scheduler asks a function about each block that is handed out.
    pub has_check: bool,
    /// Done blocks are handed out too, to be asked about.
    pub verify_done: bool,
    /// Directory of the tracking store; `null` is none.
    pub tracking_path: Option<String>,
    /// What happens to a store of another layout.
    #[napi(ts_type = "'error' | 'recreate'")]
    pub on_layout_mismatch: String,
    /// The total region that an old store without structural parameters was made for.
    pub grown_from: Option<NativeRoi>,
}

struct Driven {
    scheduler: Scheduler,
    /// Of the stores, where there are any.
    keepers: Vec<StoreKeeper>,
    /// Whether blocks are to be recorded.
    records: bool,
    /// Kept between batches, so that a batch allocates nothing.
    batch: Vec<BlockIndex>,
}

impl Driven {
    fn release(&mut self, task: TaskIndex, block: BlockIndex) -> Result<(), Failure> {
        if self.records && self.scheduler.is_held(task, block) {
            self.scheduler.record_done(task, block, None)?;
        }
        Ok(self.scheduler.release(task, block)?)
    }

    fn skip(&mut self, task: TaskIndex, block: BlockIndex) -> Result<(), Failure> {
        if self.records && self.scheduler.is_held(task, block) {
            self.scheduler.record_done(task, block, None)?;
        }
        Ok(self.scheduler.skip(task, block)?)
    }

    /// A block that was handed out loses the mark of an earlier run: it is about to run again.
    fn take_back(&mut self, task: TaskIndex, block: BlockIndex) -> Result<(), Failure> {
        if self.records && self.scheduler.is_held(task, block) {
            self.scheduler.record_undone(task, block)?;
        }
        Ok(())
    }

    fn fail(&mut self, task: TaskIndex, block: BlockIndex) -> Result<FailOutcome, Failure> {
        if self.records && self.scheduler.is_held(task, block) {
            self.scheduler.record_failure(task, block)?;
        }
        Ok(self.scheduler.fail(task, block)?)
    }
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

/// Makes a scheduler for tasks and `edges` (pairs of upstream and downstream positions) and opens their stores.
/// Refuses uncovered pipelines.
#[napi(ts_return_type = "{ ok: number } | { error: NativeError }")]
pub fn scheduler_new<'env>(
    env: &'env Env,
    tasks: Vec<NativeScheduledTask>,
    #[napi(ts_arg_type = "[number, number][]")] edges: Vec<Vec<u32>>,
) -> napi::Result<Object<'env>> {
    envelope(env, || {
        let specs = core_specs(tasks.iter().map(|task| &task.spec))?;
        let graph = TaskGraph::new(specs, &dto::edges(&edges)?)?;
        graph.check_covered()?;
        let mut keepers = Vec::new();
        let mut inputs = Vec::with_capacity(tasks.len());
        for task in &tasks {
            let store = open_store(task)?;
            keepers.extend(store.as_ref().map(TrackingStore::keeper));
            inputs.push(TaskInputs {
                done: store.map(|store| Box::new(store) as Box<dyn DoneMap + Send>),
                skip_mask: task
                    .skip_mask
                    .as_ref()
                    .map(|cells| SkipMask::new(cells.to_vec())),
                has_check: task.has_check,
                verify_done: task.verify_done,
            });
        }
        let driven = Driven {
            scheduler: Scheduler::new(graph, inputs)?,
            records: !keepers.is_empty(),
            keepers,
            batch: Vec::new(),
        };
        SCHEDULERS.with_borrow_mut(|schedulers| schedulers.insert(driven))
    })
}

fn open_store(task: &NativeScheduledTask) -> Result<Option<TrackingStore>, Failure> {
    let plan = |path| StorePlan {
        path: Path::new(path),
        spec: &task.spec,
        resource_tracking: false,
        on_layout_mismatch: &task.on_layout_mismatch,
        grown_from: task.grown_from.as_ref(),
    };
    task.tracking_path
        .as_deref()
        .map(|path| plan(path).open())
        .transpose()
}

/// Drops a scheduler; unknown handles are ignored. What is recorded stays, but isn't on the disk for sure.
#[napi(catch_unwind)]
pub fn scheduler_free(handle: u32) {
    SCHEDULERS.with_borrow_mut(|schedulers| schedulers.remove(handle));
}

/// Writes the stores to the disk and drops a scheduler; unknown handles are ignored.
#[napi(ts_return_type = "{ ok: null } | { error: NativeError }")]
pub fn scheduler_close(env: &Env, handle: u32) -> napi::Result<Object<'_>> {
    envelope(env, || {
        let driven = SCHEDULERS.with_borrow_mut(|schedulers| schedulers.remove(handle));
        for keeper in driven.iter().flat_map(|driven| &driven.keepers) {
            keeper.flush()?;
        }
        Ok(())
    })
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
        driven.release(task, BlockIndex(shared.get_u64(2)))?;
        Ok(0.0)
    })
}

/// Slots: 0 handle, 1 task, 2 block index. The attempt failed: 0 when the block will be tried again, 1 when not.
#[napi]
pub fn scheduler_fail() -> f64 {
    hot(|driven, task, shared| Ok(number(driven.fail(task, BlockIndex(shared.get_u64(2)))?)))
}

/// Slots: 0 handle, 1 task, 2 block index. A check function said that the block is done: it counts as skipped.
#[napi]
pub fn scheduler_skip() -> f64 {
    hot(|driven, task, shared| {
        driven.skip(task, BlockIndex(shared.get_u64(2)))?;
        Ok(0.0)
    })
}

/// Slots: 0 handle, 1 task, 2 block index. A check function said that the block, which may be marked as done, isn't:
/// the mark is taken back.
#[napi]
pub fn scheduler_take_back() -> f64 {
    hot(|driven, task, shared| {
        driven.take_back(task, BlockIndex(shared.get_u64(2)))?;
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

/// Slots: 0 handle, 1 task, 2 count, 3 whether some may have failed (0 or 1), and from 16 on block indices, those that
/// failed as -1 - index. Entries that failed are replaced: 0 will be tried again, 1 won't. Changes nothing when one of
/// the blocks isn't held.
#[napi]
pub fn scheduler_release_batch() -> f64 {
    hot(|driven, task, shared| {
        let count = (shared.get_u32(2) as usize).min(BATCH);
        let slots = ARGUMENTS..ARGUMENTS + count;
        let may_fail = shared.get(3) != 0.0;
        for slot in slots.clone() {
            let block = returned(shared.get(slot), may_fail).0;
            if !driven.scheduler.is_held(task, block) {
                driven.scheduler.release(task, block)?;
            }
        }
        for slot in slots {
            match returned(shared.get(slot), may_fail) {
                (block, false) => driven.release(task, block)?,
                (block, true) => shared.set(slot, number(driven.fail(task, block)?)),
            }
        }
        Ok(count as f64)
    })
}

/// An entry of a batch: the block, and whether it failed. What is no index, such as NaN or a fraction, becomes one
/// that no task has.
fn returned(entry: f64, may_fail: bool) -> (BlockIndex, bool) {
    let failed = may_fail && entry < 0.0;
    let place = if failed { -1.0 - entry } else { entry };
    let index = place as u64;
    let block = if index as f64 == place {
        index
    } else {
        u64::MAX
    };
    (BlockIndex(block), failed)
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
