//! What never leaves the machine: keys, tokens and passwords.
//!
//! Secrets that are known are replaced wherever they occur (`redaction/known.rs` gathers them). What
//! is passed on to others is searched by the look of a text as well (`redaction/shapes.rs`). An export
//! for the user's own keeping does without that: it says what was said.

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

/// What stands in place of a secret.
const MARK: &str = "[redacted]";

/// Shorter values are no credentials, and replacing them would tear ordinary text.
const SHORTEST_SECRET: usize = 8;

/// Longer runs without any break are pictures and the like: keys are found in text.
const LONGEST_KEY: usize = 16 * 1024;

/// What is replaced, and how often that has happened.
#[derive(Debug, Clone, Default)]
pub struct Redactor {
    secrets: Vec<SecretString>,
    by_shape: bool,
    /// Clones count together: an export is written by several hands.
    replaced: Arc<AtomicUsize>,
}

impl Redactor {
    /// Replaces these secrets; values too short to be one are passed over.
    pub fn new(secrets: impl IntoIterator<Item = SecretString>) -> Self {
        let mut secrets: Vec<_> = secrets
            .into_iter()
            .filter(|secret| secret.expose_secret().len() >= SHORTEST_SECRET)
            .collect();
        // A secret that contains another goes first, so that no rest of it stays.
        secrets.sort_by(|one, other| {
            let (one, other) = (one.expose_secret(), other.expose_secret());
            other.len().cmp(&one.len()).then_with(|| one.cmp(other))
        });
        secrets.dedup_by(|one, other| one.expose_secret() == other.expose_secret());
        Self {
            secrets,
            ..Self::default()
        }
    }

    /// Replaces also what another one replaces.
    #[must_use]
    pub fn merge(self, other: Self) -> Self {
        let by_shape = self.by_shape || other.by_shape;
        let secrets = self.secrets.into_iter().chain(other.secrets);
        Self {
            by_shape,
            ..Self::new(secrets)
        }
    }

    /// Replaces also whatever looks like a key, a token or a password.
    #[must_use]
    pub fn with_pattern_detection(mut self) -> Self {
        self.by_shape = true;
        self
    }

    /// Returns how many secrets have been replaced so far, by clones too.
    pub fn replaced(&self) -> usize {
        self.replaced.load(Ordering::Relaxed)
    }

    /// Replaces the secrets in a text.
    pub fn redact<'text>(&self, text: &'text str) -> Cow<'text, str> {
        let mut redacted_text = Cow::Borrowed(text);
        for secret in &self.secrets {
            let secret = secret.expose_secret();
            let found = redacted_text.matches(secret).count();
            if found > 0 {
                self.count(found);
                redacted_text = Cow::Owned(redacted_text.replace(secret, MARK));
            }
        }
        if self.by_shape && !is_encoded(&redacted_text) {
            let (shaped, found) = shapes::redact(redacted_text);
            self.count(found);
            return shaped;
        }
        redacted_text
    }

    /// Replaces the secrets in the strings of a JSON text. What is no JSON is cleaned as text.
    pub fn redact_json(&self, json: &mut Vec<u8>) {
        if !self.may_occur_in(json) {
            return;
        }
        // Only the parsed strings tell a secret from a piece of an escape.
        let Ok(mut value) = serde_json::from_slice(json) else {
            if let Cow::Owned(redacted_text) = self.redact(&String::from_utf8_lossy(json)) {
                *json = redacted_text.into_bytes();
            }
            return;
        };
        self.redact_value(&mut value);
        *json = pi_ai::json::value_to_string(&value).into_bytes();
    }

    /// Replaces the secrets in JSON lines.
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

    /// Replaces the secrets in a JSON value. Its depth is bounded by what the JSON parser accepts.
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

    /// Replaces a field as a whole where its name says that it holds a secret.
    fn redact_field(&self, name: &str, value: &mut Value) {
        if let Value::String(text) = value
            && self.by_shape
            && text != MARK
            && names::holds_secret(name, text)
        {
            self.count(1);
            MARK.clone_into(text);
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
            let spelled = Value::from(secret.expose_secret()).to_string();
            let inner = spelled.strip_prefix('"').unwrap_or(&spelled);
            text.contains(inner.strip_suffix('"').unwrap_or(inner))
        })
    }

    fn count(&self, found: usize) {
        self.replaced.fetch_add(found, Ordering::Relaxed);
    }
}

/// Returns whether a text is encoded data, in which a few letters may look like anything.
fn is_encoded(text: &str) -> bool {
    text.len() > LONGEST_KEY
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte))
}
