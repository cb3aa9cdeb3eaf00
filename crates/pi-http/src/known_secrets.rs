//! Removes credentials from text of a service. Some services repeat the key, the token or the headers of a request in
//! their errors, which are shown, logged and stored with the session.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;

const REPLACEMENT: &str = "[redacted]";

/// Shorter values are not credentials, and replacing them would damage ordinary text.
const MIN_SECRET_LENGTH: usize = 8;

/// Credentials to remove. The forms in which text may contain them are computed for a text, because few requests fail.
#[derive(Clone, Default)]
pub struct KnownSecrets(Vec<String>);

impl fmt::Debug for KnownSecrets {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_tuple("KnownSecrets")
            .field(&self.0.len())
            .finish()
    }
}

impl KnownSecrets {
    pub fn new(values: impl IntoIterator<Item = String>) -> Self {
        let mut secrets = Self::default();
        secrets.extend(values);
        secrets
    }

    pub fn extend(&mut self, values: impl IntoIterator<Item = String>) {
        for value in values {
            if value.len() >= MIN_SECRET_LENGTH && !self.0.contains(&value) {
                self.0.push(value);
            }
        }
    }

    /// Replaces every occurrence of a credential.
    pub fn redact(&self, text: String) -> String {
        let mut forms: Vec<String> = self.0.iter().flat_map(|value| encodings(value)).collect();
        // Longer forms first, so that a secret that contains another is replaced completely.
        pi_protocol::sort_by(&mut forms, |one, other| {
            other.len().cmp(&one.len()).then_with(|| one.cmp(other))
        });
        forms.dedup();
        forms.iter().fold(text, |text, form| {
            if text.contains(form.as_str()) {
                text.replace(form.as_str(), REPLACEMENT)
            } else {
                text
            }
        })
    }
}

/// Returns a secret as it is, and as JSON, URLs and Base64 contain it.
fn encodings(secret: &str) -> Vec<String> {
    let escaped = json_escaped(secret);
    // Some services escape slashes in JSON, too.
    let mut forms = vec![escaped.replace('/', "\\/"), escaped, secret.to_owned()];
    for unreserved in ["-_.~", "-_.*", ""] {
        forms.push(percent_encoded(secret, unreserved, |byte| {
            format!("%{byte:02X}")
        }));
        forms.push(percent_encoded(secret, unreserved, |byte| {
            format!("%{byte:02x}")
        }));
    }
    for offset in 0..3 {
        let encoded = base64_part(secret, offset);
        if encoded.len() >= MIN_SECRET_LENGTH {
            forms.push(encoded.replace('+', "-").replace('/', "_"));
            forms.push(encoded);
        }
    }
    forms
}

fn json_escaped(secret: &str) -> String {
    let quoted = pi_protocol::json::to_string(secret).unwrap_or_default();
    let inner = quoted
        .strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'));
    inner.unwrap_or(secret).to_owned()
}

/// Encodes everything except letters, digits and `unreserved`, on which encoders differ.
fn percent_encoded(secret: &str, unreserved: &str, encode: fn(u8) -> String) -> String {
    secret
        .bytes()
        .map(|byte| match char::from(byte) {
            letter if letter.is_ascii_alphanumeric() || unreserved.contains(letter) => {
                letter.to_string()
            }
            _ => encode(byte),
        })
        .collect()
}

/// Returns the Base64 letters that depend only on the secret, if `offset` bytes precede it in a group of three. In
/// `Basic` authentication a user name precedes it.
fn base64_part(secret: &str, offset: usize) -> String {
    let mut bytes = vec![0; offset];
    bytes.extend_from_slice(secret.as_bytes());
    let encoded = STANDARD_NO_PAD.encode(&bytes);
    // A letter has six bits.
    let (start, end) = ((offset * 8).div_ceil(6), bytes.len() * 8 / 6);
    encoded.get(start..end).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::{STANDARD, URL_SAFE};
    use proptest::prelude::*;

    use super::*;

    const KEY: &str = "sk-very/secret+key\"=1";

    #[test]
    fn a_key_is_removed_in_every_encoding() {
        let secrets = KnownSecrets::new([KEY.to_owned()]);
        let encoded = |text: &str| STANDARD.encode(text);
        for echo in [
            KEY.to_owned(),
            serde_json::json!({"error": {"key": KEY}}).to_string(),
            format!(
                "https://a/?key={}",
                url::form_urlencoded::byte_serialize(KEY.as_bytes()).collect::<String>()
            ),
            KEY.replace('/', "%2f")
                .replace('+', "%2b")
                .replace('"', "%22")
                .replace('=', "%3d"),
            KEY.replace('"', "\\\"").replace('/', "\\/"),
            encoded(KEY),
            encoded(&format!("user:{KEY}")),
            encoded(&format!("me:{KEY} and more")),
            URL_SAFE.encode(format!(":{KEY}")),
        ] {
            let redacted = secrets.redact(format!("Invalid key {echo}."));
            assert!(redacted.contains("[redacted]"), "{echo}: {redacted}");
            for part in [KEY, "secret", "very"] {
                assert!(!redacted.contains(part), "{echo}: {redacted}");
            }
        }
        assert_eq!(secrets.redact("429 slow down".to_owned()), "429 slow down");
    }

    #[test]
    fn short_values_are_kept() {
        let secrets = KnownSecrets::new(["none".to_owned(), "abcdefgh".to_owned()]);
        assert_eq!(
            secrets.redact("none Bearer abcdefgh".to_owned()),
            "none Bearer [redacted]"
        );
        assert!(!format!("{secrets:?}").contains("abcdefgh"));
    }

    proptest! {
        #[test]
        fn base64_never_reveals_a_key(before in ".{0,9}", key in "[!-~]{12,40}", after in ".{0,9}") {
            let secrets = KnownSecrets::new([key.clone()]);
            let text = STANDARD.encode(format!("{before}{key}{after}"));
            let redacted = secrets.redact(text);
            prop_assert!(redacted.contains("[redacted]"), "{}", redacted);
        }
    }
}
