//! The HTTP client shared by all requests.
//!
//! Clients are built lazily. Requests through the same proxy share one client and its connection
//! pool; redirects never leave the origin, since requests carry credentials.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use pi_env::Env;
use pi_protocol::ProviderError;
use reqwest::{Url, redirect};
use rustls::ClientConfig;
use rustls::pki_types::CertificateDer;

use super::connect::ReportingLayer;
use super::network_error::Route;
use super::{proxy, tls};

/// Limit for redirects, which are only followed within an origin.
const MAX_REDIRECTS: usize = 5;

/// A handle to the shared connection pools; cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct HttpClient(Arc<HttpClientInner>);

#[derive(Default)]
struct HttpClientInner {
    settings: HttpSettings,
    tls: OnceLock<Arc<ClientConfig>>,
    /// One client per proxy; `None` connects directly.
    clients: Mutex<HashMap<Option<Url>, reqwest::Client>>,
}

impl fmt::Debug for HttpClientInner {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("HttpClientInner")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

/// Connection settings.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct HttpSettings {
    /// Proxy for targets that have none in the environment.
    pub proxy: Option<String>,
    /// Certificates (DER) to trust in addition to the platform's.
    pub extra_roots: Vec<Vec<u8>>,
}

impl fmt::Debug for HttpSettings {
    // A proxy address may hold a password.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("HttpSettings")
            .field("proxy", &self.proxy.is_some())
            .field("extra_roots", &self.extra_roots.len())
            .finish()
    }
}

impl HttpSettings {
    /// Sets the proxy for targets that have none in the environment.
    #[must_use]
    pub fn with_proxy(mut self, address: impl Into<String>) -> Self {
        self.proxy = Some(address.into());
        self
    }

    /// Adds a certificate (DER) to trust in addition to the platform's.
    #[must_use]
    pub fn with_root(mut self, certificate: impl Into<Vec<u8>>) -> Self {
        self.extra_roots.push(certificate.into());
        self
    }
}

impl HttpClient {
    /// Creates a client with default settings; nothing is loaded until the first request.
    pub fn new() -> Self {
        Self::default()
    }

    pub fn with_settings(settings: HttpSettings) -> Self {
        Self(Arc::new(HttpClientInner {
            settings,
            ..HttpClientInner::default()
        }))
    }

    /// Returns the client for a target; target and environment determine the proxy.
    pub fn client_for(&self, target: &Url, env: &Env) -> Result<reqwest::Client, ProviderError> {
        self.client_through(self.proxy_for(target, env)?)
    }

    /// Returns the client for a target, and its route for error messages.
    pub fn client_and_route(
        &self,
        target: &Url,
        env: &Env,
    ) -> Result<(reqwest::Client, Route), ProviderError> {
        let proxy = self.proxy_for(target, env)?;
        let route = Route::new(target, proxy.as_ref());
        Ok((self.client_through(proxy)?, route))
    }

    fn client_through(&self, proxy: Option<Url>) -> Result<reqwest::Client, ProviderError> {
        let mut clients = self.0.clients.lock();
        if let Some(client) = clients.get(&proxy) {
            return Ok(client.clone());
        }
        let client = self.build(proxy.as_ref())?;
        clients.insert(proxy, client.clone());
        Ok(client)
    }

    pub(crate) fn proxy_for(&self, target: &Url, env: &Env) -> Result<Option<Url>, ProviderError> {
        proxy::proxy_for(target, env, self.0.settings.proxy.as_deref())
    }

    /// Returns the TLS configuration shared by all connections.
    pub(crate) fn tls(&self) -> Result<Arc<ClientConfig>, ProviderError> {
        if let Some(config) = self.0.tls.get() {
            return Ok(Arc::clone(config));
        }
        let roots = self.0.settings.extra_roots.iter();
        let roots = roots
            .map(|root| CertificateDer::from(root.clone()))
            .collect();
        let config = Arc::new(tls::client_config(roots)?);
        Ok(Arc::clone(self.0.tls.get_or_init(|| config)))
    }

    fn build(&self, proxy: Option<&Url>) -> Result<reqwest::Client, ProviderError> {
        let tls = (*self.tls()?).clone();
        let mut builder = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .connector_layer(ReportingLayer)
            .redirect(redirect::Policy::custom(same_origin_redirects))
            .referer(false)
            .no_proxy();
        if let Some(proxy) = proxy {
            let proxy = reqwest::Proxy::all(proxy.clone()).map_err(setup_error)?;
            builder = builder.proxy(proxy);
        }
        builder.build().map_err(setup_error)
    }
}

fn setup_error(error: reqwest::Error) -> ProviderError {
    let error = error.without_url();
    ProviderError::network(format!("Cannot set up the HTTP client: {error}"))
}

/// Follows a redirect that keeps method, body and origin; any other redirect is returned as the response.
fn same_origin_redirects(attempt: redirect::Attempt<'_>) -> redirect::Action {
    let same_request = matches!(attempt.status().as_u16(), 307 | 308);
    let same_origin = attempt
        .previous()
        .first()
        .is_some_and(|first| first.origin() == attempt.url().origin());
    if same_request && same_origin && attempt.previous().len() <= MAX_REDIRECTS {
        attempt.follow()
    } else {
        attempt.stop()
    }
}

/// The `User-Agent` of all requests.
pub fn user_agent() -> String {
    format!(
        "pi/{} ({}; rust; {})",
        pi_env::release(),
        std::env::consts::OS,
        std::env::consts::ARCH
    )
}
