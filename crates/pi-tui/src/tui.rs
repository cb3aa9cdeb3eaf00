//! A complete terminal UI: content, overlays, focus and the screen they are painted on.
//!
//! It takes events and a size and returns bytes. Reading, writing and timing belong to a
//! [`Runner`](crate::Runner) or to the application's event loop.

use std::time::Instant;

use crate::component::{InputContext, InputOutcome};
use crate::input::{FocusChange, InputEvent, Keybindings, TerminalReply};
use crate::line::Line;
use crate::render::{
    ComposeFn, Document, ExitBehavior, RenderError, RenderOptions, ScreenMode, SwitchableScreen,
};
use crate::terminal::Size;

mod flash;
mod gesture;
mod listener;
mod pointer_surface;
mod scene;
mod scrolling;
mod search;
mod search_panel;
mod wheel;

pub use listener::{ListenerId, ListenerOutcome};
pub use scene::Scene;
pub use wheel::WheelSpeed;

use flash::Flashes;
use gesture::Gesture;
use listener::Listeners;
use pointer_surface::PointerOptions;
use search::SearchControl;

#[derive(Clone, Debug, Default)]
pub struct TuiOptions {
    pub mode: ScreenMode,
    pub render: RenderOptions,
    pub keybindings: Keybindings,
    pub wheel: WheelSpeed,
    /// Whether a mouse selection is copied when the button is released.
    pub copy_on_select: bool,
}

/// When to paint a frame after an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum FrameUrgency {
    #[default]
    None,
    /// With the next frame for content, which may change faster than anyone reads.
    Content,
    /// With the next scheduled frame.
    Soon,
    /// Immediately, because the user is typing.
    Now,
}

/// Result of handling an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventResponse {
    pub outcome: InputOutcome,
    pub frame: FrameUrgency,
    /// Bytes to write, such as a copied selection.
    pub output: String,
    /// URL the user clicked.
    pub open_url: Option<String>,
}

impl EventResponse {
    fn ignored() -> Self {
        Self {
            outcome: InputOutcome::Ignored,
            frame: FrameUrgency::None,
            output: String::new(),
            open_url: None,
        }
    }

    fn consumed(frame: FrameUrgency) -> Self {
        Self {
            outcome: InputOutcome::Consumed,
            frame,
            ..Self::ignored()
        }
    }
}

pub struct Tui {
    scene: Scene,
    screen: SwitchableScreen,
    keybindings: Keybindings,
    pointer: PointerOptions,
    gesture: Gesture,
    flashes: Flashes,
    listeners: Listeners,
    search: SearchControl,
}

impl std::fmt::Debug for Tui {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Tui")
            .field("scene", &self.scene)
            .finish_non_exhaustive()
    }
}

impl Tui {
    /// Returns a UI without content.
    pub fn new(options: TuiOptions) -> Self {
        Self {
            scene: Scene::default(),
            screen: SwitchableScreen::new(options.mode, options.render),
            keybindings: options.keybindings,
            pointer: PointerOptions {
                wheel: options.wheel,
                copy_on_select: options.copy_on_select,
            },
            gesture: Gesture::default(),
            flashes: Flashes::default(),
            listeners: Listeners::default(),
            search: SearchControl::default(),
        }
    }

    /// Returns the components, their overlays and the focus.
    pub fn scene(&self) -> &Scene {
        &self.scene
    }

    pub fn scene_mut(&mut self) -> &mut Scene {
        &mut self.scene
    }

    /// Returns the blocks that scroll.
    pub fn transcript(&self) -> &Document {
        &self.scene.content.transcript
    }

    pub fn transcript_mut(&mut self) -> &mut Document {
        &mut self.scene.content.transcript
    }

    /// Returns the blocks pinned to the bottom.
    pub fn dock(&self) -> &Document {
        &self.scene.content.dock
    }

    pub fn dock_mut(&mut self) -> &mut Document {
        &mut self.scene.content.dock
    }

    pub fn render_options_mut(&mut self) -> &mut RenderOptions {
        &mut self.screen.options
    }

    pub fn keybindings(&self) -> &Keybindings {
        &self.keybindings
    }

    pub fn set_keybindings(&mut self, keybindings: Keybindings) {
        self.keybindings = keybindings;
    }

    pub fn size(&self) -> Size {
        self.scene.size
    }

    pub fn set_size(&mut self, size: Size) {
        self.scene.size = size.at_least_one_cell();
    }

    pub fn mode(&self) -> ScreenMode {
        self.screen.mode()
    }

    /// Returns the bytes that prepare the screen for the first frame.
    pub fn start(&mut self) -> String {
        self.screen.start()
    }

    /// Returns the bytes that hand the screen back to the shell.
    pub fn stop(&mut self, exit: ExitBehavior) -> String {
        let size = self.scene.size;
        let mut output = String::new();
        if self.screen.covers_main() {
            output = self.set_mode(ScreenMode::Main);
            if exit == ExitBehavior::PrintTranscript {
                output.push_str(&self.screen.last_frame(&mut self.scene.content, size));
            }
        }
        self.search.close(&mut self.scene, self.screen.full_mut());
        let content = &mut self.scene.content;
        output + &self.screen.finish(content, size, exit)
    }

    /// Switches the screen mode while running and returns the bytes to write.
    ///
    /// Nothing is printed twice: the main screen continues where it was left.
    pub fn set_mode(&mut self, mode: ScreenMode) -> String {
        if self.mode() == mode {
            return String::new();
        }
        self.search.close(&mut self.scene, self.screen.full_mut());
        self.screen.switch(&mut self.scene.content)
    }

    /// Switches to full-screen mode, scrolled to the lines that most recently left the main screen,
    /// and returns the bytes to write. Use [`Tui::set_mode`] to switch back.
    pub fn view_scrollback(&mut self) -> String {
        let Some(screen) = self.screen.main() else {
            return String::new();
        };
        let dock = self.scene.content.dock.line_count();
        let height = self.scene.size.rows.saturating_sub(dock).max(1);
        let first = screen.lines_above().saturating_sub(height);
        let output = self.set_mode(ScreenMode::Full);
        if let Some(screen) = self.screen.full_mut() {
            screen.viewport.begin_at(first);
        }
        output
    }

    /// Paints the current state and returns the bytes to write, which are empty if nothing changed.
    pub fn frame(&mut self) -> Result<String, RenderError> {
        let mut output = self.paint()?;
        // Painting may change the match count shown in the search panel.
        if let Some(screen) = self.screen.full()
            && self.search.update_result(&mut self.scene, screen)
        {
            output.push_str(&self.paint()?);
        }
        Ok(output)
    }

    fn paint(&mut self) -> Result<String, RenderError> {
        self.scene.resolve_focus();
        let size = self.scene.size;
        let flashes = &self.flashes;
        let flashing = flashes.is_active() && self.screen.full().is_some();
        let overlays = &mut self.scene.overlays;
        let has_overlays = flashing || overlays.any_visible(size);
        let mut compose = |screen: &mut Vec<Line>| {
            overlays.compose(screen, size);
            if flashing {
                flashes.compose(screen, size.columns);
            }
        };
        let overlay: Option<ComposeFn<'_>> = if has_overlays {
            Some(&mut compose)
        } else {
            None
        };
        self.screen.frame(&mut self.scene.content, size, overlay)
    }

    /// Makes the next frame clear the terminal, scrollback included, and print everything.
    ///
    /// Used when switching sessions; nothing else clears the scrollback.
    pub fn clear_terminal(&mut self) {
        self.screen.request_clear();
    }

    /// Makes the next frame rewrite every visible row.
    pub fn repaint(&mut self) {
        self.screen.request_repaint();
    }

    /// Makes every component drop its cached lines, for example after a theme change.
    pub fn invalidate(&mut self) {
        self.scene.invalidate();
    }

    /// Dispatches an event to listeners, the screen or the focused component.
    pub fn handle(&mut self, event: &InputEvent, now: Instant) -> EventResponse {
        match event {
            InputEvent::Reply(TerminalReply::CellSize { width, height })
                if *width > 0 && *height > 0 =>
            {
                // Images depend on the size of a cell.
                self.invalidate();
                EventResponse::consumed(FrameUrgency::Soon)
            }
            InputEvent::Reply(_) => EventResponse::ignored(),
            InputEvent::Mouse(report) => self.handle_mouse(*report, now),
            InputEvent::Focus(change) => {
                if *change == FocusChange::Lost {
                    self.gesture = Gesture::default();
                }
                EventResponse::consumed(FrameUrgency::None)
            }
            InputEvent::Key(_) | InputEvent::Paste(_) | InputEvent::Unknown(_) => {
                if self.listeners.is_empty() {
                    return self.handle_typed(event, now);
                }
                match self.listeners.dispatch(event) {
                    Some(event) => self.handle_typed(&event, now),
                    None => EventResponse::consumed(FrameUrgency::Soon),
                }
            }
        }
    }

    /// Handles an event that a listener held back, bypassing all listeners.
    pub fn forward(&mut self, event: &InputEvent, now: Instant) -> EventResponse {
        match event {
            InputEvent::Key(_) | InputEvent::Paste(_) | InputEvent::Unknown(_) => {
                self.handle_typed(event, now)
            }
            InputEvent::Reply(_) | InputEvent::Mouse(_) | InputEvent::Focus(_) => {
                self.handle(event, now)
            }
        }
    }

    fn handle_typed(&mut self, event: &InputEvent, now: Instant) -> EventResponse {
        match self.handle_screen_key(event) {
            Some(response) => response,
            None => self.handle_focused(event, now),
        }
    }

    fn handle_focused(&mut self, event: &InputEvent, now: Instant) -> EventResponse {
        self.scene.resolve_focus();
        let context = InputContext {
            keybindings: &self.keybindings,
            now,
            rows: self.scene.size.rows,
        };
        let target = self.scene.focused();
        let Some(component) = target.and_then(|target| self.scene.component(target)) else {
            return EventResponse::ignored();
        };
        if let InputEvent::Key(key) = event
            && key.is_release()
            && !component.wants_key_release()
        {
            return EventResponse::ignored();
        }
        match component.handle_input(event, &context) {
            InputOutcome::Consumed => {
                if let Some(screen) = self.screen.full_mut()
                    && self.search.is_focused(&self.scene)
                {
                    self.search.follow_query(&mut self.scene, screen);
                }
                EventResponse::consumed(FrameUrgency::Now)
            }
            InputOutcome::Ignored => EventResponse::ignored(),
        }
    }
}
