//! Applies changes from the settings dialog.

use pi_config::{DeliveryMode, Settings};
use pi_core::QueueMode;

use super::App;
use crate::intent::SettingChange;

impl App {
    /// Saves a user setting and applies it.
    pub(super) fn change_setting(&mut self, change: &SettingChange) {
        let saved = match change {
            // The session applies and saves these.
            SettingChange::SteeringMode(mode) => self.session.set_steering_mode(queue_mode(*mode)),
            SettingChange::FollowUpMode(mode) => self.session.set_follow_up_mode(queue_mode(*mode)),
            SettingChange::AutoCompact(enabled) => self.session.set_auto_compaction(*enabled),
            other => self
                .session
                .settings()
                .update(pi_config::ConfigScope::User, |settings| {
                    store(settings, other);
                }),
        };
        if let Err(error) = saved {
            self.error(pi_runtime::describe_error(&error));
        }
        let settings = self.session.settings().settings();
        self.themes.set_preview(None);
        self.themes.set_setting(settings.theme.clone());
        self.apply_theme();
        self.report_theme_problem();
        self.apply_settings(&settings);
        if matches!(change, SettingChange::SkillCommands(_)) {
            self.refresh_completion();
        }
        if matches!(change, SettingChange::Theme(_)) {
            self.watch_theme_files();
        }
        self.refresh_footer();
    }
}

fn queue_mode(mode: DeliveryMode) -> QueueMode {
    match mode {
        DeliveryMode::All => QueueMode::All,
        DeliveryMode::OneAtATime => QueueMode::OneAtATime,
    }
}

fn store(settings: &mut Settings, change: &SettingChange) {
    match change.clone() {
        SettingChange::AutoCompact(enabled) => settings.compaction.enabled = Some(enabled),
        SettingChange::SteeringMode(mode) => settings.steering_mode = Some(mode),
        SettingChange::FollowUpMode(mode) => settings.follow_up_mode = Some(mode),
        SettingChange::Transport(transport) => settings.transport = Some(transport),
        SettingChange::HttpIdleTimeout(milliseconds) => {
            settings.http_idle_timeout_ms = Some(milliseconds);
        }
        SettingChange::CacheWarming(warming) => settings.cache_warming = Some(warming),
        SettingChange::HideThinking(hide) => settings.hide_thinking_block = Some(hide),
        SettingChange::Mermaid(mode) => settings.markdown.mermaid = Some(mode),
        SettingChange::CacheMissNotices(show) => settings.show_cache_miss_notices = Some(show),
        SettingChange::CollapseChangelog(collapse) => settings.collapse_changelog = Some(collapse),
        SettingChange::QuietStartup(quiet) => settings.quiet_startup = Some(quiet),
        SettingChange::InstallTelemetry(enable) => settings.enable_install_telemetry = Some(enable),
        SettingChange::DefaultProjectTrust(trust) => settings.default_project_trust = Some(trust),
        SettingChange::DoubleEscapeAction(action) => settings.double_escape_action = Some(action),
        SettingChange::TreeFilterMode(mode) => settings.tree_filter_mode = Some(mode),
        SettingChange::WarnExtraUsage(warn) => settings.warnings.anthropic_extra_usage = Some(warn),
        SettingChange::ModelThinking {
            model,
            level: Some(level),
        } => {
            settings.model_thinking_levels.insert(model, level);
        }
        SettingChange::ModelThinking { model, level: None } => {
            settings.model_thinking_levels.remove(&model);
        }
        SettingChange::DefaultThinking(level) => settings.default_thinking_level = Some(level),
        SettingChange::TuiMode(mode) => settings.tui_mode = Some(mode),
        SettingChange::FullscreenExitOutput(output) => {
            settings.fullscreen_exit_output = Some(output);
        }
        SettingChange::FullscreenScrollbar(scrollbar) => {
            settings.fullscreen_scrollbar = Some(scrollbar);
        }
        SettingChange::FullscreenCopyOnSelect(copy) => {
            settings.fullscreen_copy_on_select = Some(copy);
        }
        SettingChange::Theme(theme) => settings.theme = Some(theme),
        SettingChange::ShowImages(show) => settings.terminal.show_images = Some(show),
        SettingChange::ImageWidthCells(cells) => settings.terminal.image_width_cells = Some(cells),
        SettingChange::AutoResizeImages(resize) => settings.images.auto_resize = Some(resize),
        SettingChange::BlockImages(block) => settings.images.block_images = Some(block),
        SettingChange::SkillCommands(enable) => settings.enable_skill_commands = Some(enable),
        SettingChange::ShowHardwareCursor(show) => settings.show_hardware_cursor = Some(show),
        SettingChange::EditorPadding(cells) => settings.editor_padding_x = Some(cells),
        SettingChange::OutputPadding(cells) => settings.output_pad = Some(cells),
        SettingChange::AutocompleteMaxVisible(count) => {
            settings.autocomplete_max_visible = Some(count);
        }
        SettingChange::ClearOnShrink(clear) => settings.terminal.clear_on_shrink = Some(clear),
        SettingChange::TerminalProgress(show) => {
            settings.terminal.show_terminal_progress = Some(show);
        }
    }
}
