//! Changes `mcp.json`: the entries keep their order, and the file its other contents and its indentation.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use pi_fs::{LockDir, LockError, LockTiming, NewFileMode, atomic_file};
use pi_protocol::McpExposure;
use pi_protocol::json::JsonObject;
use serde::Serialize as _;
use serde_json::Value;
use serde_json::ser::{PrettyFormatter, Serializer};

use super::{SERVERS, is_override};
use crate::json_text;
use crate::regular_file::{self, ReadFileError};

#[derive(Debug, thiserror::Error)]
pub enum McpFileError {
    #[error("cannot read {}: {problem}\nFix the file or remove it.", file.display())]
    Unreadable { file: PathBuf, problem: String },
    #[error("cannot change {}: locked by another process\nTry again.", file.display())]
    Locked { file: PathBuf },
    #[error("cannot write {}: {source}", file.display())]
    Write {
        file: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{} has no MCP server \"{name}\"", file.display())]
    Missing { file: PathBuf, name: String },
}

/// Options to change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct McpServerPatch {
    pub enabled: Option<bool>,
    pub exposure: Option<McpExposure>,
}

/// The entry to change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatchedEntry {
    /// The one that exists.
    Existing,
    /// An override, which is added if there is none.
    Override,
}

/// Adds a server or replaces the one with its name; returns whether there was one.
pub fn add_mcp_server(path: &Path, name: &str, entry: JsonObject) -> Result<bool, McpFileError> {
    let mut is_replaced = false;
    edit(path, |servers| {
        is_replaced = servers.insert(name.to_owned(), entry.into()).is_some();
        Ok(true)
    })?;
    Ok(is_replaced)
}

/// Removes a server; returns whether the file had it.
pub fn remove_mcp_server(path: &Path, name: &str) -> Result<bool, McpFileError> {
    if !path.exists() {
        return Ok(false);
    }
    let mut is_removed = false;
    edit(path, |servers| {
        is_removed = servers.shift_remove(name).is_some();
        Ok(is_removed)
    })?;
    Ok(is_removed)
}

/// Changes options of a server. Defaults are removed from the entry, but kept in an override.
pub fn update_mcp_server(
    path: &Path,
    name: &str,
    changes: McpServerPatch,
    target: PatchedEntry,
) -> Result<(), McpFileError> {
    edit(path, |servers| {
        if target == PatchedEntry::Override && !servers.contains_key(name) {
            servers.insert(name.to_owned(), Value::Object(JsonObject::default()));
        }
        let Some(Value::Object(entry)) = servers.get_mut(name) else {
            return Err(McpFileError::Missing {
                file: path.to_owned(),
                name: name.to_owned(),
            });
        };
        let keeps_defaults = is_override(entry);
        let mut set = |key: &str, value: Value, is_default: bool| {
            if is_default && !keeps_defaults {
                entry.shift_remove(key);
            } else {
                entry.insert(key.to_owned(), value);
            }
        };
        if let Some(enabled) = changes.enabled {
            set("enabled", enabled.into(), enabled);
        }
        if let Some(exposure) = changes.exposure {
            let is_default = exposure == McpExposure::default();
            set("exposure", exposure.name().into(), is_default);
        }
        Ok(true)
    })
}

/// Changes the servers of a file under its lock. `change` returns whether to write it.
fn edit(
    path: &Path,
    change: impl FnOnce(&mut JsonObject) -> Result<bool, McpFileError>,
) -> Result<(), McpFileError> {
    let write_error = |source| McpFileError::Write {
        file: path.to_owned(),
        source,
    };
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(write_error)?;
    }
    let _lock = LockDir::acquire(path, LockTiming::SETTINGS).map_err(|error| match error {
        LockError::Held => McpFileError::Locked {
            file: path.to_owned(),
        },
        LockError::Io(error) => write_error(error),
    })?;
    let unreadable = |problem: String| McpFileError::Unreadable {
        file: path.to_owned(),
        problem,
    };
    let text = regular_file::read_text(path)
        .map_err(|error: ReadFileError| unreadable(error.to_string()))?
        .unwrap_or_default();
    let mut object = json_text::parse(&text).map_err(|error| unreadable(error.to_string()))?;
    let servers = object
        .entry(SERVERS)
        .or_insert_with(|| Value::Object(JsonObject::default()));
    let Value::Object(servers) = servers else {
        return Err(unreadable(format!("\"{SERVERS}\" must be an object")));
    };
    if !change(servers)? {
        return Ok(());
    }
    let text = to_text(&object, indentation(&text)).map_err(|error| write_error(error.into()))?;
    atomic_file::write(path, &text, NewFileMode::Default).map_err(write_error)
}

/// Returns the indentation of the first indented line, or two spaces.
fn indentation(text: &str) -> &str {
    let indents = text.lines().filter_map(|line| {
        let content = line.trim_start_matches([' ', '\t']);
        let indent = line.strip_suffix(content)?;
        (!indent.is_empty() && !content.trim().is_empty()).then_some(indent)
    });
    indents.take(1).next().unwrap_or("  ")
}

fn to_text(object: &JsonObject, indent: &str) -> Result<Vec<u8>, serde_json::Error> {
    let mut text = Vec::new();
    let formatter = PrettyFormatter::with_indent(indent.as_bytes());
    object.serialize(&mut Serializer::with_formatter(&mut text, formatter))?;
    text.push(b'\n');
    Ok(text)
}
