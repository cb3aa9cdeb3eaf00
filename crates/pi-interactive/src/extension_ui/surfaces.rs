//! Which lines of extensions are out of date, and when they are asked for next.
//!
//! Lines are asked for at most once a frame, however often an extension says that it changed; what
//! somebody typed into is asked for at once.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use pi_runtime::ComponentId;
use pi_tui::FRAME_INTERVAL;
use serde_json::Value;

/// After this many draws in a row that failed or took too long a component is set aside.
const STRIKES: u8 = 3;

/// What is drawn.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum DrawSubject {
    /// A component on the screen.
    Component,
    /// A call of a tool, with what is known of it.
    Call(Value),
    /// A message or an entry.
    Custom(Value),
    /// Texts, and what extensions are told of them.
    TextTransform { parts: Value, shared: Value },
}

/// Something an extension draws.
#[derive(Debug)]
struct Surface {
    subject: DrawSubject,
    width: usize,
    /// When its lines are asked for next.
    due: Option<Instant>,
    drawn: Option<Instant>,
    strikes: u8,
    /// Somebody was told that it fails.
    has_warned: bool,
}

/// A question for lines.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct DrawRequest {
    pub(super) id: ComponentId,
    pub(super) width: usize,
    pub(super) subject: DrawSubject,
}

/// Everything extensions draw.
#[derive(Debug, Default)]
pub(super) struct Surfaces(BTreeMap<ComponentId, Surface>);

impl Surfaces {
    /// Wants the lines of something at a width.
    pub(super) fn want(
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
        surface.ask(now);
    }

    /// Wants the lines of every component again, with the next frame.
    pub(super) fn redraw(&mut self, now: Instant) {
        for surface in self.0.values_mut() {
            if surface.subject == DrawSubject::Component {
                surface.schedule_next_frame(now);
            }
        }
    }

    /// Wants the lines of every component again, at once: somebody typed.
    pub(super) fn redraw_now(&mut self, now: Instant) {
        for surface in self.0.values_mut() {
            if surface.subject == DrawSubject::Component {
                surface.ask(now);
            }
        }
    }

    /// Wants the lines of a row again.
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

    /// Returns what is due; otherwise how long that takes.
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

    /// Notes that something failed to draw, or took too long; tells whether it is the first time.
    pub(super) fn record_failure(&mut self, id: ComponentId) -> bool {
        let Some(surface) = self.0.get_mut(&id) else {
            return false;
        };
        surface.strikes = surface.strikes.saturating_add(1);
        !std::mem::replace(&mut surface.has_warned, true)
    }

    /// Notes that something was drawn in time.
    pub(super) fn record_success(&mut self, id: ComponentId) {
        if let Some(surface) = self.0.get_mut(&id) {
            surface.strikes = 0;
        }
    }
}

impl Surface {
    /// Asks for a drawing no sooner than frames follow each other.
    fn schedule_next_frame(&mut self, now: Instant) {
        let next = self.drawn.map_or(now, |drawn| drawn + FRAME_INTERVAL);
        self.ask(next.max(now));
    }

    fn ask(&mut self, due: Instant) {
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
    fn a_component_that_always_changes_is_drawn_once_a_frame() {
        let mut surfaces = Surfaces::default();
        let start = Instant::now();
        surfaces.want(1, 80, DrawSubject::Component, start);
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
    fn rows_are_drawn_again_only_when_they_are_named() {
        let mut surfaces = Surfaces::default();
        let start = Instant::now();
        let row = DrawSubject::Call(Value::Null);
        surfaces.want(1, 80, row, start);
        surfaces.next(start).unwrap();
        surfaces.redraw_now(start);
        assert_eq!(surfaces.next(start), Err(None));
        surfaces.redraw_row(1, start);
        assert!(surfaces.next(start + FRAME_INTERVAL).is_ok());
    }

    #[test]
    fn what_takes_too_long_again_and_again_is_set_aside() {
        let mut surfaces = Surfaces::default();
        let start = Instant::now();
        surfaces.want(1, 80, DrawSubject::Component, start);
        assert!(surfaces.record_failure(1));
        assert!(!surfaces.record_failure(1));
        assert!(surfaces.next(start).is_ok());
        surfaces.redraw_now(start);
        assert!(surfaces.next(start).is_ok());
        surfaces.record_success(1);
        assert!(!surfaces.record_failure(1), "it was told of already");
        surfaces.record_failure(1);
        surfaces.redraw_now(start);
        assert!(surfaces.next(start).is_ok());
        surfaces.record_failure(1);
        surfaces.redraw_now(start);
        assert_eq!(surfaces.next(start), Err(None));
    }
}
