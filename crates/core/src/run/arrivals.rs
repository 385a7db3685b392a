//! Peers that come, come back, ask for blocks and give signs of life.

use super::actions::{Action, CloseReason, ShutdownReason};
use super::alarms::Alarm;
use super::connections::Connection;
use super::{ConnectionId, ErrorReport, Hello, Nanos, Outbox, Run, RunError, Running, WorkerId};
use crate::BlockIndex;

/// More at once than any worker runs.
const MAX_DEMAND: u32 = 1024;

impl Run {
    pub(super) fn on_connected(&mut self, conn: ConnectionId, hello: Hello, out: &mut Outbox) {
        let refusal = match self.tasks.get(hello.task.at()) {
            _ if !self.is_running() => Some(self.farewell()),
            None => Some(ShutdownReason::UnknownTask),
            Some(task) if task.finished => Some(ShutdownReason::TaskFinished),
            Some(_) => None,
        };
        if let Some(reason) = refusal {
            out.push(Action::Shutdown { conn, reason });
            return;
        }
        let connection =
            Connection::new(conn, hello.task, WorkerId(u32::MAX), hello.local, self.now);
        if self.connections.insert(conn, connection).is_none() {
            return;
        }
        let worker = self.number_arrival(hello);
        if let Some(connection) = self.connections.get_mut(conn) {
            connection.worker = worker;
        }
        if let Some(row) = self.workers.get_mut(worker) {
            row.conn = Some(conn);
            row.connected_once = true;
        }
        self.awaited += 1;
        self.tasks[hello.task.at()].connected += 1;
        self.arm_sweep();
        // One less is starting, so another one may.
        self.rebalance_wanted = true;
        out.push(Action::Welcome {
            conn,
            worker,
            task: hello.task,
        });
    }

    /// The row of a peer that arrives: the one of its start, or a new one for a clone of a context
    /// and for whoever comes from outside.
    fn number_arrival(&mut self, hello: Hello) -> WorkerId {
        let known = hello.worker.filter(|worker| {
            self.workers
                .get(*worker)
                .is_some_and(|row| row.task == hello.task && row.launched)
        });
        let task = &mut self.tasks[hello.task.at()];
        if let Some(worker) = known {
            if self
                .workers
                .get(worker)
                .is_some_and(|row| row.is_starting() && !row.killed)
            {
                task.starting -= 1;
                if task.config.paced_starts {
                    self.starting_paced -= 1;
                }
                return worker;
            }
        }
        let worker = self.workers.add(hello.task, false, self.now);
        task.live += 1;
        self.resources.take(hello.task);
        if let Some(parent) = known {
            if let Some(row) = self.workers.get_mut(worker) {
                row.parent = Some(parent);
            }
            if let Some(row) = self.workers.get_mut(parent) {
                row.clones += 1;
            }
        }
        worker
    }

    pub(super) fn on_resumed(
        &mut self,
        conn: ConnectionId,
        previous: ConnectionId,
        held: &[BlockIndex],
        out: &mut Outbox,
    ) {
        if conn == previous || self.connections.get(conn).is_some() {
            return;
        }
        // Either the break was noticed and the blocks wait, or the old connection still seems open.
        let waiting = self
            .limbo
            .iter()
            .position(|limbo| limbo.conn == previous && limbo.resumable);
        let connection = match waiting {
            Some(at) => Some(self.limbo.swap_remove(at).connection),
            None => {
                let connection = self.connections.remove(previous);
                if connection.is_some() {
                    let reason = CloseReason::Replaced;
                    out.push(Action::CloseConnection {
                        conn: previous,
                        reason,
                    });
                }
                connection
            }
        };
        let Some(mut connection) = connection else {
            out.push(Action::Shutdown {
                conn,
                reason: ShutdownReason::Forgotten,
            });
            return;
        };
        let (task, worker) = (connection.task, connection.worker);
        let mut lost = Vec::new();
        connection.in_hand.retain(|granted| {
            let kept = held.contains(&granted.block);
            if !kept {
                lost.push(granted.block);
            }
            kept
        });
        for granted in &mut connection.in_hand {
            granted.retracting = false;
        }
        connection.running.retain(|(block, _)| held.contains(block));
        connection.retracting = None;
        connection.alone &= !connection.in_hand.is_empty();
        connection.last_heard = self.now;
        connection.in_idle_line = false;
        connection.in_hungry_line = false;
        let leaving = connection.leaving.take().is_some();
        if leaving && waiting.is_none() {
            self.tasks[task.at()].leaving -= 1;
        }
        if self.connections.insert(conn, connection).is_none() {
            // The driver used a name twice. Whoever that was has nothing now.
            out.push(Action::Shutdown {
                conn,
                reason: ShutdownReason::Forgotten,
            });
            return;
        }
        if waiting.is_some() {
            self.tasks[task.at()].connected += 1;
        }
        self.arm_sweep();
        let mut parent = None;
        if let Some(row) = self.workers.get_mut(worker) {
            row.conn = Some(conn);
            row.in_limbo = false;
            parent = row.parent.filter(|_| waiting.is_some());
        }
        if let Some(parent) = parent.and_then(|parent| self.workers.get_mut(parent)) {
            parent.clones += 1;
        }
        self.give_back_all(task, &lost);
        out.push(Action::Welcome { conn, worker, task });
        let over = self.tasks[task.at()].finished;
        if leaving || over || !self.is_running() {
            let reason = if over {
                ShutdownReason::TaskFinished
            } else {
                self.farewell()
            };
            self.tell_to_leave(conn, reason, out);
        }
        self.queue_up(conn);
        self.touch(task);
    }

    pub(super) fn on_acquire(&mut self, conn: ConnectionId, n: u32) {
        let now = self.now;
        let Some(connection) = self.connections.get_mut(conn) else {
            return;
        };
        connection.last_heard = now;
        if connection.leaving.is_some() {
            return;
        }
        connection.demand = n.min(MAX_DEMAND);
        let (task, worker) = (connection.task, connection.worker);
        if let Some(row) = self.workers.get_mut(worker) {
            if row.first_acquire_at.is_none() && n > 0 {
                row.first_acquire_at = Some(now);
                row.free_since = now;
                let state = &mut self.tasks[task.at()];
                state.vain_starts = 0;
                state.back_off_until = Nanos::ZERO;
                if row.launched {
                    state.startup.add((now - row.started_at).as_secs_f64());
                }
            }
        }
        self.queue_up(conn);
        self.touch(task);
    }

    pub(super) fn on_heartbeat(
        &mut self,
        conn: ConnectionId,
        sent: Nanos,
        round_trip: Option<Nanos>,
        running: &[Running],
    ) {
        let now = self.now;
        let Some(connection) = self.connections.get_mut(conn) else {
            return;
        };
        connection.last_heard = now;
        connection.clock.observe(now, sent, round_trip);
        connection.note_running(now, running);
    }

    pub(super) fn on_unusable(
        &mut self,
        conn: ConnectionId,
        fatal: bool,
        error: &ErrorReport,
        out: &mut Outbox,
    ) {
        let Some(connection) = self.connections.get(conn) else {
            return;
        };
        let (task, worker) = (connection.task, connection.worker);
        self.note_unusable(worker, error);
        if fatal {
            self.fail(
                RunError::Unusable {
                    task,
                    worker,
                    error: error.clone(),
                },
                out,
            );
            return;
        }
        self.tell_to_leave(conn, ShutdownReason::BlockFailed, out);
    }

    /// Has connections looked at from time to time, while there are any.
    pub(super) fn arm_sweep(&mut self) {
        if self.sweep_due.is_some() || self.config.serial {
            return;
        }
        let due = self.now + self.config.timing.sweep;
        self.sweep_due = Some(due);
        self.alarms.set(due, Alarm::Sweep);
    }
}
