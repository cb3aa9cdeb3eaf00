//! MCP servers that extensions register.

use std::collections::HashSet;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_protocol::McpServerSpec;
use pi_protocol::json::JsonObject;
use serde::Serialize;
use serde_json::Value;

use crate::front_end::ExtensionFailure;

/// Event for extensions that connect to servers. JavaScript emits it within a registration.
pub(crate) const SERVERS_CHANGE: &str = "mcp_servers_change";

/// Event that failed registrations are reported with.
const REGISTRATION: &str = "register_mcp_server";

/// Applies the registered servers. It runs immediately up to its first await.
pub type McpConnector = Arc<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync>;

/// An MCP server that an extension registered.
#[derive(Debug, Clone, PartialEq)]
pub struct RegisteredMcpServer {
    pub spec: McpServerSpec,
    /// The path of the extension.
    pub extension: String,
}

/// A server, as extensions see it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct McpServerData {
    name: String,
    config: JsonObject,
    extension_path: String,
}

#[derive(Default)]
pub(crate) struct McpServerRegistry {
    servers: Vec<RegisteredMcpServer>,
    /// Names of servers that were reported as not connected.
    reported: HashSet<String>,
    connector: Option<McpConnector>,
}

impl McpServerRegistry {
    /// Adds a server, or replaces the extension's server of the same name.
    pub(crate) fn register(
        &mut self,
        extension: String,
        name: &str,
        config: &Value,
    ) -> Result<(), String> {
        let spec = pi_config::parse_mcp_server(name, config)
            .map_err(|problem| format!("cannot register an MCP server: {problem}"))?;
        let namespace = spec.namespace();
        let mut known = self.servers.iter();
        let known = known.position(|server| server.spec.namespace() == namespace);
        let server = RegisteredMcpServer { spec, extension };
        let Some(position) = known else {
            self.servers.push(server);
            return Ok(());
        };
        let replaced = &mut self.servers[position];
        if replaced.spec.name != name {
            let other = &replaced.spec.name;
            return Err(format!(
                "cannot register the MCP server \"{name}\": its tools would have the names of those of \"{other}\""
            ));
        }
        if replaced.extension != server.extension {
            let owner = &replaced.extension;
            return Err(format!(
                "the MCP server \"{name}\" is already registered by {owner}"
            ));
        }
        *replaced = server;
        Ok(())
    }

    /// Returns whether the extension had registered the server.
    pub(crate) fn remove(&mut self, extension: &str, name: &str) -> bool {
        let count = self.servers.len();
        self.servers
            .retain(|server| server.extension != extension || server.spec.name != name);
        self.servers.len() < count
    }

    /// Removes the servers of an extension that did not load.
    pub(crate) fn remove_all(&mut self, extension: &str) {
        self.servers.retain(|server| server.extension != extension);
    }

    pub(crate) fn list(&self) -> Vec<RegisteredMcpServer> {
        self.servers.clone()
    }

    pub(crate) fn describe(&self) -> Vec<McpServerData> {
        let servers = self.servers.iter().map(|server| McpServerData {
            name: server.spec.name.clone(),
            config: server.spec.config.clone(),
            extension_path: server.extension.clone(),
        });
        servers.collect()
    }

    pub(crate) fn connect(&mut self, connector: McpConnector) {
        self.connector = Some(connector);
    }

    pub(crate) fn connector(&self) -> Option<McpConnector> {
        self.connector.clone()
    }

    /// Returns failures for servers that nothing connects to, once for each server.
    pub(crate) fn take_unconnected(&mut self, is_handled: bool) -> Vec<ExtensionFailure> {
        if is_handled || self.connector.is_some() {
            return Vec::new();
        }
        let (servers, reported) = (self.servers.iter(), &mut self.reported);
        let new = servers.filter(|server| reported.insert(server.spec.name.clone()));
        let failures = new.map(|server| ExtensionFailure {
            extension: Some(server.extension.clone()),
            event: REGISTRATION.to_owned(),
            error: format!(
                "the MCP server \"{}\" is not used: the built-in extension mcp is disabled, and no other extension \
                 handles {SERVERS_CHANGE}",
                server.spec.name
            ),
            stack: None,
        });
        failures.collect()
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    fn register(
        servers: &mut McpServerRegistry,
        extension: &str,
        name: &str,
    ) -> Result<(), String> {
        servers.register(extension.to_owned(), name, &json!({"command": "x"}))
    }

    #[test]
    fn an_extension_replaces_its_own_servers_only() {
        let mut servers = McpServerRegistry::default();
        register(&mut servers, "/a.js", "one-x").unwrap();
        let changed = json!({"url": "http://localhost/mcp"});
        servers
            .register("/a.js".to_owned(), "one-x", &changed)
            .unwrap();
        let other = register(&mut servers, "/b.js", "one-x").unwrap_err();
        assert!(other.contains("/a.js"), "{other}");
        let clash = register(&mut servers, "/a.js", "one_x").unwrap_err();
        assert!(clash.contains("\"one-x\""), "{clash}");
        assert_eq!(
            serde_json::to_value(servers.describe()).unwrap(),
            json!([{"name": "one-x", "config": changed, "extensionPath": "/a.js"}])
        );
        assert!(!servers.remove("/b.js", "one-x"));
        assert!(servers.remove("/a.js", "one-x"));
        assert_eq!(servers.list(), []);
    }

    #[test]
    fn invalid_servers_are_refused() {
        let mut servers = McpServerRegistry::default();
        for (name, config) in [
            ("a b", json!({"command": "x"})),
            ("a", json!({})),
            ("a", json!(null)),
        ] {
            let problem = servers.register("/a.js".to_owned(), name, &config);
            assert!(problem.is_err(), "{name} {config}");
        }
        assert_eq!(servers.list(), []);
    }

    #[test]
    fn servers_that_nothing_connects_to_are_reported_once() {
        let mut servers = McpServerRegistry::default();
        register(&mut servers, "/a.js", "one").unwrap();
        assert!(servers.take_unconnected(true).is_empty());
        let failures = servers.take_unconnected(false);
        assert_eq!(failures.len(), 1);
        assert_eq!(failures[0].event, "register_mcp_server");
        assert!(servers.take_unconnected(false).is_empty());
        register(&mut servers, "/a.js", "two").unwrap();
        servers.connect(Arc::new(|| Box::pin(std::future::ready(()))));
        assert!(servers.take_unconnected(false).is_empty());
    }
}
