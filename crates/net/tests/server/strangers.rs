//! Whoever isn't a worker of this run takes no block and disturbs nobody.

use std::io::{Read, Write};
use std::time::Duration;

use bellis_net::codec::{Alert, MAX_WORKER_FRAME};
use bellis_net::greeting::Greeting;
use bellis_net::message::*;
use bellis_net::{Client, End, Notice, Secret, StrangerReason};

use crate::peer::{socket, until_end, Peer};
use crate::rig::{Rig, PATIENCE};
use crate::work;

fn reason(notice: Notice) -> StrangerReason {
    match notice {
        Notice::Stranger { reason, .. } => reason,
        other => panic!("{other:?}"),
    }
}

/// The run goes on as if nothing had happened.
fn still_works(rig: Rig) {
    assert_eq!(work(&rig.client(), |_| false).len(), 3);
    let counters = rig.finish().snapshot.unwrap().tasks[0];
    assert_eq!((counters.completed, counters.failed_attempts), (3, 0));
}

#[test]
fn foreign_bytes_end_the_connection_without_an_answer() {
    let mut random = vec![0; 10_000];
    for (at, byte) in random.iter_mut().enumerate() {
        *byte = (at * 31 % 251) as u8;
    }
    let foreign: [&[u8]; 4] = [
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"bellis\n\n",
        &random,
    ];
    for bytes in foreign {
        let rig = Rig::new(3);
        let mut stream = socket(&rig);
        stream.write_all(bytes).unwrap();
        assert_eq!(until_end(&mut stream), b"");
        assert_eq!(reason(rig.hear_notice()), StrangerReason::ForeignBytes);
        still_works(rig);
    }
}

#[test]
fn many_strangers_are_one_notice() {
    let rig = Rig::new(3);
    for _ in 0..50 {
        let mut stream = socket(&rig);
        stream.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        until_end(&mut stream);
    }
    assert_eq!(reason(rig.hear_notice()), StrangerReason::ForeignBytes);
    assert_eq!(work(&rig.client(), |_| false).len(), 3);
    let mut others = 0;
    loop {
        match rig.hear() {
            crate::rig::Heard::Notice(_) => others += 1,
            crate::rig::Heard::Finished(_) => break,
            _ => {}
        }
    }
    assert_eq!(others, 0);
}

#[test]
fn another_build_is_told_so() {
    let rig = Rig::new(3);
    let mut stream = socket(&rig);
    let other = Greeting {
        version: "9.9.9".into(),
        ..Greeting::own()
    };
    stream.write_all(&other.encode()).unwrap();
    let expected = [
        Greeting::own().encode(),
        Alert::OtherBuild.encode().to_vec(),
    ]
    .concat();
    assert_eq!(until_end(&mut stream), expected);
    let StrangerReason::OtherBuild(text) = reason(rig.hear_notice()) else {
        panic!("another reason")
    };
    assert!(text.contains("9.9.9"), "{text}");
    still_works(rig);
}

#[test]
fn a_worker_of_another_run_is_told_so() {
    let rig = Rig::new(3);
    let mut options = rig.options();
    options.secret = Secret::random().unwrap();
    let client = Client::connect(options).unwrap();
    let end = client.wait_connected(PATIENCE).unwrap().unwrap_err();
    let End::TurnedAway(text) = &end else {
        panic!("{end:?}")
    };
    assert!(text.contains("another run"), "{text}");
    assert_eq!(reason(rig.hear_notice()), StrangerReason::OtherRun);
    still_works(rig);
}

#[test]
fn a_session_that_was_overheard_is_of_no_use() {
    let rig = Rig::new(3);
    let (mut peer, _) = Peer::welcome(&rig);
    peer.say(&WorkerMessage::Goodbye);
    peer.hear_out();
    let mut stream = socket(&rig);
    stream.write_all(&peer.sent).unwrap();
    let answer = until_end(&mut stream);
    // It gets as far as the driver's fresh key, to which the old messages don't fit.
    assert!(answer.len() <= Greeting::own().encode().len() + 50);
    assert!(matches!(
        reason(rig.hear_notice()),
        StrangerReason::Malformed(_)
    ));
    still_works(rig);
}

#[test]
fn broken_rules_end_that_connection_only() {
    let closing = DriverMessage::Closing {
        reason: CloseReason::Malformed,
    };
    type Break = fn(&mut Peer);
    let rules: [(&str, Break); 6] = [
        ("garbage on the wire", |peer| {
            peer.stream.write_all(&[0, 60]).unwrap();
            peer.stream.write_all(&[1; 60]).unwrap();
        }),
        ("too long a frame", |peer| {
            peer.say_plain(&(MAX_WORKER_FRAME as u32 + 1).to_le_bytes());
        }),
        ("no message", |peer| peer.say_plain(&[2, 0, 0, 0, 99, 99])),
        ("an empty frame", |peer| peer.say_plain(&[0, 0, 0, 0])),
        ("a second introduction", |peer| peer.introduce("task")),
        ("a count of results that is too large", |peer| {
            peer.say_plain(&[6, 0, 0, 0, 3, 0xff, 0xff, 0xff, 0xff, 0x0f]);
        }),
    ];
    for (what, breaks) in rules {
        let rig = Rig::new(3);
        let (mut peer, _) = Peer::welcome(&rig);
        let (mut other, _) = Peer::welcome(&rig);
        breaks(&mut peer);
        assert_eq!(peer.hear_out(), std::slice::from_ref(&closing), "{what}");
        assert!(
            matches!(reason(rig.hear_notice()), StrangerReason::Malformed(_)),
            "{what}"
        );
        // The other one doesn't notice.
        other.say(&WorkerMessage::Acquire { n: 1 });
        let granted = other.hear_grant();
        other.say(&WorkerMessage::Returned {
            blocks: BlockList(granted),
        });
        other.say(&WorkerMessage::Goodbye);
        still_works(rig);
    }
}

#[test]
fn a_first_message_that_is_no_introduction_is_not_taken() {
    let rig = Rig::new(3);
    let mut peer = Peer::stranger(&rig);
    peer.say(&WorkerMessage::Acquire { n: 1 });
    assert_eq!(peer.hear_out(), []);
    assert!(matches!(
        reason(rig.hear_notice()),
        StrangerReason::Malformed(_)
    ));
    still_works(rig);
}

#[test]
fn a_message_cut_in_the_middle_is_a_broken_connection() {
    let rig = Rig::new(3);
    let (mut peer, _) = Peer::welcome(&rig);
    peer.stream.write_all(&[0, 60, 1, 2, 3]).unwrap();
    peer.hang_up();
    still_works(rig);
}

#[test]
fn who_says_nothing_is_sent_away_after_a_while() {
    // Long enough for the honest ones of this test, however busy the machine is.
    let rig = Rig::with(3, |plan| {
        plan.options.handshake_timeout = Duration::from_secs(2);
    });
    let mut silent = socket(&rig);
    let mut slow = socket(&rig);
    slow.write_all(&Greeting::own().encode()[..9]).unwrap();
    let mut half = Peer::stranger(&rig);
    assert_eq!(until_end(&mut silent), b"");
    assert_eq!(until_end(&mut slow), b"");
    assert_eq!(half.hear_out(), []);
    assert_eq!(reason(rig.hear_notice()), StrangerReason::TooSlow);
    still_works(rig);
}

/// Bytes of a greeting that says nothing yet.
const HALF: usize = 9;

fn half_open(rig: &Rig) -> std::net::TcpStream {
    let mut stream = socket(rig);
    stream.write_all(&Greeting::own().encode()[..HALF]).unwrap();
    stream
}

#[test]
fn a_flood_of_half_open_connections_keeps_no_worker_out() {
    const ROOM: usize = 8;
    let rig = Rig::with(3, |plan| {
        plan.options.max_handshakes = ROOM;
        plan.options.fair_handshake_time = Duration::ZERO;
        // Nobody leaves because it took too long.
        plan.options.handshake_timeout = Duration::from_secs(3600);
    });
    // One after another, so that it is known which of them came first.
    let mut flood: Vec<_> = (0..ROOM).map(|_| half_open(&rig)).collect();
    let (mut worker, _) = Peer::welcome(&rig);
    let mut oldest = flood.remove(0);
    assert_eq!(until_end(&mut oldest), b"");
    assert_eq!(reason(rig.hear_notice()), StrangerReason::CrowdedOut);
    // The others are still there: they get the answer that they have waited for.
    let rest = Greeting::own().encode()[HALF..].to_vec();
    for stream in &mut flood {
        stream.write_all(&rest).unwrap();
        let mut answer = vec![0; Greeting::own().encode().len()];
        stream.read_exact(&mut answer).unwrap();
    }
    worker.say(&WorkerMessage::Goodbye);
    worker.hear_out();
    still_works(rig);
}

#[test]
fn of_more_workers_than_handshakes_at_once_none_is_pushed_out() {
    const WORKERS: i64 = 40;
    let rig = Rig::with(WORKERS, |plan| {
        plan.options.max_handshakes = 2;
        plan.options.handshake_timeout = Duration::from_secs(3600);
        plan.options.fair_handshake_time = Duration::from_secs(3600);
        plan.task.max_workers = WORKERS as u32;
    });
    let clients: Vec<Client> = (0..WORKERS).map(|_| rig.client()).collect();
    for client in &clients {
        client.wait_connected(PATIENCE).unwrap().unwrap();
    }
    assert_eq!(work(&clients[0], |_| false).len(), WORKERS as usize);
    drop(clients);
    rig.finish();
}

#[test]
fn there_are_no_more_connections_than_allowed() {
    let rig = Rig::with(3, |plan| plan.options.max_connections = 2);
    let (first, _) = Peer::welcome(&rig);
    let (mut second, _) = Peer::welcome(&rig);
    let mut third = socket(&rig);
    let mut answer = vec![0; Greeting::own().encode().len() + 3];
    third.read_exact(&mut answer).unwrap();
    assert!(answer.ends_with(&Alert::TooMany.encode()));
    assert_eq!(reason(rig.hear_notice()), StrangerReason::TooMany);
    drop(first);
    second.say(&WorkerMessage::Goodbye);
    second.hear_out();
    still_works(rig);
}
