//! The selection of a list, moved by keys, wheel and clicks.
//!
//! Content and rendering of the entries are up to the dialog.

use std::ops::Range;

use pi_tui::{InputContext, InputEvent, MouseButton, MouseEvent, MouseEventKind, action};

use super::canvas::HitTarget;

/// Movement beyond the first and last entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EdgeBehavior {
    Wrap,
    Stop,
}

/// What an input event did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PickerEvent {
    /// The selection may have moved.
    Moved,
    Confirmed,
    Canceled,
}

#[derive(Debug)]
pub(super) struct Picker {
    selected: usize,
    count: usize,
    edge: EdgeBehavior,
    /// Number of entries shown when last painted.
    page: usize,
    pressed: Option<usize>,
}

impl Picker {
    pub(super) fn new(count: usize, edge: EdgeBehavior) -> Self {
        Self {
            selected: 0,
            count,
            edge,
            page: 1,
            pressed: None,
        }
    }

    pub(super) fn selected(&self) -> usize {
        self.selected
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Selects an entry, clamped to the last one.
    pub(super) fn select(&mut self, index: usize) {
        self.selected = index.min(self.count.saturating_sub(1));
    }

    pub(super) fn set_count(&mut self, count: usize) {
        self.count = count;
        self.select(self.selected);
    }

    /// Returns the entries to paint if `page` fit, with the selected one near the middle.
    pub(super) fn visible_range(&mut self, page: usize) -> Range<usize> {
        self.page = page.max(1);
        let start = self
            .selected
            .saturating_sub(self.page / 2)
            .min(self.count.saturating_sub(self.page));
        start..(start + self.page).min(self.count)
    }

    /// Handles list keys; `None` for other keys.
    pub(super) fn key(
        &mut self,
        event: &InputEvent,
        context: &InputContext<'_>,
    ) -> Option<PickerEvent> {
        let InputEvent::Key(key) = event else {
            return None;
        };
        let pressed = |action| context.keybindings.matches(key, action);
        let last = self.count.saturating_sub(1);
        if pressed(action::SELECT_UP) {
            self.selected = match (self.selected, self.edge) {
                (0, EdgeBehavior::Wrap) => last,
                (selected, _) => selected.saturating_sub(1),
            };
        } else if pressed(action::SELECT_DOWN) {
            self.selected = match (self.selected >= last, self.edge) {
                (true, EdgeBehavior::Wrap) => 0,
                (true, EdgeBehavior::Stop) => last,
                (false, _) => self.selected + 1,
            };
        } else if pressed(action::SELECT_PAGE_UP) {
            self.page_up();
        } else if pressed(action::SELECT_PAGE_DOWN) {
            self.page_down();
        } else if pressed(action::SELECT_CONFIRM) {
            return Some(PickerEvent::Confirmed);
        } else if pressed(action::SELECT_CANCEL) {
            return Some(PickerEvent::Canceled);
        } else {
            return None;
        }
        Some(PickerEvent::Moved)
    }

    pub(super) fn page_up(&mut self) {
        self.selected = self.selected.saturating_sub(self.page);
    }

    pub(super) fn page_down(&mut self) {
        self.select(self.selected + self.page);
    }

    /// Handles letter keys of lists without a search field: `j` and `k` move.
    pub(super) fn letter_key(&mut self, event: &InputEvent) -> Option<PickerEvent> {
        let InputEvent::Key(key) = event else {
            return None;
        };
        match key.text()? {
            'j' if self.selected + 1 < self.count => self.selected += 1,
            'k' => self.selected = self.selected.saturating_sub(1),
            'j' => {}
            _ => return None,
        }
        Some(PickerEvent::Moved)
    }

    /// Handles the wheel anywhere, and clicks on entries: pressing selects, releasing confirms.
    pub(super) fn mouse(
        &mut self,
        event: &MouseEvent,
        hit: Option<HitTarget>,
    ) -> Option<PickerEvent> {
        let item = match hit {
            Some(HitTarget::Item(index)) if index < self.count => Some(index),
            _ => None,
        };
        match (event.kind, event.button, item) {
            (MouseEventKind::Wheel { lines }, _, _) if lines != 0 => {
                if lines < 0 {
                    self.selected = self.selected.saturating_sub(1);
                } else {
                    self.select(self.selected + 1);
                }
                Some(PickerEvent::Moved)
            }
            (MouseEventKind::Press, MouseButton::Left, Some(index)) => {
                self.pressed = Some(index);
                self.selected = index;
                Some(PickerEvent::Moved)
            }
            // Pressing may have scrolled the list, so that another entry is under the pointer by now.
            (MouseEventKind::Click { .. }, MouseButton::Left, _) => {
                let clicked = self.pressed.take().or(item)?;
                self.select(clicked);
                Some(PickerEvent::Confirmed)
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use pi_tui::{KeyEvent, Platform, UserKeybindings};
    use pretty_assertions::assert_eq;

    use super::*;

    fn press(picker: &mut Picker, keys: &str) -> Option<PickerEvent> {
        let keybindings = crate::keys::keybindings(Platform::Linux, &UserKeybindings::default());
        let context = InputContext {
            keybindings: &keybindings,
            now: Instant::now(),
            rows: 24,
        };
        let mut result = None;
        for key in keys.split(' ') {
            let event = InputEvent::Key(KeyEvent::press(key.parse().unwrap()));
            result = picker.key(&event, &context);
        }
        result
    }

    #[test]
    fn the_edges_wrap_or_stop() {
        let mut wrapping = Picker::new(3, EdgeBehavior::Wrap);
        press(&mut wrapping, "up");
        assert_eq!(wrapping.selected(), 2);
        press(&mut wrapping, "down");
        assert_eq!(wrapping.selected(), 0);
        let mut stopping = Picker::new(3, EdgeBehavior::Stop);
        press(&mut stopping, "up");
        assert_eq!(stopping.selected(), 0);
        press(&mut stopping, "down down down down");
        assert_eq!(stopping.selected(), 2);
    }

    #[test]
    fn an_empty_list_does_not_move() {
        for edge in [EdgeBehavior::Wrap, EdgeBehavior::Stop] {
            let mut picker = Picker::new(0, edge);
            press(&mut picker, "up down pageUp pageDown");
            assert_eq!(picker.selected(), 0);
            assert_eq!(picker.visible_range(10), 0..0);
        }
    }

    #[test]
    fn the_selection_is_centered() {
        let mut picker = Picker::new(20, EdgeBehavior::Wrap);
        assert_eq!(picker.visible_range(5), 0..5);
        picker.select(10);
        assert_eq!(picker.visible_range(5), 8..13);
        press(&mut picker, "pageDown");
        assert_eq!(picker.visible_range(5), 13..18);
        picker.select(usize::MAX);
        assert_eq!(picker.visible_range(5), 15..20);
        picker.set_count(2);
        assert_eq!(picker.selected(), 1);
        assert_eq!(picker.visible_range(5), 0..2);
    }
}
