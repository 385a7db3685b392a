//! What a lock file says about its owner.

use serde::{Deserialize, Serialize};

use crate::error::LockHolder;
use crate::host::Identity;

/// The content of a lock file and of a claim, as JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct LockRecord {
    pub(super) owner: String,
    host: String,
    boot_id: Option<String>,
    pid_namespace: Option<String>,
    pid: u32,
    start_time: Option<u64>,
    since: f64,
}

impl LockRecord {
    /// The record of a process that takes the lock now, in seconds since 1970.
    pub(super) fn new(owner: String, identity: &Identity, since: f64) -> Self {
        Self {
            owner,
            host: identity.host.clone(),
            boot_id: identity.boot_id.clone(),
            pid_namespace: identity.pid_namespace.clone(),
            pid: identity.pid,
            start_time: identity.start_time,
            since,
        }
    }

    pub(super) fn identity(&self) -> Identity {
        Identity {
            host: self.host.clone(),
            boot_id: self.boot_id.clone(),
            pid_namespace: self.pid_namespace.clone(),
            pid: self.pid,
            start_time: self.start_time,
        }
    }

    pub(super) fn holder(&self) -> LockHolder {
        LockHolder {
            host: self.host.clone(),
            pid: self.pid,
            since: self.since,
        }
    }
}
