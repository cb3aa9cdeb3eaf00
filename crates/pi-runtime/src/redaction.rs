//! What an export leaves out: the credentials pi keeps for the user.
//!
//! A tool may have read the credential file, or a command printed a key. Whatever is stored is
//! replaced by a mark wherever it occurs; nothing is guessed from the look of a text.

use std::borrow::Cow;

use pi_ai::{Credential, CredentialStore};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

/// What stands in place of a secret.
const MARK: &str = "[redacted]";

/// Shorter values are no credentials, and replacing them would tear ordinary text.
const SHORTEST_SECRET: usize = 8;

/// The secrets that are replaced.
#[derive(Debug, Clone, Default)]
pub struct Redaction {
    secrets: Vec<SecretString>,
}

impl Redaction {
    /// Replaces these secrets; values too short to be one are passed over.
    pub fn new(secrets: impl IntoIterator<Item = SecretString>) -> Self {
        let mut secrets: Vec<_> = secrets
            .into_iter()
            .filter(|secret| secret.expose_secret().len() >= SHORTEST_SECRET)
            .collect();
        // A secret that contains another goes first, so that no rest of it stays.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.expose_secret().len()));
        Self { secrets }
    }

    /// Replaces the secrets in a text.
    pub(super) fn clean<'text>(&self, text: &'text str) -> Cow<'text, str> {
        let mut cleaned = Cow::Borrowed(text);
        for secret in &self.secrets {
            let secret = secret.expose_secret();
            if cleaned.contains(secret) {
                cleaned = Cow::Owned(cleaned.replace(secret, MARK));
            }
        }
        cleaned
    }

    /// Replaces the secrets in the strings of a JSON text.
    pub(super) fn clean_json(&self, json: &mut Vec<u8>) {
        if !self.may_occur_in(json) {
            return;
        }
        // Only the parsed strings tell a secret from a piece of an escape.
        let Ok(mut value) = serde_json::from_slice(json) else {
            return;
        };
        self.clean_value(&mut value);
        *json = pi_ai::json::value_to_string(&value).into_bytes();
    }

    fn may_occur_in(&self, json: &[u8]) -> bool {
        let text = String::from_utf8_lossy(json);
        self.secrets.iter().any(|secret| {
            let spelled = Value::from(secret.expose_secret()).to_string();
            let inner = spelled.strip_prefix('"').unwrap_or(&spelled);
            text.contains(inner.strip_suffix('"').unwrap_or(inner))
        })
    }

    /// The depth of a value is bounded by what the JSON parser accepts.
    fn clean_value(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Cow::Owned(cleaned) = self.clean(text) {
                    *text = cleaned;
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.clean_value(item)),
            Value::Object(fields) => {
                for (mut name, mut value) in std::mem::take(fields) {
                    if let Cow::Owned(cleaned) = self.clean(&name) {
                        name = cleaned;
                    }
                    self.clean_value(&mut value);
                    fields.insert(name, value);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Replaces the secrets in JSON lines.
    pub(super) fn clean_lines(&self, lines: Vec<u8>) -> Vec<u8> {
        if !self.may_occur_in(&lines) {
            return lines;
        }
        let mut cleaned = Vec::with_capacity(lines.len());
        for line in lines.split_inclusive(|byte| *byte == b'\n') {
            let mut line = line.strip_suffix(b"\n").unwrap_or(line).to_vec();
            self.clean_json(&mut line);
            cleaned.append(&mut line);
            cleaned.push(b'\n');
        }
        cleaned
    }
}

/// Returns every key and token that is stored. A credential that cannot be read is passed over: what
/// cannot be read here cannot be told apart from other text either.
pub async fn stored_secrets(credentials: &dyn CredentialStore) -> Redaction {
    let stored = credentials.list().await.unwrap_or_default();
    let mut secrets = Vec::new();
    for info in stored {
        match credentials.read(&info.provider).await {
            Ok(Some(Credential::ApiKey(credential))) => secrets.extend(credential.key),
            Ok(Some(Credential::OAuth(credential))) => {
                secrets.extend([credential.access, credential.refresh]);
            }
            Ok(None) => {}
            Err(error) => tracing::warn!(provider = info.provider, %error, "not redacted"),
        }
    }
    Redaction::new(secrets)
}

#[cfg(test)]
mod tests {
    use pi_ai::InMemoryCredentials;

    use super::*;

    fn redaction(secrets: &[&str]) -> Redaction {
        Redaction::new(secrets.iter().map(|secret| SecretString::from(*secret)))
    }

    #[test]
    fn secrets_are_replaced_in_text_and_in_json() {
        let redaction = redaction(&["sk-abcdefgh", "sk-abcdefgh-longer", "two\nlines\"", "short"]);
        let text = "a sk-abcdefgh-longer b sk-abcdefgh c short d two\nlines\" e";
        let expected = "a [redacted] b [redacted] c short d [redacted] e";
        assert_eq!(redaction.clean(text), expected);
        let line = serde_json::json!({ "text": text, text: [1] }).to_string() + "\n";
        let cleaned = redaction.clean_lines(line.repeat(2).into_bytes());
        let expected = serde_json::json!({ "text": expected, expected: [1] }).to_string() + "\n";
        assert_eq!(String::from_utf8(cleaned).unwrap(), expected.repeat(2));
    }

    #[test]
    fn what_only_looks_like_a_secret_in_json_stays() {
        let redaction = redaction(&["12345678", "nobody-knows"]);
        let line = r#"{"time":12345678,"text":"\nobody-knows"}"#;
        let mut json = line.as_bytes().to_vec();
        redaction.clean_json(&mut json);
        assert_eq!(String::from_utf8(json).unwrap(), line);
    }

    #[tokio::test]
    async fn stored_keys_and_tokens_are_found() {
        let oauth = serde_json::json!({
            "type": "oauth", "access": "access-token", "refresh": "refresh-token", "expires": 1
        });
        let store = InMemoryCredentials::new([
            ("one".to_owned(), Credential::api_key("key-of-one")),
            ("two".to_owned(), Credential::from_value(oauth).unwrap()),
        ]);
        let redaction = stored_secrets(&store).await;
        assert_eq!(
            redaction.clean("key-of-one access-token refresh-token other-token"),
            "[redacted] [redacted] [redacted] other-token"
        );
    }
}
