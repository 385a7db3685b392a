//! The stream of plain bytes inside the encrypted one: what a peer that has the secret may send.
#![no_main]

use bellis_net::codec::{seal, FrameReader};
use bellis_net::message::WorkerMessage;
use bellis_net::noise::Handshake;
use bellis_net::Secret;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let secret = Secret::from_bytes([5; 32]);
    let mut worker = Handshake::with_fixed_key(&secret, b"", true, &[1; 32]).unwrap();
    let mut driver = Handshake::with_fixed_key(&secret, b"", false, &[2; 32]).unwrap();
    driver.read(&worker.write().unwrap()).unwrap();
    worker.read(&driver.write().unwrap()).unwrap();
    let (mut sealer, _) = worker.finish().unwrap();
    let (_, opener) = driver.finish().unwrap();
    let mut reader = FrameReader::new(opener, 1 << 16);
    // Cut where the first byte says, so that frames span messages and share them.
    let size = bytes.first().map_or(1, |&first| usize::from(first) + 1);
    for part in bytes.chunks(size) {
        let mut wire = Vec::new();
        seal(&mut sealer, part, &mut wire).unwrap();
        reader.feed(&wire);
        loop {
            match reader.next_message::<WorkerMessage>() {
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(_) => return,
            }
        }
        assert!(reader.held_bytes() <= (1 << 16) + 4 + 256);
    }
});
