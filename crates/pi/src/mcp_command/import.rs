//! `pi mcp import`: adds the servers that another client has configured.

use std::fmt::Write as _;

use pi_config::{McpClient, add_mcp_server, read_mcp_servers_of};
use pi_protocol::ProjectAccess;
use pi_protocol::json::JsonObject;

use super::accept::agrees;
use super::options::{McpOptions, OptionKind};
use super::{FileScope, McpFiles, usage};
use crate::output::{Exit, Failure, print};

pub(super) fn run(files: &McpFiles, words: &[String]) -> Result<Exit, Failure> {
    let known = [("local", OptionKind::Flag), ("yes", OptionKind::Flag)];
    let options = McpOptions::parse(words, &known, usize::MAX)?;
    let names = McpClient::ALL.map(McpClient::name).join(", ");
    let clients =
        match options.positional.as_slice() {
            [] => McpClient::ALL.to_vec(),
            [name] => {
                let client = McpClient::named(name);
                vec![client.ok_or_else(|| {
                    usage(format!("unknown client \"{name}\"; known are {names}"))
                })?]
            }
            _ => return Err(usage("pi mcp import takes the name of one client")),
        };
    let scope = FileScope::new(options.has("local"));
    let found = find(files, scope, &clients)?;
    if found.searched.is_empty() {
        let clients: Vec<_> = clients.into_iter().map(McpClient::name).collect();
        return Err(Failure::new(format!(
            "found no configuration of {}",
            clients.join(", ")
        )));
    }
    let shown = print(&found.text());
    if shown != Exit::Success || found.added.is_empty() {
        return Ok(shown);
    }
    let path = files.file(scope);
    if !agrees(&options, &format!("Add them to {}?", path.display()))? {
        return Ok(print("Nothing was imported\n"));
    }
    let count = found.added.len();
    for (name, entry) in found.added {
        add_mcp_server(&path, &name, entry)?;
    }
    let plural = if count == 1 { "" } else { "s" };
    Ok(print(&format!(
        "Imported {count} MCP server{plural} into {}. Check them with pi mcp list.\n",
        path.display()
    )))
}

/// What other clients have configured.
#[derive(Default)]
struct FoundServers {
    searched: Vec<String>,
    added: Vec<(String, JsonObject)>,
    skipped: Vec<String>,
    problems: Vec<String>,
}

impl FoundServers {
    /// Returns the changes that an import makes, as lines.
    fn text(&self) -> String {
        let mut text = String::new();
        for file in &self.searched {
            writeln!(text, "{file}").ok();
        }
        for (name, entry) in &self.added {
            let entry = serde_json::Value::Object(entry.clone());
            writeln!(text, "+ {name}: {entry}").ok();
        }
        for name in &self.skipped {
            writeln!(text, "  {name}: already configured").ok();
        }
        for problem in &self.problems {
            writeln!(text, "! {problem}").ok();
        }
        if self.added.is_empty() {
            text.push_str("There is nothing to import\n");
        }
        text
    }
}

fn find(
    files: &McpFiles,
    scope: FileScope,
    clients: &[McpClient],
) -> Result<FoundServers, Failure> {
    // Nothing is started, so the project need not be trusted.
    let config = files.config(ProjectAccess::Trusted);
    let path = files.file(scope);
    let mut found = FoundServers::default();
    for client in clients {
        let candidates = match scope {
            FileScope::Project => client.project_files(&files.cwd),
            FileScope::User => {
                let home = files.env.home_dir();
                let home = home.ok_or_else(|| Failure::new("there is no home directory"))?;
                client.user_files(&home)
            }
        };
        let import = read_mcp_servers_of(*client, &candidates, &files.cwd);
        let searched = import.files.iter().map(|file| file.display().to_string());
        found.searched.extend(searched);
        found.problems.extend(import.problems);
        for (name, entry) in import.servers {
            let mut servers = config.servers.iter();
            let is_configured =
                servers.any(|server| server.source == path && server.spec.name == name);
            if is_configured || found.added.iter().any(|(added, _)| *added == name) {
                found.skipped.push(name);
            } else {
                found.added.push((name, entry));
            }
        }
    }
    Ok(found)
}
