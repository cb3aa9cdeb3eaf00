//! Sign-in and sign-out; the provider's flow prompts through the open dialog.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_host::{LoginInteraction, OAuthError, Persist, default_model_of_provider};
use pi_protocol::{AuthKind, LoginEvent, LoginOption, LoginPrompt, Model};
use pi_views::dialogs::dialog::DialogUpdate;
use pi_views::dialogs::intent::SecretText;
use tokio::sync::oneshot;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::dialogs::{DialogMsg, DialogRequest};
use super::models::ModelMsg;
use super::status::StatusMsg;
use crate::app::command::AppCommand;
use crate::app::context::AppContext;
use crate::app::tasks::AppHandle;
use crate::session::command::SessionCommand;
use crate::transcript::NoticeLevel;

#[derive(Debug)]
pub(crate) enum SignInMsg {
    Start {
        provider: String,
        kind: AuthKind,
    },
    /// The provider's flow asks for something.
    Prompted {
        prompt: LoginPrompt,
        reply: oneshot::Sender<String>,
    },
    PromptWithdrawn,
    Event(LoginEvent),
    /// The user's answer to the prompt.
    Answer(String),
    Cancel,
    Ended {
        provider: String,
        result: Result<(), String>,
    },
    StoreKey {
        provider: String,
        key: SecretText,
    },
    KeyStored {
        provider: String,
        result: Result<(), String>,
    },
    /// The models of a provider were fetched with its new credential.
    ModelsRefreshed {
        provider: String,
        available: Vec<Arc<Model>>,
    },
    SignOut {
        provider: String,
    },
    SignedOut {
        provider: String,
        result: Result<(), String>,
    },
    LoginsListed(Result<Vec<LoginOption>, String>),
}

/// The sign-in in progress; dropping it cancels it.
#[derive(Debug)]
struct ActiveSignIn {
    provider: String,
    reply: Option<oneshot::Sender<String>>,
    _cancel: DropGuard,
}

#[derive(Debug)]
pub(crate) struct SignInController {
    active: Option<ActiveSignIn>,
    handle: AppHandle,
}

impl SignInController {
    pub(crate) fn new(handle: AppHandle) -> Self {
        Self {
            active: None,
            handle,
        }
    }

    /// Returns the provider of the sign-in in progress.
    pub(crate) fn provider(&self) -> Option<&str> {
        self.active.as_ref().map(|active| active.provider.as_str())
    }

    pub(crate) fn update(&mut self, message: SignInMsg, ctx: &AppContext<'_>) -> Vec<AppCommand> {
        match message {
            SignInMsg::Start { provider, kind } => vec![self.start(provider, kind)],
            SignInMsg::Prompted { prompt, reply } => match &mut self.active {
                Some(active) => {
                    active.reply = Some(reply);
                    vec![AppCommand::UpdateDialog(DialogUpdate::SignInPrompt(prompt))]
                }
                // Dropping the reply cancels the flow.
                None => Vec::new(),
            },
            SignInMsg::PromptWithdrawn => {
                vec![AppCommand::UpdateDialog(
                    DialogUpdate::SignInPromptWithdrawn,
                )]
            }
            // The dialog validates URLs before it opens them.
            SignInMsg::Event(event) => vec![AppCommand::UpdateDialog(DialogUpdate::SignIn(event))],
            SignInMsg::Answer(answer) => {
                let reply = self.active.as_mut().and_then(|active| active.reply.take());
                if let Some(reply) = reply
                    && reply.send(answer).is_err()
                {
                    tracing::debug!("sign-in no longer waits for an answer");
                }
                Vec::new()
            }
            SignInMsg::Cancel => {
                self.active = None;
                Vec::new()
            }
            SignInMsg::Ended { provider, result } => self.ended(provider, result),
            SignInMsg::StoreKey { provider, key } => {
                vec![AppCommand::Session(SessionCommand::StoreKey {
                    provider,
                    key,
                })]
            }
            SignInMsg::KeyStored {
                provider,
                result: Ok(()),
            } => signed_in(provider),
            SignInMsg::KeyStored {
                result: Err(message),
                ..
            } => vec![
                AppCommand::UpdateDialog(DialogUpdate::SignInEnded(Err(message.clone()))),
                AppCommand::error(message),
            ],
            SignInMsg::ModelsRefreshed {
                provider,
                available,
            } => models_refreshed(&provider, &available, ctx),
            SignInMsg::SignOut { provider } => {
                vec![AppCommand::Session(SessionCommand::SignOut { provider })]
            }
            SignInMsg::SignedOut {
                provider,
                result: Ok(()),
            } => vec![
                AppCommand::send(StatusMsg::ModelChanged),
                AppCommand::status(format!("Removed the stored credential for {provider}")),
            ],
            SignInMsg::SignedOut {
                result: Err(message),
                ..
            }
            | SignInMsg::LoginsListed(Err(message)) => vec![AppCommand::error(message)],
            SignInMsg::LoginsListed(Ok(stored)) if stored.is_empty() => vec![AppCommand::status(
                "No stored credentials. Keys set in the environment cannot be removed here.",
            )],
            SignInMsg::LoginsListed(Ok(stored)) => {
                vec![AppCommand::send(DialogMsg::Open(DialogRequest::Logout(
                    stored,
                )))]
            }
        }
    }

    fn start(&mut self, provider: String, kind: AuthKind) -> AppCommand {
        let cancel = CancellationToken::new();
        self.active = Some(ActiveSignIn {
            provider: provider.clone(),
            reply: None,
            _cancel: cancel.clone().drop_guard(),
        });
        AppCommand::Session(SessionCommand::SignIn {
            provider,
            kind,
            interaction: Box::new(LoginUi(self.handle.clone())),
            cancel,
        })
    }

    fn ended(&mut self, provider: String, result: Result<(), String>) -> Vec<AppCommand> {
        // A canceled sign-in may end after the next one has started.
        let is_active = self
            .active
            .take_if(|active| active.provider == provider)
            .is_some();
        match result {
            Ok(()) => signed_in(provider),
            Err(message) if is_active => {
                vec![AppCommand::UpdateDialog(DialogUpdate::SignInEnded(Err(
                    message,
                )))]
            }
            Err(_) => Vec::new(),
        }
    }
}

/// Refreshes the models of a provider after its credential was stored.
fn signed_in(provider: String) -> Vec<AppCommand> {
    vec![
        AppCommand::UpdateDialog(DialogUpdate::SignInEnded(Ok(()))),
        AppCommand::Session(SessionCommand::RefreshModels {
            provider: Some(provider),
        }),
    ]
}

fn models_refreshed(
    provider: &str,
    available: &[Arc<Model>],
    ctx: &AppContext<'_>,
) -> Vec<AppCommand> {
    let default_model = default_model_of_provider(provider, available);
    let use_model = match (&ctx.session.model, default_model) {
        (None, Some(model)) => AppCommand::send(ModelMsg::Use {
            model,
            persist: Persist::Session,
        }),
        _ => AppCommand::send(StatusMsg::ModelChanged),
    };
    vec![
        // Not a status, which the name of the model would replace.
        AppCommand::notify(
            NoticeLevel::Info,
            format!("Signed in to {provider}. The credential is stored in auth.json."),
        ),
        use_model,
        AppCommand::RefreshCompletion,
    ]
}

/// Prompts and notifies the user during a sign-in, through the open dialog.
struct LoginUi(AppHandle);

impl LoginInteraction for LoginUi {
    fn prompt(&self, prompt: LoginPrompt) -> BoxFuture<'_, Result<String, OAuthError>> {
        Box::pin(async move {
            let (reply, answer) = oneshot::channel();
            let withdrawn = PromptWithdrawal(Some(self.0.clone()));
            self.0.post(SignInMsg::Prompted { prompt, reply });
            let answer = answer.await.or(Err(OAuthError::Cancelled));
            withdrawn.answered();
            answer
        })
    }

    fn notify(&self, event: LoginEvent) {
        self.0.post(SignInMsg::Event(event));
    }
}

/// Notifies the dialog when a prompt is dropped before it is answered.
struct PromptWithdrawal(Option<AppHandle>);

impl PromptWithdrawal {
    fn answered(mut self) {
        self.0 = None;
    }
}

impl Drop for PromptWithdrawal {
    fn drop(&mut self) {
        if let Some(handle) = self.0.take() {
            handle.post(SignInMsg::PromptWithdrawn);
        }
    }
}
