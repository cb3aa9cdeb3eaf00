//! A screen whose mode can change while running.

use super::content::ScreenContent;
use super::frame::RenderError;
use super::full_screen::{ExitBehavior, FullScreen};
use super::main_screen::MainScreen;
use super::screen::{ActiveScreen, ComposeFn, RenderOptions, ScreenMode};
use crate::terminal::Size;

/// The screen in use, and the one that the terminal saved.
#[derive(Debug)]
pub(crate) struct SwitchableScreen {
    active: ActiveScreen,
    /// State of the main screen when full-screen mode began. The terminal saves its contents.
    saved_main: Option<MainScreen>,
    pub(crate) options: RenderOptions,
}

impl SwitchableScreen {
    pub(crate) fn new(mode: ScreenMode, options: RenderOptions) -> Self {
        Self {
            active: ActiveScreen::new(mode),
            saved_main: None,
            options,
        }
    }

    pub(crate) fn mode(&self) -> ScreenMode {
        match self.active {
            ActiveScreen::Main(_) => ScreenMode::Main,
            ActiveScreen::Full(_) => ScreenMode::Full,
        }
    }

    pub(crate) fn main(&self) -> Option<&MainScreen> {
        match &self.active {
            ActiveScreen::Main(screen) => Some(screen),
            ActiveScreen::Full(_) => None,
        }
    }

    pub(crate) fn full(&self) -> Option<&FullScreen> {
        match &self.active {
            ActiveScreen::Main(_) => None,
            ActiveScreen::Full(screen) => Some(screen),
        }
    }

    pub(crate) fn full_mut(&mut self) -> Option<&mut FullScreen> {
        match &mut self.active {
            ActiveScreen::Main(_) => None,
            ActiveScreen::Full(screen) => Some(screen),
        }
    }

    /// Whether full-screen mode began while running.
    pub(crate) fn covers_main(&self) -> bool {
        self.full().is_some() && self.saved_main.is_some()
    }

    /// Returns the bytes that prepare the screen for the first frame.
    pub(crate) fn start(&mut self) -> String {
        match &mut self.active {
            ActiveScreen::Main(screen) => {
                screen.forget();
                String::new()
            }
            ActiveScreen::Full(screen) => screen.enter(self.options.mouse),
        }
    }

    /// Switches to the other mode and returns the bytes to write.
    pub(crate) fn switch(&mut self, content: &mut ScreenContent) -> String {
        match &mut self.active {
            ActiveScreen::Main(screen) => {
                self.saved_main = Some(std::mem::take(screen));
                self.active = ActiveScreen::new(ScreenMode::Full);
                self.start()
            }
            ActiveScreen::Full(screen) => {
                let output = screen.leave(content, ExitBehavior::RestoreScreen);
                let mut main = self.saved_main.take().unwrap_or_default();
                main.cursor_was_shown();
                self.active = ActiveScreen::Main(main);
                output
            }
        }
    }

    /// Returns the bytes that hand the screen back to the shell.
    pub(crate) fn finish(
        &mut self,
        content: &mut ScreenContent,
        size: Size,
        exit: ExitBehavior,
    ) -> String {
        let mut output = String::new();
        // Repaint so that blocks and overlays removed since the last frame do not stay on screen.
        if self.main().is_some_and(MainScreen::is_painted) {
            output.push_str(&self.last_frame(content, size));
        }
        let last = match &mut self.active {
            ActiveScreen::Main(screen) => screen.finish(content, exit),
            ActiveScreen::Full(screen) => screen.leave(content, exit),
        };
        output + &last
    }

    /// Paints the content without overlays, which must not end up in the scrollback.
    pub(crate) fn last_frame(&mut self, content: &mut ScreenContent, size: Size) -> String {
        let painted = self.active.frame(content, size, self.options, None);
        painted.unwrap_or_else(|error| {
            tracing::warn!(%error, "cannot paint the final frame");
            String::new()
        })
    }

    /// Paints a frame and returns the bytes to write, which are empty if nothing changed.
    pub(crate) fn frame(
        &mut self,
        content: &mut ScreenContent,
        size: Size,
        overlay: Option<ComposeFn<'_>>,
    ) -> Result<String, RenderError> {
        let output = self.active.frame(content, size, self.options, overlay);
        if let ActiveScreen::Full(screen) = &mut self.active {
            // Keep the saved main screen in step with changes to the transcript.
            let changes = screen.take_changes();
            if let Some(saved_main) = &mut self.saved_main {
                saved_main.apply_changes(&changes);
            }
        }
        output
    }

    /// Makes the next frame clear the terminal, scrollback included, and print everything.
    pub(crate) fn request_clear(&mut self) {
        match &mut self.active {
            ActiveScreen::Main(screen) => screen.request_clear(),
            ActiveScreen::Full(screen) => screen.request_repaint(),
        }
    }

    /// Makes the next frame rewrite every visible row.
    pub(crate) fn request_repaint(&mut self) {
        match &mut self.active {
            ActiveScreen::Main(screen) => screen.request_repaint(),
            ActiveScreen::Full(screen) => screen.request_repaint(),
        }
    }
}
