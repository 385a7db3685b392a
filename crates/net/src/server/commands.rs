//! What a program tells its server while a run goes on.

use bellis_core::run::{CheckAnswer, ErrorReport, Exit, RunError, WorkerId};
use bellis_core::TaskIndex;
use tokio::sync::mpsc::UnboundedSender;

/// One message.
#[derive(Debug)]
pub enum Command {
    /// The launcher gave a handle.
    WorkerStarted {
        /// As named in [`start_worker`](super::Host::start_worker).
        worker: WorkerId,
        /// Whether a `WorkerExited` will follow.
        exit_reported: bool,
    },
    /// The launcher failed.
    StartFailed {
        /// As named in [`start_worker`](super::Host::start_worker).
        worker: WorkerId,
        /// Why.
        error: ErrorReport,
    },
    /// A worker's process is over.
    WorkerExited {
        /// Which.
        worker: WorkerId,
        /// How.
        exit: Exit,
    },
    /// Answers of a check function, in the order of the question.
    Checked {
        /// Which task.
        task: TaskIndex,
        /// One for each block.
        answers: Vec<CheckAnswer>,
    },
    /// Stop, with grace for what runs.
    Interrupt,
    /// Stop, without.
    Abort,
    /// Going on is impossible.
    Fatal(RunError),
    /// The program around the server is going away: the run ends here and now, as an interrupted
    /// one, and waits for no worker. Stores are still written.
    Halt,
}

/// A way to tell a server something, from any thread. A server that is over hears nothing.
#[derive(Clone, Debug)]
pub struct Commands(pub(super) UnboundedSender<Command>);

impl Commands {
    /// Tells it. False when the run is over.
    pub fn send(&self, command: Command) -> bool {
        self.0.send(command).is_ok()
    }
}
