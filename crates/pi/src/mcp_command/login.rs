//! `pi mcp login` and `pi mcp logout`.

use std::io::IsTerminal as _;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use pi_config::{ConfiguredMcpServer, load_mcp_config};
use pi_mcp::{McpConnector, SignInError, SignInPrompt, open_url};
use pi_protocol::{McpScope, McpState};

use super::options::{McpOptions, OptionKind};
use super::{McpFiles, untrusted_note, usage};
use crate::output::{Exit, Failure, notice, print};

/// Limit for a sign-in without `--timeout`.
const DEFAULT_TIMEOUT: Duration = Duration::from_mins(5);

/// A name within this distance is suggested.
const SUGGESTION_DISTANCE: usize = 2;

pub(super) async fn log_in(files: &McpFiles, words: &[String]) -> Result<Exit, Failure> {
    let known = [("local", OptionKind::Flag), ("timeout", OptionKind::Value)];
    let options = McpOptions::parse(words, &known, usize::MAX)?;
    let server = find(files, &options, "login")?;
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
    let server = find(files, &options, "logout")?;
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
fn find(
    files: &McpFiles,
    options: &McpOptions,
    command: &str,
) -> Result<ConfiguredMcpServer, Failure> {
    let Some(name) = options.server() else {
        return Err(usage(format!(
            "pi mcp {command} needs the name of one server"
        )));
    };
    let access = files.project_access();
    let config = load_mcp_config(&files.agent_dir, &files.cwd, access);
    let Some(server) = config.server(name) else {
        let names: Vec<&str> = config
            .servers
            .iter()
            .map(|it| it.spec.name.as_str())
            .collect();
        let mut failure = Failure::new(format!("no MCP server is named \"{name}\""));
        let similar = names
            .iter()
            .find(|known| distance(known, name) <= SUGGESTION_DISTANCE);
        if let Some(similar) = similar {
            failure = failure.hint(format!("did you mean \"{similar}\"?"));
        }
        let file = files.project_file();
        if !access.is_trusted() && file.exists() {
            failure = failure.hint(untrusted_note(&file));
        }
        let names = if names.is_empty() {
            "none".to_owned()
        } else {
            names.join(", ")
        };
        return Err(failure.hint(format!("configured servers: {names}")));
    };
    if options.has("local") && server.scope != McpScope::Project {
        return Err(Failure::new(format!(
            "MCP server \"{name}\" is in {}, not in the project; omit --local",
            server.source.display()
        )));
    }
    if !server.spec.uses_oauth() {
        return Err(no_oauth(name));
    }
    Ok(server.clone())
}

fn no_oauth(name: &str) -> Failure {
    Failure::new(format!("MCP server \"{name}\" does not use OAuth"))
        .hint("only HTTP servers without an Authorization header and auth do")
}

/// Returns the number of characters to insert, remove or replace.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (line, character) in one.chars().enumerate() {
        let mut diagonal = line;
        let mut left = line + 1;
        let mut next = vec![left];
        for (candidate, above) in other.iter().zip(row.iter().skip(1)) {
            let replaced = diagonal + usize::from(*candidate != character);
            left = replaced.min(above + 1).min(left + 1);
            diagonal = *above;
            next.push(left);
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
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

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn distances_count_edits() {
        for (one, other, expected) in [
            ("", "", 0),
            ("garden", "gardne", 2),
            ("a", "abc", 2),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(distance(one, other), expected, "{one} {other}");
        }
    }
}
