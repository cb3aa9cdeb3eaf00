//! The screen in either mode, and what its frames depend on.

use super::content::Content;
use super::frame::{RenderError, WidthPolicy};
use super::full_screen::{FullFrameOptions, FullScreen, MouseTracking, ScrollbarPolicy};
use super::main_screen::{FrameOptions, MainScreen, ShrinkPolicy};
use crate::line::Line;
use crate::terminal::Size;

/// Where the content is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ScreenMode {
    /// Into the main screen and the terminal's scrollback.
    #[default]
    Main,
    /// On the alternate screen, with scrolling of our own.
    Full,
}

/// How frames are painted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RenderOptions {
    /// What happens to a line that is wider than the screen.
    pub width_policy: WidthPolicy,
    /// What happens to rows that become free, on the main screen.
    pub shrink: ShrinkPolicy,
    /// Whether the hardware cursor is visible; it is placed either way, for input methods.
    pub show_cursor: bool,
    /// When a full screen has a scrollbar.
    pub scrollbar: ScrollbarPolicy,
    /// What a full screen asks the mouse for.
    pub mouse: MouseTracking,
}

/// Lays overlays over the rows of the screen.
pub(crate) type Compose<'a> = &'a mut dyn FnMut(&mut Vec<Line>);

/// The screen in use.
#[derive(Debug)]
pub(crate) enum Screen {
    Main(MainScreen),
    Full(FullScreen),
}

impl Screen {
    pub(crate) fn new(mode: ScreenMode) -> Self {
        match mode {
            ScreenMode::Main => Self::Main(MainScreen::default()),
            ScreenMode::Full => Self::Full(FullScreen::default()),
        }
    }

    /// Paints a frame and returns the bytes to write; none if nothing changed.
    pub(crate) fn frame(
        &mut self,
        content: &mut Content,
        size: Size,
        options: RenderOptions,
        overlay: Option<Compose<'_>>,
    ) -> Result<String, RenderError> {
        let size = size.at_least_one_cell();
        match self {
            Self::Main(screen) => screen.frame(
                content,
                FrameOptions {
                    size,
                    width_policy: options.width_policy,
                    shrink: options.shrink,
                    show_cursor: options.show_cursor,
                    overlay,
                },
            ),
            Self::Full(screen) => screen.frame(
                content,
                FullFrameOptions {
                    size,
                    width_policy: options.width_policy,
                    show_cursor: options.show_cursor,
                    scrollbar: options.scrollbar,
                    overlay,
                },
            ),
        }
    }

    pub(crate) fn request_repaint(&mut self) {
        match self {
            Self::Main(screen) => screen.request_repaint(),
            Self::Full(screen) => screen.request_repaint(),
        }
    }
}
