//! The golden vectors of `__test__/vectors`, line by line.

mod chained;
mod geometry;
mod schedule;
mod vectors;
