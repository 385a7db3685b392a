//! The run in the driver: a thread of its own, reached by events and calls.

mod build;
mod calls;
mod config;
mod convert;
mod event;
mod host;
pub(crate) mod notes_folder;
mod notice;
pub(crate) mod report;
mod secret_folder;
mod serial;
mod start;

use std::time::{SystemTime, UNIX_EPOCH};

/// The time of day, in UNIX seconds.
fn unix_seconds() -> f64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0.0, |since| since.as_secs_f64())
}
