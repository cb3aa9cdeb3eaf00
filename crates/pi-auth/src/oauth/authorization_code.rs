//! Authorization-code flow: takes the code from the loopback callback server or from text the user
//! pastes, whichever comes first.

use std::time::Duration;

use futures_util::future::{Either, pending};
use pi_env::{Env, env_vars};
use pi_protocol::{LoginEvent, LoginPrompt};
use tokio_util::sync::CancellationToken;
use url::Url;

use super::callback_server::{AuthorizationCode, CallbackRoute, CallbackServer};
use super::error::OAuthError;
use super::interaction::LoginInteraction;
use super::unless_cancelled;

const LOOPBACK: &str = "127.0.0.1";

/// The redirect URI and the server behind it.
pub(super) struct Redirect {
    /// `None` if the port is in use; then the user has to paste the code.
    server: Option<CallbackServer>,
    route: CallbackRoute,
    pub(super) uri: String,
}

/// What to do if the port of the redirect URI is in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PortConflict {
    /// The service accepts only this port: the user pastes the code.
    Paste,
    /// The service accepts any port.
    FreePort,
    /// The sign-in fails.
    Fail,
}

/// Configuration of the redirect URI.
pub(super) struct RedirectConfig<'a> {
    /// Host in the URI; `None` uses the listening host.
    pub(super) host: Option<&'a str>,
    /// Port; 0 picks a free one.
    pub(super) port: u16,
    pub(super) on_conflict: PortConflict,
    pub(super) route: CallbackRoute,
}

impl Redirect {
    /// Listens on `PI_OAUTH_CALLBACK_HOST`, or on the loopback interface by default.
    pub(super) async fn listen(config: RedirectConfig<'_>, env: &Env) -> Result<Self, OAuthError> {
        let listen_host = env
            .var(env_vars::OAUTH_CALLBACK_HOST)
            .unwrap_or_else(|| LOOPBACK.to_owned());
        let bind = |port| CallbackServer::bind(&listen_host, port, config.route.clone());
        let mut bound = bind(config.port).await;
        if bound.is_err() && config.on_conflict == PortConflict::FreePort {
            bound = bind(0).await;
        }
        let (server, port) = match bound.and_then(|server| Ok((server.port()?, server))) {
            Ok((port, server)) => (Some(server), port),
            Err(error) if config.on_conflict == PortConflict::Fail => {
                return Err(OAuthError::CallbackPort {
                    port: config.port,
                    problem: error.to_string(),
                });
            }
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
        Ok(Self {
            server,
            uri: format!("http://{host}:{port}{}", config.route.path),
            route: config.route,
        })
    }

    /// Sends the user to the URL and waits for the code.
    pub(super) async fn obtain_code(
        self,
        authorize_url: String,
        limit: Duration,
        interaction: &dyn LoginInteraction,
        cancel: &CancellationToken,
    ) -> Result<AuthorizationCode, OAuthError> {
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
                pasted = pasted => parse_pasted(&pasted?, &self.route),
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
pub(super) fn parse_pasted(
    text: &str,
    route: &CallbackRoute,
) -> Result<AuthorizationCode, OAuthError> {
    let text = text.trim();
    let state = route.state.as_deref();
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
    let code = find("code").ok_or(OAuthError::MissingCode)?;
    let extra = route.extra.and_then(find);
    if let Some(name) = route.extra
        && (extra.is_none() || (state.is_some() && find("state").is_none()))
    {
        return Err(OAuthError::InvalidInput(format!(
            "the pasted text has no {name} or no state; paste the full URL from the address bar of the browser"
        )));
    }
    Ok(AuthorizationCode {
        code,
        extra,
        issuer: find("iss"),
    })
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
        let route = |state: Option<&str>, extra| CallbackRoute {
            path: "/callback".to_owned(),
            state: state.map(str::to_owned),
            extra,
        };
        let code = |text: &str| {
            Ok(AuthorizationCode {
                code: text.to_owned(),
                ..AuthorizationCode::default()
            })
        };
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
            assert_eq!(
                parse_pasted(text, &route(Some("s"), None)),
                expected,
                "{text:?}"
            );
        }
        assert_eq!(parse_pasted("c#5", &route(None, None)), code("c#5"));

        let complete = route(Some("s"), Some("client_id"));
        assert_eq!(
            parse_pasted(
                "http://127.0.0.1:1/cb?code=c&state=s&client_id=i",
                &complete
            ),
            Ok(AuthorizationCode {
                code: "c".to_owned(),
                extra: Some("i".to_owned()),
                ..AuthorizationCode::default()
            })
        );
        for incomplete in ["c#s", "code=c&client_id=i", "code=c&state=s", "c"] {
            let outcome = parse_pasted(incomplete, &complete);
            assert!(
                matches!(outcome, Err(OAuthError::InvalidInput(_))),
                "{incomplete}: {outcome:?}"
            );
        }
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
