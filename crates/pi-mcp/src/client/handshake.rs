//! The start of a connection: versions and capabilities.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Client, RequestOptions};
use crate::error::McpError;
use crate::json_rpc;

/// The version of the protocol that is requested.
const LATEST_VERSION: &str = "2025-11-25";

const SUPPORTED_VERSIONS: [&str; 4] = [LATEST_VERSION, "2025-06-18", "2025-03-26", "2024-11-05"];

/// What the server states about itself.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct ServerInfo {
    pub(crate) has_tools: bool,
    pub(crate) has_resources: bool,
    pub(crate) has_prompts: bool,
    pub(crate) instructions: Option<String>,
}

impl Client {
    /// Makes the handshake.
    pub(crate) async fn initialize(
        &self,
        capabilities: Value,
        timeout: Duration,
    ) -> Result<ServerInfo, McpError> {
        let params = json!({
            "protocolVersion": LATEST_VERSION,
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
        let initialized = json_rpc::notification("notifications/initialized", None);
        self.0.transport().send(initialized).await?;
        Ok(info)
    }
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
    let instructions = match result.get("instructions") {
        None => Some(None),
        Some(Value::String(text)) => Some(Some(text.trim().to_owned())),
        Some(_) => None,
    };
    match (
        version,
        capabilities,
        instructions,
        named("name"),
        named("version"),
    ) {
        (Some(version), Some(capabilities), Some(instructions), Some(_), Some(_)) => {
            let info = ServerInfo {
                has_tools: capabilities.get("tools").is_some_and(is_present),
                has_resources: capabilities.contains_key("resources"),
                has_prompts: capabilities.get("prompts").is_some_and(is_present),
                instructions: instructions.filter(|text| !text.is_empty()),
            };
            Ok((version, info))
        }
        _ => Err(McpError::protocol(
            "the MCP server sent an invalid result of initialize",
        )),
    }
}

/// Whether a capability is not turned off.
fn is_present(value: &Value) -> bool {
    !matches!(value, Value::Null | Value::Bool(false))
}
