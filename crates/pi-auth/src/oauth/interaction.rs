//! Interaction with the user during a sign-in.

use futures_util::future::BoxFuture;

use super::error::OAuthError;

/// Shows the sign-in to the user and prompts for input.
pub trait LoginInteraction: Send + Sync {
    /// Prompts the user and waits. Dropping the future withdraws the prompt. If the user declines,
    /// the result is [`OAuthError::Cancelled`].
    fn prompt(&self, prompt: LoginPrompt) -> BoxFuture<'_, Result<String, OAuthError>>;

    fn notify(&self, event: LoginEvent);
}

#[derive(Debug, Clone, PartialEq, Eq)]
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoginChoice {
    /// Value that the prompt returns.
    pub id: &'static str,
    pub label: String,
}

/// Progress of a sign-in, to show to the user.
#[derive(Debug, Clone, PartialEq)]
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
    },
    Progress {
        message: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoginLink {
    pub url: String,
    pub label: String,
}

/// Prompts for one of several choices and returns its ID.
pub(crate) async fn choose<const COUNT: usize>(
    interaction: &dyn LoginInteraction,
    message: impl Into<String>,
    choices: [(&'static str, &str); COUNT],
) -> Result<&'static str, OAuthError> {
    let known = choices.map(|(id, _)| id);
    let choices = choices.map(|(id, label)| LoginChoice {
        id,
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

impl LoginEvent {
    pub(super) fn progress(message: impl Into<String>) -> Self {
        Self::Progress {
            message: message.into(),
        }
    }
}
