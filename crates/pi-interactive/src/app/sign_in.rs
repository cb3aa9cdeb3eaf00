//! Sign-in and sign-out; the provider's flow prompts through the open dialog.

use futures_util::future::BoxFuture;
use pi_auth::{AuthKind, Credential, LoginEvent, LoginInteraction, LoginPrompt, OAuthError};
use pi_providers::{NetworkAccess, RefreshOptions};
use pi_runtime::Persist;
use tokio::sync::oneshot;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::App;
use super::handle::AppHandle;
use crate::dialog::DialogUpdate;
use crate::intent::SecretText;

/// The sign-in in progress; dropping it cancels it.
#[derive(Debug)]
pub(super) struct ActiveSignIn {
    answer: Option<oneshot::Sender<String>>,
    _cancel: DropGuard,
}

impl App {
    pub(super) fn sign_in(&mut self, provider: String, kind: AuthKind) {
        let models = self.session.models().clone();
        let env = self.runtime.services().env.clone();
        let Some(auth) = models.provider(&provider).and_then(|found| found.auth()) else {
            let failed = format!("{provider} does not require sign-in");
            self.update_dialog(DialogUpdate::SignInEnded(Err(failed)));
            return;
        };
        let cancel = CancellationToken::new();
        self.sign_in = Some(ActiveSignIn {
            answer: None,
            _cancel: cancel.clone().drop_guard(),
        });
        let bridge = LoginUi(self.handle());
        let work = async move {
            let authenticator = models.authenticator();
            let signed_in = authenticator.sign_in(&auth, kind, &env, &bridge, &cancel);
            (signed_in.await, provider)
        };
        self.spawn(work, |app, (result, provider)| {
            app.sign_in = None;
            match result {
                Ok(()) => app.signed_in(provider),
                Err(error) => {
                    let message = pi_runtime::describe_error(&error);
                    app.update_dialog(DialogUpdate::SignInEnded(Err(message)));
                }
            }
        });
    }

    /// Passes the user's answer to the sign-in flow.
    pub(super) fn answer_sign_in(&mut self, answer: String) {
        let reply = self.sign_in.as_mut().and_then(|it| it.answer.take());
        if let Some(reply) = reply
            && reply.send(answer).is_err()
        {
            tracing::debug!("sign-in no longer waits for an answer");
        }
    }

    pub(super) fn cancel_sign_in(&mut self) {
        self.sign_in = None;
    }

    pub(super) fn store_key(&mut self, provider: String, key: SecretText) {
        let models = self.session.models().clone();
        let work = async move {
            let store = models.authenticator().store().clone();
            let stored = store.put(&provider, Credential::api_key(key.0)).await;
            (stored, provider)
        };
        self.spawn(work, |app, (stored, provider)| match stored {
            Ok(()) => app.signed_in(provider),
            Err(error) => {
                let message = pi_runtime::describe_error(&error);
                app.update_dialog(DialogUpdate::SignInEnded(Err(message.clone())));
                app.error(message);
            }
        });
    }

    pub(super) fn sign_out(&mut self, provider: String) {
        let models = self.session.models().clone();
        let work = async move {
            let store = models.authenticator().store().clone();
            let deleted = store.delete(&provider).await;
            models.refresh(single_provider(&provider)).await;
            (deleted, provider)
        };
        self.spawn(work, |app, (deleted, provider)| match deleted {
            Ok(()) => {
                app.model_changed();
                app.status(format!("Removed the stored credential for {provider}"));
            }
            Err(error) => app.error(pi_runtime::describe_error(&error)),
        });
    }

    /// Refreshes the models of a provider after its credential was stored.
    fn signed_in(&mut self, provider: String) {
        self.update_dialog(DialogUpdate::SignInEnded(Ok(())));
        let models = self.session.models().clone();
        let work = async move {
            models.refresh(single_provider(&provider)).await;
            provider
        };
        self.spawn(work, |app, provider| {
            app.status(format!("Signed in to {provider}"));
            let available = app.session.models().available();
            let first = available.iter().find(|model| model.provider == provider);
            match (app.session.model(), first) {
                (None, Some(model)) => app.use_model(model.clone(), Persist::Session),
                _ => app.model_changed(),
            }
            app.refresh_completion();
        });
    }
}

/// Options that refresh the models of a single provider.
pub(super) fn single_provider(provider: &str) -> RefreshOptions {
    RefreshOptions {
        providers: Some(vec![provider.to_owned()]),
        network: NetworkAccess::Allowed,
        ..RefreshOptions::default()
    }
}

/// Prompts and notifies the user during a sign-in, through the open dialog.
struct LoginUi(AppHandle);

impl LoginInteraction for LoginUi {
    fn prompt(&self, prompt: LoginPrompt) -> BoxFuture<'_, Result<String, OAuthError>> {
        Box::pin(async move {
            let (sender, answer) = oneshot::channel();
            let withdrawn = PromptWithdrawal(Some(self.0.clone()));
            self.0.post(move |app| {
                if let Some(sign_in) = &mut app.sign_in {
                    sign_in.answer = Some(sender);
                    app.update_dialog(DialogUpdate::SignInPrompt(prompt));
                }
            });
            let answer = answer.await.or(Err(OAuthError::Cancelled));
            withdrawn.answered();
            answer
        })
    }

    fn notify(&self, event: LoginEvent) {
        // The dialog validates URLs before it opens them.
        self.0
            .post(move |app| app.update_dialog(DialogUpdate::SignIn(event)));
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
            handle.post(|app| app.update_dialog(DialogUpdate::SignInPromptWithdrawn));
        }
    }
}
