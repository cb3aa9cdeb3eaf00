//! The whole of a terminal UI: content, overlays, focus and the screen they are painted on.
//!
//! It takes events and a size and returns bytes; reading, writing and timing belong to a
//! [`Runner`](crate::Runner) or to a program's own loop.

use std::time::Instant;

use crate::component::{Component, InputContext, InputOutcome};
use crate::focus::{Focus, FocusTarget, Stage};
use crate::input::{InputEvent, Keybindings, TerminalReply};
use crate::line::Line;
use crate::overlay::{OverlayId, OverlayStack};
use crate::render::{
    Compose, Content, Document, ExitBehavior, MainScreen, RenderError, RenderOptions, Screen, ScreenMode,
};
use crate::terminal::{CellSize, Size};

mod flash;
mod gesture;
mod listener;
mod overlays;
mod scrolling;
mod search_panel;

pub use listener::{ListenerOutcome, ListenerId};

/// What a [`Tui`] starts with.
#[derive(Clone, Debug, Default)]
pub struct TuiOptions {
    pub mode: ScreenMode,
    pub render: RenderOptions,
    /// Which keys mean what.
    pub keybindings: Keybindings,
    /// Lines a turn of the wheel scrolls; 0 counts as 1.
    pub wheel_lines: usize,
    /// Whether a mouse selection is copied when the button goes up.
    pub copy_on_select: bool,
}

/// When a frame is due after an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum FrameUrgency {
    #[default]
    None,
    /// With the next regular frame.
    Soon,
    /// At once: somebody typed and waits.
    Now,
}

/// What became of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventResponse {
    /// Whether somebody used it.
    pub outcome: InputOutcome,
    pub frame: FrameUrgency,
    /// Bytes to write, such as a copied selection.
    pub output: String,
    /// An address the user clicked.
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

/// A terminal UI.
pub struct Tui {
    content: Content,
    overlays: OverlayStack,
    focus: Focus,
    /// Who was last told that it has the keyboard.
    told: Option<FocusTarget>,
    screen: Screen,
    /// The main screen as it was when full-screen mode began; the terminal keeps it too.
    parked: Option<MainScreen>,
    size: Size,
    cell_size: CellSize,
    keybindings: Keybindings,
    render: RenderOptions,
    wheel_lines: usize,
    copy_on_select: bool,
    gesture: gesture::Gesture,
    flashes: flash::Flashes,
    listeners: listener::Listeners,
    search_overlay: Option<OverlayId>,
}

impl std::fmt::Debug for Tui {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Tui")
            .field("content", &self.content)
            .field("size", &self.size)
            .finish_non_exhaustive()
    }
}

impl Tui {
    /// Returns a UI without content.
    pub fn new(options: TuiOptions) -> Self {
        Self {
            content: Content::default(),
            overlays: OverlayStack::default(),
            focus: Focus::default(),
            told: None,
            screen: Screen::new(options.mode),
            parked: None,
            size: Size::default(),
            cell_size: CellSize::default(),
            keybindings: options.keybindings,
            render: options.render,
            wheel_lines: options.wheel_lines.max(1),
            copy_on_select: options.copy_on_select,
            gesture: gesture::Gesture::default(),
            flashes: flash::Flashes::default(),
            listeners: listener::Listeners::default(),
            search_overlay: None,
        }
    }

    /// Returns the blocks that scroll away.
    pub fn transcript(&self) -> &Document {
        &self.content.transcript
    }

    /// Returns the blocks that scroll away, to change them.
    pub fn transcript_mut(&mut self) -> &mut Document {
        &mut self.content.transcript
    }

    /// Returns the blocks that stay at the bottom.
    pub fn dock(&self) -> &Document {
        &self.content.dock
    }

    /// Returns the blocks that stay at the bottom, to change them.
    pub fn dock_mut(&mut self) -> &mut Document {
        &mut self.content.dock
    }

    /// Returns how frames are painted, to change it.
    pub fn render_options_mut(&mut self) -> &mut RenderOptions {
        &mut self.render
    }

    /// Returns which keys mean what.
    pub fn keybindings(&self) -> &Keybindings {
        &self.keybindings
    }

    /// Replaces the keys.
    pub fn set_keybindings(&mut self, keybindings: Keybindings) {
        self.keybindings = keybindings;
    }

    /// Returns the size of the screen.
    pub fn size(&self) -> Size {
        self.size
    }

    /// Takes a new size of the screen.
    pub fn set_size(&mut self, size: Size) {
        self.size = size.at_least_one_cell();
    }

    /// Returns the pixels of a cell, as the terminal reported them.
    pub fn cell_size(&self) -> CellSize {
        self.cell_size
    }

    /// Returns where the UI draws.
    pub fn mode(&self) -> ScreenMode {
        match self.screen {
            Screen::Main(_) => ScreenMode::Main,
            Screen::Full(_) => ScreenMode::Full,
        }
    }

    /// Returns what prepares the screen before the first frame.
    pub fn start(&mut self) -> String {
        match &mut self.screen {
            Screen::Main(screen) => {
                screen.forget();
                String::new()
            }
            Screen::Full(screen) => screen.enter(self.render.mouse),
        }
    }

    /// Returns what gives the screen back to the shell.
    pub fn stop(&mut self, leave: ExitBehavior) -> String {
        let mut output = String::new();
        if matches!(self.screen, Screen::Full(_)) && self.parked.is_some() {
            output = self.set_mode(ScreenMode::Main);
            if leave == ExitBehavior::PrintTranscript {
                output.push_str(&self.last_frame());
            }
        }
        self.close_search();
        // What was taken away since the last frame, such as a dialog, shall not stay either.
        if matches!(&self.screen, Screen::Main(screen) if screen.is_painted()) {
            output.push_str(&self.last_frame());
        }
        let last = match &mut self.screen {
            Screen::Main(screen) => screen.finish(),
            Screen::Full(screen) => screen.leave(&mut self.content, leave),
        };
        output + &last
    }

    /// Paints the content without what lies over it, which shall not stay in the scrollback.
    fn last_frame(&mut self) -> String {
        let (size, options) = (self.size, self.render);
        self.screen
            .frame(&mut self.content, size, options, None)
            .unwrap_or_else(|error| {
                tracing::warn!(%error, "the last frame is left out");
                String::new()
            })
    }

    /// Changes the kind of screen while running, and returns what to write for it.
    ///
    /// Nothing is printed twice: the main screen goes on where it was left.
    pub fn set_mode(&mut self, mode: ScreenMode) -> String {
        if self.mode() == mode {
            return String::new();
        }
        self.close_search();
        match &mut self.screen {
            Screen::Main(screen) => {
                self.parked = Some(std::mem::take(screen));
                self.screen = Screen::new(mode);
                self.start()
            }
            Screen::Full(screen) => {
                let output = screen.leave(&mut self.content, ExitBehavior::RestoreScreen);
                let mut main = self.parked.take().unwrap_or_default();
                main.cursor_was_shown();
                self.screen = Screen::Main(main);
                output
            }
        }
    }

    /// Goes over to the full screen and shows there what has just left the main screen; returns the
    /// bytes to write. [`Tui::set_mode`] goes back.
    pub fn view_scrollback(&mut self) -> String {
        let Screen::Main(screen) = &self.screen else {
            return String::new();
        };
        let dock = self.content.dock.line_count();
        let height = self.size.rows.saturating_sub(dock).max(1);
        let first = screen.lines_above().saturating_sub(height);
        let output = self.set_mode(ScreenMode::Full);
        if let Screen::Full(screen) = &mut self.screen {
            screen.viewport.begin_at(first);
        }
        output
    }

    /// Paints the current state and returns the bytes to write; none if nothing changed.
    pub fn frame(&mut self) -> Result<String, RenderError> {
        let mut output = self.paint()?;
        // Painting may find more or fewer matches than the search panel says.
        if self.update_search_result() {
            output.push_str(&self.paint()?);
        }
        Ok(output)
    }

    fn paint(&mut self) -> Result<String, RenderError> {
        self.settle_focus();
        let size = self.size;
        let flashes = &self.flashes;
        let flashing = flashes.any() && matches!(self.screen, Screen::Full(_));
        let overlays = &mut self.overlays;
        let any = flashing || overlays.any_visible(size);
        let mut compose = |screen: &mut Vec<Line>| {
            overlays.compose(screen, size);
            if flashing {
                flashes.compose(screen, size.columns);
            }
        };
        let overlay: Option<Compose<'_>> = if any { Some(&mut compose) } else { None };
        let output = self
            .screen
            .frame(&mut self.content, size, self.render, overlay);
        if let Screen::Full(screen) = &mut self.screen {
            // The main screen finds its place again when it comes back.
            let moves = screen.take_moves();
            if let Some(parked) = &mut self.parked {
                parked.follow(&moves);
            }
        }
        output
    }

    /// Makes the next frame clear the terminal, scrollback included, and print everything.
    ///
    /// For a switch of sessions; nothing else clears scrollback.
    pub fn clear_terminal(&mut self) {
        match &mut self.screen {
            Screen::Main(screen) => screen.request_clear(),
            Screen::Full(screen) => screen.request_repaint(),
        }
    }

    /// Makes the next frame write every visible row again.
    pub fn repaint(&mut self) {
        self.screen.request_repaint();
    }

    /// Makes every component drop what it cached, because the theme changed.
    pub fn invalidate(&mut self) {
        self.content.transcript.invalidate();
        self.content.dock.invalidate();
        self.overlays.invalidate();
    }

    /// Hands an event to whoever it is for.
    pub fn handle(&mut self, event: &InputEvent, now: Instant) -> EventResponse {
        match event {
            InputEvent::Reply(reply) => self.handle_reply(reply),
            InputEvent::Mouse(report) => self.handle_mouse(*report, now),
            InputEvent::Focus(change) => self.handle_window_focus(*change),
            InputEvent::Key(_) | InputEvent::Paste(_) | InputEvent::Unknown(_) => {
                if self.listeners.is_empty() {
                    return self.handle_typed(event, now);
                }
                match self.listeners.hear(event) {
                    Some(event) => self.handle_typed(&event, now),
                    None => EventResponse::consumed(FrameUrgency::Soon),
                }
            }
        }
    }

    /// Hands on an event that a listener kept for a while, past all listeners.
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
            Some(reaction) => reaction,
            None => self.handle_focused(event, now),
        }
    }

    fn handle_reply(&mut self, reply: &TerminalReply) -> EventResponse {
        if let TerminalReply::CellSize { width, height } = *reply
            && width > 0
            && height > 0
        {
            self.cell_size = CellSize {
                width: u32::from(width),
                height: u32::from(height),
            };
            self.invalidate();
            return EventResponse::consumed(FrameUrgency::Soon);
        }
        EventResponse::ignored()
    }

    fn handle_focused(&mut self, event: &InputEvent, now: Instant) -> EventResponse {
        self.settle_focus();
        let context = InputContext {
            keybindings: &self.keybindings,
            now,
            rows: self.size.rows,
        };
        let target = self.focus.current();
        let Some(component) = component_of(&mut self.content, &mut self.overlays, target) else {
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
                if self.search_overlay.map(FocusTarget::Overlay) == target {
                    self.follow_search_query();
                }
                EventResponse::consumed(FrameUrgency::Now)
            }
            InputOutcome::Ignored => EventResponse::ignored(),
        }
    }

    /// Returns who has the keyboard.
    pub fn focused(&self) -> Option<FocusTarget> {
        self.focus.current()
    }

    /// Gives the keyboard to somebody, or to nobody.
    pub fn set_focus(&mut self, target: Option<FocusTarget>) {
        self.with_focus(|focus, stage| focus.set(target, stage));
    }

    fn settle_focus(&mut self) {
        self.with_focus(Focus::settle);
    }

    /// Applies a change of focus and tells the components concerned.
    fn with_focus(&mut self, change: impl FnOnce(&mut Focus, &Stage<'_>)) {
        let (content, overlays) = (&self.content, &self.overlays);
        let stage = Stage {
            overlays,
            size: self.size,
            is_mounted: &|target| match target {
                FocusTarget::Transcript(id) => content.transcript.contains(id),
                FocusTarget::Dock(id) => content.dock.contains(id),
                FocusTarget::Overlay(id) => overlays.get(id).is_some(),
            },
        };
        change(&mut self.focus, &stage);
        let current = self.focus.current();
        if self.told == current {
            return;
        }
        for (target, focused) in [(self.told, false), (current, true)] {
            if let Some(component) = component_of(&mut self.content, &mut self.overlays, target) {
                component.set_focused(focused);
            }
        }
        self.told = current;
    }
}

fn component_of<'a>(
    content: &'a mut Content,
    overlays: &'a mut OverlayStack,
    target: Option<FocusTarget>,
) -> Option<&'a mut dyn Component> {
    match target? {
        FocusTarget::Transcript(id) => content.transcript.get_mut(id),
        FocusTarget::Dock(id) => content.dock.get_mut(id),
        FocusTarget::Overlay(id) => Some(overlays.get_mut(id)?.component.as_mut()),
    }
}
