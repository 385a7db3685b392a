//! A worker that does what a test tells it, one message at a time, and may break every rule.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use bellis_net::codec::{self, FrameReader};
use bellis_net::greeting::Greeting;
use bellis_net::message::*;
use bellis_net::noise::{Handshake, Sealer};

use crate::rig::{Rig, PATIENCE};

pub(crate) struct Peer {
    pub(crate) stream: TcpStream,
    /// Everything this side has sent.
    pub(crate) sent: Vec<u8>,
    reader: FrameReader,
    sealer: Sealer,
    /// Nanoseconds of its clock.
    clock: u64,
}

pub(crate) fn socket(rig: &Rig) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", rig.port)).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

/// Everything until the other side hangs up, however it does that.
pub(crate) fn until_end(stream: &mut TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return bytes,
            Ok(length) => bytes.extend_from_slice(&buffer[..length]),
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return bytes,
            Err(error) => panic!("it didn't hang up: {error}"),
        }
    }
}

impl Peer {
    /// Through the handshake, without an introduction.
    pub(crate) fn stranger(rig: &Rig) -> Peer {
        let mut stream = socket(rig);
        let own = Greeting::own().encode();
        let mut sent = own.clone();
        stream.write_all(&own).unwrap();
        let mut theirs = vec![0; own.len()];
        stream.read_exact(&mut theirs).unwrap();
        assert_eq!(theirs, own);
        let mut handshake = Handshake::worker(&rig.secret, &[own, theirs].concat()).unwrap();
        let first = [&[0, 48], &handshake.write().unwrap()[..]].concat();
        stream.write_all(&first).unwrap();
        sent.extend_from_slice(&first);
        let mut answer = [0; 50];
        stream.read_exact(&mut answer).unwrap();
        handshake.read(&answer[2..]).unwrap();
        let (sealer, opener) = handshake.finish().unwrap();
        Peer {
            stream,
            sent,
            reader: FrameReader::new(opener, codec::MAX_DRIVER_FRAME),
            sealer,
            clock: 1_000_000_000,
        }
    }

    /// A welcome worker.
    pub(crate) fn welcome(rig: &Rig) -> (Peer, Welcome) {
        let mut peer = Peer::stranger(rig);
        peer.introduce("task");
        let DriverMessage::Welcome(welcome) = peer.hear() else {
            panic!("no welcome")
        };
        (peer, *welcome)
    }

    pub(crate) fn introduce(&mut self, task: &str) {
        self.say(&WorkerMessage::Hello(Hello {
            task: task.into(),
            worker: None,
            pid: 1,
            machine: String::new(),
        }));
    }

    pub(crate) fn say(&mut self, message: &WorkerMessage) {
        let mut plain = Vec::new();
        codec::encode(message, usize::MAX, &mut plain).unwrap();
        self.say_plain(&plain);
    }

    /// As far as somebody listens.
    pub(crate) fn try_say(&mut self, message: &WorkerMessage) -> bool {
        let mut plain = Vec::new();
        codec::encode(message, usize::MAX, &mut plain).unwrap();
        self.try_say_plain(&plain)
    }

    pub(crate) fn say_plain(&mut self, plain: &[u8]) {
        let mut wire = Vec::new();
        codec::seal(&mut self.sealer, plain, &mut wire).unwrap();
        self.sent.extend_from_slice(&wire);
        self.stream.write_all(&wire).unwrap();
    }

    /// As far as the socket takes it in time.
    pub(crate) fn try_say_plain(&mut self, plain: &[u8]) -> bool {
        let mut wire = Vec::new();
        codec::seal(&mut self.sealer, plain, &mut wire).unwrap();
        self.sent.extend_from_slice(&wire);
        self.stream.write_all(&wire).is_ok()
    }

    /// Blocks that ended well, each after a microsecond.
    pub(crate) fn release(&mut self, blocks: &[u64]) {
        let results = blocks.iter().map(|&block| {
            let started = self.clock;
            self.clock += 1_000;
            BlockResult {
                block,
                started,
                ended: self.clock,
                outcome: Outcome::Done,
            }
        });
        let results = ResultList(results.collect());
        self.say(&WorkerMessage::Released { results });
    }

    pub(crate) fn hear(&mut self) -> DriverMessage {
        loop {
            if let Some(message) = self.reader.next_message().unwrap() {
                return message;
            }
            let mut buffer = [0; 4096];
            let bytes = self.stream.read(&mut buffer).unwrap();
            assert_ne!(bytes, 0, "the server hung up");
            self.reader.feed(&buffer[..bytes]);
        }
    }

    /// What is there, or comes in so short a time.
    pub(crate) fn overhear(&mut self, most: Duration) -> Vec<DriverMessage> {
        let mut buffer = [0; 4096];
        self.stream.set_read_timeout(Some(most)).unwrap();
        if let Ok(bytes) = self.stream.read(&mut buffer) {
            self.reader.feed(&buffer[..bytes]);
        }
        std::iter::from_fn(|| self.reader.next_message().unwrap()).collect()
    }

    pub(crate) fn hear_grant(&mut self) -> Vec<u64> {
        match self.hear() {
            DriverMessage::Grant { blocks, .. } => blocks.0,
            other => panic!("{other:?}"),
        }
    }

    /// So many blocks, in as many grants as it takes.
    pub(crate) fn hear_grants(&mut self, count: usize) -> Vec<u64> {
        let mut blocks = Vec::new();
        while blocks.len() < count {
            blocks.extend(self.hear_grant());
        }
        assert_eq!(blocks.len(), count);
        blocks
    }

    /// The messages until the server hangs up.
    pub(crate) fn hear_out(&mut self) -> Vec<DriverMessage> {
        let rest = until_end(&mut self.stream);
        self.reader.feed(&rest);
        let mut messages = Vec::new();
        while let Some(message) = self.reader.next_message().unwrap() {
            messages.push(message);
        }
        messages
    }

    /// Says no more, but hears what the server still sends until that hangs up.
    pub(crate) fn fall_silent(&mut self) -> Vec<DriverMessage> {
        let _ = self.stream.shutdown(Shutdown::Write);
        self.stream.set_read_timeout(Some(PATIENCE)).unwrap();
        self.hear_out()
    }

    pub(crate) fn hang_up(&self) {
        // The other side may have done so before.
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}
