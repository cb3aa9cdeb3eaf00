//! Registrations of extensions, as received from JavaScript, and the resulting registry.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::OnceLock;

use pi_core::{ToolExposure, ToolMetadata, ToolNamespace};
use pi_protocol::json::JsonObject;
use pi_protocol::{Modality, SourceInfo, ThinkingLevel};
use pi_providers::ProviderConfig;
use serde::Deserialize;
use serde_json::Value;

use crate::mcp_servers::McpServerRegistry;
use crate::sign_in::SignInData;

/// Everything an extension's factory registered.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Registrations {
    pub tools: Vec<ToolData>,
    pub commands: Vec<CommandData>,
    pub flags: Vec<FlagData>,
    pub shortcuts: Vec<ShortcutData>,
    pub message_renderers: Vec<String>,
    pub entry_renderers: Vec<String>,
    pub transforms_markdown: bool,
    /// Whether the extension chooses how calls of any tool are drawn.
    pub renders_tools: bool,
    pub providers: Vec<ProviderData>,
    pub virtual_models: Vec<VirtualModelData>,
    /// The events handled by any extension so far.
    pub events: Vec<String>,
}

/// The serializable part of a tool.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ToolData {
    pub name: String,
    pub label: Option<String>,
    pub description: String,
    pub parameters: Value,
    pub prompt_snippet: Option<String>,
    pub prompt_guidelines: Option<Vec<String>>,
    pub execution_mode: Option<pi_core::ExecutionMode>,
    pub default_active: Option<bool>,
    pub constrained_sampling: Option<Value>,
    pub prepares_arguments: bool,
    pub output_schema: Option<Value>,
    pub exposure: ToolExposure,
    pub namespace: Option<ToolNamespace>,
    pub annotations: Option<JsonObject>,
    pub reaches_tools: bool,
    pub prepares_loadout: bool,
    pub render_shell: Option<String>,
    pub renders_call: bool,
    pub renders_result: bool,
    #[serde(skip)]
    prompt_characters: OnceLock<u64>,
}

impl ToolData {
    /// Returns the characters of what the tool adds to prompts. A registered tool does not change.
    pub(crate) fn prompt_characters(&self) -> u64 {
        *self.prompt_characters.get_or_init(|| {
            let parameters = pi_protocol::json::to_string(&self.parameters).unwrap_or_default();
            let guidelines = self.prompt_guidelines.iter().flatten().map(String::len);
            let snippet = self.prompt_snippet.as_ref().map_or(0, String::len);
            let characters = self.name.len()
                + self.description.len()
                + parameters.len()
                + snippet
                + guidelines.sum::<usize>();
            u64::try_from(characters).unwrap_or(u64::MAX)
        })
    }

    /// Returns the properties that are not sent to the model.
    pub(crate) fn metadata(&self) -> ToolMetadata {
        ToolMetadata {
            exposure: self.exposure,
            namespace: self.namespace.clone(),
            annotations: self.annotations.clone(),
            output_schema: self.output_schema.clone(),
            reaches_tools: self.reaches_tools,
            prepares_loadout: self.prepares_loadout,
            builtin_extension: None,
        }
    }
}

/// The serializable part of a command.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct CommandData {
    pub name: String,
    pub description: Option<String>,
    pub completes: bool,
}

/// The serializable part of a shortcut.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ShortcutData {
    pub key: String,
    pub description: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct FlagData {
    pub name: String,
    #[serde(rename = "type", default)]
    pub kind: FlagKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum FlagKind {
    #[default]
    Boolean,
    String,
}

/// The serializable part of a provider.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ProviderData {
    pub name: String,
    pub config: ProviderConfig,
    pub streams: bool,
    pub refreshes: bool,
    pub sign_in: Option<SignInData>,
}

/// The serializable part of a virtual model.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct VirtualModelData {
    pub provider: String,
    pub id: String,
    pub name: String,
    /// The levels offered for selection.
    #[serde(default = "only_off")]
    pub thinking_levels: Vec<ThinkingLevel>,
    /// 0 if unknown.
    #[serde(default)]
    pub context_window: u64,
    /// 0 if unknown.
    #[serde(default)]
    pub max_tokens: u64,
    #[serde(default = "text_and_images")]
    pub input: Vec<Modality>,
}

fn only_off() -> Vec<ThinkingLevel> {
    vec![ThinkingLevel::Off]
}

fn text_and_images() -> Vec<Modality> {
    vec![Modality::Text, Modality::Image]
}

/// A command and the extension it belongs to.
pub(crate) struct OwnedCommand {
    pub extension: String,
    pub source_info: SourceInfo,
    pub data: CommandData,
}

impl OwnedCommand {
    /// Returns the extension and the name the command is registered with.
    pub(crate) fn owner_and_name(&self) -> (String, String) {
        (self.extension.clone(), self.data.name.clone())
    }
}

#[derive(Default)]
pub(crate) struct ExtensionRegistry {
    pub tools: Vec<(String, ToolData)>,
    pub commands: Vec<OwnedCommand>,
    pub flags: BTreeMap<String, FlagData>,
    pub shortcuts: Vec<(String, ShortcutData)>,
    pub message_renderers: HashSet<String>,
    pub entry_renderers: HashSet<String>,
    pub transforms_markdown: bool,
    /// The first extension that chooses how calls of any tool are drawn.
    pub tool_renderer: Option<String>,
    pub providers: Vec<(String, ProviderData)>,
    pub virtual_models: Vec<(String, VirtualModelData)>,
    pub mcp_servers: McpServerRegistry,
    pub events: HashSet<String>,
    pub sources: HashMap<String, SourceInfo>,
}

impl ExtensionRegistry {
    /// Adds the registrations of an extension; returns a message for each name conflict.
    pub(crate) fn add(
        &mut self,
        extension: String,
        source_info: &SourceInfo,
        registrations: Registrations,
    ) -> Vec<String> {
        let mut clashes = Vec::new();
        for tool in registrations.tools {
            match self.tools.iter().find(|(_, known)| known.name == tool.name) {
                Some((first, _)) => clashes.push(format!(
                    "tool \"{}\" is already registered by {first}",
                    tool.name
                )),
                None => self.tools.push((extension.clone(), tool)),
            }
        }
        for flag in registrations.flags {
            if self.flags.contains_key(&flag.name) {
                clashes.push(format!("flag --{} is already registered", flag.name));
            } else {
                self.flags.insert(flag.name.clone(), flag);
            }
        }
        for command in registrations.commands {
            self.add_command(&extension, source_info, command);
        }
        for shortcut in registrations.shortcuts {
            self.add_shortcut(&extension, shortcut);
        }
        self.message_renderers
            .extend(registrations.message_renderers);
        self.entry_renderers.extend(registrations.entry_renderers);
        self.transforms_markdown |= registrations.transforms_markdown;
        if registrations.renders_tools {
            self.tool_renderer.get_or_insert_with(|| extension.clone());
        }
        let providers = registrations.providers.into_iter();
        self.providers
            .extend(providers.map(|provider| (extension.clone(), provider)));
        let virtual_models = registrations.virtual_models.into_iter();
        self.virtual_models
            .extend(virtual_models.map(|model| (extension.clone(), model)));
        self.events = registrations.events.into_iter().collect::<HashSet<_>>();
        self.sources.insert(extension, source_info.clone());
        clashes
    }

    /// Adds a command, or replaces the extension's command of the same name.
    pub(crate) fn add_command(
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
    pub(crate) fn add_shortcut(&mut self, extension: &str, data: ShortcutData) {
        self.shortcuts
            .retain(|(owner, known)| owner != extension || known.key != data.key);
        self.shortcuts.push((extension.to_owned(), data));
    }

    /// Returns the source of the extension that registered a tool.
    pub(crate) fn source_of_tool(&self, name: &str) -> Option<SourceInfo> {
        let mut tools = self.tools.iter();
        let (extension, _) = tools.find(|(_, tool)| tool.name == name)?;
        self.sources.get(extension).cloned()
    }

    /// Finds a command by the name it is invoked by.
    pub(crate) fn command(&self, invoked: &str) -> Option<&OwnedCommand> {
        let mut commands = self.named_commands();
        commands.find_map(|(name, command)| (name == invoked).then_some(command))
    }

    /// Lists commands with the names they are invoked by; duplicate names are numbered.
    pub(crate) fn named_commands(&self) -> impl Iterator<Item = (String, &OwnedCommand)> {
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
