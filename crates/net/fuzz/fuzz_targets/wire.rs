//! Everything that a stranger may send: greeting, handshake, encrypted messages. Nothing of it may
//! be taken for a message.
#![no_main]

use bellis_net::codec::FrameReader;
use bellis_net::greeting::Greeting;
use bellis_net::message::WorkerMessage;
use bellis_net::noise::{Handshake, HANDSHAKE_MESSAGE};
use bellis_net::Secret;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let secret = Secret::from_bytes([5; 32]);
    let Ok(Some((theirs, length))) = Greeting::decode(bytes) else {
        return;
    };
    let rest = &bytes[length..];
    let prologue = [theirs.encode(), Greeting::own().encode()].concat();
    if let Some(message) = rest.get(..HANDSHAKE_MESSAGE) {
        let mut driver = Handshake::driver(&secret, &prologue).unwrap();
        assert!(driver.read(message).is_err());
    }
    // As if the handshake had been overheard and its channel were being guessed.
    let mut worker = Handshake::with_fixed_key(&secret, b"", true, &[1; 32]).unwrap();
    let mut driver = Handshake::with_fixed_key(&secret, b"", false, &[2; 32]).unwrap();
    driver.read(&worker.write().unwrap()).unwrap();
    worker.read(&driver.write().unwrap()).unwrap();
    let (_, opener) = driver.finish().unwrap();
    let mut reader = FrameReader::new(opener, 1 << 16);
    reader.feed(rest);
    assert!(!matches!(reader.next_message::<WorkerMessage>(), Ok(Some(_))));
});
