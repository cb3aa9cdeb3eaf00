//! Mouse handling in full-screen mode: components first, then scrollbar, links and selection.

use std::time::{Duration, Instant};

use super::flash;
use super::pointer_surface::{PointerSurface, ScrollbarHit, frame_urgency};
use super::wheel::WheelSpin;
use super::{EventResponse, FrameUrgency, Tui};
use crate::focus::FocusTarget;
use crate::input::{MouseButton, MouseEvent, MouseEventKind, MouseReport};
use crate::overlay::CellRect;
use crate::render::{MouseSelection, SelectionGranularity};
use crate::terminal::clipboard_sequence;
use crate::text::link_at;

/// Maximum time between the clicks of a double click.
const DOUBLE_CLICK: Duration = Duration::from_millis(500);
/// How long a click on a block waits for a second one, which selects a word: the block may fold, which moves the text.
const CLICK_DELAY: Duration = Duration::from_millis(300);
/// How often a drag beyond an edge scrolls.
const AUTO_SCROLL: Duration = Duration::from_millis(50);

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
    /// A click on a block, and when to deliver it.
    delayed_click: Option<(Instant, FocusTarget, MouseEvent)>,
    /// Pointer position while a drag is beyond an edge, and when to scroll next.
    auto_scroll: Option<(Instant, MouseReport)>,
    wheel: WheelSpin,
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

    /// Returns when a drag beyond an edge scrolls next, or a click is delivered.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let scroll = self.auto_scroll.map(|(due, _)| due);
        let click = self.delayed_click.map(|(due, ..)| due);
        scroll.into_iter().chain(click).min()
    }

    fn handle(
        &mut self,
        report: MouseReport,
        now: Instant,
        surface: &mut PointerSurface<'_>,
    ) -> EventResponse {
        if report.is_wheel() {
            let direction = report.wheel_direction();
            let lines = self.wheel.lines(surface.options.wheel, direction, now);
            return surface.handle_wheel(report, lines, now);
        }
        let kind = match (report.released, report.is_motion(), report.button()) {
            (true, ..) => MouseEventKind::Release,
            (false, true, MouseButton::None) => MouseEventKind::Move,
            (false, true, _) => MouseEventKind::Drag,
            (false, false, _) => MouseEventKind::Press,
        };
        let cell = (report.column, report.row);
        let mut clicked = FrameUrgency::None;
        if kind == MouseEventKind::Press {
            let is_second = self.delayed_click.is_some_and(|(due, ..)| now < due);
            if is_second && self.pressed == Some(cell) {
                self.delayed_click = None;
            }
            clicked = self.deliver_click(now, surface);
            self.pressed = Some(cell);
        } else if self.pressed != Some(cell) {
            self.pressed = None;
        }
        let mut response = match self.drag {
            Some(ActiveDrag::Component(target, bounds)) => {
                self.continue_with_component((target, bounds), kind, report, now, surface)
            }
            Some(ActiveDrag::Thumb(offset)) => surface.drag_thumb(offset, report),
            Some(ActiveDrag::Selecting) => self.continue_selection(kind, report, now, surface),
            None => self.begin(kind, report, now, surface),
        };
        if kind == MouseEventKind::Release {
            self.drag = None;
            self.auto_scroll = None;
        }
        response.frame = response.frame.max(clicked);
        response
    }

    fn begin(
        &mut self,
        kind: MouseEventKind,
        report: MouseReport,
        now: Instant,
        surface: &mut PointerSurface<'_>,
    ) -> EventResponse {
        let target = surface.target_at(report);
        let on_overlay = matches!(target, Some((FocusTarget::Overlay(_), _)));
        if !on_overlay
            && kind == MouseEventKind::Press
            && let Some(hit) = surface.press_scrollbar(report)
        {
            if let ScrollbarHit::Thumb(offset) = hit {
                self.drag = Some(ActiveDrag::Thumb(offset));
            }
            return EventResponse::consumed(FrameUrgency::Now);
        }
        if let Some((target, bounds)) = target {
            let outcome = surface.send((target, bounds), kind, report, now);
            if outcome.stops_propagation() || on_overlay {
                if kind == MouseEventKind::Press {
                    surface.screen.selection = None;
                    self.drag = Some(ActiveDrag::Component(target, bounds));
                }
                return EventResponse::consumed(frame_urgency(outcome, kind));
            }
        }
        if kind == MouseEventKind::Press && report.button() == MouseButton::Left {
            let clicks = self.click((report.column, report.row), now);
            self.drag = Some(ActiveDrag::Selecting);
            let (position, line) = surface.position_at(report);
            let granularity = SelectionGranularity::for_clicks(clicks);
            surface.screen.selection = Some(MouseSelection::start(position, &line, granularity));
            return EventResponse::consumed(FrameUrgency::Soon);
        }
        EventResponse::consumed(FrameUrgency::None)
    }

    fn continue_with_component(
        &mut self,
        target: (FocusTarget, CellRect),
        kind: MouseEventKind,
        report: MouseReport,
        now: Instant,
        surface: &mut PointerSurface<'_>,
    ) -> EventResponse {
        let outcome = surface.send(target, kind, report, now);
        let mut urgency = frame_urgency(outcome, kind);
        let cell = (report.column, report.row);
        if kind == MouseEventKind::Release && self.pressed == Some(cell) {
            let count = self.click(cell, now);
            let click = MouseEventKind::Click { count };
            let outcome = surface.send(target, click, report, now);
            urgency = urgency.max(frame_urgency(outcome, click));
        }
        EventResponse::consumed(urgency)
    }

    fn continue_selection(
        &mut self,
        kind: MouseEventKind,
        report: MouseReport,
        now: Instant,
        surface: &mut PointerSurface<'_>,
    ) -> EventResponse {
        if kind != MouseEventKind::Release {
            self.drag_selection(report, now, surface);
            return EventResponse::consumed(FrameUrgency::Soon);
        }
        let mut response = EventResponse::consumed(FrameUrgency::Soon);
        match surface.screen.selected_text(&surface.scene.content) {
            Some(text) if surface.options.copy_on_select => {
                response.output = clipboard_sequence(&text);
                surface.flashes.push("Copied!", now + flash::SHORT_DURATION);
            }
            Some(_) => {}
            None => {
                surface.screen.selection = None;
                if self.pressed.is_some() {
                    let (_, line) = surface.position_at(report);
                    response.open_url = link_at(&line, report.column).map(str::to_owned);
                    if response.open_url.is_none() {
                        self.send_click(report, now, surface);
                    }
                }
            }
        }
        response
    }

    /// Delivers a click that neither selected text nor opened a link, to blocks once no second one can follow.
    fn send_click(&mut self, report: MouseReport, now: Instant, surface: &mut PointerSurface<'_>) {
        let Some(at) = surface.target_at(report) else {
            return;
        };
        let count = self.last_click.map_or(1, |click| click.count);
        let event = surface.event(at, MouseEventKind::Click { count }, report);
        self.delayed_click = Some((now + CLICK_DELAY, at.0, event));
        if !matches!(at.0, FocusTarget::Transcript(_)) {
            self.deliver_click(now, surface);
        }
    }

    /// Delivers the click that has been delayed; the next one is the first of a new series.
    fn deliver_click(&mut self, now: Instant, surface: &mut PointerSurface<'_>) -> FrameUrgency {
        let Some((_, target, event)) = self.delayed_click.take() else {
            return FrameUrgency::None;
        };
        if matches!(target, FocusTarget::Transcript(_)) {
            self.last_click = None;
        }
        frame_urgency(surface.deliver(target, &event, now), event.kind)
    }

    /// Extends the selection to the pointer, scrolling while the pointer is at an edge of the
    /// viewport.
    fn drag_selection(
        &mut self,
        report: MouseReport,
        now: Instant,
        surface: &mut PointerSurface<'_>,
    ) {
        let viewport = &mut surface.screen.viewport;
        let last_row = viewport.height().saturating_sub(1);
        let scroll = match report.row {
            0 => -1,
            row if row >= last_row && !viewport.follows_end() => 1,
            _ => 0,
        };
        viewport.scroll_by(scroll);
        self.auto_scroll = (scroll != 0).then_some((now + AUTO_SCROLL, report));
        let (position, line) = surface.position_at(report);
        if let Some(selection) = &mut surface.screen.selection {
            selection.extend(position, &line);
        }
    }
}

impl Tui {
    /// Returns when [`tick`](Self::tick) is due, or `None` if nothing is scheduled.
    pub fn deadline(&self) -> Option<Instant> {
        let scroll = self.gesture.deadline();
        scroll.into_iter().chain(self.flashes.deadline()).min()
    }

    /// Runs time-based updates: scrolls while a drag is beyond an edge, delivers delayed clicks, and removes expired
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
            self.with_pointer(|gesture, surface| gesture.drag_selection(report, now, surface));
            urgency = FrameUrgency::Soon;
        }
        let is_due = self
            .gesture
            .delayed_click
            .is_some_and(|(due, ..)| due <= now);
        if is_due {
            let clicked = self.with_pointer(|gesture, surface| gesture.deliver_click(now, surface));
            urgency = urgency.max(clicked.unwrap_or(FrameUrgency::None));
            self.gesture.delayed_click = None;
        }
        urgency
    }

    pub(super) fn handle_mouse(&mut self, report: MouseReport, now: Instant) -> EventResponse {
        let handled = self.with_pointer(|gesture, surface| gesture.handle(report, now, surface));
        let Some(mut response) = handled else {
            return EventResponse::ignored();
        };
        if !report.is_wheel()
            && let Some(screen) = self.screen.full_mut()
            && self.search.follow_pointer(report, &mut self.scene, screen)
        {
            response.frame = response.frame.max(FrameUrgency::Soon);
        }
        response
    }

    /// Calls `act` in full-screen mode.
    fn with_pointer<R>(
        &mut self,
        act: impl FnOnce(&mut Gesture, &mut PointerSurface<'_>) -> R,
    ) -> Option<R> {
        let screen = self.screen.full_mut()?;
        let mut surface = PointerSurface {
            scene: &mut self.scene,
            screen,
            flashes: &mut self.flashes,
            keybindings: &self.keybindings,
            options: self.pointer,
        };
        Some(act(&mut self.gesture, &mut surface))
    }
}
