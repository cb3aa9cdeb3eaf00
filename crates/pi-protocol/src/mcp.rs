//! Servers of the Model Context Protocol: how they are configured and what is known about them.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::json::JsonObject;
use crate::name_pattern::matches_name_pattern;

/// How the tools of a server are reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum McpExposure {
    /// From scripts of the tool `codemode`; also through `tool_search`.
    #[default]
    Codemode,
    /// Once `tool_search` has loaded them; also from scripts.
    Deferred,
    /// Declared to the model.
    Direct,
    /// Not reachable.
    Hidden,
}

impl McpExposure {
    pub const ALL: [Self; 4] = [Self::Codemode, Self::Deferred, Self::Direct, Self::Hidden];

    pub fn name(self) -> &'static str {
        match self {
            Self::Codemode => "codemode",
            Self::Deferred => "deferred",
            Self::Direct => "direct",
            Self::Hidden => "hidden",
        }
    }

    /// Returns the exposure with this name; `codemode-deferred` is an older name of `codemode`.
    pub fn named(name: &str) -> Option<Self> {
        if name == "codemode-deferred" {
            return Some(Self::Codemode);
        }
        Self::ALL.into_iter().find(|one| one.name() == name)
    }

    /// Whether the tools are reached through other tools only.
    pub fn is_indirect(self) -> bool {
        matches!(self, Self::Codemode | Self::Deferred)
    }
}

impl fmt::Display for McpExposure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// A valid entry of `mcpServers`.
#[derive(Clone, PartialEq)]
pub struct McpServerSpec {
    pub name: String,
    pub transport: McpTransport,
    pub enabled: bool,
    pub exposure: McpExposure,
    /// Exposures of single tools: names, or patterns in which `*` matches any characters.
    pub tool_exposure: Vec<(String, McpExposure)>,
    /// Limit for a request.
    pub timeout: Duration,
    pub description: Option<String>,
    pub lifecycle: McpLifecycle,
    /// The entry as it was configured, including keys we do not know.
    pub config: JsonObject,
}

/// How a server is started, spoken to and stopped.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct McpLifecycle {
    pub protocol: McpProtocol,
    /// Whether the server starts on first use, with the tools it had last.
    pub is_lazy: bool,
    /// After how long without a request a lazy child process is stopped; `None` for never.
    pub idle: Option<Duration>,
    /// Whether the server may use the session's model.
    pub has_sampling: bool,
}

/// How a connection starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum McpProtocol {
    /// As last time; with a handshake if the server is new, and without one if it rejects that.
    #[default]
    Auto,
    /// With a handshake: versions up to 2025-11-25.
    Legacy,
    /// Without a handshake: 2026-07-28. Falls back to one.
    Modern,
}

impl McpServerSpec {
    /// Returns the exposure of a tool: its exact entry, else the first pattern that matches, else that of the server.
    pub fn tool_exposure(&self, tool: &str) -> McpExposure {
        let entries = || self.tool_exposure.iter();
        let exact = entries().find(|(name, _)| name == tool);
        let found = exact.or_else(|| {
            entries().find(|(name, _)| name.contains('*') && matches_name_pattern(name, tool))
        });
        found.map_or(self.exposure, |(_, exposure)| *exposure)
    }

    /// Returns whether a tool may have this exposure, as far as the configuration states.
    pub fn may_have(&self, exposure: McpExposure) -> bool {
        self.exposure == exposure || self.tool_exposure.iter().any(|(_, one)| *one == exposure)
    }

    /// Returns whether some of its tools are reached through other tools.
    pub fn has_indirect_tools(&self) -> bool {
        self.may_have(McpExposure::Codemode) || self.may_have(McpExposure::Deferred)
    }

    /// Returns the namespace of its tools.
    pub fn namespace(&self) -> String {
        mcp_namespace(&self.name)
    }

    /// Returns whether the server may ask for an OAuth sign-in: it has no other credential.
    pub fn uses_oauth(&self) -> bool {
        match &self.transport {
            McpTransport::Stdio(_) => false,
            McpTransport::Http(endpoint) => {
                endpoint.provider.is_none() && !endpoint.has_authorization()
            }
        }
    }

    /// Returns the URL or the command line, for display.
    pub fn address(&self) -> String {
        match &self.transport {
            McpTransport::Http(endpoint) => endpoint.url.clone(),
            McpTransport::Stdio(command) => {
                let words = std::iter::once(&command.command).chain(&command.args);
                words.map(String::as_str).collect::<Vec<_>>().join(" ")
            }
        }
    }
}

/// Values of variables and headers may be secrets.
impl fmt::Debug for McpServerSpec {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("McpServerSpec")
            .field("name", &self.name)
            .field("enabled", &self.enabled)
            .field("exposure", &self.exposure)
            .finish_non_exhaustive()
    }
}

/// Returns the namespace of the tools of a server: names that differ only in `-` and `_` share it.
pub fn mcp_namespace(server: &str) -> String {
    format!("mcp__{}", server.replace('-', "_"))
}

/// Tools that read the resources of servers.
pub const MCP_RESOURCE_TOOLS: [&str; 3] = [
    "list_mcp_resources",
    "list_mcp_resource_templates",
    "read_mcp_resource",
];

/// Whether a tool is one of a server, or reads resources of servers.
pub fn is_mcp_tool(name: &str) -> bool {
    name.starts_with("mcp__") || MCP_RESOURCE_TOOLS.contains(&name)
}

#[derive(Clone, PartialEq, Eq)]
pub enum McpTransport {
    Stdio(McpCommand),
    Http(McpEndpoint),
}

/// A server that is started as a child process.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct McpCommand {
    pub command: String,
    pub args: Vec<String>,
    /// Values may refer to variables and commands.
    pub env: Vec<(String, String)>,
    pub cwd: Option<String>,
}

/// A server with streamable HTTP.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct McpEndpoint {
    pub url: String,
    /// Values may refer to variables and commands.
    pub headers: Vec<(String, String)>,
    pub oauth: McpOAuthSpec,
    /// The provider whose token is sent.
    pub provider: Option<String>,
}

impl McpEndpoint {
    fn has_authorization(&self) -> bool {
        let mut names = self.headers.iter().map(|(name, _)| name);
        names.any(|name| name.eq_ignore_ascii_case("authorization"))
    }
}

/// How to sign in to a server.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct McpOAuthSpec {
    pub client_id: Option<String>,
    /// May refer to variables and commands.
    pub client_secret: Option<String>,
    pub callback_port: Option<u16>,
    pub callback_url: Option<String>,
    pub scope: Option<String>,
    pub client_name: Option<String>,
    pub registration: McpClientRegistration,
    pub auth_server_metadata_url: Option<String>,
}

/// How a client gets its ID.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum McpClientRegistration {
    #[default]
    Auto,
    /// Dynamic registration.
    Dynamic,
    /// The address of a document that describes the client.
    Document,
}

/// Where a server is configured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum McpScope {
    /// The user's `mcp.json`.
    Global,
    /// The project's `.pi/mcp.json`.
    Project,
    /// An extension.
    Extension,
}

impl McpScope {
    pub fn name(self) -> &'static str {
        match self {
            Self::Global => "global",
            Self::Project => "project",
            Self::Extension => "extension",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum McpState {
    Connecting,
    Connected,
    NeedsAuth,
    Failed,
    Disconnected,
    Closed,
    Disabled,
}

impl McpState {
    pub fn name(self) -> &'static str {
        match self {
            Self::Connecting => "connecting",
            Self::Connected => "connected",
            Self::NeedsAuth => "needs-auth",
            Self::Failed => "failed",
            Self::Disconnected => "disconnected",
            Self::Closed => "closed",
            Self::Disabled => "disabled",
        }
    }
}

/// What a client does with a server, for this session only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum McpAction {
    /// Connects, again if it is connected.
    Connect,
    Disconnect,
    /// Starts to sign in with the dialogs of the session.
    Login,
    /// Removes the credentials.
    Logout,
    /// Accepts tools that changed since they were accepted last.
    Accept,
}

/// A configured server and its connection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct McpServerStatus {
    pub name: String,
    pub scope: McpScope,
    /// The file or the extension that configures it.
    pub source: String,
    /// The project's file that overrides some of its options.
    #[serde(default, rename = "override", skip_serializing_if = "Option::is_none")]
    pub override_file: Option<String>,
    pub enabled: bool,
    pub exposure: McpExposure,
    /// The URL or the command line.
    pub transport: String,
    pub state: McpState,
    /// The names of its tools, as the server names them.
    pub tools: Vec<String>,
    /// Exposures of tools that differ from that of the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_exposure: Option<serde_json::Map<String, serde_json::Value>>,
    /// What changed since it was accepted: tools, and `instructions` of the server.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
    /// The names of its prompts, once they are known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prompts: Vec<String>,
    /// Set if the server offers resources.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn spec(tool_exposure: &[(&str, McpExposure)]) -> McpServerSpec {
        let tool_exposure = tool_exposure.iter();
        McpServerSpec {
            name: "a-b".to_owned(),
            transport: McpTransport::Stdio(McpCommand {
                command: "server".to_owned(),
                args: vec!["-x".to_owned()],
                ..McpCommand::default()
            }),
            enabled: true,
            exposure: McpExposure::Codemode,
            tool_exposure: tool_exposure
                .map(|(name, exposure)| ((*name).to_owned(), *exposure))
                .collect(),
            timeout: Duration::from_mins(1),
            description: None,
            lifecycle: McpLifecycle::default(),
            config: JsonObject::default(),
        }
    }

    #[test]
    fn exact_names_come_before_patterns_and_the_first_pattern_wins() {
        let spec = spec(&[
            ("get_*", McpExposure::Direct),
            ("*_all", McpExposure::Hidden),
            ("get_all", McpExposure::Deferred),
        ]);
        for (tool, expected) in [
            ("get_one", McpExposure::Direct),
            ("drop_all", McpExposure::Hidden),
            ("get_all", McpExposure::Deferred),
            ("get_x_all", McpExposure::Direct),
            ("other", McpExposure::Codemode),
        ] {
            assert_eq!(spec.tool_exposure(tool), expected, "{tool}");
        }
        assert!(spec.may_have(McpExposure::Direct));
        assert!(spec.has_indirect_tools());
    }

    #[test]
    fn a_server_has_a_namespace_and_an_address() {
        let spec = spec(&[]);
        assert_eq!(spec.namespace(), "mcp__a_b");
        assert_eq!(spec.address(), "server -x");
        assert!(!spec.uses_oauth());
    }

    #[test]
    fn debug_output_has_no_values_of_the_entry() {
        let mut spec = spec(&[]);
        spec.config.insert("env".to_owned(), "hunter2".into());
        assert!(!format!("{spec:?}").contains("hunter2"));
    }

    #[test]
    fn mcp_tools_have_known_names() {
        assert!(is_mcp_tool("mcp__a__b"));
        assert!(is_mcp_tool("read_mcp_resource"));
        assert!(!is_mcp_tool("read"));
    }
}
