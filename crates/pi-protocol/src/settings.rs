//! The `settings.json` schema: every key with its type and default.
//!
//! [`Settings`] holds the raw values of a file, each key an `Option`; the accessor methods return effective
//! values. A [`SettingChange`] sets one of them. `pi-config` reads, merges and writes the files.

mod accessors;
mod change;
mod extension_budget;
mod extension_hosts;
mod extension_settings;
mod group;
mod number;
mod package_source;
mod permissions;
mod reference;
mod sandbox;
mod values;

pub use accessors::CompactionTokens;
pub use change::SettingChange;
pub use extension_budget::{BudgetAction, ExtensionBudget};
pub use extension_hosts::{ExtensionEngine, ExtensionHosts};
pub use extension_settings::ExtensionSettings;
pub use package_source::{PackageFilter, PackageSource};
pub use permissions::{CheckedRule, PermissionRule, PermissionSettings};
pub use reference::{SETTING_REFERENCE, SettingReference, SettingScope, SettingTopic};
pub use sandbox::{Checked, OnDenied, SandboxMode, SandboxNetwork, SandboxSettings};
pub use values::{
    AcpCommands, AutoDetect, BoolOrAuto, CacheWarming, ClientFileAccess, CodeMode, CommandSetting,
    DotMcpJson, DoubleEscapeAction, FileHistoryMode, FullscreenExitOutput, FullscreenScrollbar,
    ImageProtocolName, ImageProtocolSetting, McpPinning, MermaidMode, ProjectTrustDefault,
    QuietStartup, QuietStartupPart, RunNotification, ShareDestination, ToolRows, TreeFilterMode,
    TuiMode, WheelScrollLines,
};

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::queue::QueueMode;
use crate::request_choice::TransportPreference;
use crate::thinking::{ThinkingBudgets, ThinkingLevel};

/// The contents of a settings file. A key that is not set is `None`, or an empty group.
///
/// Deserialization is strict. Files are read leniently by `pi-config`: it drops values of the wrong type and
/// reports them.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Settings {
    pub default_provider: Option<String>,
    pub default_model: Option<String>,
    pub default_thinking_level: Option<ThinkingLevel>,
    /// Thinking levels per model, keyed by `provider/id`.
    #[serde(deserialize_with = "group::group")]
    pub model_thinking_levels: BTreeMap<String, ThinkingLevel>,
    /// Thinking budget in tokens, by level.
    #[serde(deserialize_with = "group::group")]
    pub thinking_budgets: ThinkingBudgets,
    /// Patterns of the models offered in the picker and when cycling.
    pub enabled_models: Option<Vec<String>>,
    pub hide_thinking_block: Option<bool>,
    pub show_cache_miss_notices: Option<bool>,
    /// User settings only.
    pub cache_warming: Option<CacheWarming>,

    pub steering_mode: Option<QueueMode>,
    pub follow_up_mode: Option<QueueMode>,
    /// Command that opens a prompt for editing.
    pub external_editor: Option<String>,
    pub double_escape_action: Option<DoubleEscapeAction>,
    /// Initial filter of the session tree.
    pub tree_filter_mode: Option<TreeFilterMode>,
    /// Default for projects without a saved trust decision. User settings only.
    pub default_project_trust: Option<ProjectTrustDefault>,
    /// Built-in tools that are enabled at startup.
    pub default_tools: Option<Vec<String>>,
    #[serde(deserialize_with = "group::group")]
    pub codemode: CodemodeSettings,
    /// A project's `allow` rules are ignored.
    #[serde(deserialize_with = "group::group")]
    pub permissions: PermissionSettings,
    /// A project may only add restrictions.
    #[serde(deserialize_with = "group::group")]
    pub sandbox: SandboxSettings,
    /// User settings only.
    #[serde(deserialize_with = "group::group")]
    pub mcp: McpSettings,
    /// User settings only.
    #[serde(deserialize_with = "group::group")]
    pub serve: ServeSettings,
    /// User settings only.
    #[serde(deserialize_with = "group::group")]
    pub acp: AcpSettings,
    /// User settings only.
    #[serde(deserialize_with = "group::group")]
    pub task: TaskSettings,
    /// User settings only.
    #[serde(deserialize_with = "group::group")]
    pub search: SearchSettings,

    pub session_dir: Option<String>,
    /// Which changes of files can be undone. User settings only.
    pub file_history: Option<FileHistoryMode>,
    /// Size of the stored contents of a session. User settings only.
    #[serde(deserialize_with = "number::truncated")]
    pub file_history_max_bytes: Option<u64>,
    pub session_share_destination: Option<ShareDestination>,
    #[serde(deserialize_with = "group::group")]
    pub compaction: CompactionSettings,
    #[serde(deserialize_with = "group::group")]
    pub branch_summary: BranchSummarySettings,

    /// A theme name, or `light/dark` names to follow the terminal's background.
    pub theme: Option<String>,
    pub quiet_startup: Option<QuietStartup>,
    pub tui_mode: Option<TuiMode>,
    pub fullscreen_exit_output: Option<FullscreenExitOutput>,
    pub fullscreen_scrollbar: Option<FullscreenScrollbar>,
    pub fullscreen_copy_on_select: Option<bool>,
    pub fullscreen_wheel_scroll_lines: Option<WheelScrollLines>,
    /// In cells, 0 to 3.
    #[serde(deserialize_with = "number::truncated")]
    pub editor_padding_x: Option<u64>,
    /// Horizontal padding of the transcript in cells, 0 or 1.
    #[serde(deserialize_with = "number::truncated")]
    pub output_pad: Option<u64>,
    /// 3 to 20.
    #[serde(deserialize_with = "number::truncated")]
    pub autocomplete_max_visible: Option<u64>,
    pub show_hardware_cursor: Option<bool>,
    #[serde(deserialize_with = "group::group")]
    pub terminal: TerminalSettings,
    #[serde(deserialize_with = "group::group")]
    pub images: ImageSettings,
    #[serde(deserialize_with = "group::group")]
    pub markdown: MarkdownSettings,

    /// Preferred transport for providers with several.
    pub transport: Option<TransportPreference>,
    /// Proxy for all requests. User settings only.
    pub http_proxy: Option<String>,
    /// 0 disables the timeout.
    #[serde(deserialize_with = "number::timeout")]
    pub http_idle_timeout_ms: Option<u64>,
    /// 0 disables the timeout.
    #[serde(deserialize_with = "number::timeout")]
    pub websocket_connect_timeout_ms: Option<u64>,
    #[serde(deserialize_with = "group::group")]
    pub retry: RetrySettings,

    /// Shell for the bash tool.
    pub shell_path: Option<String>,
    /// Prepended to every shell command.
    pub shell_command_prefix: Option<String>,
    /// Command and arguments of an external package manager for npm packages.
    pub npm_command: Option<Vec<String>>,
    /// npm packages whose install scripts may run. User settings only.
    pub allow_install_scripts: Option<Vec<String>>,
    /// Command that updates pi. User settings only.
    pub self_update_command: Option<CommandSetting>,

    /// Resource packages. Not merged across scopes.
    pub packages: Option<Vec<PackageSource>>,
    /// Extension files, directories and patterns. Not merged across scopes.
    pub extensions: Option<Vec<String>>,
    #[serde(flatten)]
    pub extension_settings: ExtensionSettings,
    /// Skill files, directories and patterns. Not merged across scopes.
    pub skills: Option<Vec<String>>,
    /// Prompt template files, directories and patterns. Not merged across scopes.
    pub prompts: Option<Vec<String>>,
    /// Theme files, directories and patterns. Not merged across scopes.
    pub themes: Option<Vec<String>>,
    /// Whether skills are available as slash commands.
    pub enable_skill_commands: Option<bool>,

    /// Whether the changelog shown after an update is collapsed.
    pub collapse_changelog: Option<bool>,
    /// Version whose changelog was shown last.
    pub last_changelog_version: Option<String>,
    pub enable_install_telemetry: Option<bool>,
    /// UUID of this installation, created when a sign-in first needs it. User settings only.
    pub device_id: Option<String>,
    /// Whether the user opted in to analytics.
    pub enable_analytics: Option<bool>,
    /// Random ID of a user who opted in to analytics.
    pub tracking_id: Option<String>,
    #[serde(deserialize_with = "group::group")]
    pub warnings: WarningSettings,
}

impl Settings {
    /// Returns only the keys that are set, as written to a file. Serde's output contains `null` for the others.
    pub fn to_json(&self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(mut object)) => {
                drop_unset(&mut object);
                object
            }
            Ok(_) | Err(_) => Map::new(),
        }
    }
}

fn drop_unset(object: &mut Map<String, Value>) {
    object.retain(|_, value| match value {
        Value::Null => false,
        Value::Object(group) => {
            drop_unset(group);
            !group.is_empty()
        }
        _ => true,
    });
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CodemodeSettings {
    pub mode: Option<CodeMode>,
    /// Maximum tokens of tool descriptions in the prompt.
    #[serde(deserialize_with = "number::token_count")]
    pub inline_budget: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct McpSettings {
    /// What happens when a known tool of a server changes.
    pub pin: Option<McpPinning>,
    /// Whether the `.mcp.json` of a trusted project is read.
    pub dot_mcp_json: Option<DotMcpJson>,
}

/// The server of `pi serve`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ServeSettings {
    /// Names of reverse proxies under which the server is reached.
    pub hosts: Option<Vec<String>>,
    /// Minutes after which a session without clients is closed.
    #[serde(deserialize_with = "number::truncated")]
    pub idle_minutes: Option<u64>,
}

/// Full-text search over sessions.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SearchSettings {
    /// Whether sessions are indexed.
    pub enabled: Option<bool>,
    /// Working directories whose sessions are left out.
    pub exclude: Option<Vec<String>>,
}

/// Limits of the sub-agents that a prompt may start, together.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TaskSettings {
    /// In US dollars.
    pub max_cost: Option<f64>,
    #[serde(deserialize_with = "number::truncated")]
    pub max_tokens: Option<u64>,
}

/// `pi acp`: sessions in editors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AcpSettings {
    /// Which of the editor's file methods are used.
    pub client_files: Option<ClientFileAccess>,
    /// Which slash commands the editor offers.
    pub commands: Option<AcpCommands>,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CompactionSettings {
    /// Whether sessions are compacted automatically.
    pub enabled: Option<bool>,
    /// Tokens reserved for the response.
    #[serde(deserialize_with = "number::token_count")]
    pub reserve_tokens: Option<u64>,
    /// Most recent tokens that are kept unsummarized.
    #[serde(deserialize_with = "number::token_count")]
    pub keep_recent_tokens: Option<u64>,
    /// Overrides per model, keyed by `provider/id`.
    #[serde(deserialize_with = "group::groups")]
    pub model_overrides: BTreeMap<String, CompactionModelOverride>,
}

/// Compaction limits for one model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CompactionModelOverride {
    /// Tokens reserved for the response.
    #[serde(deserialize_with = "number::token_count")]
    pub reserve_tokens: Option<u64>,
    /// Most recent tokens that are kept unsummarized.
    #[serde(deserialize_with = "number::token_count")]
    pub keep_recent_tokens: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct BranchSummarySettings {
    /// Tokens reserved for the summary.
    #[serde(deserialize_with = "number::token_count")]
    pub reserve_tokens: Option<u64>,
    /// Skip both the prompt and the summary when leaving a branch.
    pub skip_prompt: Option<bool>,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TerminalSettings {
    pub show_images: Option<bool>,
    #[serde(deserialize_with = "number::truncated")]
    pub image_width_cells: Option<u64>,
    /// Whether rows that become empty are cleared.
    pub clear_on_shrink: Option<bool>,
    /// Whether to report progress to the terminal, for its tab or taskbar icon.
    pub show_terminal_progress: Option<bool>,
    /// Whether the terminal supports clickable links.
    pub hyperlinks: Option<BoolOrAuto>,
    pub images: Option<ImageProtocolSetting>,
    /// Whether the terminal supports 24-bit color.
    pub true_color: Option<BoolOrAuto>,
    pub tool_rows: Option<ToolRows>,
    pub notify: Option<RunNotification>,
    /// Columns of prose; 0 for the width of the terminal.
    #[serde(deserialize_with = "number::truncated")]
    pub max_text_width: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ImageSettings {
    /// Whether large images are resized before they are sent.
    pub auto_resize: Option<bool>,
    /// Whether to send no images to models.
    pub block_images: Option<bool>,
    /// Model of the tool `image`, as `provider/id`.
    pub model: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MarkdownSettings {
    /// Prepended to each line of a code block.
    pub code_block_indent: Option<String>,
    /// When Mermaid diagrams are rendered.
    pub mermaid: Option<MermaidMode>,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RetrySettings {
    /// Whether failed turns are retried.
    pub enabled: Option<bool>,
    #[serde(deserialize_with = "number::truncated")]
    pub max_retries: Option<u64>,
    /// Delay before the first retry; doubles with each attempt.
    #[serde(deserialize_with = "number::truncated")]
    pub base_delay_ms: Option<u64>,
    #[serde(deserialize_with = "number::truncated")]
    pub max_agent_delay_ms: Option<u64>,
    /// Retries of single requests, before the turn fails.
    #[serde(deserialize_with = "group::group")]
    pub provider: ProviderRetrySettings,
}

/// `retry.provider`: retries of single requests, before the turn fails.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ProviderRetrySettings {
    /// Timeout of one request.
    #[serde(deserialize_with = "number::truncated")]
    pub timeout_ms: Option<u64>,
    /// Maximum retries of one request.
    #[serde(deserialize_with = "number::truncated")]
    pub max_retries: Option<u64>,
    /// Longest `retry-after` delay to honor; 0 for no limit.
    #[serde(deserialize_with = "number::truncated")]
    pub max_retry_delay_ms: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WarningSettings {
    /// Warn when a Claude subscription may incur extra charges.
    pub anthropic_extra_usage: Option<bool>,
}

#[cfg(test)]
mod tests;
