//! A component of an extension on the screen: it shows the last lines the extension drew.
//!
//! Drawing happens elsewhere and takes as long as it takes; here lines are only asked for, kept and
//! shown.

use pi_runtime::{ComponentId, RenderedComponent};
use pi_tui::{
    Component, InputContext, InputEvent, InputOutcome, Line, Lines, Modifiers, MouseButton,
    MouseEvent, MouseEventKind, MouseOutcome, Truncation, truncate_to_width,
};
use serde_json::{Value, json};

use crate::extension_desk::{ExtensionDesk, Subject, Task};
use crate::foreign_text::fitted_line;

/// A component of an extension.
#[derive(Debug)]
pub(crate) struct ForeignView {
    id: ComponentId,
    desk: ExtensionDesk,
    lines: Lines,
    /// The width the lines were drawn for.
    drawn_for: Option<usize>,
    /// The width lines were asked for last.
    asked_for: Option<usize>,
    key_release: bool,
    mouse: bool,
    wheel: bool,
    hidden: bool,
    /// An empty row comes before the lines.
    blank_before: bool,
    /// Somebody was told that lines are too wide.
    is_blamed: bool,
}

impl ForeignView {
    /// Shows nothing until the extension has drawn.
    pub(crate) fn new(id: ComponentId, desk: ExtensionDesk, key_release: bool) -> Self {
        Self {
            id,
            desk,
            lines: Lines::empty(),
            drawn_for: None,
            asked_for: None,
            key_release,
            mouse: false,
            wheel: false,
            hidden: false,
            blank_before: false,
            is_blamed: false,
        }
    }

    /// Returns the same view with an empty row before its lines.
    #[must_use]
    pub(crate) fn after_blank(mut self) -> Self {
        self.blank_before = true;
        self
    }

    /// Returns which component it is.
    pub(crate) fn id(&self) -> ComponentId {
        self.id
    }

    /// Makes room for something else, or comes back.
    pub(crate) fn set_hidden(&mut self, hidden: bool) {
        self.hidden = hidden;
    }

    /// Takes lines that were drawn for a width. Returns how many were too wide, the first time.
    pub(crate) fn accept(&mut self, width: usize, drawn: &RenderedComponent) -> Option<usize> {
        self.key_release = drawn.key_release;
        self.mouse = drawn.mouse;
        self.wheel = drawn.wheel;
        // Lines for another width come late; those for this one are on their way.
        if self.asked_for.is_some_and(|asked| asked != width) {
            return None;
        }
        let mut too_wide = 0;
        let fitted = drawn.lines.iter().map(|line| {
            let (line, was_wider) = fitted_line(line, width);
            too_wide += usize::from(was_wider);
            Line::from(line)
        });
        let mut fitted: Vec<Line> = fitted.collect();
        if self.blank_before && !fitted.is_empty() {
            fitted.insert(0, Line::default());
        }
        if *self.lines != *fitted {
            self.lines = fitted.into();
        }
        self.drawn_for = Some(width);
        (too_wide > 0 && !std::mem::replace(&mut self.is_blamed, true)).then_some(too_wide)
    }
}

impl Component for ForeignView {
    fn render(&mut self, width: usize) -> Lines {
        if self.hidden {
            return Lines::empty();
        }
        if self.asked_for != Some(width) {
            self.asked_for = Some(width);
            self.desk.want(self.id, width, Subject::Component);
        }
        if self.drawn_for.is_none_or(|drawn_for| drawn_for <= width) {
            return self.lines.clone();
        }
        let cut =
            |line: &Line| truncate_to_width(line, width, Truncation { ellipsis: "" }).into_owned();
        self.lines.iter().map(cut).collect()
    }

    fn handle_input(&mut self, event: &InputEvent, _context: &InputContext<'_>) -> InputOutcome {
        let raw = event.raw();
        if !raw.is_empty() {
            self.desk.say(Task::Input {
                id: self.id,
                data: String::from_utf8_lossy(&raw).into_owned(),
            });
        }
        InputOutcome::Consumed
    }

    /// The extension hears of it later than an answer is due. What it hears of counts as handled, but for the wheel:
    /// over a component that does nothing with it the screen shall scroll, so the last turn decides.
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
        self.desk.say(Task::Mouse {
            id: self.id,
            event: spelled(&inside),
        });
        let is_wheel = matches!(event.kind, MouseEventKind::Wheel { .. });
        MouseOutcome {
            handled: !is_wheel || self.wheel,
            render: Some(false),
            ..MouseOutcome::default()
        }
    }

    fn invalidate(&mut self) {
        self.asked_for = None;
    }

    fn set_focused(&mut self, focused: bool) {
        self.desk.say(Task::Focus {
            id: self.id,
            focused,
        });
    }

    fn wants_key_release(&self) -> bool {
        self.key_release
    }
}

/// Spells a mouse event as extensions know it.
fn spelled(event: &MouseEvent) -> Value {
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
    let mut spelled = json!({
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
    if let (Some(lines), Some(spelled)) = (lines, spelled.as_object_mut()) {
        spelled.insert("wheelDelta".to_owned(), lines.into());
    }
    if let (Some(clicks), Some(spelled)) = (clicks, spelled.as_object_mut()) {
        spelled.insert("clickCount".to_owned(), clicks.into());
    }
    spelled
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn drawn(lines: &[&str]) -> RenderedComponent {
        RenderedComponent {
            lines: lines.iter().map(|line| (*line).to_owned()).collect(),
            ..RenderedComponent::default()
        }
    }

    fn shown(view: &mut ForeignView, width: usize) -> Vec<String> {
        view.render(width).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_last_lines_stay_until_others_arrive() {
        let mut view = ForeignView::new(1, ExtensionDesk::default(), false);
        assert_eq!(shown(&mut view, 20), [""; 0]);
        assert_eq!(view.accept(20, &drawn(&["one", "two"])), None);
        assert_eq!(shown(&mut view, 20), ["one", "two"]);
        assert_eq!(shown(&mut view, 2), ["on", "tw"], "cut until drawn anew");
        view.accept(20, &drawn(&["late"]));
        assert_eq!(
            shown(&mut view, 2),
            ["on", "tw"],
            "drawn for a width that is past"
        );
        view.accept(2, &drawn(&["ok"]));
        assert_eq!(shown(&mut view, 2), ["ok"]);
    }

    #[test]
    fn lines_that_are_too_wide_are_cut_and_blamed_once() {
        let mut view = ForeignView::new(1, ExtensionDesk::default(), false);
        view.render(4);
        assert_eq!(
            view.accept(4, &drawn(&["too wide", "ok", "wide too"])),
            Some(2)
        );
        assert_eq!(shown(&mut view, 4), ["too ", "ok", "wide"]);
        assert_eq!(view.accept(4, &drawn(&["too wide"])), None);
    }
}
