//! Plain downloads for the crates above: documents and archives outside of any wire protocol.
//!
//! They share connections, proxies and certificates with everything else. What an answer means, how
//! long it may take and how large it may be is the caller's matter.

use std::fmt;

use bytes::Bytes;
use reqwest::Url;

use super::failure::with_causes;
use super::http::{HttpClient, user_agent};
use crate::env::Env;
use crate::error::ProviderError;

/// An answer whose body is read piece by piece.
pub struct Download {
    response: reqwest::Response,
}

impl fmt::Debug for Download {
    // Addresses of archives may carry a signature.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Download")
            .field("status", &self.status())
            .finish_non_exhaustive()
    }
}

impl HttpClient {
    /// Asks for a document. A redirect to another origin is not followed but answered, so that the
    /// caller decides which headers go along.
    pub async fn download(
        &self,
        url: &str,
        headers: &[(&str, &str)],
        env: &Env,
    ) -> Result<Download, ProviderError> {
        let target = Url::parse(url)
            .map_err(|error| ProviderError::invalid(format!("{url} is not an address: {error}")))?;
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
    /// Returns the status code.
    pub fn status(&self) -> u16 {
        self.response.status().as_u16()
    }

    /// Returns a header, if it is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.response.headers().get(name)?.to_str().ok()
    }

    /// Returns the next piece of the body, `None` at its end.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, ProviderError> {
        self.response.chunk().await.map_err(unreachable)
    }
}

/// Says what happened without the address, which the caller knows and may want to shorten.
fn unreachable(error: reqwest::Error) -> ProviderError {
    ProviderError::network(with_causes(&error.without_url()))
}
