//! Where everything meets on the run's thread: the run, the connections, the program around it. No
//! method waits for anything.

use std::cell::RefCell;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Instant;

use bellis_core::run::{
    Action, BlockResult, ConnectionId, ConnectionIds, Event, Hello, Loss, Nanos, Outbox, Run,
    Running, WorkerId,
};
use bellis_core::{BlockIndex, TaskIndex};
use tokio::net::TcpStream;
use tokio::sync::Notify;

use super::commands::Command;
use super::host::{Host, Notice, StrangerReason};
use super::legacies::Legacies;
use super::peer::Peer;
use super::sessions::Sessions;
use super::strangers::Strangers;
use super::table::Table;
use super::translate;
use crate::message::{
    self, BlockList, CloseReason, DriverMessage, ResumeToken, TaskSetup, Welcome, WorkerMessage,
};
use crate::noise::Sealer;
use crate::notes::{last_words, LastWords};
use crate::secret::fill_random;

pub(super) type SharedDesk = Rc<RefCell<Desk>>;
pub(super) type SharedHost = Rc<RefCell<Box<dyn Host>>>;

/// Wake-ups for the tasks that do what the desk can't do at once.
#[derive(Default)]
pub(super) struct Signals {
    /// Something is to be sent.
    pub(super) flush: Notify,
    /// The run wants to be told the time earlier than planned.
    pub(super) tick: Notify,
    /// The snapshot isn't what it was.
    pub(super) progress: Notify,
    /// The run is over.
    pub(super) over: Notify,
}

pub(super) struct Desk {
    run: Run,
    outbox: Outbox,
    host: SharedHost,
    tasks: Vec<TaskSetup>,
    names: HashMap<String, TaskIndex>,
    ids: ConnectionIds,
    pub(super) peers: Table,
    sessions: Sessions,
    legacies: Legacies,
    /// Words of workers that were thrown out while the run's wishes were being done.
    unsaid: Vec<(ConnectionId, LastWords)>,
    strangers: Strangers,
    epoch: Instant,
    /// When the run will be told the time.
    pub(super) armed: Nanos,
    changed: bool,
    /// Every peer counts as one on another machine.
    pub(super) all_remote: bool,
    pub(super) signals: Rc<Signals>,
    // Reused from message to message.
    blocks: Vec<BlockIndex>,
    indices: Vec<u64>,
    results: Vec<BlockResult>,
    running: Vec<Running>,
}

/// The connection has ended on our side: whoever reads from it should stop.
pub(super) struct Ended;

impl Desk {
    pub(super) fn new(run: Run, tasks: Vec<TaskSetup>, host: SharedHost, epoch: Instant) -> Desk {
        let names = tasks.iter().enumerate().map(|(at, task)| {
            let index = TaskIndex(u32::try_from(at).unwrap_or(u32::MAX));
            (task.geometry.task_id.clone(), index)
        });
        Desk {
            names: names.collect(),
            run,
            outbox: Outbox::new(),
            host,
            tasks,
            ids: ConnectionIds::new(),
            peers: Table::default(),
            sessions: Sessions::default(),
            legacies: Legacies::default(),
            unsaid: Vec::new(),
            strangers: Strangers::default(),
            epoch,
            armed: Nanos::MAX,
            changed: false,
            all_remote: false,
            signals: Rc::default(),
            blocks: Vec::new(),
            indices: Vec::new(),
            results: Vec::new(),
            running: Vec::new(),
        }
    }

    pub(super) fn now(&self) -> Nanos {
        Nanos(u64::try_from(self.epoch.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    pub(super) fn run(&self) -> &Run {
        &self.run
    }

    pub(super) fn notice(&mut self, notice: Notice) {
        self.host.borrow_mut().notice(notice);
    }

    /// A peer doesn't belong here.
    pub(super) fn turned_away(&mut self, address: SocketAddr, reason: StrangerReason) {
        let notice = self.strangers.notice(address, reason, Instant::now());
        if let Some(notice) = notice {
            self.notice(notice);
        }
    }

    /// Tells the run what happened and does what it wants.
    pub(super) fn tell(&mut self, event: Event<'_>) {
        let now = self.now();
        let mut outbox = std::mem::take(&mut self.outbox);
        self.run.handle(now, event, &mut outbox);
        for action in outbox.actions() {
            self.act(action, &outbox);
        }
        outbox.clear();
        self.outbox = outbox;
        while let Some((conn, words)) = self.unsaid.pop() {
            self.tell_last_words(conn, words);
        }
        if self
            .run
            .next_deadline()
            .is_some_and(|next| next < self.armed)
        {
            self.signals.tick.notify_one();
        }
        if !self.changed {
            self.changed = true;
            self.signals.progress.notify_one();
        }
    }

    fn act(&mut self, action: &Action, outbox: &Outbox) {
        match action {
            Action::Welcome { conn, worker, task } => self.welcome(*conn, *worker, *task),
            Action::Grant {
                conn,
                blocks,
                alone,
            } => {
                let alone = *alone;
                let blocks = self.block_list(outbox.blocks(*blocks));
                let message = DriverMessage::Grant { alone, blocks };
                self.say(*conn, &message);
                self.keep_list(message);
            }
            Action::Retract { conn, blocks } => {
                let blocks = self.block_list(outbox.blocks(*blocks));
                let message = DriverMessage::Retract { blocks };
                self.say(*conn, &message);
                self.keep_list(message);
            }
            Action::Shutdown { conn, reason } => {
                let reason = translate::shutdown_reason(*reason);
                self.say(*conn, &DriverMessage::Shutdown { reason });
            }
            Action::CloseConnection { conn, reason } => {
                self.throw_out(*conn, translate::close_reason(*reason));
            }
            Action::StartWorker { task, worker } => {
                self.host.borrow_mut().start_worker(*task, *worker);
            }
            Action::KillWorker { worker, reason } => {
                self.host.borrow_mut().kill_worker(*worker, *reason);
            }
            Action::Check { task, blocks } => {
                let blocks = outbox.blocks(*blocks);
                self.host.borrow_mut().check(*task, blocks);
            }
            Action::Failed(report) => self.host.borrow_mut().failed(report),
            Action::Warn(warning) => self.notice(Notice::Run(warning.clone())),
            Action::TaskFinished { task } => self.host.borrow_mut().task_finished(*task),
            Action::Finished => self.signals.over.notify_one(),
        }
    }

    pub(super) fn command(&mut self, command: Command) {
        match &command {
            Command::WorkerStarted {
                worker,
                exit_reported,
            } => self.tell(Event::WorkerStarted {
                worker: *worker,
                exit_reported: *exit_reported,
            }),
            Command::StartFailed { worker, error } => {
                self.tell(Event::StartFailed {
                    worker: *worker,
                    error,
                });
                self.host.borrow_mut().forget(*worker);
            }
            Command::WorkerExited { worker, exit } => {
                let notes = self.host.borrow_mut().notes(*worker);
                if let Some((conn, words)) = self.legacies.close(*worker, notes.as_deref()) {
                    self.tell_last_words(conn, words);
                }
                self.tell(Event::WorkerExited {
                    worker: *worker,
                    exit,
                });
                // Its connection, if it's still there, has a hold on them of its own.
                self.host.borrow_mut().forget(*worker);
            }
            Command::Checked { task, answers } => self.tell(Event::Checked {
                task: *task,
                answers,
            }),
            Command::Interrupt => self.tell(Event::Interrupt),
            Command::Abort => self.tell(Event::Abort),
            Command::Fatal(error) => self.tell(Event::Fatal(error.clone())),
            Command::Halt => self.signals.over.notify_one(),
        }
    }

    /// Whether the snapshot has changed since the last time this was asked.
    pub(super) fn take_changed(&mut self) -> bool {
        std::mem::take(&mut self.changed)
    }

    /// Shows the host how things are.
    pub(super) fn show(&mut self) {
        let snapshot = self.run.snapshot();
        self.host.borrow_mut().progress(snapshot);
    }

    fn welcome(&mut self, conn: ConnectionId, worker: WorkerId, task: TaskIndex) {
        let Some(peer) = self.peers.get(conn) else {
            return;
        };
        peer.worker = Some(worker);
        if !peer.remote {
            peer.notes = self.host.borrow_mut().notes(worker);
        }
        let setup = match self.tasks.get(task.0 as usize) {
            Some(setup) if !peer.resumed => Some(setup.clone()),
            _ => None,
        };
        let welcome = Welcome {
            worker: worker.0,
            token: peer.token,
            received: peer.received,
            task: setup,
        };
        self.say(conn, &DriverMessage::Welcome(Box::new(welcome)));
    }

    fn block_list(&mut self, blocks: &[BlockIndex]) -> BlockList {
        let mut indices = std::mem::take(&mut self.indices);
        indices.extend(blocks.iter().map(|block| block.0));
        BlockList(indices)
    }

    fn keep_list(&mut self, message: DriverMessage) {
        if let DriverMessage::Grant { blocks, .. } | DriverMessage::Retract { blocks } = message {
            self.indices = blocks.0;
            self.indices.clear();
        }
    }

    fn say(&mut self, conn: ConnectionId, message: &DriverMessage) {
        if self.peers.say(conn, message) {
            self.signals.flush.notify_one();
        }
    }

    /// A peer passed the handshake and introduced itself. Gives the name of its connection.
    pub(super) fn introduce(
        &mut self,
        stream: &Rc<TcpStream>,
        sealer: Sealer,
        first: WorkerMessage,
    ) -> Result<ConnectionId, StrangerReason> {
        match first {
            WorkerMessage::Hello(hello) => {
                let mut token = [0; 16];
                fill_random(&mut token)
                    .map_err(|error| StrangerReason::Malformed(error.to_string()))?;
                let token = ResumeToken(token);
                let unknown = TaskIndex(u32::MAX);
                let task = self.names.get(&hello.task).copied().unwrap_or(unknown);
                let conn = self.ids.allocate();
                let mut peer = Peer::new(conn, Rc::clone(stream), sealer, token);
                peer.remote |= self.all_remote;
                let local = !peer.remote;
                if !local {
                    self.sessions.began(token, conn);
                }
                self.peers.seat(peer);
                let worker = hello.worker.map(WorkerId);
                let hello = Hello {
                    task,
                    worker,
                    local,
                };
                self.tell(Event::Connected { conn, hello });
                Ok(conn)
            }
            WorkerMessage::Resume(resume) => {
                let conn = self.ids.allocate();
                let mut newcomer = Peer::new(conn, Rc::clone(stream), sealer, resume.token);
                newcomer.resumed = true;
                let Some(session) = self.sessions.find(resume.token) else {
                    self.peers.seat(newcomer);
                    let reason = message::ShutdownReason::Forgotten;
                    self.say(conn, &DriverMessage::Shutdown { reason });
                    return Ok(conn);
                };
                let previous = session.conn;
                // The old connection may still look alive, and then it knows best.
                newcomer.received = match self.peers.get(previous) {
                    Some(old) => old.received,
                    None => session.received,
                };
                self.sessions.began(resume.token, conn);
                self.peers.seat(newcomer);
                let held: Vec<BlockIndex> = resume.held.0.into_iter().map(BlockIndex).collect();
                self.tell(Event::Resumed {
                    conn,
                    previous,
                    held: &held,
                });
                Ok(conn)
            }
            _ => Err(StrangerReason::Malformed(
                "its first message is no introduction".to_owned(),
            )),
        }
    }

    /// A message came in.
    ///
    /// # Errors
    /// The connection is over, and its reader should stop.
    pub(super) fn on_message(
        &mut self,
        conn: ConnectionId,
        message: WorkerMessage,
    ) -> Result<(), Ended> {
        let peer = self.peers.get(conn).ok_or(Ended)?;
        match message {
            WorkerMessage::Released { results } => {
                peer.received += 1;
                peer.results += results.0.len() as u64;
                let mut translated = std::mem::take(&mut self.results);
                translated.extend(results.0.into_iter().map(translate::block_result));
                self.tell(Event::Released {
                    conn,
                    results: &translated,
                });
                translated.clear();
                self.results = translated;
            }
            WorkerMessage::Acquire { n } => self.tell(Event::Acquire { conn, n }),
            WorkerMessage::Returned { blocks } => {
                let mut translated = std::mem::take(&mut self.blocks);
                translated.extend(blocks.0.into_iter().map(BlockIndex));
                self.tell(Event::Returned {
                    conn,
                    blocks: &translated,
                });
                translated.clear();
                self.blocks = translated;
            }
            WorkerMessage::Heartbeat {
                sent,
                round_trip,
                running,
            } => {
                let received = peer.received;
                let mut translated = std::mem::take(&mut self.running);
                translated.extend(running.iter().map(|&(block, age)| Running {
                    block: BlockIndex(block),
                    age: Nanos(age),
                }));
                self.tell(Event::Heartbeat {
                    conn,
                    sent: Nanos(sent),
                    round_trip: round_trip.map(Nanos),
                    running: &translated,
                });
                translated.clear();
                self.running = translated;
                let pong = DriverMessage::Pong {
                    echo: sent,
                    received,
                };
                self.say(conn, &pong);
            }
            WorkerMessage::Unusable { fatal, error } => {
                let error = translate::error_report(error);
                self.tell(Event::Unusable {
                    conn,
                    fatal,
                    error: &error,
                });
            }
            WorkerMessage::Goodbye => {
                peer.said_goodbye = true;
                return Err(Ended);
            }
            WorkerMessage::Exiting { code: _, running } => {
                peer.last_words = Some(running.0.into_iter().map(BlockIndex).collect());
            }
            WorkerMessage::Hello(_) | WorkerMessage::Resume(_) => {
                self.throw_out_stranger(conn, "it introduced itself twice");
                return Err(Ended);
            }
        }
        Ok(())
    }

    /// A peer broke the rules.
    pub(super) fn throw_out_stranger(&mut self, conn: ConnectionId, what: &str) {
        let Some(peer) = self.peers.get(conn) else {
            return;
        };
        if let Ok(address) = peer.stream().peer_addr() {
            self.turned_away(address, StrangerReason::Malformed(what.to_owned()));
        }
        if let Some(peer) = self.peers.unseat(conn, Some(CloseReason::Malformed)) {
            self.tell_disconnected(peer);
        }
    }

    /// The run has forgotten this connection.
    fn throw_out(&mut self, conn: ConnectionId, reason: CloseReason) {
        if let Some(mut peer) = self.peers.unseat(conn, Some(reason)) {
            if reason == CloseReason::Replaced {
                return;
            }
            self.sessions.ended(peer.token);
            let words = words_of(&mut peer);
            self.legacies.keep(&peer);
            self.unsaid.extend(words.map(|words| (conn, words)));
        }
    }

    /// What is in the notes of a worker whose connection has ended.
    fn tell_last_words(&mut self, conn: ConnectionId, words: LastWords) {
        let (results, running) = translate::last_words(words);
        self.tell(Event::LastWords {
            conn,
            results: &results,
            running: running.as_deref(),
        });
    }

    /// Nothing more comes from this connection; its name is free.
    pub(super) fn disconnected(&mut self, conn: ConnectionId) {
        if let Some(peer) = self.peers.unseat(conn, None) {
            self.tell_disconnected(peer);
        }
        self.ids.free(conn);
    }

    fn tell_disconnected(&mut self, mut peer: Peer) {
        let now = self.now();
        let words = words_of(&mut peer).unwrap_or_default();
        self.legacies.keep(&peer);
        let (results, running) = translate::last_words(words);
        if !results.is_empty() {
            self.tell(Event::Released {
                conn: peer.conn,
                results: &results,
            });
        }
        let loss = if peer.said_goodbye {
            self.sessions.ended(peer.token);
            Loss::Goodbye
        } else {
            self.sessions.broke(peer.token, peer.received, now);
            Loss::Broken {
                running: peer.last_words.as_deref().or(running.as_deref()),
            }
        };
        self.tell(Event::Disconnected {
            conn: peer.conn,
            loss,
        });
    }
}

/// What a peer has written down beyond what came from it, which counts as come from here on.
fn words_of(peer: &mut Peer) -> Option<LastWords> {
    let notes = peer.notes.as_deref().filter(|_| !peer.said_goodbye)?;
    let words = last_words(notes, &peer.token, peer.results)?;
    peer.results += words.results.len() as u64;
    Some(words)
}
