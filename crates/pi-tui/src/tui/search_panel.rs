//! The panel in which a query is typed.

use crate::component::{CURSOR_MARKER, Component, InputContext, InputOutcome};
use crate::input::{InputEvent, Key, KeyId};
use crate::line::{Line, Lines};
use crate::text::{Edge, pad_to_width, sanitize, slice_columns, visible_width};

/// A line to type into, with the count of matches.
#[derive(Debug, Default)]
pub(super) struct SearchPanel {
    query: String,
    position: usize,
    count: usize,
    focused: bool,
}

impl SearchPanel {
    pub(super) fn query(&self) -> &str {
        &self.query
    }

    pub(super) fn set_result(&mut self, position: usize, count: usize) {
        (self.position, self.count) = (position, count);
    }
}

impl Component for SearchPanel {
    fn render(&mut self, width: usize) -> Lines {
        let result = format!(" {}/{} ", self.position, self.count);
        let room = width.saturating_sub(visible_width(&result) + 2);
        let typed = visible_width(&self.query);
        // The end of a long query is what is being typed.
        let shown = slice_columns(&self.query, typed.saturating_sub(room)..typed, Edge::Drop);
        let marker = if self.focused { CURSOR_MARKER } else { "" };
        let line = format!("/{}{marker}", shown.text);
        let padded = pad_to_width(&line, width.saturating_sub(visible_width(&result)));
        let line = slice_columns(&format!("{padded}{result}"), 0..width, Edge::Drop).text;
        Lines::from(vec![Line::from(format!("\x1b[7m{line}\x1b[27m"))])
    }

    fn handle_input(&mut self, event: &InputEvent, _context: &InputContext<'_>) -> InputOutcome {
        match event {
            InputEvent::Key(key) if key.is(KeyId::new(Key::Backspace)) => {
                self.query.pop();
            }
            InputEvent::Key(key) => match key.text() {
                Some(character) => self.query.push(character),
                None => return InputOutcome::Ignored,
            },
            InputEvent::Paste(paste) => {
                let text = paste.text.replace(['\r', '\n'], " ");
                self.query.push_str(&sanitize(&text));
            }
            InputEvent::Mouse(_)
            | InputEvent::Focus(_)
            | InputEvent::Reply(_)
            | InputEvent::Unknown(_) => return InputOutcome::Ignored,
        }
        InputOutcome::Consumed
    }

    fn set_focused(&mut self, focused: bool) {
        self.focused = focused;
    }
}
