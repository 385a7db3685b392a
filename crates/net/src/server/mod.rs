//! The driver's side of the wire: one thread that owns the run, the sockets and the stores, and asks
//! the program around it for the rare things that need it.

mod address;
mod commands;
mod connection;
mod desk;
mod handshake;
mod host;
mod keeper;
mod legacies;
mod listener;
mod peer;
mod sessions;
mod strangers;
mod table;
mod tasks;
mod translate;
mod waiting_room;

use std::cell::RefCell;
use std::io;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::rc::Rc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bellis_core::run::{Event, Nanos, Outcome, Run, RunError};
use bellis_core::TaskIndex;
use tokio::net::TcpListener;
use tokio::sync::mpsc::{unbounded_channel, UnboundedReceiver};
use tokio::task::{yield_now, LocalSet};
use tokio::time::{sleep, sleep_until, timeout};

use self::desk::{Desk, SharedDesk, SharedHost, Signals};
use self::keeper::KeeperThread;
use self::tasks::Tasks;
use crate::codec::{self, MAX_DRIVER_FRAME};
use crate::message::{DriverMessage, ResumeToken, TaskSetup, Welcome};
use crate::secret::Secret;

pub use self::address::{bind, BindError, Bound};
pub use self::commands::{Command, Commands};
pub use self::host::{Ended, Host, Keeper, Notice, StrangerReason};

/// Snapshots are shown this far apart.
const PROGRESS_EVERY: Duration = Duration::from_millis(100);

/// Longer waits are cut: timers have their limits.
const LONGEST_WAIT: Nanos = Nanos::from_secs(3600);

/// How long the last words to workers may take to leave.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// What a server needs besides the run.
pub struct ServerOptions {
    /// Who may come in.
    pub secret: Secret,
    /// What workers are told, one for each task of the run, in its order.
    pub tasks: Vec<TaskSetup>,
    /// Connections at once. Default: 16,384.
    pub max_connections: usize,
    /// Handshakes at once; who comes beyond waits for a place. Default: 512.
    pub max_handshakes: usize,
    /// How long a handshake isn't broken off for others that wait. Default: 1 s.
    pub fair_handshake_time: Duration,
    /// How long a peer may take from its first byte to its introduction. Default: 5 s.
    pub handshake_timeout: Duration,
    /// Keeps the stores on disk.
    pub keeper: Option<Box<dyn Keeper>>,
    /// Every peer counts as one on another machine. For tests.
    #[doc(hidden)]
    pub all_remote: bool,
}

impl ServerOptions {
    /// The defaults.
    pub fn new(secret: Secret, tasks: Vec<TaskSetup>) -> ServerOptions {
        ServerOptions {
            secret,
            tasks,
            max_connections: 16_384,
            max_handshakes: 512,
            fair_handshake_time: Duration::from_secs(1),
            handshake_timeout: Duration::from_secs(5),
            keeper: None,
            all_remote: false,
        }
    }
}

/// Why a server doesn't start.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// What a worker has to be told doesn't fit into one frame.
    #[error("function reference and configuration of the task {task_id} have {bytes} bytes together, more than a worker can be sent")]
    SetupTooLong {
        /// Which task.
        task_id: String,
        /// Bytes.
        bytes: u64,
    },
    /// The system has no thread or no socket to give.
    #[error(transparent)]
    System(#[from] io::Error),
}

/// A run with its thread.
#[derive(Debug)]
pub struct Server {
    commands: Commands,
    thread: JoinHandle<()>,
}

impl Server {
    /// Begins the run. `host` hears of everything, last of all [`Host::finished`], also after a panic
    /// of the thread.
    ///
    /// # Errors
    /// A task's setup is too long to be sent, or the system has nothing to give; the run hasn't begun
    /// then.
    pub fn start(
        bound: Bound,
        options: ServerOptions,
        run: Run,
        host: Box<dyn Host>,
    ) -> Result<Server, ServeError> {
        options.tasks.iter().try_for_each(check_setup)?;
        let (sender, receiver) = unbounded_channel();
        let commands = Commands(sender);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let work = {
            let commands = commands.clone();
            move || {
                // Everything inside is made and dropped by this thread.
                let host: SharedHost = Rc::new(RefCell::new(host));
                let serving = Serving {
                    bound,
                    options,
                    run,
                    host: Rc::clone(&host),
                    commands,
                    receiver,
                };
                let ended = catch_unwind(AssertUnwindSafe(|| {
                    LocalSet::new().block_on(&runtime, serve(serving))
                }));
                drop(runtime);
                let ended = ended.unwrap_or_else(|panic| Ended {
                    outcome: Outcome::Failed(RunError::Driver {
                        code: "ERR_BELLIS_PANIC".to_owned(),
                        message: format!("the run's thread panicked: {}", panic_text(&*panic)),
                    }),
                    snapshot: None,
                    reports: Vec::new(),
                });
                host.borrow_mut().finished(ended);
            }
        };
        let thread = std::thread::Builder::new()
            .name("bellis-run".to_owned())
            .spawn(work)?;
        Ok(Server { commands, thread })
    }

    /// A way to tell the run something.
    pub fn commands(&self) -> Commands {
        self.commands.clone()
    }

    /// Waits for the end of the thread.
    pub fn join(self) {
        // Panics of the run are caught inside; one of the host's last call has nobody to be told.
        let _ = self.thread.join();
    }
}

fn check_setup(task: &TaskSetup) -> Result<(), ServeError> {
    let welcome = Welcome {
        worker: u32::MAX,
        token: ResumeToken([0; 16]),
        received: 0,
        task: Some(task.clone()),
    };
    let message = DriverMessage::Welcome(Box::new(welcome));
    match codec::encode(&message, MAX_DRIVER_FRAME, &mut Vec::new()) {
        Err(codec::FrameError::TooLong(bytes)) => Err(ServeError::SetupTooLong {
            task_id: task.geometry.task_id.clone(),
            bytes,
        }),
        _ => Ok(()),
    }
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}

struct Serving {
    bound: Bound,
    options: ServerOptions,
    run: Run,
    host: SharedHost,
    commands: Commands,
    receiver: UnboundedReceiver<Command>,
}

/// The whole life of a run.
async fn serve(serving: Serving) -> Ended {
    let epoch = Instant::now();
    let options = serving.options;
    let mut desk = Desk::new(serving.run, options.tasks, serving.host, epoch);
    desk.all_remote = options.all_remote;
    let signals = std::rc::Rc::clone(&desk.signals);
    let desk: SharedDesk = Rc::new(RefCell::new(desk));
    // Watches the sockets; without it, or without the keeper, there is no run.
    let begun = TcpListener::from_std(serving.bound.listener).and_then(|listener| {
        let keeper = options.keeper;
        let keeper = keeper.map(|keeper| KeeperThread::start(keeper, serving.commands.clone()));
        Ok((listener, keeper.transpose()?))
    });
    let tasks = Tasks::default();
    let mut keeper = None;
    let mut doors = None;
    match begun {
        Ok((listener, thread)) => {
            keeper = thread;
            let rules = listener::Rules {
                secret: options.secret,
                most: options.max_connections,
                handshakes: options.max_handshakes,
                fair_time: options.fair_handshake_time,
                patience: options.handshake_timeout,
            };
            let listening = listener::listen(listener, rules, Rc::clone(&desk), tasks.clone());
            doors = Some(tasks.spawn(listening));
        }
        Err(error) => {
            let error = RunError::Driver {
                code: "ERR_BELLIS_CONNECTION".to_owned(),
                message: error.to_string(),
            };
            desk.borrow_mut().tell(Event::Fatal(error));
        }
    }
    let watch = |signals: &Rc<Signals>| (Rc::clone(&desk), Rc::clone(signals));
    let (shared, wake) = watch(&signals);
    let writers = tasks.clone();
    tasks.spawn(async move { flush(&shared, &wake, &writers).await });
    let (shared, wake) = watch(&signals);
    tasks.spawn(async move { tick(&shared, &wake, epoch).await });
    let (shared, wake) = watch(&signals);
    tasks.spawn(async move { show_progress(&shared, &wake).await });
    let shared = Rc::clone(&desk);
    let mut receiver = serving.receiver;
    tasks.spawn(async move {
        while let Some(command) = receiver.recv().await {
            shared.borrow_mut().command(command);
        }
    });

    tokio::select! {
        () = signals.over.notified() => {}
        panic = tasks.panicked() => resume_unwind(panic),
    }
    if let Some(doors) = doors {
        doors.abort();
    }
    let _ = timeout(LAST_WORDS, async {
        while desk.borrow().peers.backlog() > 0 {
            sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
    let closed = match keeper {
        Some(keeper) => keeper.close().await,
        None => Ok(()),
    };
    let desk = desk.borrow();
    let run = desk.run();
    let outcome = run.outcome().cloned().unwrap_or(Outcome::Interrupted);
    Ended {
        outcome: match closed {
            Err(error) if !matches!(outcome, Outcome::Failed(_)) => Outcome::Failed(error),
            _ => outcome,
        },
        snapshot: Some(run.snapshot()),
        reports: (0..)
            .map_while(|task| run.report(TaskIndex(task)))
            .collect(),
    }
}

/// Sends what the desk wants sent, after everybody who has something to say at this moment has said
/// it.
async fn flush(desk: &SharedDesk, signals: &Signals, tasks: &Tasks) {
    let mut blocked = Vec::new();
    loop {
        signals.flush.notified().await;
        desk.borrow_mut().peers.flush(&mut blocked);
        for (conn, stream) in blocked.drain(..) {
            let desk = Rc::clone(desk);
            tasks.spawn(async move {
                while stream.writable().await.is_ok() {
                    if !desk.borrow_mut().peers.write_more(conn) {
                        return;
                    }
                }
            });
        }
    }
}

/// Tells the run the time when it wants to know it.
async fn tick(desk: &SharedDesk, signals: &Signals, epoch: Instant) {
    loop {
        let (now, next) = {
            let mut desk = desk.borrow_mut();
            let now = desk.now();
            let next = desk.run().next_deadline().unwrap_or(Nanos::MAX);
            let next = next.min(now + LONGEST_WAIT);
            desk.armed = next;
            (now, next)
        };
        if next <= now {
            desk.borrow_mut().tell(Event::Tick);
            // Work that was put off lets others have their turn.
            yield_now().await;
            continue;
        }
        let at = epoch + Duration::from_nanos(next.0);
        tokio::select! {
            () = sleep_until(at.into()) => {}
            () = signals.tick.notified() => {}
        }
    }
}

async fn show_progress(desk: &SharedDesk, signals: &Signals) {
    loop {
        signals.progress.notified().await;
        {
            let mut desk = desk.borrow_mut();
            if desk.take_changed() {
                desk.show();
            }
        }
        sleep(PROGRESS_EVERY).await;
    }
}
