//! Registers the tools of servers with the session.

use std::collections::HashMap;
use std::sync::Arc;

use pi_core::{RegisteredTool, ToolNamespace};
use pi_protocol::{McpExposure, McpState};

use super::{ManagedServer, McpNoticeLevel, NeededSignIn, ServersState};
use crate::connection::McpConnection;
use crate::content::LinkedResources;
use crate::names::ToolNames;
use crate::resources::resource_tools;
use crate::tool::{self, ServerToolOptions};

/// The tools that are registered.
#[derive(Default)]
pub(super) struct ToolState {
    pub(super) names: ToolNames,
    /// The names of the tools that each server offers.
    offered: HashMap<String, Vec<String>>,
    /// Tools by name, as they were last registered.
    registered: HashMap<String, RegisteredTool>,
    /// The exposure of the tools for resources, once a server has some.
    resources: Option<McpExposure>,
}

impl ServersState {
    /// Applies the status of a connection.
    pub(crate) fn connection_changed(self: &Arc<Self>, name: &str, connection: &McpConnection) {
        {
            let mut inner = self.inner();
            let Some(server) = inner.find_mut(name) else {
                return;
            };
            if !server.live().is_some_and(|live| live.is_same(connection)) {
                return;
            }
            self.note_sign_in(server, connection);
        }
        if connection.state() == McpState::Connected {
            self.register_tools(name);
        }
        self.changed();
    }

    /// Remembers the stored tokens while a sign-in is needed, to find out about one in another process.
    fn note_sign_in(&self, server: &mut ManagedServer, connection: &McpConnection) {
        if connection.state() != McpState::NeedsAuth {
            server.needed_sign_in = None;
        } else if server.needed_sign_in.is_none() {
            let tokens = self.stored_tokens(&server.configured);
            server.needed_sign_in = Some(NeededSignIn { tokens });
        }
    }

    /// Registers the tools that a server offers; those it no longer offers are hidden.
    pub(super) fn register_tools(self: &Arc<Self>, name: &str) {
        self.review_pins(name);
        let mut inner = self.inner();
        let inner = &mut *inner;
        let server = inner.servers.iter().find(|server| server.name() == name);
        let Some((server, connection)) = server.and_then(|server| Some((server, server.live()?)))
        else {
            return;
        };
        let status = connection.status();
        let spec = server.spec();
        let description = spec.description.as_deref().map(str::trim);
        let namespace = ToolNamespace {
            name: spec.namespace(),
            aliases: Some(vec![spec.name.clone()]),
            description: description
                .filter(|text| !text.is_empty())
                .map(str::to_owned),
            instructions: server.instructions(),
        };
        let declared: Vec<_> = status
            .tools
            .iter()
            .filter(|tool| !server.withholds(tool))
            .collect();
        let tool_names: Vec<&str> = declared
            .iter()
            .filter_map(|tool| tool.get("name")?.as_str())
            .collect();
        let names = inner.tools.names.assign(&spec.name, &tool_names);
        let mut changed = Vec::new();
        for ((tool, tool_name), name) in declared.into_iter().zip(tool_names).zip(&names) {
            let options = ServerToolOptions {
                servers: Arc::downgrade(self),
                server: &spec.name,
                name: name.clone(),
                exposure: spec.tool_exposure(tool_name),
                namespace: namespace.clone(),
            };
            changed.push(tool::registered(tool, options));
        }
        let previous = inner.tools.offered.insert(spec.name.clone(), names.clone());
        let withdrawn = previous.unwrap_or_default().into_iter();
        let withdrawn = withdrawn.filter(|name| !names.contains(name));
        let registered = &inner.tools.registered;
        changed
            .extend(withdrawn.filter_map(|name| registered.get(&name).cloned().map(tool::hidden)));
        for tool in changed {
            self.register(&mut inner.tools, tool);
        }
        self.register_resource_tools(&inner.servers, &mut inner.tools);
    }

    /// Makes the tools of a server unreachable.
    pub(super) fn hide_tools(self: &Arc<Self>, name: &str) {
        let mut inner = self.inner();
        let inner = &mut *inner;
        let offered = inner.tools.offered.remove(name).unwrap_or_default();
        for tool in offered {
            if let Some(tool) = inner.tools.registered.get(&tool).cloned() {
                self.register(&mut inner.tools, tool::hidden(tool));
            }
        }
        self.register_resource_tools(&inner.servers, &mut inner.tools);
    }

    fn register(&self, state: &mut ToolState, tool: RegisteredTool) {
        state
            .registered
            .insert(tool.name().to_owned(), tool.clone());
        self.registry.add(tool);
    }

    /// Registers the tools for resources with the widest exposure of the servers that have some.
    fn register_resource_tools(self: &Arc<Self>, servers: &[ManagedServer], state: &mut ToolState) {
        let exposures: Vec<_> = servers
            .iter()
            .filter(|server| has_resources(server))
            .map(|server| server.spec().exposure)
            .collect();
        let widest = [
            McpExposure::Direct,
            McpExposure::Codemode,
            McpExposure::Deferred,
        ];
        let exposure = widest
            .into_iter()
            .find(|exposure| exposures.contains(exposure));
        let exposure = exposure.unwrap_or(McpExposure::Hidden);
        let is_new = state.resources.is_none() && exposure != McpExposure::Hidden;
        if !is_new && state.resources.is_none_or(|known| known == exposure) {
            return;
        }
        state.resources = Some(exposure);
        for tool in resource_tools(&Arc::downgrade(self), exposure) {
            self.register(state, tool);
        }
    }

    /// Returns the names of the registered tools of a server.
    pub(super) fn offered_tools(&self, server: &str) -> Vec<String> {
        let inner = self.inner();
        inner.tools.offered.get(server).cloned().unwrap_or_default()
    }

    /// Returns the connection for a call of a tool, or why it cannot be called.
    pub(crate) fn connection_for(&self, server: &str, tool: &str) -> Result<McpConnection, String> {
        let inner = self.inner();
        let Some(managed) = inner.find(server).filter(|server| server.spec().enabled) else {
            return Err(format!("MCP server \"{server}\" is disabled"));
        };
        let Some(connection) = managed.live() else {
            return Err(format!("MCP server \"{server}\" is still starting"));
        };
        let status = connection.status();
        let is_offered = || {
            let mut tools = status.tools.iter();
            tools.any(|one| one.get("name").and_then(|name| name.as_str()) == Some(tool))
        };
        let is_gone = managed.spec().tool_exposure(tool) == McpExposure::Hidden
            || (status.state == McpState::Connected && !is_offered());
        if is_gone {
            return Err(format!(
                "MCP tool \"{server}/{tool}\" is no longer available"
            ));
        }
        if managed.is_withheld(tool) {
            return Err(format!(
                "MCP tool \"{server}/{tool}\" changed since it was accepted. The user can accept it with /mcp or pi mcp accept {server}."
            ));
        }
        Ok(connection.clone())
    }

    /// Returns the connections to servers whose resources can be read.
    pub(crate) fn with_resources(&self) -> Vec<McpConnection> {
        let inner = self.inner();
        let servers = inner.servers.iter().filter(|server| has_resources(server));
        servers
            .filter_map(|server| server.live().cloned())
            .collect()
    }

    pub(crate) fn linked_resources(&self, server: &str) -> LinkedResources {
        let inner = self.inner();
        if inner.find(server).is_some_and(has_resources) {
            LinkedResources::Readable
        } else {
            LinkedResources::Unreadable
        }
    }

    /// Activates the tools that reach what is not declared, as the configuration asks; warns once if there is none.
    pub(crate) async fn ensure_discovery(&self) {
        let Some(session) = self.session() else {
            return;
        };
        let (needs_codemode, needs_search, is_codemode_enabled) = {
            let inner = self.inner();
            let enabled = || inner.servers.iter().filter(|server| server.spec().enabled);
            let needs = |exposure| enabled().any(|server| server.spec().may_have(exposure));
            (
                needs(McpExposure::Codemode),
                needs(McpExposure::Deferred),
                inner.is_codemode_enabled,
            )
        };
        if !needs_codemode && !needs_search {
            return;
        }
        let tools = session.tools();
        let exists = |name: &str| {
            let mut tools = tools.iter();
            tools.any(|tool| tool.name == name && tool.reaches_tools)
        };
        let mut active = session.active_tools();
        let before = active.len();
        for (name, is_wanted) in [
            ("codemode", needs_codemode && is_codemode_enabled),
            ("tool_search", needs_search),
        ] {
            if is_wanted && exists(name) && !active.iter().any(|active| active == name) {
                active.push(name.to_owned());
            }
        }
        if active.len() > before {
            session.set_active_tools(&active);
        }
        let is_reachable = ["codemode", "tool_search"]
            .iter()
            .any(|name| exists(name) && active.iter().any(|active| active == name));
        if is_reachable || std::mem::replace(&mut self.inner().has_warned, true) {
            return;
        }
        let reason = if needs_codemode && exists("codemode") && !is_codemode_enabled {
            " (autoEnableCodemode is false)"
        } else {
            ""
        };
        let message = format!(
            "MCP tools can be reached only through the tools codemode and tool_search, and neither is active{reason}. They cannot be called."
        );
        session.notify(McpNoticeLevel::Warning, message).await;
    }
}

fn has_resources(server: &ManagedServer) -> bool {
    server.spec().enabled
        && server.spec().exposure != McpExposure::Hidden
        && server
            .live()
            .is_some_and(|live| live.status().has_resources)
}
