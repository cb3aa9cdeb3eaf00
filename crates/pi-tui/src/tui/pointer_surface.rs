//! What the pointer acts on in full-screen mode: components, the scrollbar and the text below it.

use std::time::Instant;

use super::flash::Flashes;
use super::wheel::WheelSpeed;
use super::{EventResponse, FrameUrgency, Scene};
use crate::component::{InputContext, MouseOutcome};
use crate::focus::FocusTarget;
use crate::input::{Keybindings, Modifiers, MouseEvent, MouseEventKind, MouseReport};
use crate::line::Line;
use crate::overlay::CellRect;
use crate::render::{CellPosition, FullScreen};

/// Scroll speed multiplier while Alt is held.
const ALT_WHEEL: isize = 5;

/// Mouse settings of a UI.
#[derive(Clone, Copy, Debug)]
pub(super) struct PointerOptions {
    pub(super) wheel: WheelSpeed,
    pub(super) copy_on_select: bool,
}

/// What a press on the scrollbar did.
pub(super) enum ScrollbarHit {
    /// Jumped to the end.
    End,
    /// Grabbed the thumb this many rows below its top.
    Thumb(usize),
}

/// The parts of a UI that the pointer reaches.
pub(super) struct PointerSurface<'tui> {
    pub(super) scene: &'tui mut Scene,
    pub(super) screen: &'tui mut FullScreen,
    pub(super) flashes: &'tui mut Flashes,
    pub(super) keybindings: &'tui Keybindings,
    pub(super) options: PointerOptions,
}

impl PointerSurface<'_> {
    /// Scrolls the component below the pointer, or the transcript, by `lines` per step.
    pub(super) fn handle_wheel(
        &mut self,
        report: MouseReport,
        lines: usize,
        now: Instant,
    ) -> EventResponse {
        let lines = isize::try_from(lines).unwrap_or(1)
            * if report.modifiers().contains(Modifiers::ALT) {
                ALT_WHEEL
            } else {
                1
            }
            * isize::try_from(report.wheel_direction()).unwrap_or(0);
        let kind = MouseEventKind::Wheel {
            lines: i32::try_from(lines).unwrap_or(0),
        };
        if let Some(target) = self.target_at(report) {
            let outcome = self.send(target, kind, report, now);
            if outcome.stops_propagation() {
                return EventResponse::consumed(frame_urgency(outcome, kind));
            }
            if matches!(target.0, FocusTarget::Overlay(_)) {
                return EventResponse::consumed(FrameUrgency::None);
            }
        }
        self.screen.viewport.scroll_by(lines);
        EventResponse::consumed(FrameUrgency::Soon)
    }

    /// Handles a press on the scrollbar or on the label below it, if it hit one of them.
    pub(super) fn press_scrollbar(&mut self, report: MouseReport) -> Option<ScrollbarHit> {
        let screen = &mut *self.screen;
        if screen.is_end_label(report.column, report.row) {
            screen.viewport.scroll_to_end();
            return Some(ScrollbarHit::End);
        }
        let on_bar = report.column + 1 == self.scene.size.columns
            && report.row < screen.viewport.height()
            && !screen.viewport.follows_end();
        let thumb = screen.viewport.thumb().filter(|_| on_bar)?;
        if thumb.contains(&report.row) {
            return Some(ScrollbarHit::Thumb(report.row - thumb.start));
        }
        let line = screen.viewport.top_for_thumb(report.row);
        screen.viewport.scroll_to(line);
        Some(ScrollbarHit::Thumb(0))
    }

    pub(super) fn drag_thumb(&mut self, offset: usize, report: MouseReport) -> EventResponse {
        let viewport = &mut self.screen.viewport;
        let line = viewport.top_for_thumb(report.row.saturating_sub(offset));
        viewport.scroll_to(line);
        EventResponse::consumed(FrameUrgency::Soon)
    }

    /// Returns the position under the pointer, and its line.
    pub(super) fn position_at(&self, report: MouseReport) -> (CellPosition, Line) {
        let line = self.screen.line_at(report.row);
        let text = self.scene.content.lines(line..line + 1).pop();
        let position = CellPosition {
            line,
            column: report.column,
        };
        (position, text.unwrap_or_default())
    }

    /// Returns the component under the pointer and the cells it covers.
    pub(super) fn target_at(&self, report: MouseReport) -> Option<(FocusTarget, CellRect)> {
        let (column, row) = (report.column, report.row);
        let size = self.scene.size;
        if let Some((id, bounds)) = self.scene.overlays.at(column, row, size) {
            return Some((FocusTarget::Overlay(id), bounds));
        }
        let line = self.screen.line_at(row);
        let (id, first_line, height) = self.scene.content.block_at(line)?;
        let bounds = CellRect {
            // A block may start above the screen. Its row then counts from its first visible row.
            row: row.saturating_sub(line - first_line),
            column: 0,
            width: size.columns,
            height,
        };
        Some((id, bounds))
    }

    pub(super) fn send(
        &mut self,
        at: (FocusTarget, CellRect),
        kind: MouseEventKind,
        report: MouseReport,
        now: Instant,
    ) -> MouseOutcome {
        self.deliver(at.0, &self.event(at, kind, report), now)
    }

    /// Returns what a component receives.
    pub(super) fn event(
        &self,
        (target, bounds): (FocusTarget, CellRect),
        kind: MouseEventKind,
        report: MouseReport,
    ) -> MouseEvent {
        let hidden = self.rows_above_screen(target, bounds);
        MouseEvent {
            kind,
            button: report.button(),
            modifiers: report.modifiers(),
            column: report.column.saturating_sub(bounds.column),
            row: report.row.saturating_sub(bounds.row) + hidden,
            screen_column: report.column,
            screen_row: report.row,
            width: bounds.width,
            height: bounds.height,
        }
    }

    pub(super) fn deliver(
        &mut self,
        target: FocusTarget,
        event: &MouseEvent,
        now: Instant,
    ) -> MouseOutcome {
        let context = InputContext {
            keybindings: self.keybindings,
            now,
            rows: self.scene.size.rows,
        };
        let Some(component) = self.scene.component(target) else {
            return MouseOutcome::default();
        };
        let outcome = component.handle_mouse(event, &context);
        if outcome.focus {
            self.scene.set_focus(Some(target));
        }
        outcome
    }

    /// Returns how many rows of a block are above the screen.
    fn rows_above_screen(&self, target: FocusTarget, bounds: CellRect) -> usize {
        match target {
            FocusTarget::Transcript(_) | FocusTarget::Dock(_) => {
                let line = self.screen.line_at(bounds.row);
                let block = self.scene.content.block_at(line);
                block.map_or(0, |(_, first, _)| line.saturating_sub(first))
            }
            FocusTarget::Overlay(_) => 0,
        }
    }
}

/// Returns how soon to paint after a component's response.
pub(super) fn frame_urgency(outcome: MouseOutcome, kind: MouseEventKind) -> FrameUrgency {
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
