//! The terminal before the first frame: what it can show, which keys it has, what the screen is like.

use std::path::PathBuf;
use std::sync::Arc;

use pi_ai::Env;
use pi_config::{
    AgentDir, ConfigDiagnostic, DiagnosticLevel, FullscreenScrollbar, MermaidMode, Settings,
    TuiMode, read_keybindings,
};
use pi_tui::{
    Capabilities, CapabilityOverrides, CellSize, ColorMode, ColorScheme, ImageProtocol,
    Keybindings, Mermaid, Platform, RenderOptions, ScreenMode, ScrollbarPolicy, ShrinkPolicy,
    TerminalEnvironment, Theme, TuiOptions, UserBindings,
};

use crate::keys::{self, APP_ACTIONS};
use crate::look::Appearance;
use crate::picture_desk::PictureDesk;

/// Says that the user wants no colors.
const NO_COLOR: &str = "NO_COLOR";

/// Lines a turn of the wheel scrolls where nobody says otherwise.
const WHEEL_LINES: u16 = 3;

/// Reads the user's keys, and what is wrong with them.
pub(crate) fn read_keys(agent_dir: &AgentDir, env: &Env) -> (Keybindings, Vec<ConfigDiagnostic>) {
    let file = agent_dir.keybindings_file();
    let known: Vec<&str> = pi_tui::TUI_ACTIONS
        .iter()
        .chain(APP_ACTIONS)
        .map(|definition| definition.id)
        .collect();
    let read = read_keybindings(&file, &known);
    let mut user = UserBindings::default();
    for (action, names) in &read.keys {
        user.bind(action, names.iter().map(String::as_str));
    }
    let mut problems = read.diagnostics;
    problems.extend(user.invalid().iter().map(|invalid| ConfigDiagnostic {
        level: DiagnosticLevel::Warning,
        message: format!(
            "keybindings file {}: {} has no key \"{}\": {}",
            file.display(),
            invalid.action,
            invalid.key,
            invalid.error
        ),
        path: Some(file.clone()),
    }));
    let platform = Platform::current(|name| env.var(name));
    (keys::keybindings(platform, &user), problems)
}

/// Returns what the terminal can show; links inside tmux are found out later.
pub(crate) fn capabilities(settings: &Settings, env: &Env) -> Capabilities {
    let lookup = |name: &str| env.var(name);
    Capabilities::resolve(
        TerminalEnvironment::new(&lookup),
        overrides(settings),
        || false,
    )
}

/// Returns what the settings say about the terminal.
pub(crate) fn overrides(settings: &Settings) -> CapabilityOverrides {
    CapabilityOverrides {
        images: settings.image_protocol().and_then(image_protocol),
        true_color: settings.true_color(),
        hyperlinks: settings.hyperlinks(),
    }
}

#[expect(
    clippy::option_option,
    reason = "nothing said, said to show none, said how to show them"
)]
fn image_protocol(setting: pi_config::ImageProtocolSetting) -> Option<Option<ImageProtocol>> {
    use pi_config::ImageProtocolName;
    match setting {
        pi_config::ImageProtocolSetting::Protocol(ImageProtocolName::Kitty) => {
            Some(Some(ImageProtocol::Kitty))
        }
        pi_config::ImageProtocolSetting::Protocol(ImageProtocolName::Iterm2) => {
            Some(Some(ImageProtocol::ITerm2))
        }
        pi_config::ImageProtocolSetting::Enabled(false) => Some(None),
        _ => None,
    }
}

/// Returns how many colors themes are resolved for.
pub(crate) fn color_mode(capabilities: Capabilities, env: &Env) -> ColorMode {
    // https://no-color.org: any value but an empty one.
    let unwanted = env.var(NO_COLOR).is_some_and(|value| !value.is_empty());
    if unwanted || env.var("TERM").as_deref() == Some("dumb") {
        ColorMode::Plain
    } else if capabilities.true_color {
        ColorMode::TrueColor
    } else {
        ColorMode::Palette
    }
}

/// Guesses the terminal's background until it says what it is.
pub(crate) fn color_scheme(env: &Env) -> ColorScheme {
    env.var("COLORFGBG")
        .and_then(|value| ColorScheme::from_colorfgbg(&value))
        .unwrap_or(ColorScheme::Dark)
}

/// Returns how many rows the terminal has.
pub(crate) fn rows(env: &Env) -> usize {
    let lookup = |name: &str| env.var(name);
    TerminalEnvironment::new(&lookup).size().rows
}

/// Returns where the settings want the UI drawn.
pub(crate) fn screen_mode(settings: &Settings) -> ScreenMode {
    match settings.tui_mode() {
        TuiMode::Regular => ScreenMode::Main,
        TuiMode::Fullscreen => ScreenMode::Full,
    }
}

/// Returns what the UI starts with.
pub(crate) fn tui_options(settings: &Settings, env: &Env, keybindings: Keybindings) -> TuiOptions {
    let lookup = |name: &str| env.var(name);
    let mut render = RenderOptions {
        mouse: TerminalEnvironment::new(&lookup).mouse_tracking(),
        ..RenderOptions::default()
    };
    apply_to_screen(settings, env, &mut render);
    TuiOptions {
        mode: screen_mode(settings),
        render,
        keybindings,
        wheel_lines: settings
            .fullscreen_wheel_scroll_lines()
            .unwrap_or(WHEEL_LINES)
            .into(),
        copy_on_select: settings.fullscreen_copy_on_select(),
    }
}

/// Takes what the settings say about the screen as a whole.
pub(crate) fn apply_to_screen(settings: &Settings, env: &Env, options: &mut RenderOptions) {
    options.shrink = if settings.clear_on_shrink(env) {
        ShrinkPolicy::PullBack
    } else {
        ShrinkPolicy::LeaveEmpty
    };
    options.show_cursor = settings.show_hardware_cursor(env);
    options.scrollbar = match settings.fullscreen_scrollbar() {
        FullscreenScrollbar::Auto => ScrollbarPolicy::Auto,
        FullscreenScrollbar::Always => ScrollbarPolicy::Always,
        FullscreenScrollbar::Hidden => ScrollbarPolicy::Hidden,
    };
}

/// Returns the first appearance.
pub(crate) fn appearance(
    settings: &Settings,
    theme: Theme,
    keys: Keybindings,
    capabilities: Capabilities,
    cwd: PathBuf,
    home: Option<PathBuf>,
) -> Appearance {
    let mut appearance = Appearance {
        theme: Arc::new(theme),
        keys: Arc::new(keys),
        capabilities,
        cell_size: CellSize::default(),
        hide_thinking: false,
        thinking_label: None,
        output_padding: 1,
        code_indent: String::new(),
        mermaid: Mermaid::default(),
        show_cost_notices: false,
        show_images: true,
        image_width: 60,
        pictures: PictureDesk::default(),
        cwd,
        home,
    };
    appearance.apply(settings);
    appearance
}

impl Appearance {
    /// Takes what the settings say about showing things.
    pub(crate) fn apply(&mut self, settings: &Settings) {
        self.hide_thinking = settings.hide_thinking_block();
        self.output_padding = usize::from(settings.output_pad());
        settings
            .code_block_indent()
            .clone_into(&mut self.code_indent);
        self.mermaid = match settings.mermaid_mode() {
            MermaidMode::Off => Mermaid::Off,
            MermaidMode::Final => Mermaid::Final,
            MermaidMode::Streaming => Mermaid::Streaming,
        };
        self.show_cost_notices = settings.show_cache_miss_notices();
        self.show_images = settings.show_images();
        self.image_width = usize::from(settings.image_width_cells());
    }
}
