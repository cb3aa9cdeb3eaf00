//! The screen in either mode, and the options for painting it.

use super::content::ScreenContent;
use super::frame::{RenderError, WidthPolicy};
use super::full_screen::{FullFrameOptions, FullScreen, MouseTracking, ScrollbarPolicy};
use super::main_screen::{FrameOptions, MainScreen, ShrinkPolicy};
use crate::line::Line;
use crate::terminal::Size;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ScreenMode {
    /// The main screen and the terminal's scrollback.
    #[default]
    Main,
    /// The alternate screen, with scrolling handled by the application.
    Full,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RenderOptions {
    pub width_policy: WidthPolicy,
    /// What happens to rows that become free, on the main screen.
    pub shrink: ShrinkPolicy,
    /// Whether the hardware cursor is visible. It is positioned either way, for input methods.
    pub show_cursor: bool,
    pub scrollbar: ScrollbarPolicy,
    /// Mouse reporting in full-screen mode.
    pub mouse: MouseTracking,
}

/// Draws overlays over the rows of the screen.
pub(crate) type ComposeFn<'a> = &'a mut dyn FnMut(&mut Vec<Line>);

/// The screen in use.
#[derive(Debug)]
pub(super) enum ActiveScreen {
    Main(MainScreen),
    Full(FullScreen),
}

impl ActiveScreen {
    pub(super) fn new(mode: ScreenMode) -> Self {
        match mode {
            ScreenMode::Main => Self::Main(MainScreen::default()),
            ScreenMode::Full => Self::Full(FullScreen::default()),
        }
    }

    /// Paints a frame and returns the bytes to write, which are empty if nothing changed.
    pub(super) fn frame(
        &mut self,
        content: &mut ScreenContent,
        size: Size,
        options: RenderOptions,
        overlay: Option<ComposeFn<'_>>,
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
}
