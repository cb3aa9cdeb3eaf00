//! The clients whose servers can be imported, and where they keep them.

use std::path::{Path, PathBuf};

use pi_protocol::json::JsonObject;
use serde_json::Value;

use super::{convert, toml_tables};

/// Another client of MCP servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum McpClient {
    Claude,
    Cursor,
    VsCode,
    Codex,
    OpenCode,
}

impl McpClient {
    pub const ALL: [Self; 5] = [
        Self::Claude,
        Self::Cursor,
        Self::VsCode,
        Self::Codex,
        Self::OpenCode,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Cursor => "cursor",
            Self::VsCode => "vscode",
            Self::Codex => "codex",
            Self::OpenCode => "opencode",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|client| client.name() == name)
    }

    /// Returns the files of the user, those that come first winning.
    pub fn user_files(self, home: &Path) -> Vec<PathBuf> {
        let files: &[&str] = match self {
            Self::Claude => &[
                ".claude.json",
                ".config/Claude/claude_desktop_config.json",
                "Library/Application Support/Claude/claude_desktop_config.json",
                "AppData/Roaming/Claude/claude_desktop_config.json",
            ],
            Self::Cursor => &[".cursor/mcp.json"],
            Self::VsCode => &[
                ".config/Code/User/mcp.json",
                "Library/Application Support/Code/User/mcp.json",
                "AppData/Roaming/Code/User/mcp.json",
            ],
            Self::Codex => &[".codex/config.toml"],
            Self::OpenCode => &[
                ".config/opencode/opencode.json",
                ".config/opencode/opencode.jsonc",
            ],
        };
        files.iter().map(|file| home.join(file)).collect()
    }

    /// Returns the files of a project.
    pub fn project_files(self, cwd: &Path) -> Vec<PathBuf> {
        let files: &[&str] = match self {
            Self::Claude => &[".mcp.json"],
            Self::Cursor => &[".cursor/mcp.json"],
            Self::VsCode => &[".vscode/mcp.json"],
            Self::Codex => &[".codex/config.toml"],
            Self::OpenCode => &["opencode.json", "opencode.jsonc"],
        };
        files.iter().map(|file| cwd.join(file)).collect()
    }

    /// Returns the entries of a file as the client writes them.
    pub(super) fn entries(self, text: &str, cwd: &Path) -> Result<JsonObject, String> {
        let key = match self {
            Self::Claude | Self::Cursor => "mcpServers",
            Self::VsCode => "servers",
            Self::Codex => return toml_tables::tables_below(text, "mcp_servers"),
            Self::OpenCode => "mcp",
        };
        let mut object = convert::parse_json(text)?;
        let mut entries = match object.shift_remove(key) {
            None => JsonObject::default(),
            Some(Value::Object(entries)) => entries,
            Some(_) => return Err(format!("\"{key}\" must be an object")),
        };
        if self == Self::Claude {
            // Servers for one project are in the user's file, too.
            let cwd = cwd.display().to_string();
            let project = object.get("projects").and_then(|all| all.get(&cwd));
            let project = project.and_then(|project| project.get(key));
            if let Some(Value::Object(project)) = project {
                for (name, entry) in project {
                    entries.insert(name.clone(), entry.clone());
                }
            }
        }
        Ok(entries)
    }

    /// Converts an entry to one of `mcp.json`.
    pub(super) fn convert(self, entry: &Value) -> Result<JsonObject, String> {
        let Value::Object(entry) = entry else {
            return Err("the entry must be an object".to_owned());
        };
        match self {
            Self::Claude | Self::Cursor => Ok(convert::plain(entry)),
            Self::VsCode => Ok(convert::vscode(entry)),
            Self::Codex => Ok(convert::codex(entry)),
            Self::OpenCode => convert::opencode(entry),
        }
    }
}
