//! Keys handled by the screen in full-screen mode: scrolling, jumping between prompts, searching.

use super::{EventResponse, FrameUrgency, Tui};
use crate::focus::FocusTarget;
use crate::input::{InputEvent, MouseReport, action};
use crate::overlay::{OverlayAnchor, OverlayMargin, OverlayOptions, OverlayWidth};
use crate::render::{ActiveScreen, TranscriptSearch};
use crate::text::strip_ansi;
use crate::tui::search_panel::{SearchButton, SearchPanel};

/// Marks the first line of a prompt, for shells and for jumping (OSC 133).
const PROMPT_MARK: &str = "\x1b]133;A";

#[derive(Clone, Copy)]
enum PromptDirection {
    Up,
    Down,
}

impl Tui {
    /// Scrolls by lines in full-screen mode; negative is up.
    pub fn scroll_by(&mut self, lines: isize) {
        if let ActiveScreen::Full(screen) = &mut self.screen {
            screen.viewport.scroll_by(lines);
        }
    }

    /// Scrolls to the end in full-screen mode and follows it.
    pub fn scroll_to_end(&mut self) {
        if let ActiveScreen::Full(screen) = &mut self.screen {
            screen.viewport.scroll_to_end();
        }
    }

    /// Returns how many lines of the transcript are above the viewport, or `None` if the terminal
    /// does the scrolling.
    pub fn lines_above(&self) -> Option<usize> {
        match &self.screen {
            ActiveScreen::Main(_) => None,
            ActiveScreen::Full(screen) => Some(screen.viewport.top()),
        }
    }

    /// Whether the end of the transcript is visible and followed.
    pub fn follows_end(&self) -> bool {
        match &self.screen {
            ActiveScreen::Main(_) => true,
            ActiveScreen::Full(screen) => screen.viewport.follows_end(),
        }
    }

    /// Handles a key that the screen takes before the focused component.
    pub(super) fn handle_screen_key(&mut self, event: &InputEvent) -> Option<EventResponse> {
        let (InputEvent::Key(key), ActiveScreen::Full(_)) = (event, &self.screen) else {
            return None;
        };
        let searching = self.search_overlay.map(FocusTarget::Overlay);
        let search_focused = searching.is_some() && searching == self.focus.current();
        let overlay_focused = matches!(self.focus.current(), Some(FocusTarget::Overlay(_)));
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
                .map(|id| (*id, search_focused || !overlay_focused)),
        )
        .find(|(id, applies)| *applies && self.keybindings.matches(key, id))
        .map(|(id, _)| id)?;
        if !key.is_release() {
            self.perform(id);
        }
        Some(EventResponse::consumed(FrameUrgency::Now))
    }

    fn perform(&mut self, id: &str) {
        match id {
            action::ALT_SCREEN_SEARCH if self.search_overlay.is_some() => self.close_search(),
            action::ALT_SCREEN_SEARCH => self.open_search(),
            action::ALT_SCREEN_SEARCH_NEXT => self.jump_to_match(TranscriptSearch::next),
            action::ALT_SCREEN_SEARCH_PREVIOUS => self.jump_to_match(TranscriptSearch::previous),
            action::ALT_SCREEN_SEARCH_CLOSE => self.close_search(),
            action::ALT_SCREEN_PREVIOUS_PROMPT => self.jump_to_prompt(PromptDirection::Up),
            action::ALT_SCREEN_NEXT_PROMPT => self.jump_to_prompt(PromptDirection::Down),
            _ => self.scroll(id),
        }
    }

    fn scroll(&mut self, id: &str) {
        let ActiveScreen::Full(screen) = &mut self.screen else {
            return;
        };
        let viewport = &mut screen.viewport;
        match id {
            action::ALT_SCREEN_PAGE_UP => viewport.scroll_by(-viewport.page()),
            action::ALT_SCREEN_PAGE_DOWN => viewport.scroll_by(viewport.page()),
            action::ALT_SCREEN_HALF_PAGE_UP => viewport.scroll_by(-viewport.half_page()),
            action::ALT_SCREEN_HALF_PAGE_DOWN => viewport.scroll_by(viewport.half_page()),
            action::ALT_SCREEN_LINE_UP => viewport.scroll_by(-1),
            action::ALT_SCREEN_LINE_DOWN => viewport.scroll_by(1),
            action::ALT_SCREEN_TOP => viewport.scroll_to(0),
            action::ALT_SCREEN_BOTTOM => viewport.scroll_to_end(),
            _ => {}
        }
    }

    fn jump_to_prompt(&mut self, direction: PromptDirection) {
        let ActiveScreen::Full(screen) = &mut self.screen else {
            return;
        };
        let transcript = &self.content.transcript;
        let top = screen.viewport.top();
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
            screen.viewport.scroll_to(line);
        }
    }

    fn open_search(&mut self) {
        let ActiveScreen::Full(screen) = &mut self.screen else {
            return;
        };
        screen.search = Some(TranscriptSearch::default());
        let options = OverlayOptions {
            width: OverlayWidth::Percent(40.0),
            min_width: 32,
            anchor: OverlayAnchor::TopRight,
            margin: OverlayMargin::all(1),
            ..OverlayOptions::default()
        };
        let keys = [
            action::ALT_SCREEN_SEARCH_PREVIOUS,
            action::ALT_SCREEN_SEARCH_NEXT,
        ]
        .map(|id| self.key_name(id));
        self.search_overlay = Some(self.show_overlay(SearchPanel::new(keys), options));
    }

    /// Returns the first key bound to an action, formatted for display.
    fn key_name(&self, id: &str) -> String {
        let Some(key) = self.keybindings.keys(id).first() else {
            return "unbound".to_owned();
        };
        let name = key.to_string();
        let parts = name.split_inclusive('+').map(|part| {
            let mut rest = part.chars();
            let first = rest.next().map(|first| first.to_ascii_uppercase());
            first.into_iter().chain(rest).collect::<String>()
        });
        parts.collect()
    }

    /// Handles the pointer over the search panel's buttons.
    ///
    /// Returns whether the panel changed its appearance.
    pub(super) fn follow_search_pointer(&mut self, report: MouseReport) -> bool {
        let over = self
            .overlays
            .at(report.column, report.row, self.size)
            .map(|(id, _)| id);
        let outside = over != self.search_overlay;
        let Some(panel) = self.search_panel() else {
            return false;
        };
        let left = outside && panel.set_hovered(None);
        match panel.take_pressed() {
            Some(SearchButton::Previous) => self.jump_to_match(TranscriptSearch::previous),
            Some(SearchButton::Next) => self.jump_to_match(TranscriptSearch::next),
            None => return left,
        }
        true
    }

    pub(super) fn close_search(&mut self) {
        if let ActiveScreen::Full(screen) = &mut self.screen {
            screen.search = None;
        }
        if let Some(id) = self.search_overlay.take() {
            self.remove_overlay(id);
        }
    }

    /// Searches for the panel's query, starting at the top of the viewport.
    pub(super) fn follow_search_query(&mut self) {
        let Some(query) = self.search_panel().map(|panel| panel.query().to_owned()) else {
            return;
        };
        if let ActiveScreen::Full(screen) = &mut self.screen
            && let Some(search) = &mut screen.search
            && search.query() != query
        {
            // All blocks must be laid out before they can be searched.
            self.content.transcript.refresh_tail(usize::MAX);
            let from = search
                .current()
                .map_or(screen.viewport.top(), |found| found.line);
            search.start(query, &self.content.transcript, from);
        }
        self.jump_to_match(|_| {});
    }

    fn jump_to_match(&mut self, choose: impl FnOnce(&mut TranscriptSearch)) {
        let ActiveScreen::Full(screen) = &mut self.screen else {
            return;
        };
        let Some(search) = &mut screen.search else {
            return;
        };
        choose(search);
        if let Some(line) = search.current().map(|found| found.line) {
            screen.viewport.reveal(line);
        }
        self.update_search_result();
    }

    /// Updates the match count in the panel. Returns whether it changed.
    pub(super) fn update_search_result(&mut self) -> bool {
        let ActiveScreen::Full(screen) = &self.screen else {
            return false;
        };
        let Some(search) = &screen.search else {
            return false;
        };
        let (position, count) = (search.position(), search.count());
        self.search_panel()
            .is_some_and(|panel| panel.set_result(position, count))
    }

    fn search_panel(&mut self) -> Option<&mut SearchPanel> {
        let component = self
            .overlays
            .get_mut(self.search_overlay?)?
            .component
            .as_mut();
        (component as &mut dyn std::any::Any).downcast_mut()
    }

    /// Returns the selected text in full-screen mode.
    pub fn selected_text(&self) -> Option<String> {
        let ActiveScreen::Full(screen) = &self.screen else {
            return None;
        };
        let selection = screen
            .selection
            .as_ref()
            .filter(|selection| !selection.is_empty())?;
        let range = selection.lines();
        let lines = self.content.lines(range.clone());
        let text = selection.text(range.zip(lines.iter().map(crate::line::Line::as_str)));
        (!strip_ansi(&text).is_empty()).then_some(text)
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
