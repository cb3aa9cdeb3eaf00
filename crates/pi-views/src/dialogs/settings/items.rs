//! The items of the settings dialog: labels, descriptions and values.

use pi_protocol::settings::{
    DoubleEscapeAction, FullscreenExitOutput, FullscreenScrollbar, MermaidMode,
    ProjectTrustDefault, QuietStartup, QuietStartupPart, RunNotification, SettingChange, Settings,
    ToolRows, TreeFilterMode, TuiMode,
};
use pi_protocol::{QueueMode, TransportPreference};

use super::SettingsDialogOptions;
use super::item::{SettingItem, SettingMenu, cycle, menu, number, switch};
use crate::keys;
use crate::theme::ui_theme::RenderContext;

/// Returns all items in order.
pub(super) fn settings(options: &SettingsDialogOptions, ctx: &RenderContext) -> Vec<SettingItem> {
    let settings = &options.settings;
    let mut all = vec![
        switch(
            "autocompact",
            "Auto-compact",
            settings.compaction_enabled(),
            SettingChange::AutoCompact,
        )
        .description("Summarize older messages when the context window is nearly full."),
    ];
    all.extend(image_settings(settings, ctx));
    all.extend(screen_settings(options));
    all.extend(conversation_settings(settings, ctx));
    all.extend(startup_settings(settings));
    all.extend([
        cycle(
            "double-escape-action",
            "Double-Escape action",
            settings.double_escape_action(),
            &[
                (DoubleEscapeAction::Tree, "tree"),
                (DoubleEscapeAction::Fork, "fork"),
                (DoubleEscapeAction::None, "none"),
            ],
            SettingChange::DoubleEscapeAction,
        )
        .description("What pressing Escape twice in an empty editor does."),
        cycle(
            "tree-filter-mode",
            "Tree filter",
            settings.tree_filter_mode(),
            &[
                (TreeFilterMode::Default, "default"),
                (TreeFilterMode::NoTools, "no tools"),
                (TreeFilterMode::UserOnly, "user messages"),
                (TreeFilterMode::LabeledOnly, "labeled"),
                (TreeFilterMode::All, "all"),
            ],
            SettingChange::TreeFilterMode,
        )
        .description("Initial filter in /tree."),
        switch(
            "warnings",
            "Extra-usage warning",
            settings.warn_anthropic_extra_usage(),
            SettingChange::WarnExtraUsage,
        )
        .description("Warn when an Anthropic subscription may be billed for extra usage."),
        menu(
            "model-thinking",
            "Thinking level per model",
            SettingMenu::ModelThinking,
            options,
        )
        .description("Default thinking levels for individual models."),
    ]);
    all.extend(fullscreen_settings(settings));
    all.push(
        menu("theme", "Theme", SettingMenu::Theme, options)
            .description("Color theme. Can follow the terminal's light or dark mode."),
    );
    all
}

fn image_settings(settings: &Settings, ctx: &RenderContext) -> Vec<SettingItem> {
    let mut all = Vec::new();
    if ctx.capabilities.images.is_some() {
        all.extend([
            switch(
                "show-images",
                "Show images",
                settings.terminal.show_images(),
                SettingChange::ShowImages,
            )
            .description("Show images in the terminal."),
            number(
                "image-width-cells",
                "Image width",
                settings.terminal.image_width_cells().into(),
                &[60, 80, 120],
                SettingChange::ImageWidthCells,
            )
            .description("Maximum image width in columns."),
        ]);
    }
    all.extend([
        switch(
            "auto-resize-images",
            "Auto-resize images",
            settings.images.auto_resize(),
            SettingChange::AutoResizeImages,
        )
        .description("Resize images larger than 2000×2000 before sending them to a model."),
        switch(
            "block-images",
            "Block images",
            settings.images.block_images(),
            SettingChange::BlockImages,
        )
        .description("Never send images to providers."),
        switch(
            "skill-commands",
            "Skill commands",
            settings.enable_skill_commands(),
            SettingChange::SkillCommands,
        )
        .description("Register each skill as /skill:name."),
    ]);
    all
}

fn screen_settings(options: &SettingsDialogOptions) -> Vec<SettingItem> {
    let settings = &options.settings;
    vec![
        switch(
            "show-hardware-cursor",
            "Hardware cursor",
            options.hardware_cursor,
            SettingChange::ShowHardwareCursor,
        )
        .description(
            "Show the terminal cursor. Input methods are positioned correctly either way.",
        ),
        number(
            "editor-padding",
            "Editor padding",
            settings.editor_padding_x().into(),
            &[0, 1, 2, 3],
            SettingChange::EditorPadding,
        )
        .description("Horizontal padding of the editor in columns."),
        number(
            "output-padding",
            "Output padding",
            settings.output_pad().into(),
            &[0, 1],
            SettingChange::OutputPadding,
        )
        .description("Horizontal padding of messages in columns."),
        number(
            "autocomplete-max-visible",
            "Autocomplete rows",
            settings.autocomplete_max_visible().into(),
            &[3, 5, 7, 10, 15, 20],
            SettingChange::AutocompleteMaxVisible,
        )
        .description("Maximum number of visible completions."),
        switch(
            "clear-on-shrink",
            "Clear on shrink",
            options.clear_on_shrink,
            SettingChange::ClearOnShrink,
        )
        .description("Clear empty rows when the content shrinks. May flicker in some terminals."),
        cycle(
            "tool-rows",
            "Tool rows",
            settings.terminal.tool_rows(),
            &[
                (ToolRows::Compact, "compact"),
                (ToolRows::Line, "one line"),
                (ToolRows::Panel, "panel"),
            ],
            SettingChange::ToolRows,
        )
        .description("Finished tool calls: one row with a few lines of output, one row, or a panel."),
        number(
            "max-text-width",
            "Text width",
            settings.terminal.max_text_width().unwrap_or_default().into(),
            &[80, 100, 120, 160, 0],
            SettingChange::MaxTextWidth,
        )
        .description("Maximum columns of prose; 0 uses the width of the terminal."),
        cycle(
            "notify",
            "Notify",
            settings.terminal.notify(),
            &[
                (RunNotification::Bell, "bell"),
                (RunNotification::Desktop, "desktop"),
                (RunNotification::Off, "off"),
            ],
            SettingChange::Notify,
        )
        .description("Report the end of a run of 30 seconds or more with the bell or a notification of the desktop."),
        switch(
            "terminal-progress",
            "Terminal progress",
            settings.terminal.show_terminal_progress(),
            SettingChange::TerminalProgress,
        )
        .description("Show progress in the terminal's tab or taskbar while pi is working."),
    ]
}

fn conversation_settings(settings: &Settings, ctx: &RenderContext) -> Vec<SettingItem> {
    const DELIVERY: [(QueueMode, &str); 2] = [
        (QueueMode::OneAtATime, "one at a time"),
        (QueueMode::All, "all at once"),
    ];
    let follow_up = match ctx.key(keys::MESSAGE_FOLLOW_UP) {
        key if key.is_empty() => "Follow-up messages".to_owned(),
        key => format!("Follow-up messages ({key})"),
    };
    vec![
        cycle("steering-mode", "Steering messages", settings.steering_mode(), &DELIVERY, SettingChange::SteeringMode)
            .description("Messages sent during a run are delivered at the next step: one per step, or all at once."),
        cycle("follow-up-mode", "Follow-up messages", settings.follow_up_mode(), &DELIVERY, SettingChange::FollowUpMode)
            .description(format!("{follow_up} are delivered when the run ends: one per run, or all at once.")),
        cycle(
            "transport",
            "Transport",
            settings.transport(),
            &[
                (TransportPreference::Sse, "sse"),
                (TransportPreference::Websocket, "websocket"),
                (TransportPreference::WebsocketCached, "websocket-cached"),
                (TransportPreference::Auto, "auto"),
            ],
            SettingChange::Transport,
        )
        .description("Preferred transport for providers that support several."),
        idle_timeout(settings),
        switch("hide-thinking", "Hide thinking", settings.hide_thinking_block(), SettingChange::HideThinking)
            .description("Collapse thinking blocks to a label."),
        cycle(
            "mermaid-rendering",
            "Mermaid diagrams",
            settings.markdown.mermaid_mode(),
            &[
                (MermaidMode::Off, "off"),
                (MermaidMode::Final, "when complete"),
                (MermaidMode::Streaming, "while streaming"),
            ],
            SettingChange::Mermaid,
        )
        .description("Render Mermaid diagrams as text graphics."),
        switch("cache-miss-notices", "Cache-miss notices", settings.show_cache_miss_notices(), SettingChange::CacheMissNotices)
            .description("Show the cost of prompt cache misses, and thinking dropped by a provider."),
    ]
}

fn idle_timeout(settings: &Settings) -> SettingItem {
    const CHOICES: [(u64, &str); 5] = [
        (30_000, "30s"),
        (60_000, "1m"),
        (120_000, "2m"),
        (300_000, "5m"),
        (0, "never"),
    ];
    let now = settings.http_idle_timeout();
    let now: u64 = now.map_or(0, |time| time.as_millis().try_into().unwrap_or(u64::MAX));
    let mut setting = cycle(
        "http-idle-timeout",
        "Idle timeout",
        now,
        &CHOICES,
        SettingChange::HttpIdleTimeout,
    )
    .description("Cancel a request when the server sends nothing for this long. Local models may need more than 5 minutes.");
    if setting.value.is_empty() {
        setting.value = format!("{}s", now / 1_000);
    }
    setting
}

fn startup_settings(settings: &Settings) -> Vec<SettingItem> {
    let quiet = match (settings.quiet_startup(), settings.hide_startup_details()) {
        (true, _) => QuietStartup::All(true),
        (false, true) => QuietStartup::Part(QuietStartupPart::Header),
        (false, false) => QuietStartup::All(false),
    };
    vec![
        switch(
            "collapse-changelog",
            "Collapse changelog",
            settings.collapse_changelog(),
            SettingChange::CollapseChangelog,
        )
        .description("Show a one-line changelog after updates."),
        cycle(
            "quiet-startup",
            "Quiet startup",
            quiet,
            &[
                (QuietStartup::All(false), "off"),
                (QuietStartup::Part(QuietStartupPart::Header), "header only"),
                (QuietStartup::All(true), "on"),
            ],
            SettingChange::QuietStartup,
        )
        .description("Hide startup information."),
        switch(
            "install-telemetry",
            "Install telemetry",
            settings.enable_install_telemetry(),
            SettingChange::InstallTelemetry,
        )
        .description(
            "Send attribution headers to providers that support them. The TypeScript pi also sends an anonymous ping after updates.",
        ),
        cycle(
            "default-project-trust",
            "Default project trust",
            settings.default_project_trust(),
            &[
                (ProjectTrustDefault::Ask, "ask"),
                (ProjectTrustDefault::Always, "always"),
                (ProjectTrustDefault::Never, "never"),
            ],
            SettingChange::DefaultProjectTrust,
        )
        .description(
            "Whether to trust projects without a saved decision.",
        ),
    ]
}

fn fullscreen_settings(settings: &Settings) -> Vec<SettingItem> {
    vec![
        cycle(
            "tui-mode",
            "Screen mode",
            settings.tui_mode(),
            &[
                (TuiMode::Regular, "regular"),
                (TuiMode::Fullscreen, "full screen"),
            ],
            SettingChange::TuiMode,
        )
        .description("Use the terminal's scrollback, or the full screen with mouse support."),
        cycle(
            "fullscreen-exit-output",
            "Full-screen exit output",
            settings.fullscreen_exit_output(),
            &[
                (FullscreenExitOutput::Transcript, "transcript"),
                (FullscreenExitOutput::ResumeHint, "resume hint"),
            ],
            SettingChange::FullscreenExitOutput,
        )
        .description("What remains in the terminal after leaving full-screen mode."),
        cycle(
            "fullscreen-scrollbar",
            "Full-screen scrollbar",
            settings.fullscreen_scrollbar(),
            &[
                (FullscreenScrollbar::Auto, "while scrolling"),
                (FullscreenScrollbar::Always, "always"),
                (FullscreenScrollbar::Hidden, "never"),
            ],
            SettingChange::FullscreenScrollbar,
        )
        .description("When to show the scrollbar in full-screen mode."),
        switch(
            "fullscreen-copy-on-select",
            "Copy on select",
            settings.fullscreen_copy_on_select(),
            SettingChange::FullscreenCopyOnSelect,
        )
        .description("Copy text selected with the mouse in full-screen mode."),
    ]
}
