//! Registrations of extensions, as received from JavaScript, and the resulting registry.

use std::collections::{BTreeMap, HashMap, HashSet};

use pi_config::SourceInfo;
use pi_providers::ProviderConfig;
use serde::Deserialize;
use serde_json::Value;

use super::sign_in::SignInData;

/// Everything an extension's factory registered.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Registrations {
    pub tools: Vec<ToolData>,
    pub commands: Vec<CommandData>,
    pub flags: Vec<FlagData>,
    pub shortcuts: Vec<ShortcutData>,
    pub message_renderers: Vec<String>,
    pub entry_renderers: Vec<String>,
    pub transforms_markdown: bool,
    pub providers: Vec<ProviderData>,
    /// The events handled by any extension so far.
    pub events: Vec<String>,
}

/// The serializable part of a tool.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ToolData {
    pub name: String,
    pub label: Option<String>,
    pub description: String,
    pub parameters: Value,
    pub prompt_snippet: Option<String>,
    pub prompt_guidelines: Option<Vec<String>>,
    pub execution_mode: Option<pi_core::ExecutionMode>,
    pub constrained_sampling: Option<Value>,
    pub prepares_arguments: bool,
    pub render_shell: Option<String>,
    pub renders_call: bool,
    pub renders_result: bool,
}

/// The serializable part of a command.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct CommandData {
    pub name: String,
    pub description: Option<String>,
    pub completes: bool,
}

/// The serializable part of a shortcut.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct ShortcutData {
    pub key: String,
    pub description: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct FlagData {
    pub name: String,
    #[serde(rename = "type", default)]
    pub kind: FlagKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum FlagKind {
    #[default]
    Boolean,
    String,
}

/// The serializable part of a provider.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ProviderData {
    pub name: String,
    pub config: ProviderConfig,
    pub streams: bool,
    pub refreshes: bool,
    pub sign_in: Option<SignInData>,
}

/// A command and the extension it belongs to.
pub(super) struct OwnedCommand {
    pub extension: String,
    pub source_info: SourceInfo,
    pub data: CommandData,
}

impl OwnedCommand {
    /// Returns the extension and the name the command is registered with.
    pub(super) fn owner_and_name(&self) -> (String, String) {
        (self.extension.clone(), self.data.name.clone())
    }
}

#[derive(Default)]
pub(super) struct ExtensionRegistry {
    pub tools: Vec<(String, ToolData)>,
    pub commands: Vec<OwnedCommand>,
    pub flags: BTreeMap<String, FlagData>,
    pub shortcuts: Vec<(String, ShortcutData)>,
    pub message_renderers: HashSet<String>,
    pub entry_renderers: HashSet<String>,
    pub transforms_markdown: bool,
    pub providers: Vec<(String, ProviderData)>,
    pub events: HashSet<String>,
    pub sources: HashMap<String, SourceInfo>,
}

impl ExtensionRegistry {
    /// Adds a command, or replaces the extension's command of the same name.
    pub(super) fn add_command(
        &mut self,
        extension: &str,
        source_info: &SourceInfo,
        data: CommandData,
    ) {
        let same = self
            .commands
            .iter_mut()
            .find(|known| known.extension == extension && known.data.name == data.name);
        match same {
            Some(known) => known.data = data,
            None => self.commands.push(OwnedCommand {
                extension: extension.to_owned(),
                source_info: source_info.clone(),
                data,
            }),
        }
    }

    /// Adds a shortcut, or replaces the extension's shortcut for the same key.
    pub(super) fn add_shortcut(&mut self, extension: &str, data: ShortcutData) {
        self.shortcuts
            .retain(|(owner, known)| owner != extension || known.key != data.key);
        self.shortcuts.push((extension.to_owned(), data));
    }

    /// Finds a command by the name it is invoked by.
    pub(super) fn command(&self, invoked: &str) -> Option<&OwnedCommand> {
        let mut commands = self.named_commands();
        commands.find_map(|(name, command)| (name == invoked).then_some(command))
    }

    /// Lists commands with the names they are invoked by; duplicate names are numbered.
    pub(super) fn named_commands(&self) -> impl Iterator<Item = (String, &OwnedCommand)> {
        let mut seen: HashMap<&str, usize> = HashMap::new();
        let mut totals: HashMap<&str, usize> = HashMap::new();
        for command in &self.commands {
            *totals.entry(command.data.name.as_str()).or_default() += 1;
        }
        self.commands.iter().map(move |command| {
            let name = command.data.name.as_str();
            let number = seen.entry(name).or_default();
            *number += 1;
            let is_alone = totals.get(name) == Some(&1);
            let name = if is_alone {
                name.to_owned()
            } else {
                format!("{name}:{number}")
            };
            (name, command)
        })
    }
}
