//! Greetings: no panic, and what is understood is what was said.
#![no_main]

use bellis_net::greeting::Greeting;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(Some((greeting, length))) = Greeting::decode(bytes) {
        assert_eq!(greeting.encode(), bytes[..length]);
        let _ = greeting.to_string();
    }
});
