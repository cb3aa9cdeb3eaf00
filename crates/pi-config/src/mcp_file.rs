//! `mcp.json`: the servers of the Model Context Protocol that the user and a trusted project configure.
//!
//! An invalid entry is reported and skipped; the others apply. An entry of the project replaces the user's entry with the same
//! name. One without `command`, `url` and `type` overrides a few of its options instead.

mod edit;
mod spec;

use std::path::{Path, PathBuf};

use pi_protocol::json::JsonObject;
use pi_protocol::{McpScope, McpServerSpec, ProjectAccess};
use serde_json::Value;

pub use edit::{
    McpFileError, McpServerPatch, PatchedEntry, add_mcp_server, remove_mcp_server,
    update_mcp_server,
};
pub use spec::{is_loopback_host, parse_mcp_server};

use crate::AgentDir;
use crate::json_text;
use crate::regular_file;

/// Options that a project may override.
const OVERRIDES: [&str; 3] = ["enabled", "exposure", "toolExposure"];

const SERVERS: &str = "mcpServers";

const AUTO_ENABLE_CODEMODE: &str = "autoEnableCodemode";

/// Returns the file of a project.
pub fn project_mcp_file(cwd: &Path) -> PathBuf {
    cwd.join(".pi").join("mcp.json")
}

/// The servers of both files.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct McpConfig {
    pub servers: Vec<ConfiguredMcpServer>,
    /// Whether servers activate the tool `codemode`, if a file states it.
    pub auto_enable_codemode: Option<bool>,
    /// What is wrong with the files, each with the path of its file.
    pub errors: Vec<String>,
    /// The file of a trusted project, whether or not it exists.
    pub project_file: Option<PathBuf>,
}

/// A server and where it is configured.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfiguredMcpServer {
    pub spec: McpServerSpec,
    /// The file or extension.
    pub source: PathBuf,
    pub scope: McpScope,
    /// The project's file that overrides options.
    pub override_file: Option<PathBuf>,
}

/// Reads the user's file and, if the project is trusted, that of the project.
pub fn load_mcp_config(agent_dir: &AgentDir, cwd: &Path, project: ProjectAccess) -> McpConfig {
    let mut config = McpConfig::default();
    config.read(&agent_dir.mcp_file(), McpScope::Global);
    if project.is_trusted() {
        let file = project_mcp_file(cwd);
        config.read(&file, McpScope::Project);
        config.project_file = Some(file);
    }
    config
}

impl McpConfig {
    /// Returns the server with this name.
    pub fn server(&self, name: &str) -> Option<&ConfiguredMcpServer> {
        let mut servers = self.servers.iter();
        servers.find(|server| server.spec.name == name)
    }

    fn read(&mut self, path: &Path, scope: McpScope) {
        let text = match regular_file::read_text(path) {
            Ok(Some(text)) => text,
            Ok(None) => return,
            Err(error) => {
                self.errors.push(format!("{}: {error}", path.display()));
                return;
            }
        };
        let entries = match json_text::parse(&text) {
            Ok(mut object) => {
                self.read_options(path, &object);
                servers_of(object.shift_remove(SERVERS))
            }
            Err(error) => Err(error.to_string()),
        };
        match entries {
            Ok(entries) => {
                for (name, entry) in entries {
                    if let Err(problem) = self.add(&name, &entry, path, scope) {
                        self.errors.push(format!("{}: {problem}", path.display()));
                    }
                }
            }
            Err(problem) => self.errors.push(format!("{}: {problem}", path.display())),
        }
    }

    fn read_options(&mut self, path: &Path, object: &JsonObject) {
        match object.get(AUTO_ENABLE_CODEMODE) {
            Some(Value::Bool(enabled)) => self.auto_enable_codemode = Some(*enabled),
            Some(_) => self.errors.push(format!(
                "{}: {AUTO_ENABLE_CODEMODE} must be true or false",
                path.display()
            )),
            None => {}
        }
    }

    fn add(
        &mut self,
        name: &str,
        entry: &Value,
        path: &Path,
        scope: McpScope,
    ) -> Result<(), String> {
        if let (McpScope::Project, Value::Object(entry)) = (scope, entry)
            && is_override(entry)
        {
            return self.override_options(name, entry, path);
        }
        let spec = parse_mcp_server(name, entry)?;
        let clash = self.servers.iter().map(|server| &server.spec);
        let mut clash =
            clash.filter(|other| other.name != spec.name && other.namespace() == spec.namespace());
        if let Some(other) = clash.next() {
            return Err(format!(
                "server \"{name}\" conflicts with \"{}\": the names of their tools would be the same",
                other.name
            ));
        }
        if scope == McpScope::Project && spec.config.contains_key("auth") {
            return Err(format!(
                "server \"{name}\": auth is allowed only in the user's mcp.json"
            ));
        }
        let server = ConfiguredMcpServer {
            spec,
            source: path.to_owned(),
            scope,
            override_file: None,
        };
        match self.position(name) {
            Some(known) => *known = server,
            None => self.servers.push(server),
        }
        Ok(())
    }

    fn override_options(
        &mut self,
        name: &str,
        entry: &JsonObject,
        path: &Path,
    ) -> Result<(), String> {
        let Some(known) = self.position(name) else {
            return Err(format!(
                "server \"{name}\" needs \"command\" or \"url\", or an entry in the user's mcp.json to override"
            ));
        };
        if entry.keys().any(|key| !OVERRIDES.contains(&key.as_str())) {
            return Err(format!(
                "server \"{name}\": an override can set only {}",
                OVERRIDES.join(", ")
            ));
        }
        let mut merged = known.spec.config.clone();
        for (key, value) in entry {
            merged.insert(key.clone(), value.clone());
        }
        known.spec = parse_mcp_server(name, &Value::Object(merged))?;
        known.override_file = Some(path.to_owned());
        Ok(())
    }

    fn position(&mut self, name: &str) -> Option<&mut ConfiguredMcpServer> {
        let mut servers = self.servers.iter_mut();
        servers.find(|server| server.spec.name == name)
    }
}

/// Whether an entry overrides options of another one.
fn is_override(entry: &JsonObject) -> bool {
    !["command", "url", "type"]
        .iter()
        .any(|key| entry.contains_key(*key))
}

/// Returns the entries of a file.
fn servers_of(servers: Option<Value>) -> Result<JsonObject, String> {
    match servers {
        None => Ok(JsonObject::default()),
        Some(Value::Object(servers)) => Ok(servers),
        Some(_) => Err(format!("expected an object with an object \"{SERVERS}\"")),
    }
}

#[cfg(test)]
mod tests;
