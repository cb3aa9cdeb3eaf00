//! What servers offered when they were used last: how to speak to them, and the tools of those that start on first use.

use std::path::PathBuf;

use pi_config::AgentDir;
use pi_fs::NewFileMode;
use pi_protocol::{McpServerSpec, hex};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use crate::connection::{ConnectionStatus, DeclaredTool};

/// A larger file is not read, in bytes.
const MAX_BYTES: u64 = 64 << 20;

/// More records are not kept: the ones of servers whose configuration has changed are never read again.
const MAX_RECORDS: usize = 256;

/// Keys of an entry that do not decide what the server offers.
const OPTIONS: [&str; 7] = [
    "enabled",
    "exposure",
    "toolExposure",
    "description",
    "timeout",
    "start",
    "idleMinutes",
];

/// The records of all servers.
#[derive(Debug, Clone)]
pub struct McpCatalog {
    directory: PathBuf,
}

/// What is known about a server.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct CatalogEntry {
    /// Whether it works without a handshake.
    pub(crate) is_modern: bool,
    /// `None` if only the version is known.
    pub(crate) tools: Option<Vec<DeclaredTool>>,
    pub(crate) has_resources: bool,
    pub(crate) has_prompts: bool,
    pub(crate) has_completions: bool,
    pub(crate) instructions: Option<String>,
}

impl McpCatalog {
    pub fn new(agent_dir: &AgentDir) -> Self {
        Self {
            directory: agent_dir.mcp_catalog_dir(),
        }
    }

    fn file(&self, spec: &McpServerSpec) -> PathBuf {
        let mut hash = Sha256::new();
        hash.update(spec.name.as_bytes());
        let mut entries: Vec<_> = spec.config.iter().collect();
        entries.retain(|(key, _)| !OPTIONS.contains(&key.as_str()));
        pi_protocol::sort_by_key(&mut entries, |(key, _)| *key);
        for (key, value) in entries {
            hash.update([0]);
            hash.update(key.as_bytes());
            hash.update([0]);
            hash.update(value.to_string());
        }
        let digest = hash.finalize();
        let name = hex(digest.get(..16).unwrap_or_default());
        self.directory.join(format!("{name}.json"))
    }

    /// Returns what is known about a server with this configuration.
    pub(crate) fn load(&self, spec: &McpServerSpec) -> Option<CatalogEntry> {
        let file = self.file(spec);
        let size = std::fs::metadata(&file).ok()?.len();
        let content = (size <= MAX_BYTES).then(|| std::fs::read(&file))?;
        let content: Value = serde_json::from_slice(&content.ok()?).ok()?;
        let flag = |key: &str| {
            content
                .get(key)
                .and_then(Value::as_bool)
                .unwrap_or_default()
        };
        let tools = content.get("tools").and_then(Value::as_array);
        let tools = tools.map(|tools| tools.iter().filter_map(Value::as_object).cloned().collect());
        let instructions = content.get("instructions").and_then(Value::as_str);
        Some(CatalogEntry {
            is_modern: flag("modern"),
            tools,
            has_resources: flag("resources"),
            has_prompts: flag("prompts"),
            has_completions: flag("completions"),
            instructions: instructions.map(str::to_owned),
        })
    }

    /// Replaces what is known about a server. A failure only costs time at the next start.
    pub(crate) fn store(&self, spec: &McpServerSpec, entry: &CatalogEntry) {
        if self.load(spec).as_ref() == Some(entry) {
            return;
        }
        let mut content = Map::new();
        content.insert("server".to_owned(), spec.name.as_str().into());
        content.insert("modern".to_owned(), entry.is_modern.into());
        if let Some(tools) = &entry.tools {
            content.insert("tools".to_owned(), json!(tools));
            content.insert("resources".to_owned(), entry.has_resources.into());
            content.insert("prompts".to_owned(), entry.has_prompts.into());
            content.insert("completions".to_owned(), entry.has_completions.into());
            content.insert("instructions".to_owned(), json!(entry.instructions));
        }
        let text = Value::Object(content).to_string();
        let written = pi_fs::private::create_directory(&self.directory).and_then(|()| {
            let file = self.file(spec);
            pi_fs::atomic_file::write(&file, text.as_bytes(), NewFileMode::Private)
        });
        if let Err(error) = written {
            tracing::warn!(%error, server = spec.name, "cannot remember what an MCP server offers");
        }
        self.remove_oldest();
    }

    /// Removes the records that were written first, if there are too many.
    fn remove_oldest(&self) {
        let files = std::fs::read_dir(&self.directory).into_iter().flatten();
        let mut records: Vec<_> = files
            .filter_map(|file| {
                let file = file.ok()?;
                Some((file.metadata().ok()?.modified().ok()?, file.path()))
            })
            .collect();
        let excess = records.len().saturating_sub(MAX_RECORDS);
        records.sort_unstable();
        for (_, path) in records.into_iter().take(excess) {
            if let Err(error) = std::fs::remove_file(&path) {
                tracing::debug!(%error, "cannot remove an old record of an MCP server");
            }
        }
    }
}

impl CatalogEntry {
    /// Returns what is worth knowing at the next start; `None` if the defaults do.
    pub(crate) fn of(
        spec: &McpServerSpec,
        is_modern: bool,
        status: &ConnectionStatus,
    ) -> Option<Self> {
        if !spec.lifecycle.is_lazy {
            return is_modern.then(|| Self {
                is_modern,
                ..Self::default()
            });
        }
        Some(Self {
            is_modern,
            tools: Some(status.tools.to_vec()),
            has_resources: status.has_resources,
            has_prompts: status.has_prompts,
            has_completions: status.has_completions,
            instructions: status.instructions.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use pi_config::parse_mcp_server;
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn an_entry_that_is_damaged_is_not_known() {
        let directory = tempfile::tempdir().unwrap();
        let catalog = McpCatalog {
            directory: directory.path().to_owned(),
        };
        let spec = parse_mcp_server("s", &json!({"command": "x", "start": "lazy"})).unwrap();
        let entry = CatalogEntry {
            tools: Some(vec![Map::new()]),
            ..CatalogEntry::default()
        };
        catalog.store(&spec, &entry);
        let file = catalog.file(&spec);
        let complete = std::fs::read(&file).unwrap();
        for length in 0..complete.len() {
            pi_fs::atomic_file::write(&file, &complete[..length], NewFileMode::Private).unwrap();
            assert_eq!(catalog.load(&spec), None, "{length}");
        }
        catalog.store(&spec, &entry);
        assert_eq!(catalog.load(&spec), Some(entry));
    }

    #[test]
    fn entries_belong_to_a_configuration() {
        let directory = tempfile::tempdir().unwrap();
        let catalog = McpCatalog {
            directory: directory.path().join("catalog"),
        };
        let spec = |entry: Value| parse_mcp_server("s", &entry).unwrap();
        let one = spec(json!({"command": "x", "args": ["1"], "start": "lazy"}));
        assert_eq!(catalog.load(&one), None);
        let tool = json!({"name": "t", "inputSchema": {}});
        let entry = CatalogEntry {
            is_modern: true,
            tools: Some(vec![tool.as_object().unwrap().clone()]),
            has_prompts: true,
            instructions: Some("text".to_owned()),
            ..CatalogEntry::default()
        };
        catalog.store(&one, &entry);
        assert_eq!(catalog.load(&one), Some(entry.clone()));
        let same = spec(json!({"start": "lazy", "args": ["1"], "command": "x", "timeout": 5}));
        assert_eq!(catalog.load(&same), Some(entry));
        let other = spec(json!({"command": "x", "args": ["2"], "start": "lazy"}));
        assert_eq!(catalog.load(&other), None);
        let version = CatalogEntry {
            is_modern: true,
            ..CatalogEntry::default()
        };
        catalog.store(&one, &version);
        assert_eq!(catalog.load(&one), Some(version));
        for number in 0..MAX_RECORDS {
            let command = format!("x{number}");
            catalog.store(&spec(json!({"command": command})), &CatalogEntry::default());
        }
        let files = std::fs::read_dir(&catalog.directory).unwrap();
        assert_eq!(files.count(), MAX_RECORDS);
        let newest = spec(json!({"command": format!("x{}", MAX_RECORDS - 1)}));
        assert_eq!(catalog.load(&newest), Some(CatalogEntry::default()));
        for file in std::fs::read_dir(&catalog.directory).unwrap() {
            let path = file.unwrap().path();
            pi_fs::atomic_file::write(&path, b"{", NewFileMode::Private).unwrap();
        }
        assert_eq!(catalog.load(&one), None);
    }
}
