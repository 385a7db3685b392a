//! The machine: takes an event, changes the state, leaves actions in the outbox.

use std::collections::VecDeque;

use super::alarms::{Alarm, Alarms};
use super::blocks::Blocks;
use super::connections::Connections;
use super::limbo::Limbo;
use super::random::Random;
use super::resources::Resources;
use super::shutdown::Phase;
use super::task_run::TaskRun;
use super::workers::Workers;
use super::{Event, Nanos, Outbox, Outcome, RunConfig, RunError, Warning};
use crate::{Scheduler, TaskIndex, TaskInputs};

use super::actions::Action;

/// A run: owns the scheduler, and says who gets which block, who is started and who has to go.
///
/// Pure state: time comes in with every event, and everything that must be done goes out as
/// [`Action`]s. Nothing that comes in can make it panic.
pub struct Run {
    pub(super) config: RunConfig,
    pub(super) blocks: Blocks,
    pub(super) tasks: Vec<TaskRun>,
    pub(super) connections: Connections,
    pub(super) workers: Workers,
    pub(super) resources: Resources,
    pub(super) alarms: Alarms,
    pub(super) random: Random,
    pub(super) phase: Phase,
    pub(super) outcome: Option<Outcome>,
    /// The latest time an event came with: time never runs backwards.
    pub(super) now: Nanos,
    pub(super) began: bool,
    /// Tasks that may have got work or come to an end.
    pub(super) touched: VecDeque<TaskIndex>,
    pub(super) rebalance_wanted: bool,
    /// Tasks in the order in which they get workers, those of one priority together.
    pub(super) start_order: Vec<Vec<TaskIndex>>,
    pub(super) limbo: Vec<Limbo>,
    /// Living workers that once were connected: the end of the run waits for them.
    pub(super) awaited: usize,
    /// Paced starts that haven't connected.
    pub(super) starting_paced: u32,
    pub(super) next_starts_alarm: Nanos,
    pub(super) sweep_due: Option<Nanos>,
    pub(super) skips_pending: bool,
    /// The last turn of skipping left some for the next.
    pub(super) skips_unfinished: bool,
    pub(super) warned_half_budget: bool,
    pub(super) failed_blocks: u64,
    /// Failures told in the current second.
    pub(super) told_failures: (Nanos, u32),
    pub(super) interrupted_at: Option<Nanos>,
}

impl Run {
    /// A run over the scheduler's tasks, which must be an eager one. The first event, whichever it
    /// is, begins it.
    ///
    /// # Errors
    /// [`RunError::TaskCount`] unless there is one configuration for each task;
    /// [`RunError::Resources`] when a worker of some task would need more than there is.
    pub fn new(scheduler: Scheduler, config: RunConfig) -> Result<Run, RunError> {
        let blocks = Blocks::new(scheduler, config.order);
        if config.tasks.len() != blocks.task_count() {
            let (given, tasks) = (config.tasks.len(), blocks.task_count());
            return Err(RunError::TaskCount { given, tasks });
        }
        let resources = Resources::new(&config)?;
        let tasks: Vec<TaskRun> = config
            .tasks
            .iter()
            .enumerate()
            .map(|(at, task)| {
                let index = TaskIndex(at as u32);
                let (upstream, downstream) = blocks.neighbours(index);
                TaskRun::new(task.clone(), upstream, downstream)
            })
            .collect();
        let start_order = super::starts::start_order(&config, &blocks.topological_order());
        Ok(Run {
            random: Random::new(config.seed),
            config,
            blocks,
            tasks,
            connections: Connections::default(),
            workers: Workers::default(),
            resources,
            alarms: Alarms::default(),
            phase: Phase::Running,
            outcome: None,
            now: Nanos::ZERO,
            began: false,
            touched: VecDeque::new(),
            rebalance_wanted: false,
            start_order,
            limbo: Vec::new(),
            awaited: 0,
            starting_paced: 0,
            next_starts_alarm: Nanos::MAX,
            sweep_due: None,
            skips_pending: true,
            skips_unfinished: true,
            warned_half_budget: false,
            failed_blocks: 0,
            told_failures: (Nanos::ZERO, 0),
            interrupted_at: None,
        })
    }

    /// Takes in one event. What has to be done is appended to `out`, in order.
    ///
    /// `now` is monotonic time since the start of the run; one that runs backwards stands still.
    pub fn handle(&mut self, now: Nanos, event: Event<'_>, out: &mut Outbox) {
        self.now = self.now.max(now);
        if !self.began {
            self.begin(out);
        }
        match event {
            Event::Connected { conn, hello } => self.on_connected(conn, hello, out),
            Event::Resumed {
                conn,
                previous,
                held,
            } => self.on_resumed(conn, previous, held, out),
            Event::Acquire { conn, n } => self.on_acquire(conn, n),
            Event::Released { conn, results } => self.on_released(conn, results, out),
            Event::Returned { conn, blocks } => self.on_returned(conn, blocks),
            Event::Heartbeat {
                conn,
                sent,
                round_trip,
                running,
            } => {
                self.on_heartbeat(conn, sent, round_trip, running);
            }
            Event::Disconnected { conn, loss } => self.on_disconnected(conn, loss, out),
            Event::Unusable { conn, fatal, error } => self.on_unusable(conn, fatal, error, out),
            Event::WorkerStarted {
                worker,
                exit_reported,
            } => {
                self.on_worker_started(worker, exit_reported, out);
            }
            Event::StartFailed { worker, error } => self.on_start_failed(worker, error, out),
            Event::WorkerExited { worker, exit } => self.on_worker_exited(worker, exit, out),
            Event::LastWords {
                conn,
                results,
                running,
            } => self.on_last_words(conn, results, running, out),
            Event::Checked { task, answers } => self.on_checked(task, answers, out),
            Event::Interrupt => self.on_interrupt(out),
            Event::Abort => self.on_abort(out),
            Event::Fatal(error) => self.fail(error, out),
            Event::Tick => {}
        }
        self.ring_alarms(out);
        self.settle(out);
        self.check_end(out);
    }

    /// When the run has to be told the time again, if nothing else happens before. In the past when
    /// there is work that was put off to let others have their turn.
    pub fn next_deadline(&self) -> Option<Nanos> {
        if !self.began {
            return Some(self.now);
        }
        self.alarms.next()
    }

    /// How the run ended; `None` before [`Action::Finished`].
    pub fn outcome(&self) -> Option<&Outcome> {
        match self.phase {
            Phase::Over => self.outcome.as_ref(),
            _ => None,
        }
    }

    /// Gives the done maps back, one entry for each task, when the run is over.
    pub fn into_inputs(self) -> Vec<TaskInputs> {
        self.blocks.into_inputs()
    }

    fn begin(&mut self, out: &mut Outbox) {
        self.began = true;
        for at in 0..self.tasks.len() {
            let task = TaskIndex(at as u32);
            if self.blocks.counters(task).total == 0 {
                out.push(Action::Warn(Warning::EmptyTask { task }));
            }
            self.touch(task);
        }
    }

    fn ring_alarms(&mut self, out: &mut Outbox) {
        // A bound, so that alarms set anew for this very moment wait for the next event.
        for _ in 0..64 {
            let Some((due, alarm)) = self.alarms.ring(self.now) else {
                return;
            };
            // When the driver itself was held up, messages and exits lie unread that came in time.
            let sweep = self.config.timing.sweep;
            if self.now - due > sweep && alarm.is_about_others() {
                self.alarms.set(self.now + sweep, alarm);
                continue;
            }
            match alarm {
                Alarm::Sweep => self.sweep(out),
                Alarm::Skips => self.skips_pending = true,
                Alarm::Retries => self.release_retries(),
                Alarm::Starts => {
                    self.next_starts_alarm = Nanos::MAX;
                    self.rebalance_wanted = true;
                }
                Alarm::Retract(task) => self.retract(TaskIndex(task), out),
                Alarm::Limbo => self.settle_due_limbo(out),
                Alarm::Connect(worker) => self.on_connect_timeout(worker, out),
                Alarm::KillConfirm(worker) => self.on_kill_unconfirmed(worker, out),
                Alarm::Leave(worker) => self.on_lingering(worker, out),
                Alarm::Grace => self.end_grace(out),
            }
        }
    }

    /// Looks at the task before this event is over.
    pub(super) fn touch(&mut self, task: TaskIndex) {
        let state = &mut self.tasks[task.at()];
        if !state.touched {
            state.touched = true;
            self.touched.push_back(task);
        }
    }

    pub(super) fn touch_downstream(&mut self, task: TaskIndex) {
        for at in 0..self.tasks[task.at()].downstream.len() {
            self.touch(self.tasks[task.at()].downstream[at]);
        }
    }

    pub(super) fn touch_all(&mut self) {
        for at in 0..self.tasks.len() {
            self.touch(TaskIndex(at as u32));
        }
    }

    /// Hands out what can be, starts who is needed, and notices what has come to its end, until
    /// nothing changes any more.
    fn settle(&mut self, out: &mut Outbox) {
        loop {
            if self.skips_pending && self.is_running() {
                self.drain_skips();
            }
            while let Some(task) = self.touched.pop_front() {
                self.tasks[task.at()].touched = false;
                self.settle_task(task, out);
            }
            if self.rebalance_wanted {
                self.rebalance_wanted = false;
                self.rebalance(out);
            }
            if self.touched.is_empty() {
                return;
            }
        }
    }

    fn settle_task(&mut self, task: TaskIndex, out: &mut Outbox) {
        if !self.is_running() || self.tasks[task.at()].finished {
            return;
        }
        self.pump_checks(task, out);
        self.serve(task, out);
        if self.blocks.is_finished(task) {
            self.finish_task(task, out);
            return;
        }
        self.tend_idle(task, out);
        self.consider_abandonment(task, out);
        if self.wants_worker(task) {
            let lacks = !self.resources.fit(task) && !self.tasks[task.at()].waits_for_resources;
            let forgotten = self.next_starts_alarm == Nanos::MAX;
            self.rebalance_wanted |= lacks || forgotten || self.may_start(task);
        }
    }

    /// Skips what needs no worker, as much as one turn allows.
    fn drain_skips(&mut self) {
        self.skips_pending = false;
        let unfinished = std::mem::take(&mut self.skips_unfinished);
        let (more, skipped) = self.blocks.drain_skips(self.config.timing.skip_slice);
        if more {
            self.alarms.set(self.now, Alarm::Skips);
        }
        self.skips_unfinished = more;
        // A look at blocks that turn out to need a worker changes something as well.
        if skipped || more || unfinished {
            self.touch_all();
        }
    }
}
