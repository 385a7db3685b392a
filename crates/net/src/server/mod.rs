//! The driver's side of the wire: one thread that owns the run, the sockets and the stores, and asks
//! the program around it for the rare things that need it.

mod address;
mod commands;
mod host;

pub use self::address::{bind, BindError, Bound};
pub use self::commands::{Command, Commands};
pub use self::host::{Ended, Host, Keeper, Notice, StrangerReason};
