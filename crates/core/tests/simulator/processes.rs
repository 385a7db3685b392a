//! Launchers and processes: started or not, connected or not, dead in all ways.

use std::collections::{BTreeMap, VecDeque};

use bellis_core::run::{ConnectionId, Event, ExitKind, Hello, Nanos, WorkerId};
use bellis_core::{BlockIndex, TaskIndex};

use crate::plan::{MILLI, SECOND};
use crate::world::{exit, Happening, Message, Peer, Process, World};

impl World {
    /// Whoever could have been killed for sure must be dead before somebody else gets its block.
    pub(crate) fn assert_nobody_runs(&self, granted_to: ConnectionId, block: u64) {
        // A client that reports a block twice runs it while the run thinks that it is back.
        if self.plan.trouble.lies > 0 {
            return;
        }
        let task = self.task_of(self.by_name[&granted_to]);
        for peer in &self.peers {
            let process = &self.processes[&peer.process];
            let sure = peer.local
                && process.launched
                && !process.stubborn
                && self.plan.tasks[process.task].exit_reported
                && (!peer.cut || process.peers.len() == 1);
            let runs = process.alive && peer.running.contains_key(&block);
            let twice = sure && runs && process.task == task && peer.conn != granted_to;
            assert!(
                !twice,
                "block {block} of task {task} runs in process {}",
                peer.process
            );
        }
    }

    pub(crate) fn launch(&mut self, task: usize, worker: WorkerId) {
        let trouble = &self.plan.trouble;
        let (fails, never, clones) = (trouble.start_fails, trouble.never_connects, trouble.clones);
        let process = Process {
            task,
            alive: true,
            frozen: false,
            launched: true,
            peers: Vec::new(),
            exit_told: false,
            stubborn: self.dice.chance(20),
        };
        self.processes.insert(worker.0, process);
        if self.dice.chance(fails) {
            self.plan_in(MILLI, SECOND, Happening::LaunchFails(worker.0));
            return;
        }
        self.plan_in(Nanos(1), MILLI.times(300), Happening::Launched(worker.0));
        if self.dice.chance(never) {
            let kind = if self.dice.chance(500) {
                ExitKind::Clean
            } else {
                ExitKind::Code(1)
            };
            self.plan_in(MILLI, SECOND.times(30), Happening::Dies(worker.0, kind));
            return;
        }
        self.plan_in(
            MILLI.times(20),
            MILLI.times(600),
            Happening::Connects(worker.0),
        );
        if self.dice.chance(clones) {
            for _ in 0..self.dice.between(1, 3) {
                self.plan_in(MILLI.times(20), SECOND, Happening::Connects(worker.0));
            }
        }
    }

    pub(crate) fn kill(&mut self, worker: WorkerId) {
        let stubborn = self
            .processes
            .get(&worker.0)
            .is_some_and(|process| process.stubborn);
        let (low, high) = if stubborn {
            (SECOND, SECOND.times(9))
        } else {
            (Nanos(1), MILLI.times(5))
        };
        self.plan_in(low, high, Happening::Dies(worker.0, ExitKind::Signal(9)));
    }

    pub(crate) fn connect(&mut self, worker: u32) {
        let process = &self.processes[&worker];
        if !process.alive {
            return;
        }
        let task = process.task;
        let local = self.plan.tasks[task].local;
        let known = process.launched.then_some(WorkerId(worker));
        let conn = self.names.allocate();
        let peer = self.peers.len();
        self.peers.push(Peer {
            process: worker,
            conn,
            open: true,
            local,
            queue: VecDeque::new(),
            running: BTreeMap::new(),
            done: Vec::new(),
            leaving: false,
            cut: false,
            dirty: false,
            up: self.now,
            down: self.now,
        });
        self.by_name.insert(conn, peer);
        self.processes
            .get_mut(&worker)
            .expect("known")
            .peers
            .push(peer);
        let hello = Hello {
            task: TaskIndex(task as u32),
            worker: known,
            local,
        };
        self.tell(Event::Connected { conn, hello });
        self.plan_in(SECOND, SECOND, Happening::Beats(peer));
        if self.dice.chance(self.plan.trouble.unusable) {
            let fatal = self.dice.chance(300);
            self.send_up(peer, Message::Unusable(fatal));
            self.peers[peer].dirty = true;
            return;
        }
        self.plan_in(Nanos(1), MILLI.times(50), Happening::Asks(peer));
    }

    /// A process ends, and its sockets with it.
    pub(crate) fn die(&mut self, worker: u32, kind: ExitKind) {
        let Some(process) = self
            .processes
            .get_mut(&worker)
            .filter(|process| process.alive)
        else {
            return;
        };
        process.alive = false;
        let peers = process.peers.clone();
        let reported = process.launched && self.plan.tasks[process.task].exit_reported;
        for peer in peers {
            if std::mem::take(&mut self.peers[peer].open) {
                let known = self.dice.chance(300);
                let running = known.then(|| self.peers[peer].running.keys().copied().collect());
                self.send_up(peer, Message::Broken(running));
            }
        }
        if reported {
            self.plan_in(Nanos(1), MILLI.times(20), Happening::Reports(worker, kind));
        }
    }

    pub(crate) fn report(&mut self, worker: u32, kind: ExitKind) {
        let process = self.processes.get_mut(&worker).expect("known");
        if std::mem::replace(&mut process.exit_told, true) {
            return;
        }
        for peer in self.processes[&worker].peers.clone() {
            self.read_notes(peer);
        }
        self.tell(Event::WorkerExited {
            worker: WorkerId(worker),
            exit: &exit(kind),
        });
    }

    /// Now and then it is known what a dead worker had done and what it ran.
    fn read_notes(&mut self, peer: usize) {
        let local = self.peers[peer].local;
        if !local || self.peers[peer].open || self.dice.chance(400) {
            return;
        }
        let timeout = self.plan.tasks[self.task_of(peer)].config.timeout;
        let mut results = std::mem::take(&mut self.peers[peer].done);
        // Of a block that ran too long the run knows already, or not: that is another matter.
        results.retain(|result| result.ended - result.started < timeout);
        let running: Vec<BlockIndex> = self.peers[peer]
            .running
            .keys()
            .copied()
            .map(BlockIndex)
            .collect();
        self.tell(Event::LastWords {
            conn: self.peers[peer].conn,
            results: &results,
            running: Some(&running),
        });
    }
}
