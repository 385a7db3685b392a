//! Thousands of workers played by one thread: they speak the protocol and answer every grant at once.
//!
//! A process of its own, so that the driver's memory and processor time are the driver's alone. It reads
//! one line with port, secret and worker numbers, connects all of them and says so; lets them send
//! heartbeats until it is told to go; and says at the end how long they waited.

use std::cell::Cell;
use std::io::BufRead;
use std::rc::Rc;
use std::time::{Duration, Instant};

use bellis_net::codec::{self, FrameReader, MAX_DRIVER_FRAME};
use bellis_net::greeting::Greeting;
use bellis_net::message::{BlockResult, DriverMessage, Hello, Outcome, ResultList, WorkerMessage};
use bellis_net::noise::{Handshake, Opener, Sealer};
use bellis_net::Secret;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{watch, Barrier};
use tokio::task::{spawn_local, LocalSet};
use tokio::time::{interval_at, Interval, MissedTickBehavior};

/// Makes the bench program play the crowd.
pub(crate) const ARGUMENT: &str = "--crowd";
/// What it says when all are connected.
pub(crate) const CONNECTED: &str = "connected";
/// What it is told when they shall work.
pub(crate) const GO: &str = "go";

const HEARTBEAT: Duration = Duration::from_secs(1);

struct Seen {
    all: Barrier,
    longest_wait: Cell<Duration>,
    least: Cell<u64>,
    most: Cell<u64>,
}

/// The channel of one worker.
struct Line {
    stream: TcpStream,
    sealer: Sealer,
    reader: FrameReader,
    plain: Vec<u8>,
    wire: Vec<u8>,
}

impl Line {
    fn say(&mut self, message: &WorkerMessage) {
        codec::encode(message, usize::MAX, &mut self.plain).unwrap();
    }

    /// Sends what has been said since the last time.
    async fn flush(&mut self) {
        if self.plain.is_empty() {
            return;
        }
        self.wire.clear();
        codec::seal(&mut self.sealer, &self.plain, &mut self.wire).unwrap();
        self.plain.clear();
        self.stream.write_all(&self.wire).await.unwrap();
    }

    fn say_heartbeat(&mut self, began: Instant) {
        self.say(&WorkerMessage::Heartbeat {
            sent: began.elapsed().as_nanos() as u64,
            round_trip: Some(100_000),
            running: Vec::new(),
        });
    }
}

async fn shake_hands(stream: &mut TcpStream, secret: &Secret) -> (Sealer, Opener) {
    let own = Greeting::own().encode();
    stream.write_all(&own).await.unwrap();
    let mut theirs = vec![0; own.len()];
    stream.read_exact(&mut theirs).await.unwrap();
    let mut handshake = Handshake::worker(secret, &[own, theirs].concat()).unwrap();
    let first = handshake.write().unwrap();
    let framed = [&[0, 48], &first[..]].concat();
    stream.write_all(&framed).await.unwrap();
    let mut answer = [0; 50];
    stream.read_exact(&mut answer).await.unwrap();
    handshake.read(&answer[2..]).unwrap();
    handshake.finish().unwrap()
}

async fn connect(port: u16, secret: &Secret, worker: u32) -> Line {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    stream.set_nodelay(true).unwrap();
    let (sealer, opener) = shake_hands(&mut stream, secret).await;
    let mut line = Line {
        stream,
        sealer,
        reader: FrameReader::new(opener, MAX_DRIVER_FRAME),
        plain: Vec::new(),
        wire: Vec::new(),
    };
    line.say(&WorkerMessage::Hello(Hello {
        task: "t".into(),
        worker: Some(worker),
        pid: 0,
        machine: String::new(),
    }));
    line.flush().await;
    let mut buffer = [0; 1024];
    loop {
        match line.reader.next_message().unwrap() {
            Some(DriverMessage::Welcome(_)) => return line,
            Some(other) => panic!("{other:?} instead of a welcome"),
            None => {
                let bytes = line.stream.read(&mut buffer).await.unwrap();
                assert_ne!(bytes, 0, "the driver hung up");
                line.reader.feed(&buffer[..bytes]);
            }
        }
    }
}

/// One worker: idle until it may go, then at work until it is sent home.
async fn work(
    port: u16,
    secret: Secret,
    worker: u32,
    seen: Rc<Seen>,
    mut go: watch::Receiver<bool>,
) {
    let began = Instant::now();
    let mut line = connect(port, &secret, worker).await;
    // Heartbeats of a thousand workers don't come at once.
    let first = tokio::time::Instant::now() + HEARTBEAT.mul_f64(f64::from(worker % 100) / 100.0);
    let mut heartbeat = interval_at(first, HEARTBEAT);
    heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    seen.all.wait().await;

    let mut buffer = vec![0; 4096];
    idle(&mut line, &mut buffer, &mut heartbeat, began, &mut go).await;

    line.say(&WorkerMessage::Acquire { n: 1 });
    line.flush().await;
    let mut done = 0;
    let mut asked = Instant::now();
    'work: loop {
        let bytes = tokio::select! {
            bytes = line.stream.read(&mut buffer) => bytes.unwrap(),
            _ = heartbeat.tick() => {
                line.say_heartbeat(began);
                line.flush().await;
                continue;
            }
        };
        assert_ne!(bytes, 0, "the driver hung up");
        line.reader.feed(&buffer[..bytes]);
        while let Some(message) = line.reader.next_message().unwrap() {
            match message {
                DriverMessage::Grant { blocks, .. } => {
                    // The first one is waited for by everybody at once.
                    if done > 0 {
                        let longest = seen.longest_wait.get().max(asked.elapsed());
                        seen.longest_wait.set(longest);
                    }
                    asked = Instant::now();
                    done += blocks.0.len() as u64;
                    let results = blocks.0.iter().map(|&block| BlockResult {
                        block,
                        started: 1,
                        ended: 2,
                        outcome: Outcome::Done,
                    });
                    let results = ResultList(results.collect());
                    line.say(&WorkerMessage::Released { results });
                }
                DriverMessage::Shutdown { .. } => {
                    line.say(&WorkerMessage::Goodbye);
                    line.flush().await;
                    break 'work;
                }
                _ => {}
            }
        }
        line.flush().await;
    }
    seen.least.set(seen.least.get().min(done));
    seen.most.set(seen.most.get().max(done));
}

async fn idle(
    line: &mut Line,
    buffer: &mut [u8],
    heartbeat: &mut Interval,
    began: Instant,
    go: &mut watch::Receiver<bool>,
) {
    loop {
        tokio::select! {
            gone = go.wait_for(|&go| go) => {
                gone.unwrap();
                return;
            }
            _ = heartbeat.tick() => {
                line.say_heartbeat(began);
                line.flush().await;
            }
            bytes = line.stream.read(buffer) => {
                let bytes = bytes.unwrap();
                assert_ne!(bytes, 0, "the driver hung up");
                line.reader.feed(&buffer[..bytes]);
                while line.reader.next_message::<DriverMessage>().unwrap().is_some() {}
            }
        }
    }
}

/// The whole life of the crowd's process.
pub(crate) fn play() {
    // One that is lost is waited for by all the others, for ever.
    std::panic::set_hook(Box::new(|panic| {
        eprintln!("{panic}");
        std::process::exit(101);
    }));
    let mut orders = std::io::stdin().lock().lines().map(Result::unwrap);
    let first = orders.next().unwrap();
    let mut words = first.split(' ');
    let port = words.next().unwrap().parse().unwrap();
    let secret = Secret::from_hex(words.next().unwrap()).unwrap();
    let ids: Vec<u32> = words.map(|id| id.parse().unwrap()).collect();
    drop(orders);

    let seen = Rc::new(Seen {
        all: Barrier::new(ids.len() + 1),
        longest_wait: Cell::default(),
        least: Cell::new(u64::MAX),
        most: Cell::default(),
    });
    let (send_go, go) = watch::channel(false);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    LocalSet::new().block_on(&runtime, async {
        let workers: Vec<_> = ids
            .iter()
            .map(|&id| spawn_local(work(port, secret.clone(), id, Rc::clone(&seen), go.clone())))
            .collect();
        seen.all.wait().await;
        println!("{CONNECTED}");
        std::thread::spawn(move || {
            let mut line = String::new();
            std::io::stdin().read_line(&mut line).unwrap();
            assert_eq!(line.trim_end(), GO);
            send_go.send(true).unwrap();
        });
        for worker in workers {
            worker.await.unwrap();
        }
    });
    println!(
        "longest wait {:?}; {} to {} blocks each",
        seen.longest_wait.get(),
        seen.least.get(),
        seen.most.get()
    );
}
