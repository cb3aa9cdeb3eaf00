//! Finds the server that a command names.

use pi_config::ConfiguredMcpServer;
use pi_protocol::McpScope;

use super::options::McpOptions;
use super::{McpFiles, untrusted_note, usage};
use crate::edit_distance::edit_distance;
use crate::output::Failure;

/// A name within this distance is suggested.
const SUGGESTION_DISTANCE: usize = 2;

/// Returns the server that a command names.
pub(super) fn find(
    files: &McpFiles,
    options: &McpOptions,
    command: &str,
) -> Result<ConfiguredMcpServer, Failure> {
    let Some(name) = options.server() else {
        return Err(usage(format!(
            "pi mcp {command} needs the name of one server"
        )));
    };
    let access = files.project_access();
    let config = files.config(access);
    let Some(server) = config.server(name) else {
        let names: Vec<&str> = config
            .servers
            .iter()
            .map(|it| it.spec.name.as_str())
            .collect();
        let mut failure = Failure::new(format!("no MCP server is named \"{name}\""));
        let similar = names
            .iter()
            .find(|known| edit_distance(known, name) <= SUGGESTION_DISTANCE);
        if let Some(similar) = similar {
            failure = failure.hint(format!("did you mean \"{similar}\"?"));
        }
        let file = files.project_file();
        if !access.is_trusted() && file.exists() {
            failure = failure.hint(untrusted_note(&file));
        }
        let names = if names.is_empty() {
            "none".to_owned()
        } else {
            names.join(", ")
        };
        return Err(failure.hint(format!("configured servers: {names}")));
    };
    if options.has("local") && server.scope != McpScope::Project {
        return Err(Failure::new(format!(
            "MCP server \"{name}\" is in {}, not in the project; omit --local",
            server.source.display()
        )));
    }
    Ok(server.clone())
}
