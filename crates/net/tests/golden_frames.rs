//! The bytes of the protocol, kept as files: whoever writes another client checks it against them,
//! and whoever changes them by accident is told. `BELLIS_BLESS=1` writes them anew.

use std::fmt::Write;
use std::path::PathBuf;

use bellis_net::codec::{self, FrameReader};
use bellis_net::greeting::Greeting;
use bellis_net::message::*;
use bellis_net::noise::Handshake;
use bellis_net::Secret;

fn worker_messages() -> Vec<(&'static str, WorkerMessage)> {
    let error = ErrorReport {
        name: "TypeError".into(),
        message: "x is not a function".into(),
        stack: Some("TypeError: x is not a function\n    at segment (file:///s.js:3:1)".into()),
        details: Some(r#"{"cause":"π"}"#.into()),
    };
    let result = |block, started, ended, outcome| BlockResult {
        block,
        started,
        ended,
        outcome,
    };
    vec![
        (
            "hello",
            WorkerMessage::Hello(Hello {
                task: "fragments".into(),
                worker: Some(3),
                pid: 4711,
                machine: "node17".into(),
            }),
        ),
        (
            "hello-external",
            WorkerMessage::Hello(Hello {
                task: "a:b=c".into(),
                worker: None,
                pid: 1,
                machine: String::new(),
            }),
        ),
        (
            "resume",
            WorkerMessage::Resume(Resume {
                token: ResumeToken([9; 16]),
                held: BlockList(vec![7, 300, 2]),
            }),
        ),
        ("acquire", WorkerMessage::Acquire { n: 1 }),
        (
            "released",
            WorkerMessage::Released {
                results: ResultList(vec![
                    result(17, 1_000_000, 1_002_500, Outcome::Done),
                    result(18, 1_003_000, 1_003_001, Outcome::TimedOut),
                    result(
                        16,
                        1_003_500,
                        2_000_000,
                        Outcome::Measured(Stats {
                            wall_seconds: 0.0009965,
                            cpu_seconds: 0.5,
                            peak_rss_bytes: 123_456_789,
                            io_read_bytes: 4096,
                            io_write_bytes: 0,
                        }),
                    ),
                    result(
                        u64::MAX,
                        0,
                        u64::MAX,
                        Outcome::Failed(Box::new(error.clone())),
                    ),
                ]),
            },
        ),
        (
            "returned",
            WorkerMessage::Returned {
                blocks: BlockList(vec![5, 6, 4]),
            },
        ),
        (
            "returned-none",
            WorkerMessage::Returned {
                blocks: BlockList(vec![]),
            },
        ),
        (
            "heartbeat",
            WorkerMessage::Heartbeat {
                sent: 5_000_000_000,
                round_trip: Some(23_000),
                running: vec![(17, 4_000_000_000), (19, 1)],
            },
        ),
        ("unusable", WorkerMessage::Unusable { fatal: true, error }),
        ("goodbye", WorkerMessage::Goodbye),
        (
            "exiting",
            WorkerMessage::Exiting {
                code: -1,
                running: BlockList(vec![17]),
            },
        ),
    ]
}

fn driver_messages() -> Vec<(&'static str, DriverMessage)> {
    let task = TaskSetup {
        geometry: TaskGeometry {
            task_id: "fragments".into(),
            total_offset: vec![0, -5],
            total_shape: vec![512, 512],
            read_offset: vec![0, 0],
            read_shape: vec![130, 130],
            write_offset: vec![1, 1],
            write_shape: vec![128, 128],
            fit: Fit::Shrink,
            read_write_conflict: true,
        },
        timeout_millis: 600_000,
        resource_tracking: true,
        restart_on_error: true,
        concurrency: 2,
        log_dir: Some("/data/logs".into()),
        function: "file:///segment.js#default".into(),
        config: Bytes(vec![0, 1, 255]),
    };
    let welcome = |task| {
        DriverMessage::Welcome(Box::new(Welcome {
            worker: 3,
            token: ResumeToken([9; 16]),
            received: 2,
            task,
        }))
    };
    vec![
        ("welcome", welcome(Some(task))),
        ("welcome-back", welcome(None)),
        (
            "grant",
            DriverMessage::Grant {
                alone: false,
                blocks: BlockList(vec![1000, 1001, 1002, 990]),
            },
        ),
        (
            "retract",
            DriverMessage::Retract {
                blocks: BlockList(vec![1002, 990]),
            },
        ),
        (
            "pong",
            DriverMessage::Pong {
                echo: 5_000_000_000,
                received: 12,
            },
        ),
        (
            "shutdown",
            DriverMessage::Shutdown {
                reason: ShutdownReason::UnknownTask,
            },
        ),
        (
            "closing",
            DriverMessage::Closing {
                reason: CloseReason::Malformed,
            },
        ),
    ]
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

fn check(name: &str, text: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name);
    if std::env::var_os("BELLIS_BLESS").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap().replace('\r', "");
    assert_eq!(text, kept, "{name}");
}

#[test]
fn messages_are_the_kept_bytes() {
    let mut text = String::from("# direction, message, bytes of the frame after its length\n");
    for (name, message) in worker_messages() {
        let mut frame = Vec::new();
        codec::encode(&message, usize::MAX, &mut frame).unwrap();
        assert_eq!(codec::decode(&frame[4..]), Ok(message), "{name}");
        writeln!(text, "> {name} {}", hex(&frame[4..])).unwrap();
    }
    for (name, message) in driver_messages() {
        let mut frame = Vec::new();
        codec::encode(&message, usize::MAX, &mut frame).unwrap();
        assert_eq!(codec::decode(&frame[4..]), Ok(message), "{name}");
        writeln!(text, "< {name} {}", hex(&frame[4..])).unwrap();
    }
    check("messages.txt", &text);
}

/// A connection from its first byte on, with fixed keys and a fixed package version.
#[test]
fn a_session_is_the_kept_bytes() {
    let greeting = Greeting {
        version: "1.2.3".into(),
        ..Greeting::own()
    };
    let secret = Secret::from_bytes([7; 32]);
    let mut text = String::from(
        "# secret 32 times 07; ephemeral private keys: worker 32 times 01, driver 32 times 02\n\
         # direction, what, bytes on the wire\n",
    );
    let mut say = |direction: &str, what: &str, bytes: &[u8]| {
        writeln!(text, "{direction} {what} {}", hex(bytes)).unwrap();
    };
    let prologue = [greeting.encode(), greeting.encode()].concat();
    say(">", "greeting", &greeting.encode());
    say("<", "greeting", &greeting.encode());
    let mut worker = Handshake::with_fixed_key(&secret, &prologue, true, &[1; 32]).unwrap();
    let mut driver = Handshake::with_fixed_key(&secret, &prologue, false, &[2; 32]).unwrap();
    let first = worker.write().unwrap();
    driver.read(&first).unwrap();
    say(">", "handshake", &[&[0, 48], &first[..]].concat());
    let second = driver.write().unwrap();
    worker.read(&second).unwrap();
    say("<", "handshake", &[&[0, 48], &second[..]].concat());
    let (mut to_driver, from_driver) = worker.finish().unwrap();
    let (mut to_worker, from_worker) = driver.finish().unwrap();
    let mut at_worker = FrameReader::new(from_driver, 1 << 20);
    let mut at_driver = FrameReader::new(from_worker, 1 << 20);

    for (name, message) in worker_messages() {
        let (mut plain, mut wire) = (Vec::new(), Vec::new());
        codec::encode(&message, usize::MAX, &mut plain).unwrap();
        codec::seal(&mut to_driver, &plain, &mut wire).unwrap();
        at_driver.feed(&wire);
        assert_eq!(at_driver.next_message(), Ok(Some(message)), "{name}");
        say(">", name, &wire);
    }
    for (name, message) in driver_messages() {
        let (mut plain, mut wire) = (Vec::new(), Vec::new());
        codec::encode(&message, usize::MAX, &mut plain).unwrap();
        codec::seal(&mut to_worker, &plain, &mut wire).unwrap();
        at_worker.feed(&wire);
        assert_eq!(at_worker.next_message(), Ok(Some(message)), "{name}");
        say("<", name, &wire);
    }
    for (name, alert) in [
        ("alert-other-build", codec::Alert::OtherBuild),
        ("alert-other-run", codec::Alert::OtherRun),
        ("alert-too-many", codec::Alert::TooMany),
    ] {
        say("<", name, &alert.encode());
    }
    check("session.txt", &text);
}

/// Every message is in the files, and every message that the schema names is one.
#[test]
fn the_schema_names_every_message() {
    let schema = bellis_net::greeting::SCHEMA;
    let variant = |debug: String| debug.split([' ', '(', '{']).next().unwrap().to_owned();
    let (_, messages) = schema.split_once("\nworker to driver\n").unwrap();
    let (worker, driver) = messages.split_once("\ndriver to worker\n").unwrap();
    let mut worker_names: Vec<String> = worker_messages()
        .iter()
        .map(|(_, message)| variant(format!("{message:?}")))
        .collect();
    worker_names.dedup();
    let mut driver_names: Vec<String> = driver_messages()
        .iter()
        .map(|(_, message)| variant(format!("{message:?}")))
        .collect();
    driver_names.dedup();
    for (part, names) in [(worker, worker_names), (driver, driver_names)] {
        let named: Vec<String> = part
            .lines()
            .filter(|line| line.starts_with(|first: char| first.is_ascii_digit()))
            .map(|line| variant(line.split_once(' ').unwrap().1.to_owned()))
            .collect();
        assert_eq!(named, names);
    }
}
