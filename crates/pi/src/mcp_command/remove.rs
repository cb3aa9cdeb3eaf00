//! `pi mcp remove`: removes an entry and keeps the credentials of the server.

use pi_config::remove_mcp_server;
use pi_protocol::ProjectAccess;

use super::options::{McpOptions, OptionKind};
use super::{FileScope, McpFiles, usage};
use crate::output::{Exit, Failure, print};

pub(super) fn run(files: &McpFiles, words: &[String]) -> Result<Exit, Failure> {
    let options = McpOptions::parse(words, &[("local", OptionKind::Flag)], usize::MAX)?;
    let Some(name) = options.server() else {
        return Err(usage("pi mcp remove needs the name of one server"));
    };
    let scope = FileScope::new(options.has("local"));
    let path = files.file(scope);
    if remove_mcp_server(&path, name)? {
        return Ok(print(&format!(
            "Removed {} MCP server \"{name}\" from {}\n",
            scope.name(),
            path.display()
        )));
    }
    let failure = Failure::new(format!(
        "no {} MCP server \"{name}\" in {}",
        scope.name(),
        path.display()
    ));
    // Nothing is started, so the project need not be trusted.
    let config = files.config(ProjectAccess::Trusted);
    let other = config.server(name).filter(|server| server.source != path);
    let Some(other) = other else {
        return Err(failure);
    };
    let remedy = match scope {
        FileScope::User => "use --local",
        FileScope::Project => "omit --local",
    };
    Err(failure.hint(format!(
        "\"{name}\" is in {}; {remedy}",
        other.source.display()
    )))
}
