//! Authorization-code flow: takes the code from the loopback callback server or from text the user
//! pastes, whichever comes first.

use std::time::Duration;

use futures_util::future::{Either, pending};
use pi_env::{Env, env_vars};
use pi_protocol::{LoginEvent, LoginPrompt};
use tokio_util::sync::CancellationToken;
use url::Url;

use super::callback_server::{CallbackRoute, CallbackServer};
use super::error::OAuthError;
use super::interaction::LoginInteraction;
use super::unless_cancelled;

const LOOPBACK: &str = "127.0.0.1";

/// The redirect URI and the server behind it.
pub(super) struct Redirect {
    /// `None` if the port is in use; then the user has to paste the code.
    server: Option<CallbackServer>,
    state: Option<String>,
    pub(super) uri: String,
}

/// Configuration of the redirect URI.
pub(super) struct RedirectConfig<'a> {
    /// Host in the URI; `None` uses the listening host.
    pub(super) host: Option<&'a str>,
    /// Port; 0 picks a free one.
    pub(super) port: u16,
    pub(super) route: CallbackRoute,
}

impl Redirect {
    /// Listens on `PI_OAUTH_CALLBACK_HOST`, or on the loopback interface by default.
    pub(super) async fn listen(config: RedirectConfig<'_>, env: &Env) -> Self {
        let listen_host = env
            .var(env_vars::OAUTH_CALLBACK_HOST)
            .unwrap_or_else(|| LOOPBACK.to_owned());
        let path = config.route.path.clone();
        let state = config.route.state.clone();
        let bound = CallbackServer::bind(&listen_host, config.port, config.route).await;
        let (server, port) = match bound.and_then(|server| Ok((server.port()?, server))) {
            Ok((port, server)) => (Some(server), port),
            Err(error) => {
                tracing::info!(%error, "cannot start the callback server; waiting for a pasted code");
                (None, config.port)
            }
        };
        let host = config.host.unwrap_or(&listen_host);
        let host = if host.contains(':') {
            format!("[{host}]")
        } else {
            host.to_owned()
        };
        Self {
            server,
            state,
            uri: format!("http://{host}:{port}{path}"),
        }
    }

    /// Sends the user to the URL and waits for the code.
    pub(super) async fn obtain_code(
        self,
        authorize_url: String,
        limit: Duration,
        interaction: &dyn LoginInteraction,
        cancel: &CancellationToken,
    ) -> Result<String, OAuthError> {
        let (instructions, message) = if self.server.is_some() {
            (
                "Complete the sign-in in your browser. If the browser runs on another machine, paste \
                 the final URL.",
                "Waiting for the browser. Or paste the code or final URL here:",
            )
        } else {
            (
                "Complete the sign-in in your browser, then paste the final URL. \
                 (The callback port is already in use on this machine.)",
                "Paste the code or final URL here:",
            )
        };
        interaction.notify(LoginEvent::AuthUrl {
            url: authorize_url,
            instructions: instructions.to_owned(),
        });
        let pasted = interaction.prompt(LoginPrompt::ManualCode {
            message: message.to_owned(),
            placeholder: Some(self.uri),
        });
        let from_browser = match self.server {
            Some(server) => Either::Left(server.wait()),
            None => Either::Right(pending()),
        };
        let response = async {
            tokio::select! {
                code = from_browser => code,
                pasted = pasted => parse_pasted(&pasted?, self.state.as_deref()),
            }
        };
        let response_in_time = async {
            let response = tokio::time::timeout(limit, response).await;
            response.unwrap_or(Err(OAuthError::TimedOut {
                what: "browser sign-in",
                limit,
            }))
        };
        unless_cancelled(cancel, response_in_time).await
    }
}

/// Extracts the code from pasted text: the full URL, its query, `code#state`, or the code itself.
fn parse_pasted(text: &str, state: Option<&str>) -> Result<String, OAuthError> {
    let text = text.trim();
    let pairs = |query: &str| -> Vec<(String, String)> {
        url::form_urlencoded::parse(query.as_bytes())
            .into_owned()
            .collect()
    };
    let parameters = match Url::parse(text) {
        Ok(url) => pairs(url.query().unwrap_or_default()),
        Err(_) if text.contains("code=") || text.contains("error=") => {
            pairs(text.trim_start_matches('?'))
        }
        Err(_) => {
            let mut parts = text.splitn(2, '#').map(str::to_owned);
            let code = if state.is_some() {
                parts.next()
            } else {
                Some(text.to_owned())
            };
            [("code", code), ("state", parts.next())]
                .into_iter()
                .filter_map(|(name, value)| Some((name.to_owned(), value?)))
                .collect()
        }
    };
    let find = |name: &str| {
        parameters
            .iter()
            .find(|(key, value)| key == name && !value.is_empty())
            .map(|(_, value)| value.clone())
    };
    if let (Some(expected), Some(found)) = (state, find("state"))
        && expected != found
    {
        return Err(OAuthError::StateMismatch);
    }
    if let Some(error) = find("error") {
        return Err(OAuthError::Denied {
            description: Some(find("error_description").unwrap_or(error)),
        });
    }
    find("code").ok_or(OAuthError::MissingCode)
}

/// Builds a URL with a query.
pub(super) fn with_query(
    url_text: &str,
    parameters: &[(&str, &str)],
) -> Result<String, OAuthError> {
    let mut url = parse_web_url(url_text).ok_or_else(|| OAuthError::Protocol {
        what: "sign-in",
        problem: "has no valid authorization URL".to_owned(),
    })?;
    url.query_pairs_mut().extend_pairs(parameters);
    Ok(url.into())
}

/// Parses a URL that may be opened in a browser. Only `http` and `https` are accepted: opening a
/// `file:` URL or an application's own scheme could run something.
pub(super) fn parse_web_url(text: &str) -> Option<Url> {
    Url::parse(text)
        .ok()
        .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn pasted_text_yields_the_code() {
        let code = |text: &str| Ok(text.to_owned());
        let cases = [
            ("http://localhost:1/callback?code=c1&state=s", code("c1")),
            ("  https://x.example/cb?state=s&code=a%2Bb  \n", code("a+b")),
            ("http://localhost:1/callback?code=c1", code("c1")),
            (
                "http://localhost:1/callback?code=c1&state=other",
                Err(OAuthError::StateMismatch),
            ),
            (
                "http://localhost:1/callback?state=s",
                Err(OAuthError::MissingCode),
            ),
            (
                "http://localhost:1/callback?state=s&error=access_denied",
                Err(OAuthError::Denied {
                    description: Some("access_denied".to_owned()),
                }),
            ),
            ("code=c2&state=s", code("c2")),
            ("?code=c2&state=s", code("c2")),
            ("c3#s", code("c3")),
            ("c3#other", Err(OAuthError::StateMismatch)),
            ("c4", code("c4")),
            ("", Err(OAuthError::MissingCode)),
            ("   ", Err(OAuthError::MissingCode)),
            ("#s", Err(OAuthError::MissingCode)),
        ];
        for (text, expected) in cases {
            assert_eq!(parse_pasted(text, Some("s")), expected, "{text:?}");
        }
        assert_eq!(parse_pasted("c#5", None), Ok("c#5".to_owned()));
    }

    #[test]
    fn only_web_urls_are_accepted() {
        for refused in [
            "file:///etc/passwd",
            "javascript:alert(1)",
            "calc.exe",
            "https://",
            "",
        ] {
            assert_eq!(parse_web_url(refused), None, "{refused:?}");
        }
        assert!(parse_web_url("https://example.com/device?code=1").is_some());
    }
}
