//! The wire: frames, encryption, the server loop and the client.
#![forbid(unsafe_code)]

mod block_list;
mod client;
pub mod codec;
mod context;
pub mod greeting;
mod machine;
pub mod message;
pub mod noise;
mod notes;
mod secret;
mod secret_file;
mod server;
mod socket;

pub use client::{
    Client, ClientOptions, End, Measurement, Meter, NotInHand, OnDeadline, OnEnd, Take,
    DEADLINE_EXIT_CODE,
};
pub use context::{ContextError, SecretSource, WorkerContext, CONTEXT_VARIABLE};
pub use machine::{host_name, own_machine};
pub use notes::{SharedWords, NOTE_WORDS};
pub use secret::Secret;
pub use secret_file::{read_secret_file, write_secret_file};
pub use server::{
    bind, BindError, Bound, Command, Commands, Ended, Host, Keeper, Notice, ServeError, Server,
    ServerOptions, StrangerReason,
};
