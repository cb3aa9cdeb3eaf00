//! Where the browser is redirected after a sign-in.

use pi_protocol::McpOAuthSpec;
use url::Url;

const HOST: &str = "127.0.0.1";

const PATH: &str = "/callback";

/// The redirect that the configuration asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RedirectSettings {
    /// Where to listen.
    pub(super) host: String,
    /// The host in the URL, which may be a name.
    redirect_host: String,
    pub(super) port: Option<u16>,
    pub(super) path: String,
    /// The URL if the configuration determines all of it; sent exactly as written.
    pub(super) fixed: Option<String>,
}

impl RedirectSettings {
    pub(super) fn new(spec: &McpOAuthSpec) -> Option<Self> {
        let default = format!("http://{HOST}{PATH}");
        let configured = spec.callback_url.clone();
        let mut url = Url::parse(configured.as_ref().unwrap_or(&default)).ok()?;
        let redirect_host = url.host_str()?.to_owned();
        let port = url.port().or(spec.callback_port);
        let fixed = match (url.port(), spec.callback_port) {
            (Some(_), _) => configured,
            (None, Some(port)) => {
                url.set_port(Some(port)).ok()?;
                Some(url.to_string())
            }
            (None, None) => None,
        };
        Some(Self {
            host: match redirect_host.as_str() {
                "localhost" => HOST.to_owned(),
                host => host.trim_matches(['[', ']']).to_owned(),
            },
            path: url.path().to_owned(),
            redirect_host,
            port,
            fixed,
        })
    }

    /// Returns the URL for the port that is listened on.
    pub(super) fn url(&self, port: u16) -> String {
        let url = || format!("http://{}:{port}{}", self.redirect_host, self.path);
        self.fixed.clone().unwrap_or_else(url)
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn the_redirect_follows_the_configuration() {
        for (url, port, host, expected) in [
            (None, None, "127.0.0.1", "http://127.0.0.1:9/callback"),
            (None, Some(8), "127.0.0.1", "http://127.0.0.1:8/callback"),
            (
                Some("http://localhost/x"),
                None,
                "127.0.0.1",
                "http://localhost:9/x",
            ),
            (
                Some("http://localhost:7"),
                None,
                "127.0.0.1",
                "http://localhost:7",
            ),
            (Some("http://[::1]/x"), None, "::1", "http://[::1]:9/x"),
        ] {
            let settings = RedirectSettings::new(&McpOAuthSpec {
                callback_url: url.map(str::to_owned),
                callback_port: port,
                ..McpOAuthSpec::default()
            });
            let settings = settings.unwrap();
            assert_eq!(settings.host, host);
            assert_eq!(settings.url(9), expected);
        }
    }
}
