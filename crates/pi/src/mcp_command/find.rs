//! Finds the server that a command names.

use pi_config::ConfiguredMcpServer;
use pi_protocol::McpScope;

use super::options::McpOptions;
use super::{McpFiles, untrusted_note, usage};
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
            .find(|known| distance(known, name) <= SUGGESTION_DISTANCE);
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

/// Returns the number of characters to insert, remove or replace.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (line, character) in one.chars().enumerate() {
        let mut diagonal = line;
        let mut left = line + 1;
        let mut next = vec![left];
        for (candidate, above) in other.iter().zip(row.iter().skip(1)) {
            let replaced = diagonal + usize::from(*candidate != character);
            left = replaced.min(above + 1).min(left + 1);
            diagonal = *above;
            next.push(left);
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn distances_count_edits() {
        for (one, other, expected) in [
            ("", "", 0),
            ("garden", "gardne", 2),
            ("a", "abc", 2),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(distance(one, other), expected, "{one} {other}");
        }
    }
}
