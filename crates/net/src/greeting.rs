//! The first bytes of a connection, in the clear, so that another build is told what is wrong
//! instead of seeing noise. Both greetings together are the prologue of the handshake, so nobody can
//! change them on the way.

use std::fmt;
use std::sync::OnceLock;

use sha2::{Digest, Sha256};

/// What a connection begins with. The line ends catch transports that change text.
pub const MAGIC: [u8; 8] = *b"bellis\r\n";

/// Version of greeting, handshake and framing.
pub const PROTOCOL: u16 = 1;

/// Most bytes of a package version in a greeting.
pub const MAX_VERSION: usize = 32;

/// Bytes of a greeting before the package version.
const FIXED: usize = MAGIC.len() + 2 + 8 + 1;

/// Most bytes of a greeting.
pub const MAX_GREETING: usize = FIXED + MAX_VERSION;

/// Which build a peer is.
///
/// On the wire: [`MAGIC`], protocol version (u16, big-endian), schema (8 bytes), length of the
/// package version (u8), package version (ASCII).
#[derive(Clone, PartialEq, Eq)]
pub struct Greeting {
    /// Version of greeting, handshake and framing.
    pub protocol: u16,
    /// First 8 bytes of the SHA-256 of the message schema.
    pub schema: [u8; 8],
    /// Version of the package; empty for a client that isn't part of it.
    pub version: String,
}

/// What is wrong with the beginning of a connection.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GreetingError {
    /// These aren't the first bytes of a peer of ours.
    #[error("the other side doesn't speak this protocol")]
    NotOurs,
    /// The version is too long or has characters that no version has.
    #[error("the other side sent a greeting with an impossible version")]
    BadVersion,
}

impl Greeting {
    /// This build.
    pub fn own() -> Greeting {
        Greeting {
            protocol: PROTOCOL,
            schema: schema_id(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }

    /// As bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(FIXED + self.version.len());
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&self.protocol.to_be_bytes());
        bytes.extend_from_slice(&self.schema);
        bytes.push(self.version.len() as u8);
        bytes.extend_from_slice(self.version.as_bytes());
        bytes
    }

    /// From the bytes that have arrived: the greeting and its length, or `None` while more is needed.
    ///
    /// # Errors
    /// As soon as the bytes can't become a greeting any more.
    pub fn decode(bytes: &[u8]) -> Result<Option<(Greeting, usize)>, GreetingError> {
        let known = bytes.len().min(MAGIC.len());
        if bytes[..known] != MAGIC[..known] {
            return Err(GreetingError::NotOurs);
        }
        let Some(&length) = bytes.get(FIXED - 1) else {
            return Ok(None);
        };
        let length = usize::from(length);
        if length > MAX_VERSION {
            return Err(GreetingError::BadVersion);
        }
        let Some(version) = bytes.get(FIXED..FIXED + length) else {
            return Ok(None);
        };
        if !version.iter().all(u8::is_ascii_graphic) {
            return Err(GreetingError::BadVersion);
        }
        let mut schema = [0; 8];
        schema.copy_from_slice(&bytes[10..18]);
        let greeting = Greeting {
            protocol: u16::from_be_bytes([bytes[8], bytes[9]]),
            schema,
            version: String::from_utf8_lossy(version).into_owned(),
        };
        Ok(Some((greeting, FIXED + length)))
    }

    /// Whether two builds may work together: protocol and schema are equal, and so are the package
    /// versions unless one has none.
    pub fn agrees_with(&self, other: &Greeting) -> bool {
        self.protocol == other.protocol
            && self.schema == other.schema
            && (self.version == other.version
                || self.version.is_empty()
                || other.version.is_empty())
    }
}

impl fmt::Display for Greeting {
    /// As in `0.1.0 (protocol 1, messages 0123456789abcdef)`.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let version = if self.version.is_empty() {
            "a foreign client"
        } else {
            &self.version
        };
        write!(f, "{version} (protocol {}, messages ", self.protocol)?;
        for byte in self.schema {
            write!(f, "{byte:02x}")?;
        }
        f.write_str(")")
    }
}

impl fmt::Debug for Greeting {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The message schema, as it is hashed (with `\n` line ends).
pub const SCHEMA: &str = include_str!("schema.txt");

fn schema_id() -> [u8; 8] {
    static ID: OnceLock<[u8; 8]> = OnceLock::new();
    *ID.get_or_init(|| {
        let mut hash = Sha256::new();
        // A checkout may have other line ends; the schema is the same.
        for part in SCHEMA.split('\r') {
            hash.update(part.as_bytes());
        }
        let mut id = [0; 8];
        id.copy_from_slice(&hash.finalize()[..8]);
        id
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn builds_agree_when_protocol_schema_and_version_do() {
        let own = Greeting::own();
        assert!(own.agrees_with(&own));
        for (change, agrees) in [
            (
                Greeting {
                    protocol: 2,
                    ..own.clone()
                },
                false,
            ),
            (
                Greeting {
                    schema: [0; 8],
                    ..own.clone()
                },
                false,
            ),
            (
                Greeting {
                    version: "9.9.9".into(),
                    ..own.clone()
                },
                false,
            ),
            (
                Greeting {
                    version: String::new(),
                    ..own.clone()
                },
                true,
            ),
        ] {
            assert_eq!(own.agrees_with(&change), agrees, "{change}");
            assert_eq!(change.agrees_with(&own), agrees, "{change}");
        }
    }

    proptest! {
        #[test]
        fn a_greeting_survives_any_split(
            protocol: u16,
            schema: [u8; 8],
            version in "[!-~]{0,32}",
            rest in proptest::collection::vec(any::<u8>(), 0..20),
        ) {
            let greeting = Greeting { protocol, schema, version };
            let mut bytes = greeting.encode();
            let length = bytes.len();
            for cut in 0..length {
                prop_assert_eq!(Greeting::decode(&bytes[..cut]), Ok(None));
            }
            bytes.extend(rest);
            prop_assert_eq!(Greeting::decode(&bytes), Ok(Some((greeting, length))));
        }

        #[test]
        fn garbage_is_no_greeting(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            if !bytes.starts_with(&MAGIC[..bytes.len().min(8)]) {
                prop_assert_eq!(Greeting::decode(&bytes), Err(GreetingError::NotOurs));
            }
        }

        #[test]
        fn garbage_after_the_magic_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            let mut all = MAGIC.to_vec();
            all.extend(bytes);
            let _ = Greeting::decode(&all);
        }
    }
}
