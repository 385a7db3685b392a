//! Geometry, block grid, dependencies, scheduler and the run as a state machine: no I/O, no clock, no threads.
