//! A stored credential, in the format of `auth.json`.
//!
//! Secrets stay inside [`SecretString`]: `Debug` never shows them, and only serialization, which
//! writes the credential file, exposes them. Unknown fields are preserved.

use std::collections::BTreeMap;
use std::fmt;

use pi_protocol::AuthKind;
use pi_protocol::json::JsonObject;
use secrecy::{ExposeSecret, SecretString};
use serde::de::Error as _;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// A stored credential for one provider.
#[derive(Debug, Clone)]
pub enum Credential {
    /// A key, provider-scoped variables, or both.
    ApiKey(ApiKeyCredential),
    /// OAuth tokens.
    OAuth(OAuthCredential),
}

/// A stored key. Without `key`, the provider's ambient credentials apply, resolved with `env`.
#[derive(Clone, Default)]
pub struct ApiKeyCredential {
    /// The key, as a [value template](crate::ValueTemplate).
    pub key: Option<SecretString>,
    /// Provider-scoped variables, such as an account ID or a cloud profile.
    pub env: BTreeMap<String, String>,
    /// Unknown fields, preserved on round trip.
    pub extra: JsonObject,
}

/// OAuth tokens.
#[derive(Clone)]
pub struct OAuthCredential {
    /// Token sent with requests.
    pub access: SecretString,
    /// Token for obtaining the next access token; empty if access never expires.
    pub refresh: SecretString,
    /// When the access token expires, in milliseconds since the Unix epoch.
    pub expires: i64,
    /// Provider-specific fields (`accountId`, `enterpriseUrl`, ...).
    pub extra: JsonObject,
}

impl Credential {
    /// Creates an API-key credential.
    pub fn api_key(key: impl Into<SecretString>) -> Self {
        Self::ApiKey(ApiKeyCredential {
            key: Some(key.into()),
            ..ApiKeyCredential::default()
        })
    }

    pub fn kind(&self) -> AuthKind {
        match self {
            Self::ApiKey(_) => AuthKind::ApiKey,
            Self::OAuth(_) => AuthKind::OAuth,
        }
    }

    /// Returns the OAuth tokens, if this is an OAuth credential.
    pub fn as_oauth(&self) -> Option<&OAuthCredential> {
        match self {
            Self::OAuth(credential) => Some(credential),
            Self::ApiKey(_) => None,
        }
    }

    /// Parses a credential; the error names the invalid field.
    pub fn from_value(value: Value) -> Result<Self, CredentialShapeError> {
        let Value::Object(mut fields) = value else {
            return Err(CredentialShapeError::new("", "must be an object"));
        };
        let kind = fields.shift_remove("type");
        match kind.as_ref().and_then(Value::as_str) {
            Some("api_key") => Ok(Self::ApiKey(ApiKeyCredential {
                key: take_optional_string(&mut fields, "key")?,
                env: take_variables(&mut fields)?,
                extra: fields,
            })),
            Some("oauth") => Ok(Self::OAuth(OAuthCredential {
                access: take_string(&mut fields, "access")?,
                refresh: take_string(&mut fields, "refresh")?,
                expires: take_milliseconds(&mut fields, "expires")?,
                extra: fields,
            })),
            Some(_) | None => Err(CredentialShapeError::new(
                "type",
                "must be \"api_key\" or \"oauth\"",
            )),
        }
    }
}

impl OAuthCredential {
    /// Returns whether the token expires less than `validity_ms` after `now_ms`.
    pub fn expires_within(&self, validity_ms: i64, now_ms: i64) -> bool {
        now_ms.saturating_add(validity_ms) >= self.expires
    }
}

/// A stored credential with an invalid format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{problem}", if field.is_empty() { String::new() } else { format!("{field} ") })]
pub struct CredentialShapeError {
    /// Name of the field; empty for the entry as a whole.
    pub field: String,
    /// What is wrong; never contains the value.
    pub problem: &'static str,
}

impl CredentialShapeError {
    fn new(field: impl Into<String>, problem: &'static str) -> Self {
        Self {
            field: field.into(),
            problem,
        }
    }
}

fn take_string(
    fields: &mut JsonObject,
    name: &'static str,
) -> Result<SecretString, CredentialShapeError> {
    take_optional_string(fields, name)?.ok_or_else(|| CredentialShapeError::new(name, "is missing"))
}

fn take_optional_string(
    fields: &mut JsonObject,
    name: &'static str,
) -> Result<Option<SecretString>, CredentialShapeError> {
    match fields.shift_remove(name) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.into())),
        Some(_) => Err(CredentialShapeError::new(name, "must be a string")),
    }
}

fn take_variables(
    fields: &mut JsonObject,
) -> Result<BTreeMap<String, String>, CredentialShapeError> {
    let variables = match fields.shift_remove("env") {
        None => return Ok(BTreeMap::new()),
        Some(Value::Object(variables)) => variables,
        Some(_) => return Err(CredentialShapeError::new("env", "must be an object")),
    };
    variables
        .into_iter()
        .map(|(name, value)| match value {
            Value::String(text) => Ok((name, text)),
            _ => Err(CredentialShapeError::new(
                format!("env.{name}"),
                "must be a string",
            )),
        })
        .collect()
}

fn take_milliseconds(
    fields: &mut JsonObject,
    name: &'static str,
) -> Result<i64, CredentialShapeError> {
    let value = fields
        .shift_remove(name)
        .ok_or_else(|| CredentialShapeError::new(name, "is missing"))?;
    // JavaScript computes the time in floating point, so it may have a fraction.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "`as` saturates, which is right for an out-of-range time"
    )]
    value
        .as_i64()
        .or_else(|| value.as_f64().map(|number| number as i64))
        .ok_or_else(|| CredentialShapeError::new(name, "must be a number of milliseconds"))
}

impl Serialize for Credential {
    /// Serializes the credential including its secrets, for the credential file.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", self.kind().as_str())?;
        let extra = match self {
            Self::ApiKey(credential) => {
                if let Some(key) = &credential.key {
                    map.serialize_entry("key", key.expose_secret())?;
                }
                if !credential.env.is_empty() {
                    map.serialize_entry("env", &credential.env)?;
                }
                &credential.extra
            }
            Self::OAuth(credential) => {
                map.serialize_entry("access", credential.access.expose_secret())?;
                map.serialize_entry("refresh", credential.refresh.expose_secret())?;
                map.serialize_entry("expires", &credential.expires)?;
                &credential.extra
            }
        };
        for (name, value) in extra {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Credential {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::from_value(Value::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl fmt::Debug for ApiKeyCredential {
    // A provider's variables may be secrets, too.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ApiKeyCredential")
            .field("key", &self.key)
            .field("env", &self.env.keys().collect::<Vec<_>>())
            .field("extra", &self.extra.keys().collect::<Vec<_>>())
            .finish()
    }
}

impl fmt::Debug for OAuthCredential {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("OAuthCredential")
            .field("access", &self.access)
            .field("refresh", &self.refresh)
            .field("expires", &self.expires)
            .field("extra", &self.extra.keys().collect::<Vec<_>>())
            .finish()
    }
}

impl PartialEq for Credential {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::ApiKey(left), Self::ApiKey(right)) => left == right,
            (Self::OAuth(left), Self::OAuth(right)) => left == right,
            (Self::ApiKey(_), Self::OAuth(_)) | (Self::OAuth(_), Self::ApiKey(_)) => false,
        }
    }
}

impl PartialEq for ApiKeyCredential {
    fn eq(&self, other: &Self) -> bool {
        let key = |credential: &Self| {
            credential
                .key
                .as_ref()
                .map(|key| key.expose_secret().to_owned())
        };
        key(self) == key(other) && self.env == other.env && self.extra == other.extra
    }
}

impl PartialEq for OAuthCredential {
    fn eq(&self, other: &Self) -> bool {
        self.access.expose_secret() == other.access.expose_secret()
            && self.refresh.expose_secret() == other.refresh.expose_secret()
            && self.expires == other.expires
            && self.extra == other.extra
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    #[test]
    fn stored_credentials_round_trip() {
        for stored in [
            json!({"type": "api_key", "key": "sk-1"}),
            json!({"type": "api_key"}),
            json!({"type": "api_key", "key": "$K", "env": {"A": "1"}, "note": [1, {"b": null}]}),
            json!({"type": "oauth", "access": "a", "refresh": "", "expires": 9_007_199_254_740_991_i64}),
            json!({"type": "oauth", "access": "a", "refresh": "r", "expires": 5, "accountId": "x", "later": {"deep": [true]}}),
        ] {
            let credential = Credential::from_value(stored.clone()).unwrap();
            assert_eq!(serde_json::to_value(&credential).unwrap(), stored);
        }
    }

    #[test]
    fn format_error_names_the_field() {
        for (stored, message) in [
            (json!("sk-1"), "must be an object"),
            (json!({}), "type must be \"api_key\" or \"oauth\""),
            (
                json!({"type": "jwt"}),
                "type must be \"api_key\" or \"oauth\"",
            ),
            (json!({"type": "api_key", "key": 5}), "key must be a string"),
            (
                json!({"type": "api_key", "env": []}),
                "env must be an object",
            ),
            (
                json!({"type": "api_key", "env": {"A": 1}}),
                "env.A must be a string",
            ),
            (
                json!({"type": "oauth", "refresh": "r", "expires": 1}),
                "access is missing",
            ),
            (
                json!({"type": "oauth", "access": "a", "expires": 1}),
                "refresh is missing",
            ),
            (
                json!({"type": "oauth", "access": "a", "refresh": "r"}),
                "expires is missing",
            ),
            (
                json!({"type": "oauth", "access": "a", "refresh": "r", "expires": "1"}),
                "expires must be a number of milliseconds",
            ),
        ] {
            assert_eq!(
                Credential::from_value(stored).unwrap_err().to_string(),
                message
            );
        }
    }

    #[test]
    fn debug_shows_no_secret() {
        let stored = [
            json!({"type": "api_key", "key": "s3cret", "env": {"TOKEN": "s3cret"}, "x": "s3cret"}),
            json!({"type": "oauth", "access": "s3cret", "refresh": "s3cret", "expires": 1, "x": "s3cret"}),
        ];
        for value in stored {
            let text = format!("{:?}", Credential::from_value(value).unwrap());
            assert!(!text.contains("s3cret"), "{text}");
        }
    }
}
