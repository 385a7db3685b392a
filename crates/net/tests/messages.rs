//! Every message survives the wire, and no bytes make a reader panic.

use std::collections::BTreeSet;

use bellis_net::codec::{decode, encode, FrameError};
use bellis_net::message::*;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

fn blocks() -> impl Strategy<Value = BlockList> {
    vec(any::<u64>(), 0..30).prop_map(BlockList)
}

fn error() -> impl Strategy<Value = ErrorReport> {
    (".*", ".*", option::of(".*"), option::of(".*")).prop_map(|(name, message, stack, details)| {
        ErrorReport {
            name,
            message,
            stack,
            details,
        }
    })
}

fn outcome() -> impl Strategy<Value = Outcome> {
    let stats = (
        0.0..1e9f64,
        prop_oneof![Just(f64::INFINITY), 0.0..1e9f64],
        any::<[u64; 3]>(),
    );
    prop_oneof![
        Just(Outcome::Done),
        Just(Outcome::TimedOut),
        stats.prop_map(|(wall_seconds, cpu_seconds, [rss, read, write])| {
            Outcome::Measured(Stats {
                wall_seconds,
                cpu_seconds,
                peak_rss_bytes: rss,
                io_read_bytes: read,
                io_write_bytes: write,
            })
        }),
        error().prop_map(|error| Outcome::Failed(Box::new(error))),
    ]
}

fn results() -> impl Strategy<Value = ResultList> {
    let result =
        (any::<[u64; 3]>(), outcome()).prop_map(|([block, started, ended], outcome)| BlockResult {
            block,
            started,
            ended,
            outcome,
        });
    vec(result, 0..20).prop_map(ResultList)
}

fn worker_message() -> impl Strategy<Value = WorkerMessage> {
    prop_oneof![
        (".*", any::<Option<u32>>(), any::<u32>(), ".*").prop_map(
            |(task, worker, pid, machine)| {
                WorkerMessage::Hello(Hello {
                    task,
                    worker,
                    pid,
                    machine,
                })
            }
        ),
        (any::<[u8; 16]>(), blocks()).prop_map(|(token, held)| {
            let token = ResumeToken(token);
            WorkerMessage::Resume(Resume { token, held })
        }),
        any::<u32>().prop_map(|n| WorkerMessage::Acquire { n }),
        results().prop_map(|results| WorkerMessage::Released { results }),
        blocks().prop_map(|blocks| WorkerMessage::Returned { blocks }),
        (
            any::<u64>(),
            any::<Option<u64>>(),
            vec(any::<(u64, u64)>(), 0..9)
        )
            .prop_map(|(sent, round_trip, running)| WorkerMessage::Heartbeat {
                sent,
                round_trip,
                running
            }),
        (any::<bool>(), error())
            .prop_map(|(fatal, error)| WorkerMessage::Unusable { fatal, error }),
        Just(WorkerMessage::Goodbye),
        (any::<i32>(), blocks())
            .prop_map(|(code, running)| WorkerMessage::Exiting { code, running }),
    ]
}

fn setup() -> impl Strategy<Value = TaskSetup> {
    let axes = || vec(any::<i64>(), 0..9);
    let geometry = (
        ".*",
        [axes(), axes(), axes(), axes(), axes(), axes()],
        0..bellis_core::Fit::ALL.len(),
        any::<bool>(),
    );
    let rest = (
        any::<(u64, bool, bool, u32)>(),
        option::of(".*"),
        ".*",
        vec(any::<u8>(), 0..99),
    );
    (geometry, rest).prop_map(|(geometry, rest)| {
        let (task_id, axes, fit, read_write_conflict) = geometry;
        let [total_offset, total_shape, read_offset, read_shape, write_offset, write_shape] = axes;
        let (numbers, log_dir, function, config) = rest;
        let (timeout_millis, resource_tracking, restart_on_error, concurrency) = numbers;
        TaskSetup {
            geometry: TaskGeometry {
                task_id,
                total_offset,
                total_shape,
                read_offset,
                read_shape,
                write_offset,
                write_shape,
                fit: bellis_core::Fit::ALL[fit].into(),
                read_write_conflict,
            },
            timeout_millis,
            resource_tracking,
            restart_on_error,
            concurrency,
            log_dir,
            function,
            config: Bytes(config),
        }
    })
}

fn driver_message() -> impl Strategy<Value = DriverMessage> {
    prop_oneof![
        (any::<(u32, u64)>(), any::<[u8; 16]>(), option::of(setup())).prop_map(
            |((worker, received), token, task)| {
                DriverMessage::Welcome(Box::new(Welcome {
                    worker,
                    token: ResumeToken(token),
                    received,
                    task,
                }))
            }
        ),
        (any::<bool>(), blocks())
            .prop_map(|(alone, blocks)| DriverMessage::Grant { alone, blocks }),
        blocks().prop_map(|blocks| DriverMessage::Retract { blocks }),
        any::<(u64, u64)>().prop_map(|(echo, received)| DriverMessage::Pong { echo, received }),
        select(&SHUTDOWN_REASONS[..]).prop_map(|reason| DriverMessage::Shutdown { reason }),
        select(&CLOSE_REASONS[..]).prop_map(|reason| DriverMessage::Closing { reason }),
    ]
}

const SHUTDOWN_REASONS: [ShutdownReason; 9] = [
    ShutdownReason::TaskFinished,
    ShutdownReason::RunFinished,
    ShutdownReason::Idle,
    ShutdownReason::ResourcesNeeded,
    ShutdownReason::BlockFailed,
    ShutdownReason::Interrupted,
    ShutdownReason::RunStopped,
    ShutdownReason::Forgotten,
    ShutdownReason::UnknownTask,
];

const CLOSE_REASONS: [CloseReason; 6] = [
    CloseReason::Silent,
    CloseReason::TimedOut,
    CloseReason::DidNotLeave,
    CloseReason::NoAnswer,
    CloseReason::Replaced,
    CloseReason::Malformed,
];

/// Numbers as on the wire. A new message doesn't compile here until it has one.
fn worker_variant(message: &WorkerMessage) -> usize {
    match message {
        WorkerMessage::Hello(_) => 0,
        WorkerMessage::Resume(_) => 1,
        WorkerMessage::Acquire { .. } => 2,
        WorkerMessage::Released { .. } => 3,
        WorkerMessage::Returned { .. } => 4,
        WorkerMessage::Heartbeat { .. } => 5,
        WorkerMessage::Unusable { .. } => 6,
        WorkerMessage::Goodbye => 7,
        WorkerMessage::Exiting { .. } => 8,
    }
}

fn driver_variant(message: &DriverMessage) -> usize {
    match message {
        DriverMessage::Welcome(_) => 0,
        DriverMessage::Grant { .. } => 1,
        DriverMessage::Retract { .. } => 2,
        DriverMessage::Pong { .. } => 3,
        DriverMessage::Shutdown { .. } => 4,
        DriverMessage::Closing { .. } => 5,
    }
}

/// Which variants come up among many messages.
fn made<M: std::fmt::Debug>(
    messages: impl Strategy<Value = M>,
    variant: fn(&M) -> usize,
) -> BTreeSet<usize> {
    let mut runner = TestRunner::deterministic();
    let mut make = || messages.new_tree(&mut runner).unwrap().current();
    (0..1000).map(|_| variant(&make())).collect()
}

/// The properties below hold for every message, and not only for those that somebody thought of.
#[test]
fn every_message_is_made_and_has_its_number_on_the_wire() {
    assert_eq!(made(worker_message(), worker_variant), (0..9).collect());
    assert_eq!(made(driver_message(), driver_variant), (0..6).collect());
    let mut runner = TestRunner::deterministic();
    for _ in 0..200 {
        let message = worker_message().new_tree(&mut runner).unwrap().current();
        assert_eq!(usize::from(frame(&message)[0]), worker_variant(&message));
        let message = driver_message().new_tree(&mut runner).unwrap().current();
        assert_eq!(usize::from(frame(&message)[0]), driver_variant(&message));
    }
    // As many as there are: the next number is no reason.
    let reasons = (SHUTDOWN_REASONS.len() as u8, CLOSE_REASONS.len() as u8);
    assert_eq!(
        decode::<DriverMessage>(&[4, reasons.0]),
        Err(FrameError::Unknown)
    );
    assert_eq!(
        decode::<DriverMessage>(&[5, reasons.1]),
        Err(FrameError::Unknown)
    );
}

fn frame<M: serde::Serialize>(message: &M) -> Vec<u8> {
    let mut frame = Vec::new();
    encode(message, usize::MAX, &mut frame).unwrap();
    frame.split_off(4)
}

proptest! {
    #[test]
    fn worker_messages_go_there_and_back(message in worker_message()) {
        prop_assert_eq!(decode(&frame(&message)), Ok(message));
    }

    #[test]
    fn driver_messages_go_there_and_back(message in driver_message()) {
        prop_assert_eq!(decode(&frame(&message)), Ok(message));
    }

    #[test]
    fn a_cut_message_is_none(message in worker_message(), at: prop::sample::Index) {
        let whole = frame(&message);
        let cut = &whole[..at.index(whole.len())];
        prop_assert_eq!(decode::<WorkerMessage>(cut), Err(FrameError::Unknown));
    }

    #[test]
    fn garbage_never_panics(bytes in vec(any::<u8>(), 0..300)) {
        let _ = decode::<WorkerMessage>(&bytes);
        let _ = decode::<DriverMessage>(&bytes);
    }

    #[test]
    fn a_changed_message_never_panics(message in driver_message(), at: prop::sample::Index, value: u8) {
        let mut bytes = frame(&message);
        let at = at.index(bytes.len());
        bytes[at] = value;
        let _ = decode::<DriverMessage>(&bytes);
    }
}

/// A count that promises more than there is costs no memory.
#[test]
fn a_huge_count_is_no_allocation() {
    // Released, 2^63 results.
    let mut bytes = vec![3];
    bytes.extend([0x80; 9]);
    bytes.push(0x01);
    assert_eq!(decode::<WorkerMessage>(&bytes), Err(FrameError::Unknown));
    // Returned, 2^63 blocks.
    bytes[0] = 4;
    assert_eq!(decode::<WorkerMessage>(&bytes), Err(FrameError::Unknown));
}

/// The target of the protocol: neighbouring blocks of a microsecond cost a few bytes each.
#[test]
fn results_of_neighbours_are_short() {
    let results = (0..1000)
        .map(|at| BlockResult {
            block: 1_000_000 + at,
            started: 3_600_000_000_000 + at * 1_200,
            ended: 3_600_000_001_000 + at * 1_200,
            outcome: Outcome::Done,
        })
        .collect();
    let bytes = frame(&WorkerMessage::Released {
        results: ResultList(results),
    });
    assert!(bytes.len() < 6_100, "{}", bytes.len());
}

#[test]
fn every_fit_crosses_and_is_in_the_schema() {
    let schema = bellis_net::greeting::SCHEMA;
    let named = |fit: bellis_core::Fit| format!("{} {:?}", Fit::from(fit) as u32, Fit::from(fit));
    let fits = bellis_core::Fit::ALL.map(named).join(" ");
    assert!(schema.contains(&format!("fit: enum {fits},")), "{fits}");
    for fit in bellis_core::Fit::ALL {
        let bytes = postcard::to_stdvec(&Fit::from(fit)).expect("encodes");
        let back: Fit = postcard::from_bytes(&bytes).expect("decodes");
        assert_eq!(bellis_core::Fit::from(back), fit);
    }
}
