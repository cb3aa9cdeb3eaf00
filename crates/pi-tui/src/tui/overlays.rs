//! Overlays of a UI: showing, hiding and moving the keyboard between them.

use super::Tui;
use crate::component::Component;
use crate::focus::{FocusTarget, FocusFallback};
use crate::overlay::{CellRect, OverlayId, OverlayOptions};

impl Tui {
    /// Shows a component over the screen.
    pub fn show_overlay(
        &mut self,
        component: impl Component,
        options: OverlayOptions,
    ) -> OverlayId {
        self.show_boxed_overlay(Box::new(component), options)
    }

    /// Shows a component over the screen.
    pub fn show_boxed_overlay(
        &mut self,
        component: Box<dyn Component>,
        options: OverlayOptions,
    ) -> OverlayId {
        let captures = options.captures_focus;
        let id = self.overlays.push(component, options);
        self.with_focus(|focus, stage| focus.overlay_shown(id, captures, stage));
        id
    }

    /// Takes an overlay off the screen and returns its component.
    pub fn remove_overlay(&mut self, id: OverlayId) -> Option<Box<dyn Component>> {
        let mut overlay = self.overlays.remove(id)?;
        if self.told == Some(FocusTarget::Overlay(id)) {
            overlay.component.set_focused(false);
            self.told = None;
        }
        self.with_focus(|focus, stage| focus.overlay_removed(id, stage));
        Some(overlay.component)
    }

    /// Takes the overlay shown last off the screen.
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
            self.with_focus(|focus, stage| focus.overlay_hidden(id, stage));
        } else if self
            .overlays
            .get(id)
            .is_some_and(|entry| entry.options.captures_focus)
        {
            self.focus_overlay(id);
        }
    }

    /// Returns whether an overlay is hidden or gone.
    pub fn is_overlay_hidden(&self, id: OverlayId) -> bool {
        self.overlays.is_hidden(id)
    }

    /// Brings an overlay to the front and gives it the keyboard.
    pub fn focus_overlay(&mut self, id: OverlayId) {
        if self.overlays.is_visible(id, self.size) {
            self.overlays.bring_to_front(id);
            self.set_focus(Some(FocusTarget::Overlay(id)));
        }
    }

    /// Takes the keyboard from an overlay and gives it to its heir.
    pub fn release_overlay(&mut self, id: OverlayId, heir: FocusFallback) {
        self.with_focus(|focus, stage| focus.release(id, heir, stage));
    }

    /// Returns whether an overlay is in view.
    pub fn has_overlay(&self) -> bool {
        self.overlays.any_visible(self.size)
    }

    /// Returns the cells an overlay covered in the last frame.
    pub fn overlay_bounds(&self, id: OverlayId) -> Option<CellRect> {
        self.overlays.bounds(id, self.size)
    }

    /// Returns an overlay's component to change it.
    pub fn overlay_mut(&mut self, id: OverlayId) -> Option<&mut dyn Component> {
        Some(self.overlays.get_mut(id)?.component.as_mut())
    }
}
