//! Keys handled by the screen in full-screen mode: scrolling, jumping between prompts, searching.

use super::{EventResponse, FrameUrgency, Tui};
use crate::focus::FocusTarget;
use crate::input::{InputEvent, action};
use crate::render::{BlockId, Document, Viewport};

/// Marks the first line of a prompt, for jumping; not written to the terminal (OSC 133).
const PROMPT_MARK: &str = "\x1b]133;A";

#[derive(Clone, Copy)]
enum PromptDirection {
    Up,
    Down,
}

impl Tui {
    /// Scrolls by lines in full-screen mode; negative is up.
    pub fn scroll_by(&mut self, lines: isize) {
        if let Some(screen) = self.screen.full_mut() {
            screen.viewport.scroll_by(lines);
        }
    }

    /// Scrolls to the end in full-screen mode and follows it.
    pub fn scroll_to_end(&mut self) {
        if let Some(screen) = self.screen.full_mut() {
            screen.viewport.scroll_to_end();
        }
    }

    /// Shows a block of the transcript at the top, in full-screen mode.
    pub fn scroll_to_block(&mut self, block: BlockId) {
        let size = self.scene.size;
        if let Some(screen) = self.screen.full_mut() {
            screen.scroll_to_block(&mut self.scene.content, size, block);
        }
    }

    /// Returns how many lines of the transcript are above the viewport, or `None` if the terminal
    /// does the scrolling.
    pub fn lines_above(&self) -> Option<usize> {
        Some(self.screen.full()?.viewport.top())
    }

    /// Whether the end of the transcript is visible and followed.
    pub fn follows_end(&self) -> bool {
        let screen = self.screen.full();
        screen.is_none_or(|screen| screen.viewport.follows_end())
    }

    /// Returns the selected text in full-screen mode.
    pub fn selected_text(&self) -> Option<String> {
        self.screen.full()?.selected_text(&self.scene.content)
    }

    /// Handles a key that the screen takes before the focused component.
    pub(super) fn handle_screen_key(&mut self, event: &InputEvent) -> Option<EventResponse> {
        let (InputEvent::Key(key), Some(screen)) = (event, self.screen.full_mut()) else {
            return None;
        };
        let search_focused = self.search.is_focused(&self.scene);
        let is_captured = self.scene.focused().is_some_and(|target| {
            let component = self.scene.component(target);
            matches!(target, FocusTarget::Overlay(_))
                || component.is_some_and(|component| component.captures_viewport_input())
        });
        let id = [
            (action::ALT_SCREEN_SEARCH, true),
            (action::ALT_SCREEN_SEARCH_NEXT, search_focused),
            (action::ALT_SCREEN_SEARCH_PREVIOUS, search_focused),
            (action::ALT_SCREEN_SEARCH_CLOSE, search_focused),
        ]
        .into_iter()
        .chain(
            SCROLL_ACTIONS
                .iter()
                .map(|id| (*id, search_focused || !is_captured)),
        )
        .find(|(id, applies)| *applies && self.keybindings.matches(key, id))
        .map(|(id, _)| id)?;
        let scene = &mut self.scene;
        if !key.is_release() && !self.search.perform(id, scene, screen, &self.keybindings) {
            scroll(&mut screen.viewport, &scene.content.transcript, id);
        }
        Some(EventResponse::consumed(FrameUrgency::Now))
    }
}

fn scroll(viewport: &mut Viewport, transcript: &Document, id: &str) {
    match id {
        action::ALT_SCREEN_PAGE_UP => viewport.scroll_by(-viewport.page()),
        action::ALT_SCREEN_PAGE_DOWN => viewport.scroll_by(viewport.page()),
        action::ALT_SCREEN_HALF_PAGE_UP => viewport.scroll_by(-viewport.half_page()),
        action::ALT_SCREEN_HALF_PAGE_DOWN => viewport.scroll_by(viewport.half_page()),
        action::ALT_SCREEN_LINE_UP => viewport.scroll_by(-1),
        action::ALT_SCREEN_LINE_DOWN => viewport.scroll_by(1),
        action::ALT_SCREEN_TOP => viewport.scroll_to(0),
        action::ALT_SCREEN_BOTTOM => viewport.scroll_to_end(),
        action::ALT_SCREEN_PREVIOUS_PROMPT => {
            jump_to_prompt(viewport, transcript, PromptDirection::Up);
        }
        action::ALT_SCREEN_NEXT_PROMPT => {
            jump_to_prompt(viewport, transcript, PromptDirection::Down);
        }
        _ => {}
    }
}

fn jump_to_prompt(viewport: &mut Viewport, transcript: &Document, direction: PromptDirection) {
    let top = viewport.top();
    let is_prompt = |line: &&crate::line::Line| line.starts_with(PROMPT_MARK);
    let found = match direction {
        PromptDirection::Up => {
            let above: Vec<_> = transcript.lines(0..top).collect();
            above.iter().rposition(is_prompt)
        }
        PromptDirection::Down => transcript
            .lines(top + 1..transcript.line_count())
            .position(|line| is_prompt(&line))
            .map(|offset| top + 1 + offset),
    };
    if let Some(line) = found {
        viewport.scroll_to(line);
    }
}

const SCROLL_ACTIONS: [&str; 10] = [
    action::ALT_SCREEN_PAGE_UP,
    action::ALT_SCREEN_PAGE_DOWN,
    action::ALT_SCREEN_HALF_PAGE_UP,
    action::ALT_SCREEN_HALF_PAGE_DOWN,
    action::ALT_SCREEN_LINE_UP,
    action::ALT_SCREEN_LINE_DOWN,
    action::ALT_SCREEN_PREVIOUS_PROMPT,
    action::ALT_SCREEN_NEXT_PROMPT,
    action::ALT_SCREEN_TOP,
    action::ALT_SCREEN_BOTTOM,
];
