//! Connections of `pi mcp`, which belong to no session.

use pi_config::ConfiguredMcpServer;
use pi_mcp::{McpConnection, McpConnector, McpPins, server_status};
use pi_protocol::McpServerStatus;

use super::McpFiles;

/// Connects to configured servers.
pub(super) struct Connector(pub(super) McpConnector);

impl McpFiles {
    pub(super) fn connector(&self) -> Connector {
        let (agent_dir, cwd) = (self.agent_dir.clone(), self.cwd.clone());
        Connector(McpConnector::new(agent_dir, cwd, self.env.clone()))
    }
}

impl Connector {
    /// Returns the connection to a server, which is not open yet.
    pub(super) fn connection(&self, server: &ConfiguredMcpServer) -> McpConnection {
        self.0.connection(server)
    }

    /// Connects to a server if it is enabled, and returns what is known about it then.
    pub(super) async fn check(&self, server: &ConfiguredMcpServer) -> McpServerStatus {
        if !server.spec.enabled {
            return server_status(server, None);
        }
        let connection = self.connection(server);
        // The outcome is in the status.
        connection.connect().await.ok();
        let status = connection.status();
        connection.close().await;
        let changes = McpPins::new(&self.0.agent_dir).changes(server, &status);
        let changes = changes.unwrap_or_default();
        McpServerStatus {
            changed: changes
                .iter()
                .map(|change| change.subject().to_owned())
                .collect(),
            ..server_status(server, Some(&status))
        }
    }
}
