//! `pi mcp accept`: shows what a server changed in tools that the user knows, and records it as accepted.

use pi_config::{ConfiguredMcpServer, McpApproval, accept_mcp_server};
use pi_mcp::{McpPins, describe_changes};

use super::McpFiles;
use super::find::find;
use super::options::{McpOptions, OptionKind};
use crate::confirm::{Confirmation, confirm};
use crate::output::{Exit, Failure, print};

pub(super) async fn run(files: &McpFiles, words: &[String]) -> Result<Exit, Failure> {
    let known = [("local", OptionKind::Flag), ("yes", OptionKind::Flag)];
    let options = McpOptions::parse(words, &known, usize::MAX)?;
    let server = find(files, &options, "accept")?;
    let name = &server.spec.name;
    if server.approval == McpApproval::Missing {
        return accept_server(files, &server, &options);
    }
    let connector = files.connector();
    let connection = connector.connection(&server);
    let connected = connection.connect().await;
    let status = connection.status();
    connection.close().await;
    connected.map_err(|error| Failure::new(error.to_string()))?;
    let pins = McpPins::new(&files.agent_dir);
    let changes = pins.changes(&server, &status)?;
    if changes.is_empty() {
        pins.accept(&server, &status)?;
        let text = format!("MCP server \"{name}\" has no changes to accept\n");
        return Ok(print(&text));
    }
    let shown = print(&format!("{}\n", describe_changes(&changes)));
    if shown != Exit::Success {
        return Ok(shown);
    }
    if !agrees(&options, "Accept these changes?")? {
        return Ok(print("Nothing was accepted\n"));
    }
    pins.accept(&server, &status)?;
    let count = changes.len();
    let plural = if count == 1 { "" } else { "s" };
    Ok(print(&format!(
        "Accepted {count} change{plural} of MCP server \"{name}\"\n"
    )))
}

/// Accepts a server of `.mcp.json`, after showing what it would start.
fn accept_server(
    files: &McpFiles,
    server: &ConfiguredMcpServer,
    options: &McpOptions,
) -> Result<Exit, Failure> {
    let name = &server.spec.name;
    let entry = serde_json::Value::Object(server.spec.config.clone());
    let shown = print(&format!(
        "{}\n\"{name}\": {entry:#}\n",
        server.source.display()
    ));
    if shown != Exit::Success {
        return Ok(shown);
    }
    if !agrees(options, "Accept this server?")? {
        return Ok(print("Nothing was accepted\n"));
    }
    accept_mcp_server(&files.agent_dir, server)?;
    Ok(print(&format!(
        "Accepted MCP server \"{name}\". A change of its entry asks again.\n"
    )))
}

/// Returns whether the user agrees, by an option or on the terminal.
pub(super) fn agrees(options: &McpOptions, question: &str) -> Result<bool, Failure> {
    if options.has("yes") {
        return Ok(true);
    }
    match confirm(question) {
        Confirmation::Yes => Ok(true),
        Confirmation::No => Ok(false),
        Confirmation::NoTerminal => Err(Failure::new("this needs a terminal to ask on")
            .hint("add --yes to agree without a question")),
    }
}
