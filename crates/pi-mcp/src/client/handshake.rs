//! The start of a connection: versions and capabilities.

use std::time::Duration;

use pi_protocol::JsonRpcMessage;
use serde_json::{Map, Value, json};

use super::{Client, RequestOptions};
use crate::error::{McpError, UNSUPPORTED_VERSION};

/// The version of the protocol that is requested.
const LATEST_VERSION: &str = "2025-11-25";

const SUPPORTED_VERSIONS: [&str; 4] = [LATEST_VERSION, "2025-06-18", "2025-03-26", "2024-11-05"];

/// What the server states about itself.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct ServerInfo {
    pub(crate) has_tools: bool,
    pub(crate) has_resources: bool,
    pub(crate) has_prompts: bool,
    /// Whether the server completes arguments.
    pub(crate) has_completions: bool,
    pub(crate) instructions: Option<String>,
    /// Whether it works without a handshake.
    pub(crate) is_modern: bool,
}

impl Client {
    /// Makes the handshake; once more with another version if the server names one.
    pub(crate) async fn initialize(
        &self,
        capabilities: Value,
        timeout: Duration,
    ) -> Result<ServerInfo, McpError> {
        let first = self
            .initialize_with(LATEST_VERSION, &capabilities, timeout)
            .await;
        match first {
            Err(error) => match supported_version(&error) {
                Some(version) => self.initialize_with(version, &capabilities, timeout).await,
                None => Err(error),
            },
            info => info,
        }
    }

    async fn initialize_with(
        &self,
        version: &str,
        capabilities: &Value,
        timeout: Duration,
    ) -> Result<ServerInfo, McpError> {
        let params = json!({
            "protocolVersion": version,
            "capabilities": capabilities,
            "clientInfo": {"name": "pi", "version": pi_env::VERSION},
        });
        let options = RequestOptions::new(timeout);
        let result = self.request("initialize", Some(params), options).await?;
        let (version, info) = parse_server_info(&result)?;
        if !SUPPORTED_VERSIONS.contains(&version) {
            return Err(McpError::protocol(format!(
                "the MCP server uses version {version} of the protocol, which is not supported"
            )));
        }
        self.0.transport().set_protocol_version(version);
        let initialized = JsonRpcMessage::notification("notifications/initialized", None);
        self.0.transport().send(initialized).await?;
        Ok(info)
    }
}

/// Returns the version that a server supports instead of the requested one, if we support it.
fn supported_version(error: &McpError) -> Option<&'static str> {
    let McpError::Rpc { code, data, .. } = error else {
        return None;
    };
    let supported = data.get("supported").and_then(Value::as_array)?;
    let mut versions = SUPPORTED_VERSIONS.into_iter();
    versions.find(|version| {
        *code == UNSUPPORTED_VERSION
            && *version != LATEST_VERSION
            && supported.iter().any(|it| it == version)
    })
}

/// Returns the version of the protocol and what else the handshake states.
fn parse_server_info(result: &Value) -> Result<(&str, ServerInfo), McpError> {
    let server = result.get("serverInfo");
    let named = |key| {
        server
            .and_then(|server| server.get(key))
            .and_then(Value::as_str)
    };
    let capabilities = result.get("capabilities").and_then(Value::as_object);
    let version = result.get("protocolVersion").and_then(Value::as_str);
    match (
        version,
        capabilities,
        parse_instructions(result),
        named("name"),
        named("version"),
    ) {
        (Some(version), Some(capabilities), Some(instructions), Some(_), Some(_)) => {
            Ok((version, parse_capabilities(capabilities, instructions)))
        }
        _ => Err(McpError::protocol(
            "the MCP server sent an invalid result of initialize",
        )),
    }
}

/// Returns the instructions of a server, empty if there are none; `None` if they are invalid.
pub(super) fn parse_instructions(result: &Value) -> Option<&str> {
    match result.get("instructions") {
        None => Some(""),
        Some(Value::String(text)) => Some(text.trim()),
        Some(_) => None,
    }
}

pub(super) fn parse_capabilities(
    capabilities: &Map<String, Value>,
    instructions: &str,
) -> ServerInfo {
    ServerInfo {
        instructions: (!instructions.is_empty()).then(|| instructions.to_owned()),
        has_tools: capabilities.get("tools").is_some_and(is_present),
        has_resources: capabilities.contains_key("resources"),
        has_prompts: capabilities.get("prompts").is_some_and(is_present),
        has_completions: capabilities.get("completions").is_some_and(is_present),
        ..ServerInfo::default()
    }
}

/// Whether a capability is not turned off.
fn is_present(value: &Value) -> bool {
    !matches!(value, Value::Null | Value::Bool(false))
}
