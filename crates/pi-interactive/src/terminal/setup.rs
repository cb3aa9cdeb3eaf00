//! Terminal setup before the first frame: capabilities, keys, screen options.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use pi_env::Env;
use pi_host::{AgentDir, read_keybindings};
use pi_markdown::MermaidRendering;
use pi_protocol::settings::{
    FullscreenScrollbar, ImageProtocolName, ImageProtocolSetting, Settings, ToolRows, TuiMode,
};
use pi_protocol::{ConfigDiagnostic, DiagnosticLevel};
use pi_tui::{
    CapabilityOverrides, CellSize, ColorMode, ColorScheme, ImageProtocol, Keybindings, Platform,
    ProgramStatusSupport, RenderOptions, ScreenMode, ScrollbarPolicy, ShrinkPolicy,
    TerminalCapabilities, TerminalEnvironment, Theme, TuiOptions, UserKeybindings, WheelSpeed,
};
use pi_views::keys::{self, APP_ACTIONS};
use pi_views::theme::image_converter::ImageConverter;
use pi_views::theme::selector::ThemeSelector;
use pi_views::theme::ui_theme::RenderContext;

use super::environment::{clears_on_shrink, shows_hardware_cursor};

/// `1` always reports the program's state to the terminal, `0` never does.
const PROGRAM_STATUS: &str = "PI_PROGRAM_STATUS";

/// The file, or the directory for a file, that receives everything written to the terminal.
const WRITE_LOG: &str = "PI_TUI_WRITE_LOG";

/// Disables colors if set.
const NO_COLOR: &str = "NO_COLOR";

/// How long the first frame waits for the colors of the terminal. Terminals reply within milliseconds; later replies
/// change the colors of what is on screen.
const COLOR_WAIT: Duration = Duration::from_millis(50);

/// Terminals that have no more than 16 colors.
const BASIC_TERMINALS: [&str; 4] = ["linux", "ansi", "cygwin", "xterm-16color"];

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

/// Copies terminal output to the file of [`WRITE_LOG`], if it is set. A directory gets a file per run.
pub(crate) fn log_writes(env: &Env) {
    let Some(mut path) = env
        .var(WRITE_LOG)
        .filter(|it| !it.is_empty())
        .map(PathBuf::from)
    else {
        return;
    };
    if path.is_dir() {
        path.push(format!("tui-{}-{}.log", env.now_ms(), std::process::id()));
    }
    match pi_fs::private::open_for_append(&path) {
        Ok(file) => pi_tui::log_terminal_writes(file),
        Err(error) => tracing::warn!(%error, path = %path.display(), "cannot log terminal output"),
    }
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
    } else if !capabilities.true_color && is_basic_terminal(env) {
        ColorMode::Basic
    } else if capabilities.true_color {
        ColorMode::TrueColor
    } else {
        ColorMode::Palette
    }
}

fn is_basic_terminal(env: &Env) -> bool {
    env.var("TERM")
        .is_some_and(|term| BASIC_TERMINALS.contains(&term.as_str()) || term.starts_with("vt"))
}

/// Returns how long the first frame waits for the colors of the terminal.
pub(crate) fn color_wait(themes: &ThemeSelector) -> Duration {
    if themes.follows_terminal() {
        COLOR_WAIT
    } else {
        Duration::ZERO
    }
}

/// Returns whether to report the program's state. Multiplexers do not forward it.
pub(crate) fn program_status(env: &Env) -> ProgramStatusSupport {
    let lookup = |name: &str| env.var(name);
    match env.var(PROGRAM_STATUS).as_deref() {
        Some("1") => ProgramStatusSupport::Always,
        Some("0") => ProgramStatusSupport::Never,
        _ if TerminalEnvironment::new(&lookup).in_multiplexer() => ProgramStatusSupport::Never,
        _ => ProgramStatusSupport::Query,
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
        wheel: wheel_speed(settings, env),
        copy_on_select: settings.fullscreen_copy_on_select(),
    }
}

/// Returns the speed of the mouse wheel. Terminals of macOS accelerate it themselves, except over SSH.
fn wheel_speed(settings: &Settings, env: &Env) -> WheelSpeed {
    let is_remote = ["SSH_CONNECTION", "SSH_TTY"]
        .into_iter()
        .any(|name| env.var(name).is_some());
    match settings.fullscreen_wheel_scroll_lines() {
        Some(lines) => WheelSpeed::Lines(lines.into()),
        None if cfg!(target_os = "macos") && !is_remote => WheelSpeed::Lines(1),
        None => WheelSpeed::Accelerated,
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
        tool_rows: ToolRows::default(),
        text_width: None,
        image_width: 60,
        image_converter: ImageConverter::default(),
        cwd,
        home,
    };
    ctx.apply(settings);
    ctx
}
