//! The person on the other side of a sign-in.

use futures_util::future::BoxFuture;

use super::error::OAuthError;

/// Shows a sign-in to a person and asks what it needs.
pub trait LoginInteraction: Send + Sync {
    /// Asks and waits. Dropping the future withdraws the question; a person who declines to answer
    /// is [`OAuthError::Cancelled`].
    fn prompt(&self, prompt: LoginPrompt) -> BoxFuture<'_, Result<String, OAuthError>>;

    /// Shows something.
    fn notify(&self, event: LoginEvent);
}

/// A question to the person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoginPrompt {
    Text {
        message: String,
        placeholder: Option<String>,
    },
    /// Text that is not shown while it is typed.
    Secret { message: String },
    /// One of several; the answer is the choice's id.
    Select {
        message: String,
        choices: Vec<LoginChoice>,
    },
    /// The code or address that the browser ended up with, should it not reach us by itself.
    ManualCode {
        message: String,
        placeholder: Option<String>,
    },
}

/// One answer to a [`LoginPrompt::Select`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoginChoice {
    /// What the prompt returns.
    pub id: &'static str,
    /// What the person reads.
    pub label: String,
}

/// Something to show.
#[derive(Debug, Clone, PartialEq)]
pub enum LoginEvent {
    Info {
        message: String,
        /// Where to read more.
        links: Vec<LoginLink>,
    },
    /// An address to open in a browser.
    AuthUrl {
        url: String,
        /// What to do there.
        instructions: String,
    },
    /// A code to type into a page, on any device.
    DeviceCode {
        user_code: String,
        /// The page, possibly with the code already filled in.
        verification_uri: String,
        /// How often we ask whether it was done.
        interval_seconds: Option<f64>,
        /// How long the code is good for.
        expires_in_seconds: Option<f64>,
    },
    /// What is going on.
    Progress { message: String },
}

/// An address with a label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoginLink {
    pub url: String,
    /// What it leads to.
    pub label: String,
}

/// Asks for one of several and returns the id of the choice.
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
        .ok_or_else(|| OAuthError::InvalidInput(format!("there is no choice called {chosen}")))
}

impl LoginEvent {
    pub(super) fn progress(message: impl Into<String>) -> Self {
        Self::Progress {
            message: message.into(),
        }
    }
}
