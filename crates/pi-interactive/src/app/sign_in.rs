//! Signing in and out: the provider's flow asks through the open dialog.

use futures_util::future::BoxFuture;
use pi_ai::{
    AuthKind, Credential, LoginEvent, LoginInteraction, LoginPrompt, NetworkAccess, OAuthError,
    RefreshOptions,
};
use pi_runtime::Persist;
use tokio::sync::oneshot;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::App;
use super::mailbox::Mailbox;
use crate::dialog::DialogNews;
use crate::intent::Secret;

/// A sign-in under way; dropping it gives it up.
#[derive(Debug)]
pub(super) struct SignIn {
    answer: Option<oneshot::Sender<String>>,
    _cancel: DropGuard,
}

impl App {
    /// Begins to sign in to a provider.
    pub(super) fn sign_in(&mut self, provider: String, kind: AuthKind) {
        let models = self.session.models().clone();
        let env = self.runtime.services().env.clone();
        let Some(auth) = models.provider(&provider).and_then(|found| found.auth()) else {
            let failed = format!("{provider} needs no sign-in");
            self.feed_dialog(DialogNews::SignInEnded(Err(failed)));
            return;
        };
        let cancel = CancellationToken::new();
        self.sign_in = Some(SignIn {
            answer: None,
            _cancel: cancel.clone().drop_guard(),
        });
        let desk = Desk(self.mail());
        let work = async move {
            let authenticator = models.authenticator();
            let signed_in = authenticator.sign_in(&auth, kind, &env, &desk, &cancel);
            (signed_in.await, provider)
        };
        self.spawn(work, |app, (result, provider)| {
            app.sign_in = None;
            match result {
                Ok(()) => app.signed_in(provider),
                Err(error) => {
                    let told = pi_runtime::describe_error(&error);
                    app.feed_dialog(DialogNews::SignInEnded(Err(told)));
                }
            }
        });
    }

    /// Hands the user's answer to the sign-in that asked.
    pub(super) fn answer_sign_in(&mut self, answer: String) {
        let asked = self.sign_in.as_mut().and_then(|it| it.answer.take());
        if let Some(asked) = asked
            && asked.send(answer).is_err()
        {
            tracing::debug!("the sign-in no longer waits for an answer");
        }
    }

    /// Gives the sign-in under way up.
    pub(super) fn cancel_sign_in(&mut self) {
        self.sign_in = None;
    }

    /// Keeps an API key.
    pub(super) fn store_key(&mut self, provider: String, key: Secret) {
        let models = self.session.models().clone();
        let work = async move {
            let store = models.authenticator().store().clone();
            let stored = store.put(&provider, Credential::api_key(key.0)).await;
            (stored, provider)
        };
        self.spawn(work, |app, (stored, provider)| match stored {
            Ok(()) => app.signed_in(provider),
            Err(error) => {
                let told = pi_runtime::describe_error(&error);
                app.feed_dialog(DialogNews::SignInEnded(Err(told.clone())));
                app.error(told);
            }
        });
    }

    /// Deletes a stored credential.
    pub(super) fn sign_out(&mut self, provider: String) {
        let models = self.session.models().clone();
        let work = async move {
            let store = models.authenticator().store().clone();
            let deleted = store.delete(&provider).await;
            models.refresh(only(&provider)).await;
            (deleted, provider)
        };
        self.spawn(work, |app, (deleted, provider)| match deleted {
            Ok(()) => {
                app.model_changed();
                app.status(format!("The stored credential of {provider} is deleted"));
            }
            Err(error) => app.error(pi_runtime::describe_error(&error)),
        });
    }

    /// Makes the models of a provider usable after a credential was stored.
    fn signed_in(&mut self, provider: String) {
        self.feed_dialog(DialogNews::SignInEnded(Ok(())));
        let models = self.session.models().clone();
        let work = async move {
            models.refresh(only(&provider)).await;
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

/// Asks one provider for its models.
pub(super) fn only(provider: &str) -> RefreshOptions {
    RefreshOptions {
        providers: Some(vec![provider.to_owned()]),
        network: NetworkAccess::Allowed,
        ..RefreshOptions::default()
    }
}

/// The person at the screen, as a sign-in sees them.
struct Desk(Mailbox);

impl LoginInteraction for Desk {
    fn prompt(&self, prompt: LoginPrompt) -> BoxFuture<'_, Result<String, OAuthError>> {
        Box::pin(async move {
            let (sender, answer) = oneshot::channel();
            let withdrawn = Withdrawal(Some(self.0.clone()));
            self.0.post(move |app| {
                if let Some(sign_in) = &mut app.sign_in {
                    sign_in.answer = Some(sender);
                    app.feed_dialog(DialogNews::SignInPrompt(prompt));
                }
            });
            let answer = answer.await.or(Err(OAuthError::Cancelled));
            withdrawn.answered();
            answer
        })
    }

    fn notify(&self, event: LoginEvent) {
        // The dialog looks at addresses before it has them opened.
        self.0
            .post(move |app| app.feed_dialog(DialogNews::SignIn(event)));
    }
}

/// Tells the dialog when a question is dropped before it was answered.
struct Withdrawal(Option<Mailbox>);

impl Withdrawal {
    fn answered(mut self) {
        self.0 = None;
    }
}

impl Drop for Withdrawal {
    fn drop(&mut self) {
        if let Some(mail) = self.0.take() {
            mail.post(|app| app.feed_dialog(DialogNews::SignInPromptWithdrawn));
        }
    }
}
