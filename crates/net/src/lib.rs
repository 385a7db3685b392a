//! The wire: frames, encryption, the server loop and the client.
#![forbid(unsafe_code)]

mod block_list;
pub mod codec;
pub mod greeting;
pub mod message;
pub mod noise;
mod secret;

pub use secret::Secret;
