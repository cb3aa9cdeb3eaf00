//! How everything looks: the theme, and what the user chose about showing things.
//!
//! One [`Look`] is shared by the whole screen. Whoever caches lines keeps the generation beside them;
//! another generation means that they are stale.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pi_tui::{TerminalCapabilities, ColorToken, Keybindings, MermaidRendering, Painter, Style, Theme};

use crate::picture_desk::PictureDesk;

/// Everything lines depend on besides their content and the width.
#[derive(Clone, Debug)]
pub(crate) struct Appearance {
    pub(crate) theme: Arc<Theme>,
    /// Which keys mean what, for hints.
    pub(crate) keys: Arc<Keybindings>,
    /// What the terminal can show.
    pub(crate) capabilities: TerminalCapabilities,
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
    pub(crate) mermaid: MermaidRendering,
    /// Whether remarks about what caching and summaries cost show.
    pub(crate) show_cost_notices: bool,
    pub(crate) show_images: bool,
    /// How wide images show, in cells.
    pub(crate) image_width: usize,
    /// Where pictures are left that have to be converted.
    pub(crate) pictures: PictureDesk,
    /// The working directory, to which paths are shown relative.
    pub(crate) cwd: PathBuf,
    /// The user's home, shown as `~`.
    pub(crate) home: Option<PathBuf>,
}

impl Appearance {
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
pub(crate) struct Look(Arc<Mutex<Shared>>);

#[derive(Debug)]
struct Shared {
    generation: u64,
    appearance: Arc<Appearance>,
    expanded: bool,
}

impl Look {
    /// Starts with an appearance and the short forms.
    pub(crate) fn new(appearance: Appearance) -> Self {
        Self(Arc::new(Mutex::new(Shared {
            generation: 0,
            appearance: Arc::new(appearance),
            expanded: false,
        })))
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the generation and the appearance that belongs to it.
    pub(crate) fn now(&self) -> (u64, Arc<Appearance>) {
        let shared = self.lock();
        (shared.generation, Arc::clone(&shared.appearance))
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
    pub(crate) fn appearance(&self) -> Arc<Appearance> {
        self.now().1
    }

    /// Returns a painter that follows the theme.
    pub(crate) fn painter(&self, token: ColorToken) -> Painter {
        let look = self.clone();
        Painter::new(move |text| look.appearance().paint(token, text))
    }

    /// Returns a number that changes with the appearance.
    pub(crate) fn generation(&self) -> u64 {
        self.now().0
    }

    /// Changes the appearance; what was rendered before is stale from now on.
    pub(crate) fn change(&self, change: impl FnOnce(&mut Appearance)) {
        let mut shared = self.lock();
        change(Arc::make_mut(&mut shared.appearance));
        shared.generation += 1;
    }
}

#[cfg(test)]
impl Look {
    /// Returns a look for tests: plain keys, the dark theme in 24-bit colors.
    pub(crate) fn for_tests() -> Self {
        Self::new(Appearance::for_tests())
    }
}

#[cfg(test)]
impl Appearance {
    /// Returns an appearance for tests.
    pub(crate) fn for_tests() -> Self {
        use crate::keys;
        use pi_tui::{CellSize, ColorMode, Platform, UserKeybindings};
        Self {
            theme: Arc::new(crate::theme_choice::built_in("dark", ColorMode::TrueColor).unwrap()),
            keys: Arc::new(keys::keybindings(Platform::Linux, &UserKeybindings::default())),
            capabilities: TerminalCapabilities::default(),
            cell_size: CellSize::default(),
            hide_thinking: false,
            thinking_label: None,
            output_padding: 1,
            code_indent: "  ".to_owned(),
            mermaid: MermaidRendering::default(),
            show_cost_notices: false,
            show_images: true,
            image_width: 60,
            pictures: PictureDesk::default(),
            cwd: PathBuf::from("/project"),
            home: Some(PathBuf::from("/home/user")),
        }
    }
}
