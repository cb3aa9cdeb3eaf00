//! What the servers need of the session that uses them.

use futures_util::future::BoxFuture;
use pi_protocol::{McpServerSpec, McpServerStatus};
use secrecy::SecretString;

use crate::sampling::{SamplingFuture, SamplingRequest};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum McpNoticeLevel {
    Info,
    Warning,
    Error,
}

/// A tool of the session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionToolInfo {
    pub name: String,
    /// Whether it calls or loads other tools.
    pub reaches_tools: bool,
}

/// A server that an extension registered.
#[derive(Debug, Clone, PartialEq)]
pub struct ExtensionServer {
    pub spec: McpServerSpec,
    pub extension: String,
}

/// The session, as the servers see it.
pub trait McpSession: Send + Sync {
    fn tools(&self) -> Vec<SessionToolInfo>;

    fn active_tools(&self) -> Vec<String>;

    fn set_active_tools(&self, names: &[String]);

    /// Returns the servers that extensions have registered.
    fn extension_servers(&self) -> Vec<ExtensionServer>;

    /// Shows a message to the user.
    fn notify(&self, level: McpNoticeLevel, message: String) -> BoxFuture<'static, ()>;

    /// Lets the user choose an option.
    fn select(&self, title: String, options: Vec<String>) -> BoxFuture<'static, Option<String>>;

    /// Asks for a text. Dropping the result closes the dialog.
    fn input(&self, title: String, placeholder: String) -> BoxFuture<'static, Option<String>>;

    /// Whether a user can respond to dialogs.
    fn has_user(&self) -> bool;

    /// Whether [`McpSession::input`] reaches the user.
    fn asks_for_text(&self) -> bool;

    /// Whether the user sees a screen with menus.
    fn has_screen(&self) -> bool;

    /// Publishes the state of all servers.
    fn statuses_changed(&self, servers: Vec<McpServerStatus>) -> BoxFuture<'static, ()>;

    /// Returns the current token of a provider.
    fn provider_token(&self, provider: &str) -> BoxFuture<'static, Option<SecretString>>;

    /// Sends messages of a server to the model of the session.
    fn sample(&self, server: &str, request: SamplingRequest) -> SamplingFuture {
        drop((server, request));
        let problem = "this session has no model for MCP servers".to_owned();
        Box::pin(std::future::ready(Err(problem)))
    }
}
