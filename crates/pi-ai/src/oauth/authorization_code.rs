//! The sign-in through a browser: ask there, take the code from the loopback server or from what
//! the person pastes, whichever comes first.

use std::time::Duration;

use futures_util::future::{Either, pending};
use tokio_util::sync::CancellationToken;
use url::Url;

use super::callback_server::{CallbackRoute, CallbackServer};
use super::error::OAuthError;
use super::interaction::{LoginEvent, LoginInteraction, LoginPrompt};
use super::unless_cancelled;
use crate::env::Env;
use crate::env_vars;

const LOOPBACK: &str = "127.0.0.1";

/// A place for the browser to come back to.
pub(super) struct Redirect {
    /// Listens, unless the port is taken: then only pasting is left.
    server: Option<CallbackServer>,
    state: Option<String>,
    /// Where the browser is sent back to.
    pub(super) uri: String,
}

/// How a redirect address is made.
pub(super) struct RedirectAddress<'a> {
    /// The host in the address; `None` names the host listened on.
    pub(super) host: Option<&'a str>,
    /// The port; zero takes any free one.
    pub(super) port: u16,
    /// What the answer must look like.
    pub(super) route: CallbackRoute,
}

impl Redirect {
    /// Starts to listen where `PI_OAUTH_CALLBACK_HOST` says, on the loopback interface otherwise.
    pub(super) async fn listen(address: RedirectAddress<'_>, env: &Env) -> Self {
        let listen_host = env
            .var(env_vars::OAUTH_CALLBACK_HOST)
            .unwrap_or_else(|| LOOPBACK.to_owned());
        let path = address.route.path.clone();
        let state = address.route.state.clone();
        let bound = CallbackServer::bind(&listen_host, address.port, address.route).await;
        let (server, port) = match bound.and_then(|server| Ok((server.port()?, server))) {
            Ok((port, server)) => (Some(server), port),
            Err(error) => {
                tracing::info!(%error, "no callback server; the sign-in waits for a pasted code");
                (None, address.port)
            }
        };
        let host = address.host.unwrap_or(&listen_host);
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

    /// Sends the person to the address and waits for the code.
    pub(super) async fn obtain_code(
        self,
        authorize_url: String,
        limit: Duration,
        interaction: &dyn LoginInteraction,
        cancel: &CancellationToken,
    ) -> Result<String, OAuthError> {
        let (instructions, message) = if self.server.is_some() {
            (
                "Finish signing in in your browser. If it runs on another machine, paste the \
                 address it ends up at.",
                "Waiting for the browser; or paste the code or the final address here:",
            )
        } else {
            (
                "Finish signing in in your browser, then paste the address it ends up at. \
                 (The port it is sent back to is taken on this machine.)",
                "Paste the code or the final address here:",
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
        let answer = async {
            tokio::select! {
                code = from_browser => code,
                pasted = pasted => parse_pasted(&pasted?, self.state.as_deref()),
            }
        };
        let answer_in_time = async {
            let answer = tokio::time::timeout(limit, answer).await;
            answer.unwrap_or(Err(OAuthError::TimedOut {
                what: "the sign-in in the browser",
                limit,
            }))
        };
        unless_cancelled(cancel, answer_in_time).await
    }
}

/// Takes the code out of what a person pastes: the whole address, its query, `code#state`, or the
/// bare code.
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

/// Builds an address with a query.
pub(super) fn with_query(address: &str, parameters: &[(&str, &str)]) -> Result<String, OAuthError> {
    let mut url = web_address(address).ok_or_else(|| OAuthError::Protocol {
        what: "the sign-in",
        problem: "names no address for a browser".to_owned(),
    })?;
    url.query_pairs_mut().extend_pairs(parameters);
    Ok(url.into())
}

/// Reads an address that may be handed to a browser. Anything but the web is refused: opening a
/// `file:` address or a program's own scheme could run something.
pub(super) fn web_address(text: &str) -> Option<Url> {
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
    fn only_web_addresses_reach_the_browser() {
        for refused in [
            "file:///etc/passwd",
            "javascript:alert(1)",
            "calc.exe",
            "https://",
            "",
        ] {
            assert_eq!(web_address(refused), None, "{refused:?}");
        }
        assert!(web_address("https://example.com/device?code=1").is_some());
    }
}
