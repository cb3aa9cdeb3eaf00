//! Changes of servers by the user: reconnect, enable, expose.

use std::sync::Arc;

use pi_config::{
    McpApproval, McpServerPatch, PatchedEntry, accept_mcp_server, parse_mcp_server,
    update_mcp_server, withdraw_mcp_server,
};
use pi_protocol::{McpAction, McpExposure, McpScope, McpState};
use serde_json::Value;
use tokio::sync::watch;

use super::{McpServers, ServersState};

/// A change of a server. It is saved where the server is configured; that of a server of an extension holds for the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum McpChange {
    Enabled(bool),
    /// Enabled or disabled in the file of the project.
    EnabledInProject(bool),
    Exposure(McpExposure),
}

impl McpServers {
    /// Connects to a server again. An error is a message for the user.
    pub async fn reconnect(&self, name: &str) -> Result<(), String> {
        let state = &self.0;
        let (connection, done) = {
            let mut inner = state.inner();
            let disabled = || format!("MCP server \"{name}\" is disabled");
            let server = inner.find_mut(name).ok_or_else(disabled)?;
            let connection = server.live().cloned().ok_or_else(disabled)?;
            let (done, ready) = watch::channel(false);
            server.ready = Some(ready);
            (connection, done)
        };
        let outcome = connection.reconnect().await;
        state.connection_changed(name, &connection);
        done.send_replace(true);
        state.ensure_discovery().await;
        outcome.map_err(|error| error.to_string())
    }

    /// Does what a client asks for. Nothing is saved. An error is a message for the user.
    pub async fn act(&self, name: &str, action: McpAction) -> Result<(), String> {
        let state = &self.0;
        {
            let inner = state.inner();
            let server = inner.find(name).ok_or_else(|| unknown(name))?;
            if matches!(action, McpAction::Login | McpAction::Logout) && !server.spec().uses_oauth()
            {
                return Err(format!("MCP server \"{name}\" does not use OAuth"));
            }
        }
        match action {
            McpAction::Connect => self.connect_for_session(name).await,
            McpAction::Disconnect => {
                state.set_enabled_in_memory(name, false);
                state.set_enabled(name, false).await;
                Ok(())
            }
            McpAction::Login => {
                let (servers, name) = (self.clone(), name.to_owned());
                state
                    .tasks
                    .spawn(async move { servers.log_in(&name).await });
                Ok(())
            }
            McpAction::Logout => self.sign_out(name).await.map(drop),
            McpAction::Accept => {
                if self.needs_approval(name) {
                    self.change(name, McpChange::Enabled(true)).await
                } else {
                    self.accept(name)
                }
            }
        }
    }

    /// Whether a server of `.mcp.json` has not been accepted.
    fn needs_approval(&self, name: &str) -> bool {
        let inner = self.0.inner();
        let server = inner.find(name);
        server.is_some_and(|server| server.configured.approval == McpApproval::Missing)
    }

    async fn connect_for_session(&self, name: &str) -> Result<(), String> {
        let state = &self.0;
        if self.needs_approval(name) {
            return Err(format!(
                "MCP server \"{name}\" of .mcp.json has not been accepted. Accept it with /mcp or pi mcp accept {name}."
            ));
        }
        let is_connected = {
            let inner = state.inner();
            inner
                .find(name)
                .is_some_and(|server| server.live().is_some())
        };
        if is_connected {
            return self.reconnect(name).await;
        }
        state.set_enabled_in_memory(name, true);
        state.set_enabled(name, true).await;
        state.ensure_discovery().await;
        let status = {
            let inner = state.inner();
            let live = inner.find(name).and_then(super::ManagedServer::live);
            live.map(crate::McpConnection::status)
        };
        match status {
            Some(status) if status.state == McpState::Connected => Ok(()),
            Some(status) => {
                let error = status.error;
                Err(error.unwrap_or_else(|| format!("MCP server \"{name}\" is not connected")))
            }
            None => Err(unknown(name)),
        }
    }

    /// Saves and applies a change. An error is a message for the user.
    pub async fn change(&self, name: &str, change: McpChange) -> Result<(), String> {
        let state = &self.0;
        state.save(name, change)?;
        match change {
            McpChange::Enabled(enabled) | McpChange::EnabledInProject(enabled) => {
                state.set_enabled(name, enabled).await;
            }
            McpChange::Exposure(_) => state.exposure_changed(name),
        }
        state.changed();
        state.ensure_discovery().await;
        Ok(())
    }
}

fn unknown(name: &str) -> String {
    format!("no MCP server is named \"{name}\"")
}

impl ServersState {
    fn set_enabled_in_memory(&self, name: &str, enabled: bool) {
        if let Some(server) = self.inner().find_mut(name) {
            server.configured.spec.enabled = enabled;
        }
    }

    /// Writes a change to its file and to the entry in memory.
    fn save(&self, name: &str, change: McpChange) -> Result<(), String> {
        let mut inner = self.inner();
        let project_file = inner.project_file.clone();
        let shared_override = project_file.clone();
        let server = inner.find_mut(name);
        let server = server.ok_or_else(|| unknown(name))?;
        let configured = &mut server.configured;
        let update = match change {
            McpChange::Enabled(enabled) | McpChange::EnabledInProject(enabled) => McpServerPatch {
                enabled: Some(enabled),
                ..McpServerPatch::default()
            },
            McpChange::Exposure(exposure) => McpServerPatch {
                exposure: Some(exposure),
                ..McpServerPatch::default()
            },
        };
        let override_file = match change {
            McpChange::EnabledInProject(_) => project_file,
            McpChange::Enabled(_) | McpChange::Exposure(_) => configured.override_file.clone(),
        };
        let is_shared = configured.approval != McpApproval::NotNeeded;
        let override_file = match change {
            // The file belongs to other clients, too: only an override of the project changes options.
            McpChange::Exposure(_) if is_shared => override_file.or(shared_override),
            _ => override_file,
        };
        if let (Some(enabled), true) = (update.enabled, is_shared) {
            let agent_dir = &self.options.agent_dir;
            let (saved, approval) = if enabled {
                (
                    accept_mcp_server(agent_dir, configured),
                    McpApproval::Accepted,
                )
            } else {
                (
                    withdraw_mcp_server(agent_dir, configured),
                    McpApproval::Missing,
                )
            };
            saved.map_err(|error| error.to_string())?;
            configured.approval = approval;
        } else if configured.scope != McpScope::Extension {
            let (path, target) = match &override_file {
                Some(file) => (file, PatchedEntry::Override),
                None => (&configured.source, PatchedEntry::Existing),
            };
            update_mcp_server(path, name, update, target).map_err(|error| error.to_string())?;
            configured.override_file = override_file;
        }
        let mut config = configured.spec.config.clone();
        if let Some(enabled) = update.enabled {
            config.insert("enabled".to_owned(), enabled.into());
        }
        if let Some(exposure) = update.exposure {
            config.insert("exposure".to_owned(), exposure.name().into());
        }
        configured.spec = parse_mcp_server(name, &Value::Object(config))?;
        if configured.approval == McpApproval::Missing {
            configured.spec.enabled = false;
        }
        Ok(())
    }

    async fn set_enabled(self: &Arc<Self>, name: &str, enabled: bool) {
        if enabled {
            let mut ready = self.start_connection(name);
            ready.wait_for(|ready| *ready).await.ok();
            return;
        }
        let connection = {
            let mut inner = self.inner();
            let server = inner.find_mut(name);
            server.and_then(|server| {
                server.ready = None;
                server.connection.take()
            })
        };
        self.hide_tools(name);
        self.changed();
        if let Some(connection) = connection {
            connection.release().await;
        }
    }

    /// Registers the tools of a server with their new exposure; those that are no longer declared are not active.
    fn exposure_changed(self: &Arc<Self>, name: &str) {
        self.register_tools(name);
        let Some(session) = self.session() else {
            return;
        };
        let (offered, is_direct) = {
            let offered = self.offered_tools(name);
            let inner = self.inner();
            let is_direct = inner
                .find(name)
                .is_some_and(|server| server.spec().exposure == McpExposure::Direct);
            (offered, is_direct)
        };
        if !is_direct {
            let mut active = session.active_tools();
            active.retain(|tool| !offered.contains(tool));
            session.set_active_tools(&active);
        }
    }
}
