//! A run with a server, and a host that tells the test all it hears.

use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bellis_core::run::{
    FailureReport, KillReason, Run, RunConfig, RunSnapshot, TaskConfig, WorkerId,
};
use bellis_core::{
    BlockIndex, DoneMap, Roi, Scheduler, TaskGraph, TaskIndex, TaskInputs, TaskSpec,
};
use bellis_net::message::{Bytes, Fit, TaskGeometry, TaskSetup};
use bellis_net::{
    bind, Client, ClientOptions, Command, Commands, Ended, Host, Notice, Secret, Server,
    ServerOptions, SharedWords,
};

/// Longer than anything takes that works.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Debug)]
pub(crate) enum Heard {
    Kill,
    Failed(FailureReport),
    Notice(Notice),
    Finished(Ended),
}

struct Telling {
    sender: Sender<Heard>,
    commands: Receiver<Commands>,
    known: Option<Commands>,
    panics: bool,
    notes: Option<Arc<dyn SharedWords>>,
}

impl Telling {
    fn tell(&self, heard: Heard) {
        // A test may have seen enough.
        let _ = self.sender.send(heard);
    }
}

impl Host for Telling {
    /// Workers come by themselves here: every start is one that was submitted somewhere.
    fn start_worker(&mut self, _: TaskIndex, worker: WorkerId) {
        assert!(!self.panics, "as it was told to");
        let commands = self.known.take();
        let commands = commands.unwrap_or_else(|| self.commands.recv().unwrap());
        let exit_reported = false;
        commands.send(Command::WorkerStarted {
            worker,
            exit_reported,
        });
        self.known = Some(commands);
    }
    fn notes(&mut self, _: WorkerId) -> Option<Arc<dyn SharedWords>> {
        self.notes.clone()
    }
    fn kill_worker(&mut self, _: WorkerId, _: KillReason) {
        self.tell(Heard::Kill);
    }
    fn check(&mut self, _: TaskIndex, _: &[BlockIndex]) {}
    fn failed(&mut self, report: &FailureReport) {
        self.tell(Heard::Failed(report.clone()));
    }
    fn notice(&mut self, notice: Notice) {
        self.tell(Heard::Notice(notice));
    }
    fn task_finished(&mut self, _: TaskIndex) {}
    fn progress(&mut self, _: RunSnapshot) {}
    fn finished(&mut self, ended: Ended) {
        self.tell(Heard::Finished(ended));
    }
}

/// What a test may change about a run.
pub(crate) struct Plan {
    pub(crate) spec: TaskSpec,
    pub(crate) task: TaskConfig,
    pub(crate) options: ServerOptions,
    pub(crate) host_panics: bool,
    /// Where its one worker writes down what it does.
    pub(crate) notes: Option<Arc<dyn SharedWords>>,
    /// Where done blocks are marked.
    pub(crate) done: Option<Box<dyn DoneMap + Send>>,
}

pub(crate) struct Rig {
    pub(crate) port: u16,
    pub(crate) secret: Secret,
    pub(crate) server: Server,
    heard: Mutex<Receiver<Heard>>,
}

impl Rig {
    pub(crate) fn new(blocks: i64) -> Rig {
        Rig::with(blocks, |_| {})
    }

    pub(crate) fn with(blocks: i64, change: impl FnOnce(&mut Plan)) -> Rig {
        let roi = |shape: i64| Roi::from_slices(&[0], &[shape]).unwrap();
        let mut spec = TaskSpec::new("task", roi(blocks), roi(1), roi(1));
        spec.read_write_conflict = false;
        let secret = Secret::random().unwrap();
        let setup = TaskSetup {
            geometry: TaskGeometry {
                task_id: "task".into(),
                total_offset: vec![0],
                total_shape: vec![blocks],
                read_offset: vec![0],
                read_shape: vec![1],
                write_offset: vec![0],
                write_shape: vec![1],
                fit: Fit::Valid,
                read_write_conflict: false,
            },
            timeout_millis: 600_000,
            resource_tracking: false,
            restart_on_error: false,
            concurrency: 1,
            log_dir: None,
            function: String::new(),
            config: Bytes::default(),
        };
        let mut plan = Plan {
            spec,
            task: TaskConfig {
                max_workers: 8,
                paced_starts: false,
                on_block_error: bellis_core::run::OnBlockError::KeepWorker,
                ..TaskConfig::default()
            },
            options: ServerOptions::new(secret.clone(), vec![setup]),
            host_panics: false,
            notes: None,
            done: None,
        };
        change(&mut plan);
        let inputs = TaskInputs {
            done: plan.done,
            ..TaskInputs::default()
        };
        let graph = TaskGraph::new(vec![plan.spec], &[]).unwrap();
        let scheduler = Scheduler::eager(graph, vec![inputs]).unwrap();
        let run = Run::new(scheduler, RunConfig::new(vec![plan.task])).unwrap();
        let (sender, heard) = mpsc::channel();
        let (send_commands, commands) = mpsc::channel();
        let host = Telling {
            sender,
            commands,
            known: None,
            panics: plan.host_panics,
            notes: plan.notes,
        };
        let bound = bind(None).unwrap();
        let port = bound.port();
        let server = Server::start(bound, plan.options, run, Box::new(host)).unwrap();
        send_commands.send(server.commands()).unwrap();
        Rig {
            port,
            secret,
            server,
            heard: Mutex::new(heard),
        }
    }

    pub(crate) fn options(&self) -> ClientOptions {
        self.door().options()
    }

    pub(crate) fn door(&self) -> Door {
        Door {
            port: self.port,
            secret: self.secret.clone(),
        }
    }

    pub(crate) fn client(&self) -> Client {
        Client::connect(self.options()).unwrap()
    }

    pub(crate) fn hear(&self) -> Heard {
        self.heard
            .lock()
            .unwrap()
            .recv_timeout(PATIENCE)
            .expect("silence")
    }

    /// The next failed attempt.
    pub(crate) fn hear_failure(&self) -> FailureReport {
        loop {
            if let Heard::Failed(report) = self.hear() {
                return report;
            }
        }
    }

    /// The next notice.
    pub(crate) fn hear_notice(&self) -> Notice {
        loop {
            if let Heard::Notice(notice) = self.hear() {
                return notice;
            }
        }
    }

    /// The end of the run, and of its thread.
    pub(crate) fn finish(self) -> Ended {
        loop {
            if let Heard::Finished(ended) = self.hear() {
                self.server.join();
                return ended;
            }
        }
    }
}

/// How a client gets in.
pub(crate) struct Door {
    port: u16,
    secret: Secret,
}

impl Door {
    pub(crate) fn options(&self) -> ClientOptions {
        ClientOptions {
            host: "127.0.0.1".into(),
            port: self.port,
            secret: self.secret.clone(),
            machine: None,
            task_id: "task".into(),
            worker_id: None,
            on_wake: Box::new(|| {}),
            on_end: None,
            on_deadline: Some(Box::new(|_, _| {})),
            notes: None,
        }
    }
}
