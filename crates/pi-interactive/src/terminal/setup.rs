//! Terminal setup before the first frame: capabilities, keys, screen options.

use std::path::PathBuf;
use std::sync::Arc;

use pi_env::Env;
use pi_host::{AgentDir, read_keybindings};
use pi_markdown::MermaidRendering;
use pi_protocol::settings::{
    FullscreenScrollbar, ImageProtocolName, ImageProtocolSetting, Settings, TuiMode,
};
use pi_protocol::{ConfigDiagnostic, DiagnosticLevel};
use pi_tui::{
    CapabilityOverrides, CellSize, ColorMode, ColorScheme, ImageProtocol, Keybindings, Platform,
    RenderOptions, ScreenMode, ScrollbarPolicy, ShrinkPolicy, TerminalCapabilities,
    TerminalEnvironment, Theme, TuiOptions, UserKeybindings,
};
use pi_views::keys::{self, APP_ACTIONS};
use pi_views::theme::image_converter::ImageConverter;
use pi_views::theme::ui_theme::RenderContext;

use super::environment::{clears_on_shrink, shows_hardware_cursor};

/// Disables colors if set.
const NO_COLOR: &str = "NO_COLOR";

/// Default number of lines scrolled per wheel step.
const WHEEL_LINES: u16 = 3;

/// Reads the user's keybindings and the problems with them.
pub(crate) fn read_keys(agent_dir: &AgentDir, env: &Env) -> (Keybindings, Vec<ConfigDiagnostic>) {
    let file = agent_dir.keybindings_file();
    let known: Vec<&str> = pi_tui::TUI_ACTIONS
        .iter()
        .chain(APP_ACTIONS)
        .map(|definition| definition.id)
        .collect();
    let read = read_keybindings(&file, &known);
    let mut user = UserKeybindings::default();
    for (action, names) in &read.keys {
        user.bind(action, names.iter().map(String::as_str));
    }
    let mut problems = read.diagnostics;
    problems.extend(user.invalid().iter().map(|invalid| ConfigDiagnostic {
        level: DiagnosticLevel::Warning,
        message: format!(
            "keybindings file {}: {}: invalid key \"{}\": {}",
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

/// Detects the terminal's capabilities; hyperlinks inside tmux are probed later.
pub(crate) fn capabilities(settings: &Settings, env: &Env) -> TerminalCapabilities {
    let lookup = |name: &str| env.var(name);
    TerminalCapabilities::resolve(
        TerminalEnvironment::new(&lookup),
        overrides(settings),
        || false,
    )
}

/// Returns the capability overrides of the settings.
pub(crate) fn overrides(settings: &Settings) -> CapabilityOverrides {
    CapabilityOverrides {
        images: settings.terminal.image_protocol().and_then(image_protocol),
        true_color: settings.terminal.true_color(),
        hyperlinks: settings.terminal.hyperlinks(),
    }
}

#[expect(
    clippy::option_option,
    reason = "unset, disabled, or a specific protocol"
)]
fn image_protocol(setting: ImageProtocolSetting) -> Option<Option<ImageProtocol>> {
    match setting {
        ImageProtocolSetting::Protocol(ImageProtocolName::Kitty) => {
            Some(Some(ImageProtocol::Kitty))
        }
        ImageProtocolSetting::Protocol(ImageProtocolName::Iterm2) => {
            Some(Some(ImageProtocol::ITerm2))
        }
        ImageProtocolSetting::Enabled(false) => Some(None),
        _ => None,
    }
}

/// Returns the color depth for themes.
pub(crate) fn color_mode(capabilities: TerminalCapabilities, env: &Env) -> ColorMode {
    // https://no-color.org: any non-empty value.
    let is_disabled = env.var(NO_COLOR).is_some_and(|value| !value.is_empty());
    if is_disabled || env.var("TERM").as_deref() == Some("dumb") {
        ColorMode::Plain
    } else if capabilities.true_color {
        ColorMode::TrueColor
    } else {
        ColorMode::Palette
    }
}

/// Guesses the terminal background until the terminal reports it.
pub(crate) fn color_scheme(env: &Env) -> ColorScheme {
    env.var("COLORFGBG")
        .and_then(|value| ColorScheme::from_colorfgbg(&value))
        .unwrap_or(ColorScheme::Dark)
}

pub(crate) fn rows(env: &Env) -> usize {
    let lookup = |name: &str| env.var(name);
    TerminalEnvironment::new(&lookup).size().rows
}

pub(crate) fn screen_mode(settings: &Settings) -> ScreenMode {
    match settings.tui_mode() {
        TuiMode::Regular => ScreenMode::Main,
        TuiMode::Fullscreen => ScreenMode::Full,
    }
}

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

/// Applies the screen settings.
pub(crate) fn apply_to_screen(settings: &Settings, env: &Env, options: &mut RenderOptions) {
    options.shrink = if clears_on_shrink(settings, env) {
        ShrinkPolicy::PullBack
    } else {
        ShrinkPolicy::LeaveEmpty
    };
    options.show_cursor = shows_hardware_cursor(settings, env);
    options.scrollbar = match settings.fullscreen_scrollbar() {
        FullscreenScrollbar::Auto => ScrollbarPolicy::Auto,
        FullscreenScrollbar::Always => ScrollbarPolicy::Always,
        FullscreenScrollbar::Hidden => ScrollbarPolicy::Hidden,
    };
}

/// Returns the initial render context.
pub(crate) fn render_context(
    settings: &Settings,
    theme: Theme,
    keys: Keybindings,
    capabilities: TerminalCapabilities,
    cwd: PathBuf,
    home: Option<PathBuf>,
) -> RenderContext {
    let mut ctx = RenderContext {
        theme: Arc::new(theme),
        keys: Arc::new(keys),
        capabilities,
        cell_size: CellSize::default(),
        hide_thinking: false,
        thinking_label: None,
        output_padding: 1,
        code_indent: String::new(),
        mermaid: MermaidRendering::default(),
        show_cost_notices: false,
        show_images: true,
        image_width: 60,
        image_converter: ImageConverter::default(),
        cwd,
        home,
    };
    ctx.apply(settings);
    ctx
}
