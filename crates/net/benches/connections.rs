//! 2,000 workers at once, played by one thread: blocks a second, the longest that any of them waited
//! for a block, memory and processor time for each. `cargo bench -p bellis-net --bench connections`.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use bellis_core::run::{
    FailureReport, KillReason, Outcome, Run, RunConfig, RunSnapshot, TaskConfig, WorkerId,
};
use bellis_core::{BlockIndex, Roi, Scheduler, TaskGraph, TaskIndex, TaskSpec};
use bellis_net::codec::{self, FrameReader, MAX_DRIVER_FRAME};
use bellis_net::greeting::Greeting;
use bellis_net::message::{
    BlockResult, Bytes, DriverMessage, Fit, Hello, Outcome as BlockOutcome, ResultList,
    TaskGeometry, TaskSetup, WorkerMessage,
};
use bellis_net::noise::Handshake;
use bellis_net::{bind, Command, Ended, Host, Notice, Secret, Server, ServerOptions};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Barrier;
use tokio::task::{spawn_local, LocalSet};

struct Nobody(mpsc::Sender<WorkerId>, mpsc::Sender<Ended>);

impl Host for Nobody {
    fn start_worker(&mut self, _: TaskIndex, worker: WorkerId) {
        self.0.send(worker).unwrap();
    }
    fn kill_worker(&mut self, _: WorkerId, _: KillReason) {}
    fn check(&mut self, _: TaskIndex, _: &[BlockIndex]) {}
    fn failed(&mut self, report: &FailureReport) {
        println!("  {report:?}");
    }
    fn notice(&mut self, notice: Notice) {
        println!("  {notice:?}");
    }
    fn task_finished(&mut self, _: TaskIndex) {}
    fn progress(&mut self, _: RunSnapshot) {}
    fn finished(&mut self, ended: Ended) {
        self.1.send(ended).unwrap();
    }
}

struct Seen {
    all: Barrier,
    blocks: Cell<u64>,
    longest_wait: Cell<Duration>,
    least: Cell<u64>,
    most: Cell<u64>,
}

/// A worker that answers every grant at once.
async fn work(port: u16, secret: Secret, worker: u32, seen: Rc<Seen>) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    stream.set_nodelay(true).unwrap();
    let own = Greeting::own().encode();
    stream.write_all(&own).await.unwrap();
    let mut theirs = vec![0; own.len()];
    stream.read_exact(&mut theirs).await.unwrap();
    let mut handshake = Handshake::worker(&secret, &[own, theirs].concat()).unwrap();
    let first = handshake.write().unwrap();
    stream
        .write_all(&[&[0, 48], &first[..]].concat())
        .await
        .unwrap();
    let mut answer = [0; 50];
    stream.read_exact(&mut answer).await.unwrap();
    handshake.read(&answer[2..]).unwrap();
    let (mut sealer, opener) = handshake.finish().unwrap();
    let mut reader = FrameReader::new(opener, MAX_DRIVER_FRAME);

    let (mut plain, mut wire) = (Vec::new(), Vec::new());
    let hello = Hello {
        task: "t".into(),
        worker: Some(worker),
        pid: 0,
        machine: String::new(),
    };
    codec::encode(&WorkerMessage::Hello(hello), usize::MAX, &mut plain).unwrap();
    codec::seal(&mut sealer, &plain, &mut wire).unwrap();
    stream.write_all(&wire).await.unwrap();

    // Everybody is there before anybody works.
    seen.all.wait().await;
    plain.clear();
    wire.clear();
    let message = WorkerMessage::Acquire { n: 1 };
    codec::encode(&message, usize::MAX, &mut plain).unwrap();
    codec::seal(&mut sealer, &plain, &mut wire).unwrap();
    stream.write_all(&wire).await.unwrap();

    let mut buffer = vec![0; 4096];
    let mut done = 0;
    let mut asked = Instant::now();
    let mut first = true;
    'work: loop {
        let bytes = stream.read(&mut buffer).await.unwrap();
        assert_ne!(bytes, 0, "the driver hung up");
        reader.feed(&buffer[..bytes]);
        plain.clear();
        while let Some(message) = reader.next_message().unwrap() {
            match message {
                DriverMessage::Grant { blocks, .. } => {
                    if !std::mem::take(&mut first) {
                        let waited = asked.elapsed();
                        seen.longest_wait.set(seen.longest_wait.get().max(waited));
                    }
                    asked = Instant::now();
                    done += blocks.0.len() as u64;
                    let results = blocks.0.iter().map(|&block| BlockResult {
                        block,
                        started: 1,
                        ended: 2,
                        outcome: BlockOutcome::Done,
                    });
                    let results = ResultList(results.collect());
                    let message = WorkerMessage::Released { results };
                    codec::encode(&message, usize::MAX, &mut plain).unwrap();
                }
                DriverMessage::Shutdown { .. } => {
                    let message = WorkerMessage::Goodbye;
                    codec::encode(&message, usize::MAX, &mut plain).unwrap();
                    wire.clear();
                    codec::seal(&mut sealer, &plain, &mut wire).unwrap();
                    stream.write_all(&wire).await.unwrap();
                    break 'work;
                }
                _ => {}
            }
        }
        if !plain.is_empty() {
            wire.clear();
            codec::seal(&mut sealer, &plain, &mut wire).unwrap();
            stream.write_all(&wire).await.unwrap();
        }
    }
    seen.blocks.set(seen.blocks.get() + done);
    seen.least.set(seen.least.get().min(done));
    seen.most.set(seen.most.get().max(done));
}

fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok())
        .unwrap_or(0)
}

fn main() {
    const BLOCKS: u64 = 2_000_000;
    for workers in [1u32, 100, 2000] {
        let roi = |shape: i64| Roi::from_slices(&[0], &[shape]).unwrap();
        let mut spec = TaskSpec::new("t", roi(BLOCKS as i64), roi(1), roi(1));
        spec.read_write_conflict = false;
        let graph = TaskGraph::new(vec![spec], &[]).unwrap();
        let scheduler = Scheduler::eager(graph, Vec::new()).unwrap();
        let mut config = RunConfig::new(vec![TaskConfig {
            max_workers: workers,
            paced_starts: false,
            ..TaskConfig::default()
        }]);
        config.cores = 2;
        let run = Run::new(scheduler, config).unwrap();
        let secret = Secret::random().unwrap();
        let bound = bind(None).unwrap();
        let port = bound.port();
        let one = || vec![1];
        let setup = TaskSetup {
            geometry: TaskGeometry {
                task_id: "t".into(),
                total_offset: vec![0],
                total_shape: vec![BLOCKS as i64],
                read_offset: vec![0],
                read_shape: one(),
                write_offset: vec![0],
                write_shape: one(),
                fit: Fit::Valid,
                read_write_conflict: false,
            },
            timeout_millis: 600_000,
            resource_tracking: false,
            restart_on_error: true,
            concurrency: 1,
            log_dir: None,
            function: String::new(),
            config: Bytes::default(),
        };
        let before = resident_kib();
        let (send_starts, starts) = mpsc::channel();
        let (send_ended, ended) = mpsc::channel();
        let options = ServerOptions::new(secret.clone(), vec![setup]);
        let host = Box::new(Nobody(send_starts, send_ended));
        let server = Server::start(bound, options, run, host).unwrap();
        let commands = server.commands();
        let wanted: Vec<WorkerId> = (0..workers).map(|_| starts.recv().unwrap()).collect();
        for &worker in &wanted {
            let exit_reported = false;
            commands.send(Command::WorkerStarted {
                worker,
                exit_reported,
            });
        }
        let seen = Rc::new(Seen {
            all: Barrier::new(workers as usize + 1),
            blocks: Cell::default(),
            longest_wait: Cell::default(),
            least: Cell::new(u64::MAX),
            most: Cell::default(),
        });
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let local = LocalSet::new();
        let (connected, took) = local.block_on(&runtime, async {
            let workers: Vec<_> = wanted
                .iter()
                .map(|worker| spawn_local(work(port, secret.clone(), worker.0, Rc::clone(&seen))))
                .collect();
            let connecting = Instant::now();
            seen.all.wait().await;
            let connected = connecting.elapsed();
            let began = Instant::now();
            for worker in workers {
                worker.await.unwrap();
            }
            (connected, began.elapsed())
        });
        let memory = resident_kib().saturating_sub(before);
        let ended = ended.recv().unwrap();
        server.join();
        assert_eq!(ended.outcome, Outcome::Finished);
        assert_eq!(seen.blocks.get(), BLOCKS);
        println!(
            "{workers} workers, connected in {connected:?}: {:.0} blocks/s, longest wait {:?}, {} to {} blocks each, {:.1} KiB each (both ends)",
            BLOCKS as f64 / took.as_secs_f64(),
            seen.longest_wait.get(),
            seen.least.get(),
            seen.most.get(),
            memory as f64 / f64::from(workers),
        );
    }
}
