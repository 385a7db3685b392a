//! The dependency graph for people who look inside.

use std::cell::RefCell;

use bellis_core::{BlockGrid, BlockIndex, TaskGraph, TaskIndex, TaskSpec};
use napi::bindgen_prelude::{BigInt, Float64Array, Object};
use napi::Env;
use napi_derive::napi;

use crate::dto::{self, NativeTaskSpec, MAX_SAFE_INTEGER};
use crate::error::{envelope, Failure, NativeError};
use crate::handles::Handles;

thread_local! {
    static GRAPHS: RefCell<Handles<TaskGraph>> = const { RefCell::new(Handles::new("graph")) };
}

fn with<T>(handle: u32, body: impl FnOnce(&TaskGraph) -> Result<T, Failure>) -> Result<T, Failure> {
    GRAPHS.with_borrow_mut(|graphs| body(graphs.get(handle)?))
}

/// Tasks as core knows them; an error names the task by its position.
pub(crate) fn core_specs<'a>(
    specs: impl IntoIterator<Item = &'a NativeTaskSpec>,
) -> Result<Vec<TaskSpec>, Failure> {
    let core = specs.into_iter().enumerate().map(|(index, spec)| {
        spec.to_core()
            .map_err(|error| error.under(&format!("tasks[{index}]")))
    });
    core.collect()
}

/// Makes a graph of tasks and `edges` (pairs of upstream and downstream positions).
#[napi(ts_return_type = "{ ok: number } | { error: NativeError }")]
pub fn graph_new<'env>(
    env: &'env Env,
    specs: Vec<NativeTaskSpec>,
    #[napi(ts_arg_type = "[number, number][]")] edges: Vec<Vec<u32>>,
) -> napi::Result<Object<'env>> {
    envelope(env, || {
        let graph = TaskGraph::new(core_specs(&specs)?, &dto::edges(&edges)?)?;
        GRAPHS.with_borrow_mut(|graphs| graphs.insert(graph))
    })
}

/// Drops a graph; unknown handles are ignored.
#[napi(catch_unwind)]
pub fn graph_free(handle: u32) {
    GRAPHS.with_borrow_mut(|graphs| graphs.remove(handle));
}

/// Number of blocks of a task.
#[napi(ts_return_type = "{ ok: bigint } | { error: NativeError }")]
pub fn graph_count(env: &Env, handle: u32, task: u32) -> napi::Result<Object<'_>> {
    envelope(env, || {
        with(handle, |graph| {
            Ok(BigInt::from(graph.grid(TaskIndex(task))?.count()))
        })
    })
}

/// Blocks that wait for no other block of their task.
#[napi(ts_return_type = "{ ok: bigint } | { error: NativeError }")]
pub fn graph_root_count(env: &Env, handle: u32, task: u32) -> napi::Result<Object<'_>> {
    envelope(env, || {
        with(handle, |graph| {
            Ok(BigInt::from(graph.grid(TaskIndex(task))?.root_count()))
        })
    })
}

/// Number of levels: 1 without conflicts, 0 with conflicts and no blocks.
#[napi(ts_return_type = "{ ok: number } | { error: NativeError }")]
pub fn graph_level_count(env: &Env, handle: u32, task: u32) -> napi::Result<Object<'_>> {
    envelope(env, || {
        with(handle, |graph| {
            Ok(graph.grid(TaskIndex(task))?.level_count() as f64)
        })
    })
}

/// Level of the block with a row-major index.
#[napi(ts_return_type = "{ ok: number } | { error: NativeError }")]
pub fn graph_level(env: &Env, handle: u32, task: u32, block: f64) -> napi::Result<Object<'_>> {
    envelope(env, || {
        with(handle, |graph| {
            let grid = graph.grid(TaskIndex(task))?;
            Ok(grid.level(known(grid, block)?) as f64)
        })
    })
}

/// Up to `count` block indices in the order of hand-out: the first ones, or those that follow `after`.
/// Fewer than `count` mean that the end was reached.
#[napi(ts_return_type = "{ ok: Float64Array } | { error: NativeError }")]
pub fn graph_blocks<'env>(
    env: &'env Env,
    handle: u32,
    task: u32,
    #[napi(ts_arg_type = "number | null")] after: Option<f64>,
    count: u32,
) -> napi::Result<Object<'env>> {
    envelope(env, || {
        with(handle, |graph| {
            let grid = graph.grid(TaskIndex(task))?;
            if grid.count() > MAX_SAFE_INTEGER as u128 {
                let message = format!(
                    "the task has {} blocks: more than 2^53 can be counted but not listed",
                    grid.count()
                );
                return Err(NativeError::validation("totalRoi", message));
            }
            let first = match after {
                None => grid.first_in_order(),
                Some(block) => grid.next_in_order(known(grid, block)?),
            };
            let blocks = std::iter::successors(first, |&block| grid.next_in_order(block));
            let indices = blocks.take(count as usize).map(|block| block.0 as f64);
            Ok(Float64Array::new(indices.collect()))
        })
    })
}

/// Blocks that a block waits for, as pairs of task and block index: own task first, then by task; by
/// ascending number in each.
#[napi(ts_return_type = "{ ok: Float64Array } | { error: NativeError }")]
pub fn graph_upstream(env: &Env, handle: u32, task: u32, block: f64) -> napi::Result<Object<'_>> {
    envelope(env, || {
        with(handle, |graph| {
            let block = known(graph.grid(TaskIndex(task))?, block)?;
            pairs(graph.upstream(TaskIndex(task), block)?)
        })
    })
}

/// Blocks that wait for a block, in the form of `graphUpstream`.
#[napi(ts_return_type = "{ ok: Float64Array } | { error: NativeError }")]
pub fn graph_downstream(env: &Env, handle: u32, task: u32, block: f64) -> napi::Result<Object<'_>> {
    envelope(env, || {
        with(handle, |graph| {
            let block = known(graph.grid(TaskIndex(task))?, block)?;
            pairs(graph.downstream(TaskIndex(task), block)?)
        })
    })
}

/// Refuses a graph in which some block reads nothing that an upstream task writes.
#[napi(ts_return_type = "{ ok: null } | { error: NativeError }")]
pub fn graph_check_covered(env: &Env, handle: u32) -> napi::Result<Object<'_>> {
    envelope(env, || with(handle, |graph| Ok(graph.check_covered()?)))
}

/// Positions of the tasks in the order in which they are shown.
#[napi(ts_return_type = "{ ok: number[] } | { error: NativeError }")]
pub fn graph_display_order(env: &Env, handle: u32) -> napi::Result<Object<'_>> {
    envelope(env, || {
        with(handle, |graph| {
            Ok(graph
                .display_order()
                .into_iter()
                .map(|task| task.0)
                .collect::<Vec<_>>())
        })
    })
}

/// The block with an index from JavaScript, if the grid has it.
fn known(grid: &BlockGrid, block: f64) -> Result<BlockIndex, Failure> {
    let index = BlockIndex(block as u64);
    if block >= 0.0 && block.fract() == 0.0 && grid.contains(index) {
        return Ok(index);
    }
    let message = format!(
        "the task has no block with index {block}; it has {} blocks",
        grid.count()
    );
    Err(NativeError::validation("block", message).value(block.to_string()))
}

fn pairs(blocks: Vec<(TaskIndex, BlockIndex)>) -> Result<Float64Array, Failure> {
    let mut numbers = Vec::with_capacity(2 * blocks.len());
    for (task, block) in blocks {
        if block.0 as f64 > MAX_SAFE_INTEGER {
            let message = format!("block {} can't be named: its index is beyond 2^53", block.0);
            return Err(NativeError::validation("block", message));
        }
        numbers.extend([f64::from(task.0), block.0 as f64]);
    }
    Ok(Float64Array::new(numbers))
}
