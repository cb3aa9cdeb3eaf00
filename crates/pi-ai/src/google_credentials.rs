//! Google's application-default credentials: access tokens for Vertex AI.
//!
//! Written by hand because `gcp_auth` goes past our proxy-aware client, reads the process
//! environment alone and cannot be pointed at a loopback server.
//! Finding a credential is in `source`, trading it for a token in `exchange`; this file keeps tokens
//! until shortly before they expire and lets one request at a time fetch a new one.

mod exchange;
mod source;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use secrecy::SecretString;

use crate::env::Env;
use crate::error::ProviderError;
use crate::transport::HttpClient;
use source::{Fingerprint, Source};

pub(crate) use source::credentials_file;

/// A token is replaced this long before it expires. Google's metadata server hands out a new one
/// four minutes before the end, so that a shorter time would only fetch the old one again.
const RENEWAL_MARGIN_MS: i64 = 225_000;

/// An access token and whom its use is billed to.
#[derive(Debug, Clone)]
pub(crate) struct GoogleToken {
    pub access_token: SecretString,
    /// The project to bill, for the `x-goog-user-project` header.
    pub quota_project: Option<String>,
}

/// Hands out access tokens; clones share one cache.
#[derive(Debug, Clone)]
pub(crate) struct GoogleCredentials {
    http: HttpClient,
    tokens: Arc<Mutex<HashMap<Fingerprint, TokenSlot>>>,
}

/// The token of one credential; locked while it is being fetched, so that others wait for it.
type TokenSlot = Arc<tokio::sync::Mutex<Option<CachedToken>>>;

#[derive(Debug)]
struct CachedToken {
    access_token: SecretString,
    expires_at_ms: i64,
}

impl GoogleCredentials {
    /// Creates an empty cache over a client.
    pub(crate) fn new(http: HttpClient) -> Self {
        Self {
            http,
            tokens: Arc::default(),
        }
    }

    /// Returns a token of the credential that the environment points to.
    pub(crate) async fn token(&self, env: &Env) -> Result<GoogleToken, ProviderError> {
        let source = Source::find(env).await?;
        let slot = self.slot(source.fingerprint());
        let mut cached = slot.lock().await;
        let usable = |token: &CachedToken| token.expires_at_ms - RENEWAL_MARGIN_MS > env.now_ms();
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

    fn slot(&self, fingerprint: Fingerprint) -> TokenSlot {
        let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(tokens.entry(fingerprint).or_default())
    }
}
