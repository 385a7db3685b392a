//! The bytes of one frame: no panic, and what is understood survives being said again.
#![no_main]

use bellis_net::codec::{decode, encode};
use bellis_net::message::{DriverMessage, WorkerMessage};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(message) = decode::<WorkerMessage>(bytes) {
        let mut once = Vec::new();
        encode(&message, usize::MAX, &mut once).unwrap();
        let again: WorkerMessage = decode(&once[4..]).unwrap();
        let mut twice = Vec::new();
        encode(&again, usize::MAX, &mut twice).unwrap();
        // Bytes and not messages are compared: NaN differs from itself.
        assert_eq!(once, twice);
    }
    if let Ok(message) = decode::<DriverMessage>(bytes) {
        let mut once = Vec::new();
        encode(&message, usize::MAX, &mut once).unwrap();
        let again: DriverMessage = decode(&once[4..]).unwrap();
        assert_eq!(message, again);
    }
});
