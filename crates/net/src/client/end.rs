//! How a client's work ends.

use crate::message::ShutdownReason;

/// Why there are no more blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// The driver sent the worker home.
    Shutdown(ShutdownReason),
    /// There is no driver (any more): refused, closed or silent.
    Gone(String),
    /// The driver doesn't want this peer, or this peer doesn't trust the driver.
    TurnedAway(String),
    /// The driver's address is a loopback one and means another machine.
    OtherMachine(String),
    /// The driver can't be reached for a reason that isn't its absence.
    Unreachable(String),
    /// The client was closed on this side.
    Closed,
}

impl End {
    /// The code with which a worker process should end for this reason.
    pub fn exit_code(&self) -> i32 {
        match self {
            End::Shutdown(_) | End::Gone(_) | End::Closed => 0,
            End::OtherMachine(_) => 3,
            End::TurnedAway(_) | End::Unreachable(_) => 1,
        }
    }

    /// In words.
    pub fn message(&self) -> &str {
        match self {
            End::Shutdown(reason) => match reason {
                ShutdownReason::TaskFinished => "nothing is left to do for the task",
                ShutdownReason::RunFinished => "the run is over",
                ShutdownReason::Idle => "others do what is left of the task",
                ShutdownReason::ResourcesNeeded => "another task needs the resources",
                ShutdownReason::BlockFailed => "a block failed",
                ShutdownReason::Interrupted => "the run was interrupted",
                ShutdownReason::RunStopped => "the run was stopped",
                ShutdownReason::Forgotten => "the driver has given this worker up",
                ShutdownReason::UnknownTask => "the run has no such task",
            },
            End::Gone(text)
            | End::TurnedAway(text)
            | End::OtherMachine(text)
            | End::Unreachable(text) => text,
            End::Closed => "the client was closed",
        }
    }
}
