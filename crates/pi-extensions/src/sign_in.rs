//! Sign-in to providers of extensions, through the same dialogs as built-in providers.
//!
//! The extension's code runs in JavaScript. Its notices and prompts go to the login UI; the
//! credential it returns is stored and refreshed by `pi-auth` like any other.

use std::sync::Weak;

use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use pi_auth::{
    LoginInteraction, OAuthContext, OAuthCredential, OAuthError, OAuthFlow, OAuthRequestAuth,
};
use pi_protocol::{DeviceCodeActions, LoginChoice, LoginEvent, LoginPrompt};
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::ExtensionsInner;
use crate::tool::error_message;

/// IDs of choices. The login API needs static IDs, so an extension's own IDs are mapped to these.
const CHOICE_IDS: [&str; 16] = [
    "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15",
];

/// The serializable part of a sign-in method.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct SignInData {
    pub(crate) name: String,
    pub(crate) is_subscription: bool,
    /// The API key of a request, with `{{name}}` placeholders for members of the credential.
    pub(crate) key: String,
    pub(crate) changes_models: bool,
}

/// A step of the extension's sign-in code.
pub(crate) enum SignInStep {
    Show(SignInNotice),
    Ask(SignInPrompt, oneshot::Sender<Option<String>>),
}

#[derive(Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub(crate) enum SignInNotice {
    Address {
        url: String,
        #[serde(default)]
        instructions: Option<String>,
    },
    DeviceCode {
        user_code: String,
        verification_uri: String,
        interval_seconds: Option<f64>,
        expires_in_seconds: Option<f64>,
        open_browser_on_confirm: Option<bool>,
        copy_code_on_confirm: Option<bool>,
    },
    Progress {
        message: String,
    },
}

impl From<SignInNotice> for LoginEvent {
    fn from(notice: SignInNotice) -> Self {
        match notice {
            SignInNotice::Address { url, instructions } => Self::AuthUrl {
                url,
                instructions: instructions.unwrap_or_default(),
            },
            SignInNotice::DeviceCode {
                user_code,
                verification_uri,
                interval_seconds,
                expires_in_seconds,
                open_browser_on_confirm,
                copy_code_on_confirm,
            } => Self::DeviceCode {
                user_code,
                verification_uri,
                interval_seconds,
                expires_in_seconds,
                on_confirm: DeviceCodeActions {
                    open_browser: open_browser_on_confirm.unwrap_or(true),
                    copy_code: copy_code_on_confirm.unwrap_or(true),
                },
            },
            SignInNotice::Progress { message } => Self::Progress { message },
        }
    }
}

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub(crate) enum SignInPrompt {
    Text {
        message: String,
        placeholder: Option<String>,
    },
    ManualCode,
    Select {
        message: String,
        options: Vec<SignInOption>,
    },
}

#[derive(Deserialize)]
pub(crate) struct SignInOption {
    id: String,
    label: String,
}

impl SignInPrompt {
    fn prompt(&self) -> LoginPrompt {
        match self {
            Self::Text {
                message,
                placeholder,
            } => LoginPrompt::Text {
                message: message.clone(),
                placeholder: placeholder.clone(),
            },
            Self::ManualCode => LoginPrompt::ManualCode {
                message: "Paste the code or the URL of the final browser page".to_owned(),
                placeholder: None,
            },
            Self::Select { message, options } => LoginPrompt::Select {
                message: message.clone(),
                choices: CHOICE_IDS
                    .iter()
                    .zip(options)
                    .map(|(id, option)| LoginChoice {
                        id: (*id).to_owned(),
                        label: option.label.clone(),
                    })
                    .collect(),
            },
        }
    }

    /// Maps a response to the extension's own value.
    fn to_extension_value(&self, given: String) -> String {
        match self {
            Self::Text { .. } | Self::ManualCode => given,
            Self::Select { options, .. } => {
                let index = CHOICE_IDS.iter().position(|id| *id == given);
                let option = index.and_then(|index| options.get(index));
                option.map_or(given, |option| option.id.clone())
            }
        }
    }
}

/// A sign-in method of an extension.
pub(crate) struct ExtensionSignIn {
    /// Weak, since providers outlive sessions.
    shared: Weak<ExtensionsInner>,
    extension: String,
    provider: String,
    data: SignInData,
}

impl ExtensionSignIn {
    pub(crate) fn new(
        shared: Weak<ExtensionsInner>,
        extension: String,
        provider: String,
        data: SignInData,
    ) -> Self {
        Self {
            shared,
            extension,
            provider,
            data,
        }
    }

    fn shared(&self) -> Result<std::sync::Arc<ExtensionsInner>, OAuthError> {
        let gone =
            || OAuthError::Internal("the extension of this provider was unloaded".to_owned());
        self.shared.upgrade().ok_or_else(gone)
    }

    async fn sign_in(
        &self,
        interaction: &dyn LoginInteraction,
        cancel: &CancellationToken,
    ) -> Result<OAuthCredential, OAuthError> {
        let shared = self.shared()?;
        let signal = shared.bridge.new_signal();
        // Unbounded, since JavaScript cannot be made to wait; a sign-in has only a few steps.
        let (sender, mut steps) = mpsc::unbounded_channel();
        shared.bridge.sign_ins.lock().insert(signal, sender);
        let running = shared
            .engine
            .sign_in(&self.extension, &self.provider, signal);
        let mut running = std::pin::pin!(shared.until_cancelled(running, signal, cancel));
        // Several prompts may be open, such as the manual code while the browser callback is
        // pending.
        let mut questions = FuturesUnordered::new();
        let outcome = loop {
            tokio::select! {
                biased;
                outcome = &mut running => break outcome,
                Some(step) = steps.recv() => match step {
                    SignInStep::Show(notice) => interaction.notify(notice.into()),
                    SignInStep::Ask(prompt, reply) => questions.push(async move {
                        let given = interaction.prompt(prompt.prompt()).await.ok();
                        // The extension may have stopped waiting.
                        reply.send(given.map(|given| prompt.to_extension_value(given))).ok();
                    }),
                },
                Some(()) = questions.next() => {}
            }
        };
        shared.bridge.sign_ins.lock().remove(&signal);
        // Show notices that were sent before the extension finished.
        while let Ok(step) = steps.try_recv() {
            if let SignInStep::Show(notice) = step {
                interaction.notify(notice.into());
            }
        }
        match outcome {
            Ok(credential) => read_credential(credential),
            Err(_) if cancel.is_cancelled() => Err(OAuthError::Cancelled),
            Err(error) => Err(failure(error_message(error))),
        }
    }
}

fn failure(error_message: String) -> OAuthError {
    if error_message == "Login cancelled" {
        OAuthError::Cancelled
    } else {
        OAuthError::InvalidInput(error_message)
    }
}

fn read_credential(value: Value) -> Result<OAuthCredential, OAuthError> {
    let problem = |problem: &str| OAuthError::Protocol {
        what: "the extension's sign-in",
        problem: problem.to_owned(),
    };
    let Value::Object(mut members) = value else {
        return Err(problem("is not an object"));
    };
    let mut text = |name: &str| match members.remove(name) {
        Some(Value::String(text)) => Some(SecretString::from(text)),
        _ => None,
    };
    let access = text("access").ok_or_else(|| problem("has no access token"))?;
    let refresh = text("refresh").unwrap_or_default();
    let expires = members.remove("expires");
    #[expect(
        clippy::cast_possible_truncation,
        reason = "milliseconds since the epoch; a value out of range never expires"
    )]
    let expires = expires
        .and_then(|it| it.as_f64())
        .map_or(i64::MAX, |it| it as i64);
    members.remove("type");
    Ok(OAuthCredential {
        access,
        refresh,
        expires,
        extra: members,
    })
}

/// Serializes a credential for the extension it belongs to.
pub(crate) fn credential_to_json(credential: &OAuthCredential) -> Value {
    let mut members = credential.extra.clone();
    members.insert(
        "access".to_owned(),
        credential.access.expose_secret().into(),
    );
    members.insert(
        "refresh".to_owned(),
        credential.refresh.expose_secret().into(),
    );
    members.insert("expires".to_owned(), json!(credential.expires));
    Value::Object(members)
}

/// Fills the placeholders of the key with members of the credential.
fn fill(key: &str, credential: &OAuthCredential) -> String {
    let Value::Object(members) = credential_to_json(credential) else {
        return String::new();
    };
    let mut filled = key.to_owned();
    for (name, value) in members {
        let text = match value {
            Value::String(text) => text,
            other => other.to_string(),
        };
        filled = filled.replace(&format!("{{{{{name}}}}}"), &text);
    }
    filled
}

impl OAuthFlow for ExtensionSignIn {
    fn name(&self) -> &str {
        &self.data.name
    }

    fn is_subscription(&self) -> bool {
        self.data.is_subscription
    }

    fn login<'a>(
        &'a self,
        _context: &'a OAuthContext,
        interaction: &'a dyn LoginInteraction,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<OAuthCredential, OAuthError>> {
        Box::pin(self.sign_in(interaction, cancel))
    }

    fn refresh<'a>(
        &'a self,
        credential: &'a OAuthCredential,
        _context: &'a OAuthContext,
    ) -> BoxFuture<'a, Result<OAuthCredential, OAuthError>> {
        Box::pin(async move {
            let shared = self.shared()?;
            let engine = &shared.engine;
            let renewed = engine.refresh_credential(
                &self.extension,
                &self.provider,
                credential_to_json(credential),
            );
            let renewed = renewed
                .await
                .map_err(|error| failure(error_message(error)))?;
            read_credential(renewed)
        })
    }

    fn request_auth(&self, credential: &OAuthCredential) -> OAuthRequestAuth {
        OAuthRequestAuth {
            api_key: Some(fill(&self.data.key, credential).into()),
            ..OAuthRequestAuth::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_of_the_key_are_filled() {
        let credential = read_credential(json!({
            "type": "oauth", "access": "a-token", "refresh": "r", "expires": 5, "project": "p1",
        }))
        .unwrap();
        assert_eq!(fill("{{access}}", &credential), "a-token");
        let both = r#"{"token":"{{access}}","projectId":"{{project}}"}"#;
        let expected = r#"{"token":"a-token","projectId":"p1"}"#;
        assert_eq!(fill(both, &credential), expected);
        assert_eq!(
            credential.extra,
            json!({"project": "p1"}).as_object().unwrap().clone()
        );
    }

    #[test]
    fn a_credential_without_a_token_is_rejected() {
        let error = read_credential(json!({ "refresh": "r" })).unwrap_err();
        assert!(error.to_string().contains("has no access token"), "{error}");
    }
}
