//! The components of a UI: transcript, dock and overlays, and which of them has the focus.

use crate::component::Component;
use crate::focus::{Focus, FocusContext, FocusFallback, FocusTarget};
use crate::overlay::{CellRect, OverlayId, OverlayOptions, OverlayStack};
use crate::render::ScreenContent;
use crate::terminal::Size;

/// Shows, hides and focuses components.
#[derive(Default)]
pub struct Scene {
    pub(super) content: ScreenContent,
    pub(super) overlays: OverlayStack,
    focus: Focus,
    /// Component that last received `set_focused(true)`.
    notified_focus: Option<FocusTarget>,
    pub(super) size: Size,
}

impl std::fmt::Debug for Scene {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Scene")
            .field("content", &self.content)
            .field("focus", &self.focus)
            .field("size", &self.size)
            .finish_non_exhaustive()
    }
}

impl Scene {
    pub fn show_overlay(
        &mut self,
        component: impl Component,
        options: OverlayOptions,
    ) -> OverlayId {
        let captures = options.captures_focus;
        let id = self.overlays.push(Box::new(component), options);
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

    pub fn focused(&self) -> Option<FocusTarget> {
        self.focus.current()
    }

    /// Moves keyboard focus to `target`, or clears it.
    pub fn set_focus(&mut self, target: Option<FocusTarget>) {
        self.update_focus(|focus, context| focus.set(target, context));
    }

    /// Moves the focus away from a component that was removed or hidden.
    pub(super) fn resolve_focus(&mut self) {
        self.update_focus(Focus::resolve);
    }

    /// Changes focus and notifies the components that gained or lost it.
    fn update_focus(&mut self, change: impl FnOnce(&mut Focus, &FocusContext<'_>)) {
        let (content, overlays) = (&self.content, &self.overlays);
        let focus_context = FocusContext {
            overlays,
            size: self.size,
            is_mounted: &|target| match target {
                FocusTarget::Transcript(id) => content.transcript.contains(id),
                FocusTarget::Dock(id) => content.dock.contains(id),
                FocusTarget::Overlay(id) => overlays.get(id).is_some(),
            },
        };
        change(&mut self.focus, &focus_context);
        let current = self.focus.current();
        let previous = std::mem::replace(&mut self.notified_focus, current);
        if previous == current {
            return;
        }
        for (target, focused) in [(previous, false), (current, true)] {
            if let Some(component) = target.and_then(|target| self.component(target)) {
                component.set_focused(focused);
            }
        }
    }

    pub(super) fn component(&mut self, target: FocusTarget) -> Option<&mut dyn Component> {
        match target {
            FocusTarget::Transcript(id) => self.content.transcript.get_mut(id),
            FocusTarget::Dock(id) => self.content.dock.get_mut(id),
            FocusTarget::Overlay(id) => self.overlay_mut(id),
        }
    }

    /// Makes every component drop its cached lines.
    pub(super) fn invalidate(&mut self) {
        self.content.transcript.invalidate();
        self.content.dock.invalidate();
        self.overlays.invalidate();
    }
}
