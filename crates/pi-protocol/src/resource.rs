//! Resources as clients see them: where they come from, the commands they add, themes.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The provenance of a resource, as reported to extensions and clients.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SourceInfo {
    #[serde(serialize_with = "crate::lossy_path::path")]
    pub path: PathBuf,
    /// How it was found: `auto` in a default directory, `local` by a path in the settings or on
    /// the command line, `cli` through `--extension`, or the source of its package.
    pub source: String,
    pub scope: SourceScope,
    pub origin: SourceOrigin,
    /// Base directory of relative paths and patterns.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        serialize_with = "crate::lossy_path::optional"
    )]
    pub base_dir: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SourceScope {
    /// From the agent directory or the user's settings.
    User,
    /// From the project's `.pi` or `.agents` directory or its settings.
    Project,
    /// Named on the command line, for this run only.
    Temporary,
}

/// Whether a resource is part of a package.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SourceOrigin {
    Package,
    /// Not part of a package.
    TopLevel,
}

/// A command and its source; serialized as in `get_commands` of the line protocol.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CommandInfo {
    /// The name without the slash.
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    pub source: CommandSource,
    pub source_info: SourceInfo,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CommandSource {
    Extension,
    Prompt,
    Skill,
}

/// A theme with the text of its file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ThemeFile {
    /// The name from the file's content.
    pub name: String,
    #[serde(serialize_with = "crate::lossy_path::path")]
    pub path: PathBuf,
    pub content: String,
    pub source_info: SourceInfo,
}
