//! Removes keys, tokens and passwords from text that leaves the machine.
//!
//! Known secrets are replaced wherever they occur (collected in `redaction/known.rs`). Text that is
//! shared is also searched for patterns (`redaction/shapes.rs`). Exports for the user's own use
//! skip the patterns, so their text stays intact.

mod known;
mod names;
mod shapes;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

pub use known::{environment_secrets, secrets_in_use, stored_secrets};

/// Replacement for a secret.
const REPLACEMENT: &str = "[redacted]";

/// Shorter values are not credentials, and replacing them would damage ordinary text.
const MIN_SECRET_LENGTH: usize = 8;

/// Longer runs without a break are images and similar data; keys occur in text.
const MAX_KEY_LENGTH: usize = 16 * 1024;

/// Replaces secrets and counts the replacements.
#[derive(Debug, Clone, Default)]
pub struct Redactor {
    secrets: Vec<SecretString>,
    by_shape: bool,
    /// Shared between clones, since an export uses several of them.
    replaced: Arc<AtomicUsize>,
}

impl Redactor {
    /// Replaces these secrets; values that are too short are ignored.
    pub fn new(secrets: impl IntoIterator<Item = SecretString>) -> Self {
        let mut secrets: Vec<_> = secrets
            .into_iter()
            .filter(|secret| secret.expose_secret().len() >= MIN_SECRET_LENGTH)
            .collect();
        // Longer secrets first, so that a secret containing another is replaced completely.
        pi_protocol::sort_by(&mut secrets, |one, other| {
            let (one, other) = (one.expose_secret(), other.expose_secret());
            other.len().cmp(&one.len()).then_with(|| one.cmp(other))
        });
        secrets.dedup_by(|one, other| one.expose_secret() == other.expose_secret());
        Self {
            secrets,
            ..Self::default()
        }
    }

    /// Combines the secrets of both.
    #[must_use]
    pub fn merge(self, other: Self) -> Self {
        let by_shape = self.by_shape || other.by_shape;
        let secrets = self.secrets.into_iter().chain(other.secrets);
        Self {
            by_shape,
            ..Self::new(secrets)
        }
    }

    /// Also replaces everything that looks like a key, token or password.
    #[must_use]
    pub fn with_pattern_detection(mut self) -> Self {
        self.by_shape = true;
        self
    }

    /// Returns the number of secrets replaced so far, including by clones.
    pub fn replaced(&self) -> usize {
        self.replaced.load(Ordering::Relaxed)
    }

    pub fn redact<'text>(&self, text: &'text str) -> Cow<'text, str> {
        let mut redacted_text = Cow::Borrowed(text);
        for secret in &self.secrets {
            let secret = secret.expose_secret();
            let found = redacted_text.matches(secret).count();
            if found > 0 {
                self.count(found);
                redacted_text = Cow::Owned(redacted_text.replace(secret, REPLACEMENT));
            }
        }
        if self.by_shape && !is_encoded(&redacted_text) {
            let (shaped, found) = shapes::redact(redacted_text);
            self.count(found);
            return shaped;
        }
        redacted_text
    }

    /// Replaces the secrets in the strings of a JSON text. Invalid JSON is redacted as text.
    pub fn redact_json(&self, json: &mut Vec<u8>) {
        if !self.may_occur_in(json) {
            return;
        }
        // Only parsed strings distinguish a secret from part of an escape sequence.
        let Ok(mut value) = serde_json::from_slice(json) else {
            if let Cow::Owned(redacted_text) = self.redact(&String::from_utf8_lossy(json)) {
                *json = redacted_text.into_bytes();
            }
            return;
        };
        self.redact_value(&mut value);
        *json = pi_protocol::json::value_to_string(&value).into_bytes();
    }

    pub fn redact_lines(&self, lines: Vec<u8>) -> Vec<u8> {
        if !self.may_occur_in(&lines) {
            return lines;
        }
        let mut redacted_text = Vec::with_capacity(lines.len());
        for line in lines.split_inclusive(|byte| *byte == b'\n') {
            let mut line = line.strip_suffix(b"\n").unwrap_or(line).to_vec();
            self.redact_json(&mut line);
            redacted_text.append(&mut line);
            redacted_text.push(b'\n');
        }
        redacted_text
    }

    /// Replaces the secrets in a JSON value. Its depth is bounded by the JSON parser.
    pub fn redact_value(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Cow::Owned(redacted_text) = self.redact(text) {
                    *text = redacted_text;
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.redact_value(item)),
            Value::Object(fields) => {
                for (mut name, mut value) in std::mem::take(fields) {
                    if let Cow::Owned(redacted_text) = self.redact(&name) {
                        name = redacted_text;
                    }
                    self.redact_field(&name, &mut value);
                    fields.insert(name, value);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Replaces the complete value of a field whose name indicates a secret.
    fn redact_field(&self, name: &str, value: &mut Value) {
        if let Value::String(text) = value
            && self.by_shape
            && text != REPLACEMENT
            && names::holds_secret(name, text)
        {
            self.count(1);
            REPLACEMENT.clone_into(text);
        } else {
            self.redact_value(value);
        }
    }

    fn may_occur_in(&self, json: &[u8]) -> bool {
        if self.by_shape {
            return true;
        }
        let text = String::from_utf8_lossy(json);
        self.secrets.iter().any(|secret| {
            let escaped = Value::from(secret.expose_secret()).to_string();
            let inner = escaped.strip_prefix('"').unwrap_or(&escaped);
            text.contains(inner.strip_suffix('"').unwrap_or(inner))
        })
    }

    fn count(&self, found: usize) {
        self.replaced.fetch_add(found, Ordering::Relaxed);
    }
}

/// Returns whether a text is encoded data, in which random matches are likely.
fn is_encoded(text: &str) -> bool {
    text.len() > MAX_KEY_LENGTH
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte))
}
