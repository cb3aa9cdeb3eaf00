//! What one client shows of a screen.
//!
//! A feed compares the screen with what its client has, at most 20 times per second. A slow client skips frames; it never
//! delays the components or other clients.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_host::{MountSerial, ScreenFeed};
use pi_protocol::{ScreenEvent, ScreenLine};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::components::FRAME_INTERVAL;
use crate::off_screen::OffScreenInner;
use crate::row::ClientRows;

pub(crate) struct ComponentFeed {
    screen: Arc<OffScreenInner>,
    changes: watch::Receiver<u64>,
    known: BTreeMap<MountSerial, KnownComponent>,
    waiting: VecDeque<String>,
    next_frame: Instant,
}

/// A component as the client shows it.
struct KnownComponent {
    mount: ScreenEvent,
    rows: ClientRows,
}

impl ComponentFeed {
    pub(crate) fn new(screen: Arc<OffScreenInner>) -> Self {
        let mut changes = screen.subscribe();
        changes.mark_changed();
        Self {
            screen,
            changes,
            known: BTreeMap::new(),
            waiting: VecDeque::new(),
            next_frame: Instant::now(),
        }
    }

    async fn next_line(&mut self) -> String {
        loop {
            if let Some(line) = self.waiting.pop_front() {
                return line;
            }
            if self.changes.changed().await.is_err() {
                return std::future::pending().await;
            }
            // A canceled wait must not lose the change.
            self.changes.mark_changed();
            tokio::time::sleep_until(self.next_frame).await;
            self.changes.mark_unchanged();
            self.next_frame = Instant::now() + FRAME_INTERVAL;
            for event in self.frame() {
                match pi_protocol::json::to_string(&event) {
                    Ok(line) => self.waiting.push_back(line),
                    Err(error) => tracing::error!(%error, "cannot serialize screen line"),
                }
            }
        }
    }

    /// Returns the difference between the screen and what the client shows.
    fn frame(&mut self) -> Vec<ScreenEvent> {
        let state = self.screen.state();
        let focus = state.components.focused().map(|component| component.serial);
        let mut events = Vec::new();
        self.known.retain(|serial, _| {
            let is_shown = state.components.shown().any(|it| it.serial == *serial);
            if !is_shown {
                events.push(ScreenEvent::ScreenUnmount { id: *serial });
            }
            is_shown
        });
        for component in state.components.shown() {
            let mount = component.mount_event(state.size, focus);
            let known = self.known.entry(component.serial);
            let is_new = matches!(known, std::collections::btree_map::Entry::Vacant(_));
            let known = known.or_insert_with(|| KnownComponent {
                mount: mount.clone(),
                rows: ClientRows::default(),
            });
            if is_new || known.mount != mount {
                known.mount = mount.clone();
                events.push(mount);
            }
            if known.rows != component.drawn {
                events.push(changed_lines(
                    component.serial,
                    &known.rows,
                    &component.drawn,
                ));
                known.rows = component.drawn.clone();
            }
        }
        events
    }
}

fn changed_lines(id: MountSerial, known: &ClientRows, drawn: &ClientRows) -> ScreenEvent {
    let rows = drawn.rows.iter().enumerate();
    let lines = rows
        .filter(|(row, text)| known.rows.get(*row) != Some(text))
        .map(|(row, text)| ScreenLine {
            row,
            text: text.clone(),
        });
    ScreenEvent::ScreenLines {
        id,
        rows: drawn.rows.len(),
        lines: lines.collect(),
        cursor: drawn.cursor,
    }
}

impl ScreenFeed for ComponentFeed {
    fn next(&mut self) -> BoxFuture<'_, String> {
        Box::pin(self.next_line())
    }
}

impl Drop for ComponentFeed {
    fn drop(&mut self) {
        self.screen.state().clients -= 1;
        self.screen.work.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn only_changed_lines_are_sent() {
        let rows = |texts: &[&str]| ClientRows {
            rows: texts.iter().map(|text| (*text).to_owned()).collect(),
            cursor: None,
        };
        let event = changed_lines(7, &rows(&["a", "b", "c"]), &rows(&["a", "x"]));
        let json = pi_protocol::json::to_string(&event).unwrap();
        assert_eq!(
            json,
            r#"{"type":"screen_lines","id":7,"rows":2,"lines":[{"row":1,"text":"x"}],"cursor":null}"#
        );
    }
}
