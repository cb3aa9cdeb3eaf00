//! A component of an extension; shows the lines the extension drew last.
//!
//! Drawing is asynchronous: this component only requests, caches and shows lines.

use pi_host::{ComponentId, RenderedComponent};
use pi_screen::fitted_row;
use pi_tui::{
    CURSOR_MARKER, Component, InputContext, InputEvent, InputOutcome, Line, Lines, Modifiers,
    MouseButton, MouseEvent, MouseEventKind, MouseOutcome, TruncateOptions, WideCharPolicy,
    slice_columns, truncate_to_width,
};
use serde_json::{Value, json};

use crate::extensions::bridge::{ComponentTask, DrawSubject, ExtensionUiBridge};

/// Maximum rows of a component, more than a terminal has.
const MAX_ROWS: usize = 2000;

#[derive(Debug)]
pub(crate) struct ExtensionView {
    id: ComponentId,
    bridge: ExtensionUiBridge,
    lines: Lines,
    /// The width the lines were drawn for.
    drawn_width: Option<usize>,
    /// The width lines were last requested for.
    requested_width: Option<usize>,
    key_release: bool,
    mouse: bool,
    wheel: bool,
    hidden: bool,
    /// Whether an empty row precedes the lines.
    blank_before: bool,
    /// Whether too wide lines have been reported.
    has_warned: bool,
}

impl ExtensionView {
    /// Shows nothing until the extension has drawn.
    pub(crate) fn new(id: ComponentId, bridge: ExtensionUiBridge, key_release: bool) -> Self {
        Self {
            id,
            bridge,
            lines: Lines::empty(),
            drawn_width: None,
            requested_width: None,
            key_release,
            mouse: false,
            wheel: false,
            hidden: false,
            blank_before: false,
            has_warned: false,
        }
    }

    /// Adds an empty row before the lines.
    #[must_use]
    pub(crate) fn with_blank_before(mut self) -> Self {
        self.blank_before = true;
        self
    }

    pub(crate) fn id(&self) -> ComponentId {
        self.id
    }

    /// Hides the view while something else is shown in its place.
    pub(crate) fn set_hidden(&mut self, hidden: bool) {
        self.hidden = hidden;
    }

    /// Accepts lines drawn for a width. Returns how many were too wide, the first time that happens.
    pub(crate) fn accept(&mut self, width: usize, drawn: &RenderedComponent) -> Option<usize> {
        self.key_release = drawn.key_release;
        self.mouse = drawn.mouse;
        self.wheel = drawn.wheel;
        // Lines for an outdated width arrive late; those for the current one are still to come.
        if self
            .requested_width
            .is_some_and(|requested| requested != width)
        {
            return None;
        }
        let mut too_wide = 0;
        let cursor = drawn.remote.and_then(|remote| remote.cursor);
        let fitted = drawn.lines.iter().take(MAX_ROWS).enumerate();
        let fitted = fitted.map(|(row, line)| {
            let (line, was_wider) = fitted_row(line, width);
            // Another process draws for its own screen.
            too_wide += usize::from(was_wider && drawn.remote.is_none());
            match cursor {
                Some(cursor) if cursor.row == row => with_cursor(&line, cursor.col).into(),
                _ => Line::from(line),
            }
        });
        let mut fitted: Vec<Line> = fitted.collect();
        if self.blank_before && !fitted.is_empty() {
            fitted.insert(0, Line::default());
        }
        if *self.lines != *fitted {
            self.lines = fitted.into();
        }
        self.drawn_width = Some(width);
        (too_wide > 0 && !std::mem::replace(&mut self.has_warned, true)).then_some(too_wide)
    }
}

impl Component for ExtensionView {
    fn render(&mut self, width: usize) -> Lines {
        if self.hidden {
            return Lines::empty();
        }
        if self.requested_width != Some(width) {
            self.requested_width = Some(width);
            self.bridge
                .request_draw(self.id, width, DrawSubject::Component);
        }
        if self
            .drawn_width
            .is_none_or(|drawn_width| drawn_width <= width)
        {
            return self.lines.clone();
        }
        let cut = |line: &Line| {
            truncate_to_width(line, width, TruncateOptions { ellipsis: "" }).into_owned()
        };
        self.lines.iter().map(cut).collect()
    }

    fn handle_input(&mut self, event: &InputEvent, _context: &InputContext<'_>) -> InputOutcome {
        let raw = event.raw();
        if !raw.is_empty() {
            self.bridge.enqueue(ComponentTask::Input {
                id: self.id,
                data: String::from_utf8_lossy(&raw).into_owned(),
            });
        }
        InputOutcome::Consumed
    }

    /// Extensions handle the event asynchronously, so it counts as handled, except for the wheel: a component
    /// that ignores the wheel must not block scrolling, so its last response decides.
    fn handle_mouse(&mut self, event: &MouseEvent, _context: &InputContext<'_>) -> MouseOutcome {
        let above = usize::from(self.blank_before);
        if !self.mouse || event.row < above {
            return MouseOutcome::default();
        }
        let inside = MouseEvent {
            row: event.row - above,
            height: event.height.saturating_sub(above),
            ..*event
        };
        self.bridge.enqueue(ComponentTask::Mouse {
            id: self.id,
            event: mouse_json(&inside),
        });
        let is_wheel = matches!(event.kind, MouseEventKind::Wheel { .. });
        MouseOutcome {
            handled: !is_wheel || self.wheel,
            render: Some(false),
            ..MouseOutcome::default()
        }
    }

    fn invalidate(&mut self) {
        self.requested_width = None;
    }

    fn set_focused(&mut self, focused: bool) {
        self.bridge.enqueue(ComponentTask::Focus {
            id: self.id,
            focused,
        });
    }

    fn wants_key_release(&self) -> bool {
        self.key_release
    }
}

/// Marks the cursor in a line.
fn with_cursor(line: &str, column: usize) -> String {
    let before = slice_columns(line, 0..column, WideCharPolicy::Drop).text;
    let after = slice_columns(line, column..usize::MAX, WideCharPolicy::Drop).text;
    [&before, CURSOR_MARKER, &after].concat()
}

/// Serializes a mouse event for extensions.
fn mouse_json(event: &MouseEvent) -> Value {
    let (kind, clicks, lines) = match event.kind {
        MouseEventKind::Press => ("press", None, None),
        MouseEventKind::Release => ("release", None, None),
        MouseEventKind::Move => ("move", None, None),
        MouseEventKind::Drag => ("drag", None, None),
        MouseEventKind::Click { count } => ("click", Some(count), None),
        MouseEventKind::Wheel { lines } => ("wheel", None, Some(lines)),
    };
    let button = match event.button {
        MouseButton::Left => "left",
        MouseButton::Middle => "middle",
        MouseButton::Right => "right",
        MouseButton::None => "none",
    };
    let mut mouse_json = json!({
        "type": kind,
        "button": button,
        "x": event.column,
        "y": event.row,
        "screenX": event.screen_column,
        "screenY": event.screen_row,
        "width": event.width,
        "height": event.height,
        "shift": event.modifiers.contains(Modifiers::SHIFT),
        "alt": event.modifiers.contains(Modifiers::ALT),
        "ctrl": event.modifiers.contains(Modifiers::CTRL),
    });
    if let (Some(lines), Some(mouse_json)) = (lines, mouse_json.as_object_mut()) {
        mouse_json.insert("wheelDelta".to_owned(), lines.into());
    }
    if let (Some(clicks), Some(mouse_json)) = (clicks, mouse_json.as_object_mut()) {
        mouse_json.insert("clickCount".to_owned(), clicks.into());
    }
    mouse_json
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use pi_screen::MAX_ROW_BYTES;

    use super::*;

    fn drawn(lines: &[&str]) -> RenderedComponent {
        RenderedComponent {
            lines: lines.iter().map(|line| (*line).to_owned()).collect(),
            ..RenderedComponent::default()
        }
    }

    fn shown(view: &mut ExtensionView, width: usize) -> Vec<String> {
        view.render(width).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_last_lines_are_shown_until_new_ones_arrive() {
        let mut view = ExtensionView::new(1, ExtensionUiBridge::default(), false);
        assert_eq!(shown(&mut view, 20), [""; 0]);
        assert_eq!(view.accept(20, &drawn(&["one", "two"])), None);
        assert_eq!(shown(&mut view, 20), ["one", "two"]);
        assert_eq!(shown(&mut view, 2), ["on", "tw"], "truncated until redrawn");
        view.accept(20, &drawn(&["late"]));
        assert_eq!(
            shown(&mut view, 2),
            ["on", "tw"],
            "drawn for an outdated width"
        );
        view.accept(2, &drawn(&["ok"]));
        assert_eq!(shown(&mut view, 2), ["ok"]);
    }

    #[test]
    fn a_frame_does_not_depend_on_the_size_of_a_component() {
        let mut view = ExtensionView::new(1, ExtensionUiBridge::default(), false);
        let row = format!("e{}", "\u{301}".repeat(MAX_ROW_BYTES));
        let image = format!("\x1b_Ga=T;{}\x1b\\", "A".repeat(2 * MAX_ROW_BYTES));
        let mut rows = vec!["x"; MAX_ROWS + 1];
        rows[0] = &image;
        rows[1] = &row;
        view.render(40);
        view.accept(40, &drawn(&rows));
        let lines = view.render(40);
        assert_eq!(lines.len(), MAX_ROWS);
        let [image_row, rows @ ..] = &*lines else {
            panic!("no rows");
        };
        assert_eq!(image_row.len(), image.len());
        assert!(rows.iter().all(|row| row.len() <= MAX_ROW_BYTES));
    }

    #[test]
    fn wide_lines_are_truncated_and_reported_once() {
        let mut view = ExtensionView::new(1, ExtensionUiBridge::default(), false);
        view.render(4);
        assert_eq!(
            view.accept(4, &drawn(&["too wide", "ok", "wide too"])),
            Some(2)
        );
        assert_eq!(shown(&mut view, 4), ["too ", "ok", "wide"]);
        assert_eq!(view.accept(4, &drawn(&["too wide"])), None);
    }
}
