//! The world around a run: launchers, processes, clients, a network with delays, and time.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap, VecDeque};

use bellis_core::run::{
    Action, BlockResult, BlockStatus, CheckAnswer, ConnectionId, ConnectionIds, ErrorReport, Event,
    Exit, ExitKind, Loss, Nanos, Outbox, Run, RunError, Running, WorkerId,
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
pub(crate) enum Happening {
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
pub(crate) enum Message {
    Acquire(u32),
    Released(Vec<BlockResult>),
    Returned(Vec<u64>),
    Heartbeat(Nanos, Vec<Running>),
    Unusable(bool),
    Goodbye,
    Broken(Option<Vec<u64>>),
}

#[derive(Debug)]
pub(crate) enum Order {
    Grant(Vec<u64>, bool),
    Retract(Vec<u64>),
    Shutdown,
    Closed,
}

/// A process that was started, or that came from outside.
pub(crate) struct Process {
    pub(crate) task: usize,
    pub(crate) alive: bool,
    pub(crate) frozen: bool,
    pub(crate) launched: bool,
    pub(crate) peers: Vec<usize>,
    pub(crate) exit_told: bool,
    /// It can't even be killed.
    pub(crate) stubborn: bool,
}

/// A client in a process.
pub(crate) struct Peer {
    pub(crate) process: u32,
    pub(crate) conn: ConnectionId,
    pub(crate) open: bool,
    pub(crate) local: bool,
    pub(crate) queue: VecDeque<(u64, bool)>,
    pub(crate) running: BTreeMap<u64, Nanos>,
    pub(crate) done: Vec<BlockResult>,
    pub(crate) leaving: bool,
    /// Its connection broke.
    pub(crate) cut: bool,
    /// Its exit code when it goes.
    pub(crate) dirty: bool,
    /// When its last message arrives, in either direction: order is kept.
    pub(crate) up: Nanos,
    pub(crate) down: Nanos,
}

pub(crate) struct World {
    pub(crate) dice: Dice,
    pub(crate) plan: Plan,
    pub(crate) run: Run,
    pub(crate) model: Model,
    pub(crate) out: Outbox,
    pub(crate) now: Nanos,
    pub(crate) agenda: BinaryHeap<Reverse<(Nanos, u64)>>,
    pub(crate) happenings: HashMap<u64, Happening>,
    pub(crate) next: u64,
    pub(crate) processes: HashMap<u32, Process>,
    pub(crate) peers: Vec<Peer>,
    pub(crate) names: ConnectionIds,
    pub(crate) by_name: HashMap<ConnectionId, usize>,
    pub(crate) outsiders: u32,
    pub(crate) told: u64,
    pub(crate) aloud: bool,
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
    pub(crate) fn introduce(&self) {
        for (at, task) in self.plan.tasks.iter().enumerate() {
            let (check, tracked) = (task.has_check, task.store.is_some());
            println!(
                "task {at}: check {check}, tracked {tracked}, {:?}",
                task.config
            );
            println!("    needs {:?}", task.needs);
        }
    }

    pub(crate) fn play(&mut self) {
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
    pub(crate) fn step(&mut self) {
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

    pub(crate) fn plan_at(&mut self, at: Nanos, happening: Happening) {
        self.next += 1;
        self.agenda.push(Reverse((at.max(self.now), self.next)));
        self.happenings.insert(self.next, happening);
    }

    pub(crate) fn plan_in(&mut self, low: Nanos, high: Nanos, happening: Happening) {
        let at = self.now + self.dice.period(low, high);
        self.plan_at(at, happening);
    }

    /// Tells the run, has the model watch, and does what the run wants.
    pub(crate) fn tell(&mut self, event: Event<'_>) {
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

    pub(crate) fn act(&mut self, action: &Action, out: &Outbox) {
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

    pub(crate) fn happen(&mut self, happening: Happening) {
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

    pub(crate) fn latency(&mut self) -> Nanos {
        self.dice.period(Nanos::from_micros(10), MILLI.times(3))
    }

    pub(crate) fn send_up(&mut self, peer: usize, message: Message) {
        let at = (self.now + self.latency()).max(self.peers[peer].up);
        self.peers[peer].up = at;
        self.plan_at(at, Happening::Arrives(peer, message));
    }

    pub(crate) fn send_down(&mut self, conn: ConnectionId, order: Order) {
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
    pub(crate) fn arrive(&mut self, peer: usize, message: Message) {
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
    pub(crate) fn lie(&mut self, own: ConnectionId) {
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

    pub(crate) fn answer(&mut self, task: usize, count: u64) {
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

pub(crate) fn error(message: &str) -> ErrorReport {
    ErrorReport {
        name: "Error".into(),
        message: message.into(),
        stack: None,
        details: None,
    }
}

pub(crate) fn exit(kind: ExitKind) -> Exit {
    Exit {
        kind,
        description: format!("{kind:?}"),
        stderr_tail: None,
    }
}
