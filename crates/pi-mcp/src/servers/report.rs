//! What users see about servers.

use std::sync::Arc;

use pi_config::McpApproval;
use pi_protocol::{McpServerStatus, McpState};
use serde_json::{Map, Value};

use super::{ManagedServer, McpNoticeLevel, ServersInner, ServersState};
use crate::connection::{ConnectionStatus, DeclaredTool};
use crate::secrets::shown_address;

/// Returns the state of a server as data.
pub(super) fn status(server: &ManagedServer) -> McpServerStatus {
    let live = server.live().map(crate::McpConnection::status);
    McpServerStatus {
        changed: server.withheld_names(),
        prompts: server.prompts.iter().map(|it| it.name.clone()).collect(),
        ..server_status(&server.configured, live.as_ref())
    }
}

/// Returns the state of a configured server as data; without a connection it is disabled or starting.
pub fn server_status(
    server: &pi_config::ConfiguredMcpServer,
    live: Option<&ConnectionStatus>,
) -> McpServerStatus {
    let spec = &server.spec;
    let state = match live {
        _ if !spec.enabled => McpState::Disabled,
        None => McpState::Connecting,
        Some(live) => live.state,
    };
    let tools = live.map_or_else(Vec::new, |live| tool_names(&live.tools));
    let different = tools.iter().filter_map(|tool| {
        let exposure = spec.tool_exposure(tool);
        let is_different = exposure != spec.exposure;
        is_different.then(|| (tool.clone(), Value::from(exposure.name())))
    });
    let different: Map<String, Value> = different.collect();
    McpServerStatus {
        name: spec.name.clone(),
        scope: server.scope,
        source: server.source.display().to_string(),
        override_file: server
            .override_file
            .as_ref()
            .map(|file| file.display().to_string()),
        enabled: spec.enabled,
        exposure: spec.exposure,
        transport: shown_address(spec),
        state,
        tool_exposure: (!different.is_empty()).then_some(different),
        tools,
        changed: Vec::new(),
        prompts: Vec::new(),
        resources: live.is_some_and(|live| live.has_resources).then_some(true),
        error: live
            .filter(|live| live.state != McpState::Connected)
            .and_then(|live| live.error.clone()),
    }
}

/// Returns the names of tools as the server names them.
pub(crate) fn tool_names(tools: &Arc<Vec<DeclaredTool>>) -> Vec<String> {
    let names = tools.iter().filter_map(|tool| tool.get("name")?.as_str());
    names.map(str::to_owned).collect()
}

/// Returns the state of a server in a few words.
pub(super) fn short_state(server: &ManagedServer) -> String {
    if server.configured.approval == McpApproval::Missing {
        return "not accepted".to_owned();
    }
    if !server.spec().enabled {
        return "disabled".to_owned();
    }
    let Some(live) = server.live() else {
        return "starting".to_owned();
    };
    let status = live.status();
    match status.state {
        McpState::NeedsAuth => "needs sign-in".to_owned(),
        McpState::Failed => {
            let error = status.error.unwrap_or_default();
            format!("failed: {}", error.lines().next().unwrap_or_default())
        }
        McpState::Connected => {
            let count = status.tools.len();
            let plural = if count == 1 { "" } else { "s" };
            let resources = if status.has_resources {
                " · resources"
            } else {
                ""
            };
            let changed = match server.withheld_names().len() {
                0 => String::new(),
                changed => format!(" · {changed} changed"),
            };
            format!("connected · {count} tool{plural}{changed}{resources}")
        }
        McpState::Disconnected if waits_for_use(server, &status) => {
            format!("starts on first use · {} tools", status.tools.len())
        }
        McpState::Connecting => "connecting…".to_owned(),
        other => other.name().to_owned(),
    }
}

/// Whether a lazy server is stopped until it is needed.
fn waits_for_use(server: &ManagedServer, status: &ConnectionStatus) -> bool {
    server.spec().lifecycle.is_lazy && status.error.is_none()
}

/// Returns one line per server, with errors below.
fn line(server: &ManagedServer) -> String {
    let (name, exposure) = (server.name(), server.spec().exposure);
    let status = server.live().map(crate::McpConnection::status);
    let state = match &status {
        _ if server.configured.approval == McpApproval::Missing => {
            format!("not accepted, run pi mcp accept {name}")
        }
        _ if !server.spec().enabled => "disabled".to_owned(),
        None => "starting".to_owned(),
        Some(status) => match status.state {
            McpState::NeedsAuth => format!("needs sign-in, run /mcp login {name}"),
            McpState::Connected if !server.withheld_names().is_empty() => {
                let changed = server.withheld_names().join(", ");
                format!("connected, changed and withheld: {changed}; run pi mcp accept {name}")
            }
            McpState::Connected => format!("connected, {} tools", status.tools.len()),
            McpState::Disconnected if waits_for_use(server, status) => {
                format!("starts on first use, {} tools", status.tools.len())
            }
            McpState::Disconnected => "disconnected, reconnects on the next call".to_owned(),
            other => other.name().to_owned(),
        },
    };
    let mut text = format!("{name}: {state} ({exposure})");
    let error =
        status.filter(|status| !matches!(status.state, McpState::Connected | McpState::NeedsAuth));
    for line in error
        .and_then(|status| status.error)
        .unwrap_or_default()
        .lines()
    {
        text.push_str("\n    ");
        text.push_str(line);
    }
    text
}

impl ServersState {
    /// Returns the state of all servers as text.
    pub(super) fn status_text(&self) -> String {
        let inner = self.inner();
        let servers = inner.servers.iter().map(line);
        let errors = inner.config_errors.iter();
        let errors = errors.map(|error| format!("config error: {error}"));
        let overridden = inner.overridden.iter();
        let overridden = overridden.map(|line| format!("overridden: {line}"));
        let lines: Vec<String> = servers.chain(errors).chain(overridden).collect();
        if lines.is_empty() {
            return format!(
                "No MCP servers configured. Run pi mcp add, or add them to {}.",
                self.options.agent_dir.mcp_file().display()
            );
        }
        lines.join("\n")
    }

    /// Shows what needs the user's attention, of all servers or only of some.
    pub(super) async fn report_problems(&self, only: Option<&[String]>) {
        let lines: Vec<String> = {
            let inner = self.inner();
            if inner.session.is_none() {
                return;
            }
            let errors = inner.config_errors.iter().filter(|_| only.is_none());
            let errors = errors.map(|error| format!("  config: {error}"));
            let servers = inner.servers.iter().filter(|server| {
                let is_included =
                    only.is_none_or(|names| names.iter().any(|name| name == server.name()));
                let state = server.live().map(crate::McpConnection::state);
                is_included && matches!(state, Some(McpState::NeedsAuth | McpState::Failed))
            });
            let servers =
                servers.map(|server| format!("  {}: {}", server.name(), short_state(server)));
            errors.chain(servers).collect()
        };
        let unaccepted = if only.is_none() {
            unaccepted(&self.inner())
        } else {
            None
        };
        if let Some(message) = unaccepted {
            self.notify(McpNoticeLevel::Info, message).await;
        }
        if !lines.is_empty() {
            let message = format!(
                "MCP servers need attention:\n{}\nRun /mcp to fix this.",
                lines.join("\n")
            );
            self.notify(McpNoticeLevel::Warning, message).await;
        }
    }
}

/// Lists the servers of `.mcp.json` that wait for the user.
fn unaccepted(inner: &ServersInner) -> Option<String> {
    let servers = inner.servers.iter();
    let servers = servers.filter(|it| it.configured.approval == McpApproval::Missing);
    let names: Vec<&str> = servers.map(ManagedServer::name).collect();
    (!names.is_empty()).then(|| {
        format!(
            "MCP servers in .mcp.json are not started until you accept them: {}. Run /mcp to review them.",
            names.join(", ")
        )
    })
}
