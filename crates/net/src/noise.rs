//! The encrypted channel: `Noise_NNpsk0_25519_ChaChaPoly_BLAKE2s` with the run's secret as the
//! pre-shared key. Sans I/O: bytes in, bytes out.

use std::sync::Arc;

use snow::{Builder, HandshakeState, StatelessTransportState};

use crate::secret::Secret;

const PATTERN: &str = "Noise_NNpsk0_25519_ChaChaPoly_BLAKE2s";

/// Bytes of each of the two handshake messages: an ephemeral key and the tag of an empty payload.
pub const HANDSHAKE_MESSAGE: usize = 32 + TAG;

/// Bytes that encryption adds to a message.
pub const TAG: usize = 16;

/// Most bytes of an encrypted message.
pub const MAX_MESSAGE: usize = 65_535;

/// The peer hasn't got the secret of this run, or somebody changed what it sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the message isn't authentic")]
pub struct NotAuthentic;

/// One side of a handshake.
pub struct Handshake(HandshakeState);

impl Handshake {
    /// The worker's side, which writes first.
    ///
    /// # Errors
    /// The system has no random numbers to give.
    pub fn worker(secret: &Secret, prologue: &[u8]) -> Result<Handshake, NotAuthentic> {
        Handshake::new(secret, prologue, true, None)
    }

    /// The driver's side.
    ///
    /// # Errors
    /// The system has no random numbers to give.
    pub fn driver(secret: &Secret, prologue: &[u8]) -> Result<Handshake, NotAuthentic> {
        Handshake::new(secret, prologue, false, None)
    }

    /// With a known ephemeral key, for golden frames.
    #[doc(hidden)]
    pub fn with_fixed_key(
        secret: &Secret,
        prologue: &[u8],
        worker: bool,
        key: &[u8; 32],
    ) -> Result<Handshake, NotAuthentic> {
        Handshake::new(secret, prologue, worker, Some(key))
    }

    fn new(
        secret: &Secret,
        prologue: &[u8],
        worker: bool,
        fixed: Option<&[u8; 32]>,
    ) -> Result<Handshake, NotAuthentic> {
        let build = || {
            let mut builder = Builder::new(PATTERN.parse()?)
                .psk(0, secret.bytes())?
                .prologue(prologue)?;
            if let Some(key) = fixed {
                builder = builder.fixed_ephemeral_key_for_testing_only(key);
            }
            if worker {
                builder.build_initiator()
            } else {
                builder.build_responder()
            }
        };
        build()
            .map(Handshake)
            .map_err(|_: snow::Error| NotAuthentic)
    }

    /// Our message.
    ///
    /// # Errors
    /// It isn't our turn.
    pub fn write(&mut self) -> Result<[u8; HANDSHAKE_MESSAGE], NotAuthentic> {
        let mut message = [0; HANDSHAKE_MESSAGE];
        match self.0.write_message(&[], &mut message) {
            Ok(HANDSHAKE_MESSAGE) => Ok(message),
            _ => Err(NotAuthentic),
        }
    }

    /// The peer's message.
    ///
    /// # Errors
    /// It has another secret or another prologue, or it is no handshake message at all.
    pub fn read(&mut self, message: &[u8]) -> Result<(), NotAuthentic> {
        let mut payload = [0; MAX_HANDSHAKE_PAYLOAD];
        match self.0.read_message(message, &mut payload) {
            Ok(0) => Ok(()),
            _ => Err(NotAuthentic),
        }
    }

    /// The two directions of the channel, after one message each way.
    ///
    /// # Errors
    /// The handshake isn't over.
    pub fn finish(self) -> Result<(Sealer, Opener), NotAuthentic> {
        let state = self
            .0
            .into_stateless_transport_mode()
            .map_err(|_| NotAuthentic)?;
        let state = Arc::new(state);
        let sealer = Sealer {
            state: Arc::clone(&state),
            nonce: 0,
        };
        Ok((sealer, Opener { state, nonce: 0 }))
    }
}

const MAX_HANDSHAKE_PAYLOAD: usize = 16;

/// Encrypts what we send.
pub struct Sealer {
    state: Arc<StatelessTransportState>,
    nonce: u64,
}

impl Sealer {
    /// Encrypts one message into the front of `out`; gives its length.
    ///
    /// # Errors
    /// `plain` is longer than `MAX_MESSAGE - TAG`, `out` is too short, or 2^64 messages were sent.
    pub fn seal(&mut self, plain: &[u8], out: &mut [u8]) -> Result<usize, NotAuthentic> {
        let length = self
            .state
            .write_message(self.nonce, plain, out)
            .map_err(|_| NotAuthentic)?;
        self.nonce = self.nonce.checked_add(1).ok_or(NotAuthentic)?;
        Ok(length)
    }
}

/// Decrypts what we receive, in order.
pub struct Opener {
    state: Arc<StatelessTransportState>,
    nonce: u64,
}

impl Opener {
    /// Decrypts one message into the front of `out`; gives its length.
    ///
    /// # Errors
    /// The message was changed, repeated, left out or made up. The channel is of no use afterwards.
    pub fn open(&mut self, message: &[u8], out: &mut [u8]) -> Result<usize, NotAuthentic> {
        let length = self
            .state
            .read_message(self.nonce, message, out)
            .map_err(|_| NotAuthentic)?;
        self.nonce = self.nonce.checked_add(1).ok_or(NotAuthentic)?;
        Ok(length)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    pub(crate) fn channel() -> ((Sealer, Opener), (Sealer, Opener)) {
        let secret = Secret::from_bytes([5; 32]);
        let mut worker = Handshake::worker(&secret, b"hello").unwrap();
        let mut driver = Handshake::driver(&secret, b"hello").unwrap();
        driver.read(&worker.write().unwrap()).unwrap();
        worker.read(&driver.write().unwrap()).unwrap();
        (worker.finish().unwrap(), driver.finish().unwrap())
    }

    #[test]
    fn another_secret_or_prologue_is_refused() {
        let secret = Secret::from_bytes([5; 32]);
        let mut worker = Handshake::worker(&secret, b"hello").unwrap();
        let message = worker.write().unwrap();
        let other = Secret::from_bytes([6; 32]);
        assert!(Handshake::driver(&other, b"hello")
            .unwrap()
            .read(&message)
            .is_err());
        assert!(Handshake::driver(&secret, b"hullo")
            .unwrap()
            .read(&message)
            .is_err());
        assert!(Handshake::driver(&secret, b"hello")
            .unwrap()
            .read(&message)
            .is_ok());
    }

    #[test]
    fn repeated_changed_reordered_and_left_out_messages_are_refused() {
        let ((mut sealer, _), (_, mut opener)) = channel();
        let mut sealed = Vec::new();
        for text in [b"one", b"two", b"six"] {
            let mut message = [0; 64];
            let length = sealer.seal(text, &mut message).unwrap();
            sealed.push(message[..length].to_vec());
        }
        let mut plain = [0; 64];
        assert!(opener.open(&sealed[1], &mut plain).is_err(), "left out");
        assert_eq!(opener.open(&sealed[0], &mut plain), Ok(3));
        assert_eq!(&plain[..3], b"one");
        assert!(opener.open(&sealed[0], &mut plain).is_err(), "repeated");
        assert!(opener.open(&sealed[2], &mut plain).is_err(), "reordered");
        let mut changed = sealed[1].clone();
        changed[0] ^= 1;
        assert!(opener.open(&changed, &mut plain).is_err(), "changed");
        assert_eq!(opener.open(&sealed[1], &mut plain), Ok(3));
    }
    /// A pair in which the driver has read the worker's message, and its answer.
    fn met(secret: &Secret) -> (Handshake, [u8; HANDSHAKE_MESSAGE]) {
        let mut worker = Handshake::worker(secret, b"hello").unwrap();
        let mut driver = Handshake::driver(secret, b"hello").unwrap();
        driver.read(&worker.write().unwrap()).unwrap();
        let answer = driver.write().unwrap();
        (worker, answer)
    }

    proptest! {
        // Curves are slow without optimisation.
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn garbage_is_no_handshake(bytes in vec(any::<u8>(), 0..200)) {
            let secret = Secret::from_bytes([5; 32]);
            prop_assert!(Handshake::driver(&secret, b"hello").unwrap().read(&bytes).is_err());
            let (mut worker, _) = met(&secret);
            prop_assert!(worker.read(&bytes).is_err());
        }

        #[test]
        fn either_message_changed_anywhere_or_cut_is_refused(
            key: [u8; 32],
            at in 0..HANDSHAKE_MESSAGE,
            change in 1..=u8::MAX,
        ) {
            let secret = Secret::from_bytes(key);
            let (mut worker, mut answer) = met(&secret);
            let mut first = Handshake::worker(&secret, b"hello").unwrap().write().unwrap();
            let driver = || Handshake::driver(&secret, b"hello").unwrap();
            prop_assert!(driver().read(&first[..at]).is_err());
            // The key's last bit means nothing on this curve, but is authenticated all the same.
            first[at] ^= change;
            prop_assert!(driver().read(&first).is_err());
            answer[at] ^= change;
            prop_assert!(worker.read(&answer).is_err());
        }
    }
}
