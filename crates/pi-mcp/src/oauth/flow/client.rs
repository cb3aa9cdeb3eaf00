//! Clients of authorization servers, and how they authenticate.

use serde_json::Value;

/// A registered client.
pub(super) struct Client {
    pub(super) id: String,
    pub(super) secret: Option<String>,
    /// How it authenticates, if the registration states it.
    pub(super) method: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AuthMethod {
    Basic,
    Post,
    None,
}

impl Client {
    pub(super) fn parse(value: &Value) -> Option<Self> {
        let text = |key: &str| {
            let text = value.get(key).and_then(Value::as_str);
            text.filter(|text| !text.is_empty()).map(str::to_owned)
        };
        Some(Self {
            id: text("client_id")?,
            secret: text("client_secret"),
            method: text("token_endpoint_auth_method"),
        })
    }

    pub(super) fn auth_method(&self, supported: &[&str]) -> AuthMethod {
        let is_supported = |method: &str| supported.contains(&method);
        let has_secret = self.secret.is_some();
        match self.method.as_deref() {
            Some("none") if supported.is_empty() || is_supported("none") => AuthMethod::None,
            Some("client_secret_basic")
                if supported.is_empty() || is_supported("client_secret_basic") =>
            {
                AuthMethod::Basic
            }
            Some("client_secret_post")
                if supported.is_empty() || is_supported("client_secret_post") =>
            {
                AuthMethod::Post
            }
            _ if !has_secret => AuthMethod::None,
            _ if supported.is_empty() || is_supported("client_secret_basic") => AuthMethod::Basic,
            _ if is_supported("client_secret_post") => AuthMethod::Post,
            _ if is_supported("none") => AuthMethod::None,
            _ => AuthMethod::Post,
        }
    }
}
