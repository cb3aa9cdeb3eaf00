//! HTTP connections shared by all sessions.

use parking_lot::Mutex;
use pi_http::{HttpClient, HttpSettings};

/// The client of the last used proxy, shared as long as the proxy is the same.
#[derive(Debug, Default)]
pub(crate) struct SharedConnections(Mutex<ProxyConnections>);

#[derive(Debug, Default)]
struct ProxyConnections {
    proxy: Option<String>,
    http: HttpClient,
}

impl SharedConnections {
    /// Returns a client that connects through the proxy, or directly.
    pub(crate) fn client_for(&self, proxy: Option<&str>) -> HttpClient {
        let mut shared = self.0.lock();
        if shared.proxy.as_deref() != proxy {
            *shared = ProxyConnections {
                proxy: proxy.map(str::to_owned),
                http: match proxy {
                    Some(proxy) => {
                        HttpClient::with_settings(HttpSettings::default().with_proxy(proxy))
                    }
                    None => HttpClient::new(),
                },
            };
        }
        shared.http.clone()
    }
}
