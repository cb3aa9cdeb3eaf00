//! Google application default credentials: access tokens for Vertex AI.
//!
//! Implemented here because `gcp_auth` bypasses our proxy-aware client, reads only the process
//! environment and cannot be pointed at a loopback server. `source` locates the credential and
//! `exchange` trades it for a token. This file caches tokens until shortly before they expire and
//! lets only one request at a time fetch a new one.

mod exchange;
mod source;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use secrecy::SecretString;

use pi_env::Env;
use pi_http::HttpClient;
use pi_protocol::ProviderError;
use source::{CredentialFingerprint, GoogleCredentialSource};

pub(crate) use source::credentials_file;

/// How long before its expiry a token is replaced. Google's metadata server issues a new token four
/// minutes before expiry, so a longer margin would only fetch the old one again.
const REFRESH_MARGIN_MS: i64 = 225_000;

/// An access token and the project billed for its use.
#[derive(Debug, Clone)]
pub struct GoogleToken {
    pub access_token: SecretString,
    /// Project to bill, for the `x-goog-user-project` header.
    pub quota_project: Option<String>,
}

/// Provides access tokens; clones share one cache.
#[derive(Debug, Clone)]
pub struct GoogleCredentials {
    http: HttpClient,
    tokens: Arc<Mutex<HashMap<CredentialFingerprint, TokenSlot>>>,
}

/// Cached token of one credential; locked while a new token is fetched, so other requests wait for
/// it.
type TokenSlot = Arc<tokio::sync::Mutex<Option<CachedToken>>>;

#[derive(Debug)]
struct CachedToken {
    access_token: SecretString,
    expires_at_ms: i64,
}

impl GoogleCredentials {
    pub fn new(http: HttpClient) -> Self {
        Self {
            http,
            tokens: Arc::default(),
        }
    }

    /// Returns a token for the credential that the environment refers to.
    pub async fn token(&self, env: &Env) -> Result<GoogleToken, ProviderError> {
        let source = GoogleCredentialSource::find(env).await?;
        let slot = self.slot(source.fingerprint());
        let mut cached = slot.lock().await;
        let usable = |token: &CachedToken| token.expires_at_ms - REFRESH_MARGIN_MS > env.now_ms();
        if !cached.as_ref().is_some_and(usable) {
            *cached = None;
        }
        let token = match &mut *cached {
            Some(token) => token,
            empty => empty.insert(exchange::fetch_token(&source, &self.http, env).await?),
        };
        Ok(GoogleToken {
            access_token: token.access_token.clone(),
            quota_project: source.quota_project(env),
        })
    }

    fn slot(&self, fingerprint: CredentialFingerprint) -> TokenSlot {
        let mut tokens = self.tokens.lock();
        Arc::clone(tokens.entry(fingerprint).or_default())
    }
}
