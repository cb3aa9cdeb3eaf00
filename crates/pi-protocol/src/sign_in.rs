//! Sign-in as the user sees it: how a provider is authenticated, prompts and progress. None of it contains a secret.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How requests are authenticated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuthKind {
    ApiKey,
    #[serde(rename = "oauth")]
    OAuth,
}

impl AuthKind {
    /// Returns the name used in `auth.json`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ApiKey => "api_key",
            Self::OAuth => "oauth",
        }
    }
}

/// Source of an authentication. Its `Display` text is for status lines and contains no secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum AuthSource {
    /// Given for this run.
    Explicit,
    /// A key in the credential store.
    Stored,
    /// An OAuth credential in the credential store.
    #[serde(rename = "oauth")]
    OAuth,
    /// The `apiKey` from `models.json` or an extension.
    Configured,
    Variable(String),
    /// Credentials found on this machine for the provider's cloud.
    Ambient(String),
}

/// A provider's authentication, determined without using it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AuthStatus {
    pub kind: AuthKind,
    pub source: AuthSource,
}

impl fmt::Display for AuthSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Explicit => "key given for this run",
            Self::Stored => "stored credential",
            Self::OAuth => "OAuth",
            Self::Configured => "configured API key",
            Self::Variable(name) => name,
            Self::Ambient(description) => description,
        })
    }
}

/// A way to authenticate with a provider.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LoginOption {
    pub provider: String,
    /// Display name.
    pub name: String,
    pub kind: AuthKind,
    /// Credentials that are already configured.
    pub status: Option<AuthStatus>,
    /// Whether the provider's flow prompts for everything: a sign-in, or a key with additional details.
    pub is_guided: bool,
}

/// What the user is asked during a sign-in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum LoginPrompt {
    Text {
        message: String,
        placeholder: Option<String>,
    },
    /// Text that is masked while typed.
    Secret { message: String },
    /// One of several choices; returns the ID of the selected choice.
    Select {
        message: String,
        choices: Vec<LoginChoice>,
    },
    /// The code or URL that the browser ends up with, in case the callback does not reach us.
    ManualCode {
        message: String,
        placeholder: Option<String>,
    },
}

/// One choice of a [`LoginPrompt::Select`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LoginChoice {
    /// Value that the prompt returns.
    pub id: String,
    pub label: String,
}

/// Progress of a sign-in, to show to the user.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum LoginEvent {
    Info {
        message: String,
        links: Vec<LoginLink>,
    },
    /// A URL to open in a browser.
    AuthUrl {
        url: String,
        instructions: String,
    },
    /// A code to enter on a page, on any device.
    DeviceCode {
        user_code: String,
        /// The page; its URL may include the code.
        verification_uri: String,
        /// Poll interval.
        interval_seconds: Option<f64>,
        expires_in_seconds: Option<f64>,
        #[serde(default)]
        on_confirm: DeviceCodeActions,
    },
    Progress {
        message: String,
    },
}

/// What Enter does while a device code is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeviceCodeActions {
    pub open_browser: bool,
    pub copy_code: bool,
}

impl Default for DeviceCodeActions {
    fn default() -> Self {
        Self {
            open_browser: true,
            copy_code: true,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LoginLink {
    pub url: String,
    pub label: String,
}

impl LoginEvent {
    /// Returns a step that has no data besides its description.
    pub fn progress(message: impl Into<String>) -> Self {
        Self::Progress {
            message: message.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn a_sign_in_round_trips_byte_for_byte() {
        let option = r#"{"provider":"p","name":"P","kind":"oauth","status":{"kind":"api_key","source":{"variable":"P_KEY"}},"isGuided":true}"#;
        let read: LoginOption = serde_json::from_str(option).unwrap();
        assert_eq!(crate::json::to_string(&read).unwrap(), option);
        assert_eq!(read.status.unwrap().source.to_string(), "P_KEY");
        let prompt = r#"{"select":{"message":"m","choices":[{"id":"a","label":"A"}]}}"#;
        let read: LoginPrompt = serde_json::from_str(prompt).unwrap();
        assert_eq!(crate::json::to_string(&read).unwrap(), prompt);
    }
}
