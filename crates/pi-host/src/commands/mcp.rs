//! Commands for MCP servers.

use pi_mcp::McpServers;
use pi_protocol::{McpAction, Rejected, RejectionCode};
use serde_json::json;

use super::{AcceptedCommand, CommandResult};
use crate::runtime::{SessionRuntime, mcp_servers};

pub(super) fn list(runtime: &SessionRuntime) -> CommandResult {
    let servers = mcp_servers(runtime);
    let servers = servers.as_ref().map_or_else(Vec::new, McpServers::statuses);
    AcceptedCommand::with_data(&json!({ "servers": servers }))
}

pub(super) async fn act(
    runtime: &SessionRuntime,
    server: &str,
    action: McpAction,
) -> CommandResult {
    let reject = |problem: String| Rejected::new(RejectionCode::Failed, problem);
    let servers = mcp_servers(runtime);
    let servers = servers.ok_or_else(|| reject("MCP servers are disabled".to_owned()))?;
    let acting = Box::pin(servers.act(server, action));
    acting.await.map_err(reject)?;
    Ok(AcceptedCommand::done())
}

/// Applies what a client can do.
pub(super) fn greet(runtime: &SessionRuntime, elicitation: bool) -> AcceptedCommand {
    if elicitation && let Some(servers) = mcp_servers(runtime) {
        servers.offer_elicitation();
    }
    AcceptedCommand::done()
}
