//! Who gets which block: first those that have none, then those that could do with more in advance.

use super::actions::Action;
use super::connections::Held;
use super::{ConnectionId, Nanos, Order, Outbox, Run};
use crate::{BlockIndex, TaskIndex};

impl Run {
    /// Puts a connection into the line it belongs to.
    pub(super) fn queue_up(&mut self, conn: ConnectionId) {
        let Some(task) = self.connections.get(conn).map(|peer| peer.task) else {
            return;
        };
        let window = self.window(task);
        let Some(connection) = self.connections.get_mut(conn) else {
            return;
        };
        let state = &mut self.tasks[task.at()];
        if connection.idle_capacity() > 0 {
            if !connection.in_idle_line {
                connection.in_idle_line = true;
                state.idle.push_back(conn);
            }
            return;
        }
        // Refilled in portions, so that grants of short blocks fill their messages.
        let portion = (window / 4).max(1);
        if !connection.in_hungry_line && connection.hunger(window) >= portion {
            connection.in_hungry_line = true;
            state.hungry.push_back(conn);
        }
    }

    /// Hands out blocks while there are some and somebody wants them.
    pub(super) fn serve(&mut self, task: TaskIndex, out: &mut Outbox) {
        if self.is_held_back(task) {
            return;
        }
        let at = task.at();
        let mut turned_away = 0;
        while let Some(&conn) = self.tasks[at].idle.front() {
            let mut wanted = self
                .connections
                .get(conn)
                .map_or(0, |peer| peer.idle_capacity());
            if wanted > 0 && self.tasks[at].idle.len() == 1 {
                let window = self.window(task);
                wanted = self
                    .connections
                    .get(conn)
                    .map_or(0, |peer| peer.hunger(window));
            }
            if wanted > 0 {
                if self.blocks.runnable(task) == 0 || turned_away >= self.tasks[at].idle.len() {
                    break;
                }
                if self.grant(conn, wanted, out) == 0 {
                    turned_away += 1;
                    self.tasks[at].idle.rotate_left(1);
                    continue;
                }
            }
            self.tasks[at].idle.pop_front();
            if let Some(connection) = self.connections.get_mut(conn) {
                connection.in_idle_line = false;
                self.queue_up(conn);
            }
        }
        for _ in 0..self.tasks[at].hungry.len() {
            let Some(&conn) = self.tasks[at].hungry.front() else {
                break;
            };
            // One that hasn't moved for a while has enough until it does.
            let stuck = self.config.timing.prefetch_time.times(2);
            let since = self.now - stuck;
            let window = self.window(task);
            let moving = self
                .connections
                .get(conn)
                .filter(|peer| peer.last_progress > since);
            let wanted = moving.map_or(0, |peer| peer.hunger(window));
            if wanted > 0 && self.grant(conn, wanted, out) == 0 {
                break;
            }
            self.tasks[at].hungry.pop_front();
            if let Some(connection) = self.connections.get_mut(conn) {
                connection.in_hungry_line = false;
                self.queue_up(conn);
            }
        }
        if self.config.order == Order::DepthFirst {
            self.touch_held_back(task);
        }
    }

    /// How many blocks in advance each worker may have just now. The less there is left, the less
    /// anybody takes, so that all end together.
    fn window(&self, task: TaskIndex) -> u32 {
        if self.config.serial {
            return 0;
        }
        let state = &self.tasks[task.at()];
        let share = self.blocks.runnable(task) / u64::from(state.connected).max(1);
        state
            .prefetch
            .window()
            .min(share.min(u64::from(u32::MAX)) as u32)
    }

    /// Gives up to `wanted` blocks; the number given.
    fn grant(&mut self, conn: ConnectionId, wanted: u32, out: &mut Outbox) -> usize {
        let Some(connection) = self.connections.get_mut(conn) else {
            return 0;
        };
        let task = connection.task;
        if !self.tasks[task.at()].suspects.is_empty() {
            return self.grant_carefully(conn, wanted, out);
        }
        let mark = out.mark();
        let given = self.blocks.acquire(task, wanted as usize, out.block_list());
        if given > 0 {
            self.hand_over(conn, mark, false, out);
        }
        given
    }

    /// As `grant`, while some blocks of the task must run alone: others only as far as the next of
    /// these, and it only into empty hands.
    fn grant_carefully(&mut self, conn: ConnectionId, wanted: u32, out: &mut Outbox) -> usize {
        let Some(connection) = self.connections.get(conn) else {
            return 0;
        };
        let (task, empty) = (connection.task, connection.in_hand.is_empty());
        let mark = out.mark();
        let got = self.blocks.acquire(task, wanted as usize, out.block_list());
        let list = out.span_since(mark);
        let suspects = &self.tasks[task.at()].suspects;
        let before = out
            .blocks(list)
            .iter()
            .position(|block| suspects.contains(block))
            .unwrap_or(got);
        let alone = before == 0 && got > 0 && empty;
        let given = if alone { 1 } else { before };
        for at in (given..got).rev() {
            let block = out.blocks(list)[at];
            self.blocks.give_back(task, block);
        }
        out.block_list().truncate(mark + given);
        if given > 0 {
            self.hand_over(conn, mark, alone, out);
        }
        given
    }

    /// Books the blocks of the outbox since `mark` to the connection and tells it.
    fn hand_over(&mut self, conn: ConnectionId, mark: usize, alone: bool, out: &mut Outbox) {
        let now = self.now;
        let blocks = out.span_since(mark);
        if let Some(connection) = self.connections.get_mut(conn) {
            if connection.in_hand.is_empty() {
                connection.last_progress = now;
            }
            connection.alone = alone;
            connection
                .in_hand
                .extend(out.blocks(blocks).iter().map(|block| Held {
                    block: *block,
                    granted: now,
                    retracting: false,
                    started_by: None,
                }));
            let none_before = self.blocks.processing(connection.task) <= blocks.len() as u64;
            let task = &mut self.tasks[connection.task.at()];
            task.began.get_or_insert(now);
            if none_before {
                task.quiet_since = now;
            }
        }
        out.push(Action::Grant {
            conn,
            blocks,
            alone,
        });
    }

    /// Unstarted blocks go to the head of their queue and keep their order.
    pub(super) fn give_back_all(&mut self, task: TaskIndex, blocks: &[BlockIndex]) {
        for block in blocks.iter().rev() {
            self.blocks.give_back(task, *block);
        }
    }

    /// Depth first: a task waits while one right after it has more to do than its workers can take.
    pub(super) fn is_held_back(&self, task: TaskIndex) -> bool {
        if self.config.order != Order::DepthFirst {
            return false;
        }
        self.tasks[task.at()].downstream.iter().any(|after| {
            let state = &self.tasks[after.at()];
            !state.finished
                && state.connected > 0
                && self.blocks.runnable(*after) > 2 * u64::from(state.connected)
        })
    }

    /// The tasks right before it may go on now, with the workers they have or with more.
    fn touch_held_back(&mut self, task: TaskIndex) {
        for at in 0..self.tasks[task.at()].upstream.len() {
            let before = self.tasks[task.at()].upstream[at];
            let has_work = self.blocks.runnable(before) > 0;
            if has_work && !self.tasks[before.at()].finished && !self.is_held_back(before) {
                self.touch(before);
            }
        }
    }

    /// What a block of the task takes, in nanoseconds: the mean, or at least as long as those that
    /// are out haven't come back. None while nothing is known.
    pub(super) fn block_time(&self, task: TaskIndex) -> Option<f64> {
        let state = &self.tasks[task.at()];
        let mean = state.prefetch.mean();
        if self.blocks.processing(task) == 0 {
            return mean;
        }
        let quiet = (self.now - state.quiet_since).max(Nanos(1)).0 as f64;
        Some(mean.map_or(quiet, |mean| mean.max(quiet)))
    }
}
