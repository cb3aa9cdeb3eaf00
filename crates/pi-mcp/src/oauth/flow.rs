//! The steps of OAuth: find the server, get a client, refresh the token or send the user to the browser, exchange the code.

mod client;
mod tokens;

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::future::BoxFuture;
use http::HeaderValue;
use pi_auth::Pkce;
use pi_protocol::McpClientRegistration;
use pi_protocol::json::JsonObject;
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};
use url::Url;

use super::discovery::Discovery;
use super::endpoint::secure;
use super::{OAuthFailure, OAuthState, Tokens};
use client::{AuthMethod, Client};
use tokens::{parse_tokens, shown};

/// What to get a token with.
#[derive(Debug, Clone)]
pub(super) struct FlowRequest {
    /// Where the server says its metadata is.
    pub(super) resource_metadata: Option<String>,
    pub(super) scope: Option<String>,
    pub(super) redirect: String,
    /// Whether a refresh token may be used.
    pub(super) may_refresh: bool,
    /// What the browser brought.
    pub(super) code: Option<ReceivedCode>,
    /// The value that identifies a sign-in; without it the user is not asked.
    pub(super) state: Option<String>,
}

#[derive(Debug, Clone)]
pub(super) struct ReceivedCode {
    pub(super) code: String,
    pub(super) issuer: Option<String>,
}

pub(super) enum FlowOutcome {
    /// There are new tokens.
    Authorized,
    /// The user must sign in at this URL.
    Redirect(Url),
    SignInNeeded,
}

/// Returns the redirects that a stored client was registered with.
pub(super) fn registered_redirects(state: &JsonObject) -> Vec<String> {
    let client = state.get("clientInformation");
    let redirects = client.and_then(|client| client.get("redirect_uris"));
    let redirects = redirects.and_then(Value::as_array).into_iter().flatten();
    let redirects = redirects.filter_map(Value::as_str);
    redirects.map(str::to_owned).collect()
}

impl OAuthState {
    /// Gets tokens. Credentials that the server no longer accepts are removed, and the flow starts again once.
    ///
    /// Boxed: each of the callers would contain a copy of the flow.
    pub(super) fn authorize<'a>(
        self: &'a Arc<Self>,
        request: &'a FlowRequest,
    ) -> BoxFuture<'a, Result<FlowOutcome, OAuthFailure>> {
        Box::pin(async move {
            let mut is_retry = false;
            loop {
                let error = match self.run_flow(request).await {
                    Err(error) if !is_retry => error,
                    outcome => return outcome,
                };
                let OAuthFailure::Rejected { code, .. } = &error else {
                    return Err(error);
                };
                match code.as_str() {
                    "invalid_client" | "unauthorized_client" => {
                        let server = self.server.to_string();
                        self.update(move |state| {
                            state.clear();
                            state.insert("serverUrl".to_owned(), server.into());
                        })
                        .await?;
                    }
                    "invalid_grant" => self.update(remove_tokens).await?,
                    _ => return Err(error),
                }
                is_retry = true;
            }
        })
    }

    async fn run_flow(
        self: &Arc<Self>,
        request: &FlowRequest,
    ) -> Result<FlowOutcome, OAuthFailure> {
        let stored = self.load().await?;
        let discovery = self.discovery(&stored, request).await?;
        let resource = discovery.resource(&self.server)?;
        let scope = request.scope.clone().or_else(|| discovery.scopes());
        let client = self
            .client(&stored, &discovery, request, scope.as_deref())
            .await?;
        let tokens = TokenRequest {
            discovery: &discovery,
            client: &client,
            resource: resource.as_deref(),
        };
        if let Some(received) = &request.code {
            check_issuer(&discovery, received.issuer.as_deref())?;
            let verifier = stored.get("codeVerifier").and_then(Value::as_str);
            let form = vec![
                ("grant_type", "authorization_code".to_owned()),
                ("code", received.code.clone()),
                ("code_verifier", verifier.unwrap_or_default().to_owned()),
                ("redirect_uri", request.redirect.clone()),
            ];
            let received = self.request_tokens(&tokens, form).await?;
            self.save_tokens(received, scope).await?;
            return Ok(FlowOutcome::Authorized);
        }
        let known = Tokens::of(&stored);
        if let Some(refresh) = known.refresh.filter(|_| request.may_refresh) {
            let form = vec![
                ("grant_type", "refresh_token".to_owned()),
                ("refresh_token", refresh.clone()),
            ];
            match self.request_tokens(&tokens, form).await {
                Ok(mut received) => {
                    received.entry("refresh_token").or_insert(refresh.into());
                    self.save_tokens(received, known.scope).await?;
                    return Ok(FlowOutcome::Authorized);
                }
                Err(OAuthFailure::Other(error)) => {
                    tracing::debug!(error, "cannot refresh the token of an MCP server");
                }
                Err(error) => return Err(error),
            }
        }
        let Some(state) = &request.state else {
            return Ok(FlowOutcome::SignInNeeded);
        };
        let pkce = Pkce::generate();
        let url = authorization_url(&tokens, request, state, &pkce.challenge, scope.as_deref())?;
        let (state, verifier) = (state.clone(), pkce.verifier);
        self.update(move |stored| {
            stored.insert("oauthState".to_owned(), state.into());
            stored.insert("codeVerifier".to_owned(), verifier.into());
        })
        .await?;
        Ok(FlowOutcome::Redirect(url))
    }

    /// Returns the authorization server, which is remembered.
    async fn discovery(
        self: &Arc<Self>,
        stored: &JsonObject,
        request: &FlowRequest,
    ) -> Result<Discovery, OAuthFailure> {
        let is_configured = self.spec.auth_server_metadata_url.is_some();
        let known = Discovery::stored(stored).filter(|_| !is_configured);
        let discovery = match known {
            Some(known) if known.metadata.is_some() => known,
            Some(known) => Discovery {
                metadata: self
                    .server_metadata(&known.server, known.resource.is_none())
                    .await?,
                ..known
            },
            None => self.discover(request.resource_metadata.as_deref()).await?,
        };
        if !is_configured {
            let json = discovery.to_json(request.resource_metadata.as_deref());
            self.update(move |stored| drop(stored.insert("discovery".to_owned(), json)))
                .await?;
        }
        Ok(discovery)
    }

    /// Returns the configured client, the stored one, or a new one.
    async fn client(
        self: &Arc<Self>,
        stored: &JsonObject,
        discovery: &Discovery,
        request: &FlowRequest,
        scope: Option<&str>,
    ) -> Result<Client, OAuthFailure> {
        if let Some(id) = &self.spec.client_id {
            let secret = self.client_secret().await?;
            return Ok(Client {
                id: id.clone(),
                secret: secret.map(|secret| secret.expose_secret().to_owned()),
                method: None,
            });
        }
        if let Some(client) = stored.get("clientInformation").and_then(Client::parse) {
            return Ok(client);
        }
        if request.code.is_some() {
            return Err(OAuthFailure::Other(
                "the registered client was removed during the sign-in".to_owned(),
            ));
        }
        if self.spec.registration == McpClientRegistration::Document {
            return Err(OAuthFailure::Other(
                "there is no published document that describes this client; remove oauth.clientRegistration \"cimd\""
                    .to_owned(),
            ));
        }
        let client = self.register(discovery, &request.redirect, scope).await?;
        let parsed = Client::parse(&client);
        let parsed = parsed.ok_or_else(|| {
            OAuthFailure::Other("the authorization server sent an invalid registration".to_owned())
        })?;
        self.update(move |stored| drop(stored.insert("clientInformation".to_owned(), client)))
            .await?;
        Ok(parsed)
    }

    /// Registers a client (RFC 7591).
    async fn register(
        &self,
        discovery: &Discovery,
        redirect: &str,
        scope: Option<&str>,
    ) -> Result<Value, OAuthFailure> {
        let endpoint = discovery.endpoint("registration_endpoint", "/register")?;
        let mut body = json!({
            "client_name": self.spec.client_name.as_deref().unwrap_or("pi"),
            "redirect_uris": [redirect],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method":
                if self.spec.client_secret.is_some() { "client_secret_post" } else { "none" },
            "application_type": "native",
        });
        if let (Value::Object(body), Some(scope)) = (&mut body, scope) {
            body.insert("scope".to_owned(), scope.into());
        }
        let response = self.http.post_json(&endpoint, &body).await?;
        if !response.is_success() {
            return Err(OAuthFailure::Other(format!(
                "the registration failed with status {}: {}",
                response.status,
                shown(&response.text)
            )));
        }
        Ok(response.json.unwrap_or_default())
    }

    async fn request_tokens(
        &self,
        request: &TokenRequest<'_>,
        mut form: Vec<(&str, String)>,
    ) -> Result<JsonObject, OAuthFailure> {
        let endpoint = secure(request.discovery.endpoint("token_endpoint", "/token")?)?;
        if let Some(resource) = request.resource {
            form.push(("resource", resource.to_owned()));
        }
        let client = request.client;
        let supported = request
            .discovery
            .list("token_endpoint_auth_methods_supported");
        let method = client.auth_method(&supported.unwrap_or_default());
        let mut authorization = None;
        match (method, &client.secret) {
            (AuthMethod::Basic, Some(secret)) => {
                let text = STANDARD.encode(format!("{}:{secret}", client.id));
                let header = HeaderValue::from_str(&format!("Basic {text}"));
                authorization = header.ok().map(|mut header| {
                    header.set_sensitive(true);
                    header
                });
            }
            (AuthMethod::Post, Some(secret)) => {
                form.push(("client_id", client.id.clone()));
                form.push(("client_secret", secret.clone()));
            }
            _ => form.push(("client_id", client.id.clone())),
        }
        let response = self.http.post_form(&endpoint, &form, authorization).await?;
        parse_tokens(response)
    }

    async fn save_tokens(
        self: &Arc<Self>,
        mut tokens: JsonObject,
        scope: Option<String>,
    ) -> Result<(), OAuthFailure> {
        if let (None, Some(scope)) = (tokens.get("scope"), scope) {
            tokens.insert("scope".to_owned(), scope.into());
        }
        let lifetime = tokens.get("expires_in").and_then(Value::as_i64);
        let now = self.env.now_ms();
        let expires = lifetime.map(|seconds| now.saturating_add(seconds.saturating_mul(1_000)));
        self.update(move |state| {
            state.insert("tokens".to_owned(), Value::Object(tokens));
            match expires {
                Some(expires) => drop(state.insert("tokensExpireAt".to_owned(), expires.into())),
                None => drop(state.shift_remove("tokensExpireAt")),
            }
        })
        .await
    }
}

/// Removes the tokens from a state.
pub(super) fn remove_tokens(state: &mut JsonObject) {
    state.shift_remove("tokens");
    state.shift_remove("tokensExpireAt");
}

struct TokenRequest<'a> {
    discovery: &'a Discovery,
    client: &'a Client,
    resource: Option<&'a str>,
}

/// Checks who sent the code (RFC 9207).
fn check_issuer(discovery: &Discovery, received: Option<&str>) -> Result<(), OAuthFailure> {
    let is_expected = discovery.flag("authorization_response_iss_parameter_supported");
    if (received.is_some() || is_expected) && received != discovery.issuer() {
        return Err(OAuthFailure::Other(format!(
            "the response is from another authorization server: expected {}, not {}",
            discovery.issuer().unwrap_or("none"),
            received.unwrap_or("none")
        )));
    }
    Ok(())
}

fn authorization_url(
    request: &TokenRequest<'_>,
    flow: &FlowRequest,
    state: &str,
    challenge: &str,
    scope: Option<&str>,
) -> Result<Url, OAuthFailure> {
    let discovery = request.discovery;
    let lacks = |key: &str, value: &str| {
        discovery
            .list(key)
            .is_some_and(|list| !list.contains(&value))
    };
    if lacks("response_types_supported", "code")
        || lacks("code_challenge_methods_supported", "S256")
    {
        return Err(OAuthFailure::Other(
            "the authorization server does not support authorization codes with PKCE".to_owned(),
        ));
    }
    let mut url = discovery.endpoint("authorization_endpoint", "/authorize")?;
    let mut query = url.query_pairs_mut();
    query
        .append_pair("response_type", "code")
        .append_pair("client_id", &request.client.id)
        .append_pair("code_challenge", challenge)
        .append_pair("code_challenge_method", "S256")
        .append_pair("redirect_uri", &flow.redirect)
        .append_pair("state", state);
    if let Some(scope) = scope {
        query.append_pair("scope", scope);
        if scope
            .split_whitespace()
            .any(|scope| scope == "offline_access")
        {
            query.append_pair("prompt", "consent");
        }
    }
    if let Some(resource) = request.resource {
        query.append_pair("resource", resource);
    }
    drop(query);
    Ok(url)
}

#[cfg(test)]
mod tests;
