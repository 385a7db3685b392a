//! The native client against a driver that a test plays.

mod deadline;
mod driver;
mod resume;

use std::io::Write;
use std::sync::mpsc;
use std::time::Duration;

use bellis_net::codec::Alert;
use bellis_net::greeting::Greeting;
use bellis_net::message::*;
use bellis_net::{Client, End, NotInHand, Take};

use driver::{grant, setup, Listener, PATIENCE};

fn released(message: WorkerMessage) -> Vec<(u64, Outcome)> {
    match message {
        WorkerMessage::Released { results } => results
            .0
            .into_iter()
            .inspect(|result| assert!(result.started <= result.ended, "{result:?}"))
            .map(|result| (result.block, result.outcome))
            .collect(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn it_introduces_itself_and_learns_its_task() {
    let listener = Listener::new();
    let client = Client::connect(listener.options()).unwrap();
    let mut driver = listener.accept();
    let WorkerMessage::Hello(hello) = driver.hear() else {
        panic!("no hello")
    };
    assert_eq!((hello.task.as_str(), hello.worker), ("task", Some(5)));
    assert_eq!(hello.pid, std::process::id());
    assert_eq!(client.take(), Take::Empty);
    driver.say(&DriverMessage::Welcome(Box::new(Welcome {
        worker: 9,
        token: ResumeToken([1; 16]),
        received: 0,
        task: Some(setup()),
    })));
    let task = client.wait_connected(PATIENCE).unwrap().unwrap();
    assert_eq!(*task, setup());
    assert_eq!(client.worker_id(), Some(9));
    assert!(client.is_connected());
}

#[test]
fn nothing_is_asked_for_before_somebody_wants_a_block() {
    let listener = Listener::new();
    let (client, mut driver) = listener.welcome(listener.options(), setup());
    let WorkerMessage::Heartbeat { .. } = driver.hear_any() else {
        panic!("the first heartbeat comes at once")
    };
    assert_eq!(client.take(), Take::Empty);
    assert_eq!(driver.hear(), WorkerMessage::Acquire { n: 1 });
}

#[test]
fn a_lone_block_is_reported_without_company() {
    let listener = Listener::new();
    let (client, mut driver) = listener.welcome(listener.options(), setup());
    assert_eq!(client.take(), Take::Empty);
    assert_eq!(driver.hear(), WorkerMessage::Acquire { n: 1 });
    for block in [7, 8] {
        driver.grant(&[block]);
        assert_eq!(client.take_timeout(PATIENCE), Take::Block(block));
        client.finish(block, Ok(())).unwrap();
        // Nothing else happens in the client, so this would wait for ever if the client did.
        assert_eq!(released(driver.hear()), [(block, Outcome::Done)]);
    }
    assert_eq!(client.finish(8, Ok(())), Err(NotInHand(8)));
}

#[test]
fn many_blocks_share_messages_and_the_driver_is_told_before_they_run_out() {
    let listener = Listener::new();
    let (client, mut driver) = listener.welcome(listener.options(), setup());
    let blocks: Vec<u64> = (0..1000).collect();
    driver.grant(&blocks);
    for &block in &blocks {
        assert_eq!(client.take_timeout(PATIENCE), Take::Block(block));
        client.finish(block, Ok(())).unwrap();
    }
    let (mut messages, mut ended) = (Vec::new(), Vec::new());
    assert_eq!(driver.hear(), WorkerMessage::Acquire { n: 1 });
    while ended.len() < 1000 {
        let results = released(driver.hear());
        messages.push(results.len());
        ended.extend(results.into_iter().map(|(block, _)| block));
    }
    assert_eq!(ended, blocks);
    assert!(
        messages[0] <= 501,
        "half of them still waited: {messages:?}"
    );
}

#[test]
fn a_short_block_before_a_long_one_is_reported_while_that_runs() {
    let listener = Listener::new();
    let (client, mut driver) = listener.welcome(listener.options(), setup());
    driver.grant(&(0..50).collect::<Vec<_>>());
    for block in 0..3 {
        assert_eq!(client.take_timeout(PATIENCE), Take::Block(block));
        client.finish(block, Ok(())).unwrap();
    }
    // The long one: nobody calls the client any more.
    assert_eq!(client.take(), Take::Block(3));
    assert_eq!(driver.hear(), WorkerMessage::Acquire { n: 1 });
    let mut ended = Vec::new();
    while ended.len() < 3 {
        ended.extend(released(driver.hear()));
    }
}

#[test]
fn waiting_blocks_are_taken_back_and_running_ones_are_not() {
    let listener = Listener::new();
    let (client, mut driver) = listener.welcome(listener.options(), setup());
    driver.grant(&[1, 2, 3, 4]);
    assert_eq!(client.take_timeout(PATIENCE), Take::Block(1));
    let blocks = BlockList(vec![1, 4, 3, 99]);
    driver.say(&DriverMessage::Retract { blocks });
    assert_eq!(driver.hear(), WorkerMessage::Acquire { n: 1 });
    let blocks = BlockList(vec![3, 4]);
    assert_eq!(driver.hear(), WorkerMessage::Returned { blocks });
    assert_eq!(client.take(), Take::Block(2));
    assert_eq!(client.take(), Take::Empty);
    assert_eq!(client.in_hand(), 2);
}

#[test]
fn a_block_that_wants_to_be_alone_is() {
    let listener = Listener::new();
    let task = TaskSetup {
        concurrency: 2,
        ..setup()
    };
    let (client, mut driver) = listener.welcome(listener.options(), task);
    let alone = DriverMessage::Grant {
        alone: true,
        blocks: BlockList(vec![2]),
    };
    driver.say_all(&[grant(&[1]), alone, grant(&[3])]);
    while client.in_hand() < 3 {
        std::thread::yield_now();
    }
    assert_eq!(client.take_timeout(PATIENCE), Take::Block(1));
    assert_eq!(client.take(), Take::Empty, "1 runs beside it");
    client.finish(1, Ok(())).unwrap();
    assert_eq!(client.take(), Take::Block(2));
    assert_eq!(client.take(), Take::Empty, "2 is alone");
    client.finish(2, Ok(())).unwrap();
    assert_eq!(client.take(), Take::Block(3));
    assert_eq!(driver.hear(), WorkerMessage::Acquire { n: 2 });
}

#[test]
fn a_shutdown_gives_back_what_waits_and_lets_finish_what_runs() {
    let listener = Listener::new();
    let (client, mut driver) = listener.welcome(listener.options(), setup());
    driver.grant(&[1, 2, 3]);
    assert_eq!(client.take_timeout(PATIENCE), Take::Block(1));
    let reason = ShutdownReason::Interrupted;
    driver.say(&DriverMessage::Shutdown { reason });
    assert_eq!(driver.hear(), WorkerMessage::Acquire { n: 1 });
    let blocks = BlockList(vec![2, 3]);
    assert_eq!(driver.hear(), WorkerMessage::Returned { blocks });
    // A grant that was on its way comes back too.
    driver.grant(&[4]);
    let blocks = BlockList(vec![4]);
    assert_eq!(driver.hear(), WorkerMessage::Returned { blocks });
    assert_eq!(client.take_timeout(PATIENCE), Take::NoMore);
    assert_eq!(client.end(), Some(End::Shutdown(reason)));
    client.finish(1, Ok(())).unwrap();
    assert_eq!(released(driver.hear()), [(1, Outcome::Done)]);
    let waiter = std::thread::spawn(move || driver.hear_out());
    client.close();
    assert_eq!(waiter.join().unwrap(), [WorkerMessage::Goodbye]);
    assert_eq!(client.end(), Some(End::Shutdown(reason)));
    assert_eq!(End::Shutdown(reason).exit_code(), 0);
}

#[test]
fn closing_in_the_middle_gives_back_and_says_goodbye_only_with_empty_hands() {
    let listener = Listener::new();
    for busy in [false, true] {
        let (client, mut driver) = listener.welcome(listener.options(), setup());
        driver.grant(&[1, 2]);
        assert_eq!(client.take_timeout(PATIENCE), Take::Block(1));
        if !busy {
            client.finish(1, Ok(())).unwrap();
        }
        let waiter = std::thread::spawn(move || driver.hear_out());
        client.close();
        assert_eq!(client.take(), Take::NoMore);
        let said = waiter.join().unwrap();
        let blocks = BlockList(vec![2]);
        let at = said.len() - 1 - usize::from(!busy);
        assert_eq!(said[at], WorkerMessage::Returned { blocks });
        let goodbye = said.last() == Some(&WorkerMessage::Goodbye);
        assert_eq!(goodbye, !busy);
    }
}

#[test]
fn errors_are_cut_to_a_length_that_travels() {
    let listener = Listener::new();
    let (client, mut driver) = listener.welcome(listener.options(), setup());
    driver.grant(&[1]);
    assert_eq!(client.take_timeout(PATIENCE), Take::Block(1));
    let error = ErrorReport {
        name: "Error".into(),
        message: "é".repeat(8 << 20),
        stack: Some("at ".repeat(4 << 20)),
        details: Some("{".repeat(4 << 20)),
    };
    client.finish(1, Err(error)).unwrap();
    assert_eq!(driver.hear(), WorkerMessage::Acquire { n: 1 });
    let results = released(driver.hear());
    let Outcome::Failed(error) = &results[0].1 else {
        panic!("{results:?}")
    };
    assert_eq!(error.name, "Error");
    assert!(error.message.len() <= 64 << 10);
    assert!(error.message.starts_with("éé") && error.message.ends_with("é [truncated]"));
    assert!(error.stack.as_ref().unwrap().ends_with("[truncated]"));
    assert_eq!(error.details, None);
}

#[test]
fn a_block_past_its_deadline_is_reported_and_the_embedder_told() {
    let listener = Listener::new();
    let (sender, told) = mpsc::channel();
    let mut options = listener.options();
    options.on_deadline = Some(Box::new(move |block, age| {
        sender.send((block, age)).unwrap();
    }));
    let task = TaskSetup {
        // Block 1 must be done well within it on a busy machine too.
        timeout_millis: 1_000,
        ..setup()
    };
    let (client, mut driver) = listener.welcome(options, task);
    driver.grant(&[1, 2]);
    assert_eq!(client.take_timeout(PATIENCE), Take::Block(1));
    client.finish(1, Ok(())).unwrap();
    assert_eq!(client.take(), Take::Block(2));
    let (block, age) = told.recv_timeout(PATIENCE).unwrap();
    assert_eq!(block, 2);
    assert!(age >= Duration::from_millis(1_000), "{age:?}");
    assert_eq!(driver.hear(), WorkerMessage::Acquire { n: 1 });
    let mut results = Vec::new();
    while results.len() < 2 {
        results.extend(released(driver.hear()));
    }
    assert_eq!(results, [(1, Outcome::Done), (2, Outcome::TimedOut)]);
}

#[test]
fn a_timeout_of_ages_never_comes() {
    let listener = Listener::new();
    let mut options = listener.options();
    options.on_deadline = Some(Box::new(|_, _| panic!("it came")));
    for timeout_millis in [30 * 24 * 3600 * 1000, (1 << 53) - 1, u64::MAX] {
        let task = TaskSetup {
            timeout_millis,
            ..setup()
        };
        let (client, mut driver) = listener.welcome(listener.options(), task);
        driver.grant(&[1]);
        assert_eq!(client.take_timeout(PATIENCE), Take::Block(1));
        client.finish(1, Ok(())).unwrap();
        assert_eq!(driver.hear(), WorkerMessage::Acquire { n: 1 });
        assert_eq!(released(driver.hear()), [(1, Outcome::Done)]);
    }
}

#[test]
fn heartbeats_name_what_runs_and_measure_the_way() {
    let listener = Listener::new();
    let (client, mut driver) = listener.welcome(listener.options(), setup());
    let WorkerMessage::Heartbeat { sent, running, .. } = driver.hear_any() else {
        panic!("no heartbeat")
    };
    assert_eq!(running, []);
    driver.grant(&[4]);
    assert_eq!(client.take_timeout(PATIENCE), Take::Block(4));
    driver.say(&DriverMessage::Pong {
        echo: sent,
        received: 0,
    });
    loop {
        match driver.hear_any() {
            WorkerMessage::Heartbeat {
                sent: next,
                round_trip,
                running,
            } => {
                assert!(next > sent);
                assert!(round_trip.is_some());
                assert_eq!(running.len(), 1);
                assert_eq!(running[0].0, 4);
                return;
            }
            WorkerMessage::Acquire { .. } => {}
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_wake_up_comes_when_an_empty_hand_gets_something() {
    let listener = Listener::new();
    let (sender, woken) = mpsc::channel();
    let mut options = listener.options();
    options.on_wake = Box::new(move || {
        let _ = sender.send(());
    });
    let (client, mut driver) = listener.welcome(options, setup());
    woken.recv_timeout(PATIENCE).expect("connected");
    while client.take() != Take::Empty {}
    driver.grant(&[1]);
    woken.recv_timeout(PATIENCE).expect("granted");
    assert_eq!(client.take(), Take::Block(1));
    client.finish(1, Ok(())).unwrap();
    assert_eq!(client.take(), Take::Empty);
    drop(driver);
    woken.recv_timeout(PATIENCE).expect("gone");
    assert_eq!(client.take(), Take::Lost);
}

#[test]
fn a_driver_that_goes_away_is_told_once() {
    let listener = Listener::new();
    let (sender, ended) = mpsc::channel();
    let mut options = listener.options();
    options.on_end = Some(Box::new(move |end| sender.send(end.clone()).unwrap()));
    let (client, mut driver) = listener.welcome(options, setup());
    driver.grant(&[1, 2]);
    assert_eq!(client.take_timeout(PATIENCE), Take::Block(1));
    drop(driver);
    let end = ended.recv_timeout(PATIENCE).unwrap();
    assert!(matches!(end, End::Gone(_)), "{end:?}");
    assert_eq!(end.exit_code(), 0);
    assert_eq!(client.take(), Take::Lost);
    client.finish(1, Ok(())).unwrap();
    assert!(!client.flush(Duration::from_millis(10)));
    client.close();
    drop(client);
    assert!(ended.recv_timeout(PATIENCE).is_err(), "and not again");
}

#[test]
fn a_driver_that_falls_silent_is_gone_after_five_seconds() {
    let listener = Listener::new();
    let (client, driver) = listener.welcome(listener.options(), setup());
    let began = std::time::Instant::now();
    assert_eq!(client.take_timeout(PATIENCE), Take::Lost);
    let waited = began.elapsed();
    assert!(waited >= Duration::from_millis(4_900), "{waited:?}");
    assert!(waited < Duration::from_secs(9), "{waited:?}");
    let Some(End::Gone(text)) = client.end() else {
        panic!("{:?}", client.end())
    };
    assert!(text.contains("nothing was heard"), "{text}");
    drop(driver);
}

#[test]
fn no_driver_at_all_is_one_that_is_gone() {
    let listener = Listener::new();
    let options = listener.options();
    drop(listener);
    let client = Client::connect(options).unwrap();
    let end = client.wait_connected(PATIENCE).unwrap().unwrap_err();
    assert!(matches!(end, End::Gone(_)), "{end:?}");
    assert!(end.message().contains("127.0.0.1:"), "{end:?}");
}

#[test]
fn a_loopback_address_of_another_machine_is_refused_with_advice() {
    let listener = Listener::new();
    let mut options = listener.options();
    options.machine = Some("another".into());
    let client = Client::connect(options).unwrap();
    let end = client.wait_connected(PATIENCE).unwrap().unwrap_err();
    assert!(matches!(end, End::OtherMachine(_)), "{end:?}");
    assert_eq!(end.exit_code(), 3);
    assert!(end.message().contains("host"), "{end:?}");
    let mut options = listener.options();
    options.machine = Some(bellis_net::own_machine());
    let client = Client::connect(options).unwrap();
    listener.accept();
    drop(client);
}

#[test]
fn another_build_is_named() {
    let listener = Listener::new();
    let client = Client::connect(listener.options()).unwrap();
    let (mut stream, _) = listener.listener.accept().unwrap();
    let other = Greeting {
        version: "9.9.9".into(),
        ..Greeting::own()
    };
    stream.write_all(&other.encode()).unwrap();
    let end = client.wait_connected(PATIENCE).unwrap().unwrap_err();
    let End::TurnedAway(text) = &end else {
        panic!("{end:?}")
    };
    assert!(text.contains("9.9.9"), "{text}");
    assert!(text.contains(env!("CARGO_PKG_VERSION")), "{text}");
}

#[test]
fn each_alert_is_worded() {
    for (alert, word) in [
        (Alert::OtherRun, "another run"),
        (Alert::TooMany, "connections"),
        (Alert::OtherBuild, "another build"),
    ] {
        let listener = Listener::new();
        let client = Client::connect(listener.options()).unwrap();
        let (mut stream, _) = listener.listener.accept().unwrap();
        stream.write_all(&Greeting::own().encode()).unwrap();
        stream.write_all(&alert.encode()).unwrap();
        let end = client.wait_connected(PATIENCE).unwrap().unwrap_err();
        let End::TurnedAway(text) = &end else {
            panic!("{end:?}")
        };
        assert!(text.contains(word), "{text}");
    }
}

#[test]
fn something_else_that_listens_is_no_driver() {
    let listener = Listener::new();
    let client = Client::connect(listener.options()).unwrap();
    let (mut stream, _) = listener.listener.accept().unwrap();
    stream
        .write_all(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
        .unwrap();
    let end = client.wait_connected(PATIENCE).unwrap().unwrap_err();
    assert!(matches!(end, End::TurnedAway(_)), "{end:?}");
}

#[test]
fn a_driver_without_the_secret_is_not_believed() {
    let listener = Listener::new();
    let client = Client::connect(listener.options()).unwrap();
    let (mut stream, _) = listener.listener.accept().unwrap();
    stream.write_all(&Greeting::own().encode()).unwrap();
    stream.write_all(&[0, 48]).unwrap();
    stream.write_all(&[5; 48]).unwrap();
    let end = client.wait_connected(PATIENCE).unwrap().unwrap_err();
    assert!(matches!(end, End::TurnedAway(_)), "{end:?}");
}

#[test]
fn garbage_from_a_driver_ends_the_client_and_nothing_else() {
    let listener = Listener::new();
    let (client, mut driver) = listener.welcome(listener.options(), setup());
    driver.stream.write_all(&[0, 40]).unwrap();
    driver.stream.write_all(&[7; 40]).unwrap();
    assert_eq!(client.take_timeout(PATIENCE), Take::Lost);
    let Some(End::Gone(text)) = client.end() else {
        panic!("{:?}", client.end())
    };
    assert!(text.contains("authentic"), "{text}");
}

#[test]
fn an_unknown_task_is_said_before_any_welcome() {
    let listener = Listener::new();
    let client = Client::connect(listener.options()).unwrap();
    let mut driver = listener.accept();
    driver.hear();
    let reason = ShutdownReason::UnknownTask;
    driver.say(&DriverMessage::Shutdown { reason });
    let end = client.wait_connected(PATIENCE).unwrap().unwrap_err();
    assert_eq!(end, End::Shutdown(reason));
    assert_eq!(client.take(), Take::NoMore);
}

#[test]
fn measurements_come_where_asked_for_and_the_innermost_counts() {
    let listener = Listener::new();
    let task = TaskSetup {
        resource_tracking: true,
        ..setup()
    };
    let (client, mut driver) = listener.welcome(listener.options(), task);
    driver.grant(&[1, 2]);
    assert_eq!(client.take_timeout(PATIENCE), Take::Block(1));
    client.finish(1, Ok(())).unwrap();
    assert_eq!(client.take(), Take::Block(2));
    client.profile_start(2).unwrap();
    client.profile_start(2).unwrap();
    client.profile_end(2).unwrap();
    // The inner one is over; time after it isn't counted any more.
    let began = std::time::Instant::now();
    while began.elapsed() < Duration::from_millis(50) {
        std::hint::spin_loop();
    }
    client.profile_end(2).unwrap();
    client.profile_end(2).unwrap();
    client.finish(2, Ok(())).unwrap();
    assert_eq!(driver.hear(), WorkerMessage::Acquire { n: 1 });
    let mut results = Vec::new();
    while results.len() < 2 {
        results.extend(released(driver.hear()));
    }
    for (block, outcome) in results {
        let Outcome::Measured(stats) = outcome else {
            panic!("{outcome:?}")
        };
        assert!(stats.wall_seconds < 0.05, "{block}: {stats:?}");
    }
    assert_eq!(client.profile_start(2), Err(NotInHand(2)));
}

#[test]
fn last_words_name_what_runs() {
    let listener = Listener::new();
    let (client, mut driver) = listener.welcome(listener.options(), setup());
    driver.grant(&[1, 2]);
    assert_eq!(client.take_timeout(PATIENCE), Take::Block(1));
    client.exiting(7);
    assert!(client.flush(PATIENCE));
    assert_eq!(driver.hear(), WorkerMessage::Acquire { n: 1 });
    let running = BlockList(vec![1]);
    assert_eq!(driver.hear(), WorkerMessage::Exiting { code: 7, running });
    client.give_back(1).unwrap();
    let blocks = BlockList(vec![1]);
    assert_eq!(driver.hear(), WorkerMessage::Returned { blocks });
}

#[test]
fn small_messages_leave_at_once() {
    // With Nagle's algorithm a second small message would wait for the acknowledgement of the first,
    // which the other side delays by 40 ms. The socket says it more surely than any clock.
    let listener = Listener::new();
    let (client, _driver) = listener.welcome(listener.options(), setup());
    assert!(client.has_no_delay());
}

#[test]
fn who_takes_no_block_for_a_while_hands_back_what_waits_and_asks_again_later() {
    let listener = Listener::new();
    let (client, mut driver) = listener.welcome(listener.options(), setup());
    assert_eq!(client.take(), Take::Empty);
    assert_eq!(driver.hear(), WorkerMessage::Acquire { n: 1 });
    driver.grant(&[1, 2, 3]);
    assert_eq!(client.take_timeout(PATIENCE), Take::Block(1));
    client.finish(1, Ok(())).unwrap();
    assert_eq!(released(driver.hear()), [(1, Outcome::Done)]);
    let blocks = BlockList(vec![2, 3]);
    assert_eq!(driver.hear(), WorkerMessage::Returned { blocks });
    assert_eq!(client.in_hand(), 0);
    // What was on its way meanwhile comes back as well.
    driver.grant(&[4]);
    let blocks = BlockList(vec![4]);
    assert_eq!(driver.hear(), WorkerMessage::Returned { blocks });
    assert_eq!(client.take(), Take::Empty);
    assert_eq!(driver.hear(), WorkerMessage::Acquire { n: 1 });
    driver.grant(&[5]);
    assert_eq!(client.take_timeout(PATIENCE), Take::Block(5));
}
