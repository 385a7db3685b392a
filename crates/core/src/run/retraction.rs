//! Blocks are taken back from workers that haven't started them, for workers that have none.

use super::actions::{Action, ShutdownReason};
use super::alarms::Alarm;
use super::{ConnectionId, Outbox, Run};
use crate::TaskIndex;

impl Run {
    /// Somebody stands in line and nothing is ready: looks for blocks that others haven't started,
    /// and where nobody can have any, sends the idle ones home.
    pub(super) fn tend_idle(&mut self, task: TaskIndex, out: &mut Outbox) {
        let at = task.at();
        if self.config.serial || self.tasks[at].idle.is_empty() || self.blocks.runnable(task) > 0 {
            return;
        }
        // Somebody may need their resources more.
        self.rebalance_wanted |= self.tasks.iter().any(|other| other.waits_for_resources);
        if self.others_may_hold_spare(task) {
            if !self.tasks[at].retract_armed {
                self.tasks[at].retract_armed = true;
                self.alarms.set(
                    self.now + self.config.timing.retract_every,
                    Alarm::Retract(task.0),
                );
            }
        } else if self.nothing_can_come(task) {
            self.send_idle_home(task, out);
        }
    }

    /// Takes back what is worth it.
    pub(super) fn retract(&mut self, task: TaskIndex, out: &mut Outbox) {
        let at = task.at();
        self.tasks[at].retract_armed = false;
        if !self.is_running() || self.tasks[at].finished || self.blocks.runnable(task) > 0 {
            return;
        }
        let idle = self.idle_workers(task).len();
        if idle == 0 {
            return;
        }
        let (mut victims, mut asked) = (Vec::new(), false);
        for (conn, connection) in self.connections.iter() {
            if connection.task == task {
                asked |= connection.retracting.is_some();
                if connection.spare() > 0 {
                    victims.push((connection.spare(), conn));
                }
            }
        }
        if victims.is_empty() {
            if !asked && self.nothing_can_come(task) {
                self.send_idle_home(task, out);
            }
            return;
        }
        victims.sort_unstable_by(|one, other| other.cmp(one));
        let spare: usize = victims.iter().map(|(spare, _)| spare).sum();
        let mut wanted = idle.max(spare / 2);
        for (spare, conn) in victims {
            if wanted == 0 {
                break;
            }
            wanted -= self.ask_back(conn, spare, wanted, out).min(wanted);
        }
        // Workers that are nearly through are left alone, and looked at again.
        self.tasks[at].retract_armed = true;
        self.alarms.set(
            self.now + self.config.timing.retract_every,
            Alarm::Retract(task.0),
        );
    }

    /// Asks one worker for up to `wanted` blocks back; the number asked for.
    fn ask_back(
        &mut self,
        conn: ConnectionId,
        spare: usize,
        wanted: usize,
        out: &mut Outbox,
    ) -> usize {
        let now = self.now;
        let timing = self.config.timing;
        let Some(connection) = self.connections.get_mut(conn) else {
            return 0;
        };
        if connection.retracting.is_some() || connection.leaving.is_some() {
            return 0;
        }
        let mean = self.tasks[connection.task.at()]
            .prefetch
            .mean()
            .unwrap_or(0.0);
        let stuck = now - connection.last_progress >= timing.prefetch_time.times(2);
        let lasts = mean * spare as f64 >= timing.retract_every.0 as f64 * 2.0;
        if !stuck && !lasts {
            return 0;
        }
        // One that works through its blocks keeps half of them.
        let count = if stuck { spare } else { spare.div_ceil(2) }.min(wanted);
        let mark = out.mark();
        let first = connection.in_hand.len() - count;
        for held in connection.in_hand.range_mut(first..) {
            held.retracting = true;
            out.block_list().push(held.block);
        }
        connection.retracting = Some(now);
        out.push(Action::Retract {
            conn,
            blocks: out.span_since(mark),
        });
        count
    }

    /// Asks for everything back: the worker hasn't named a running block for too long.
    pub(super) fn ask_all_back(&mut self, conn: ConnectionId, out: &mut Outbox) {
        let now = self.now;
        let Some(connection) = self.connections.get_mut(conn) else {
            return;
        };
        let mark = out.mark();
        connection.unmoved = true;
        for held in &mut connection.in_hand {
            held.retracting = true;
            out.block_list().push(held.block);
        }
        connection.retracting = Some(now);
        out.push(Action::Retract {
            conn,
            blocks: out.span_since(mark),
        });
    }

    /// Whether more blocks are out than the busy workers can be running.
    pub(super) fn others_may_hold_spare(&self, task: TaskIndex) -> bool {
        let state = &self.tasks[task.at()];
        let out = self.blocks.processing(task);
        // Every connection in the idle line lacks a block; a clone of it counts once.
        let busy = u64::from(state.connected).saturating_sub(state.idle.len() as u64);
        out > busy
    }

    /// Whether no block can become ready any more but by a failure of one that is out.
    fn nothing_can_come(&self, task: TaskIndex) -> bool {
        let counters = self.blocks.counters(task);
        counters.ready == 0 && counters.pending == 0
    }

    /// Connections of the task with empty hands that ask for blocks.
    pub(super) fn idle_workers(&self, task: TaskIndex) -> Vec<ConnectionId> {
        let state = &self.tasks[task.at()];
        let is_idle = |conn: &ConnectionId| {
            self.connections
                .get(*conn)
                .is_some_and(|peer| peer.in_hand.is_empty() && peer.idle_capacity() > 0)
        };
        state.idle.iter().copied().filter(is_idle).collect()
    }

    /// Blocks that are out will be finished by those who have them; a retry gets a fresh worker.
    fn send_idle_home(&mut self, task: TaskIndex, out: &mut Outbox) {
        for conn in self.idle_workers(task) {
            self.tell_to_leave(conn, ShutdownReason::Idle, out);
        }
    }
}
