//! A connection to another machine that breaks and comes back.

use bellis_net::message::*;
use bellis_net::{Client, End, Take};

use crate::driver::{setup, Driver, Listener, PATIENCE};

/// A welcome client that takes its driver for one on another machine.
fn remote(listener: &Listener) -> (Client, Driver) {
    let client = Client::connect_as_remote(listener.options()).unwrap();
    let mut driver = listener.accept();
    assert!(matches!(driver.hear(), WorkerMessage::Hello(_)));
    driver.say(&welcome(0, Some(setup())));
    (client, driver)
}

fn welcome(received: u64, task: Option<TaskSetup>) -> DriverMessage {
    DriverMessage::Welcome(Box::new(Welcome {
        worker: 5,
        token: ResumeToken([6; 16]),
        received,
        task,
    }))
}

fn released(message: WorkerMessage) -> Vec<u64> {
    match message {
        WorkerMessage::Released { results } => {
            results.0.iter().map(|result| result.block).collect()
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_was_sent_and_may_be_lost_is_sent_again_and_nothing_else() {
    let listener = Listener::new();
    let (client, mut driver) = remote(&listener);
    driver.grant(&[1]);
    assert_eq!(client.take_timeout(PATIENCE), Take::Block(1));
    client.finish(1, Ok(())).unwrap();
    assert_eq!(driver.hear(), WorkerMessage::Acquire { n: 1 });
    assert_eq!(released(driver.hear()), [1]);
    driver.grant(&[2]);
    assert_eq!(client.take_timeout(PATIENCE), Take::Block(2));
    client.finish(2, Ok(())).unwrap();
    assert_eq!(released(driver.hear()), [2]);
    driver.grant(&[3, 4]);
    assert_eq!(client.take_timeout(PATIENCE), Take::Block(3));
    drop(driver);

    let mut driver = listener.accept();
    let WorkerMessage::Resume(resume) = driver.hear() else {
        panic!("it was here before")
    };
    assert_eq!(resume.token, ResumeToken([6; 16]));
    assert_eq!(resume.held.0, [1, 2, 3, 4]);
    // Nothing is said before the welcome, whatever happens.
    client.finish(3, Ok(())).unwrap();
    assert_eq!(client.take(), Take::Block(4));
    driver.say(&welcome(1, None));
    assert_eq!(released(driver.hear()), [2]);
    assert_eq!(released(driver.hear()), [3]);
    assert_eq!(driver.hear(), WorkerMessage::Acquire { n: 1 });
    client.finish(4, Ok(())).unwrap();
    assert_eq!(released(driver.hear()), [4]);
    assert!(client.is_connected());
}

#[test]
fn acknowledged_results_are_forgotten() {
    let listener = Listener::new();
    let (client, mut driver) = remote(&listener);
    driver.grant(&[1]);
    assert_eq!(client.take_timeout(PATIENCE), Take::Block(1));
    client.finish(1, Ok(())).unwrap();
    assert_eq!(driver.hear(), WorkerMessage::Acquire { n: 1 });
    assert_eq!(released(driver.hear()), [1]);
    let (echo, received) = (0, 1);
    driver.say(&DriverMessage::Pong { echo, received });
    // Two messages in order: when the second has been taken in, so has the first.
    driver.grant(&[2]);
    assert_eq!(client.take_timeout(PATIENCE), Take::Block(2));
    drop(driver);
    let mut driver = listener.accept();
    let WorkerMessage::Resume(resume) = driver.hear() else {
        panic!("it was here before")
    };
    assert_eq!(resume.held.0, [2]);
}

#[test]
fn a_worker_that_comes_back_too_late_is_sent_home() {
    let listener = Listener::new();
    let (client, driver) = remote(&listener);
    assert!(client.wait_connected(PATIENCE).unwrap().is_ok());
    drop(driver);
    let mut driver = listener.accept();
    assert!(matches!(driver.hear(), WorkerMessage::Resume(_)));
    let reason = ShutdownReason::Forgotten;
    driver.say(&DriverMessage::Shutdown { reason });
    assert_eq!(client.take_timeout(PATIENCE), Take::NoMore);
    assert_eq!(client.end(), Some(End::Shutdown(reason)));
}

#[test]
fn a_driver_that_has_gone_is_given_up_after_the_window() {
    let listener = Listener::new();
    let (client, driver) = remote(&listener);
    assert!(client.wait_connected(PATIENCE).unwrap().is_ok());
    drop(listener);
    drop(driver);
    let began = std::time::Instant::now();
    assert_eq!(client.take_timeout(PATIENCE), Take::Lost);
    assert!(began.elapsed().as_secs() >= 3, "it tried");
    assert!(matches!(client.end(), Some(End::Gone(_))));
}
