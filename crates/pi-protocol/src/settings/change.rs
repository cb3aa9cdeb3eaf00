//! Changes of settings.

use serde::{Deserialize, Serialize};

use super::{
    DoubleEscapeAction, FullscreenExitOutput, FullscreenScrollbar, MermaidMode,
    ProjectTrustDefault, QuietStartup, RunNotification, Settings, ToolRows, TreeFilterMode,
    TuiMode,
};
use crate::queue::QueueMode;
use crate::request_choice::TransportPreference;
use crate::thinking::ThinkingLevel;

/// A setting with its new value: one variant per line of the settings dialog, and the ones that other parts of
/// the application change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SettingChange {
    /// `autocompact`
    AutoCompact(bool),
    /// `steering-mode`
    SteeringMode(QueueMode),
    /// `follow-up-mode`
    FollowUpMode(QueueMode),
    /// `transport`
    Transport(TransportPreference),
    /// `http-idle-timeout`, in milliseconds; 0 disables the timeout.
    HttpIdleTimeout(u64),
    /// `hide-thinking`
    HideThinking(bool),
    /// `mermaid-rendering`
    Mermaid(MermaidMode),
    /// `cache-miss-notices`
    CacheMissNotices(bool),
    /// `collapse-changelog`
    CollapseChangelog(bool),
    /// `quiet-startup`
    QuietStartup(QuietStartup),
    /// `install-telemetry`
    InstallTelemetry(bool),
    /// `default-project-trust`
    DefaultProjectTrust(ProjectTrustDefault),
    /// `double-escape-action`
    DoubleEscapeAction(DoubleEscapeAction),
    /// `tree-filter-mode`
    TreeFilterMode(TreeFilterMode),
    /// `warnings`: the warning about extra usage of a subscription.
    WarnExtraUsage(bool),
    /// `model-thinking`: the level of one model; `None` uses the default.
    ModelThinking {
        /// `provider/id`
        model: String,
        level: Option<ThinkingLevel>,
    },
    /// The default thinking level, from the same submenu.
    DefaultThinking(ThinkingLevel),
    /// `tui-mode`
    TuiMode(TuiMode),
    /// `fullscreen-exit-output`
    FullscreenExitOutput(FullscreenExitOutput),
    /// `fullscreen-scrollbar`
    FullscreenScrollbar(FullscreenScrollbar),
    /// `fullscreen-copy-on-select`
    FullscreenCopyOnSelect(bool),
    /// `theme`: a name, or `light/dark` names to follow the terminal.
    Theme(String),
    /// `show-images`
    ShowImages(bool),
    /// `image-width-cells`
    ImageWidthCells(u64),
    /// `auto-resize-images`
    AutoResizeImages(bool),
    /// `block-images`
    BlockImages(bool),
    /// `skill-commands`
    SkillCommands(bool),
    /// `show-hardware-cursor`
    ShowHardwareCursor(bool),
    /// `editor-padding`
    EditorPadding(u64),
    /// `output-padding`
    OutputPadding(u64),
    /// `autocomplete-max-visible`
    AutocompleteMaxVisible(u64),
    /// `clear-on-shrink`
    ClearOnShrink(bool),
    /// `terminal-progress`
    TerminalProgress(bool),
    /// `tool-rows`
    ToolRows(ToolRows),
    /// `max-text-width`; 0 for no limit.
    MaxTextWidth(u64),
    /// `notify`
    Notify(RunNotification),
    /// Patterns of the models to cycle through; `None` means all.
    EnabledModels(Option<Vec<String>>),
    /// The version whose changelog was shown last.
    ChangelogVersion(String),
}

impl SettingChange {
    /// Sets the value in the settings.
    pub fn apply_to(self, settings: &mut Settings) {
        match self {
            Self::AutoCompact(enabled) => settings.compaction.enabled = Some(enabled),
            Self::SteeringMode(mode) => settings.steering_mode = Some(mode),
            Self::FollowUpMode(mode) => settings.follow_up_mode = Some(mode),
            Self::Transport(transport) => settings.transport = Some(transport),
            Self::HttpIdleTimeout(milliseconds) => {
                settings.http_idle_timeout_ms = Some(milliseconds);
            }
            Self::HideThinking(hide) => settings.hide_thinking_block = Some(hide),
            Self::Mermaid(mode) => settings.markdown.mermaid = Some(mode),
            Self::CacheMissNotices(show) => settings.show_cache_miss_notices = Some(show),
            Self::CollapseChangelog(collapse) => settings.collapse_changelog = Some(collapse),
            Self::QuietStartup(quiet) => settings.quiet_startup = Some(quiet),
            Self::InstallTelemetry(enable) => settings.enable_install_telemetry = Some(enable),
            Self::DefaultProjectTrust(trust) => settings.default_project_trust = Some(trust),
            Self::DoubleEscapeAction(action) => settings.double_escape_action = Some(action),
            Self::TreeFilterMode(mode) => settings.tree_filter_mode = Some(mode),
            Self::WarnExtraUsage(warn) => settings.warnings.anthropic_extra_usage = Some(warn),
            Self::ModelThinking {
                model,
                level: Some(level),
            } => {
                settings.model_thinking_levels.insert(model, level);
            }
            Self::ModelThinking { model, level: None } => {
                settings.model_thinking_levels.remove(&model);
            }
            Self::DefaultThinking(level) => settings.default_thinking_level = Some(level),
            Self::TuiMode(mode) => settings.tui_mode = Some(mode),
            Self::FullscreenExitOutput(output) => {
                settings.fullscreen_exit_output = Some(output);
            }
            Self::FullscreenScrollbar(scrollbar) => {
                settings.fullscreen_scrollbar = Some(scrollbar);
            }
            Self::FullscreenCopyOnSelect(copy) => {
                settings.fullscreen_copy_on_select = Some(copy);
            }
            Self::Theme(theme) => settings.theme = Some(theme),
            Self::ShowImages(show) => settings.terminal.show_images = Some(show),
            Self::ToolRows(rows) => settings.terminal.tool_rows = Some(rows),
            Self::MaxTextWidth(columns) => settings.terminal.max_text_width = Some(columns),
            Self::Notify(notify) => settings.terminal.notify = Some(notify),
            Self::ImageWidthCells(cells) => settings.terminal.image_width_cells = Some(cells),
            Self::AutoResizeImages(resize) => settings.images.auto_resize = Some(resize),
            Self::BlockImages(block) => settings.images.block_images = Some(block),
            Self::SkillCommands(enable) => settings.enable_skill_commands = Some(enable),
            Self::ShowHardwareCursor(show) => settings.show_hardware_cursor = Some(show),
            Self::EditorPadding(cells) => settings.editor_padding_x = Some(cells),
            Self::OutputPadding(cells) => settings.output_pad = Some(cells),
            Self::AutocompleteMaxVisible(count) => {
                settings.autocomplete_max_visible = Some(count);
            }
            Self::ClearOnShrink(clear) => settings.terminal.clear_on_shrink = Some(clear),
            Self::TerminalProgress(show) => {
                settings.terminal.show_terminal_progress = Some(show);
            }
            Self::EnabledModels(patterns) => settings.enabled_models = patterns,
            Self::ChangelogVersion(version) => {
                settings.last_changelog_version = Some(version);
            }
        }
    }
}
