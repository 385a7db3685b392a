//! What the fuzzers have found so far, without a fuzzer: every input of `fuzz/corpus` is read again.

use std::path::Path;

use bellis_net::codec::{decode, encode};
use bellis_net::greeting::Greeting;
use bellis_net::message::{DriverMessage, WorkerMessage};
use bellis_net::WorkerContext;

fn corpus(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus");
    let inputs: Vec<_> = std::fs::read_dir(folder.join(target))
        .unwrap()
        .map(|entry| std::fs::read(entry.unwrap().path()).unwrap())
        .collect();
    assert!(!inputs.is_empty());
    inputs
}

/// What is understood survives being said again. Bytes are compared, because NaN differs from itself.
fn survives<M: serde::Serialize + serde::de::DeserializeOwned>(bytes: &[u8]) {
    if let Ok(message) = decode::<M>(bytes) {
        let (mut once, mut twice) = (Vec::new(), Vec::new());
        encode(&message, usize::MAX, &mut once).unwrap();
        encode(&decode::<M>(&once[4..]).unwrap(), usize::MAX, &mut twice).unwrap();
        assert_eq!(once, twice);
    }
}

#[test]
fn messages() {
    for bytes in corpus("messages") {
        survives::<WorkerMessage>(&bytes);
        survives::<DriverMessage>(&bytes);
    }
}

#[test]
fn greetings() {
    for bytes in corpus("greeting").into_iter().chain(corpus("wire")) {
        if let Ok(Some((greeting, length))) = Greeting::decode(&bytes) {
            assert_eq!(greeting.encode(), bytes[..length]);
        }
    }
}

#[test]
fn contexts() {
    for bytes in corpus("context") {
        let text = String::from_utf8_lossy(&bytes);
        if let Ok(context) = WorkerContext::decode(&text) {
            assert_eq!(WorkerContext::decode(&context.encode()), Ok(context));
        }
    }
}
