//! What extensions register, as our JavaScript tells it, and what of it is in force.

use std::collections::{BTreeMap, HashMap, HashSet};

use pi_ai::ProviderConfig;
use pi_config::SourceInfo;
use serde::Deserialize;
use serde_json::Value;

use super::sign_in::SignInData;

/// Everything a factory has registered.
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
    /// The events that are heard, by all extensions so far.
    pub events: Vec<String>,
}

/// The part of a tool that is data.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ToolData {
    pub name: String,
    pub label: Option<String>,
    pub description: String,
    pub parameters: Value,
    pub prompt_snippet: Option<String>,
    pub prompt_guidelines: Option<Vec<String>>,
    pub execution_mode: Option<pi_agent::ExecutionMode>,
    pub constrained_sampling: Option<Value>,
    pub prepares_arguments: bool,
    pub render_shell: Option<String>,
    pub renders_call: bool,
    pub renders_result: bool,
}

/// The part of a command that is data.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct CommandData {
    pub name: String,
    pub description: Option<String>,
    pub completes: bool,
}

/// The part of a shortcut that is data.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct ShortcutData {
    pub key: String,
    pub description: Option<String>,
}

/// A flag.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct FlagData {
    pub name: String,
    #[serde(rename = "type", default)]
    pub kind: FlagKind,
}

/// What a flag takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum FlagKind {
    #[default]
    Boolean,
    String,
}

/// The part of a provider that is data.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ProviderData {
    pub name: String,
    pub config: ProviderConfig,
    pub streams: bool,
    pub refreshes: bool,
    pub sign_in: Option<SignInData>,
}

/// A command and whose it is.
pub(super) struct OwnedCommand {
    pub extension: String,
    pub source_info: SourceInfo,
    pub data: CommandData,
}

impl OwnedCommand {
    /// Returns the extension, and the name the command has there.
    pub(super) fn owner_and_name(&self) -> (String, String) {
        (self.extension.clone(), self.data.name.clone())
    }
}

/// What the extensions have registered.
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
    /// Adds a command, or replaces the one of the same extension.
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

    /// Adds a shortcut, or replaces the one of the same extension.
    pub(super) fn add_shortcut(&mut self, extension: &str, data: ShortcutData) {
        self.shortcuts
            .retain(|(owner, known)| owner != extension || known.key != data.key);
        self.shortcuts.push((extension.to_owned(), data));
    }

    /// Finds a command by the name it is called by.
    pub(super) fn command(&self, invoked: &str) -> Option<&OwnedCommand> {
        let mut commands = self.named_commands();
        commands.find_map(|(name, command)| (name == invoked).then_some(command))
    }

    /// Lists commands under the names they are called by: several of one name are numbered.
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
