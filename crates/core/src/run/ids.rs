//! Names for connections and workers.

/// A worker: the number counts from 0 over all tasks of a run and is never used twice.
///
/// A start gets its number before the process exists. A connection that comes with a number already
/// taken (a clone of a context), or with none (an external worker), gets the next free one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkerId(pub u32);

/// A connection: a slot that is reused, and a generation that tells its users apart.
///
/// The driver gives them out through [`ConnectionIds`]; events that carry the name of a connection
/// that has gone change nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId {
    /// Dense, so that the run and the server keep connections in a plain vector.
    pub slot: u32,
    /// Counts the connections that had this slot.
    pub generation: u32,
}

/// Gives out connection names, lowest free slot last used first.
#[derive(Debug, Default)]
pub struct ConnectionIds {
    generations: Vec<u32>,
    free: Vec<u32>,
}

impl ConnectionIds {
    /// None given out yet.
    pub fn new() -> ConnectionIds {
        ConnectionIds::default()
    }

    /// A name that no other living connection has.
    pub fn allocate(&mut self) -> ConnectionId {
        if let Some(slot) = self.free.pop() {
            let generation = self.generations[slot as usize];
            return ConnectionId { slot, generation };
        }
        let slot = self.generations.len() as u32;
        self.generations.push(0);
        ConnectionId {
            slot,
            generation: 0,
        }
    }

    /// The connection is gone and the run was told so; its slot may be used again.
    ///
    /// A name that isn't in use is ignored.
    pub fn free(&mut self, conn: ConnectionId) {
        let Some(generation) = self.generations.get_mut(conn.slot as usize) else {
            return;
        };
        if *generation == conn.generation {
            *generation = generation.wrapping_add(1);
            self.free.push(conn.slot);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_comes_back_with_another_generation() {
        let mut ids = ConnectionIds::new();
        let first = ids.allocate();
        let second = ids.allocate();
        assert_ne!(first.slot, second.slot);
        ids.free(first);
        ids.free(first);
        let third = ids.allocate();
        assert_eq!(third.slot, first.slot);
        assert_ne!(third, first);
        assert_eq!(ids.allocate().slot, 2);
    }
}
