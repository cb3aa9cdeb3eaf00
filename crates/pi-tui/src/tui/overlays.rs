//! Overlays of a UI: showing, hiding and focusing them.

use super::Tui;
use crate::component::Component;
use crate::focus::{FocusFallback, FocusTarget};
use crate::overlay::{CellRect, OverlayId, OverlayOptions};

impl Tui {
    pub fn show_overlay(
        &mut self,
        component: impl Component,
        options: OverlayOptions,
    ) -> OverlayId {
        self.show_boxed_overlay(Box::new(component), options)
    }

    pub fn show_boxed_overlay(
        &mut self,
        component: Box<dyn Component>,
        options: OverlayOptions,
    ) -> OverlayId {
        let captures = options.captures_focus;
        let id = self.overlays.push(component, options);
        self.update_focus(|focus, context| focus.overlay_shown(id, captures, context));
        id
    }

    /// Removes an overlay and returns its component.
    pub fn remove_overlay(&mut self, id: OverlayId) -> Option<Box<dyn Component>> {
        let mut overlay = self.overlays.remove(id)?;
        if self.notified_focus == Some(FocusTarget::Overlay(id)) {
            overlay.component.set_focused(false);
            self.notified_focus = None;
        }
        self.update_focus(|focus, context| focus.overlay_removed(id, context));
        Some(overlay.component)
    }

    /// Removes the most recently shown overlay.
    pub fn remove_last_overlay(&mut self) -> Option<Box<dyn Component>> {
        let id = self.overlays.last()?;
        self.remove_overlay(id)
    }

    /// Hides an overlay without removing it, or shows it again.
    pub fn set_overlay_hidden(&mut self, id: OverlayId, hidden: bool) {
        if self.overlays.is_hidden(id) == hidden {
            return;
        }
        self.overlays.set_hidden(id, hidden);
        if hidden {
            self.update_focus(|focus, context| focus.overlay_hidden(id, context));
        } else if self
            .overlays
            .get(id)
            .is_some_and(|entry| entry.options.captures_focus)
        {
            self.focus_overlay(id);
        }
    }

    /// Whether an overlay is hidden or removed.
    pub fn is_overlay_hidden(&self, id: OverlayId) -> bool {
        self.overlays.is_hidden(id)
    }

    /// Brings an overlay to the front and focuses it.
    pub fn focus_overlay(&mut self, id: OverlayId) {
        if self.overlays.is_visible(id, self.size) {
            self.overlays.bring_to_front(id);
            self.set_focus(Some(FocusTarget::Overlay(id)));
        }
    }

    /// Takes focus from an overlay and gives it to `fallback`.
    pub fn release_overlay(&mut self, id: OverlayId, fallback: FocusFallback) {
        self.update_focus(|focus, context| focus.release(id, fallback, context));
    }

    /// Whether any overlay is visible.
    pub fn has_overlay(&self) -> bool {
        self.overlays.any_visible(self.size)
    }

    /// Returns the cells an overlay covered in the last frame.
    pub fn overlay_bounds(&self, id: OverlayId) -> Option<CellRect> {
        self.overlays.bounds(id, self.size)
    }

    pub fn overlay_mut(&mut self, id: OverlayId) -> Option<&mut dyn Component> {
        Some(self.overlays.get_mut(id)?.component.as_mut())
    }
}
