//! When a worker is started, and for which task.

use super::actions::{Action, KillReason, ShutdownReason, Warning};
use super::alarms::Alarm;
use super::{ConnectionId, Nanos, OnBlockError, Order, Outbox, Run, RunConfig};
use crate::TaskIndex;

/// How often a start that was put off is thought about again.
const SECOND_THOUGHT: Nanos = Nanos::from_millis(50);

/// Tasks by priority, highest first; those of one priority in pipeline order. Depth first, each comes
/// before those that it waits for.
pub(super) fn start_order(config: &RunConfig, topological: &[TaskIndex]) -> Vec<Vec<TaskIndex>> {
    let mut priorities: Vec<i32> = config.tasks.iter().map(|task| task.priority).collect();
    priorities.sort_unstable_by(|one, other| other.cmp(one));
    priorities.dedup();
    let all: Vec<TaskIndex> = match config.order {
        Order::DepthFirst => topological.iter().rev().copied().collect(),
        Order::Levels => (0..config.tasks.len())
            .map(|at| TaskIndex(at as u32))
            .collect(),
    };
    let of = |priority: i32| {
        let tasks = all.iter().copied();
        tasks
            .filter(|task| config.tasks[task.at()].priority == priority)
            .collect()
    };
    priorities.into_iter().map(of).collect()
}

impl Run {
    /// Whether the task has work that one more worker could take, and a start left for it.
    pub(super) fn wants_worker(&self, task: TaskIndex) -> bool {
        let state = &self.tasks[task.at()];
        if self.config.serial || state.finished || state.live >= state.config.max_workers {
            return false;
        }
        let ready = self.blocks.runnable(task);
        let out = self.blocks.processing(task);
        u64::from(state.live - state.leaving) < ready + out
            && state.starts < state.start_budget()
            && (ready > 0 || self.has_spare(task))
            && !self.is_held_back(task)
    }

    /// Whether a worker of the task has blocks in hand that it isn't running, and nobody is idle who
    /// could take them: one more worker could.
    fn has_spare(&self, task: TaskIndex) -> bool {
        // The look at all connections comes last: this is asked at every event near the end.
        self.tasks[task.at()].idle.is_empty()
            && self.others_may_hold_spare(task)
            && self
                .connections
                .iter()
                .any(|(_, peer)| peer.task == task && peer.spare() > 0)
    }

    /// Whether a start wouldn't have to be put off.
    pub(super) fn may_start(&self, task: TaskIndex) -> bool {
        let state = &self.tasks[task.at()];
        // After a start that came to nothing, one at a time is tried.
        let doubtful = state.vain_starts > 0 && state.connected == 0 && state.starting > 0;
        self.now >= state.back_off_until
            && !doubtful
            && self.is_worth_starting(task)
            && self.resources.fit(task)
    }

    /// Local starts are paced: as many at once as there are processors, more only while the work
    /// that is left outlasts a start.
    fn is_worth_starting(&self, task: TaskIndex) -> bool {
        let state = &self.tasks[task.at()];
        if !state.config.paced_starts {
            return true;
        }
        if self.starting_paced >= self.config.cores.max(1) {
            return false;
        }
        if state.live == 0 {
            return true;
        }
        let first_wave = state.live < self.config.cores.max(1).min(state.config.max_workers);
        let measured = state.prefetch.mean().is_some();
        if first_wave && !measured {
            return true;
        }
        let Some(block_time) = self.block_time(task) else {
            return false;
        };
        let counters = self.blocks.counters(task);
        let left = counters.ready + counters.pending + counters.processing;
        let start = if state.startup.count() > 0 {
            state.startup.mean() * 1e9
        } else {
            self.config.timing.start_time.0 as f64
        };
        left as f64 * block_time / f64::from(state.live.max(1)) > start
    }

    /// Starts who is wanted: round and round through the tasks of a priority, one worker each, until
    /// nobody else fits.
    pub(super) fn rebalance(&mut self, out: &mut Outbox) {
        if !self.is_running() {
            return;
        }
        for class in 0..self.start_order.len() {
            loop {
                let mut started = false;
                for at in 0..self.start_order[class].len() {
                    let task = self.start_order[class][at];
                    if self.wants_worker(task) && self.may_start(task) {
                        self.start_worker(task, out);
                        started = true;
                    }
                }
                if !started {
                    break;
                }
            }
        }
        self.think_again(out);
    }

    /// Looks at who is still wanted: waits for a time, or makes room.
    fn think_again(&mut self, out: &mut Outbox) {
        let mut next = Nanos::MAX;
        for class in 0..self.start_order.len() {
            for at in 0..self.start_order[class].len() {
                let task = self.start_order[class][at];
                self.tasks[task.at()].waits_for_resources = false;
                if !self.wants_worker(task) {
                    continue;
                }
                let back_off = self.tasks[task.at()].back_off_until;
                if self.now < back_off {
                    next = next.min(back_off);
                } else if !self.resources.fit(task) {
                    self.tasks[task.at()].waits_for_resources = true;
                    self.make_room(task, out);
                } else {
                    next = next.min(self.now + SECOND_THOUGHT);
                }
            }
        }
        if next < self.next_starts_alarm {
            self.next_starts_alarm = next;
            self.alarms.set(next, Alarm::Starts);
        }
    }

    fn start_worker(&mut self, task: TaskIndex, out: &mut Outbox) {
        let worker = self.workers.add(task, true, self.now);
        self.resources.take(task);
        let state = &mut self.tasks[task.at()];
        state.began.get_or_insert(self.now);
        state.live += 1;
        state.starting += 1;
        state.starts += 1;
        if state.config.paced_starts {
            self.starting_paced += 1;
        }
        let (restarts, max_restarts) = (state.restarts(), state.config.max_worker_restarts);
        if let Some(limit) = state.config.connect_timeout {
            self.alarms.set(self.now + limit, Alarm::Connect(worker));
        }
        out.push(Action::StartWorker { task, worker });
        let half = restarts > 0 && u64::from(restarts) * 2 >= u64::from(max_restarts);
        if half && !self.warned_half_budget {
            self.warned_half_budget = true;
            out.push(Action::Warn(Warning::HalfBudget {
                task,
                restarts,
                max_restarts,
                keeps_workers: state.config.on_block_error == OnBlockError::KeepWorker,
                last_error: state.last_error.clone().map(Box::new),
            }));
        }
    }

    /// A start came to nothing: the next one waits, longer each time.
    pub(super) fn back_off(&mut self, task: TaskIndex) {
        let timing = self.config.timing;
        let state = &mut self.tasks[task.at()];
        let doubled = timing.start_backoff.times(1 << state.vain_starts.min(20));
        state.vain_starts = state.vain_starts.saturating_add(1);
        let pause = Nanos((doubled.0 as f64 * self.random.jitter()) as u64);
        state.back_off_until = self.now + pause.min(timing.start_backoff_max);
    }

    /// A task lacks resources that others occupy. Those who have nothing to do, or work for a task
    /// of lower priority, make room, one at a time.
    fn make_room(&mut self, task: TaskIndex, out: &mut Outbox) {
        let priority = self.tasks[task.at()].config.priority;
        let mut least: Option<(bool, i32, ConnectionId)> = None;
        for (conn, connection) in self.connections.iter() {
            let other = connection.task;
            if other == task || !self.resources.overlap(task, other) {
                continue;
            }
            if connection.leaving.is_some() {
                return;
            }
            let theirs = self.tasks[other.at()].config.priority;
            let idle = connection.in_hand.is_empty()
                && connection.demand > 0
                && (self.blocks.runnable(other) == 0 || self.is_held_back(other));
            let candidate = (!idle, theirs, conn);
            if (idle || theirs < priority) && least.is_none_or(|least| candidate < least) {
                least = Some(candidate);
            }
        }
        if let Some((_, _, conn)) = least {
            self.tell_to_leave(conn, ShutdownReason::ResourcesNeeded, out);
        }
    }

    /// Kills those who were asked for and never came, when they aren't needed any more.
    pub(super) fn kill_starters(&mut self, of: Option<TaskIndex>, out: &mut Outbox) {
        let starters: Vec<_> = self
            .workers
            .iter()
            .filter(|(_, row)| row.is_starting() && of.is_none_or(|task| row.task == task))
            .map(|(worker, _)| worker)
            .collect();
        for worker in starters {
            self.kill(worker, KillReason::NotNeeded, out);
            self.refresh(worker, out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::TaskConfig;

    #[test]
    fn the_highest_priority_starts_first_and_depth_first_the_end_of_a_chain() {
        let prioritised = |priority| TaskConfig {
            priority,
            ..TaskConfig::default()
        };
        let mut config = RunConfig::new([0, 5, 0].map(prioritised).to_vec());
        let [first, second, third] = [0, 1, 2].map(TaskIndex);
        // A chain whose tasks are listed in another order than that in which they wait.
        let topological = [third, second, first];
        let levels = [vec![second], vec![first, third]];
        assert_eq!(start_order(&config, &topological), levels);
        config.order = Order::DepthFirst;
        assert_eq!(start_order(&config, &topological), levels);
        let depth_first = [vec![second], vec![third, first]];
        assert_eq!(start_order(&config, &[first, second, third]), depth_first);
    }
}
