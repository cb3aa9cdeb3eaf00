//! MCP servers that other clients have configured, as entries of `mcp.json`.

mod client;
mod convert;
mod toml_tables;

use std::path::{Path, PathBuf};

use pi_protocol::json::JsonObject;
use serde_json::Value;

pub use client::McpClient;

use crate::mcp_file::parse_mcp_server;
use crate::regular_file;

/// The servers of a client.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct McpImport {
    /// Entries by name, in the order of the files.
    pub servers: Vec<(String, JsonObject)>,
    /// Files that exist.
    pub files: Vec<PathBuf>,
    /// What cannot be imported, each with its file.
    pub problems: Vec<String>,
}

/// Reads the servers of a client: those of the user, or those of a project.
pub fn read_mcp_servers_of(client: McpClient, files: &[PathBuf], cwd: &Path) -> McpImport {
    let mut import = McpImport::default();
    for file in files {
        let text = match regular_file::read_text(file) {
            Ok(Some(text)) => text,
            Ok(None) => continue,
            Err(error) => {
                import.problem(file, &error.to_string());
                continue;
            }
        };
        import.files.push(file.clone());
        match client.entries(&text, cwd) {
            Ok(entries) => {
                for (name, entry) in entries {
                    import.add(client, file, &name, &entry);
                }
            }
            Err(problem) => import.problem(file, &problem),
        }
    }
    import
}

impl McpImport {
    fn add(&mut self, client: McpClient, file: &Path, name: &str, entry: &Value) {
        let name = convert::server_name(name);
        if self.servers.iter().any(|(known, _)| *known == name) {
            return;
        }
        let converted = client.convert(entry).and_then(|entry| {
            parse_mcp_server(&name, &Value::Object(entry.clone()))?;
            Ok(entry)
        });
        match converted {
            Ok(entry) => self.servers.push((name, entry)),
            Err(problem) if problem.starts_with("server ") => self.problem(file, &problem),
            Err(problem) => self.problem(file, &format!("server \"{name}\": {problem}")),
        }
    }

    fn problem(&mut self, file: &Path, problem: &str) {
        self.problems.push(format!("{}: {problem}", file.display()));
    }
}

#[cfg(test)]
mod tests;
