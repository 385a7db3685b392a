//! Peers that are connected, what they have in hand, and where they are found.

use std::collections::VecDeque;

use super::clock_offset::ClockOffset;
use super::{ConnectionId, Nanos, Running, WorkerId};
use crate::{BlockIndex, TaskIndex};

/// Slots beyond this are refused: no driver has a million connections.
const MAX_SLOTS: u32 = 1 << 20;

/// A block in a worker's hands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    pub(super) block: BlockIndex,
    pub(super) granted: Nanos,
    /// The worker was asked to give it back.
    pub(super) retracting: bool,
    /// It wasn't given back when it was asked for, so it had started by then.
    pub(super) started_by: Option<Nanos>,
}

/// One connection.
#[derive(Debug)]
pub(super) struct Connection {
    generation: u32,
    pub(super) task: TaskIndex,
    pub(super) worker: WorkerId,
    pub(super) local: bool,
    /// Blocks it can run at once; 0 while it asks for none.
    pub(super) demand: u32,
    /// In the order of granting, which is the order in which the worker starts them.
    pub(super) in_hand: VecDeque<Held>,
    /// It stands in line among those that could run a block now.
    pub(super) in_idle_line: bool,
    /// It stands in line among those that could do with more in advance.
    pub(super) in_hungry_line: bool,
    /// It was told to leave, at that time.
    pub(super) leaving: Option<Nanos>,
    /// It was asked to give blocks back, at that time.
    pub(super) retracting: Option<Nanos>,
    /// It kept blocks for as long as one may run without starting any, and had to give them back.
    pub(super) unmoved: bool,
    /// Its one block must not have company.
    pub(super) alone: bool,
    pub(super) last_heard: Nanos,
    /// When it last got a block into empty hands or gave a result.
    pub(super) last_progress: Nanos,
    /// What it said it runs, with the instant at which that began on the run's clock.
    pub(super) running: Vec<(BlockIndex, Nanos)>,
    pub(super) clock: ClockOffset,
}

impl Connection {
    pub(super) fn new(
        conn: ConnectionId,
        task: TaskIndex,
        worker: WorkerId,
        local: bool,
        now: Nanos,
    ) -> Connection {
        Connection {
            generation: conn.generation,
            task,
            worker,
            local,
            demand: 0,
            in_hand: VecDeque::new(),
            in_idle_line: false,
            in_hungry_line: false,
            leaving: None,
            retracting: None,
            unmoved: false,
            alone: false,
            last_heard: now,
            last_progress: now,
            running: Vec::new(),
            clock: ClockOffset::default(),
        }
    }

    /// Blocks it could start at once and hasn't got.
    #[inline]
    pub(super) fn idle_capacity(&self) -> u32 {
        if self.leaving.is_some() || self.alone {
            return 0;
        }
        self.demand.saturating_sub(self.in_hand.len() as u32)
    }

    /// Blocks it should have with this many in advance, and hasn't got.
    #[inline]
    pub(super) fn hunger(&self, window: u32) -> u32 {
        if self.leaving.is_some() || self.alone || self.demand == 0 {
            return 0;
        }
        (self.demand + window).saturating_sub(self.in_hand.len() as u32)
    }

    /// Blocks in hand that the worker can't have started, going by the order of granting.
    pub(super) fn spare(&self) -> usize {
        self.in_hand
            .len()
            .saturating_sub(self.demand.max(1) as usize)
    }

    /// Takes a block out of its hands.
    pub(super) fn drop_block(&mut self, block: BlockIndex) -> Option<Held> {
        // Nearly always the first one.
        let at = self.in_hand.iter().position(|held| held.block == block)?;
        self.running.retain(|(running, _)| *running != block);
        let held = self.in_hand.remove(at);
        if self.in_hand.is_empty() {
            self.alone = false;
        }
        held
    }

    /// Takes in what a heartbeat says. A block keeps the earliest beginning it was seen with, so
    /// that no worker can keep a block young.
    pub(super) fn note_running(&mut self, now: Nanos, running: &[Running]) {
        let mut seen = Vec::with_capacity(running.len().min(self.in_hand.len()));
        for said in running {
            let Some(held) = self.in_hand.iter().find(|held| held.block == said.block) else {
                continue;
            };
            if seen.iter().any(|(block, _)| *block == said.block) {
                continue;
            }
            let began = (now - said.age).max(held.granted);
            let known = self.began(said.block);
            seen.push((
                said.block,
                known.map_or(began, |earlier| began.min(earlier)),
            ));
        }
        self.unmoved &= seen.is_empty();
        self.running = seen;
    }

    /// What certainly runs, and since when at the latest.
    pub(super) fn certainly_running(&self) -> impl Iterator<Item = (BlockIndex, Nanos)> + '_ {
        let unsaid = self
            .in_hand
            .iter()
            .filter_map(|held| Some((held.block, held.started_by?)));
        self.running.iter().copied().chain(unsaid)
    }

    /// The blocks that run as far as can be told: those it named, filled up in the order of
    /// granting to as many as it can run at once.
    pub(super) fn presumably_running(&self) -> Vec<BlockIndex> {
        let mut running: Vec<BlockIndex> = self.running.iter().map(|(block, _)| *block).collect();
        let most = self.demand.max(1) as usize;
        for held in &self.in_hand {
            if running.len() >= most {
                break;
            }
            if !running.contains(&held.block) {
                running.push(held.block);
            }
        }
        running
    }

    /// Whether it can't be told which blocks run: there are more in hand than run at once, results
    /// of some may be lost, and it named none of them.
    pub(super) fn is_running_unknown(&self, settled: bool) -> bool {
        let more = self.in_hand.len() > self.demand.max(1) as usize;
        more && !settled && self.certainly_running().next().is_none()
    }

    /// When a block in hand began to run at the latest, where that is known.
    pub(super) fn began(&self, block: BlockIndex) -> Option<Nanos> {
        let said = self.running.iter().find(|(running, _)| *running == block);
        let known = || {
            self.in_hand
                .iter()
                .find(|held| held.block == block)?
                .started_by
        };
        said.map(|(_, began)| *began).or_else(known)
    }
}

/// All connections, by slot.
#[derive(Debug, Default)]
pub(super) struct Connections {
    slots: Vec<Option<Box<Connection>>>,
    open: usize,
}

impl Connections {
    /// `None` when the name is used already or out of all bounds.
    pub(super) fn insert(&mut self, conn: ConnectionId, connection: Connection) -> Option<()> {
        if conn.slot >= MAX_SLOTS {
            return None;
        }
        let at = conn.slot as usize;
        if self.slots.len() <= at {
            self.slots.resize_with(at + 1, || None);
        }
        if self.slots[at].is_some() {
            return None;
        }
        self.slots[at] = Some(Box::new(Connection {
            generation: conn.generation,
            ..connection
        }));
        self.open += 1;
        Some(())
    }

    #[inline]
    pub(super) fn get(&self, conn: ConnectionId) -> Option<&Connection> {
        let connection = self.slots.get(conn.slot as usize)?.as_deref()?;
        (connection.generation == conn.generation).then_some(connection)
    }

    #[inline]
    pub(super) fn get_mut(&mut self, conn: ConnectionId) -> Option<&mut Connection> {
        let connection = self.slots.get_mut(conn.slot as usize)?.as_deref_mut()?;
        (connection.generation == conn.generation).then_some(connection)
    }

    pub(super) fn remove(&mut self, conn: ConnectionId) -> Option<Connection> {
        self.get(conn)?;
        self.open -= 1;
        self.slots[conn.slot as usize]
            .take()
            .map(|connection| *connection)
    }

    /// Number of open ones.
    pub(super) fn open(&self) -> usize {
        self.open
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (ConnectionId, &Connection)> {
        self.slots
            .iter()
            .enumerate()
            .filter_map(|(slot, connection)| {
                let connection = connection.as_deref()?;
                let id = ConnectionId {
                    slot: slot as u32,
                    generation: connection.generation,
                };
                Some((id, connection))
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(slot: u32, generation: u32) -> ConnectionId {
        ConnectionId { slot, generation }
    }

    fn connection(conn: ConnectionId) -> Connection {
        Connection::new(conn, TaskIndex(0), WorkerId(0), true, Nanos(0))
    }

    fn holding(blocks: &[u64]) -> Connection {
        let mut held = connection(name(0, 0));
        held.demand = 1;
        held.in_hand = blocks
            .iter()
            .map(|block| Held {
                block: BlockIndex(*block),
                granted: Nanos(100),
                retracting: false,
                started_by: None,
            })
            .collect();
        held
    }

    #[test]
    fn a_name_of_the_past_finds_nothing() {
        let mut all = Connections::default();
        let (first, second) = (name(3, 0), name(3, 1));
        assert!(all.insert(first, connection(first)).is_some());
        assert!(all.insert(second, connection(second)).is_none());
        assert!(all.remove(second).is_none());
        assert!(all.remove(first).is_some());
        assert!(all.remove(first).is_none());
        assert!(all.insert(second, connection(second)).is_some());
        assert!(all.get(first).is_none());
        assert!(all.get(second).is_some());
        assert_eq!(all.open(), 1);
        assert!(all.insert(name(u32::MAX, 0), connection(first)).is_none());
    }

    #[test]
    fn a_block_stays_as_old_as_it_once_was() {
        let mut worker = holding(&[4, 5]);
        let said = |block, age| Running {
            block: BlockIndex(block),
            age: Nanos(age),
        };
        worker.note_running(Nanos(1000), &[said(4, 300), said(9, 1)]);
        assert_eq!(worker.began(BlockIndex(4)), Some(Nanos(700)));
        worker.note_running(Nanos(2000), &[said(4, 0)]);
        assert_eq!(worker.began(BlockIndex(4)), Some(Nanos(700)));
        worker.note_running(Nanos(2000), &[said(4, 5000)]);
        assert_eq!(worker.began(BlockIndex(4)), Some(Nanos(100)));
        assert_eq!(worker.presumably_running(), [BlockIndex(4)]);
    }

    #[test]
    fn without_a_word_the_first_in_hand_runs() {
        let mut worker = holding(&[4, 5, 6]);
        assert_eq!(worker.presumably_running(), [BlockIndex(4)]);
        assert_eq!(worker.spare(), 2);
        assert!(worker.drop_block(BlockIndex(4)).is_some());
        assert!(worker.drop_block(BlockIndex(4)).is_none());
        assert_eq!(worker.presumably_running(), [BlockIndex(5)]);
        worker.demand = 2;
        assert_eq!(worker.presumably_running(), [BlockIndex(5), BlockIndex(6)]);
        assert_eq!(worker.spare(), 0);
    }
}
