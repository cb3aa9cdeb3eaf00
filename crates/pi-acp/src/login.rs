//! `/login`: lists the providers, and runs the sign-in of one.
//!
//! Pages are links in the conversation, and questions are dialogs. API keys are not asked for: forms do not mask them, and
//! clients may store what was entered.

use futures_util::future::BoxFuture;
use pi_host::{
    DialogPrompt, DialogResponse, ExtensionDialog, LoginInteraction, OAuthError, SignIn,
    describe_error, fetch_models,
};
use pi_protocol::{AuthKind, JsonRpcError, LoginEvent, LoginOption, LoginPrompt};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::feed::Feed;
use crate::permissions;
use crate::session::AcpSession;

const KEYS: &str = "Run `pi acp --login` in a terminal, or set the environment variable of the provider and restart the agent.";

/// Runs `/login` and returns its text.
pub(crate) async fn run(session: &AcpSession, wanted: &str) -> Result<String, JsonRpcError> {
    let workspace = session.backing.own_runtime()?.workspace();
    let agent_session = session.session();
    let models = agent_session.models();
    let sign_in = SignIn::new(models, &workspace.env, &workspace.settings);
    let options = sign_in.options();
    if wanted.is_empty() {
        return Ok(listing(&options));
    }
    let of_provider = |option: &&LoginOption| option.provider == wanted;
    let mut known = options.iter().filter(of_provider);
    if known.clone().next().is_none() {
        let message = format!("unknown provider \"{wanted}\"; /login lists them");
        return Err(JsonRpcError::invalid_request(message));
    }
    if !known.any(|option| option.kind == AuthKind::OAuth) {
        return Ok(format!("{wanted} uses an API key. {KEYS}"));
    }
    let (events, mut shown) = mpsc::unbounded_channel();
    let interaction = ClientLogin {
        feed: &session.feed,
        events,
    };
    // Ends with the command.
    let cancel = CancellationToken::new();
    let signing_in = sign_in.sign_in(wanted, AuthKind::OAuth, &interaction, &cancel);
    let mut signing_in = std::pin::pin!(signing_in);
    let signed_in = loop {
        tokio::select! {
            biased;
            Some(text) = shown.recv() => session.feed.say(&text).await,
            signed_in = &mut signing_in => break signed_in,
        }
    };
    signed_in.map_err(|error| JsonRpcError::invalid_request(describe_error(&error)))?;
    fetch_models(models, Some(wanted)).await;
    session.feed.send_config().await;
    Ok(format!(
        "Signed in to {wanted}. The credential is stored in auth.json."
    ))
}

/// Describes the providers: what is configured, and where one can sign in.
fn listing(options: &[LoginOption]) -> String {
    let with_page = options.iter().filter(|it| it.kind == AuthKind::OAuth);
    let with_page = with_page.map(|option| {
        let state = match option.status {
            Some(_) => " (signed in)",
            None => "",
        };
        format!("\n- `{}`: {}{state}", option.provider, option.name)
    });
    let mut text = "Sign in with `/login PROVIDER`:\n".to_owned();
    text.extend(with_page);
    let configured = options
        .iter()
        .filter(|it| it.kind == AuthKind::ApiKey && it.status.is_some());
    let configured: Vec<&str> = configured.map(|it| it.provider.as_str()).collect();
    if !configured.is_empty() {
        text.push_str("\n\nConfigured API keys: ");
        text.push_str(&configured.join(", "));
    }
    text.push_str("\n\nTo add an API key: ");
    text.push_str(KEYS);
    text
}

/// Shows a sign-in in the conversation.
struct ClientLogin<'feed> {
    feed: &'feed Feed,
    events: mpsc::UnboundedSender<String>,
}

impl ClientLogin<'_> {
    async fn ask(&self, prompt: DialogPrompt) -> Result<String, OAuthError> {
        let dialog = ExtensionDialog {
            id: uuid::Uuid::new_v4().to_string(),
            prompt,
            timeout: None,
        };
        match permissions::show_dialog(self.feed, dialog).await {
            DialogResponse::Text(text) => Ok(text),
            DialogResponse::Confirmed(_) | DialogResponse::Cancelled => Err(OAuthError::Cancelled),
        }
    }
}

impl LoginInteraction for ClientLogin<'_> {
    fn prompt(&self, prompt: LoginPrompt) -> BoxFuture<'_, Result<String, OAuthError>> {
        Box::pin(async move {
            match prompt {
                // The redirect of the browser arrives without it.
                LoginPrompt::ManualCode { .. } if !self.feed.client.forms => {
                    std::future::pending().await
                }
                LoginPrompt::Text {
                    message,
                    placeholder,
                }
                | LoginPrompt::ManualCode {
                    message,
                    placeholder,
                } => {
                    let title = message;
                    self.ask(DialogPrompt::Input { title, placeholder }).await
                }
                LoginPrompt::Select { message, choices } => {
                    let options = choices.iter().map(|choice| choice.label.clone()).collect();
                    let title = message;
                    let label = self.ask(DialogPrompt::Select { title, options }).await?;
                    let chosen = choices.into_iter().find(|choice| choice.label == label);
                    chosen.map(|choice| choice.id).ok_or(OAuthError::Cancelled)
                }
                LoginPrompt::Secret { message } => {
                    let problem = format!("{message} cannot be entered here. {KEYS}");
                    Err(OAuthError::InvalidInput(problem))
                }
            }
        })
    }

    fn notify(&self, event: LoginEvent) {
        let text = match event {
            LoginEvent::Info { message, links } => {
                let links = links
                    .iter()
                    .map(|link| format!("\n- [{}]({})", link.label, link.url));
                format!("{message}{}\n\n", links.collect::<String>())
            }
            LoginEvent::AuthUrl { url, instructions } => {
                format!("Open this page to sign in: <{url}>\n\n{instructions}\n\n")
            }
            LoginEvent::DeviceCode {
                user_code,
                verification_uri,
                ..
            } => format!("Open <{verification_uri}> and enter the code `{user_code}`.\n\n"),
            LoginEvent::Progress { message } => format!("{message}\n\n"),
        };
        // Nothing is shown once the command has ended.
        self.events.send(text).ok();
    }
}
