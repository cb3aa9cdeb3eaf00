//! The search panel: a query field, the match count, and buttons for the previous and next match.

use crate::component::{Component, InputContext, InputOutcome, MouseOutcome};
use crate::components::{Input, InputOptions};
use crate::input::{InputEvent, MouseButton, MouseEvent, MouseEventKind};
use crate::line::{Line, Lines};
use crate::style::Style;
use crate::text::{WideCharPolicy, pad_to_width, slice_columns, visible_width};

const BUTTON_ROW: usize = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SearchButton {
    Previous,
    Next,
}

#[derive(Debug)]
pub(super) struct SearchPanel {
    input: Input,
    /// Names of the keys for the previous and next match.
    keys: [String; 2],
    position: usize,
    count: usize,
    /// The buttons' columns, if they fit.
    buttons: Option<[std::ops::Range<usize>; 2]>,
    hovered: Option<SearchButton>,
    pressed: Option<SearchButton>,
}

impl SearchPanel {
    /// Returns an empty panel. `keys` are the names of the keys for the previous and next match.
    pub(super) fn new(keys: [String; 2]) -> Self {
        Self {
            input: Input::new(InputOptions {
                prompt: " ".to_owned(),
                placeholder: "Find in transcript".to_owned(),
                placeholder_style: Style::plain().dim().into(),
            }),
            keys,
            position: 0,
            count: 0,
            buttons: None,
            hovered: None,
            pressed: None,
        }
    }

    pub(super) fn query(&self) -> &str {
        self.input.value()
    }

    /// Sets the current match and the match count. Returns whether either changed.
    pub(super) fn set_result(&mut self, position: usize, count: usize) -> bool {
        let before = (self.position, self.count);
        (self.position, self.count) = (position, count);
        before != (position, count)
    }

    /// Returns the button pressed since the last call.
    pub(super) fn take_pressed(&mut self) -> Option<SearchButton> {
        self.pressed.take()
    }

    /// Sets the hovered button. Returns whether it changed.
    pub(super) fn set_hovered(&mut self, button: Option<SearchButton>) -> bool {
        std::mem::replace(&mut self.hovered, button) != button
    }

    fn button_at(&self, row: usize, column: usize) -> Option<SearchButton> {
        let [previous, next] = self.buttons.as_ref().filter(|_| row == BUTTON_ROW)?;
        if previous.contains(&column) {
            Some(SearchButton::Previous)
        } else if next.contains(&column) {
            Some(SearchButton::Next)
        } else {
            None
        }
    }

    fn query_line(&mut self, width: usize) -> String {
        let result = match (self.query().is_empty(), self.count) {
            (true, _) => String::new(),
            (false, 0) => " No matches ".to_owned(),
            (false, count) => format!(" {}/{count} ", self.position),
        };
        let result = slice_columns(&result, 0..width.saturating_sub(3), WideCharPolicy::Drop).text;
        let room = width - visible_width(&result);
        let typed = self.input.render(room.max(1));
        let typed = typed.first().map_or("", Line::as_str);
        let typed = slice_columns(typed, 0..room, WideCharPolicy::Drop).text;
        let result = Style::plain().dim().apply(&result);
        format!("│{}{result}│", pad_to_width(&typed, room))
    }

    /// Returns the bottom border with the buttons, in short form if the long form does not fit.
    fn button_line(&mut self, width: usize) -> String {
        let [previous, next] = &self.keys;
        let long = [format!("↑ {previous}"), format!("↓ {next}")];
        let short = ["↑".to_owned(), "↓".to_owned()];
        // A gap on both sides, and a piece of the border.
        let room = width.saturating_sub(3);
        let fitting = [(long, " · "), (short, " ")]
            .into_iter()
            .find(|([previous, next], gap)| {
                visible_width(previous) + visible_width(gap) + visible_width(next) <= room
            });
        let Some(([previous, next], gap)) = fitting else {
            self.buttons = None;
            return format!("└{}┘", "─".repeat(width));
        };
        let widths = [visible_width(&previous), visible_width(&next)];
        let rule = room - widths.iter().sum::<usize>() - visible_width(gap);
        let first = 2 + rule;
        let second = first + widths[0] + visible_width(gap);
        self.buttons = Some([first..first + widths[0], second..second + widths[1]]);
        let paint = |button: SearchButton, text: String| {
            if self.hovered == Some(button) {
                Style::plain().inverse().apply(&text)
            } else {
                text
            }
        };
        let (previous, next) = (
            paint(SearchButton::Previous, previous),
            paint(SearchButton::Next, next),
        );
        format!("└{} {previous}{gap}{next} ─┘", "─".repeat(rule))
    }
}

impl Component for SearchPanel {
    fn render(&mut self, width: usize) -> Lines {
        let inside = width.saturating_sub(2);
        let lines = [
            format!("┌{}┐", "─".repeat(inside)),
            self.query_line(inside),
            self.button_line(inside),
        ];
        lines
            .into_iter()
            .map(|line| slice_columns(&line, 0..width, WideCharPolicy::Drop).text)
            .collect()
    }

    fn handle_input(&mut self, event: &InputEvent, context: &InputContext<'_>) -> InputOutcome {
        self.input.handle_input(event, context)
    }

    fn handle_mouse(&mut self, event: &MouseEvent, context: &InputContext<'_>) -> MouseOutcome {
        let button = self.button_at(event.row, event.column);
        let hovered = self.set_hovered(button);
        if event.kind == MouseEventKind::Press && event.button == MouseButton::Left {
            if button.is_some() {
                self.pressed = button;
                return MouseOutcome::handled();
            }
            if event.row == 1 {
                let inside = MouseEvent {
                    row: 0,
                    column: event.column.saturating_sub(1),
                    ..*event
                };
                return self.input.handle_mouse(&inside, context);
            }
        }
        MouseOutcome {
            render: hovered.then_some(true),
            ..MouseOutcome::handled()
        }
    }

    fn set_focused(&mut self, focused: bool) {
        self.input.set_focused(focused);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::strip_ansi;
    use pretty_assertions::assert_eq;

    fn panel() -> SearchPanel {
        SearchPanel::new(["Shift+Enter".to_owned(), "Enter".to_owned()])
    }

    #[test]
    fn buttons_shrink_and_vanish_with_the_width() {
        let mut panel = panel();
        let mut last = |width| strip_ansi(&panel.render(width)[2]).into_owned();
        assert_eq!(last(32), "└──── ↑ Shift+Enter · ↓ Enter ─┘");
        assert_eq!(last(10), "└── ↑ ↓ ─┘");
        assert_eq!(last(5), "└───┘");
        assert_eq!(last(1), "└");
    }

    #[test]
    fn no_line_is_wider_than_the_panel() {
        let mut panel = panel();
        panel.input.set_value(&"query".repeat(20));
        for width in 1..60 {
            for line in &panel.render(width) {
                assert_eq!(visible_width(line), width, "{line:?}");
            }
        }
    }
}
