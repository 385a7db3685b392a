//! Blocks a second from the scheduler through the server, the wire and the native client, all in one
//! process; the round trip of a lone block beside that of a bare socket, pinned to one core and not;
//! and what encryption takes of both. `cargo bench -p bellis-net --bench throughput`; with
//! `-- --quick` fewer rounds and worker counts.

mod bare_run;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use bare_run::{run_of, BareHost};
use bellis_core::run::{Exit, ExitKind, Nanos, Outcome, RunConfig, TaskConfig, WorkerId};
use bellis_net::{
    bind, Client, ClientOptions, Command, Commands, Secret, Server, ServerOptions, Take,
};

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

/// Runs every worker as a thread of this process. Gives blocks a second and the sorted round trips.
fn run(blocks: u64, workers: u32, prefetch: bool) -> (f64, Vec<Duration>) {
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
    let (run, setup) = run_of(blocks, config);

    let secret = Secret::random().unwrap();
    let bound = bind(None).unwrap();
    let port = bound.port();
    let (send_commands, commands) = mpsc::channel::<Commands>();
    let (send_ended, ended) = mpsc::channel();
    let (send_trips, trips) = mpsc::channel();
    let mut known = None;
    let worker_secret = secret.clone();
    let start = move |worker: WorkerId| {
        let commands = known
            .get_or_insert_with(|| commands.recv().unwrap())
            .clone();
        let exit_reported = true;
        commands.send(Command::WorkerStarted {
            worker,
            exit_reported,
        });
        let (secret, trips) = (worker_secret.clone(), send_trips.clone());
        thread::spawn(move || {
            trips.send(work(port, secret, worker)).unwrap();
            let exit = Exit {
                kind: ExitKind::Clean,
                description: String::new(),
                stderr_tail: None,
            };
            commands.send(Command::WorkerExited { worker, exit });
        });
    };
    let began = Instant::now();
    let host = Box::new(BareHost {
        start,
        ended: send_ended,
    });
    let server = Server::start(bound, ServerOptions::new(secret, vec![setup]), run, host).unwrap();
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
fn bare_loop(rounds: u64) -> Vec<Duration> {
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

/// Prints the middle and the far end, and gives the middle.
fn show(what: &str, trips: &[Duration]) -> Duration {
    let at = |share: usize| trips[trips.len() * share / 100];
    println!("{what}: p50 {:?}, p99 {:?}", at(50), at(99));
    at(50)
}

/// The round trips, of threads that are `placed` on the processors in some way. Gives the middle of
/// the lone block's.
fn round_trips(rounds: u64, placed: &str) -> Duration {
    show(&format!("bare socket, {placed}"), &bare_loop(rounds));
    let (_, trips) = run(rounds, 1, false);
    show(&format!("lone block, {placed}"), &trips)
}

/// Runs something in a thread that, with all that it starts, keeps to one core. `None` where threads
/// can't be pinned.
fn pinned<T: Send>(body: impl FnOnce() -> T + Send) -> Option<T> {
    thread::scope(|scope| {
        let thread = scope.spawn(|| pin_to_one_core().then(body));
        thread.join().unwrap()
    })
}

#[cfg(target_os = "linux")]
fn pin_to_one_core() -> bool {
    use rustix::thread::{sched_getaffinity, sched_setaffinity, CpuSet};
    let Ok(allowed) = sched_getaffinity(None) else {
        return false;
    };
    let Some(core) = (0..CpuSet::MAX_CPU).find(|&core| allowed.is_set(core)) else {
        return false;
    };
    let mut one = CpuSet::new();
    one.set(core);
    sched_setaffinity(None, &one).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn pin_to_one_core() -> bool {
    false
}

/// Nanoseconds that encryption costs both ends together: for a message with one block, and for each
/// block of a message with a thousand.
fn encryption() -> [f64; 2] {
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
    [(1, 20, 200_000u32), (1000, 6_000, 20_000)].map(|(blocks, bytes, rounds)| {
        let plain = vec![7; bytes];
        let (mut wire, mut opened) = (Vec::new(), vec![0; bytes + 16]);
        let began = Instant::now();
        for _ in 0..rounds {
            wire.clear();
            codec::seal(&mut sealer, &plain, &mut wire).unwrap();
            opener.open(&wire[2..], &mut opened).unwrap();
        }
        let each = began.elapsed().as_nanos() as f64 / f64::from(rounds) / f64::from(blocks);
        println!("encryption of a message of {blocks}: {each:.1} ns a block, both ends");
        each
    })
}

fn main() {
    let quick = std::env::args().any(|argument| argument == "--quick");
    let rounds = if quick { 5_000 } else { 20_000 };
    let [alone, among_many] = encryption();
    let lone = pinned(|| round_trips(rounds, "pinned to one core"));
    let unpinned = round_trips(rounds, "not pinned");
    // There and back: a result and a grant.
    let share = 200.0 * alone / lone.unwrap_or(unpinned).as_nanos() as f64;
    println!("encryption's share of a lone block: {share:.1} %");
    let (blocks, counts): (u64, &[u32]) = if quick {
        (500_000, &[1, 4])
    } else {
        (2_000_000, &[1, 2, 4, 16, 64])
    };
    for &workers in counts {
        let (rate, _) = run(blocks, workers, true);
        println!("{workers} workers: {rate:.0} blocks/s");
        if workers == 1 {
            // A grant's share of a message is less than a result's: taken as large, to be safe.
            let share = 200.0 * among_many * rate / 1e9;
            println!("encryption's share of a block at full rate: {share:.1} %");
        }
    }
}
