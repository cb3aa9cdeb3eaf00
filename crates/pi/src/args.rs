//! Command-line parsing.
//!
//! Two steps, as in ripgrep: `args/scan.rs` splits the arguments and knows which flags take a value; [`Args::parse`]
//! converts the values. Scripts and editors rely on these rules: no combined short flags, no `--flag=value` for built-in
//! flags except for `--sandbox`, and unknown long flags are kept for extensions.

mod flag;
mod sandbox_mode;
mod scan;

use std::ffi::OsString;

use pi_config::{ResourceFlags, SettingsOverrides};
use pi_host::{DefaultTools, SessionFlags, ToolSelection};
use pi_protocol::ThinkingLevel;
use pi_protocol::settings::{
    ExtensionEngine, SandboxMode, SandboxNetwork, SandboxSettings, Settings, TuiMode,
};

pub(crate) use flag::{Flag, FlagGroup, Takes};
use scan::{Word, scan};

/// The parsed command line.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Args {
    pub(crate) help: bool,
    pub(crate) version: bool,
    pub(crate) demo: bool,
    pub(crate) mode: Option<OutputMode>,
    pub(crate) print: bool,
    pub(crate) wire: WireArgs,
    pub(crate) list_models: Option<ListModels>,
    pub(crate) export: Option<String>,
    pub(crate) session: SessionArgs,
    pub(crate) model: ModelArgs,
    pub(crate) tools: ToolSelection,
    /// `--sandbox` and `--no-network`.
    pub(crate) sandbox: SandboxSettings,
    pub(crate) resources: ResourceFlags,
    pub(crate) extension_host: Option<ExtensionEngine>,
    /// `--approve` or `--no-approve`; the last one wins.
    pub(crate) trust: Option<bool>,
    pub(crate) offline: bool,
    pub(crate) screen: ScreenArgs,
    pub(crate) prompt: PromptArgs,
    /// Unknown long flags, in order; extensions may register them.
    pub(crate) unknown: Vec<UnknownFlag>,
    pub(crate) problems: Vec<Problem>,
}

/// The value of `--mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutputMode {
    Text,
    Json,
    Rpc,
    Acp,
}

/// The argument of `--list-models`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ListModels {
    All,
    Matching(String),
}

/// Flags of the json and rpc modes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct WireArgs {
    pub(crate) full_updates: bool,
    /// Whether the RPC client supervises the runs.
    pub(crate) barrier: bool,
}

/// Flags that select, store and name the session.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct SessionArgs {
    pub(crate) selection: SessionFlags,
    pub(crate) directory: Option<String>,
    pub(crate) name: Option<String>,
}

/// Flags of the terminal application.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ScreenArgs {
    pub(crate) verbose: bool,
    pub(crate) tui_mode: Option<TuiMode>,
    pub(crate) theme: Option<String>,
}

/// What to send to the model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PromptArgs {
    pub(crate) messages: Vec<String>,
    /// Files to attach, without the `@`.
    pub(crate) files: Vec<String>,
}

/// Flags that select a model.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct ModelArgs {
    pub(crate) provider: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) models: Option<Vec<String>>,
    pub(crate) thinking: Option<ThinkingLevel>,
    pub(crate) api_key: Option<String>,
}

impl std::fmt::Debug for ModelArgs {
    // Omits the API key.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("ModelArgs")
            .field("provider", &self.provider)
            .field("model", &self.model)
            .field("models", &self.models)
            .field("thinking", &self.thinking)
            .finish_non_exhaustive()
    }
}

/// A long flag that is not built in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UnknownFlag {
    /// Without the dashes.
    pub(crate) name: String,
    pub(crate) value: Option<String>,
}

impl UnknownFlag {
    /// Returns the error message if no extension registers the flag.
    pub(crate) fn error_message(&self) -> String {
        let name = format!("--{}", self.name);
        let Some(flag) = Flag::find(&name) else {
            return format!(
                "unknown option {name}: not a pi option and not registered by an extension; see pi --help"
            );
        };
        match (flag.takes(), &self.value) {
            (Takes::Nothing, _) => format!("{name} takes no value"),
            (_, None) => format!("{name} needs a value"),
            (
                Takes::Value(value)
                | Takes::Required(value)
                | Takes::RequiredWord(value)
                | Takes::Optional(value)
                | Takes::OptionalWord(value, _)
                | Takes::Message(value),
                Some(_),
            ) => format!("{name} takes its value as the next argument: {name} {value}"),
        }
    }
}

/// An invalid argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Problem {
    /// The program exits.
    Error(String),
    Warning(String),
}

impl Args {
    /// Parses the arguments, without the program name.
    pub(crate) fn parse(words: impl IntoIterator<Item = OsString>) -> Self {
        let words: Vec<String> = words
            .into_iter()
            .map(|word| word.to_string_lossy().into_owned())
            .collect();
        let mut args = Self::default();
        for word in scan(&words) {
            match word {
                Word::Flag(flag, value) => args.apply(flag, value),
                Word::Missing(flag) => args.missing(flag),
                Word::UnknownShort(word) => args.error(format!("unknown option {word}")),
                Word::UnknownLong(flag) => args.unknown.push(flag),
                Word::File(path) => args.prompt.files.push(path),
                Word::Message(text) => args.prompt.messages.push(text),
            }
        }
        if args.sandbox.network.is_some() && args.sandbox.mode.is_none() {
            args.error("--no-network needs --sandbox");
        }
        args
    }

    /// Returns the settings that flags override for this run.
    pub(crate) fn run_settings(&self) -> SettingsOverrides {
        SettingsOverrides::new(&Settings {
            tui_mode: self.screen.tui_mode,
            theme: self.screen.theme.clone(),
            sandbox: self.sandbox.clone(),
            ..Settings::default()
        })
    }

    fn error(&mut self, message: impl Into<String>) {
        self.problems.push(Problem::Error(message.into()));
    }

    fn missing(&mut self, flag: Flag) {
        let expected = match flag {
            Flag::Mode => "text, json, rpc or acp",
            Flag::TuiMode => "regular or fullscreen",
            Flag::UseTheme => "a theme name",
            Flag::ExtensionHost => "quickjs or node",
            _ => "a value",
        };
        self.error(format!("{} needs {expected}", flag.long()));
    }

    fn apply(&mut self, flag: Flag, value: Option<String>) {
        match flag.group() {
            FlagGroup::Model | FlagGroup::Selection => self.apply_selection(flag, value),
            FlagGroup::Session => self.apply_session(flag, value),
            FlagGroup::Instructions | FlagGroup::Resources => self.apply_resource(flag, value),
            FlagGroup::Output | FlagGroup::Other => self.apply_running(flag, value),
        }
    }

    fn apply_running(&mut self, flag: Flag, value: Option<String>) {
        let text = || value.clone().unwrap_or_default();
        match flag {
            Flag::Help => self.help = true,
            Flag::Version => self.version = true,
            Flag::Demo => self.demo = true,
            Flag::FullUpdates => self.wire.full_updates = true,
            Flag::Barrier => self.wire.barrier = true,
            Flag::Mode => match text().as_str() {
                "text" => self.mode = Some(OutputMode::Text),
                "json" => self.mode = Some(OutputMode::Json),
                "rpc" => self.mode = Some(OutputMode::Rpc),
                "acp" => self.mode = Some(OutputMode::Acp),
                other => self.error(format!(
                    "unknown mode \"{other}\"; use text, json, rpc or acp"
                )),
            },
            Flag::Print => {
                self.print = true;
                self.prompt.messages.extend(value);
            }
            Flag::ListModels => {
                self.list_models = Some(value.map_or(ListModels::All, ListModels::Matching));
            }
            Flag::Export => self.export = value,
            Flag::Approve => self.trust = Some(true),
            Flag::NoApprove => self.trust = Some(false),
            Flag::Offline => self.offline = true,
            Flag::Verbose => self.screen.verbose = true,
            Flag::TuiMode => match text().as_str() {
                "regular" => self.screen.tui_mode = Some(TuiMode::Regular),
                "fullscreen" => self.screen.tui_mode = Some(TuiMode::Fullscreen),
                other => self.error(format!(
                    "unknown terminal mode \"{other}\"; use regular or fullscreen"
                )),
            },
            _ => {}
        }
    }

    fn apply_selection(&mut self, flag: Flag, value: Option<String>) {
        let text = || value.clone().unwrap_or_default();
        let names = || {
            let (text, mut names) = (text(), Vec::new());
            names.extend(text.split(',').map(|name| name.trim().to_owned()));
            names
        };
        let tools = || {
            names()
                .into_iter()
                .filter(|name| !name.is_empty())
                .collect()
        };
        match flag {
            Flag::Provider => self.model.provider = value,
            Flag::Model => self.model.model = value,
            Flag::ApiKey => self.model.api_key = value,
            Flag::Models => self.model.models = Some(names()),
            Flag::Thinking => match ThinkingLevel::from_name(&text()) {
                Some(level) => self.model.thinking = Some(level),
                None => self.problems.push(Problem::Warning(format!(
                    "unknown thinking level \"{}\" ignored; use {}",
                    text(),
                    ThinkingLevel::ALL.map(ThinkingLevel::as_str).join(", ")
                ))),
            },
            Flag::NoTools => self.tools.defaults = DefaultTools::None,
            Flag::NoBuiltinTools if self.tools.defaults == DefaultTools::All => {
                self.tools.defaults = DefaultTools::NoBuiltin;
            }
            Flag::Tools => {
                if let Err(error) = self.tools.set_list(tools()) {
                    self.error(format!("invalid --tools: {error}"));
                }
            }
            Flag::ExcludeTools => self.tools.exclude = tools(),
            Flag::Sandbox => {
                let mode = value
                    .as_deref()
                    .map(|word| (word, SandboxMode::from_name(word)));
                let mode = match mode {
                    None => SandboxMode::Workspace,
                    Some((_, Some(mode))) if mode != SandboxMode::Off => mode,
                    Some((word, _)) => {
                        self.error(format!(
                            "unknown sandbox mode \"{word}\"; use --sandbox with workspace, try or read-only, and name the mode if \
                             \"{word}\" is the message"
                        ));
                        SandboxMode::ReadOnly
                    }
                };
                self.sandbox.mode = Some(mode.into());
            }
            Flag::NoNetwork => self.sandbox.network = Some(SandboxNetwork::Off.into()),
            Flag::Keep => self.sandbox.keep_tried = Some(true),
            _ => {}
        }
    }

    fn apply_session(&mut self, flag: Flag, value: Option<String>) {
        let session = &mut self.session.selection;
        match flag {
            Flag::Continue => session.continue_recent = true,
            Flag::Resume => session.resume = true,
            Flag::NoSession => session.no_session = true,
            Flag::Session => session.session = value,
            Flag::SessionId => session.session_id = value,
            Flag::Fork => session.fork = value,
            Flag::SessionDir => self.session.directory = value,
            Flag::Name => self.session.name = value,
            _ => {}
        }
    }

    fn apply_resource(&mut self, flag: Flag, value: Option<String>) {
        let value = value.unwrap_or_default();
        let resources = &mut self.resources;
        match flag {
            Flag::Extension => resources.extensions.push(value),
            Flag::NoExtensions => resources.no_extensions = true,
            Flag::NoMcp => resources.no_mcp = true,
            // Sessions may have other directories than the process.
            Flag::McpConfig => resources
                .mcp_config
                .push(match std::path::absolute(&value) {
                    Ok(path) => path,
                    Err(_) => value.into(),
                }),
            Flag::ExtensionHost => match ExtensionEngine::from_name(&value) {
                Some(engine) => self.extension_host = Some(engine),
                None => self.error(format!(
                    "unknown extension host \"{value}\"; use quickjs or node"
                )),
            },
            Flag::Skill => resources.skills.push(value),
            Flag::NoSkills => resources.no_skills = true,
            Flag::PromptTemplate => resources.prompt_templates.push(value),
            Flag::NoPromptTemplates => resources.no_prompt_templates = true,
            Flag::Theme => resources.themes.push(value),
            Flag::UseTheme => self.screen.theme = Some(value),
            Flag::NoThemes => resources.no_themes = true,
            Flag::NoContextFiles => resources.no_context_files = true,
            Flag::SystemPrompt => resources.system_prompt = Some(value),
            Flag::AppendSystemPrompt => resources.append_system_prompt.push(value),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
