//! How everything looks: the theme, and what the user chose about showing things.
//!
//! One [`UiTheme`] is shared by the whole screen. Whoever caches lines keeps the generation beside them;
//! another generation means that they are stale.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pi_tui::{Capabilities, ColorToken, Keybindings, Mermaid, Painter, Style, Theme};

use crate::image_converter::ImageConverter;

/// Everything lines depend on besides their content and the width.
#[derive(Clone, Debug)]
pub(crate) struct RenderContext {
    pub(crate) theme: Arc<Theme>,
    /// Which keys mean what, for hints.
    pub(crate) keys: Arc<Keybindings>,
    /// What the terminal can show.
    pub(crate) capabilities: Capabilities,
    /// Pixels of a cell.
    pub(crate) cell_size: pi_tui::CellSize,
    /// Whether thinking is reduced to a label.
    pub(crate) hide_thinking: bool,
    /// What the label says, if an extension has a say in it.
    pub(crate) thinking_label: Option<String>,
    /// Empty cells beside the transcript.
    pub(crate) output_padding: usize,
    /// What lines of code begin with.
    pub(crate) code_indent: String,
    /// When diagrams are drawn.
    pub(crate) mermaid: Mermaid,
    /// Whether remarks about what caching and summaries cost show.
    pub(crate) show_cost_notices: bool,
    pub(crate) show_images: bool,
    /// How wide images show, in cells.
    pub(crate) image_width: usize,
    /// Where pictures are left that have to be converted.
    pub(crate) image_converter: ImageConverter,
    /// The working directory, to which paths are shown relative.
    pub(crate) cwd: PathBuf,
    /// The user's home, shown as `~`.
    pub(crate) home: Option<PathBuf>,
}

impl RenderContext {
    /// Returns the style of a token.
    pub(crate) fn style(&self, token: ColorToken) -> Style {
        self.theme.style(token)
    }

    /// Returns `text` in the color of a token.
    pub(crate) fn paint(&self, token: ColorToken, text: &str) -> String {
        self.theme.style(token).apply(text)
    }

    /// Returns the first key of an action for a hint, such as `ctrl+o`; empty if it has none.
    pub(crate) fn key(&self, action: &str) -> String {
        let key = self.keys.keys(action).first();
        key.map(ToString::to_string).unwrap_or_default()
    }

    /// Returns every key of an action for a hint, such as `escape/ctrl+c`.
    pub(crate) fn keys(&self, action: &str) -> String {
        let keys: Vec<String> = self
            .keys
            .keys(action)
            .iter()
            .map(ToString::to_string)
            .collect();
        keys.join("/")
    }
}

/// The current appearance, shared by everything on the screen.
#[derive(Clone, Debug)]
pub(crate) struct UiTheme(Arc<Mutex<UiThemeState>>);

#[derive(Debug)]
struct UiThemeState {
    generation: u64,
    ctx: Arc<RenderContext>,
    expanded: bool,
}

impl UiTheme {
    /// Starts with an appearance and the short forms.
    pub(crate) fn new(ctx: RenderContext) -> Self {
        Self(Arc::new(Mutex::new(UiThemeState {
            generation: 0,
            ctx: Arc::new(ctx),
            expanded: false,
        })))
    }

    fn lock(&self) -> MutexGuard<'_, UiThemeState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the generation and the appearance that belongs to it.
    pub(crate) fn current(&self) -> (u64, Arc<RenderContext>) {
        let shared = self.lock();
        (shared.generation, Arc::clone(&shared.ctx))
    }

    /// Returns whether details are shown. Blocks may differ until this changes again.
    pub(crate) fn is_expanded(&self) -> bool {
        self.lock().expanded
    }

    /// Shows details everywhere, or the short forms. The generation stays: most blocks do not care.
    pub(crate) fn set_expanded(&self, expanded: bool) {
        self.lock().expanded = expanded;
    }

    /// Returns the appearance.
    pub(crate) fn context(&self) -> Arc<RenderContext> {
        self.current().1
    }

    /// Returns a painter that follows the theme.
    pub(crate) fn painter(&self, token: ColorToken) -> Painter {
        let ui = self.clone();
        Painter::new(move |text| ui.context().paint(token, text))
    }

    /// Returns a number that changes with the appearance.
    pub(crate) fn generation(&self) -> u64 {
        self.current().0
    }

    /// Changes the appearance; what was rendered before is stale from now on.
    pub(crate) fn update(&self, change: impl FnOnce(&mut RenderContext)) {
        let mut shared = self.lock();
        change(Arc::make_mut(&mut shared.ctx));
        shared.generation += 1;
    }
}

#[cfg(test)]
impl UiTheme {
    /// Returns a look for tests: plain keys, the dark theme in 24-bit colors.
    pub(crate) fn for_tests() -> Self {
        Self::new(RenderContext::for_tests())
    }
}

#[cfg(test)]
impl RenderContext {
    /// Returns an appearance for tests.
    pub(crate) fn for_tests() -> Self {
        use crate::keys;
        use pi_tui::{CellSize, ColorMode, Platform, UserBindings};
        Self {
            theme: Arc::new(crate::theme_selector::built_in("dark", ColorMode::TrueColor).unwrap()),
            keys: Arc::new(keys::keybindings(Platform::Linux, &UserBindings::default())),
            capabilities: Capabilities::default(),
            cell_size: CellSize::default(),
            hide_thinking: false,
            thinking_label: None,
            output_padding: 1,
            code_indent: "  ".to_owned(),
            mermaid: Mermaid::default(),
            show_cost_notices: false,
            show_images: true,
            image_width: 60,
            image_converter: ImageConverter::default(),
            cwd: PathBuf::from("/project"),
            home: Some(PathBuf::from("/home/user")),
        }
    }
}
