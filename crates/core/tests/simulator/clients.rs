//! Clients: they run what they are granted, answer, fail, hang, vanish and come back.

use bellis_core::run::{BlockResult, BlockStatus, Event, ExitKind, Nanos, OnBlockError, Running};
use bellis_core::BlockIndex;

use crate::plan::{MILLI, SECOND};
use crate::world::{error, Happening, Message, Order, World};

impl World {
    pub(crate) fn ask(&mut self, peer: usize) {
        if self.is_at_work(peer) && !self.peers[peer].leaving && self.peers[peer].open {
            let n = self.plan.tasks[self.task_of(peer)].concurrency;
            self.send_up(peer, Message::Acquire(n));
        }
    }

    pub(crate) fn task_of(&self, peer: usize) -> usize {
        self.processes[&self.peers[peer].process].task
    }

    /// Its process lives and moves.
    pub(crate) fn is_at_work(&self, peer: usize) -> bool {
        let process = &self.processes[&self.peers[peer].process];
        process.alive && !process.frozen
    }

    pub(crate) fn result(&self, block: u64, status: BlockStatus, began: Nanos) -> BlockResult {
        let error = (status == BlockStatus::Failed).then(|| Box::new(error("boom")));
        let block = BlockIndex(block);
        BlockResult {
            block,
            status,
            started: began,
            ended: self.now,
            stats: None,
            error,
        }
    }

    /// An order of the run reaches a peer.
    pub(crate) fn obey(&mut self, peer: usize, order: Order) {
        if !self.processes[&self.peers[peer].process].alive {
            return;
        }
        match order {
            Order::Grant(blocks, _) if self.peers[peer].leaving => {
                // It is on its way out, and says so unless it has said goodbye already.
                if self.is_at_work(peer) && self.peers[peer].open {
                    self.send_up(peer, Message::Returned(blocks));
                }
            }
            Order::Grant(blocks, alone) => {
                self.peers[peer]
                    .queue
                    .extend(blocks.into_iter().map(|block| (block, alone)));
                self.start_blocks(peer);
            }
            Order::Retract(blocks) if self.is_at_work(peer) => {
                let mut returned = Vec::new();
                self.peers[peer].queue.retain(|(block, _)| {
                    let asked = blocks.contains(block);
                    if asked {
                        returned.push(*block);
                    }
                    !asked
                });
                self.send_up(peer, Message::Returned(returned));
            }
            Order::Retract(_) => {}
            Order::Shutdown => {
                self.peers[peer].leaving = true;
                if self.is_at_work(peer) {
                    let unstarted: Vec<u64> = self.peers[peer]
                        .queue
                        .drain(..)
                        .map(|(block, _)| block)
                        .collect();
                    if !unstarted.is_empty() {
                        self.send_up(peer, Message::Returned(unstarted));
                    }
                    self.leave_if_done(peer);
                }
            }
            Order::Closed => {
                self.peers[peer].open = false;
                let worker = self.peers[peer].process;
                self.plan_in(MILLI, SECOND, Happening::Dies(worker, ExitKind::Code(1)));
            }
        }
    }

    pub(crate) fn start_blocks(&mut self, peer: usize) {
        if !self.is_at_work(peer) {
            return;
        }
        let task = self.task_of(peer);
        let most = self.plan.tasks[task].concurrency as usize;
        while self.peers[peer].running.len() < most {
            let Some((block, alone)) = self.peers[peer].queue.front().copied() else {
                return;
            };
            if alone && !self.peers[peer].running.is_empty() {
                return;
            }
            self.peers[peer].queue.pop_front();
            self.peers[peer].running.insert(block, self.now);
            self.run_block(peer, block);
            if alone {
                return;
            }
        }
    }

    /// Decides what will become of a block.
    pub(crate) fn run_block(&mut self, peer: usize, block: u64) {
        let task = self.task_of(peer);
        let (worker, usual) = (self.peers[peer].process, self.plan.tasks[task].block_time);
        let time = self.dice.period(Nanos(usual.0 / 4), usual.times(3));
        let ends = self.now + time;
        let trouble = &self.plan.trouble;
        let (dies, hangs, freezes, cuts) =
            (trouble.dies, trouble.hangs, trouble.freezes, trouble.cuts);
        if self.dice.chance(dies) {
            let kind = [ExitKind::Signal(9), ExitKind::Code(3), ExitKind::Clean]
                [self.dice.below(3) as usize];
            self.plan_at(ends, Happening::Dies(worker, kind));
        } else if self.dice.chance(freezes) {
            self.processes.get_mut(&worker).expect("known").frozen = true;
        } else if self.dice.chance(hangs) {
            // Its own watchdog may be at hand.
            if self.dice.chance(600) {
                let at = self.now + self.plan.tasks[task].config.timeout;
                self.plan_at(at, Happening::Ends(peer, block, 1));
            }
        } else {
            self.plan_at(ends, Happening::Ends(peer, block, 0));
        }
        if self.dice.chance(cuts) {
            // A remote peer may be back before the break is noticed.
            if self.peers[peer].local || self.dice.chance(700) {
                self.plan_at(ends, Happening::Arrives(peer, Message::Broken(None)));
            }
            self.break_off(peer);
        } else if self.dice.chance(self.plan.trouble.whims) {
            self.change_its_mind(peer);
        }
    }

    /// It gives back what it hasn't started, and asks again later.
    pub(crate) fn change_its_mind(&mut self, peer: usize) {
        let unstarted: Vec<u64> = self.peers[peer]
            .queue
            .drain(..)
            .map(|(block, _)| block)
            .collect();
        if self.dice.chance(500) {
            self.send_up(peer, Message::Acquire(0));
        }
        self.send_up(peer, Message::Returned(unstarted));
        self.plan_in(MILLI, SECOND, Happening::Asks(peer));
    }

    /// The connection breaks; what is on its way may be lost.
    pub(crate) fn break_off(&mut self, peer: usize) {
        let worker = self.peers[peer].process;
        self.peers[peer].open = false;
        self.peers[peer].cut = true;
        if self.peers[peer].local {
            // The client sees it and gives up.
            self.plan_in(
                MILLI,
                SECOND.times(2),
                Happening::Dies(worker, ExitKind::Code(1)),
            );
        } else {
            self.plan_in(MILLI.times(50), SECOND.times(7), Happening::Resumes(peer));
        }
    }

    pub(crate) fn resume(&mut self, peer: usize) {
        if !self.is_at_work(peer) {
            return;
        }
        let previous = self.peers[peer].conn;
        let conn = self.names.allocate();
        let mut held: Vec<u64> = self.peers[peer].running.keys().copied().collect();
        held.extend(self.peers[peer].queue.iter().map(|(block, _)| *block));
        let done = std::mem::take(&mut self.peers[peer].done);
        held.extend(done.iter().map(|result| result.block.0));
        self.peers[peer].conn = conn;
        self.peers[peer].open = true;
        self.by_name.insert(conn, peer);
        let held: Vec<BlockIndex> = held.into_iter().map(BlockIndex).collect();
        self.tell(Event::Resumed {
            conn,
            previous,
            held: &held,
        });
        self.plan_in(Nanos(1), MILLI, Happening::Asks(peer));
        if !done.is_empty() {
            self.send_up(peer, Message::Released(done));
        }
    }

    /// A block ends in a peer. `how` is 1 for the peer's own watchdog.
    pub(crate) fn end_block(&mut self, peer: usize, block: u64, how: u64) {
        if !self.is_at_work(peer) {
            return;
        }
        let Some(began) = self.peers[peer].running.remove(&block) else {
            return;
        };
        let task = self.task_of(peer);
        let status = if how == 1 {
            BlockStatus::TimedOut
        } else if self.dice.chance(self.plan.trouble.throws) {
            BlockStatus::Failed
        } else {
            BlockStatus::Success
        };
        let result = self.result(block, status, began);
        if self.peers[peer].open {
            self.send_up(peer, Message::Released(vec![result]));
        } else {
            self.peers[peer].done.push(result);
        }
        let worker = self.peers[peer].process;
        match status {
            BlockStatus::TimedOut => {
                self.plan_in(Nanos(1), MILLI, Happening::Dies(worker, ExitKind::TimedOut));
            }
            BlockStatus::Failed
                if self.plan.tasks[task].config.on_block_error == OnBlockError::RestartWorker =>
            {
                self.peers[peer].leaving = true;
                self.peers[peer].dirty = true;
            }
            _ => {}
        }
        self.start_blocks_unless_leaving(peer);
        self.leave_if_done(peer);
    }

    pub(crate) fn start_blocks_unless_leaving(&mut self, peer: usize) {
        if !self.peers[peer].leaving {
            self.start_blocks(peer);
        }
    }

    pub(crate) fn leave_if_done(&mut self, peer: usize) {
        let state = &self.peers[peer];
        if !state.leaving || !state.running.is_empty() || !state.open {
            return;
        }
        let (worker, dirty) = (state.process, state.dirty);
        self.peers[peer].open = false;
        self.send_up(peer, Message::Goodbye);
        let others = self.processes[&worker]
            .peers
            .iter()
            .any(|other| self.peers[*other].open);
        if !others {
            let kind = if dirty {
                ExitKind::Code(1)
            } else {
                ExitKind::Clean
            };
            self.plan_in(MILLI, MILLI.times(60), Happening::Dies(worker, kind));
        }
    }

    pub(crate) fn beat(&mut self, peer: usize) {
        if !self.processes[&self.peers[peer].process].alive {
            return;
        }
        self.plan_in(SECOND, SECOND, Happening::Beats(peer));
        if self.is_at_work(peer) && self.peers[peer].open {
            let running = self.peers[peer]
                .running
                .iter()
                .map(|(block, began)| Running {
                    block: BlockIndex(*block),
                    age: self.now - *began,
                })
                .collect();
            self.send_up(peer, Message::Heartbeat(self.now, running));
        }
    }
}
