//! Words for what the network does to a request, and the timers that notice when it does nothing.
//!
//! Addresses are named by host and port alone: paths and queries may hold secrets.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::io;
use std::time::Duration;

use reqwest::Url;

use crate::error::ProviderError;

/// Where a request goes, for messages.
#[derive(Debug, Clone)]
pub(crate) struct Route {
    host: String,
    proxy: Option<String>,
}

impl Route {
    /// Names a target and the proxy on the way.
    pub(crate) fn new(target: &Url, proxy: Option<&Url>) -> Self {
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
            Some(proxy) => write!(formatter, " through the proxy {proxy}"),
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

/// A wait that has its own timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    Connection,
    /// For the first byte of the answer.
    Answer,
    /// For the next piece of the answer.
    NextPiece,
}

impl Wait {
    /// Waits no longer than the limit, if there is one. What is ready wins over the timer, so that
    /// a consumer who was away for long does not lose data that has arrived meanwhile.
    pub(crate) async fn at_most<F: Future>(
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

    /// Words the end of this wait.
    pub(crate) fn timed_out(self, limit: Duration, route: &Route) -> ProviderError {
        ProviderError::network(match self {
            Self::Connection => format!("Connecting to {route} timed out after {limit:?}"),
            Self::Answer => format!("Waiting for an answer of {route} timed out after {limit:?}"),
            Self::NextPiece => {
                format!("The answer of {route} fell silent and timed out after {limit:?}")
            }
        })
    }
}

/// Words a request that failed before its answer began.
pub(crate) fn unanswered(error: reqwest::Error, route: &Route) -> ProviderError {
    let error = error.without_url();
    if error.is_builder() {
        let cause = innermost(&error);
        return ProviderError::invalid(format!("The request to {route} cannot be sent: {cause}"));
    }
    if error.is_connect() {
        return unconnected(&error, route);
    }
    let cause = innermost(&error);
    ProviderError::network(format!(
        "Connection error: {route} closed the connection before it answered ({cause})"
    ))
}

/// Words a connection that was not made.
pub(crate) fn unconnected(error: &(dyn Error + 'static), route: &Route) -> ProviderError {
    let cause = innermost(error);
    ProviderError::network(if let Some(tls) = tls_error(error) {
        match tls {
            rustls::Error::InvalidCertificate(_) => {
                format!("Connection error: the TLS certificate of {route} is not trusted ({tls})")
            }
            _ => format!("Connection error: TLS with {route} failed ({tls})"),
        }
    } else if chain(error).any(|cause| cause.to_string() == "dns error") {
        format!("Connection error: the address of {route} was not found ({cause})")
    } else {
        format!("Connection error: {route} cannot be reached ({cause})")
    })
}

/// Words a connection that broke while the answer was arriving.
pub(crate) fn broken(error: reqwest::Error, route: &Route) -> ProviderError {
    let cause = innermost(&error.without_url());
    ProviderError::network(format!(
        "Connection lost while the answer of {route} was arriving ({cause})"
    ))
}

/// Returns an error and what caused it, outermost first.
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

/// Returns an error with all that caused it, for errors whose layers each say something.
pub(crate) fn with_causes(error: &(dyn Error + 'static)) -> String {
    let mut texts: Vec<String> = chain(error).map(ToString::to_string).collect();
    texts.dedup();
    texts.join(": ")
}

/// Returns the innermost cause; the outer layers only say that something inside failed.
pub(crate) fn innermost(error: &(dyn Error + 'static)) -> String {
    chain(error)
        .last()
        .map_or_else(|| error.to_string(), ToString::to_string)
}

/// Finds a TLS error. I/O errors hold it, one inside the other, where the chain does not look.
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
