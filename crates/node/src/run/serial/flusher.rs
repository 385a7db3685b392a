//! Writes stores to the disk now and then while a serial run goes on, so that a slow disk holds up nobody.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::Duration;

use bellis_tracking::StoreKeeper;

use crate::error::{Failure, NativeError};

/// The most that a power cut may cost.
const EVERY: Duration = Duration::from_secs(5);

/// The thread that writes; it ends early only when writing failed.
pub(super) struct Flusher {
    keepers: Vec<StoreKeeper>,
    stop: mpsc::Sender<()>,
    thread: Option<JoinHandle<Result<(), Failure>>>,
}

impl Flusher {
    pub(super) fn new(keepers: Vec<StoreKeeper>) -> Result<Self, Failure> {
        let (stop, stopped) = mpsc::channel();
        let kept = keepers.clone();
        let work = move || loop {
            match stopped.recv_timeout(EVERY) {
                Err(RecvTimeoutError::Timeout) => flush(&kept)?,
                _ => return Ok(()),
            }
        };
        let thread = if keepers.is_empty() {
            None
        } else {
            let builder = std::thread::Builder::new().name("bellis-stores".to_owned());
            Some(builder.spawn(work).map_err(|error| {
                NativeError::internal(format!("no thread for the stores: {error}"))
            })?)
        };
        Ok(Self {
            keepers,
            stop,
            thread,
        })
    }

    /// An error if writing has failed meanwhile.
    pub(super) fn check(&mut self) -> Result<(), Failure> {
        match self.thread.take_if(|thread| thread.is_finished()) {
            Some(thread) => joined(thread),
            None => Ok(()),
        }
    }

    /// Ends the thread and writes what is left.
    pub(super) fn end(mut self) -> Result<(), Failure> {
        // A thread that has ended hears nothing, and doesn't have to.
        let _ = self.stop.send(());
        if let Some(thread) = self.thread.take() {
            joined(thread)?;
        }
        flush(&self.keepers)
    }
}

fn flush(keepers: &[StoreKeeper]) -> Result<(), Failure> {
    for keeper in keepers {
        keeper.flush()?;
    }
    Ok(())
}

fn joined(thread: JoinHandle<Result<(), Failure>>) -> Result<(), Failure> {
    thread
        .join()
        .unwrap_or_else(|panic| Err(crate::error::from_panic(panic.as_ref())))
}
