//! `/mcp` where there is no screen: the list of servers, and commands for one of them.

use pi_protocol::McpState;

use super::report::short_state;
use super::{ManagedServer, McpCompletion, McpNoticeLevel, McpServers, manager};

const USAGE: &str =
    "Usage: /mcp, /mcp login [server], /mcp logout [server], /mcp reconnect [server]";

const ACTIONS: [&str; 3] = ["login", "logout", "reconnect"];

const NO_OAUTH: &str =
    "No enabled MCP server uses OAuth. Only HTTP servers without an Authorization header do.";

/// Runs `/mcp`.
pub(super) async fn run(servers: &McpServers, arguments: &str) {
    let words: Vec<&str> = arguments.split_whitespace().collect();
    let state = &servers.0;
    let has_screen = state.session().is_some_and(|session| session.has_screen());
    if words.is_empty() && has_screen && !state.inner().servers.is_empty() {
        return manager::run(servers).await;
    }
    servers.wait_until_settled().await;
    let (action, name) = match words.as_slice() {
        [] => {
            let text = state.status_text();
            return state.notify(McpNoticeLevel::Info, text).await;
        }
        [action] if ACTIONS.contains(action) => (*action, None),
        [action, name] if ACTIONS.contains(action) => (*action, Some(*name)),
        _ => {
            return state
                .notify(McpNoticeLevel::Warning, USAGE.to_owned())
                .await;
        }
    };
    let choice = match action {
        "reconnect" => ServerChoice {
            is_eligible: |server| server.connection.is_some(),
            is_preferred: |server| {
                let state = server.live().map(crate::McpConnection::state);
                matches!(state, Some(McpState::Failed | McpState::Disconnected))
            },
            none: "There is no enabled MCP server to reconnect to.",
        },
        _ => ServerChoice {
            is_eligible: |server| server.connection.is_some() && server.spec().uses_oauth(),
            is_preferred: |server| {
                server.live().map(crate::McpConnection::state) == Some(McpState::NeedsAuth)
            },
            none: NO_OAUTH,
        },
    };
    let Some(name) = choice.pick(servers, name).await else {
        return;
    };
    match action {
        "reconnect" => reconnect(servers, &name).await,
        "login" => servers.log_in(&name).await,
        _ => servers.log_out(&name).await,
    }
}

async fn reconnect(servers: &McpServers, name: &str) {
    let state = &servers.0;
    if let Err(error) = servers.reconnect(name).await {
        return state.notify(McpNoticeLevel::Error, error).await;
    }
    let short = {
        let inner = state.inner();
        inner.find(name).map_or_else(String::new, short_state)
    };
    let message = format!("Reconnected to MCP server \"{name}\" ({short})");
    state.notify(McpNoticeLevel::Info, message).await;
}

/// Which servers a command applies to.
struct ServerChoice {
    is_eligible: fn(&ManagedServer) -> bool,
    /// If exactly one server is, the user need not choose.
    is_preferred: fn(&ManagedServer) -> bool,
    none: &'static str,
}

impl ServerChoice {
    /// Returns the server that a command names, or that the user chooses.
    async fn pick(&self, servers: &McpServers, name: Option<&str>) -> Option<String> {
        let state = &servers.0;
        if let Some(name) = name {
            let found = {
                let inner = state.inner();
                inner.find(name).map(self.is_eligible)
            };
            let problem = match found {
                Some(true) => return Some(name.to_owned()),
                Some(false) => self.none.to_owned(),
                None => format!("No MCP server is named \"{name}\"."),
            };
            state.notify(McpNoticeLevel::Error, problem).await;
            return None;
        }
        let (mut eligible, mut preferred) = (Vec::new(), Vec::new());
        for server in &state.inner().servers {
            if (self.is_eligible)(server) {
                eligible.push(server.name().to_owned());
                if (self.is_preferred)(server) {
                    preferred.push(server.name().to_owned());
                }
            }
        }
        if eligible.is_empty() {
            state
                .notify(McpNoticeLevel::Info, self.none.to_owned())
                .await;
            return None;
        }
        for only in [&mut eligible, &mut preferred] {
            if only.len() == 1 {
                return only.pop();
            }
        }
        let session = state.session()?;
        session.select("MCP server".to_owned(), eligible).await
    }
}

/// Completes the arguments of `/mcp`.
pub(super) fn complete(servers: &McpServers, prefix: &str) -> Vec<McpCompletion> {
    let words: Vec<&str> = prefix.trim_start().split(' ').collect();
    match words.as_slice() {
        [action] => {
            let actions = ACTIONS.into_iter().filter(|name| name.starts_with(action));
            let actions = actions.map(|name| McpCompletion {
                value: format!("{name} "),
                label: name.to_owned(),
                description: None,
            });
            actions.collect()
        }
        [action, name] if ACTIONS.contains(action) => {
            let inner = servers.0.inner();
            let matching = inner.servers.iter().filter(|server| {
                let is_eligible = *action == "reconnect" || server.spec().uses_oauth();
                server.connection.is_some() && is_eligible && server.name().starts_with(name)
            });
            let matching = matching.map(|server| McpCompletion {
                value: format!("{action} {}", server.name()),
                label: server.name().to_owned(),
                description: Some(short_state(server)),
            });
            matching.collect()
        }
        _ => Vec::new(),
    }
}
