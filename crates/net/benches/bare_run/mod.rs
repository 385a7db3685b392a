//! What the benches of a run share: a task of no-op blocks, and a host without processes to start.

use std::sync::mpsc;

use bellis_core::run::{FailureReport, KillReason, Run, RunConfig, RunSnapshot, WorkerId};
use bellis_core::{BlockIndex, Roi, Scheduler, TaskGraph, TaskIndex, TaskSpec};
use bellis_net::message::{Bytes, Fit, TaskGeometry, TaskSetup};
use bellis_net::{Ended, Host, Notice};

/// A run of one 1-D task whose blocks don't depend on each other, and what its workers are told.
pub(crate) fn run_of(blocks: u64, config: RunConfig) -> (Run, TaskSetup) {
    let roi = |shape: i64| Roi::from_slices(&[0], &[shape]).unwrap();
    let mut spec = TaskSpec::new("t", roi(blocks as i64), roi(1), roi(1));
    spec.read_write_conflict = false;
    let graph = TaskGraph::new(vec![spec], &[]).unwrap();
    let scheduler = Scheduler::eager(graph, Vec::new()).unwrap();
    let one = || vec![1];
    let setup = TaskSetup {
        geometry: TaskGeometry {
            task_id: "t".into(),
            total_offset: vec![0],
            total_shape: vec![blocks as i64],
            read_offset: vec![0],
            read_shape: one(),
            write_offset: vec![0],
            write_shape: one(),
            fit: Fit::Valid,
            read_write_conflict: false,
        },
        timeout_millis: 600_000,
        resource_tracking: false,
        restart_on_error: true,
        concurrency: 1,
        log_dir: None,
        function: String::new(),
        config: Bytes::default(),
    };
    (Run::new(scheduler, config).unwrap(), setup)
}

/// Leaves starting a worker to a closure, tells when the run is over, and prints what went wrong.
pub(crate) struct BareHost<Start> {
    pub(crate) start: Start,
    pub(crate) ended: mpsc::Sender<Ended>,
}

impl<Start: FnMut(WorkerId) + Send> Host for BareHost<Start> {
    fn start_worker(&mut self, _: TaskIndex, worker: WorkerId) {
        (self.start)(worker);
    }
    fn kill_worker(&mut self, worker: WorkerId, reason: KillReason) {
        println!("  worker {worker:?} should be killed: {reason:?}");
    }
    fn check(&mut self, _: TaskIndex, _: &[BlockIndex]) {}
    fn failed(&mut self, report: &FailureReport) {
        println!("  {report:?}");
    }
    fn notice(&mut self, notice: Notice) {
        println!("  {notice:?}");
    }
    fn task_finished(&mut self, _: TaskIndex) {}
    fn progress(&mut self, _: RunSnapshot) {}
    fn finished(&mut self, ended: Ended) {
        self.ended.send(ended).unwrap();
    }
}
