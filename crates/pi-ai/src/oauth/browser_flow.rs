//! A sign-in in a browser as most services have it: a page, a code with a proof key, an exchange.
//!
//! What differs between them is data. Waiting for the code is [`super::authorization_code`]'s.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::authorization_code::{Redirect, RedirectAddress, with_query};
use super::callback_server::CallbackRoute;
use super::http::{TokenAnswer, TokenRequest};
use super::pkce::{Pkce, random_state};
use super::{LoginEvent, LoginInteraction, OAuthContext, OAuthError};

/// A sign-in in a browser with a proof key, as data.
#[derive(Debug)]
pub(super) struct BrowserFlow<'a> {
    /// The page to open.
    pub(super) authorize_url: String,
    /// Where the code is exchanged.
    pub(super) token_url: String,
    pub(super) client_id: &'a str,
    pub(super) scope: &'a str,
    /// What the page wants to know beside that.
    pub(super) parameters: &'a [(&'a str, &'a str)],
    /// The host, port and path the browser is sent back to.
    pub(super) callback: (&'static str, u16, &'static str),
    /// How long somebody may take.
    pub(super) limit: Duration,
}

impl BrowserFlow<'_> {
    /// Sends the user to the page, waits for the code and exchanges it.
    pub(super) async fn sign_in(
        &self,
        context: &OAuthContext,
        interaction: &dyn LoginInteraction,
        cancel: &CancellationToken,
    ) -> Result<TokenAnswer, OAuthError> {
        let pkce = Pkce::generate();
        let state = random_state();
        let (host, port, path) = self.callback;
        let route = CallbackRoute {
            path: path.to_owned(),
            state: Some(state.clone()),
        };
        let address = RedirectAddress {
            host: Some(host),
            port,
            route,
        };
        let redirect = Redirect::listen(address, &context.env).await;
        let redirect_uri = redirect.uri.clone();
        let usual = [
            ("response_type", "code"),
            ("client_id", self.client_id),
            ("redirect_uri", &redirect_uri),
            ("scope", self.scope),
            ("code_challenge", &pkce.challenge),
            ("code_challenge_method", "S256"),
            ("state", &state),
        ];
        let url = with_query(&self.authorize_url, &[&usual, self.parameters].concat())?;
        let code = redirect
            .obtain_code(url, self.limit, interaction, cancel)
            .await?;
        interaction.notify(LoginEvent::progress("Exchanging the code for tokens"));
        let exchange = CodeExchange {
            token_url: &self.token_url,
            client_id: self.client_id,
            code: &code,
            verifier: &pkce.verifier,
            redirect_uri: &redirect_uri,
        };
        exchange.send(context, cancel).await
    }
}

/// A code on its way to become tokens.
#[derive(Debug)]
pub(super) struct CodeExchange<'a> {
    pub(super) token_url: &'a str,
    pub(super) client_id: &'a str,
    pub(super) code: &'a str,
    pub(super) verifier: &'a str,
    pub(super) redirect_uri: &'a str,
}

impl CodeExchange<'_> {
    /// Exchanges the code.
    pub(super) async fn send(
        &self,
        context: &OAuthContext,
        cancel: &CancellationToken,
    ) -> Result<TokenAnswer, OAuthError> {
        let fields = [
            ("grant_type", "authorization_code"),
            ("client_id", self.client_id),
            ("code", self.code),
            ("code_verifier", self.verifier),
            ("redirect_uri", self.redirect_uri),
        ];
        TokenRequest::form("the code exchange", self.token_url, &fields)
            .send_unless(context, cancel)
            .await?
            .ok()
    }
}
