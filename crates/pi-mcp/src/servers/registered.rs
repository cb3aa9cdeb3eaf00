//! The servers that extensions have registered.

use std::sync::Arc;

use pi_config::{ConfiguredMcpServer, McpApproval};
use pi_protocol::McpScope;

use super::{ExtensionServer, ManagedServer, ServersInner, ServersState};
use crate::pool::PooledConnection;

impl ServersState {
    /// Applies what extensions have registered; returns the connections to end and the names of servers to connect to.
    pub(super) fn apply_extension_servers(
        self: &Arc<Self>,
    ) -> (Vec<PooledConnection>, Vec<String>) {
        let Some(session) = self.session() else {
            return (Vec::new(), Vec::new());
        };
        let registered = session.extension_servers();
        let mut inner = self.inner();
        let (wanted, overridden) = inner.extension_servers(registered);
        inner.overridden = overridden;
        let is_wanted = |server: &ManagedServer| {
            server.configured.scope != McpScope::Extension
                || wanted.iter().any(|wanted| {
                    wanted.spec.name == server.name() && wanted.spec.config == server.spec().config
                })
        };
        let servers = std::mem::take(&mut inner.servers);
        let (kept, dropped): (Vec<_>, Vec<_>) = servers.into_iter().partition(is_wanted);
        inner.servers = kept;
        let mut added = Vec::new();
        for server in wanted {
            if inner.find(&server.spec.name).is_none() {
                if server.spec.enabled {
                    added.push(server.spec.name.clone());
                }
                inner.servers.push(ManagedServer::new(server));
            }
        }
        drop(inner);
        for server in &dropped {
            self.hide_tools(server.name());
        }
        self.changed();
        let connections = dropped.into_iter().filter_map(|server| server.connection);
        (connections.collect(), added)
    }
}

impl ServersInner {
    /// Returns the servers of extensions that no file configures, and what files override.
    pub(super) fn extension_servers(
        &self,
        registered: Vec<ExtensionServer>,
    ) -> (Vec<ConfiguredMcpServer>, Vec<String>) {
        let (mut servers, mut overridden) = (Vec::new(), Vec::new());
        for ExtensionServer { spec, extension } in registered {
            let mut files = self.servers.iter().map(|server| &server.configured);
            let file = files.find(|server| {
                server.scope != McpScope::Extension && server.spec.namespace() == spec.namespace()
            });
            match file {
                Some(file) => overridden.push(format!(
                    "\"{}\" of {extension} is overridden by \"{}\" in {}",
                    spec.name,
                    file.spec.name,
                    file.source.display()
                )),
                None => servers.push(ConfiguredMcpServer {
                    spec,
                    source: extension.into(),
                    scope: McpScope::Extension,
                    override_file: None,
                    approval: McpApproval::NotNeeded,
                }),
            }
        }
        (servers, overridden)
    }
}
