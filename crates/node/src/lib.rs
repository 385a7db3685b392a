//! The Node addon: thin bindings over the other crates.
//!
//! Two kinds of calls cross. *Hot calls* are free functions without arguments: they read and write
//! the thread's `shared_buffer` and return one number. All other calls return an envelope
//! (see `error`), which `src/native.ts` unwraps.

// napi's macros want `pub` items, though nobody links against this crate.
#![allow(unreachable_pub)]

mod background;
mod client;
mod dto;
mod error;
mod geometry;
mod graph;
mod handles;
mod panics;
mod run;
mod scheduler;
mod shared_buffer;
mod store_plan;
mod tracking;

use napi_derive::napi;

/// The version of the package this binary was built for.
#[napi(catch_unwind)]
pub fn native_version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}
