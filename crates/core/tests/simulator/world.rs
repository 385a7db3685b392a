//! The world around a run: launchers, processes, clients, a network with delays, and time.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap, VecDeque};

use bellis_core::run::{
    Action, BlockResult, BlockStatus, CheckAnswer, ConnectionId, ConnectionIds, ErrorReport, Event,
    Exit, ExitKind, Hello, Loss, Nanos, OnBlockError, Outbox, Run, RunError, Running, WorkerId,
};
use bellis_core::{BlockIndex, TaskIndex};

use crate::dice::Dice;
use crate::model::Model;
use crate::plan::{self, Plan, MILLI, SECOND};

/// No history takes longer than this.
const LONGEST: Nanos = Nanos::from_secs(4_000);
const MOST_EVENTS: u64 = 200_000;

/// Something that happens at a time.
#[derive(Debug)]
enum Happening {
    /// A launcher answers.
    Launched(u32),
    LaunchFails(u32),
    /// A process connects for the first time, or another time as a clone.
    Connects(u32),
    /// A message of a peer reaches the run.
    Arrives(usize, Message),
    /// A message of the run reaches a peer.
    Reaches(usize, Order),
    /// A peer is done with a block.
    Ends(usize, u64, u64),
    Beats(usize),
    Dies(u32, ExitKind),
    Reports(u32, ExitKind),
    Answers(usize, u64),
    Interrupt,
    Fatal,
    Outsider,
    Asks(usize),
    Resumes(usize),
}

#[derive(Debug)]
enum Message {
    Acquire(u32),
    Released(Vec<BlockResult>),
    Returned(Vec<u64>),
    Heartbeat(Nanos, Vec<Running>),
    Unusable(bool),
    Goodbye,
    Broken(Option<Vec<u64>>),
}

#[derive(Debug)]
enum Order {
    Grant(Vec<u64>, bool),
    Retract(Vec<u64>),
    Shutdown,
    Closed,
}

/// A process that was started, or that came from outside.
struct Process {
    task: usize,
    alive: bool,
    frozen: bool,
    launched: bool,
    peers: Vec<usize>,
    exit_told: bool,
    /// It can't even be killed.
    stubborn: bool,
}

/// A client in a process.
struct Peer {
    process: u32,
    conn: ConnectionId,
    open: bool,
    local: bool,
    queue: VecDeque<(u64, bool)>,
    running: BTreeMap<u64, Nanos>,
    done: Vec<BlockResult>,
    leaving: bool,
    /// Its connection broke.
    cut: bool,
    /// Its exit code when it goes.
    dirty: bool,
    /// When its last message arrives, in either direction: order is kept.
    up: Nanos,
    down: Nanos,
}

struct World {
    dice: Dice,
    plan: Plan,
    run: Run,
    model: Model,
    out: Outbox,
    now: Nanos,
    agenda: BinaryHeap<Reverse<(Nanos, u64)>>,
    happenings: HashMap<u64, Happening>,
    next: u64,
    processes: HashMap<u32, Process>,
    peers: Vec<Peer>,
    names: ConnectionIds,
    by_name: HashMap<ConnectionId, usize>,
    outsiders: u32,
    told: u64,
    aloud: bool,
}

/// Plays one history; the number of events in it.
pub(crate) fn play(seed: u64, aloud: bool) -> u64 {
    let mut dice = Dice::new(seed);
    let (plan, scheduler, config) = plan::roll(&mut dice);
    let run = Run::new(scheduler, config).expect("a right configuration");
    let model = Model::new(&plan);
    let mut world = World {
        dice,
        plan,
        run,
        model,
        out: Outbox::new(),
        now: Nanos::ZERO,
        agenda: BinaryHeap::new(),
        happenings: HashMap::new(),
        next: 0,
        processes: HashMap::new(),
        peers: Vec::new(),
        names: ConnectionIds::new(),
        by_name: HashMap::new(),
        outsiders: 0,
        told: 0,
        aloud,
    };
    if aloud {
        world.introduce();
    }
    world.play();
    world.told
}

impl World {
    fn introduce(&self) {
        for (at, task) in self.plan.tasks.iter().enumerate() {
            let (check, tracked) = (task.has_check, task.store.is_some());
            println!(
                "task {at}: check {check}, tracked {tracked}, {:?}",
                task.config
            );
            println!("    needs {:?}", task.needs);
        }
    }

    fn play(&mut self) {
        if let Some(at) = self.plan.interrupt_at {
            self.plan_at(at, Happening::Interrupt);
            if let Some(later) = self.plan.second_interrupt {
                self.plan_at(at + later, Happening::Interrupt);
            }
        }
        if let Some(at) = self.plan.fatal_at {
            self.plan_at(at, Happening::Fatal);
        }
        for _ in 0..self.plan.outsiders {
            let at = self.dice.period(MILLI, SECOND.times(5));
            self.plan_at(at, Happening::Outsider);
        }
        self.tell(Event::Tick);
        while !self.model.finished {
            assert!(
                self.now < LONGEST && self.told < MOST_EVENTS,
                "no end: {:#?}",
                self.run.snapshot()
            );
            self.step();
        }
        self.model.check_end(&self.plan, &self.run);
        // Latecomers are told to go, and nothing else happens.
        for _ in 0..20 {
            if self.agenda.is_empty() {
                break;
            }
            self.step();
        }
    }

    /// The next thing that happens, or the time the run asked for.
    fn step(&mut self) {
        let planned = self.agenda.peek().map(|Reverse((at, _))| *at);
        let deadline = self.run.next_deadline();
        let next = match (planned, deadline) {
            (Some(planned), Some(deadline)) => planned.min(deadline),
            (Some(only), None) | (None, Some(only)) => only,
            (None, None) if self.model.finished => return,
            (None, None) => panic!("nothing will ever happen: {:#?}", self.run.snapshot()),
        };
        self.now = self.now.max(next);
        if self.plan.jumps && self.dice.chance(4) {
            self.now = self.now + self.dice.period(MILLI, SECOND.times(12));
        }
        if planned.is_none_or(|planned| planned > next) {
            self.tell(Event::Tick);
            return;
        }
        let Some(Reverse((_, number))) = self.agenda.pop() else {
            return;
        };
        if let Some(happening) = self.happenings.remove(&number) {
            if self.aloud {
                println!("{:>12.6} {happening:?}", self.now.as_secs_f64());
            }
            self.happen(happening);
        }
    }

    fn plan_at(&mut self, at: Nanos, happening: Happening) {
        self.next += 1;
        self.agenda.push(Reverse((at.max(self.now), self.next)));
        self.happenings.insert(self.next, happening);
    }

    fn plan_in(&mut self, low: Nanos, high: Nanos, happening: Happening) {
        let at = self.now + self.dice.period(low, high);
        self.plan_at(at, happening);
    }

    /// Tells the run, has the model watch, and does what the run wants.
    fn tell(&mut self, event: Event<'_>) {
        self.told += 1;
        self.out.clear();
        self.model.before(&event);
        // Sometimes the clock that the event is stamped with runs backwards.
        let stamp = if self.dice.chance(5) {
            self.now - MILLI.times(50)
        } else {
            self.now
        };
        self.run.handle(stamp, event.clone(), &mut self.out);
        if self.aloud {
            if matches!(event, Event::Tick) {
                println!("{:>12.6} tick", self.now.as_secs_f64());
            }
            for action in self.out.actions() {
                println!("             -> {action:?}");
            }
            for (at, task) in self.run.snapshot().tasks.iter().enumerate() {
                let (ready, pending, out) = (task.ready, task.pending, task.processing);
                println!("             task {at}: {ready} ready, {pending} pending, {out} out");
            }
        }
        self.model.after(&self.plan, &self.run, &event, &self.out);
        let out = std::mem::take(&mut self.out);
        for action in out.actions() {
            self.act(action, &out);
        }
        self.out = out;
    }

    fn act(&mut self, action: &Action, out: &Outbox) {
        let list = |span| {
            out.blocks(span)
                .iter()
                .map(|block: &BlockIndex| block.0)
                .collect()
        };
        match action {
            Action::StartWorker { task, worker } => self.launch(task.at(), *worker),
            Action::KillWorker { worker, .. } => self.kill(*worker),
            Action::Grant {
                conn,
                blocks,
                alone,
            } => {
                for block in out.blocks(*blocks) {
                    self.assert_nobody_runs(*conn, block.0);
                }
                self.send_down(*conn, Order::Grant(list(*blocks), *alone));
            }
            Action::Retract { conn, blocks } => {
                self.send_down(*conn, Order::Retract(list(*blocks)));
            }
            Action::Shutdown { conn, .. } => self.send_down(*conn, Order::Shutdown),
            Action::CloseConnection { conn, .. } => {
                self.send_down(*conn, Order::Closed);
                self.names.free(*conn);
            }
            Action::Check { task, blocks } => {
                let count = blocks.len() as u64;
                self.plan_in(
                    MILLI,
                    MILLI.times(200),
                    Happening::Answers(task.at(), count),
                );
            }
            Action::Welcome { .. }
            | Action::Failed(_)
            | Action::Warn(_)
            | Action::TaskFinished { .. }
            | Action::Finished => {}
        }
    }

    /// Whoever could have been killed for sure must be dead before somebody else gets its block.
    fn assert_nobody_runs(&self, granted_to: ConnectionId, block: u64) {
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

    fn launch(&mut self, task: usize, worker: WorkerId) {
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

    fn kill(&mut self, worker: WorkerId) {
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

    fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Launched(worker) => {
                let exit_reported = self.plan.tasks[self.processes[&worker].task].exit_reported;
                self.tell(Event::WorkerStarted {
                    worker: WorkerId(worker),
                    exit_reported,
                });
                let process = &self.processes[&worker];
                if !process.alive && exit_reported && !process.exit_told {
                    self.plan_at(self.now, Happening::Reports(worker, ExitKind::Unknown));
                }
            }
            Happening::LaunchFails(worker) => {
                self.processes.get_mut(&worker).expect("known").alive = false;
                let error = error("no such program");
                self.tell(Event::StartFailed {
                    worker: WorkerId(worker),
                    error: &error,
                });
            }
            Happening::Connects(worker) => self.connect(worker),
            Happening::Outsider => {
                self.outsiders += 1;
                let number = u32::MAX - self.outsiders;
                let task = self.dice.below(self.plan.tasks.len() as u64) as usize;
                let process = Process {
                    task,
                    alive: true,
                    frozen: false,
                    launched: false,
                    peers: Vec::new(),
                    exit_told: true,
                    stubborn: false,
                };
                self.processes.insert(number, process);
                self.connect(number);
            }
            Happening::Asks(peer) => self.ask(peer),
            Happening::Arrives(peer, message) => self.arrive(peer, message),
            Happening::Reaches(peer, order) => self.obey(peer, order),
            Happening::Ends(peer, block, number) => self.end_block(peer, block, number),
            Happening::Beats(peer) => self.beat(peer),
            Happening::Dies(worker, kind) => self.die(worker, kind),
            Happening::Reports(worker, kind) => self.report(worker, kind),
            Happening::Answers(task, count) => self.answer(task, count),
            Happening::Interrupt => {
                let event = if self.dice.chance(100) {
                    Event::Abort
                } else {
                    Event::Interrupt
                };
                self.tell(event);
            }
            Happening::Fatal => {
                let (code, message) = ("ERR_BELLIS_STORE".into(), "lock lost".into());
                self.tell(Event::Fatal(RunError::Driver { code, message }));
            }
            Happening::Resumes(peer) => self.resume(peer),
        }
    }

    fn connect(&mut self, worker: u32) {
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

    fn ask(&mut self, peer: usize) {
        if self.is_at_work(peer) && !self.peers[peer].leaving && self.peers[peer].open {
            let n = self.plan.tasks[self.task_of(peer)].concurrency;
            self.send_up(peer, Message::Acquire(n));
        }
    }

    fn task_of(&self, peer: usize) -> usize {
        self.processes[&self.peers[peer].process].task
    }

    /// Its process lives and moves.
    fn is_at_work(&self, peer: usize) -> bool {
        let process = &self.processes[&self.peers[peer].process];
        process.alive && !process.frozen
    }

    fn latency(&mut self) -> Nanos {
        self.dice.period(Nanos::from_micros(10), MILLI.times(3))
    }

    fn send_up(&mut self, peer: usize, message: Message) {
        let at = (self.now + self.latency()).max(self.peers[peer].up);
        self.peers[peer].up = at;
        self.plan_at(at, Happening::Arrives(peer, message));
    }

    fn send_down(&mut self, conn: ConnectionId, order: Order) {
        let Some(&peer) = self.by_name.get(&conn) else {
            return;
        };
        if self.peers[peer].conn != conn {
            return;
        }
        let at = (self.now + self.latency()).max(self.peers[peer].down);
        self.peers[peer].down = at;
        self.plan_at(at, Happening::Reaches(peer, order));
    }

    /// A message arrives at the run, now and then twice, or after the connection is gone.
    fn arrive(&mut self, peer: usize, message: Message) {
        let conn = self.peers[peer].conn;
        let repeat = self.dice.chance(self.plan.trouble.lies);
        match message {
            Message::Acquire(n) => self.tell(Event::Acquire { conn, n }),
            Message::Released(results) => {
                self.tell(Event::Released {
                    conn,
                    results: &results,
                });
                if repeat {
                    self.tell(Event::Released {
                        conn,
                        results: &results,
                    });
                }
            }
            Message::Returned(blocks) => {
                let blocks: Vec<BlockIndex> = blocks.into_iter().map(BlockIndex).collect();
                self.tell(Event::Returned {
                    conn,
                    blocks: &blocks,
                });
            }
            Message::Heartbeat(sent, running) => {
                let round_trip = Some(self.latency());
                self.tell(Event::Heartbeat {
                    conn,
                    sent,
                    round_trip,
                    running: &running,
                });
                if repeat {
                    self.lie(conn);
                }
            }
            Message::Unusable(fatal) => {
                let error = error("no export");
                self.tell(Event::Unusable {
                    conn,
                    fatal,
                    error: &error,
                });
            }
            Message::Goodbye => {
                self.tell(Event::Disconnected {
                    conn,
                    loss: Loss::Goodbye,
                });
                self.names.free(conn);
            }
            Message::Broken(running) => {
                let running: Option<Vec<BlockIndex>> =
                    running.map(|blocks| blocks.into_iter().map(BlockIndex).collect());
                let loss = Loss::Broken {
                    running: running.as_deref(),
                };
                self.tell(Event::Disconnected { conn, loss });
                self.names.free(conn);
            }
        }
    }

    /// What no honest client sends: blocks it doesn't have, from connections that aren't its own.
    fn lie(&mut self, own: ConnectionId) {
        let block = BlockIndex(self.dice.below(60));
        let foreign = ConnectionId {
            slot: self.dice.below(12) as u32,
            generation: self.dice.below(3) as u32,
        };
        // Not in the name of a living peer: that would be the truth for all the run can know.
        let conn = if self.by_name.contains_key(&foreign) {
            own
        } else {
            foreign
        };
        let held = self.by_name.get(&conn).is_some_and(|peer| {
            let peer = &self.peers[*peer];
            peer.running.contains_key(&block.0) || peer.queue.iter().any(|(own, _)| *own == block.0)
        });
        if held || self.dice.chance(300) {
            let worker = WorkerId(4_000 + self.dice.below(9) as u32);
            self.tell(Event::WorkerExited {
                worker,
                exit: &exit(ExitKind::Clean),
            });
            return;
        }
        let status = [BlockStatus::Success, BlockStatus::Failed][self.dice.below(2) as usize];
        let result = self.result(block.0, status, self.now);
        if self.dice.chance(500) {
            // It might be on its way to the liar, which would make it true.
            if conn != own {
                self.tell(Event::Released {
                    conn,
                    results: &[result],
                });
            }
        } else if conn != own {
            self.tell(Event::Returned {
                conn,
                blocks: &[block],
            });
        }
        let age = Nanos(self.dice.roll());
        let running = [Running { block, age }];
        let sent = Nanos(self.dice.roll());
        self.tell(Event::Heartbeat {
            conn: own,
            sent,
            round_trip: None,
            running: &running,
        });
    }

    fn result(&self, block: u64, status: BlockStatus, began: Nanos) -> BlockResult {
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
    fn obey(&mut self, peer: usize, order: Order) {
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

    fn start_blocks(&mut self, peer: usize) {
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
    fn run_block(&mut self, peer: usize, block: u64) {
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
    fn change_its_mind(&mut self, peer: usize) {
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
    fn break_off(&mut self, peer: usize) {
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

    fn resume(&mut self, peer: usize) {
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
    fn end_block(&mut self, peer: usize, block: u64, how: u64) {
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

    fn start_blocks_unless_leaving(&mut self, peer: usize) {
        if !self.peers[peer].leaving {
            self.start_blocks(peer);
        }
    }

    fn leave_if_done(&mut self, peer: usize) {
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

    fn beat(&mut self, peer: usize) {
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

    /// A process ends, and its sockets with it.
    fn die(&mut self, worker: u32, kind: ExitKind) {
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

    fn report(&mut self, worker: u32, kind: ExitKind) {
        let process = self.processes.get_mut(&worker).expect("known");
        if std::mem::replace(&mut process.exit_told, true) {
            return;
        }
        self.tell(Event::WorkerExited {
            worker: WorkerId(worker),
            exit: &exit(kind),
        });
    }

    fn answer(&mut self, task: usize, count: u64) {
        let count = if self.dice.chance(50) {
            self.dice.below(count + 3)
        } else {
            count
        };
        let answers: Vec<CheckAnswer> = (0..count)
            .map(|_| match self.dice.below(10) {
                0..=4 => CheckAnswer::NotDone,
                5..=8 => CheckAnswer::Done,
                _ => CheckAnswer::Error(Box::new(error("cannot look"))),
            })
            .collect();
        self.tell(Event::Checked {
            task: TaskIndex(task as u32),
            answers: &answers,
        });
    }
}

fn error(message: &str) -> ErrorReport {
    ErrorReport {
        name: "Error".into(),
        message: message.into(),
        stack: None,
        details: None,
    }
}

fn exit(kind: ExitKind) -> Exit {
    Exit {
        kind,
        description: format!("{kind:?}"),
        stderr_tail: None,
    }
}
