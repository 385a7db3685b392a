//! The thread that keeps stores on disk, so that a slow disk never holds up the blocks.

use std::io;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::Duration;

use bellis_core::run::RunError;
use tokio::sync::oneshot;

use super::commands::{Command, Commands};
use super::host::Keeper;

/// The most that a power cut may cost.
const FLUSH_EVERY: Duration = Duration::from_secs(5);

type Closed = oneshot::Sender<Result<(), RunError>>;

pub(super) struct KeeperThread {
    closing: mpsc::Sender<Closed>,
    thread: JoinHandle<()>,
}

impl KeeperThread {
    /// Flushes every five seconds until it is closed, or until that fails.
    pub(super) fn start(mut keeper: Box<dyn Keeper>, commands: Commands) -> io::Result<Self> {
        let (closing, asked) = mpsc::channel::<Closed>();
        let work = move || loop {
            match asked.recv_timeout(FLUSH_EVERY) {
                Err(RecvTimeoutError::Timeout) => {
                    if let Err(error) = keeper.flush() {
                        commands.send(Command::Fatal(error));
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return,
                Ok(answer) => {
                    // A run that panicked isn't there to hear it.
                    let _ = answer.send(keeper.close());
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new()
            .name("bellis-keeper".to_owned())
            .spawn(work)?;
        Ok(KeeperThread { closing, thread })
    }

    /// Flushes for the last time and closes; waits for that without holding up the run's thread.
    pub(super) async fn close(self) -> Result<(), RunError> {
        let lost = || RunError::Driver {
            code: "ERR_BELLIS_STORE".to_owned(),
            message: "the thread that writes the stores ended with a panic".to_owned(),
        };
        let (answer, closed) = oneshot::channel();
        self.closing.send(answer).map_err(|_| lost())?;
        let closed = closed.await.unwrap_or_else(|_| Err(lost()));
        // It has answered, so it is over in no time.
        let _ = self.thread.join();
        closed
    }
}
