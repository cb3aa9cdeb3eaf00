//! Signs in with the browser, or with the URL that it was redirected to.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_auth::{CallbackRoute, CallbackServer};
use pi_protocol::hex;
use pi_protocol::json::JsonObject;
use thiserror::Error;
use url::Url;

use super::flow::{FlowOutcome, FlowRequest, ReceivedCode, registered_redirects, remove_tokens};
use super::redirect::RedirectSettings;
use super::{OAuthFailure, OAuthSession, OAuthState, Tokens};
use crate::auth::AuthChallenge;

/// Shows a sign-in to the user.
pub trait SignInPrompt: Send + Sync {
    /// Shows the URL of the authorization server and opens it.
    fn show_url(&self, url: &str) -> BoxFuture<'_, ()>;

    /// Asks for the URL that the browser was redirected to; `None` cancels the sign-in. Dropping the result ends the question.
    fn redirect_url(&self) -> BoxFuture<'_, Option<String>>;
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SignInError {
    #[error("the sign-in was canceled")]
    Canceled,
    #[error("{0}")]
    Failed(String),
}

impl From<OAuthFailure> for SignInError {
    fn from(failure: OAuthFailure) -> Self {
        Self::Failed(failure.to_string())
    }
}

impl OAuthSession {
    /// Signs in and stores the tokens. Drop the result to cancel.
    pub async fn sign_in(
        &self,
        challenge: Option<AuthChallenge>,
        prompt: &dyn SignInPrompt,
    ) -> Result<(), SignInError> {
        let state = &self.0;
        let stored = state.load().await?;
        let settings = RedirectSettings::new(&state.spec);
        let settings = settings
            .ok_or_else(|| SignInError::Failed("the callback URL is not valid".to_owned()))?;
        let secret = hex(&rand::random::<[u8; 32]>());
        let (server, redirect) = listen(&settings, &stored, &secret).await?;
        state.forget_unusable_client(&stored, &redirect).await?;
        let challenge = challenge.unwrap_or_default();
        let needs_scope = challenge.is_insufficient_scope;
        let granted = Tokens::of(&stored).scope.filter(|_| needs_scope);
        let scopes = [state.spec.scope.clone(), granted, challenge.scope];
        let mut request = FlowRequest {
            resource_metadata: challenge.resource_metadata,
            scope: merge_scopes(&scopes),
            redirect,
            may_refresh: !needs_scope,
            code: None,
            state: Some(secret.clone()),
        };
        let url = match state.authorize(&request).await? {
            FlowOutcome::Authorized => return Ok(()),
            FlowOutcome::Redirect(url) => url,
            FlowOutcome::SignInNeeded => {
                return Err(SignInError::Failed("the sign-in did not start".to_owned()));
            }
        };
        prompt.show_url(url.as_str()).await;
        let code = tokio::select! {
            // The prompt is shown first, even if the browser is faster.
            biased;
            pasted = prompt.redirect_url() => {
                let pasted = pasted.filter(|text| !text.trim().is_empty());
                let pasted = pasted.ok_or(SignInError::Canceled)?;
                parse_redirect(&pasted, &secret, &request.redirect)?
            }
            code = server.wait() => {
                let code = code.map_err(|error| SignInError::Failed(error.to_string()))?;
                ReceivedCode { code: code.code, issuer: code.issuer }
            }
        };
        request.code = Some(code);
        match state.authorize(&request).await? {
            FlowOutcome::Authorized => Ok(()),
            FlowOutcome::Redirect(_) | FlowOutcome::SignInNeeded => Err(SignInError::Failed(
                "the authorization server did not accept the code".to_owned(),
            )),
        }
    }
}

impl OAuthState {
    /// Removes a registered client that cannot use the redirect; its tokens belong to it.
    async fn forget_unusable_client(
        self: &Arc<Self>,
        stored: &JsonObject,
        redirect: &str,
    ) -> Result<(), OAuthFailure> {
        let is_usable = self.spec.client_id.is_some()
            || registered_redirects(stored)
                .iter()
                .any(|known| known == redirect);
        if is_usable || !(stored.contains_key("clientInformation") || stored.contains_key("tokens"))
        {
            return Ok(());
        }
        self.update(|state| {
            state.shift_remove("clientInformation");
            remove_tokens(state);
        })
        .await
    }
}

/// Listens for the redirect, on the port of a registered client if possible. Returns the URL, too.
async fn listen(
    settings: &RedirectSettings,
    stored: &JsonObject,
    state: &str,
) -> Result<(CallbackServer, String), SignInError> {
    let route = CallbackRoute {
        path: settings.path.clone(),
        state: Some(state.to_owned()),
        extra: None,
    };
    let registered = registered_redirects(stored).into_iter().next();
    let registered = registered.and_then(|url| Url::parse(&url).ok()?.port());
    let wanted = settings.port.or(registered).unwrap_or(0);
    let mut server = CallbackServer::bind(&settings.host, wanted, route.clone()).await;
    if server.is_err() && settings.port.is_none() {
        server = CallbackServer::bind(&settings.host, 0, route).await;
    }
    let failed = |error: std::io::Error| {
        SignInError::Failed(format!(
            "cannot listen for the browser on port {wanted}: {error}"
        ))
    };
    let server = server.map_err(failed)?;
    let port = server.port().map_err(failed)?;
    Ok((server, settings.url(port)))
}

/// Returns the code in a URL that the browser was redirected to.
fn parse_redirect(text: &str, state: &str, redirect: &str) -> Result<ReceivedCode, SignInError> {
    let failed = |text: &str| SignInError::Failed(text.to_owned());
    let url = Url::parse(text.trim());
    let url =
        url.map_err(|_invalid| failed("paste the complete URL from the browser's address bar"))?;
    let expected = Url::parse(redirect).map_err(|_invalid| failed("the redirect is not valid"))?;
    if url.origin() != expected.origin() || url.path() != expected.path() {
        return Err(failed("the URL does not belong to this sign-in"));
    }
    let parameter = |name: &str| {
        let found = url.query_pairs().find(|(key, _)| key == name);
        found.map(|(_, value)| value.into_owned())
    };
    if let Some(error) = parameter("error") {
        let text = parameter("error_description").unwrap_or(error);
        return Err(SignInError::Failed(text));
    }
    if parameter("state").as_deref() != Some(state) {
        return Err(failed("the URL belongs to another sign-in"));
    }
    let code = parameter("code").filter(|code| !code.is_empty());
    Ok(ReceivedCode {
        code: code.ok_or_else(|| failed("the URL has no authorization code"))?,
        issuer: parameter("iss"),
    })
}

/// Returns all scopes, each once.
fn merge_scopes(lists: &[Option<String>]) -> Option<String> {
    let mut scopes: Vec<&str> = Vec::new();
    for scope in lists
        .iter()
        .flatten()
        .flat_map(|list| list.split_whitespace())
    {
        if !scopes.contains(&scope) {
            scopes.push(scope);
        }
    }
    (!scopes.is_empty()).then(|| scopes.join(" "))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn a_pasted_url_must_belong_to_the_sign_in() {
        let redirect = "http://127.0.0.1:1/callback";
        let parse = |query: &str| parse_redirect(&format!("{redirect}{query}"), "s", redirect);
        let received = parse("?code=c&state=s&iss=https%3A%2F%2Fa").unwrap();
        assert_eq!(
            (received.code.as_str(), received.issuer.as_deref()),
            ("c", Some("https://a"))
        );
        for query in [
            "",
            "?code=c",
            "?code=c&state=x",
            "?state=s",
            "?error=denied&state=s",
        ] {
            parse(query).unwrap_err();
        }
        for url in [
            "c",
            "http://127.0.0.1:2/callback?code=c&state=s",
            "http://127.0.0.1:1/x?code=c&state=s",
        ] {
            parse_redirect(url, "s", redirect).unwrap_err();
        }
    }

    #[test]
    fn scopes_are_merged() {
        let lists = [Some("a b".to_owned()), None, Some("b c".to_owned())];
        assert_eq!(merge_scopes(&lists).as_deref(), Some("a b c"));
        assert_eq!(merge_scopes(&[None, Some(" ".to_owned())]), None);
    }
}
