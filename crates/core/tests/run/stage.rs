//! A run on a stage: the test tells it events, and every action it answers with must be expected.

use std::collections::VecDeque;

use bellis_core::run::{
    Action, BlockResult, BlockStatus, CheckAnswer, CloseReason, ConnectionId, ConnectionIds,
    ErrorReport, Event, Exit, ExitKind, FailureReport, Hello, KillReason, Loss, Nanos, Outbox, Run,
    RunConfig, Running, ShutdownReason, TaskConfig, TaskSnapshot, Warning, WorkerId,
};
use bellis_core::{BlockIndex, TaskIndex};

use crate::graphs::Graph;

/// An action with its blocks, as the test sees it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Told {
    Welcome(ConnectionId, u32),
    Grant(ConnectionId, Vec<u64>),
    GrantAlone(ConnectionId, Vec<u64>),
    Retract(ConnectionId, Vec<u64>),
    Shutdown(ConnectionId, ShutdownReason),
    Close(ConnectionId, CloseReason),
    Start(u32, u32),
    Kill(u32, KillReason),
    Check(u32, Vec<u64>),
    Failed(Box<FailureReport>),
    Warn(Warning),
    TaskFinished(u32),
    Finished,
}

/// The run, its time, and what it said that no test has looked at.
pub(crate) struct Stage {
    pub(crate) run: Run,
    pub(crate) now: Nanos,
    names: ConnectionIds,
    out: Outbox,
    told: VecDeque<Told>,
}

impl Stage {
    pub(crate) fn new(graph: Graph, config: RunConfig) -> Stage {
        Stage {
            run: Run::new(graph.scheduler(), config).expect("the configuration is right"),
            now: Nanos::ZERO,
            names: ConnectionIds::new(),
            out: Outbox::new(),
            told: VecDeque::new(),
        }
    }

    /// One task of so many independent blocks, and its settings.
    pub(crate) fn with(blocks: u64, task: TaskConfig) -> Stage {
        Stage::new(Graph::row(blocks), RunConfig::new(vec![task]))
    }

    /// As many blocks, and one worker at the first of them. The others that may work have been started.
    #[track_caller]
    pub(crate) fn at_work(blocks: u64, task: TaskConfig) -> (Stage, ConnectionId) {
        let max_workers = task.max_workers;
        let mut stage = Stage::with(blocks, task);
        stage.begin_with(max_workers);
        stage.started(0, true);
        let (conn, granted) = stage.arrive(0);
        assert_eq!(granted, [0]);
        (stage, conn)
    }

    /// Tells an event. Everything said before must have been expected.
    pub(crate) fn tell(&mut self, event: Event<'_>) {
        assert!(self.told.is_empty(), "nobody expected {:?}", self.told);
        self.run.handle(self.now, event, &mut self.out);
        for action in self.out.actions() {
            self.told.push_back(owned(action, &self.out));
        }
        self.out.clear();
        self.check_counters();
    }

    /// What it said, and no more.
    #[track_caller]
    pub(crate) fn expect(&mut self, wanted: impl IntoIterator<Item = Told>) {
        let wanted: Vec<Told> = wanted.into_iter().collect();
        let told: Vec<Told> = self.told.drain(..).collect();
        assert_eq!(told, wanted);
    }

    /// What it said next.
    #[track_caller]
    pub(crate) fn next(&mut self) -> Told {
        self.told.pop_front().expect("the run says something")
    }

    /// What it said next, left where it is.
    pub(crate) fn peek(&self) -> Option<&Told> {
        self.told.front()
    }

    #[track_caller]
    pub(crate) fn expect_nothing(&mut self) {
        self.expect([]);
    }

    /// Lets time pass, waking the run whenever it wants.
    pub(crate) fn wait(&mut self, period: Nanos) {
        let until = self.now + period;
        while let Some(next) = self.run.next_deadline().filter(|next| *next <= until) {
            self.now = self.now.max(next);
            self.tell(Event::Tick);
            if !self.told.is_empty() {
                return;
            }
        }
        self.now = until;
        self.tell(Event::Tick);
    }

    pub(crate) fn begin(&mut self) {
        self.tell(Event::Tick);
    }

    /// Begins, and starts so many workers of the first task at once.
    #[track_caller]
    pub(crate) fn begin_with(&mut self, workers: u32) {
        self.begin();
        self.expect((0..workers).map(|worker| Told::Start(0, worker)));
    }

    /// A started worker connects, asks for so many blocks and is given exactly these.
    #[track_caller]
    pub(crate) fn comes_for(&mut self, worker: u32, blocks: &[u64]) -> ConnectionId {
        let conn = self.connect(Some(worker));
        self.is_given(conn, worker, blocks)
    }

    /// As `comes_for`, from another host.
    #[track_caller]
    pub(crate) fn comes_from_afar_for(&mut self, worker: u32, blocks: &[u64]) -> ConnectionId {
        let conn = self.connect_to(0, Some(worker), false);
        self.is_given(conn, worker, blocks)
    }

    #[track_caller]
    fn is_given(&mut self, conn: ConnectionId, worker: u32, blocks: &[u64]) -> ConnectionId {
        self.expect([Told::Welcome(conn, worker)]);
        self.acquire(conn, blocks.len() as u32);
        self.expect([Told::Grant(conn, blocks.to_vec())]);
        conn
    }

    /// A worker of the first task connects from this host.
    pub(crate) fn connect(&mut self, worker: Option<u32>) -> ConnectionId {
        self.connect_to(0, worker, true)
    }

    pub(crate) fn connect_to(
        &mut self,
        task: u32,
        worker: Option<u32>,
        local: bool,
    ) -> ConnectionId {
        let conn = self.names.allocate();
        let hello = Hello {
            task: TaskIndex(task),
            worker: worker.map(WorkerId),
            local,
        };
        self.tell(Event::Connected { conn, hello });
        conn
    }

    /// A started worker connects, is welcomed and asks for blocks; the blocks it got.
    #[track_caller]
    pub(crate) fn arrive(&mut self, worker: u32) -> (ConnectionId, Vec<u64>) {
        let conn = self.connect(Some(worker));
        assert_eq!(self.next(), Told::Welcome(conn, worker));
        self.told.retain(|told| !matches!(told, Told::Start(..)));
        self.acquire(conn, 1);
        (conn, self.granted(conn))
    }

    /// The blocks of the next grant, if that is what comes next.
    pub(crate) fn granted(&mut self, conn: ConnectionId) -> Vec<u64> {
        match self.told.front() {
            Some(Told::Grant(to, blocks)) if *to == conn => {
                let blocks = blocks.clone();
                self.told.pop_front();
                blocks
            }
            _ => Vec::new(),
        }
    }

    pub(crate) fn acquire(&mut self, conn: ConnectionId, n: u32) {
        self.tell(Event::Acquire { conn, n });
    }

    /// Blocks succeeded that took so long that nothing is prefetched.
    pub(crate) fn succeed(&mut self, conn: ConnectionId, blocks: &[u64]) {
        self.now = self.now + Nanos::from_millis(20);
        let results: Vec<BlockResult> = blocks
            .iter()
            .map(|block| self.result(*block, BlockStatus::Success))
            .collect();
        self.tell(Event::Released {
            conn,
            results: &results,
        });
    }

    pub(crate) fn throw(&mut self, conn: ConnectionId, block: u64) {
        self.now = self.now + Nanos::from_millis(20);
        let mut result = self.result(block, BlockStatus::Failed);
        result.error = Some(Box::new(error("boom")));
        self.tell(Event::Released {
            conn,
            results: &[result],
        });
    }

    pub(crate) fn result(&self, block: u64, status: BlockStatus) -> BlockResult {
        BlockResult {
            block: BlockIndex(block),
            status,
            started: self.now - Nanos::from_millis(20),
            ended: self.now,
            stats: None,
            error: None,
        }
    }

    pub(crate) fn give_back(&mut self, conn: ConnectionId, blocks: &[u64]) {
        let blocks: Vec<BlockIndex> = blocks.iter().copied().map(BlockIndex).collect();
        self.tell(Event::Returned {
            conn,
            blocks: &blocks,
        });
    }

    pub(crate) fn heartbeat(&mut self, conn: ConnectionId, running: &[(u64, Nanos)]) {
        let running: Vec<Running> = running
            .iter()
            .map(|(block, age)| Running {
                block: BlockIndex(*block),
                age: *age,
            })
            .collect();
        let (sent, round_trip) = (self.now, Some(Nanos::ZERO));
        self.tell(Event::Heartbeat {
            conn,
            sent,
            round_trip,
            running: &running,
        });
    }

    pub(crate) fn goodbye(&mut self, conn: ConnectionId) {
        self.tell(Event::Disconnected {
            conn,
            loss: Loss::Goodbye,
        });
        self.names.free(conn);
    }

    /// The connection breaks, and nothing is known of what ran.
    pub(crate) fn cut(&mut self, conn: ConnectionId) {
        self.tell(Event::Disconnected {
            conn,
            loss: Loss::Broken { running: None },
        });
        self.names.free(conn);
    }

    /// As `cut`, but the last words say what ran.
    pub(crate) fn cut_while(&mut self, conn: ConnectionId, running: &[u64]) {
        let running: Vec<BlockIndex> = running.iter().copied().map(BlockIndex).collect();
        let loss = Loss::Broken {
            running: Some(&running),
        };
        self.tell(Event::Disconnected { conn, loss });
        self.names.free(conn);
    }

    /// What a worker of a lost connection had written down.
    pub(crate) fn last_words(&mut self, conn: ConnectionId, done: &[u64], running: &[u64]) {
        let results: Vec<BlockResult> = done
            .iter()
            .map(|block| self.result(*block, BlockStatus::Success))
            .collect();
        let running: Vec<BlockIndex> = running.iter().copied().map(BlockIndex).collect();
        self.tell(Event::LastWords {
            conn,
            results: &results,
            running: Some(&running),
        });
    }

    pub(crate) fn resume(&mut self, previous: ConnectionId, held: &[u64]) -> ConnectionId {
        let conn = self.names.allocate();
        let held: Vec<BlockIndex> = held.iter().copied().map(BlockIndex).collect();
        self.tell(Event::Resumed {
            conn,
            previous,
            held: &held,
        });
        conn
    }

    pub(crate) fn started(&mut self, worker: u32, exit_reported: bool) {
        self.tell(Event::WorkerStarted {
            worker: WorkerId(worker),
            exit_reported,
        });
    }

    pub(crate) fn exit(&mut self, worker: u32, kind: ExitKind) {
        let exit = Exit {
            kind,
            description: format!("{kind:?}"),
            stderr_tail: None,
        };
        self.tell(Event::WorkerExited {
            worker: WorkerId(worker),
            exit: &exit,
        });
    }

    pub(crate) fn start_fails(&mut self, worker: u32) {
        let error = error("no such program");
        self.tell(Event::StartFailed {
            worker: WorkerId(worker),
            error: &error,
        });
    }

    pub(crate) fn answer(&mut self, task: u32, answers: &[CheckAnswer]) {
        self.tell(Event::Checked {
            task: TaskIndex(task),
            answers,
        });
    }

    pub(crate) fn counters(&self) -> TaskSnapshot {
        self.counters_of(0)
    }

    pub(crate) fn counters_of(&self, task: usize) -> TaskSnapshot {
        self.run.snapshot().tasks[task]
    }

    /// The next failure told, for its block.
    #[track_caller]
    pub(crate) fn failure(&mut self) -> FailureReport {
        match self.next() {
            Told::Failed(report) => *report,
            other => panic!("expected a failure, not {other:?}"),
        }
    }

    fn check_counters(&self) {
        for task in self.run.snapshot().tasks {
            let sum = task.ready
                + task.pending
                + task.processing
                + task.completed
                + task.failed
                + task.orphaned;
            assert_eq!(sum, task.total, "{task:?}");
        }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert!(self.told.is_empty(), "nobody expected {:?}", self.told);
        }
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

pub(crate) fn workers(max_workers: u32) -> TaskConfig {
    TaskConfig {
        max_workers,
        paced_starts: false,
        ..TaskConfig::default()
    }
}

fn owned(action: &Action, out: &Outbox) -> Told {
    let list = |span| {
        out.blocks(span)
            .iter()
            .map(|block: &BlockIndex| block.0)
            .collect()
    };
    match action.clone() {
        Action::Welcome { conn, worker, .. } => Told::Welcome(conn, worker.0),
        Action::Grant {
            conn,
            blocks,
            alone: false,
        } => Told::Grant(conn, list(blocks)),
        Action::Grant {
            conn,
            blocks,
            alone: true,
        } => Told::GrantAlone(conn, list(blocks)),
        Action::Retract { conn, blocks } => Told::Retract(conn, list(blocks)),
        Action::Shutdown { conn, reason } => Told::Shutdown(conn, reason),
        Action::CloseConnection { conn, reason } => Told::Close(conn, reason),
        Action::StartWorker { task, worker } => Told::Start(task.0, worker.0),
        Action::KillWorker { worker, reason } => Told::Kill(worker.0, reason),
        Action::Check { task, blocks } => Told::Check(task.0, list(blocks)),
        Action::Failed(report) => Told::Failed(report),
        Action::Warn(warning) => Told::Warn(warning),
        Action::TaskFinished { task } => Told::TaskFinished(task.0),
        Action::Finished => Told::Finished,
    }
}
