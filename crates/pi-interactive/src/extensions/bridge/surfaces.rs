//! Tracks which extension drawings are stale and when to request them.
//!
//! Drawings are requested at most once per frame, however often an extension invalidates them; after input
//! they are requested at once.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use pi_host::ComponentId;
use pi_tui::FRAME_INTERVAL;
use serde_json::Value;

/// A component is set aside after this many consecutive failed or slow draws.
const STRIKES: u8 = 3;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum DrawSubject {
    Component,
    /// A tool call, with its state.
    Call(Value),
    /// A message or entry.
    Custom(Value),
    /// Texts, and the options shared by all of them.
    Texts {
        parts: Value,
        shared: Value,
    },
}

#[derive(Debug)]
struct Surface {
    subject: DrawSubject,
    width: usize,
    /// When to request it next.
    due: Option<Instant>,
    drawn: Option<Instant>,
    strikes: u8,
    /// Whether the failure has been reported.
    has_warned: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct DrawRequest {
    pub(super) id: ComponentId,
    pub(super) width: usize,
    pub(super) subject: DrawSubject,
}

#[derive(Debug, Default)]
pub(super) struct Surfaces(BTreeMap<ComponentId, Surface>);

impl Surfaces {
    /// Requests the lines of something at a width.
    pub(super) fn request(
        &mut self,
        id: ComponentId,
        width: usize,
        subject: DrawSubject,
        now: Instant,
    ) {
        let surface = self.0.entry(id).or_insert(Surface {
            subject: DrawSubject::Component,
            width,
            due: None,
            drawn: None,
            strikes: 0,
            has_warned: false,
        });
        surface.subject = subject;
        surface.width = width;
        surface.schedule(now);
    }

    /// Requests the lines of every component with the next frame.
    pub(super) fn redraw(&mut self, now: Instant) {
        for surface in self.0.values_mut() {
            if surface.subject == DrawSubject::Component {
                surface.schedule_next_frame(now);
            }
        }
    }

    /// Requests the lines of every component at once, after input.
    pub(super) fn redraw_now(&mut self, now: Instant) {
        for surface in self.0.values_mut() {
            if surface.subject == DrawSubject::Component {
                surface.schedule(now);
            }
        }
    }

    /// Requests the lines of a row again.
    pub(super) fn redraw_row(&mut self, id: ComponentId, now: Instant) {
        if let Some(surface) = self.0.get_mut(&id) {
            surface.schedule_next_frame(now);
        }
    }

    pub(super) fn forget(&mut self, id: ComponentId) {
        self.0.remove(&id);
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Returns what is due; otherwise the time until something is.
    pub(super) fn next(&mut self, now: Instant) -> Result<DrawRequest, Option<Duration>> {
        let first = self
            .0
            .iter_mut()
            .filter_map(|(id, surface)| Some((surface.due?, *id, surface)))
            .min_by_key(|(due, id, _)| (*due, *id));
        let Some((due, id, surface)) = first else {
            return Err(None);
        };
        if due > now {
            return Err(Some(due - now));
        }
        surface.due = None;
        surface.drawn = Some(now);
        Ok(DrawRequest {
            id,
            width: surface.width,
            subject: surface.subject.clone(),
        })
    }

    /// Records a failed or slow draw; returns whether it is the first one.
    pub(super) fn record_failure(&mut self, id: ComponentId) -> bool {
        let Some(surface) = self.0.get_mut(&id) else {
            return false;
        };
        surface.strikes = surface.strikes.saturating_add(1);
        !std::mem::replace(&mut surface.has_warned, true)
    }

    /// Records a successful draw.
    pub(super) fn record_success(&mut self, id: ComponentId) {
        if let Some(surface) = self.0.get_mut(&id) {
            surface.strikes = 0;
        }
    }
}

impl Surface {
    /// Schedules a draw no sooner than the next frame.
    fn schedule_next_frame(&mut self, now: Instant) {
        let next = self.drawn.map_or(now, |drawn| drawn + FRAME_INTERVAL);
        self.schedule(next.max(now));
    }

    fn schedule(&mut self, due: Instant) {
        if self.strikes < STRIKES {
            self.due = Some(self.due.map_or(due, |earlier| earlier.min(due)));
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn component(id: ComponentId, width: usize) -> DrawRequest {
        DrawRequest {
            id,
            width,
            subject: DrawSubject::Component,
        }
    }

    #[test]
    fn a_component_is_drawn_at_most_once_per_frame() {
        let mut surfaces = Surfaces::default();
        let start = Instant::now();
        surfaces.request(1, 80, DrawSubject::Component, start);
        assert_eq!(surfaces.next(start), Ok(component(1, 80)));
        assert_eq!(surfaces.next(start), Err(None));
        surfaces.redraw(start);
        surfaces.redraw(start);
        assert_eq!(surfaces.next(start), Err(Some(FRAME_INTERVAL)));
        surfaces.redraw_now(start);
        assert_eq!(surfaces.next(start), Ok(component(1, 80)));
        surfaces.redraw(start);
        assert_eq!(surfaces.next(start + FRAME_INTERVAL), Ok(component(1, 80)));
    }

    #[test]
    fn rows_are_redrawn_individually() {
        let mut surfaces = Surfaces::default();
        let start = Instant::now();
        let row = DrawSubject::Call(Value::Null);
        surfaces.request(1, 80, row, start);
        surfaces.next(start).unwrap();
        surfaces.redraw_now(start);
        assert_eq!(surfaces.next(start), Err(None));
        surfaces.redraw_row(1, start);
        assert!(surfaces.next(start + FRAME_INTERVAL).is_ok());
    }

    #[test]
    fn slow_components_are_set_aside() {
        let mut surfaces = Surfaces::default();
        let start = Instant::now();
        surfaces.request(1, 80, DrawSubject::Component, start);
        assert!(surfaces.record_failure(1));
        assert!(!surfaces.record_failure(1));
        assert!(surfaces.next(start).is_ok());
        surfaces.redraw_now(start);
        assert!(surfaces.next(start).is_ok());
        surfaces.record_success(1);
        assert!(!surfaces.record_failure(1), "already reported");
        surfaces.record_failure(1);
        surfaces.redraw_now(start);
        assert!(surfaces.next(start).is_ok());
        surfaces.record_failure(1);
        surfaces.redraw_now(start);
        assert_eq!(surfaces.next(start), Err(None));
    }
}
