//! Framing. A frame is a length (u32, little-endian) and that many bytes, one postcard message.
//! Frames follow each other in a stream of plain bytes, which is cut into Noise messages as it comes:
//! several frames may share one, and a frame may span several. On the wire each Noise message has its
//! length before it (u16, big-endian); the length 0 is followed by one byte, an [`Alert`], in the
//! clear, and ends the connection.

use serde::de::DeserializeOwned;
use serde::Serialize;

use crate::noise::{Opener, Sealer, MAX_MESSAGE, TAG};

/// Most bytes of a frame that a driver takes from a worker.
pub const MAX_WORKER_FRAME: usize = 4 << 20;

/// Most bytes of a frame that a worker takes from its driver.
pub const MAX_DRIVER_FRAME: usize = 64 << 20;

const MAX_PLAIN: usize = MAX_MESSAGE - TAG;
const FRAME_HEADER: usize = 4;

/// Why a peer is turned away before it can be told in private. Nobody vouches for it: it is good for
/// a hint and for nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alert {
    /// The peer's build doesn't fit. Its own look at our greeting tells it how.
    OtherBuild,
    /// The peer hasn't got the secret of this run.
    OtherRun,
    /// As many peers as allowed are connected.
    TooMany,
}

impl Alert {
    /// As sent.
    pub fn encode(self) -> [u8; 3] {
        let code = match self {
            Alert::OtherBuild => 1,
            Alert::OtherRun => 2,
            Alert::TooMany => 3,
        };
        [0, 0, code]
    }

    /// From the byte after the zero length.
    pub fn from_code(code: u8) -> Option<Alert> {
        match code {
            1 => Some(Alert::OtherBuild),
            2 => Some(Alert::OtherRun),
            3 => Some(Alert::TooMany),
            _ => None,
        }
    }
}

/// What is wrong with what a peer sent. Its connection is of no use afterwards.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// A Noise message too short for its tag and a byte.
    #[error("a message is too short")]
    TooShort,
    /// Not encrypted by the peer for this place in the stream.
    #[error("a message isn't authentic")]
    NotAuthentic,
    /// A frame of this many bytes.
    #[error("a frame of {0} bytes is longer than allowed")]
    TooLong(u64),
    /// No message of ours.
    #[error("a frame holds no message that is known")]
    Unknown,
    /// The other side gave up in the clear.
    #[error("the other side turned this one away")]
    Alert(Option<Alert>),
}

/// Takes in bytes and gives out frames.
pub struct FrameReader {
    opener: Opener,
    most: usize,
    sealed: Buffer,
    plain: Buffer,
}

impl FrameReader {
    /// For frames of at most `most` bytes.
    pub fn new(opener: Opener, most: usize) -> FrameReader {
        FrameReader {
            opener,
            most,
            sealed: Buffer::default(),
            plain: Buffer::default(),
        }
    }

    /// Bytes have arrived.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.sealed.extend(bytes);
    }

    /// The next whole message, if there is one.
    ///
    /// # Errors
    /// The peer broke the rules.
    pub fn next_message<M: DeserializeOwned>(&mut self) -> Result<Option<M>, FrameError> {
        loop {
            if let Some(length) = self.frame_length()? {
                if let Some(frame) = self.plain.bytes().get(FRAME_HEADER..FRAME_HEADER + length) {
                    let message = decode(frame)?;
                    self.plain.consume(FRAME_HEADER + length);
                    return Ok(Some(message));
                }
            }
            if !self.open_next()? {
                return Ok(None);
            }
        }
    }

    /// Bytes of memory that wait for more.
    pub fn held_bytes(&self) -> usize {
        self.sealed.bytes().len() + self.plain.bytes().len()
    }

    fn frame_length(&self) -> Result<Option<usize>, FrameError> {
        let Some(header) = self.plain.bytes().first_chunk::<FRAME_HEADER>() else {
            return Ok(None);
        };
        let length = u32::from_le_bytes(*header);
        match usize::try_from(length) {
            Ok(length) if length <= self.most => Ok(Some(length)),
            _ => Err(FrameError::TooLong(length.into())),
        }
    }

    /// Decrypts one message; false while none is complete.
    fn open_next(&mut self) -> Result<bool, FrameError> {
        let bytes = self.sealed.bytes();
        let Some(&[high, low]) = bytes.first_chunk::<2>() else {
            return Ok(false);
        };
        let length = usize::from(u16::from_be_bytes([high, low]));
        if length == 0 {
            return match bytes.get(2) {
                Some(&code) => Err(FrameError::Alert(Alert::from_code(code))),
                None => Ok(false),
            };
        }
        if length <= TAG {
            return Err(FrameError::TooShort);
        }
        let Some(message) = bytes.get(2..2 + length) else {
            return Ok(false);
        };
        let opener = &mut self.opener;
        let room = self.plain.room(length - TAG);
        let opened = opener
            .open(message, room)
            .map_err(|_| FrameError::NotAuthentic)?;
        self.plain.added(opened);
        self.sealed.consume(2 + length);
        Ok(true)
    }
}

/// One message from the bytes of one frame.
///
/// # Errors
/// It is none, or bytes are left over.
pub fn decode<M: DeserializeOwned>(frame: &[u8]) -> Result<M, FrameError> {
    match postcard::take_from_bytes(frame) {
        Ok((message, [])) => Ok(message),
        _ => Err(FrameError::Unknown),
    }
}

/// Appends one frame with a message to a stream of plain bytes.
///
/// # Errors
/// It would have more than `most` bytes, which the peer wouldn't take; `plain` is as it was.
pub fn encode<M: Serialize>(
    message: &M,
    most: usize,
    plain: &mut Vec<u8>,
) -> Result<(), FrameError> {
    let start = plain.len();
    plain.extend_from_slice(&[0; FRAME_HEADER]);
    let written = postcard::serialize_with_flavor(message, Append(plain));
    let length = plain.len() - start - FRAME_HEADER;
    match u32::try_from(length) {
        Ok(header) if length <= most && written.is_ok() => {
            plain[start..start + FRAME_HEADER].copy_from_slice(&header.to_le_bytes());
            Ok(())
        }
        _ => {
            plain.truncate(start);
            Err(FrameError::TooLong(length as u64))
        }
    }
}

/// Encrypts a stream of plain bytes into `out`, as it goes onto the wire.
///
/// # Errors
/// More than 2^64 messages were sent.
pub fn seal(sealer: &mut Sealer, plain: &[u8], out: &mut Vec<u8>) -> Result<(), FrameError> {
    for part in plain.chunks(MAX_PLAIN) {
        let start = out.len();
        let length = part.len() + TAG;
        out.extend_from_slice(&(length as u16).to_be_bytes());
        out.resize(start + 2 + length, 0);
        sealer
            .seal(part, &mut out[start + 2..])
            .map_err(|_| FrameError::NotAuthentic)?;
    }
    Ok(())
}

/// Postcard output onto the end of a vector.
struct Append<'a>(&'a mut Vec<u8>);

impl postcard::ser_flavors::Flavor for Append<'_> {
    type Output = ();
    fn try_push(&mut self, byte: u8) -> postcard::Result<()> {
        self.0.push(byte);
        Ok(())
    }
    fn try_extend(&mut self, bytes: &[u8]) -> postcard::Result<()> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }
    fn finalize(self) -> postcard::Result<()> {
        Ok(())
    }
}

/// Bytes that come in at the end and go out at the front.
#[derive(Default)]
struct Buffer {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
}

/// Memory that an emptied buffer keeps.
const KEPT: usize = 16 << 10;

impl Buffer {
    fn bytes(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    fn extend(&mut self, bytes: &[u8]) {
        self.room(bytes.len())[..bytes.len()].copy_from_slice(bytes);
        self.added(bytes.len());
    }

    /// At least `length` bytes to write to, behind the last one.
    fn room(&mut self, length: usize) -> &mut [u8] {
        if self.end + length > self.bytes.len() {
            self.bytes.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
            if self.end + length > self.bytes.len() {
                self.bytes.resize(self.end + length, 0);
            }
        }
        &mut self.bytes[self.end..]
    }

    fn added(&mut self, length: usize) {
        self.end += length;
    }

    fn consume(&mut self, length: usize) {
        self.start += length;
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
            if self.bytes.len() > KEPT {
                self.bytes.truncate(KEPT);
                self.bytes.shrink_to_fit();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::tests::channel;
    use proptest::prelude::*;

    fn sealed(frames: &[Vec<u8>]) -> (Vec<u8>, FrameReader) {
        let ((mut sealer, _), (_, opener)) = channel();
        let mut plain = Vec::new();
        for frame in frames {
            encode(frame, usize::MAX, &mut plain).unwrap();
        }
        let mut wire = Vec::new();
        seal(&mut sealer, &plain, &mut wire).unwrap();
        (wire, FrameReader::new(opener, 1 << 20))
    }

    #[test]
    fn a_frame_spans_messages() {
        let frames = vec![vec![1; 200_000], vec![], vec![2; 3]];
        let (wire, mut reader) = sealed(&frames);
        for part in wire.chunks(1000) {
            reader.feed(part);
        }
        for frame in &frames {
            assert_eq!(
                reader.next_message::<Vec<u8>>().unwrap().as_ref(),
                Some(frame)
            );
        }
        assert_eq!(reader.next_message::<Vec<u8>>(), Ok(None));
        assert_eq!(reader.held_bytes(), 0);
    }

    #[test]
    fn long_frames_are_refused_by_their_length() {
        let ((mut sealer, _), (_, opener)) = channel();
        let mut reader = FrameReader::new(opener, 100);
        let mut wire = Vec::new();
        seal(&mut sealer, &101u32.to_le_bytes(), &mut wire).unwrap();
        reader.feed(&wire);
        assert_eq!(reader.next_message::<u8>(), Err(FrameError::TooLong(101)));
        let mut plain = vec![9];
        assert_eq!(
            encode(&vec![0u8; 100], 100, &mut plain),
            Err(FrameError::TooLong(101))
        );
        assert_eq!(plain, [9]);
    }

    #[test]
    fn empty_messages_and_leftover_bytes_are_refused() {
        let ((mut sealer, _), (_, opener)) = channel();
        let mut reader = FrameReader::new(opener, 100);
        let mut message = [0; 18];
        sealer.seal(&[], &mut message[2..]).unwrap();
        message[1] = 16;
        reader.feed(&message);
        assert_eq!(reader.next_message::<u8>(), Err(FrameError::TooShort));
        assert_eq!(decode::<u8>(&[1, 2]), Err(FrameError::Unknown));
    }

    #[test]
    fn an_alert_is_told_apart() {
        for alert in [Alert::OtherBuild, Alert::OtherRun, Alert::TooMany] {
            let (_, (_, opener)) = channel();
            let mut reader = FrameReader::new(opener, 100);
            let bytes = alert.encode();
            reader.feed(&bytes[..2]);
            assert_eq!(reader.next_message::<u8>(), Ok(None));
            reader.feed(&bytes[2..]);
            assert_eq!(
                reader.next_message::<u8>(),
                Err(FrameError::Alert(Some(alert)))
            );
        }
    }

    proptest! {
        // Each case costs a handshake.
        #![proptest_config(ProptestConfig::with_cases(40))]

        #[test]
        fn frames_survive_any_cut(
            frames in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..300), 0..20),
            cuts in proptest::collection::vec(1usize..200, 1..20),
        ) {
            let (wire, mut reader) = sealed(&frames);
            let mut rest = &wire[..];
            let mut got = Vec::new();
            let mut cuts = cuts.iter().cycle();
            while !rest.is_empty() {
                let (part, after) = rest.split_at(rest.len().min(*cuts.next().unwrap()));
                reader.feed(part);
                rest = after;
                while let Some(frame) = reader.next_message::<Vec<u8>>().unwrap() {
                    got.push(frame);
                }
            }
            prop_assert_eq!(got, frames);
        }

        #[test]
        fn garbage_ends_the_stream(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
            let (_, (_, opener)) = channel();
            let mut reader = FrameReader::new(opener, 1000);
            reader.feed(&bytes);
            prop_assert!(!matches!(reader.next_message::<Vec<u8>>(), Ok(Some(_))));
        }

        #[test]
        fn one_changed_bit_is_noticed(frame in proptest::collection::vec(any::<u8>(), 1..100), at: prop::sample::Index, bit in 0u8..8) {
            let (mut wire, mut reader) = sealed(&[frame]);
            let at = 2 + at.index(wire.len() - 2);
            wire[at] ^= 1 << bit;
            reader.feed(&wire);
            prop_assert_eq!(reader.next_message::<Vec<u8>>(), Err(FrameError::NotAuthentic));
        }
    }
}
