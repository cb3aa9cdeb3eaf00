//! Completion of what MCP servers offer, for editors.

use std::sync::Arc;

use futures_util::future::BoxFuture;
pub use pi_mcp::{McpCompletion, McpSuggestions};

use crate::runtime::{SessionRuntime, mcp_servers};

/// Completes a line up to the cursor; `None` if MCP servers have nothing to do with it.
pub type McpCompleter =
    Arc<dyn Fn(&str) -> Option<BoxFuture<'static, McpSuggestions>> + Send + Sync>;

/// Returns the completion of a session's MCP servers; `None` if it has none.
pub fn mcp_completer(runtime: &SessionRuntime) -> Option<McpCompleter> {
    let servers = mcp_servers(runtime)?;
    Some(Arc::new(move |line| servers.suggest(line)))
}
