//! A driver that does what a test tells it, one message at a time.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use bellis_net::codec::{self, FrameReader};
use bellis_net::greeting::Greeting;
use bellis_net::message::*;
use bellis_net::noise::{Handshake, Sealer};
use bellis_net::{Client, ClientOptions, Secret};

/// Longer than anything takes that works.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) struct Listener {
    pub(crate) listener: TcpListener,
    pub(crate) secret: Secret,
}

impl Listener {
    pub(crate) fn new() -> Listener {
        Listener {
            listener: TcpListener::bind("127.0.0.1:0").unwrap(),
            secret: Secret::from_bytes([3; 32]),
        }
    }

    pub(crate) fn options(&self) -> ClientOptions {
        ClientOptions {
            host: "127.0.0.1".into(),
            port: self.listener.local_addr().unwrap().port(),
            secret: self.secret.clone(),
            machine: None,
            task_id: "task".into(),
            worker_id: Some(5),
            on_wake: Box::new(|| {}),
            on_end: None,
            on_deadline: Some(Box::new(|_, _| {})),
            notes: None,
        }
    }

    pub(crate) fn accept(&self) -> Driver {
        let (stream, _) = self.listener.accept().unwrap();
        Driver::greet(stream, &self.secret, &Greeting::own())
    }

    /// A client that is connected and welcome.
    pub(crate) fn welcome(&self, options: ClientOptions, setup: TaskSetup) -> (Client, Driver) {
        let client = Client::connect(options).unwrap();
        let mut driver = self.accept();
        assert!(matches!(driver.hear(), WorkerMessage::Hello(_)));
        driver.say(&DriverMessage::Welcome(Box::new(Welcome {
            worker: 5,
            token: ResumeToken([1; 16]),
            received: 0,
            task: Some(setup),
        })));
        assert!(client.wait_connected(PATIENCE).unwrap().is_ok());
        (client, driver)
    }
}

pub(crate) struct Driver {
    pub(crate) stream: TcpStream,
    reader: FrameReader,
    sealer: Sealer,
}

impl Driver {
    pub(crate) fn greet(mut stream: TcpStream, secret: &Secret, own: &Greeting) -> Driver {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        let mut theirs = vec![0; Greeting::own().encode().len()];
        stream.read_exact(&mut theirs).unwrap();
        stream.write_all(&own.encode()).unwrap();
        let prologue = [theirs, own.encode()].concat();
        let mut handshake = Handshake::driver(secret, &prologue).unwrap();
        let mut message = [0; 50];
        stream.read_exact(&mut message).unwrap();
        handshake.read(&message[2..]).unwrap();
        let answer = handshake.write().unwrap();
        stream.write_all(&[&[0, 48], &answer[..]].concat()).unwrap();
        let (sealer, opener) = handshake.finish().unwrap();
        Driver {
            stream,
            reader: FrameReader::new(opener, codec::MAX_WORKER_FRAME),
            sealer,
        }
    }

    /// The next message that isn't a heartbeat. Heartbeats are answered.
    pub(crate) fn hear(&mut self) -> WorkerMessage {
        loop {
            match self.hear_any() {
                WorkerMessage::Heartbeat { sent, .. } => self.say(&DriverMessage::Pong {
                    echo: sent,
                    received: 0,
                }),
                other => return other,
            }
        }
    }

    /// The next message.
    pub(crate) fn hear_any(&mut self) -> WorkerMessage {
        loop {
            if let Some(message) = self.reader.next_message().unwrap() {
                return message;
            }
            let mut buffer = [0; 4096];
            let bytes = self.stream.read(&mut buffer).unwrap();
            assert_ne!(bytes, 0, "the client hung up");
            self.reader.feed(&buffer[..bytes]);
        }
    }

    pub(crate) fn say(&mut self, message: &DriverMessage) {
        self.say_all(std::slice::from_ref(message));
    }

    /// Several messages in one write.
    pub(crate) fn say_all(&mut self, messages: &[DriverMessage]) {
        let mut plain = Vec::new();
        for message in messages {
            codec::encode(message, usize::MAX, &mut plain).unwrap();
        }
        let mut wire = Vec::new();
        codec::seal(&mut self.sealer, &plain, &mut wire).unwrap();
        self.stream.write_all(&wire).unwrap();
    }

    pub(crate) fn grant(&mut self, blocks: &[u64]) {
        self.say(&grant(blocks));
    }

    /// Everything that comes until the client hangs up.
    pub(crate) fn hear_out(&mut self) -> Vec<WorkerMessage> {
        let mut rest = Vec::new();
        self.stream.read_to_end(&mut rest).unwrap();
        self.reader.feed(&rest);
        let mut messages = Vec::new();
        while let Some(message) = self.reader.next_message().unwrap() {
            if !matches!(message, WorkerMessage::Heartbeat { .. }) {
                messages.push(message);
            }
        }
        messages
    }
}

pub(crate) fn grant(blocks: &[u64]) -> DriverMessage {
    DriverMessage::Grant {
        alone: false,
        blocks: BlockList(blocks.to_vec()),
    }
}

pub(crate) fn setup() -> TaskSetup {
    TaskSetup {
        geometry: TaskGeometry {
            task_id: "task".into(),
            total_offset: vec![0],
            total_shape: vec![100],
            read_offset: vec![0],
            read_shape: vec![1],
            write_offset: vec![0],
            write_shape: vec![1],
            fit: Fit::Valid,
            read_write_conflict: false,
        },
        timeout_millis: 600_000,
        resource_tracking: false,
        restart_on_error: true,
        concurrency: 1,
        log_dir: None,
        function: "f".into(),
        config: Bytes(vec![1, 2]),
    }
}
