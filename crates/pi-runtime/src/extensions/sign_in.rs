//! Signing in to a provider of an extension, through the dialogs every provider uses.
//!
//! The extension's code runs in JavaScript. What it shows and asks goes to whoever signs the user in;
//! what it returns is a credential like any other, stored and renewed by `pi-ai`.

use std::sync::Weak;

use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use pi_ai::{
    LoginChoice, LoginEvent, LoginInteraction, LoginPrompt, OAuthContext, OAuthCredential,
    OAuthError, OAuthFlow, OAuthRequestAuth,
};
use pi_ext::{HostError, HostFuture};
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::ExtensionsInner;
use super::bridge::{ExtensionBridge, field, lock};
use super::tool::error_message;

/// The ids of choices; an extension's own are words that are not known before it runs.
const CHOICE_IDS: [&str; 16] = [
    "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15",
];

/// The part of a sign-in that is data.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct SignInData {
    pub(super) name: String,
    pub(super) is_subscription: bool,
    /// The key of a request, with `{{name}}` where a member of the credential stands.
    pub(super) key: String,
    pub(super) changes_models: bool,
}

/// What the extension's code asks of the dialog.
pub(super) enum SignInStep {
    Show(SignInNotice),
    Ask(SignInPrompt, oneshot::Sender<Option<String>>),
}

#[derive(Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub(super) enum SignInNotice {
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
    },
    Progress {
        message: String,
    },
}

impl From<SignInNotice> for LoginEvent {
    fn from(shown: SignInNotice) -> Self {
        match shown {
            SignInNotice::Address { url, instructions } => Self::AuthUrl {
                url,
                instructions: instructions.unwrap_or_default(),
            },
            SignInNotice::DeviceCode {
                user_code,
                verification_uri,
                interval_seconds,
                expires_in_seconds,
            } => Self::DeviceCode {
                user_code,
                verification_uri,
                interval_seconds,
                expires_in_seconds,
            },
            SignInNotice::Progress { message } => Self::Progress { message },
        }
    }
}

/// A question.
#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub(super) enum SignInPrompt {
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
pub(super) struct SignInOption {
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
                message: "Paste the code, or the address the browser ended up with".to_owned(),
                placeholder: None,
            },
            Self::Select { message, options } => LoginPrompt::Select {
                message: message.clone(),
                choices: CHOICE_IDS
                    .iter()
                    .zip(options)
                    .map(|(id, option)| LoginChoice {
                        id,
                        label: option.label.clone(),
                    })
                    .collect(),
            },
        }
    }

    /// Returns an answer in the extension's own words.
    fn answer(&self, given: String) -> String {
        match self {
            Self::Text { .. } | Self::ManualCode => given,
            Self::Select { options, .. } => {
                let place = CHOICE_IDS.iter().position(|id| *id == given);
                let option = place.and_then(|place| options.get(place));
                option.map_or(given, |option| option.id.clone())
            }
        }
    }
}

impl ExtensionBridge {
    /// Shows something of a sign-in that is under way.
    pub(super) fn show_sign_in(&self, arguments: &Value) -> Result<Value, HostError> {
        let signal: u64 = field(arguments, "signalId")?;
        let shown: SignInNotice = field(arguments, "shown")?;
        if let Some(steps) = lock(&self.sign_ins).get(&signal) {
            // The sign-in may be over.
            steps.send(SignInStep::Show(shown)).ok();
        }
        Ok(Value::Null)
    }

    /// Asks something for a sign-in that is under way.
    pub(super) fn ask_sign_in(&self, arguments: &Value) -> Result<HostFuture, HostError> {
        let signal: u64 = field(arguments, "signalId")?;
        let asked: SignInPrompt = field(arguments, "asked")?;
        let (sender, answer) = oneshot::channel();
        let steps = lock(&self.sign_ins).get(&signal).cloned();
        let asking = steps.is_some_and(|steps| steps.send(SignInStep::Ask(asked, sender)).is_ok());
        if !asking {
            return Err(HostError::new("this sign-in is over"));
        }
        Ok(Box::pin(async move {
            match answer.await {
                Ok(Some(answer)) => Ok(answer.into()),
                Ok(None) | Err(_) => Err(HostError::new("Login cancelled")),
            }
        }))
    }
}

/// An extension's way to sign in.
pub(super) struct ExtensionSignIn {
    /// Weak, since providers outlive sessions.
    shared: Weak<ExtensionsInner>,
    extension: String,
    provider: String,
    data: SignInData,
}

impl ExtensionSignIn {
    pub(super) fn new(
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
        let gone = || OAuthError::Internal("the extension behind this provider is gone".to_owned());
        self.shared.upgrade().ok_or_else(gone)
    }

    async fn sign_in(
        &self,
        interaction: &dyn LoginInteraction,
        cancel: &CancellationToken,
    ) -> Result<OAuthCredential, OAuthError> {
        let shared = self.shared()?;
        let signal = shared.bridge.new_signal();
        // Unbounded, since JavaScript cannot be made to wait; a sign-in has a handful of steps.
        let (sender, mut steps) = mpsc::unbounded_channel();
        lock(&shared.bridge.sign_ins).insert(signal, sender);
        let running = shared
            .engine
            .sign_in(&self.extension, &self.provider, signal);
        let mut running = std::pin::pin!(shared.until_cancelled(running, signal, cancel));
        // Several questions may be open, such as the code of a browser that may yet answer itself.
        let mut questions = FuturesUnordered::new();
        let outcome = loop {
            tokio::select! {
                biased;
                outcome = &mut running => break outcome,
                Some(step) = steps.recv() => match step {
                    SignInStep::Show(shown) => interaction.notify(shown.into()),
                    SignInStep::Ask(asked, reply) => questions.push(async move {
                        let answer = interaction.prompt(asked.prompt()).await.ok();
                        // The extension may have stopped waiting.
                        reply.send(answer.map(|given| asked.answer(given))).ok();
                    }),
                },
                Some(()) = questions.next() => {}
            }
        };
        lock(&shared.bridge.sign_ins).remove(&signal);
        // What was shown last is still under way when the extension is done.
        while let Ok(step) = steps.try_recv() {
            if let SignInStep::Show(shown) = step {
                interaction.notify(shown.into());
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
        return Err(problem("is no object"));
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
        reason = "a moment in milliseconds; what is too large never ends"
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

/// Spells a credential for the code of the extension it belongs to.
pub(super) fn credential_to_json(credential: &OAuthCredential) -> Value {
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

/// Puts the members of a credential where the extension's key names them.
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
            let renewed = engine.renew_sign_in(
                &self.extension,
                &self.provider,
                credential_to_json(credential),
            );
            let renewed = renewed.await.map_err(|error| failure(error_message(error)))?;
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
    fn a_key_is_made_of_the_members_it_names() {
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
    fn a_credential_without_a_token_is_refused() {
        let error = read_credential(json!({ "refresh": "r" })).unwrap_err();
        assert!(error.to_string().contains("has no access token"), "{error}");
    }
}
