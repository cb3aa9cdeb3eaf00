//! `mcp.json`: the servers of the Model Context Protocol that the user and a trusted project configure.
//!
//! An invalid entry is reported and skipped; the others apply. An entry of the project replaces the user's entry with the same
//! name. One without `command`, `url` and `type` overrides a few of its options instead.

mod approval;
mod edit;
mod spec;

use std::path::{Path, PathBuf};

use pi_protocol::json::JsonObject;
use pi_protocol::settings::DotMcpJson;
use pi_protocol::{McpScope, McpServerSpec, ProjectAccess};
use serde_json::Value;

pub use approval::{McpApproval, accept_mcp_server, withdraw_mcp_server};
pub use edit::{
    McpFileError, McpServerPatch, PatchedEntry, add_mcp_server, remove_mcp_server,
    update_mcp_server,
};
pub use spec::{is_loopback_host, parse_mcp_server};

use crate::AgentDir;
use crate::json_text;
use crate::mcp_records::McpRecords;
use crate::regular_file;

/// Options that a project may override.
const OVERRIDES: [&str; 3] = ["enabled", "exposure", "toolExposure"];

const SERVERS: &str = "mcpServers";

const AUTO_ENABLE_CODEMODE: &str = "autoEnableCodemode";

/// Returns the file of a project.
pub fn project_mcp_file(cwd: &Path) -> PathBuf {
    cwd.join(".pi").join("mcp.json")
}

/// Returns the file of a project that other clients use, too.
pub fn dot_mcp_json_file(cwd: &Path) -> PathBuf {
    cwd.join(".mcp.json")
}

/// The servers of all files.
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
    pub approval: McpApproval,
}

/// Where servers are configured.
#[derive(Debug, Clone, Copy)]
pub struct McpConfigFiles<'a> {
    pub agent_dir: &'a AgentDir,
    pub cwd: &'a Path,
    pub project: ProjectAccess,
    /// Whether the project's `.mcp.json` is read.
    pub dot_mcp_json: DotMcpJson,
    /// Files for this run, whose servers replace others.
    pub more: &'a [PathBuf],
}

/// Reads the user's file, those of a trusted project, and further ones.
pub fn load_mcp_config(files: McpConfigFiles<'_>) -> McpConfig {
    let mut config = McpConfig::default();
    config.read(&files.agent_dir.mcp_file(), EntrySource::User);
    if files.project.is_trusted() {
        if files.dot_mcp_json == DotMcpJson::Ask {
            let approvals = McpRecords::new(files.agent_dir.mcp_approvals_file());
            let file = dot_mcp_json_file(files.cwd);
            config.read(&file, EntrySource::Shared(&approvals));
        }
        let file = project_mcp_file(files.cwd);
        config.read(&file, EntrySource::Project);
        config.project_file = Some(file);
    }
    for file in files.more {
        if file.exists() {
            config.read(file, EntrySource::User);
        } else {
            config
                .errors
                .push(format!("{}: the file does not exist", file.display()));
        }
    }
    config
}

/// Where an entry comes from.
#[derive(Clone, Copy)]
enum EntrySource<'a> {
    User,
    Project,
    /// A file that other clients use, too. Its servers need the user's approval.
    Shared(&'a McpRecords),
}

impl EntrySource<'_> {
    fn scope(self) -> McpScope {
        match self {
            Self::User => McpScope::Global,
            Self::Project | Self::Shared(_) => McpScope::Project,
        }
    }
}

impl McpConfig {
    /// Returns the server with this name.
    pub fn server(&self, name: &str) -> Option<&ConfiguredMcpServer> {
        let mut servers = self.servers.iter();
        servers.find(|server| server.spec.name == name)
    }

    fn read(&mut self, path: &Path, source: EntrySource<'_>) {
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
                    if let Err(problem) = self.add(&name, &entry, path, source) {
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
        source: EntrySource<'_>,
    ) -> Result<(), String> {
        if let (EntrySource::Project, Value::Object(entry)) = (source, entry)
            && is_override(entry)
        {
            return self.override_options(name, entry, path);
        }
        let mut spec = parse_mcp_server(name, entry)?;
        if let EntrySource::Shared(_) = source
            && self.position(name).is_some()
        {
            // The user's server with this name stays.
            return Ok(());
        }
        let clash = self.servers.iter().map(|server| &server.spec);
        let mut clash =
            clash.filter(|other| other.name != spec.name && other.namespace() == spec.namespace());
        if let Some(other) = clash.next() {
            return Err(format!(
                "server \"{name}\" conflicts with \"{}\": the names of their tools would be the same",
                other.name
            ));
        }
        if source.scope() == McpScope::Project && spec.config.contains_key("auth") {
            return Err(format!(
                "server \"{name}\": auth is allowed only in the user's mcp.json"
            ));
        }
        let approval = match source {
            EntrySource::Shared(approvals) => approval::find(approvals, path, &spec)?,
            EntrySource::User | EntrySource::Project => McpApproval::NotNeeded,
        };
        if approval == McpApproval::Missing {
            spec.enabled = false;
        }
        let server = ConfiguredMcpServer {
            spec,
            source: path.to_owned(),
            scope: source.scope(),
            override_file: None,
            approval,
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
        if known.approval == McpApproval::Missing {
            known.spec.enabled = false;
        }
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
