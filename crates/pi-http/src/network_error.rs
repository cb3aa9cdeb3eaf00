//! Error messages for network failures, and the timeouts around waits.
//!
//! Addresses are reduced to host and port: paths and queries may hold secrets.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::io;
use std::time::Duration;

use pi_protocol::ProviderError;
use reqwest::Url;

/// Where a request goes, as shown in error messages.
#[derive(Debug, Clone)]
pub struct Route {
    host: String,
    proxy: Option<String>,
}

impl Route {
    pub fn new(target: &Url, proxy: Option<&Url>) -> Self {
        Self {
            host: authority(target),
            proxy: proxy.map(authority),
        }
    }
}

impl fmt::Display for Route {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.host)?;
        match &self.proxy {
            Some(proxy) => write!(formatter, " through proxy {proxy}"),
            None => Ok(()),
        }
    }
}

fn authority(url: &Url) -> String {
    let host = url.host_str().unwrap_or("the service");
    match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

/// A wait with a configurable timeout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeoutKind {
    /// Until the connection is established.
    Connect,
    /// For the first byte of the response.
    FirstByte,
    /// For the next chunk of the response.
    Idle,
}

impl TimeoutKind {
    /// Awaits the future, at most for `limit` if there is one. A future that is already complete
    /// wins over the timer, so a consumer that was slow to poll does not lose data that has arrived.
    pub async fn enforce<F: Future>(
        self,
        limit: Option<Duration>,
        route: &Route,
        future: F,
    ) -> Result<F::Output, ProviderError> {
        match limit {
            None => Ok(future.await),
            Some(limit) => tokio::time::timeout(limit, future)
                .await
                .map_err(|_elapsed| self.timed_out(limit, route)),
        }
    }

    pub fn timed_out(self, limit: Duration, route: &Route) -> ProviderError {
        ProviderError::network(match self {
            Self::Connect => format!("Connecting to {route} timed out after {limit:?}"),
            Self::FirstByte => {
                format!("Waiting for a response from {route} timed out after {limit:?}")
            }
            Self::Idle => {
                format!("The response from {route} stalled and timed out after {limit:?}")
            }
        })
    }
}

/// Error for a request that failed before its response began.
pub fn send_error(error: reqwest::Error, route: &Route) -> ProviderError {
    let error = error.without_url();
    if error.is_builder() {
        let cause = root_cause(&error);
        return ProviderError::invalid(format!("Cannot send the request to {route}: {cause}"));
    }
    if error.is_connect() {
        return connect_error(&error, route);
    }
    let cause = root_cause(&error);
    ProviderError::network(format!(
        "Connection error: {route} closed the connection before responding ({cause})"
    ))
}

/// Error for a connection that could not be established.
pub(crate) fn connect_error(error: &(dyn Error + 'static), route: &Route) -> ProviderError {
    let cause = root_cause(error);
    ProviderError::network(if let Some(tls) = tls_error(error) {
        match tls {
            rustls::Error::InvalidCertificate(_) => {
                format!("Connection error: the TLS certificate of {route} is not trusted ({tls})")
            }
            _ => format!("Connection error: TLS with {route} failed ({tls})"),
        }
    } else if chain(error).any(|cause| cause.to_string() == "dns error") {
        format!("Connection error: cannot resolve {route} ({cause})")
    } else {
        format!("Connection error: cannot reach {route} ({cause})")
    })
}

/// Error for a connection that broke while the response was arriving.
pub fn read_error(error: reqwest::Error, route: &Route) -> ProviderError {
    let cause = root_cause(&error.without_url());
    ProviderError::network(format!(
        "Connection lost while receiving the response from {route} ({cause})"
    ))
}

/// Iterates over an error and its sources, outermost first.
fn chain<'error>(
    error: &'error (dyn Error + 'static),
) -> impl Iterator<Item = &'error (dyn Error + 'static)> {
    let mut next = Some(error);
    std::iter::from_fn(move || {
        let current = next?;
        next = current.source();
        Some(current)
    })
}

/// Formats an error with all its sources, for errors whose layers each add information.
pub fn error_chain(error: &(dyn Error + 'static)) -> String {
    let mut messages: Vec<String> = chain(error).map(ToString::to_string).collect();
    messages.dedup();
    messages.join(": ")
}

/// Returns the innermost source; the outer layers only report that something inside failed.
pub fn root_cause(error: &(dyn Error + 'static)) -> String {
    chain(error)
        .last()
        .map_or_else(|| error.to_string(), ToString::to_string)
}

/// Finds a TLS error. It may be nested inside I/O errors, whose inner error is not their source.
fn tls_error<'error>(error: &'error (dyn Error + 'static)) -> Option<&'error rustls::Error> {
    chain(error).find_map(|mut cause| {
        while let Some(inner) = cause
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref)
        {
            cause = inner;
        }
        cause.downcast_ref()
    })
}
