//! Random histories of a run: workers that throw, die, hang, lie, vanish and come back, launchers
//! that fail, interrupts, jumps of time; with everything that must hold checked after every event.
//!
//! `BELLIS_SIM_HISTORIES` sets how many (2,000 without), `BELLIS_SIM_SEED` repeats a single one and
//! prints what happens in it. A history that fails prints its seed.

mod clients;
mod dice;
mod model;
mod plan;
mod processes;
mod world;

use std::panic::catch_unwind;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn whatever_happens_the_run_keeps_its_word() {
    if let Some(seed) = number("BELLIS_SIM_SEED") {
        world::play(seed, true);
        return;
    }
    let histories = number("BELLIS_SIM_HISTORIES").unwrap_or(2_000);
    let first = number("BELLIS_SIM_FIRST").unwrap_or(1);
    let next = AtomicU64::new(first);
    let events = AtomicU64::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let failed: Vec<u64> = std::thread::scope(|scope| {
        let hands: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| loop {
                    let seed = next.fetch_add(1, Relaxed);
                    if seed >= first + histories {
                        return None;
                    }
                    match catch_unwind(|| world::play(seed, false)) {
                        Ok(told) => events.fetch_add(told, Relaxed),
                        Err(_) => return Some(seed),
                    };
                })
            })
            .collect();
        hands
            .into_iter()
            .filter_map(|hand| hand.join().expect("caught"))
            .collect()
    });
    assert!(
        failed.is_empty(),
        "histories {failed:?} failed; repeat one with BELLIS_SIM_SEED={} cargo test -p bellis-core \
         --test simulator",
        failed[0]
    );
    println!("{histories} histories, {} events", events.into_inner());
}
