//! The theme and display settings shared by the whole screen.
//!
//! The screen shares one [`UiTheme`]. Caches store its generation next to their lines; a different generation
//! means the lines are stale.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};
use pi_markdown::MermaidRendering;
use pi_protocol::settings::{MermaidMode, Settings, ToolRows};
use pi_tui::{Color, ColorToken, Keybindings, Painter, Style, TerminalCapabilities, Theme};

use crate::theme::image_converter::ImageConverter;

/// Everything that rendered lines depend on besides their content and width.
#[derive(Clone, Debug)]
pub struct RenderContext {
    pub theme: Arc<Theme>,
    /// Keybindings, for hints.
    pub keys: Arc<Keybindings>,
    pub capabilities: TerminalCapabilities,
    /// Size of a terminal cell in pixels.
    pub cell_size: pi_tui::CellSize,
    /// Whether thinking is collapsed to a label.
    pub hide_thinking: bool,
    /// The label's text, if an extension sets one.
    pub thinking_label: Option<String>,
    /// Empty columns on both sides of the transcript.
    pub output_padding: usize,
    /// Indentation of code blocks.
    pub code_indent: String,
    pub mermaid: MermaidRendering,
    /// Whether notices about cache misses and summary costs are shown.
    pub show_cost_notices: bool,
    pub show_images: bool,
    /// How finished tool calls look until they are expanded.
    pub tool_rows: ToolRows,
    /// Maximum columns of prose.
    pub text_width: Option<usize>,
    /// Maximum image width in cells.
    pub image_width: usize,
    /// Queue for images that must be converted to PNG.
    pub image_converter: ImageConverter,
    /// Paths are shown relative to this directory.
    pub cwd: PathBuf,
    /// Shown as `~`.
    pub home: Option<PathBuf>,
}

impl RenderContext {
    pub fn style(&self, token: ColorToken) -> Style {
        self.theme.style(token)
    }

    /// Returns `text` in the color of a token.
    pub fn paint(&self, token: ColorToken, text: &str) -> String {
        self.theme.style(token).apply(text)
    }

    /// Whether a background differs from the terminal's own.
    pub fn has_background(&self, token: ColorToken) -> bool {
        let background = self.style(token).background;
        !matches!(background, None | Some(Color::Default))
    }

    /// Returns the first key of an action, such as `ctrl+o`; empty if it has none.
    pub fn key(&self, action: &str) -> String {
        let key = self.keys.keys(action).first();
        key.map(ToString::to_string).unwrap_or_default()
    }

    /// Returns all keys of an action, such as `escape/ctrl+c`.
    pub fn keys(&self, action: &str) -> String {
        let keys: Vec<String> = self
            .keys
            .keys(action)
            .iter()
            .map(ToString::to_string)
            .collect();
        keys.join("/")
    }
}

/// A shared handle to the current [`RenderContext`].
#[derive(Clone, Debug)]
pub struct UiTheme(Arc<Mutex<UiThemeState>>);

#[derive(Debug)]
struct UiThemeState {
    generation: u64,
    ctx: Arc<RenderContext>,
    expanded: bool,
    /// The question that was withdrawn last, and the choice that was selected then.
    withdrawn: Option<WithdrawnChoice>,
}

#[derive(Debug)]
struct WithdrawnChoice {
    question: String,
    choice: String,
    at: Instant,
}

/// How long after a question was withdrawn the same question continues it.
const CONTINUATION: Duration = Duration::from_secs(1);

impl UiTheme {
    /// Starts with all blocks collapsed.
    pub fn new(ctx: RenderContext) -> Self {
        Self(Arc::new(Mutex::new(UiThemeState {
            generation: 0,
            ctx: Arc::new(ctx),
            expanded: false,
            withdrawn: None,
        })))
    }

    fn lock(&self) -> MutexGuard<'_, UiThemeState> {
        self.0.lock()
    }

    /// Returns the generation and its context.
    pub fn current(&self) -> (u64, Arc<RenderContext>) {
        let shared = self.lock();
        (shared.generation, Arc::clone(&shared.ctx))
    }

    /// Whether blocks are expanded globally. Single blocks may differ until this changes again.
    pub fn is_expanded(&self) -> bool {
        self.lock().expanded
    }

    /// Expands or collapses all blocks. Does not change the generation, since it does not affect most blocks.
    pub fn set_expanded(&self, expanded: bool) {
        self.lock().expanded = expanded;
    }

    pub fn context(&self) -> Arc<RenderContext> {
        self.current().1
    }

    /// Keeps what was selected when a question was withdrawn.
    pub(crate) fn keep_withdrawn_choice(&self, question: &str, choice: &str) {
        self.lock().withdrawn = Some(WithdrawnChoice {
            question: question.to_owned(),
            choice: choice.to_owned(),
            at: Instant::now(),
        });
    }

    /// Returns what was selected when this question was withdrawn, if that was just now.
    pub(crate) fn take_withdrawn_choice(&self, question: &str, now: Instant) -> Option<String> {
        let kept = self.lock().withdrawn.take()?;
        let is_continued =
            kept.question == question && now.saturating_duration_since(kept.at) <= CONTINUATION;
        is_continued.then_some(kept.choice)
    }

    /// Returns a painter that follows theme changes.
    pub fn painter(&self, token: ColorToken) -> Painter {
        let ui = self.clone();
        Painter::new(move |text| ui.context().paint(token, text))
    }

    /// Returns a number that changes with the context.
    pub fn generation(&self) -> u64 {
        self.current().0
    }

    /// Changes the context; everything rendered before becomes stale.
    pub fn update(&self, change: impl FnOnce(&mut RenderContext)) {
        let mut shared = self.lock();
        change(Arc::make_mut(&mut shared.ctx));
        shared.generation += 1;
    }
}

impl RenderContext {
    /// Applies the display settings.
    pub fn apply(&mut self, settings: &Settings) {
        self.hide_thinking = settings.hide_thinking_block();
        self.output_padding = usize::from(settings.output_pad());
        settings
            .markdown
            .code_block_indent()
            .clone_into(&mut self.code_indent);
        self.mermaid = match settings.markdown.mermaid_mode() {
            MermaidMode::Off => MermaidRendering::Off,
            MermaidMode::Final => MermaidRendering::Final,
            MermaidMode::Streaming => MermaidRendering::Streaming,
        };
        self.show_cost_notices = settings.show_cache_miss_notices();
        self.show_images = settings.terminal.show_images();
        self.tool_rows = settings.terminal.tool_rows();
        self.text_width = settings.terminal.max_text_width().map(usize::from);
        self.image_width = usize::from(settings.terminal.image_width_cells());
    }
}

#[cfg(any(test, feature = "test-support"))]
impl UiTheme {
    /// A theme for tests: default keys, the dark theme in 24-bit colors.
    pub fn for_tests() -> Self {
        Self::new(RenderContext::for_tests())
    }
}

#[cfg(any(test, feature = "test-support"))]
impl RenderContext {
    pub fn for_tests() -> Self {
        use crate::keys;
        use pi_tui::{CellSize, ColorMode, Platform, UserKeybindings};
        Self {
            theme: Arc::new(
                crate::theme::selector::built_in("dark", ColorMode::TrueColor)
                    .unwrap_or_else(|| panic!("no dark theme")),
            ),
            keys: Arc::new(keys::keybindings(
                Platform::Linux,
                &UserKeybindings::default(),
            )),
            capabilities: TerminalCapabilities::default(),
            cell_size: CellSize::default(),
            hide_thinking: false,
            thinking_label: None,
            output_padding: 1,
            code_indent: "  ".to_owned(),
            mermaid: MermaidRendering::default(),
            show_cost_notices: false,
            show_images: true,
            tool_rows: ToolRows::default(),
            text_width: None,
            image_width: 60,
            image_converter: ImageConverter::default(),
            cwd: PathBuf::from("/project"),
            home: Some(PathBuf::from("/home/user")),
        }
    }
}
