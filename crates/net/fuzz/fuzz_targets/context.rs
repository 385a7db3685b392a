//! Contexts: no panic, and what is understood survives being written again.
#![no_main]

use bellis_net::WorkerContext;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(context) = WorkerContext::decode(text) {
        assert_eq!(WorkerContext::decode(&context.encode()), Ok(context));
    }
});
