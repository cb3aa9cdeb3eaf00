//! Connects to servers of the Model Context Protocol and offers their tools and resources to a session.
//!
//! [`McpConnection`] is one server: a child process ([`stdio`](self)) or streamable HTTP, connected on demand. [`McpServers`]
//! are the servers of a session: it connects in the background, registers tools in a [`ToolRegistry`](pi_core::ToolRegistry),
//! and describes the servers to the model and to the user. It knows the session only through [`McpSession`]. Sessions of a
//! process share connections through an [`McpPool`].
//!
//! ```
//! use pi_config::parse_mcp_server;
//! use pi_protocol::McpExposure;
//! use serde_json::json;
//!
//! let spec = parse_mcp_server("docs", &json!({"url": "https://example.com/mcp"}))?;
//! assert_eq!(spec.namespace(), "mcp__docs");
//! assert_eq!(spec.exposure, McpExposure::Codemode);
//! # Ok::<(), String>(())
//! ```

mod auth;
mod catalog;
mod client;
mod completion;
mod conformance;
mod connection;
mod connector;
mod content;
mod elicitation;
mod error;
mod event_stream;
#[doc(hidden)]
pub mod fuzz_support;
mod http;
mod log;
mod mentions;
mod names;
mod oauth;
mod pins;
mod pool;
mod prompts;
mod resources;
mod sampling;
mod secrets;
mod servers;
mod sign_in;
mod stdio;
#[cfg(test)]
mod test_session;
mod tool;
mod transport;

pub use auth::{AuthChallenge, McpAuth, RejectedToken};
pub use catalog::McpCatalog;
pub use completion::McpSuggestions;
pub use conformance::run_conformance_scenario;
pub use connection::{
    ConnectionOptions, ConnectionStatus, DeclaredTool, InheritedVariables, McpConnection,
};
pub use connector::McpConnector;
pub use error::McpError;
pub use log::McpLog;
pub use oauth::{OAuthSession, SignInError, SignInPrompt};
pub use pins::{McpPins, PinChange, describe_changes};
pub use pool::McpPool;
pub use prompts::{McpInput, McpPrompt, McpPromptArgument};
pub use sampling::{SampledMessage, SamplingAnswer, SamplingRequest};
pub use servers::{
    ExtensionServer, MCP_SERVERS_SECTION, McpChange, McpCompletion, McpNoticeLevel, McpServers,
    McpServersOptions, McpSession, SessionToolInfo, server_status,
};
pub use sign_in::open_url;
