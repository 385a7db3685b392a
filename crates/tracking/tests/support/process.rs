//! A process that stands for a run which is killed at some point: alive for others until then.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;

use bellis_tracking::Identity;

#[derive(Debug)]
pub struct Process {
    child: Mutex<Child>,
    identity: Identity,
}

impl Process {
    pub fn start() -> Self {
        // Waits for its input, which ends with this process at the latest.
        let child = Command::new("cat")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let pid = child.id();
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        // Field 22, counted from behind the name in parentheses, which may hold anything.
        let after_name = &stat[stat.rfind(')').unwrap() + 1..];
        let start_time = after_name.split_ascii_whitespace().nth(19).unwrap();
        Self {
            child: Mutex::new(child),
            identity: Identity {
                pid,
                start_time: Some(start_time.parse().unwrap()),
                ..Identity::current()
            },
        }
    }

    pub fn identity(&self) -> Identity {
        self.identity.clone()
    }

    pub fn kill(&self) {
        let mut child = self.child.lock().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}
