//! The lines of the settings dialog: what each is called, means and can be.

use pi_ai::TransportPreference;
use pi_config::{
    CacheWarming, DeliveryMode, DoubleEscapeAction, FullscreenExitOutput, FullscreenScrollbar,
    MermaidMode, ProjectTrustDefault, QuietStartup, QuietStartupPart, Settings, TreeFilterMode,
    TuiMode,
};

use pi_tui::FuzzyQuery;

use super::super::plain::one_line;
use super::SettingChoices;
use crate::intent::SettingChange;
use crate::keys;
use crate::look::Appearance;

/// A line of the dialog.
#[derive(Debug)]
pub(super) struct Setting {
    /// The name documentation uses; it is searched, too.
    pub(super) id: &'static str,
    pub(super) label: &'static str,
    pub(super) description: String,
    /// What it is now, in words.
    pub(super) value: String,
    pub(super) change: Change,
}

/// What can be done with a setting.
#[derive(Debug)]
pub(super) enum Change {
    /// Go on to the next of these.
    Cycle(Vec<(String, SettingChange)>),
    Menu(Menu),
}

/// A menu behind a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Menu {
    Theme,
    /// Thinking levels of single models.
    ModelThinking,
}

impl Menu {
    /// Returns what stands beside the setting.
    pub(super) fn value(self, choices: &SettingChoices) -> String {
        match self {
            Self::Theme => one_line(&choices.themes.setting),
            Self::ModelThinking => match choices.settings.model_thinking_levels.len() {
                0 => "none".to_owned(),
                1 => "1 model".to_owned(),
                count => format!("{count} models"),
            },
        }
    }
}

impl Setting {
    /// Goes on to the next value and returns the change; nothing if there is none.
    pub(super) fn next(&mut self) -> Option<SettingChange> {
        let Change::Cycle(values) = &self.change else {
            return None;
        };
        let now = values.iter().position(|(name, _)| *name == self.value);
        let next = now.map_or(0, |now| (now + 1) % values.len());
        let (name, change) = values.get(next)?;
        self.value.clone_from(name);
        Some(change.clone())
    }

    /// Returns how well a search matches, by the label or the name; lower is better.
    pub(super) fn score(&self, query: &FuzzyQuery) -> Option<f64> {
        let scores = [query.score(self.label), query.score(self.id)];
        scores.into_iter().flatten().min_by(f64::total_cmp)
    }

    fn about(mut self, description: impl Into<String>) -> Self {
        self.description = description.into();
        self
    }
}

fn cycle<T: Copy + PartialEq>(
    id: &'static str,
    label: &'static str,
    value: T,
    values: &[(T, &str)],
    change: impl Fn(T) -> SettingChange,
) -> Setting {
    let named = values.iter().find(|(other, _)| *other == value);
    Setting {
        id,
        label,
        description: String::new(),
        value: named.map_or("", |(_, name)| name).to_owned(),
        change: Change::Cycle(
            values
                .iter()
                .map(|(value, name)| ((*name).to_owned(), change(*value)))
                .collect(),
        ),
    }
}

fn switch(
    id: &'static str,
    label: &'static str,
    value: bool,
    change: impl Fn(bool) -> SettingChange,
) -> Setting {
    cycle(
        id,
        label,
        value,
        &[(true, "true"), (false, "false")],
        change,
    )
}

/// Returns a setting of numbers; one that is none of the choices shows nevertheless.
fn number(
    id: &'static str,
    label: &'static str,
    value: u64,
    values: &[u64],
    change: impl Fn(u64) -> SettingChange,
) -> Setting {
    let named: Vec<(u64, String)> = values
        .iter()
        .map(|value| (*value, value.to_string()))
        .collect();
    let named: Vec<(u64, &str)> = named
        .iter()
        .map(|(value, name)| (*value, name.as_str()))
        .collect();
    let mut setting = cycle(id, label, value, &named, change);
    setting.value = value.to_string();
    setting
}

fn menu(id: &'static str, label: &'static str, menu: Menu, choices: &SettingChoices) -> Setting {
    Setting {
        id,
        label,
        description: String::new(),
        value: menu.value(choices),
        change: Change::Menu(menu),
    }
}

/// Returns every line of the dialog in order.
pub(super) fn settings(choices: &SettingChoices, appearance: &Appearance) -> Vec<Setting> {
    let settings = &choices.settings;
    let mut all = vec![
        switch(
            "autocompact",
            "Compact by itself",
            settings.compaction_enabled(),
            SettingChange::AutoCompact,
        )
        .about(
            "Summarizes the older part of a conversation before it gets too long for the model.",
        ),
    ];
    all.extend(image_settings(settings, appearance));
    all.extend(screen_settings(choices));
    all.extend(conversation_settings(settings, appearance));
    all.extend(startup_settings(settings));
    all.extend([
        cycle(
            "double-escape-action",
            "Escape twice",
            settings.double_escape_action(),
            &[
                (DoubleEscapeAction::Tree, "opens the tree"),
                (DoubleEscapeAction::Fork, "opens fork"),
                (DoubleEscapeAction::None, "does nothing"),
            ],
            SettingChange::DoubleEscapeAction,
        )
        .about("What two presses of Escape in an empty editor do."),
        cycle(
            "tree-filter-mode",
            "Tree begins with",
            settings.tree_filter_mode(),
            &[
                (TreeFilterMode::Default, "default"),
                (TreeFilterMode::NoTools, "no tools"),
                (TreeFilterMode::UserOnly, "your messages"),
                (TreeFilterMode::LabeledOnly, "labeled"),
                (TreeFilterMode::All, "everything"),
            ],
            SettingChange::TreeFilterMode,
        )
        .about("What /tree shows when it opens."),
        switch(
            "warnings",
            "Warn about extra usage",
            settings.warn_anthropic_extra_usage(),
            SettingChange::WarnExtraUsage,
        )
        .about("Tells when a subscription of Anthropic may be charged for usage beyond its plan."),
        menu(
            "model-thinking",
            "Thinking by model",
            Menu::ModelThinking,
            choices,
        )
        .about("Thinking levels that single models begin with, whatever the default is."),
    ]);
    all.extend(fullscreen_settings(settings));
    all.push(
        menu("theme", "Theme", Menu::Theme, choices)
            .about("Colors of everything, with a preview; can follow a light or dark terminal."),
    );
    all
}

fn image_settings(settings: &Settings, appearance: &Appearance) -> Vec<Setting> {
    let mut all = Vec::new();
    if appearance.capabilities.images.is_some() {
        all.extend([
            switch(
                "show-images",
                "Show images",
                settings.show_images(),
                SettingChange::ShowImages,
            )
            .about("Draws images in the terminal."),
            number(
                "image-width-cells",
                "Image width",
                settings.image_width_cells().into(),
                &[60, 80, 120],
                SettingChange::ImageWidthCells,
            )
            .about("How many columns an image may take."),
        ]);
    }
    all.extend([
        switch(
            "auto-resize-images",
            "Shrink large images",
            settings.image_auto_resize(),
            SettingChange::AutoResizeImages,
        )
        .about("Images beyond 2000×2000 are made smaller before a model gets them."),
        switch(
            "block-images",
            "Send no images",
            settings.block_images(),
            SettingChange::BlockImages,
        )
        .about("Keeps every image from the providers."),
        switch(
            "skill-commands",
            "Skills as commands",
            settings.enable_skill_commands(),
            SettingChange::SkillCommands,
        )
        .about("Offers each skill as /skill:name."),
    ]);
    all
}

fn screen_settings(choices: &SettingChoices) -> Vec<Setting> {
    let settings = &choices.settings;
    vec![
        switch(
            "show-hardware-cursor",
            "Terminal's own cursor",
            choices.hardware_cursor,
            SettingChange::ShowHardwareCursor,
        )
        .about("Shows the terminal's cursor too; input methods find their place either way."),
        number(
            "editor-padding",
            "Editor padding",
            settings.editor_padding_x().into(),
            &[0, 1, 2, 3],
            SettingChange::EditorPadding,
        )
        .about("Empty columns beside the editor."),
        number(
            "output-padding",
            "Output padding",
            settings.output_pad().into(),
            &[0, 1],
            SettingChange::OutputPadding,
        )
        .about("Empty columns beside messages."),
        number(
            "autocomplete-max-visible",
            "Completions shown",
            settings.autocomplete_max_visible().into(),
            &[3, 5, 7, 10, 15, 20],
            SettingChange::AutocompleteMaxVisible,
        )
        .about("How many completions the list below the editor shows at once."),
        switch(
            "clear-on-shrink",
            "Clear rows left empty",
            choices.clear_on_shrink,
            SettingChange::ClearOnShrink,
        )
        .about("Clears rows when the content gets shorter; some terminals flicker."),
        switch(
            "terminal-progress",
            "Progress in the tab",
            settings.show_terminal_progress(),
            SettingChange::TerminalProgress,
        )
        .about("Lets the terminal's tab or task bar show that pi is working."),
    ]
}

fn conversation_settings(settings: &Settings, appearance: &Appearance) -> Vec<Setting> {
    const DELIVERY: [(DeliveryMode, &str); 2] = [
        (DeliveryMode::OneAtATime, "one at a time"),
        (DeliveryMode::All, "all at once"),
    ];
    let follow_up = match appearance.key(keys::MESSAGE_FOLLOW_UP) {
        key if key.is_empty() => "a follow-up".to_owned(),
        key => format!("a follow-up ({key})"),
    };
    vec![
        cycle("steering-mode", "Steering messages", settings.steering_mode(), &DELIVERY, SettingChange::SteeringMode)
            .about("What you send while the model works waits for the next step: one message a step, or all of them."),
        cycle("follow-up-mode", "Follow-up messages", settings.follow_up_mode(), &DELIVERY, SettingChange::FollowUpMode)
            .about(format!("What you send as {follow_up} waits until the work is done: one message a run, or all of them.")),
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
        .about("How to talk to providers that offer more than one way."),
        idle_timeout(settings),
        cycle(
            "cache-warming-mode",
            "Keep the cache warm",
            settings.cache_warming(),
            &[
                (CacheWarming::Off, "off"),
                (CacheWarming::Streaming, "while working"),
                (CacheWarming::Idle, "between runs too"),
            ],
            SettingChange::CacheWarming,
        )
        .about("Refreshes a provider's prompt cache before it expires, where that is cheaper than filling it anew."),
        switch("hide-thinking", "Hide thinking", settings.hide_thinking_block(), SettingChange::HideThinking)
            .about("Reduces what the model thinks to a label."),
        cycle(
            "mermaid-rendering",
            "Mermaid diagrams",
            settings.mermaid_mode(),
            &[
                (MermaidMode::Off, "as code"),
                (MermaidMode::Final, "when complete"),
                (MermaidMode::Streaming, "at once"),
            ],
            SettingChange::Mermaid,
        )
        .about("Draws diagrams with lines instead of showing their code."),
        switch("cache-miss-notices", "Tell about cache misses", settings.show_cache_miss_notices(), SettingChange::CacheMissNotices)
            .about("Notes in the transcript what missing the prompt cache cost, and how a provider recovered."),
    ]
}

fn idle_timeout(settings: &Settings) -> Setting {
    const CHOICES: [(u64, &str); 5] = [
        (30_000, "30 s"),
        (60_000, "1 min"),
        (120_000, "2 min"),
        (300_000, "5 min"),
        (0, "never"),
    ];
    let now = settings.http_idle_timeout();
    let now: u64 = now.map_or(0, |time| time.as_millis().try_into().unwrap_or(u64::MAX));
    let mut setting = cycle(
        "http-idle-timeout",
        "Give up on silence after",
        now,
        &CHOICES,
        SettingChange::HttpIdleTimeout,
    )
    .about("How long a server may send nothing. Local models can need more than five minutes.");
    if setting.value.is_empty() {
        setting.value = format!("{} s", now / 1_000);
    }
    setting
}

fn startup_settings(settings: &Settings) -> Vec<Setting> {
    let quiet = match (settings.quiet_startup(), settings.hide_startup_header()) {
        (true, _) => QuietStartup::All(true),
        (false, true) => QuietStartup::Part(QuietStartupPart::Header),
        (false, false) => QuietStartup::All(false),
    };
    vec![
        switch(
            "collapse-changelog",
            "Short news after updates",
            settings.collapse_changelog(),
            SettingChange::CollapseChangelog,
        )
        .about("One line instead of the list of changes."),
        cycle(
            "quiet-startup",
            "Quiet start",
            quiet,
            &[
                (QuietStartup::All(false), "off"),
                (
                    QuietStartup::Part(QuietStartupPart::Header),
                    "without header",
                ),
                (QuietStartup::All(true), "on"),
            ],
            SettingChange::QuietStartup,
        )
        .about("What is left out above the first prompt."),
        switch(
            "install-telemetry",
            "Count installs",
            settings.enable_install_telemetry(),
            SettingChange::InstallTelemetry,
        )
        .about("Kept for the TypeScript pi, which sends an anonymous ping after updates."),
        cycle(
            "default-project-trust",
            "New projects",
            settings.default_project_trust(),
            &[
                (ProjectTrustDefault::Ask, "ask"),
                (ProjectTrustDefault::Always, "trust"),
                (ProjectTrustDefault::Never, "do not trust"),
            ],
            SettingChange::DefaultProjectTrust,
        )
        .about(
            "What to do with a project's own settings and extensions when you have not decided.",
        ),
    ]
}

fn fullscreen_settings(settings: &Settings) -> Vec<Setting> {
    vec![
        cycle(
            "tui-mode",
            "Screen",
            settings.tui_mode(),
            &[
                (TuiMode::Regular, "regular"),
                (TuiMode::Fullscreen, "full screen"),
            ],
            SettingChange::TuiMode,
        )
        .about("Writes into the terminal's scrollback, or takes the whole screen with the mouse."),
        cycle(
            "fullscreen-exit-output",
            "Full screen leaves behind",
            settings.fullscreen_exit_output(),
            &[
                (FullscreenExitOutput::Transcript, "the transcript"),
                (FullscreenExitOutput::ResumeHint, "a hint"),
            ],
            SettingChange::FullscreenExitOutput,
        )
        .about("What stands in the terminal after full-screen mode ends."),
        cycle(
            "fullscreen-scrollbar",
            "Full-screen scroll bar",
            settings.fullscreen_scrollbar(),
            &[
                (FullscreenScrollbar::Auto, "while scrolling"),
                (FullscreenScrollbar::Always, "always"),
                (FullscreenScrollbar::Hidden, "never"),
            ],
            SettingChange::FullscreenScrollbar,
        )
        .about("When the scroll bar shows in full-screen mode."),
        switch(
            "fullscreen-copy-on-select",
            "Selecting copies",
            settings.fullscreen_copy_on_select(),
            SettingChange::FullscreenCopyOnSelect,
        )
        .about("Copies what you select with the mouse in full-screen mode at once."),
    ]
}
