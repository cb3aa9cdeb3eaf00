//! A fake user who signs in, with a browser.

use std::collections::VecDeque;
use std::sync::Mutex;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use pi_auth::{LoginInteraction, OAuthError};
use pi_protocol::{LoginEvent, LoginPrompt};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use url::Url;

/// What the user does with the sign-in URL.
pub(crate) enum Browser {
    /// Signs in; the browser is redirected to the loopback server with this code.
    Returns(&'static str),
    /// Signs in; the browser is redirected to this URL, with replacements as in `Pastes`.
    Visits(&'static str),
    /// Signs in on another machine and pastes; `{code}`, `{state}` and `{redirect}` are replaced.
    Pastes(&'static str),
    Never,
}

pub(crate) struct TestUser {
    replies: Mutex<VecDeque<&'static str>>,
    browser: Browser,
    events: Mutex<Vec<LoginEvent>>,
}

impl TestUser {
    pub(crate) fn new(browser: Browser, replies: &[&'static str]) -> Self {
        Self {
            replies: Mutex::new(replies.iter().copied().collect()),
            browser,
            events: Mutex::default(),
        }
    }

    pub(crate) fn events(&self) -> Vec<LoginEvent> {
        self.events.lock().unwrap().clone()
    }

    /// Returns the sign-in URL that was shown.
    pub(crate) fn opened(&self) -> Url {
        self.events()
            .iter()
            .find_map(|event| match event {
                LoginEvent::AuthUrl { url, .. } => Some(url.parse().unwrap()),
                _ => None,
            })
            .expect("no sign-in URL was shown")
    }

    /// Returns a query parameter of the sign-in URL.
    pub(crate) fn opened_with(&self, name: &str) -> String {
        parameter(&self.opened(), name).unwrap_or_default()
    }

    /// Returns the code and URL of a device sign-in.
    pub(crate) fn device_code(&self) -> (String, String) {
        self.events()
            .into_iter()
            .find_map(|event| match event {
                LoginEvent::DeviceCode {
                    user_code,
                    verification_uri,
                    ..
                } => Some((user_code, verification_uri)),
                _ => None,
            })
            .expect("no device code was shown")
    }
}

fn parameter(url: &Url, name: &str) -> Option<String> {
    url.query_pairs()
        .find(|(key, _)| key == name)
        .map(|(_, value)| value.into_owned())
}

fn redirect(url: &Url) -> String {
    parameter(url, "redirect_uri")
        .or_else(|| parameter(url, "callback_url"))
        .expect("the sign-in URL has no redirect")
}

fn filled(template: &str, url: &Url) -> String {
    template
        .replace("{redirect}", &redirect(url))
        .replace("{state}", &parameter(url, "state").unwrap_or_default())
}

impl LoginInteraction for TestUser {
    fn prompt(&self, prompt: LoginPrompt) -> BoxFuture<'_, Result<String, OAuthError>> {
        if let LoginPrompt::ManualCode { .. } = prompt {
            let Browser::Pastes(template) = self.browser else {
                return std::future::pending().boxed();
            };
            return std::future::ready(Ok(filled(template, &self.opened()))).boxed();
        }
        let answer = self.replies.lock().unwrap().pop_front();
        std::future::ready(answer.map(str::to_owned).ok_or(OAuthError::Cancelled)).boxed()
    }

    fn notify(&self, event: LoginEvent) {
        if let (LoginEvent::AuthUrl { url, .. }, Browser::Returns(code)) = (&event, &self.browser) {
            let url: Url = url.parse().unwrap();
            let mut back: Url = redirect(&url).parse().unwrap();
            back.query_pairs_mut().append_pair("code", code);
            if let Some(state) = parameter(&url, "state") {
                back.query_pairs_mut().append_pair("state", &state);
            }
            tokio::spawn(visit(back));
        }
        if let (LoginEvent::AuthUrl { url, .. }, Browser::Visits(template)) =
            (&event, &self.browser)
        {
            let back = filled(template, &url.parse().unwrap());
            tokio::spawn(visit(back.parse().unwrap()));
        }
        self.events.lock().unwrap().push(event);
    }
}

async fn visit(url: Url) {
    let port = url.port().unwrap();
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let target = &url[url::Position::BeforePath..];
    let request = format!("GET {target} HTTP/1.1\r\nhost: localhost\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut page = String::new();
    stream.read_to_string(&mut page).await.unwrap();
    assert!(page.starts_with("HTTP/1.1 200 OK"), "{page}");
}
