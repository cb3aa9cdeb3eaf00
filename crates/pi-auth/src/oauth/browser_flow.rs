//! The common browser flow: authorization page, code with PKCE, token exchange.
//!
//! Provider differences are data. Waiting for the code is in [`super::authorization_code`].

use std::time::Duration;

use pi_protocol::LoginEvent;
use tokio_util::sync::CancellationToken;

use super::authorization_code::{PortConflict, Redirect, RedirectConfig, with_query};
use super::callback_server::CallbackRoute;
use super::http::{TokenRequest, TokenResponse};
use super::pkce::{Pkce, random_state};
use super::{LoginInteraction, OAuthContext, OAuthError};

/// Configuration of a browser flow with PKCE.
#[derive(Debug)]
pub(super) struct BrowserFlow<'a> {
    pub(super) authorize_url: String,
    pub(super) token_url: String,
    pub(super) client_id: &'a str,
    pub(super) scope: &'a str,
    /// Additional query parameters for the authorization page.
    pub(super) parameters: &'a [(&'a str, &'a str)],
    /// Host, port and path of the callback URL.
    pub(super) callback: (&'static str, u16, &'static str),
    /// How long the user may take.
    pub(super) limit: Duration,
}

impl BrowserFlow<'_> {
    /// Sends the user to the authorization page, waits for the code and exchanges it.
    pub(super) async fn sign_in(
        &self,
        context: &OAuthContext,
        interaction: &dyn LoginInteraction,
        cancel: &CancellationToken,
    ) -> Result<TokenResponse, OAuthError> {
        let pkce = Pkce::generate();
        let state = random_state();
        let (host, port, path) = self.callback;
        let route = CallbackRoute {
            path: path.to_owned(),
            state: Some(state.clone()),
            extra: None,
        };
        let config = RedirectConfig {
            host: Some(host),
            port,
            on_conflict: PortConflict::Paste,
            route,
        };
        let redirect = Redirect::listen(config, &context.env).await?;
        let redirect_uri = redirect.uri.clone();
        let standard = [
            ("response_type", "code"),
            ("client_id", self.client_id),
            ("redirect_uri", &redirect_uri),
            ("scope", self.scope),
            ("code_challenge", &pkce.challenge),
            ("code_challenge_method", "S256"),
            ("state", &state),
        ];
        let url = with_query(&self.authorize_url, &[&standard, self.parameters].concat())?;
        let code = redirect
            .obtain_code(url, self.limit, interaction, cancel)
            .await?;
        interaction.notify(LoginEvent::progress("Exchanging code for tokens"));
        let exchange = CodeExchange {
            token_url: &self.token_url,
            client_id: self.client_id,
            code: &code.code,
            verifier: &pkce.verifier,
            redirect_uri: &redirect_uri,
        };
        exchange.send(context, cancel).await
    }
}

/// An authorization code to exchange for tokens.
#[derive(Debug)]
pub(super) struct CodeExchange<'a> {
    pub(super) token_url: &'a str,
    pub(super) client_id: &'a str,
    pub(super) code: &'a str,
    pub(super) verifier: &'a str,
    pub(super) redirect_uri: &'a str,
}

impl CodeExchange<'_> {
    pub(super) async fn send(
        &self,
        context: &OAuthContext,
        cancel: &CancellationToken,
    ) -> Result<TokenResponse, OAuthError> {
        let fields = [
            ("grant_type", "authorization_code"),
            ("client_id", self.client_id),
            ("code", self.code),
            ("code_verifier", self.verifier),
            ("redirect_uri", self.redirect_uri),
        ];
        TokenRequest::form("code exchange", self.token_url, &fields)
            .send_cancellable(context, cancel)
            .await?
            .ok()
    }
}
