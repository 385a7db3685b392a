//! The grid and the scheduler against a naive model that stores every block and every edge.

mod agreement;
mod eager;
mod generate;
mod histories;
mod naive_scheduler;
mod naive_tasks;
mod neighbour_sums;
