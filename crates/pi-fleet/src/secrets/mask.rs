//! Hides secrets in bytes that leave the machine. Offsets and lengths stay the same: logs refer to offsets in sessions.

/// Shorter values are no credentials, and hiding them would damage other text.
const MIN_BYTES: usize = 8;

#[derive(Debug, Clone, Default)]
pub(crate) struct SecretMask {
    /// Values as they are and as JSON escapes them; the longest first, since one may contain another.
    patterns: Vec<Vec<u8>>,
}

impl SecretMask {
    pub(crate) fn new<'a>(values: impl Iterator<Item = &'a str>) -> Self {
        let mut patterns = Vec::new();
        for value in values.filter(|value| value.len() >= MIN_BYTES) {
            let escaped = serde_json::Value::from(value).to_string();
            let escaped = escaped.strip_prefix('"').unwrap_or(&escaped);
            let escaped = escaped.strip_suffix('"').unwrap_or(escaped);
            patterns.push(escaped.as_bytes().to_vec());
            patterns.push(value.as_bytes().to_vec());
            // Commands print several lines one by one.
            let lines = value.lines().filter(|line| line.len() >= MIN_BYTES);
            patterns.extend(lines.map(|line| line.as_bytes().to_vec()));
        }
        patterns.sort_by(|one, other| other.len().cmp(&one.len()).then_with(|| one.cmp(other)));
        patterns.dedup();
        Self { patterns }
    }

    /// Replaces every secret by as many `*`.
    pub(crate) fn apply(&self, mut bytes: Vec<u8>) -> Vec<u8> {
        for pattern in &self.patterns {
            let mut start = 0;
            while let Some(found) = find(bytes.get(start..).unwrap_or_default(), pattern) {
                let begin = start + found;
                start = begin + pattern.len();
                if let Some(secret) = bytes.get_mut(begin..start) {
                    secret.fill(b'*');
                }
            }
        }
        bytes
    }

    pub(crate) fn apply_to_text(&self, text: &str) -> String {
        String::from_utf8_lossy(&self.apply(text.as_bytes().to_vec())).into_owned()
    }
}

fn find(bytes: &[u8], pattern: &[u8]) -> Option<usize> {
    memchr::memmem::find(bytes, pattern)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn secrets_are_hidden_and_nothing_moves() {
        let values = [
            "secret-value",
            "secret-value-2",
            "with \"quotes\"",
            "short",
            "line one\nline two",
        ];
        let mask = SecretMask::new(values.into_iter());
        for (text, expected) in [
            ("a secret-value b", "a ************ b"),
            ("secret-value-2!", "**************!"),
            (r#"{"x":"with \"quotes\""}"#, r#"{"x":"***************"}"#),
            ("with \"quotes\"", "*************"),
            ("short", "short"),
            ("line one", "********"),
            (r"line one\nline two", "******************"),
            ("", ""),
        ] {
            let hidden = mask.apply_to_text(text);
            assert_eq!(hidden, expected);
            assert_eq!(hidden.len(), text.len());
        }
    }
}
