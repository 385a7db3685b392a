//! The sending half of a worker's connection, open to every thread.

use std::io::Write;
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Mutex;

use super::shared::{lock, Shared};
use crate::codec;
use crate::noise::Sealer;

/// See the module.
#[derive(Default)]
pub(super) struct Outlet {
    line: Mutex<Option<Line>>,
    /// A second way to the socket, for those who can't wait for the line.
    socket: Mutex<Option<TcpStream>>,
    /// Something waits to be sent that the thread which holds the line may not have seen.
    dirty: AtomicBool,
}

struct Line {
    stream: TcpStream,
    sealer: Sealer,
    plain: Vec<u8>,
    sealed: Vec<u8>,
}

impl Outlet {
    pub(super) fn open(&self, stream: TcpStream, sealer: Sealer) {
        *lock(&self.socket) = stream.try_clone().ok();
        *lock(&self.line) = Some(Line {
            stream,
            sealer,
            plain: Vec::new(),
            sealed: Vec::new(),
        });
    }

    pub(super) fn is_open(&self) -> bool {
        lock(&self.socket).is_some()
    }

    pub(super) fn has_no_delay(&self) -> bool {
        let socket = lock(&self.socket);
        let socket = socket.as_ref();
        socket.is_some_and(|socket| socket.nodelay().unwrap_or(false))
    }

    /// Whether nobody is sending just now.
    pub(super) fn is_idle(&self) -> bool {
        self.line.try_lock().is_ok() && !self.dirty.load(Ordering::SeqCst)
    }

    /// Nothing more will be sent; the other side is told so.
    pub(super) fn shut_write(&self) {
        if let Some(socket) = &*lock(&self.socket) {
            // It may be closed already.
            let _ = socket.shutdown(Shutdown::Write);
        }
    }

    /// Hangs up; whoever is stuck in sending or receiving comes free.
    pub(super) fn close(&self) {
        if let Some(socket) = lock(&self.socket).take() {
            // It may be closed already.
            let _ = socket.shutdown(Shutdown::Both);
        }
        *lock(&self.line) = None;
    }

    /// Sends all there is. Never waits for another thread that is sending: that one looks again.
    pub(super) fn flush(&self, shared: &Shared) {
        self.dirty.store(true, Ordering::SeqCst);
        while self.dirty.load(Ordering::SeqCst) {
            let Ok(mut line) = self.line.try_lock() else {
                return;
            };
            while self.dirty.swap(false, Ordering::SeqCst) {
                let Some(line) = line.as_mut() else { break };
                let now = shared.now();
                shared.hands().out().swap(&mut line.plain, now);
                if line.send().is_err() {
                    // The reading thread notices, and knows what to do.
                    let _ = line.stream.shutdown(Shutdown::Both);
                }
            }
            drop(line);
            // For those who wait in `Client::flush`.
            shared.notify();
        }
    }
}

impl Line {
    fn send(&mut self) -> std::io::Result<()> {
        if self.plain.is_empty() {
            return Ok(());
        }
        let sealed = codec::seal(&mut self.sealer, &self.plain, &mut self.sealed);
        self.plain.clear();
        let sent = match sealed {
            Ok(()) => self.stream.write_all(&self.sealed),
            Err(error) => Err(std::io::Error::other(error)),
        };
        self.sealed.clear();
        for buffer in [&mut self.plain, &mut self.sealed] {
            buffer.shrink_to(1 << 20);
        }
        sent
    }
}
