//! Signs in to the servers of a session, and out of them.

use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, join_all};
use pi_config::ConfiguredMcpServer;
use pi_protocol::McpState;

use crate::connection::McpConnection;
use crate::oauth::{OAuthSession, SignInError, SignInPrompt};
use crate::servers::{McpNoticeLevel, McpServers, McpSession, ServersState};

/// Opens a URL in the user's browser.
pub fn open_url(url: &str) {
    if let Err(error) = open::that_detached(url) {
        tracing::debug!(%error, "cannot open the browser");
    }
}

impl McpServers {
    /// Signs in to a server with the dialogs of the session, and connects again.
    pub(crate) async fn log_in(&self, name: &str) {
        let Some(session) = self.0.session() else {
            return;
        };
        if !session.has_user() {
            let message = format!(
                "Signing in to MCP server \"{name}\" needs a user. Run pi mcp login {name}."
            );
            return self.0.notify(McpNoticeLevel::Error, message).await;
        }
        let prompt = SessionPrompt {
            session,
            name: name.to_owned(),
        };
        match self.sign_in(name, &prompt).await {
            Ok(count) => {
                let message = format!("Signed in to MCP server \"{name}\" ({count} tools)");
                self.0.notify(McpNoticeLevel::Info, message).await;
            }
            Err(SignInError::Canceled) => {
                let message = "Sign-in canceled".to_owned();
                self.0.notify(McpNoticeLevel::Info, message).await;
            }
            Err(SignInError::Failed(message)) => {
                self.0.notify(McpNoticeLevel::Error, message).await;
            }
        }
    }

    /// Signs in to a server and connects again; returns the number of its tools.
    pub async fn sign_in(
        &self,
        name: &str,
        prompt: &dyn SignInPrompt,
    ) -> Result<usize, SignInError> {
        let Some((oauth, connection)) = self.0.oauth(name) else {
            return Err(SignInError::Failed(format!(
                "MCP server \"{name}\" does not use OAuth"
            )));
        };
        let signed_in = oauth.sign_in(connection.challenge(), prompt).await;
        signed_in.map_err(|error| match error {
            SignInError::Failed(text) => SignInError::Failed(format!("Sign-in failed: {text}")),
            canceled @ SignInError::Canceled => canceled,
        })?;
        self.reconnect(name)
            .await
            .map_err(|error| SignInError::Failed(format!("Signed in, but {error}")))?;
        Ok(connection.status().tools.len())
    }

    /// Removes the credentials of a server and disconnects.
    pub(crate) async fn log_out(&self, name: &str) {
        let (level, message) = match self.sign_out(name).await {
            Ok(true) => (
                McpNoticeLevel::Info,
                format!("Signed out of MCP server \"{name}\""),
            ),
            Ok(false) => (
                McpNoticeLevel::Info,
                format!("There are no credentials for MCP server \"{name}\""),
            ),
            Err(error) => (McpNoticeLevel::Error, error),
        };
        self.0.notify(level, message).await;
    }

    /// Removes the credentials of a server and disconnects; returns whether there were any.
    pub async fn sign_out(&self, name: &str) -> Result<bool, String> {
        let Some((oauth, connection)) = self.0.oauth(name) else {
            return Ok(false);
        };
        let removed = oauth.remove().await.map_err(|error| error.to_string())?;
        connection.sign_out().await;
        self.0.connection_changed(name, &connection);
        Ok(removed)
    }

    /// Connects to servers whose credentials another process has stored since they were needed.
    pub async fn apply_new_credentials(&self) {
        let signed_in: Vec<String> = {
            let inner = self.0.inner();
            let waiting = inner.servers.iter().filter(|server| {
                let needed = server.needed_sign_in.as_ref();
                needed
                    .is_some_and(|needed| needed.tokens != self.0.stored_tokens(&server.configured))
            });
            waiting
                .map(|server| server.configured.spec.name.clone())
                .collect()
        };
        join_all(signed_in.iter().map(|name| self.reconnect(name))).await;
    }
}

impl ServersState {
    /// Returns the stored tokens of a server.
    pub(crate) fn stored_tokens(&self, server: &ConfiguredMcpServer) -> Option<String> {
        self.connector.oauth(server)?.stored_tokens()
    }

    fn oauth(&self, name: &str) -> Option<(OAuthSession, McpConnection)> {
        let inner = self.inner();
        let server = inner.find(name)?;
        let state = server.live()?.state();
        if state == McpState::Closed {
            return None;
        }
        let oauth = self.connector.oauth(&server.configured)?;
        Some((oauth, server.live()?.clone()))
    }
}

/// The dialogs of a session.
struct SessionPrompt {
    session: Arc<dyn McpSession>,
    name: String,
}

impl SignInPrompt for SessionPrompt {
    fn show_url(&self, url: &str) -> BoxFuture<'_, ()> {
        let message = format!(
            "Sign in to MCP server \"{}\" in your browser:\n{url}",
            self.name
        );
        open_url(url);
        self.session.notify(McpNoticeLevel::Info, message)
    }

    fn redirect_url(&self) -> BoxFuture<'_, Option<String>> {
        if !self.session.asks_for_text() {
            // The redirect of the browser arrives without it.
            return std::future::pending().boxed();
        }
        let title = format!(
            "Waiting for the sign-in to \"{}\". If the browser runs on another machine, paste the URL it was redirected to.",
            self.name
        );
        let placeholder = "http://127.0.0.1:…/callback?code=…".to_owned();
        self.session.input(title, placeholder).boxed()
    }
}
