//! The run as a reactor: what it answers to what it is told, action by action.

mod deaths;
mod ends;
mod grants;
mod graphs;
mod prefetching;
mod stage;
mod starting;
