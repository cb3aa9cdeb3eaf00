//! Signs in to servers.

use pi_protocol::McpServerSpec;

use crate::servers::{McpNoticeLevel, McpServers, ServersState};

impl McpServers {
    /// Signs in to a server and connects again.
    pub(crate) async fn log_in(&self, name: &str) {
        let message = format!("Signing in to MCP server \"{name}\" is not available");
        self.0.notify(McpNoticeLevel::Error, message).await;
    }

    /// Connects to servers whose credentials another process has stored since they were needed.
    pub async fn apply_new_credentials(&self) {}

    /// Removes the credentials of a server and disconnects.
    pub(crate) async fn log_out(&self, name: &str) {
        let message = format!("There are no credentials for MCP server \"{name}\"");
        self.0.notify(McpNoticeLevel::Info, message).await;
    }
}

impl ServersState {
    /// Returns the stored tokens of a server.
    pub(crate) fn stored_tokens(&self, _spec: &McpServerSpec) -> Option<String> {
        None
    }
}
