//! Plain downloads for the crates above: documents and archives outside of any wire protocol.
//!
//! They share connections, proxies and certificates with all other requests. Status handling,
//! timeouts and size limits are up to the caller.

use std::fmt;

use bytes::Bytes;
use pi_env::Env;
use pi_protocol::ProviderError;
use reqwest::Url;

use super::client::{HttpClient, user_agent};
use super::network_error::error_chain;

/// A response whose body is read chunk by chunk.
pub struct Download {
    response: reqwest::Response,
}

impl fmt::Debug for Download {
    // Archive URLs may carry a signature.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Download")
            .field("status", &self.status())
            .finish_non_exhaustive()
    }
}

impl HttpClient {
    /// Sends a GET request. A redirect to another origin is returned instead of followed, so that
    /// the caller decides which headers to send there.
    pub async fn download(
        &self,
        url: &str,
        headers: &[(&str, &str)],
        env: &Env,
    ) -> Result<Download, ProviderError> {
        let target = Url::parse(url)
            .map_err(|error| ProviderError::invalid(format!("invalid URL: {url}: {error}")))?;
        let client = self.client_for(&target, env)?;
        let mut request = client.get(target).header("user-agent", user_agent());
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = request.send().await.map_err(unreachable)?;
        Ok(Download { response })
    }
}

impl Download {
    pub fn status(&self) -> u16 {
        self.response.status().as_u16()
    }

    /// Returns a header, or `None` if it is missing or not text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.response.headers().get(name)?.to_str().ok()
    }

    /// Returns the next chunk of the body, `None` at its end.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, ProviderError> {
        self.response.chunk().await.map_err(unreachable)
    }
}

/// The error leaves out the URL, which the caller knows and may want to shorten.
fn unreachable(error: reqwest::Error) -> ProviderError {
    ProviderError::network(error_chain(&error.without_url()))
}
