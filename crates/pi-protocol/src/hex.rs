//! Bytes as text.

use std::fmt::Write as _;

/// Returns bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    let mut digits = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        // Writing to a string never fails.
        write!(digits, "{byte:02x}").ok();
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_two_digits() {
        assert_eq!(hex(&[0, 10, 255]), "000aff");
    }
}
