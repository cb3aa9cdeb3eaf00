//! `settings.json`: what every key means, its type and its default.
//!
//! [`Settings`] holds what files say, each key an `Option`; the accessor methods give the value that
//! counts. Reading, merging and writing files is [`SettingsStore`]'s matter.

mod accessors;
mod decode;
mod extension_hosts;
mod merge;
mod migrate;
mod number;
mod package_source;
mod reference;
mod store;
mod values;

pub use accessors::CompactionTokens;
pub use extension_hosts::{ExtensionEngine, ExtensionHosts};
pub use package_source::{PackageFilter, PackageSource};
pub use reference::{SETTING_REFERENCE, SettingReference, SettingScope, SettingTopic};
pub use store::{SettingsError, SettingsOverrides, SettingsStore};
pub use values::{
    AutoDetect, BoolOrAuto, CacheWarming, CodeMode, CommandSetting, DeliveryMode,
    DoubleEscapeAction, FullscreenExitOutput, FullscreenScrollbar, ImageProtocolName,
    ImageProtocolSetting, MermaidMode, ProjectTrustDefault, QuietStartup, QuietStartupPart,
    ShareDestination, TreeFilterMode, TuiMode, WheelScrollLines,
};

use std::collections::BTreeMap;

use pi_ai::{ThinkingBudgets, ThinkingLevel, TransportPreference};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What settings files say. A key nobody mentions is `None`, or an empty group.
///
/// Reading is strict here; a file is read through [`SettingsStore`], which drops what has the wrong
/// type and says so.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Settings {
    /// `defaultProvider`: the provider of new sessions.
    pub default_provider: Option<String>,
    /// `defaultModel`: the model of new sessions.
    pub default_model: Option<String>,
    /// `defaultThinkingLevel`: the thinking level of new sessions.
    pub default_thinking_level: Option<ThinkingLevel>,
    /// `modelThinkingLevels`: thinking levels of single models, by `provider/id`.
    #[serde(deserialize_with = "decode::group")]
    pub model_thinking_levels: BTreeMap<String, ThinkingLevel>,
    /// `thinkingBudgets`: tokens a thinking level may use.
    #[serde(deserialize_with = "decode::group")]
    pub thinking_budgets: ThinkingBudgets,
    /// `enabledModels`: patterns of the models to choose from and cycle through.
    pub enabled_models: Option<Vec<String>>,
    /// `hideThinkingBlock`: whether thinking stays out of the transcript.
    pub hide_thinking_block: Option<bool>,
    /// `showCacheMissNotices`: whether costly cache misses are shown.
    pub show_cache_miss_notices: Option<bool>,
    /// `cacheWarming`: when a provider's prompt cache is kept warm. The user's alone.
    pub cache_warming: Option<CacheWarming>,

    /// `steeringMode`: how many queued steering messages are delivered at once.
    pub steering_mode: Option<DeliveryMode>,
    /// `followUpMode`: how many queued follow-up messages are delivered at once.
    pub follow_up_mode: Option<DeliveryMode>,
    /// `externalEditor`: the command that edits a prompt.
    pub external_editor: Option<String>,
    /// `doubleEscapeAction`: what two escapes in an empty editor do.
    pub double_escape_action: Option<DoubleEscapeAction>,
    /// `treeFilterMode`: what the session tree shows at first.
    pub tree_filter_mode: Option<TreeFilterMode>,
    /// `defaultProjectTrust`: what to do with a project nobody decided about. The user's alone.
    pub default_project_trust: Option<ProjectTrustDefault>,
    /// `defaultTools`: the built-in tools that are on at the start.
    pub default_tools: Option<Vec<String>>,
    /// `codemode`: whether tools are called through code.
    #[serde(deserialize_with = "decode::group")]
    pub codemode: CodemodeSettings,

    /// `sessionDir`: where sessions are stored.
    pub session_dir: Option<String>,
    /// `sessionShareDestination`: where a shared session goes.
    pub session_share_destination: Option<ShareDestination>,
    /// `compaction`: when a long session is summarized.
    #[serde(deserialize_with = "decode::group")]
    pub compaction: CompactionSettings,
    /// `branchSummary`: how a branch that is left is summarized.
    #[serde(deserialize_with = "decode::group")]
    pub branch_summary: BranchSummarySettings,

    /// `theme`: the theme's name, or `light/dark` names to follow the terminal.
    pub theme: Option<String>,
    /// `quietStartup`: what of the header is hidden at the start.
    pub quiet_startup: Option<QuietStartup>,
    /// `tuiMode`: whether the terminal application takes the whole screen.
    pub tui_mode: Option<TuiMode>,
    /// `fullscreenExitOutput`: what is left on the terminal after full-screen mode.
    pub fullscreen_exit_output: Option<FullscreenExitOutput>,
    /// `fullscreenScrollbar`: when the scroll bar shows.
    pub fullscreen_scrollbar: Option<FullscreenScrollbar>,
    /// `fullscreenCopyOnSelect`: whether a selection is copied at once.
    pub fullscreen_copy_on_select: Option<bool>,
    /// `fullscreenWheelScrollLines`: how far one step of the wheel scrolls.
    pub fullscreen_wheel_scroll_lines: Option<WheelScrollLines>,
    /// `editorPaddingX`: empty cells beside the editor, 0 to 3.
    #[serde(deserialize_with = "number::whole")]
    pub editor_padding_x: Option<u64>,
    /// `outputPad`: empty cells beside the transcript, 0 or 1.
    #[serde(deserialize_with = "number::whole")]
    pub output_pad: Option<u64>,
    /// `autocompleteMaxVisible`: how many completions show, 3 to 20.
    #[serde(deserialize_with = "number::whole")]
    pub autocomplete_max_visible: Option<u64>,
    /// `showHardwareCursor`: whether the terminal's own cursor shows.
    pub show_hardware_cursor: Option<bool>,
    /// `terminal`: what the terminal can do and should show.
    #[serde(deserialize_with = "decode::group")]
    pub terminal: TerminalSettings,
    /// `images`: which images reach a model.
    #[serde(deserialize_with = "decode::group")]
    pub images: ImageSettings,
    /// `markdown`: how Markdown is shown.
    #[serde(deserialize_with = "decode::group")]
    pub markdown: MarkdownSettings,

    /// `transport`: the preferred transport of providers that have several.
    pub transport: Option<TransportPreference>,
    /// `httpProxy`: the proxy of all requests. The user's alone.
    pub http_proxy: Option<String>,
    /// `httpIdleTimeoutMs`: how long a server may be silent; 0 is for ever.
    #[serde(deserialize_with = "number::timeout")]
    pub http_idle_timeout_ms: Option<u64>,
    /// `websocketConnectTimeoutMs`: how long a WebSocket may take to open; 0 is for ever.
    #[serde(deserialize_with = "number::timeout")]
    pub websocket_connect_timeout_ms: Option<u64>,
    /// `retry`: what to do when a provider fails.
    #[serde(deserialize_with = "decode::group")]
    pub retry: RetrySettings,

    /// `shellPath`: the shell of the bash tool.
    pub shell_path: Option<String>,
    /// `shellCommandPrefix`: what every shell command begins with.
    pub shell_command_prefix: Option<String>,
    /// `npmCommand`: the command that installs npm packages, with its arguments.
    pub npm_command: Option<Vec<String>>,
    /// `allowInstallScripts`: npm packages whose install scripts may run. The user's alone.
    pub allow_install_scripts: Option<Vec<String>>,
    /// `selfUpdateCommand`: the command that updates pi. The user's alone.
    pub self_update_command: Option<CommandSetting>,

    /// `packages`: where packages of resources come from. Read per scope.
    pub packages: Option<Vec<PackageSource>>,
    /// `extensions`: extension files, directories and patterns. Read per scope.
    pub extensions: Option<Vec<String>>,
    /// `extensionHost`: which program runs extensions. The user's alone.
    pub extension_host: Option<ExtensionHosts>,
    /// `skills`: skill files, directories and patterns. Read per scope.
    pub skills: Option<Vec<String>>,
    /// `prompts`: prompt template files, directories and patterns. Read per scope.
    pub prompts: Option<Vec<String>>,
    /// `themes`: theme files, directories and patterns. Read per scope.
    pub themes: Option<Vec<String>>,
    /// `enableSkillCommands`: whether skills are commands.
    pub enable_skill_commands: Option<bool>,

    /// `collapseChangelog`: whether the news after an update are short.
    pub collapse_changelog: Option<bool>,
    /// `lastChangelogVersion`: the last version whose news were shown.
    pub last_changelog_version: Option<String>,
    /// `enableInstallTelemetry`: whether installs are counted.
    pub enable_install_telemetry: Option<bool>,
    /// `enableAnalytics`: whether the user agreed to analytics.
    pub enable_analytics: Option<bool>,
    /// `trackingId`: the random id of a user who agreed to analytics.
    pub tracking_id: Option<String>,
    /// `warnings`: which warnings show.
    #[serde(deserialize_with = "decode::group")]
    pub warnings: WarningSettings,
}

impl Settings {
    /// Returns the keys that are set, as a file has them. Serde's form has `null` for the others.
    pub fn to_json(&self) -> Map<String, Value> {
        merge::to_object(self)
    }
}

/// `codemode`: whether tools are called through code.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CodemodeSettings {
    /// Beside the usual way or instead of it.
    pub mode: Option<CodeMode>,
    /// How many tokens of tool descriptions the prompt may hold.
    #[serde(deserialize_with = "number::token_count")]
    pub inline_budget: Option<u64>,
}

/// `compaction`: when a long session is summarized.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CompactionSettings {
    /// Whether it happens by itself.
    pub enabled: Option<bool>,
    /// Tokens kept free for the answer.
    #[serde(deserialize_with = "number::token_count")]
    pub reserve_tokens: Option<u64>,
    /// Recent tokens that are not summarized.
    #[serde(deserialize_with = "number::token_count")]
    pub keep_recent_tokens: Option<u64>,
    /// Other numbers for single models, by `provider/id`.
    #[serde(deserialize_with = "decode::groups")]
    pub model_overrides: BTreeMap<String, CompactionModelOverride>,
}

/// Compaction's numbers for one model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CompactionModelOverride {
    /// Tokens kept free for the answer.
    #[serde(deserialize_with = "number::token_count")]
    pub reserve_tokens: Option<u64>,
    /// Recent tokens that are not summarized.
    #[serde(deserialize_with = "number::token_count")]
    pub keep_recent_tokens: Option<u64>,
}

/// `branchSummary`: how a branch that is left is summarized.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct BranchSummarySettings {
    /// Tokens kept free for the summary.
    #[serde(deserialize_with = "number::token_count")]
    pub reserve_tokens: Option<u64>,
    /// Whether the user is not asked, and nothing summarized.
    pub skip_prompt: Option<bool>,
}

/// `terminal`: what the terminal can do and should show.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TerminalSettings {
    pub show_images: Option<bool>,
    /// How wide images show.
    #[serde(deserialize_with = "number::whole")]
    pub image_width_cells: Option<u64>,
    /// Whether rows that became empty are cleared.
    pub clear_on_shrink: Option<bool>,
    /// Whether the terminal's tab shows progress.
    pub show_terminal_progress: Option<bool>,
    /// Whether links can be clicked.
    pub hyperlinks: Option<BoolOrAuto>,
    /// How images are transferred.
    pub images: Option<ImageProtocolSetting>,
    /// Whether there are 16 million colors.
    pub true_color: Option<BoolOrAuto>,
}

/// `images`: which images reach a model.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ImageSettings {
    /// Whether large images are made smaller.
    pub auto_resize: Option<bool>,
    /// Whether no image is sent.
    pub block_images: Option<bool>,
}

/// `markdown`: how Markdown is shown.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MarkdownSettings {
    /// What lines of code begin with.
    pub code_block_indent: Option<String>,
    /// When diagrams are drawn.
    pub mermaid: Option<MermaidMode>,
}

/// `retry`: what to do when a provider fails.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RetrySettings {
    /// Whether a failed turn is tried again.
    pub enabled: Option<bool>,
    #[serde(deserialize_with = "number::whole")]
    pub max_retries: Option<u64>,
    /// The first pause; each further one is twice as long.
    #[serde(deserialize_with = "number::whole")]
    pub base_delay_ms: Option<u64>,
    #[serde(deserialize_with = "number::whole")]
    pub max_agent_delay_ms: Option<u64>,
    /// What the provider layer does before the agent hears of a failure.
    #[serde(deserialize_with = "decode::group")]
    pub provider: ProviderRetrySettings,
}

/// `retry.provider`: what the provider layer does before the agent hears of a failure.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ProviderRetrySettings {
    /// How long a request may take.
    #[serde(deserialize_with = "number::whole")]
    pub timeout_ms: Option<u64>,
    /// How often a request is repeated.
    #[serde(deserialize_with = "number::whole")]
    pub max_retries: Option<u64>,
    /// The longest pause a server may ask for; 0 is any.
    #[serde(deserialize_with = "number::whole")]
    pub max_retry_delay_ms: Option<u64>,
}

/// `warnings`: which warnings show.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WarningSettings {
    /// Whether to warn that a subscription may cost extra.
    pub anthropic_extra_usage: Option<bool>,
}

#[cfg(test)]
mod tests;
