//! Difficulties that people met with schedulers of this kind, and what must happen instead.

mod borders;
mod chains;
mod orphans;
mod refusals;
mod regions;
mod scale;
mod skips;
mod tasks;
