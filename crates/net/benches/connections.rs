//! Thousands of workers at once, played by one thread of another process: blocks a second, the longest
//! that any of them waited for a block, and what the driver pays for each connection, in memory and in
//! processor time, idle (heartbeats only) and busy. `cargo bench -p bellis-net --bench connections`;
//! with `-- --quick` fewer blocks and a shorter look at the idle ones.

mod bare_run;
mod crowd;

use std::io::{BufRead, BufReader, Write};
use std::process::{Command as Program, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use bare_run::{run_of, BareHost};
use bellis_core::run::{Outcome, RunConfig, TaskConfig, WorkerId};
use bellis_net::{bind, Command, Secret, Server, ServerOptions};

/// Processor time of this process so far.
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok())
        .unwrap_or(0)
}

fn measure(workers: u32, blocks: u64, idle: Duration) {
    let mut config = RunConfig::new(vec![TaskConfig {
        max_workers: workers,
        paced_starts: false,
        ..TaskConfig::default()
    }]);
    config.cores = 2;
    let (run, setup) = run_of(blocks, config);
    let secret = Secret::random().unwrap();
    let bound = bind(None).unwrap();
    let port = bound.port();
    let (send_starts, starts) = mpsc::channel::<WorkerId>();
    let (send_ended, ended) = mpsc::channel();
    let host = Box::new(BareHost {
        start: move |worker| send_starts.send(worker).unwrap(),
        ended: send_ended,
    });
    let options = ServerOptions::new(secret.clone(), vec![setup]);
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

    let before = resident_kib();
    let mut crowd = Program::new(std::env::current_exe().unwrap())
        .arg(crowd::ARGUMENT)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut orders = crowd.stdin.take().unwrap();
    let mut words = BufReader::new(crowd.stdout.take().unwrap()).lines();
    let mut word = || words.next().expect("the crowd ended").unwrap();
    let ids: Vec<String> = wanted.iter().map(|id| id.0.to_string()).collect();
    let connecting = Instant::now();
    writeln!(orders, "{port} {} {}", secret.to_hex(), ids.join(" ")).unwrap();
    assert_eq!(word(), crowd::CONNECTED);
    let connected = connecting.elapsed();
    let memory_idle = resident_kib().saturating_sub(before);

    // Nothing happens here that is waited for: it is looked at for as long as this takes.
    let (idle_from, idle_cpu) = (Instant::now(), processor_time());
    std::thread::sleep(idle);
    let idle_cpu = (processor_time() - idle_cpu).as_secs_f64() / idle_from.elapsed().as_secs_f64();

    let (busy_from, busy_cpu) = (Instant::now(), processor_time());
    writeln!(orders, "{}", crowd::GO).unwrap();
    let told = word();
    let busy = busy_from.elapsed().as_secs_f64();
    let busy_cpu = (processor_time() - busy_cpu).as_secs_f64();
    let memory_busy = resident_kib().saturating_sub(before);

    let ended = ended.recv().unwrap();
    server.join();
    assert!(crowd.wait().unwrap().success());
    assert_eq!(ended.outcome, Outcome::Finished);
    assert_eq!(ended.snapshot.unwrap().tasks[0].completed, blocks);
    let each = |total: f64| total / f64::from(workers);
    println!(
        "{workers} workers: connected in {connected:?}; {:.0} blocks/s; {told}; \
         driver's memory {:.1} KiB each idle, {:.1} KiB each busy; \
         driver's processor {:.2} µs/s each idle, {:.2} µs/s each busy, {:.0} ns a block",
        blocks as f64 / busy,
        each(memory_idle as f64),
        each(memory_busy as f64),
        each(idle_cpu * 1e6),
        each(busy_cpu / busy * 1e6),
        busy_cpu * 1e9 / blocks as f64,
    );
}

fn main() {
    let has = |wanted: &str| std::env::args().any(|argument| argument == wanted);
    if has(crowd::ARGUMENT) {
        return crowd::play();
    }
    let (blocks, idle) = if has("--quick") {
        (500_000, Duration::from_secs(2))
    } else {
        (2_000_000, Duration::from_secs(10))
    };
    for workers in [1, 100, 2000] {
        measure(workers, blocks, idle);
    }
}
