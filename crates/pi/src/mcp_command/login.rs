//! `pi mcp login` and `pi mcp logout`.

use std::io::IsTerminal as _;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use pi_config::ConfiguredMcpServer;
use pi_mcp::{McpConnector, SignInError, SignInPrompt, open_url};
use pi_protocol::McpState;

use super::find::find;
use super::options::{McpOptions, OptionKind};
use super::{McpFiles, usage};
use crate::output::{Exit, Failure, notice, print};

/// Limit for a sign-in without `--timeout`.
const DEFAULT_TIMEOUT: Duration = Duration::from_mins(5);

pub(super) async fn log_in(files: &McpFiles, words: &[String]) -> Result<Exit, Failure> {
    let known = [("local", OptionKind::Flag), ("timeout", OptionKind::Value)];
    let options = McpOptions::parse(words, &known, usize::MAX)?;
    let server = find_with_oauth(files, &options, "login")?;
    let timeout = match options.value("timeout") {
        None => DEFAULT_TIMEOUT,
        Some(text) => {
            let seconds = text.parse::<f64>().ok().filter(|seconds| *seconds > 0.0);
            let limit = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
            limit.ok_or_else(|| usage("--timeout must be a positive number of seconds"))?
        }
    };
    let connector = files.connector();
    let name = &server.spec.name;
    let connection = connector.connection(&server);
    let result = match connection.connect().await {
        Ok(()) => Ok(format!("Already signed in to MCP server \"{name}\"")),
        Err(_) if connection.state() != McpState::NeedsAuth => {
            let error = connection.status().error.unwrap_or_default();
            Err(Failure::new(format!(
                "cannot connect to MCP server \"{name}\": {error}"
            )))
        }
        Err(_) => sign_in(&connector.0, &server, connection.challenge(), timeout).await,
    };
    let result = match result {
        Ok(text) if text.starts_with("Signed") => {
            let connected = connection.reconnect().await;
            connected
                .map(|()| text)
                .map_err(|error| Failure::new(format!("signed in, but {error}")))
        }
        other => other,
    };
    let count = connection.status().tools.len();
    connection.close().await;
    Ok(print(&format!("{} ({count} tools)\n", result?)))
}

async fn sign_in(
    connector: &McpConnector,
    server: &ConfiguredMcpServer,
    challenge: Option<pi_mcp::AuthChallenge>,
    timeout: Duration,
) -> Result<String, Failure> {
    let name = &server.spec.name;
    let oauth = connector.oauth(server).ok_or_else(|| no_oauth(name))?;
    let prompt = TerminalPrompt { name: name.clone() };
    let signed_in = tokio::time::timeout(timeout, oauth.sign_in(challenge, &prompt)).await;
    match signed_in {
        Ok(Ok(())) => Ok(format!("Signed in to MCP server \"{name}\"")),
        Ok(Err(SignInError::Failed(error))) => Err(Failure::new(format!(
            "signing in to MCP server \"{name}\" failed: {error}"
        ))),
        Ok(Err(SignInError::Canceled)) => Err(Failure::new(format!(
            "signing in to MCP server \"{name}\" was canceled"
        ))),
        Err(_elapsed) => Err(Failure::new(format!(
            "signing in to MCP server \"{name}\" took longer than {} s",
            timeout.as_secs_f64()
        ))
        .hint("use --timeout to wait longer")),
    }
}

pub(super) async fn log_out(files: &McpFiles, words: &[String]) -> Result<Exit, Failure> {
    let options = McpOptions::parse(words, &[("local", OptionKind::Flag)], usize::MAX)?;
    let server = find_with_oauth(files, &options, "logout")?;
    let name = &server.spec.name;
    let oauth = files.connector().0.oauth(&server);
    let oauth = oauth.ok_or_else(|| no_oauth(name))?;
    let text = if oauth.remove().await? {
        format!("Signed out of MCP server \"{name}\"\n")
    } else {
        format!("There are no credentials for MCP server \"{name}\"\n")
    };
    Ok(print(&text))
}

/// Returns the server that a command names, which must use OAuth.
fn find_with_oauth(
    files: &McpFiles,
    options: &McpOptions,
    command: &str,
) -> Result<ConfiguredMcpServer, Failure> {
    let server = find(files, options, command)?;
    if server.spec.uses_oauth() {
        return Ok(server);
    }
    Err(no_oauth(&server.spec.name))
}

fn no_oauth(name: &str) -> Failure {
    Failure::new(format!("MCP server \"{name}\" does not use OAuth"))
        .hint("only HTTP servers without an Authorization header and auth do")
}

struct TerminalPrompt {
    name: String,
}

impl SignInPrompt for TerminalPrompt {
    fn show_url(&self, url: &str) -> BoxFuture<'_, ()> {
        print(&format!(
            "Sign in to MCP server \"{}\" in your browser:\n{url}\n",
            self.name
        ));
        open_url(url);
        std::future::ready(()).boxed()
    }

    fn redirect_url(&self) -> BoxFuture<'_, Option<String>> {
        if !std::io::stdin().is_terminal() {
            // Only the browser can complete the sign-in.
            return std::future::pending().boxed();
        }
        notice("If the browser runs on another machine, paste the URL it was redirected to:");
        async {
            let mut line = String::new();
            let read = tokio::task::spawn_blocking(move || {
                std::io::stdin().read_line(&mut line).ok().map(|_| line)
            });
            read.await.ok().flatten()
        }
        .boxed()
    }
}
