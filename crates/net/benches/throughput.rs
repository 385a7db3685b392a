//! Blocks a second from the scheduler through the server, the wire and the native client, all in one
//! process; and the round trip of a lone block beside that of a bare socket.
//! `cargo bench -p bellis-net --bench throughput`; pin it (`taskset -c 0`) for the round trips.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use bellis_core::run::{
    Exit, ExitKind, FailureReport, KillReason, Nanos, Outcome, Run, RunConfig, RunSnapshot,
    TaskConfig, WorkerId,
};
use bellis_core::{BlockIndex, Roi, Scheduler, TaskGraph, TaskIndex, TaskSpec};
use bellis_net::message::{Bytes, TaskGeometry, TaskSetup};
use bellis_net::{
    bind, Client, ClientOptions, Command, Commands, Ended, Host, Notice, Secret, Server,
    ServerOptions, Take,
};

/// Runs every worker as a thread of this process.
struct Threads {
    port: u16,
    secret: Secret,
    commands: mpsc::Receiver<Commands>,
    known: Option<Commands>,
    trips: mpsc::Sender<Vec<Duration>>,
    ended: mpsc::Sender<Ended>,
}

impl Threads {
    fn commands(&mut self) -> Commands {
        let commands = self.known.take();
        let commands = commands.unwrap_or_else(|| self.commands.recv().unwrap());
        self.known = Some(commands.clone());
        commands
    }
}

impl Host for Threads {
    fn start_worker(&mut self, _: TaskIndex, worker: WorkerId) {
        let commands = self.commands();
        let exit_reported = true;
        commands.send(Command::WorkerStarted {
            worker,
            exit_reported,
        });
        let (port, secret, trips) = (self.port, self.secret.clone(), self.trips.clone());
        thread::spawn(move || {
            trips.send(work(port, secret, worker)).unwrap();
            let exit = Exit {
                kind: ExitKind::Clean,
                description: String::new(),
                stderr_tail: None,
            };
            commands.send(Command::WorkerExited { worker, exit });
        });
    }
    fn kill_worker(&mut self, worker: WorkerId, reason: KillReason) {
        println!("  worker {worker:?} should be killed: {reason:?}");
    }
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
        self.ended.send(ended).unwrap();
    }
}

/// A worker without work: gives the time between a result and the next block.
fn work(port: u16, secret: Secret, worker: WorkerId) -> Vec<Duration> {
    let client = Client::connect(ClientOptions {
        host: "127.0.0.1".into(),
        port,
        secret,
        machine: None,
        task_id: "t".into(),
        worker_id: Some(worker.0),
        on_wake: Box::new(|| {}),
        on_end: None,
        on_deadline: None,
        notes: None,
    })
    .unwrap();
    let mut trips = Vec::new();
    let mut asked = Instant::now();
    loop {
        match client.take_timeout(Duration::from_secs(60)) {
            Take::Block(block) => {
                trips.push(asked.elapsed());
                asked = Instant::now();
                client.finish(block, Ok(())).unwrap();
            }
            Take::Empty => panic!("nothing came"),
            _ => break,
        }
    }
    client.close();
    trips
}

fn run(blocks: u64, workers: u32, prefetch: bool) -> (f64, Vec<Duration>) {
    let roi = |shape: i64| Roi::from_slices(&[0], &[shape]).unwrap();
    let mut spec = TaskSpec::new("t", roi(blocks as i64), roi(1), roi(1));
    spec.read_write_conflict = false;
    let graph = TaskGraph::new(vec![spec], &[]).unwrap();
    let scheduler = Scheduler::eager(graph, Vec::new()).unwrap();
    let task = TaskConfig {
        max_workers: workers,
        ..TaskConfig::default()
    };
    let mut config = RunConfig::new(vec![task]);
    config.cores = workers;
    if !prefetch {
        config.timing.prefetch_none_from = Nanos::ZERO;
        config.timing.prefetch_max = 0;
    }
    let run = Run::new(scheduler, config).unwrap();

    let secret = Secret::random().unwrap();
    let bound = bind(None).unwrap();
    let one = || vec![1];
    let setup = TaskSetup {
        geometry: TaskGeometry {
            task_id: "t".into(),
            total_offset: vec![0],
            total_shape: vec![blocks as i64],
            read_offset: vec![0],
            read_shape: one(),
            write_offset: vec![0],
            write_shape: one(),
            fit: bellis_net::message::Fit::Valid,
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
    let (send_commands, commands) = mpsc::channel();
    let (send_ended, ended) = mpsc::channel();
    let (send_trips, trips) = mpsc::channel();
    let host = Threads {
        port: bound.port(),
        secret: secret.clone(),
        commands,
        known: None,
        trips: send_trips,
        ended: send_ended,
    };
    let began = Instant::now();
    let options = ServerOptions::new(secret, vec![setup]);
    let server = Server::start(bound, options, run, Box::new(host)).unwrap();
    send_commands.send(server.commands()).unwrap();
    let ended = ended.recv().unwrap();
    server.join();
    let took = began.elapsed();
    assert_eq!(ended.outcome, Outcome::Finished);
    assert_eq!(ended.snapshot.unwrap().tasks[0].completed, blocks);
    let mut all: Vec<Duration> = trips.try_iter().flatten().skip(1).collect();
    all.sort();
    (blocks as f64 / took.as_secs_f64(), all)
}

/// Request and response over a socket and nothing else.
fn bare_loop(rounds: usize) -> Vec<Duration> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let echo = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_nodelay(true).unwrap();
        let mut bytes = [0; 64];
        while stream.read_exact(&mut bytes).is_ok() {
            stream.write_all(&bytes).unwrap();
        }
    });
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_nodelay(true).unwrap();
    let mut trips = Vec::new();
    let mut bytes = [0; 64];
    for _ in 0..rounds {
        let asked = Instant::now();
        stream.write_all(&bytes).unwrap();
        stream.read_exact(&mut bytes).unwrap();
        trips.push(asked.elapsed());
    }
    drop(stream);
    echo.join().unwrap();
    trips.sort();
    trips
}

fn show(what: &str, trips: &[Duration]) {
    let at = |share: usize| trips[trips.len() * share / 100];
    println!("{what}: p50 {:?}, p99 {:?}", at(50), at(99));
}

/// What encryption costs for both ends together: of a message with one block, and for each block of
/// a message with a thousand.
fn encryption() {
    use bellis_net::codec;
    use bellis_net::noise::Handshake;
    let secret = Secret::random().unwrap();
    let mut worker = Handshake::worker(&secret, b"").unwrap();
    let mut driver = Handshake::driver(&secret, b"").unwrap();
    driver.read(&worker.write().unwrap()).unwrap();
    worker.read(&driver.write().unwrap()).unwrap();
    let (mut sealer, _) = worker.finish().unwrap();
    let (_, mut opener) = driver.finish().unwrap();
    // A result takes about six bytes.
    for (blocks, bytes, rounds) in [(1, 20, 200_000u32), (1000, 6_000, 20_000)] {
        let plain = vec![7; bytes];
        let (mut wire, mut opened) = (Vec::new(), vec![0; bytes + 16]);
        let began = Instant::now();
        for _ in 0..rounds {
            wire.clear();
            codec::seal(&mut sealer, &plain, &mut wire).unwrap();
            opener.open(&wire[2..], &mut opened).unwrap();
        }
        let each = began.elapsed().as_nanos() as f64 / f64::from(rounds) / f64::from(blocks);
        println!("encryption of a message of {blocks}: {each:.0} ns a block, both ends");
    }
}

fn main() {
    encryption();
    show("bare socket", &bare_loop(20_000));
    let (_, trips) = run(20_000, 1, false);
    show("lone block, result to next block", &trips);
    for workers in [1, 2, 4, 16, 64] {
        let (rate, _) = run(2_000_000, workers, true);
        println!("{workers} workers: {rate:.0} blocks/s");
    }
}
