//! The HTTP client all requests share.
//!
//! Nothing is built before the first request: no TLS roots, no connection pool.

use std::sync::{Arc, OnceLock};

use crate::error::ProviderError;

/// A handle to the connections all requests share; cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct HttpClient(Arc<OnceLock<reqwest::Client>>);

impl HttpClient {
    /// Creates a handle; nothing is loaded until the first request.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the client, built on first use.
    pub(crate) fn client(&self) -> Result<reqwest::Client, ProviderError> {
        if let Some(client) = self.0.get() {
            return Ok(client.clone());
        }
        let built = reqwest::Client::builder()
            .user_agent(user_agent())
            .no_proxy()
            .build()
            .map_err(|error| {
                ProviderError::network(format!("The HTTP client could not be set up: {error}"))
            })?;
        Ok(self.0.get_or_init(|| built).clone())
    }
}

/// Returns the name we sign requests with.
pub(crate) fn user_agent() -> String {
    format!(
        "pi/{} ({}; {})",
        env!("CARGO_PKG_VERSION"),
        std::env::consts::OS,
        std::env::consts::ARCH
    )
}
