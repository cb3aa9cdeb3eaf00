//! Mouse handling in full-screen mode: components first, then scrollbar, links and selection.

use std::time::{Duration, Instant};

use super::{EventResponse, FrameUrgency, Tui, component_of, flash};
use crate::component::{InputContext, MouseOutcome};
use crate::focus::FocusTarget;
use crate::input::{FocusChange, Modifiers, MouseButton, MouseEvent, MouseEventKind, MouseReport};
use crate::line::Line;
use crate::overlay::CellRect;
use crate::render::{
    ActiveScreen, CellPosition, MouseSelection, ScreenContent, SelectionGranularity,
};
use crate::terminal::clipboard_sequence;
use crate::text::link_at;

/// Maximum time between the clicks of a double click.
const DOUBLE_CLICK: Duration = Duration::from_millis(500);
/// How often a drag beyond an edge scrolls.
const AUTO_SCROLL: Duration = Duration::from_millis(50);
/// Scroll speed multiplier while Alt is held.
const ALT_WHEEL: isize = 5;

/// What the pressed button drags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ActiveDrag {
    /// A component that captured the press and receives the following events.
    Component(FocusTarget, CellRect),
    Selecting,
    /// The scrollbar thumb, grabbed this many rows below its top.
    Thumb(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Click {
    at: Instant,
    cell: (usize, usize),
    count: u8,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Gesture {
    drag: Option<ActiveDrag>,
    /// Where the button was pressed, while the pointer has not left that cell.
    pressed: Option<(usize, usize)>,
    last_click: Option<Click>,
    /// Pointer position while a drag is beyond an edge, and when to scroll next.
    auto_scroll: Option<(Instant, MouseReport)>,
}

impl Gesture {
    /// Returns the number of consecutive clicks including this one.
    fn click(&mut self, cell: (usize, usize), now: Instant) -> u8 {
        let count = match self.last_click {
            Some(last) if last.cell == cell && now.duration_since(last.at) <= DOUBLE_CLICK => {
                last.count % 3 + 1
            }
            Some(_) | None => 1,
        };
        self.last_click = Some(Click {
            at: now,
            cell,
            count,
        });
        count
    }
}

impl Tui {
    /// Returns when [`tick`](Self::tick) is due, or `None` if nothing is scheduled.
    pub fn deadline(&self) -> Option<Instant> {
        let scroll = self.gesture.auto_scroll.map(|(due, _)| due);
        scroll.into_iter().chain(self.flashes.deadline()).min()
    }

    /// Runs time-based updates: scrolls while a drag is beyond an edge, and removes expired
    /// messages.
    pub fn tick(&mut self, now: Instant) -> FrameUrgency {
        let mut urgency = if self.flashes.expire(now) {
            FrameUrgency::Soon
        } else {
            FrameUrgency::None
        };
        if let Some((due, report)) = self.gesture.auto_scroll
            && due <= now
        {
            self.drag_selection(report, now);
            urgency = FrameUrgency::Soon;
        }
        urgency
    }

    pub(super) fn handle_window_focus(&mut self, change: FocusChange) -> EventResponse {
        if change == FocusChange::Lost {
            self.gesture = Gesture::default();
        }
        EventResponse::consumed(FrameUrgency::None)
    }

    pub(super) fn handle_mouse(&mut self, report: MouseReport, now: Instant) -> EventResponse {
        if !matches!(self.screen, ActiveScreen::Full(_)) {
            return EventResponse::ignored();
        }
        if report.is_wheel() {
            return self.handle_wheel(report, now);
        }
        let kind = match (report.released, report.is_motion(), report.button()) {
            (true, ..) => MouseEventKind::Release,
            (false, true, MouseButton::None) => MouseEventKind::Move,
            (false, true, _) => MouseEventKind::Drag,
            (false, false, _) => MouseEventKind::Press,
        };
        let cell = (report.column, report.row);
        if kind == MouseEventKind::Press {
            self.gesture.pressed = Some(cell);
        } else if self.gesture.pressed != Some(cell) {
            self.gesture.pressed = None;
        }
        let mut response = match self.gesture.drag {
            Some(ActiveDrag::Component(target, bounds)) => {
                self.continue_with_component(target, bounds, kind, report, now)
            }
            Some(ActiveDrag::Thumb(offset)) => self.drag_thumb(offset, report),
            Some(ActiveDrag::Selecting) => self.continue_selection(kind, report, now),
            None => self.begin_gesture(kind, report, now),
        };
        if kind == MouseEventKind::Release {
            self.gesture.drag = None;
            self.gesture.auto_scroll = None;
        }
        if self.follow_search_pointer(report) {
            response.frame = response.frame.max(FrameUrgency::Soon);
        }
        response
    }

    fn handle_wheel(&mut self, report: MouseReport, now: Instant) -> EventResponse {
        let lines = isize::try_from(self.wheel_lines).unwrap_or(1)
            * if report.modifiers().contains(Modifiers::ALT) {
                ALT_WHEEL
            } else {
                1
            }
            * isize::try_from(report.wheel_direction()).unwrap_or(0);
        let kind = MouseEventKind::Wheel {
            lines: i32::try_from(lines).unwrap_or(0),
        };
        if let Some((target, bounds)) = self.target_at(report) {
            let outcome = self.send_mouse(target, bounds, kind, report, now);
            if outcome.stops_propagation() {
                return EventResponse::consumed(frame_urgency(outcome, kind));
            }
            if matches!(target, FocusTarget::Overlay(_)) {
                return EventResponse::consumed(FrameUrgency::None);
            }
        }
        self.scroll_by(lines);
        EventResponse::consumed(FrameUrgency::Soon)
    }

    fn begin_gesture(
        &mut self,
        kind: MouseEventKind,
        report: MouseReport,
        now: Instant,
    ) -> EventResponse {
        let target = self.target_at(report);
        let on_overlay = matches!(target, Some((FocusTarget::Overlay(_), _)));
        if !on_overlay && kind == MouseEventKind::Press && self.press_scrollbar(report) {
            return EventResponse::consumed(FrameUrgency::Now);
        }
        if let Some((target, bounds)) = target {
            let outcome = self.send_mouse(target, bounds, kind, report, now);
            if outcome.stops_propagation() || on_overlay {
                if kind == MouseEventKind::Press {
                    self.clear_selection();
                    self.gesture.drag = Some(ActiveDrag::Component(target, bounds));
                }
                return EventResponse::consumed(frame_urgency(outcome, kind));
            }
        }
        if kind == MouseEventKind::Press && report.button() == MouseButton::Left {
            self.start_selection(report, now);
            return EventResponse::consumed(FrameUrgency::Soon);
        }
        EventResponse::consumed(FrameUrgency::None)
    }

    /// Handles a press on the scrollbar or on the label below it. Returns whether it hit one of
    /// them.
    fn press_scrollbar(&mut self, report: MouseReport) -> bool {
        let columns = self.size.columns;
        let ActiveScreen::Full(screen) = &mut self.screen else {
            return false;
        };
        if screen.is_end_label(report.column, report.row) {
            screen.viewport.scroll_to_end();
            return true;
        }
        let on_bar = report.column + 1 == columns
            && report.row < screen.viewport.height()
            && !screen.viewport.follows_end();
        let Some(thumb) = screen.viewport.thumb().filter(|_| on_bar) else {
            return false;
        };
        let offset = if thumb.contains(&report.row) {
            report.row - thumb.start
        } else {
            let line = screen.viewport.top_for_thumb(report.row);
            screen.viewport.scroll_to(line);
            0
        };
        self.gesture.drag = Some(ActiveDrag::Thumb(offset));
        true
    }

    fn drag_thumb(&mut self, offset: usize, report: MouseReport) -> EventResponse {
        if let ActiveScreen::Full(screen) = &mut self.screen {
            let row = report.row.saturating_sub(offset);
            screen
                .viewport
                .scroll_to(screen.viewport.top_for_thumb(row));
        }
        EventResponse::consumed(FrameUrgency::Soon)
    }

    fn continue_with_component(
        &mut self,
        target: FocusTarget,
        bounds: CellRect,
        kind: MouseEventKind,
        report: MouseReport,
        now: Instant,
    ) -> EventResponse {
        let outcome = self.send_mouse(target, bounds, kind, report, now);
        let mut urgency = frame_urgency(outcome, kind);
        let cell = (report.column, report.row);
        if kind == MouseEventKind::Release && self.gesture.pressed == Some(cell) {
            let count = self.gesture.click(cell, now);
            let click = MouseEventKind::Click { count };
            let outcome = self.send_mouse(target, bounds, click, report, now);
            urgency = urgency.max(frame_urgency(outcome, click));
        }
        EventResponse::consumed(urgency)
    }

    fn start_selection(&mut self, report: MouseReport, now: Instant) {
        let granularity =
            SelectionGranularity::for_clicks(self.gesture.click((report.column, report.row), now));
        self.gesture.drag = Some(ActiveDrag::Selecting);
        if let ActiveScreen::Full(screen) = &mut self.screen {
            let (position, line) =
                position_at(&self.content, screen.line_at(report.row), report.column);
            screen.selection = Some(MouseSelection::start(position, &line, granularity));
        }
    }

    fn continue_selection(
        &mut self,
        kind: MouseEventKind,
        report: MouseReport,
        now: Instant,
    ) -> EventResponse {
        if kind != MouseEventKind::Release {
            self.drag_selection(report, now);
            return EventResponse::consumed(FrameUrgency::Soon);
        }
        let mut response = EventResponse::consumed(FrameUrgency::Soon);
        match self.selected_text() {
            Some(text) if self.copy_on_select => {
                response.output = clipboard_sequence(&text);
                self.flash("Copied!", flash::SHORT_DURATION, now);
            }
            Some(_) => {}
            None => {
                response.open_url = self.link_at_pointer(report);
                self.clear_selection();
            }
        }
        response
    }

    /// Extends the selection to the pointer, scrolling while the pointer is at an edge of the
    /// viewport.
    fn drag_selection(&mut self, report: MouseReport, now: Instant) {
        let ActiveScreen::Full(screen) = &mut self.screen else {
            return;
        };
        let last_row = screen.viewport.height().saturating_sub(1);
        let scroll = match report.row {
            0 => -1,
            row if row >= last_row && !screen.viewport.follows_end() => 1,
            _ => 0,
        };
        screen.viewport.scroll_by(scroll);
        self.gesture.auto_scroll = (scroll != 0).then_some((now + AUTO_SCROLL, report));
        let (position, line) =
            position_at(&self.content, screen.line_at(report.row), report.column);
        if let Some(selection) = &mut screen.selection {
            selection.extend(position, &line);
        }
    }

    /// Clears the selection in full-screen mode.
    pub fn clear_selection(&mut self) {
        if let ActiveScreen::Full(screen) = &mut self.screen {
            screen.selection = None;
        }
    }

    fn link_at_pointer(&self, report: MouseReport) -> Option<String> {
        self.gesture.pressed?;
        let ActiveScreen::Full(screen) = &self.screen else {
            return None;
        };
        let (_, line) = position_at(&self.content, screen.line_at(report.row), report.column);
        link_at(&line, report.column).map(str::to_owned)
    }

    /// Returns the component under the pointer and the cells it covers.
    fn target_at(&self, report: MouseReport) -> Option<(FocusTarget, CellRect)> {
        let (column, row) = (report.column, report.row);
        if let Some((id, bounds)) = self.overlays.at(column, row, self.size) {
            return Some((FocusTarget::Overlay(id), bounds));
        }
        let ActiveScreen::Full(screen) = &self.screen else {
            return None;
        };
        let (id, first_line, height) = self.content.block_at(screen.line_at(row))?;
        let offset = screen.line_at(row) - first_line;
        let bounds = CellRect {
            // A block may start above the screen. Its row then counts from its first visible row.
            row: row.saturating_sub(offset),
            column: 0,
            width: self.size.columns,
            height,
        };
        Some((id, bounds))
    }

    fn send_mouse(
        &mut self,
        target: FocusTarget,
        bounds: CellRect,
        kind: MouseEventKind,
        report: MouseReport,
        now: Instant,
    ) -> MouseOutcome {
        let hidden = self.rows_above_screen(target, bounds);
        let event = MouseEvent {
            kind,
            button: report.button(),
            modifiers: report.modifiers(),
            column: report.column.saturating_sub(bounds.column),
            row: report.row.saturating_sub(bounds.row) + hidden,
            screen_column: report.column,
            screen_row: report.row,
            width: bounds.width,
            height: bounds.height,
        };
        let context = InputContext {
            keybindings: &self.keybindings,
            now,
            rows: self.size.rows,
        };
        let Some(component) = component_of(&mut self.content, &mut self.overlays, Some(target))
        else {
            return MouseOutcome::default();
        };
        let outcome = component.handle_mouse(&event, &context);
        if outcome.focus {
            self.set_focus(Some(target));
        }
        outcome
    }

    /// Returns how many rows of a block are above the screen.
    fn rows_above_screen(&self, target: FocusTarget, bounds: CellRect) -> usize {
        match (&self.screen, target) {
            (ActiveScreen::Full(screen), FocusTarget::Transcript(_) | FocusTarget::Dock(_)) => {
                let line = screen.line_at(bounds.row);
                self.content
                    .block_at(line)
                    .map_or(0, |(_, first, _)| line.saturating_sub(first))
            }
            _ => 0,
        }
    }
}

/// Returns the position at a column of a line, and the line.
fn position_at(content: &ScreenContent, line: usize, column: usize) -> (CellPosition, Line) {
    let text = content.lines(line..line + 1).pop().unwrap_or_default();
    (CellPosition { line, column }, text)
}

/// Returns how soon to paint after a component's response.
fn frame_urgency(outcome: MouseOutcome, kind: MouseEventKind) -> FrameUrgency {
    let by_default = match kind {
        MouseEventKind::Press
        | MouseEventKind::Drag
        | MouseEventKind::Click { .. }
        | MouseEventKind::Wheel { .. } => outcome.stops_propagation(),
        MouseEventKind::Release | MouseEventKind::Move => outcome.focus,
    };
    if outcome.render.unwrap_or(by_default) {
        FrameUrgency::Soon
    } else {
        FrameUrgency::None
    }
}
