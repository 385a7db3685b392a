//! From what JavaScript says of a run to the run: graph, stores, settings. Touches the disk, so it runs in
//! the thread pool.

use std::collections::HashMap;
use std::path::Path;

use bellis_core::run::{Nanos, OnBlockError, RunConfig, TaskConfig};
use bellis_core::{DoneMap, Fit, Order, SkipMask, TaskGraph, TaskInputs};
use bellis_net::message::{Bytes, TaskGeometry, TaskSetup};
use bellis_tracking::{Notice, StoreKeeper};

use super::config::{NativeRunConfig, NativeRunTask};
use crate::dto::{self, integers, NativeTaskSpec};
use crate::error::Failure;
use crate::graph::core_specs;
use crate::store_plan::StorePlan;

/// The stores of a run, and what the scheduler is told about each task.
pub(super) struct Stores {
    pub(super) inputs: Vec<TaskInputs>,
    pub(super) keepers: Vec<StoreKeeper>,
    /// What is worth telling, by position of the task.
    pub(super) notices: Vec<(u32, Notice)>,
}

/// The tasks and their edges; refuses pipelines with uncovered blocks. `with_retries`: else each block has one
/// attempt.
pub(super) fn graph(config: &NativeRunConfig, with_retries: bool) -> Result<TaskGraph, Failure> {
    let mut specs = core_specs(config.tasks.iter().map(|task| &task.spec))?;
    if !with_retries {
        specs.iter_mut().for_each(|spec| spec.max_retries = 0);
    }
    let graph = TaskGraph::new(specs, &dto::edges(&config.edges)?)?;
    graph.check_covered()?;
    Ok(graph)
}

/// Opens all stores. When one can't be opened, those before it are given back.
pub(super) fn open_stores(config: &NativeRunConfig) -> Result<Stores, Failure> {
    let mut stores = Stores {
        inputs: Vec::new(),
        keepers: Vec::new(),
        notices: Vec::new(),
    };
    for (position, task) in config.tasks.iter().enumerate() {
        let mut done: Option<Box<dyn DoneMap + Send>> = None;
        if let Some(path) = &task.tracking_path {
            let mut store = StorePlan {
                path: Path::new(path),
                spec: &task.spec,
                resource_tracking: task.resource_tracking,
                on_layout_mismatch: &task.on_layout_mismatch,
                grown_from: task.grown_from.as_ref(),
            }
            .open()?;
            let notices = store.take_notices().into_iter();
            stores
                .notices
                .extend(notices.map(|notice| (position as u32, notice)));
            stores.keepers.push(store.keeper());
            done = Some(Box::new(store));
        }
        stores.inputs.push(TaskInputs {
            done,
            skip_mask: task
                .skip_mask
                .as_ref()
                .map(|cells| SkipMask::new(cells.to_vec())),
            has_check: task.has_check,
            verify_done: task.verify_done,
        });
    }
    Ok(stores)
}

/// The settings of a run that begins at `now`, in UNIX seconds.
pub(super) fn run_config(config: &NativeRunConfig, now: f64) -> RunConfig {
    let mut run = RunConfig::new(config.tasks.iter().map(task_config).collect());
    run.resources = amounts(&config.resources);
    run.order = order(config);
    run.max_failures = match config.max_failures {
        _ if config.fail_fast => Some(1),
        most => most.map(|most| most as u64),
    };
    run.shutdown_grace = nanos(config.shutdown_grace_ms);
    run.cores = config.cores.max(1);
    run.seed = u64::from_str_radix(&config.run_id, 16).unwrap_or_default();
    run.unix_seconds_at_zero = now;
    run.kept_failures = config.failures_kept as usize;
    run
}

/// Which ready block goes first.
pub(super) fn order(config: &NativeRunConfig) -> Order {
    match config.order.as_deref() {
        Some("depth-first") => Order::DepthFirst,
        _ => Order::Levels,
    }
}

fn task_config(task: &NativeRunTask) -> TaskConfig {
    TaskConfig {
        max_workers: task.max_workers,
        max_worker_restarts: task.max_worker_restarts,
        timeout: nanos(task.timeout_ms),
        requires: amounts(&task.requires),
        priority: task.priority as i32,
        retry_delay: nanos(task.retry_delay_ms),
        on_block_error: if keeps_worker(task) {
            OnBlockError::KeepWorker
        } else {
            OnBlockError::RestartWorker
        },
        connect_timeout: task.connect_timeout_ms.map(nanos),
        paced_starts: task.local,
        resource_tracking: task.resource_tracking,
        ..TaskConfig::default()
    }
}

fn keeps_worker(task: &NativeRunTask) -> bool {
    task.on_block_error == "keep-worker"
}

/// Named amounts in a fixed order. JavaScript has checked that they are whole and not negative.
fn amounts(resources: &HashMap<String, f64>) -> Vec<(String, u64)> {
    let mut amounts: Vec<_> = resources
        .iter()
        .map(|(name, &amount)| (name.clone(), amount as u64))
        .collect();
    amounts.sort();
    amounts
}

/// Milliseconds from JavaScript; what is too long for a run's clock is the longest there is.
fn nanos(ms: f64) -> Nanos {
    Nanos((ms * 1e6) as u64)
}

/// What workers are told.
pub(super) fn task_setups(config: &NativeRunConfig) -> Result<Vec<TaskSetup>, Failure> {
    let setup = |task: &NativeRunTask| {
        Ok(TaskSetup {
            geometry: geometry(&task.spec)?,
            timeout_millis: task.timeout_ms as u64,
            resource_tracking: task.resource_tracking,
            restart_on_error: !keeps_worker(task),
            concurrency: task.concurrency,
            log_dir: config.log_dir.clone(),
            function: task.function_reference.clone(),
            config: Bytes(
                task.config
                    .as_ref()
                    .map(|bytes| bytes.to_vec())
                    .unwrap_or_default(),
            ),
        })
    };
    config.tasks.iter().map(setup).collect()
}

fn geometry(spec: &NativeTaskSpec) -> Result<TaskGeometry, Failure> {
    Ok(TaskGeometry {
        task_id: spec.task_id.clone(),
        total_offset: integers("totalRoi.offset", &spec.total_offset)?,
        total_shape: integers("totalRoi.shape", &spec.total_shape)?,
        read_offset: integers("readRoi.offset", &spec.read_offset)?,
        read_shape: integers("readRoi.shape", &spec.read_shape)?,
        write_offset: integers("writeRoi.offset", &spec.write_offset)?,
        write_shape: integers("writeRoi.shape", &spec.write_shape)?,
        fit: spec.fit.parse::<Fit>()?.into(),
        read_write_conflict: spec.read_write_conflict,
    })
}
