//! Interaction with the user during a sign-in.

use futures_util::future::BoxFuture;
use pi_protocol::{LoginChoice, LoginEvent, LoginPrompt};

use super::error::OAuthError;

/// Shows the sign-in to the user and prompts for input.
pub trait LoginInteraction: Send + Sync {
    /// Prompts the user and waits. Dropping the future withdraws the prompt. If the user declines,
    /// the result is [`OAuthError::Cancelled`].
    fn prompt(&self, prompt: LoginPrompt) -> BoxFuture<'_, Result<String, OAuthError>>;

    fn notify(&self, event: LoginEvent);
}

/// Prompts for one of several choices and returns its ID.
pub(crate) async fn choose<const COUNT: usize>(
    interaction: &dyn LoginInteraction,
    message: impl Into<String>,
    choices: [(&'static str, &str); COUNT],
) -> Result<&'static str, OAuthError> {
    let known = choices.map(|(id, _)| id);
    let choices = choices.map(|(id, label)| LoginChoice {
        id: id.to_owned(),
        label: label.to_owned(),
    });
    let prompt = interaction.prompt(LoginPrompt::Select {
        message: message.into(),
        choices: choices.into(),
    });
    let chosen = prompt.await?;
    known
        .into_iter()
        .find(|id| *id == chosen)
        .ok_or_else(|| OAuthError::InvalidInput(format!("unknown choice {chosen}")))
}
