//! The run in the driver: a thread of its own, reached by events and calls.

mod config;
mod convert;
mod event;
pub(crate) mod report;
