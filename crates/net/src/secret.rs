//! The secret of a run: whoever has it may work for it.

use std::fmt;

/// 32 random bytes, fresh for each run. Never shown; compared only inside the handshake.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret([u8; 32]);

impl Secret {
    /// From the system's random numbers.
    ///
    /// # Errors
    /// The system has none to give.
    pub fn random() -> std::io::Result<Secret> {
        let mut bytes = [0; 32];
        fill_random(&mut bytes)?;
        Ok(Secret(bytes))
    }

    /// From known bytes.
    pub const fn from_bytes(bytes: [u8; 32]) -> Secret {
        Secret(bytes)
    }

    /// From 64 hexadecimal digits of either case; `None` for anything else.
    pub fn from_hex(text: &str) -> Option<Secret> {
        let digits = text.as_bytes();
        if digits.len() != 64 {
            return None;
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = hex_digit(pair[0])? << 4 | hex_digit(pair[1])?;
        }
        Some(Secret(bytes))
    }

    /// 64 lower-case hexadecimal digits: for a child's environment or a file that nobody else may
    /// read, and for nothing else.
    pub fn to_hex(&self) -> String {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut text = String::with_capacity(64);
        for byte in self.0 {
            text.push(DIGITS[usize::from(byte >> 4)] as char);
            text.push(DIGITS[usize::from(byte & 15)] as char);
        }
        text
    }

    pub(crate) fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

fn hex_digit(digit: u8) -> Option<u8> {
    (digit as char).to_digit(16).map(|value| value as u8)
}

pub(crate) fn fill_random(bytes: &mut [u8]) -> std::io::Result<()> {
    getrandom::fill(bytes).map_err(|error| std::io::Error::other(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hex_goes_there_and_back() {
        let secret = Secret::random().unwrap();
        assert_eq!(Secret::from_hex(&secret.to_hex()).as_ref(), Some(&secret));
        assert_eq!(
            Secret::from_hex(&secret.to_hex().to_uppercase()),
            Some(secret)
        );
        for bad in ["", "00", &"g".repeat(64), &"é".repeat(32), &"0".repeat(65)] {
            assert_eq!(Secret::from_hex(bad), None);
        }
    }

    #[test]
    fn it_is_never_printed() {
        assert_eq!(format!("{:?}", Secret::from_bytes([7; 32])), "Secret(..)");
    }
}
