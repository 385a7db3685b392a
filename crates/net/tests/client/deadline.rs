//! The end of a process whose block is stuck.

use std::process::{Command, Stdio};
use std::time::Duration;

use bellis_net::message::*;
use bellis_net::{Client, ClientOptions, Secret, Take, DEADLINE_EXIT_CODE};

use crate::driver::{setup, Listener, PATIENCE};

const PORT: &str = "BELLIS_TEST_PORT";

/// Not a test: the process that [`a_stuck_process_is_ended_with_its_own_code`] starts.
#[test]
#[ignore = "started by another test"]
fn a_worker_that_is_stuck() {
    struct Handler;
    impl Drop for Handler {
        fn drop(&mut self) {
            println!("an exit handler ran");
        }
    }
    let _handler = Handler;
    let port = std::env::var(PORT).unwrap().parse().unwrap();
    let client = Client::connect(ClientOptions {
        host: "127.0.0.1".into(),
        port,
        secret: Secret::from_bytes([3; 32]),
        machine: None,
        task_id: "task".into(),
        worker_id: None,
        on_wake: Box::new(|| {}),
        on_end: None,
        on_deadline: None,
        notes: None,
    })
    .unwrap();
    assert!(matches!(client.take_timeout(PATIENCE), Take::Block(_)));
    loop {
        std::hint::spin_loop();
    }
}

#[test]
fn a_stuck_process_is_ended_with_its_own_code() {
    let listener = Listener::new();
    let port = listener.listener.local_addr().unwrap().port();
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "deadline::a_worker_that_is_stuck"])
        .arg("--nocapture")
        .env(PORT, port.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut driver = listener.accept();
    assert!(matches!(driver.hear(), WorkerMessage::Hello(_)));
    driver.say(&DriverMessage::Welcome(Box::new(Welcome {
        worker: 0,
        token: ResumeToken([1; 16]),
        received: 0,
        task: Some(TaskSetup {
            timeout_millis: 40,
            ..setup()
        }),
    })));
    assert_eq!(driver.hear(), WorkerMessage::Acquire { n: 1 });
    driver.grant(&[12]);
    let WorkerMessage::Released { results } = driver.hear() else {
        panic!("it says why it ends")
    };
    assert_eq!(results.0[0].block, 12);
    assert_eq!(results.0[0].outcome, Outcome::TimedOut);
    let ran = results.0[0].ended - results.0[0].started;
    assert!(ran >= Duration::from_millis(40).as_nanos() as u64, "{ran}");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(DEADLINE_EXIT_CODE));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains("block at grid index 12 of task task"),
        "{said}"
    );
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(!said.contains("exit handler"), "{said}");
}
