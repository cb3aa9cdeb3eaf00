//! The mouse on a full screen: components first, then scrollbar, links and selection.

use std::time::{Duration, Instant};

use super::{FrameUrgency, EventResponse, Tui, component_of, flash};
use crate::component::{InputContext, MouseOutcome};
use crate::focus::FocusTarget;
use crate::input::{FocusChange, Modifiers, MouseButton, MouseEvent, MouseEventKind, MouseReport};
use crate::line::Line;
use crate::overlay::CellRect;
use crate::render::{Content, Grain, Place, Screen, Selection};
use crate::terminal::clipboard_sequence;
use crate::text::link_at;

/// Clicks further apart are not a double click.
const DOUBLE_CLICK: Duration = Duration::from_millis(500);
/// How often a drag beyond an edge scrolls.
const AUTO_SCROLL: Duration = Duration::from_millis(50);
/// How much faster the wheel is with Alt.
const ALT_WHEEL: isize = 5;

/// What the held button does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Held {
    /// The component got the press and gets the rest.
    Component(FocusTarget, CellRect),
    Selecting,
    /// The scrollbar's thumb, held this far below its top.
    Thumb(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Click {
    at: Instant,
    cell: (usize, usize),
    count: u8,
}

/// The gesture in progress.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Gesture {
    held: Option<Held>,
    /// Where the button went down, while the pointer has not left the cell.
    pressed: Option<(usize, usize)>,
    last_click: Option<Click>,
    /// Where the pointer is while a drag is beyond an edge.
    auto_scroll: Option<(Instant, MouseReport)>,
}

impl Gesture {
    /// Counts the clicks in a row that end with this one.
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
    /// Returns when [`tick`](Self::tick) is due, if it is.
    pub fn deadline(&self) -> Option<Instant> {
        let scroll = self.gesture.auto_scroll.map(|(due, _)| due);
        scroll.into_iter().chain(self.flashes.deadline()).min()
    }

    /// Does what time brings about: scrolls while a drag is beyond an edge, and takes messages away.
    pub fn tick(&mut self, now: Instant) -> FrameUrgency {
        let mut need = if self.flashes.expire(now) {
            FrameUrgency::Soon
        } else {
            FrameUrgency::None
        };
        if let Some((due, report)) = self.gesture.auto_scroll
            && due <= now
        {
            self.drag_selection(report, now);
            need = FrameUrgency::Soon;
        }
        need
    }

    pub(super) fn handle_window_focus(&mut self, change: FocusChange) -> EventResponse {
        if change == FocusChange::Lost {
            self.gesture = Gesture::default();
        }
        EventResponse::consumed(FrameUrgency::None)
    }

    pub(super) fn handle_mouse(&mut self, report: MouseReport, now: Instant) -> EventResponse {
        if !matches!(self.screen, Screen::Full(_)) {
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
        let mut reaction = match self.gesture.held {
            Some(Held::Component(target, bounds)) => {
                self.continue_with_component(target, bounds, kind, report, now)
            }
            Some(Held::Thumb(offset)) => self.drag_thumb(offset, report),
            Some(Held::Selecting) => self.continue_selection(kind, report, now),
            None => self.begin_gesture(kind, report, now),
        };
        if kind == MouseEventKind::Release {
            self.gesture.held = None;
            self.gesture.auto_scroll = None;
        }
        if self.follow_search_pointer(report) {
            reaction.frame = reaction.frame.max(FrameUrgency::Soon);
        }
        reaction
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
                return EventResponse::consumed(render_need(outcome, kind));
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
        if !on_overlay && kind == MouseEventKind::Press && self.press_furniture(report) {
            return EventResponse::consumed(FrameUrgency::Now);
        }
        if let Some((target, bounds)) = target {
            let outcome = self.send_mouse(target, bounds, kind, report, now);
            if outcome.stops_propagation() || on_overlay {
                if kind == MouseEventKind::Press {
                    self.clear_selection();
                    self.gesture.held = Some(Held::Component(target, bounds));
                }
                return EventResponse::consumed(render_need(outcome, kind));
            }
        }
        if kind == MouseEventKind::Press && report.button() == MouseButton::Left {
            self.start_selection(report, now);
            return EventResponse::consumed(FrameUrgency::Soon);
        }
        EventResponse::consumed(FrameUrgency::None)
    }

    /// Presses the scrollbar or the label below it; returns whether one was there.
    fn press_furniture(&mut self, report: MouseReport) -> bool {
        let columns = self.size.columns;
        let Screen::Full(screen) = &mut self.screen else {
            return false;
        };
        if screen.is_end_label(report.column, report.row) {
            screen.viewport.scroll_to_end();
            return true;
        }
        let on_bar = report.column + 1 == columns
            && report.row < screen.viewport.height()
            && !screen.viewport.follows();
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
        self.gesture.held = Some(Held::Thumb(offset));
        true
    }

    fn drag_thumb(&mut self, offset: usize, report: MouseReport) -> EventResponse {
        if let Screen::Full(screen) = &mut self.screen {
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
        let mut need = render_need(outcome, kind);
        let cell = (report.column, report.row);
        if kind == MouseEventKind::Release && self.gesture.pressed == Some(cell) {
            let count = self.gesture.click(cell, now);
            let click = MouseEventKind::Click { count };
            let outcome = self.send_mouse(target, bounds, click, report, now);
            need = need.max(render_need(outcome, click));
        }
        EventResponse::consumed(need)
    }

    fn start_selection(&mut self, report: MouseReport, now: Instant) {
        let grain = Grain::for_clicks(self.gesture.click((report.column, report.row), now));
        self.gesture.held = Some(Held::Selecting);
        if let Screen::Full(screen) = &mut self.screen {
            let (place, line) = under(&self.content, screen.line_at(report.row), report.column);
            screen.selection = Some(Selection::start(place, &line, grain));
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
        let mut reaction = EventResponse::consumed(FrameUrgency::Soon);
        match self.selected_text() {
            Some(text) if self.copy_on_select => {
                reaction.output = clipboard_sequence(&text);
                self.flash("Copied!", flash::SHORT, now);
            }
            Some(_) => {}
            None => {
                reaction.open_url = self.link_under(report);
                self.clear_selection();
            }
        }
        reaction
    }

    /// Extends the selection to the pointer, scrolling while that is at an edge of the viewport.
    fn drag_selection(&mut self, report: MouseReport, now: Instant) {
        let Screen::Full(screen) = &mut self.screen else {
            return;
        };
        let last_row = screen.viewport.height().saturating_sub(1);
        let scroll = match report.row {
            0 => -1,
            row if row >= last_row && !screen.viewport.follows() => 1,
            _ => 0,
        };
        screen.viewport.scroll_by(scroll);
        self.gesture.auto_scroll = (scroll != 0).then_some((now + AUTO_SCROLL, report));
        let (place, line) = under(&self.content, screen.line_at(report.row), report.column);
        if let Some(selection) = &mut screen.selection {
            selection.extend(place, &line);
        }
    }

    /// Drops the selection of a full screen.
    pub fn clear_selection(&mut self) {
        if let Screen::Full(screen) = &mut self.screen {
            screen.selection = None;
        }
    }

    fn link_under(&self, report: MouseReport) -> Option<String> {
        self.gesture.pressed?;
        let Screen::Full(screen) = &self.screen else {
            return None;
        };
        let (_, line) = under(&self.content, screen.line_at(report.row), report.column);
        link_at(&line, report.column).map(str::to_owned)
    }

    /// Returns who is under the pointer, and the cells it covers.
    fn target_at(&self, report: MouseReport) -> Option<(FocusTarget, CellRect)> {
        let (column, row) = (report.column, report.row);
        if let Some((id, bounds)) = self.overlays.at(column, row, self.size) {
            return Some((FocusTarget::Overlay(id), bounds));
        }
        let Screen::Full(screen) = &self.screen else {
            return None;
        };
        let (id, first_line, height) = self.content.block_at(screen.line_at(row))?;
        let offset = screen.line_at(row) - first_line;
        let bounds = CellRect {
            // A block may start above the screen; its row then counts from there.
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

    /// Returns how many rows of a block lie above the screen.
    fn rows_above_screen(&self, target: FocusTarget, bounds: CellRect) -> usize {
        match (&self.screen, target) {
            (Screen::Full(screen), FocusTarget::Transcript(_) | FocusTarget::Dock(_)) => {
                let line = screen.line_at(bounds.row);
                self.content
                    .block_at(line)
                    .map_or(0, |(_, first, _)| line.saturating_sub(first))
            }
            _ => 0,
        }
    }
}

/// Returns the place at a column of a line, and the line.
fn under(content: &Content, line: usize, column: usize) -> (Place, Line) {
    let text = content.lines(line..line + 1).pop().unwrap_or_default();
    (Place { line, column }, text)
}

/// Returns when a frame is due after a component's answer.
fn render_need(outcome: MouseOutcome, kind: MouseEventKind) -> FrameUrgency {
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
