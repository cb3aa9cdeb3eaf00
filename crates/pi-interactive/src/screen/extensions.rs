//! Extension components on screen, and which component occupies the prompt area.
//!
//! The prompt area shows the first of: a dialog, the newest component an extension mounted there, an
//! extension's editor, the prompt.

use std::any::Any;

use pi_host::{BlockedStatus, ComponentId, OverlayPlacement};
use pi_screen::overlay_options;
use pi_tui::{BlockId, FocusFallback, FocusTarget, Liveness, OverlayId};

use super::{AppScreen, DialogSlot};
use crate::extensions::view::ExtensionView;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WidgetSide {
    Above,
    Below,
}

impl WidgetSide {
    /// Parses the placement given by an extension.
    pub(crate) fn named(placement: Option<&str>) -> Self {
        match placement {
            Some("belowEditor") => Self::Below,
            _ => Self::Above,
        }
    }
}

#[derive(Debug)]
struct ExtensionOverlay {
    component: ComponentId,
    overlay: OverlayId,
    /// Hidden by the extension.
    hidden: bool,
    /// Does not fit the screen.
    unfit: bool,
}

/// Blocks and overlays of extension components.
#[derive(Debug, Default)]
pub(super) struct ExtensionSlots {
    customs: Vec<(ComponentId, BlockId)>,
    /// What components in place of the prompt wait for.
    blocked: Vec<(ComponentId, BlockedStatus)>,
    editor: Option<(ComponentId, BlockId)>,
    footer: Option<(ComponentId, BlockId)>,
    bottom: Vec<(ComponentId, BlockId)>,
    overlays: Vec<ExtensionOverlay>,
}

impl ExtensionSlots {
    fn dock_blocks(&self) -> impl Iterator<Item = (ComponentId, BlockId)> {
        let single = self.editor.iter().chain(&self.footer);
        let all = self.customs.iter().chain(&self.bottom).chain(single);
        all.copied()
    }

    fn block(&self, id: ComponentId) -> Option<BlockId> {
        let mut blocks = self.dock_blocks();
        blocks.find_map(|(known, block)| (known == id).then_some(block))
    }

    fn overlay(&self, id: ComponentId) -> Option<OverlayId> {
        let overlay = self.overlays.iter().find(|it| it.component == id);
        overlay.map(|it| it.overlay)
    }
}

impl AppScreen {
    /// Shows a component temporarily in place of the prompt.
    pub(crate) fn mount_custom(&mut self, view: ExtensionView, blocked: Option<BlockedStatus>) {
        let id = view.id();
        let block = self.insert_at_prompt(view);
        self.extensions.customs.push((id, block));
        self.extensions
            .blocked
            .extend(blocked.map(|status| (id, status)));
        self.update_front();
    }

    /// Returns what the newest component in place of the prompt waits for.
    pub(crate) fn blocked(&self) -> Option<&BlockedStatus> {
        let (newest, _) = self.extensions.customs.last()?;
        let mut blocked = self.extensions.blocked.iter();
        blocked.find_map(|(id, status)| (id == newest).then_some(status))
    }

    /// Shows an extension's editor in place of the prompt.
    pub(crate) fn mount_editor(&mut self, view: ExtensionView) {
        if let Some((_, block)) = self.extensions.editor.take() {
            self.runner.tui_mut().dock_mut().remove(block);
        }
        let id = view.id();
        let block = self.insert_at_prompt(view);
        self.extensions.editor = Some((id, block));
        self.update_front();
    }

    /// Shows a component in place of the footer.
    pub(crate) fn mount_footer(&mut self, view: ExtensionView) {
        let id = view.id();
        let before = self.slots.footer;
        let dock = self.runner.tui_mut().dock_mut();
        let block = dock.insert_before(before, Box::new(view), Liveness::Settled);
        self.extensions.footer = Some((id, block));
        self.with_footer(|footer| footer.set_hidden(true));
    }

    /// Shows a component below the footer.
    pub(crate) fn mount_bottom(&mut self, view: ExtensionView) {
        let id = view.id();
        let block = self.runner.tui_mut().dock_mut().push(view);
        self.extensions.bottom.push((id, block));
    }

    pub(crate) fn mount_overlay(&mut self, view: ExtensionView, placement: &OverlayPlacement) {
        let component = view.id();
        let tui = self.runner.tui_mut();
        let overlay = tui
            .scene_mut()
            .show_overlay(view, overlay_options(placement));
        if !placement.is_visible {
            tui.scene_mut().set_overlay_hidden(overlay, true);
        }
        self.extensions.overlays.push(ExtensionOverlay {
            component,
            overlay,
            hidden: false,
            unfit: !placement.is_visible,
        });
    }

    fn insert_at_prompt(&mut self, view: ExtensionView) -> BlockId {
        let before = self.slots.editor;
        let dock = self.runner.tui_mut().dock_mut();
        dock.insert_before(before, Box::new(view), Liveness::Settled)
    }

    pub(crate) fn unmount(&mut self, id: ComponentId) {
        if let Some(overlay) = self.extensions.overlay(id) {
            self.runner.tui_mut().scene_mut().remove_overlay(overlay);
            self.extensions.overlays.retain(|it| it.component != id);
        }
        if let Some(block) = self.extensions.block(id) {
            self.runner.tui_mut().dock_mut().remove(block);
        }
        let slots = &mut self.extensions;
        let is_other = |known: &(ComponentId, BlockId)| known.0 != id;
        slots.customs.retain(is_other);
        slots.blocked.retain(|(known, _)| *known != id);
        slots.bottom.retain(is_other);
        slots.editor = slots.editor.filter(is_other);
        let had_footer = slots.footer.is_some();
        slots.footer = slots.footer.filter(is_other);
        if had_footer && slots.footer.is_none() {
            self.with_footer(|footer| footer.set_hidden(false));
        }
        for side in [WidgetSide::Above, WidgetSide::Below] {
            self.with_widgets(side, |widgets| widgets.remove_component(id));
        }
        self.update_front();
    }

    /// Removes all extension components.
    pub(crate) fn unmount_all(&mut self) {
        let blocks = self.extensions.dock_blocks().map(|(id, _)| id);
        let overlays = self.extensions.overlays.iter().map(|it| it.component);
        let ids: Vec<ComponentId> = blocks.chain(overlays).collect();
        for id in ids {
            self.unmount(id);
        }
        for side in [WidgetSide::Above, WidgetSide::Below] {
            self.with_widgets(side, super::Widgets::clear);
        }
    }

    /// Runs a closure on an extension's view, in the dock or in an overlay.
    pub(crate) fn with_extension_view<R>(
        &mut self,
        id: ComponentId,
        change: impl FnOnce(&mut ExtensionView) -> R,
    ) -> Option<R> {
        if let Some(overlay) = self.extensions.overlay(id) {
            let component = self.runner.tui_mut().scene_mut().overlay_mut(overlay)?;
            let view = (component as &mut dyn Any).downcast_mut::<ExtensionView>()?;
            return Some(change(view));
        }
        if let Some(block) = self.extensions.block(id) {
            let component = self.runner.tui_mut().dock_mut().get_mut(block)?;
            let view = (component as &mut dyn Any).downcast_mut::<ExtensionView>()?;
            return Some(change(view));
        }
        let mut change = Some(change);
        for side in [WidgetSide::Above, WidgetSide::Below] {
            let changed = self.with_widgets(side, |widgets| {
                let view = widgets.component(id)?;
                change.take().map(|change| change(view))
            });
            if changed.is_some() {
                return changed;
            }
        }
        None
    }

    /// Whether an extension's editor replaces the prompt.
    pub(crate) fn has_extension_editor(&self) -> bool {
        self.extensions.editor.is_some()
    }

    /// Returns the focused extension component.
    pub(crate) fn focused_extension_view(&self) -> Option<ComponentId> {
        match self.peek().scene().focused()? {
            FocusTarget::Overlay(overlay) => {
                let mut overlays = self.extensions.overlays.iter();
                overlays.find_map(|it| (it.overlay == overlay).then_some(it.component))
            }
            FocusTarget::Dock(block) => {
                let mut blocks = self.extensions.dock_blocks();
                blocks.find_map(|(id, known)| (known == block).then_some(id))
            }
            FocusTarget::Transcript(_) => None,
        }
    }

    /// Focuses a component, or the default one.
    pub(crate) fn focus_extension_view(&mut self, id: Option<ComponentId>) {
        let Some(id) = id else {
            let front = self.front();
            self.runner
                .tui_mut()
                .scene_mut()
                .set_focus(Some(FocusTarget::Dock(front)));
            return;
        };
        if let Some(overlay) = self.extensions.overlay(id) {
            self.runner.tui_mut().scene_mut().focus_overlay(overlay);
        } else if let Some(block) = self.extensions.block(id) {
            self.runner
                .tui_mut()
                .scene_mut()
                .set_focus(Some(FocusTarget::Dock(block)));
        }
    }

    /// Moves the focus away from an overlay.
    pub(crate) fn release_overlay(
        &mut self,
        id: ComponentId,
        use_default: bool,
        fallback: Option<ComponentId>,
    ) {
        let Some(overlay) = self.extensions.overlay(id) else {
            return;
        };
        let target = fallback.and_then(|fallback| {
            let overlay = self.extensions.overlay(fallback).map(FocusTarget::Overlay);
            overlay.or_else(|| self.extensions.block(fallback).map(FocusTarget::Dock))
        });
        let fallback = if use_default {
            FocusFallback::Automatic
        } else {
            FocusFallback::Target(target)
        };
        self.runner
            .tui_mut()
            .scene_mut()
            .release_overlay(overlay, fallback);
    }

    /// Hides an overlay because the extension requested it (`hidden`) or because it does not fit.
    pub(crate) fn hide_overlay(
        &mut self,
        id: ComponentId,
        hidden: Option<bool>,
        fits: Option<bool>,
    ) {
        let known = self.extensions.overlays.iter_mut();
        let Some(overlay) = known.into_iter().find(|it| it.component == id) else {
            return;
        };
        overlay.hidden = hidden.unwrap_or(overlay.hidden);
        overlay.unfit = fits.map_or(overlay.unfit, |fits| !fits);
        let (id, hidden) = (overlay.overlay, overlay.hidden || overlay.unfit);
        self.runner
            .tui_mut()
            .scene_mut()
            .set_overlay_hidden(id, hidden);
    }

    /// Returns the cells that extension overlays covered in the last frame.
    pub(crate) fn overlay_bounds(&self) -> Vec<(ComponentId, [usize; 4])> {
        let overlays = self.extensions.overlays.iter();
        overlays
            .filter_map(|it| {
                let bounds = self.peek().scene().overlay_bounds(it.overlay)?;
                let cells = [bounds.row, bounds.column, bounds.width, bounds.height];
                Some((it.component, cells))
            })
            .collect()
    }

    /// Returns the block that occupies the prompt area.
    fn front(&self) -> BlockId {
        let custom = self.extensions.customs.last().map(|(_, block)| *block);
        let editor = self.extensions.editor.map(|(_, block)| block);
        let dialog = self.dialogs.last().map(|(_, block)| *block);
        let front = dialog.or(custom).or(editor);
        front.unwrap_or(self.slots.editor)
    }

    /// Shows the component that occupies the prompt area, hides the others, and moves the focus.
    pub(super) fn update_front(&mut self) {
        let front = self.front();
        let slots = &self.extensions;
        let candidates = slots.customs.iter().chain(&slots.editor);
        let candidates: Vec<BlockId> = candidates.map(|(_, block)| *block).collect();
        for block in candidates {
            self.with(block, |view: &mut ExtensionView| {
                view.set_hidden(block != front);
            });
        }
        for (_, block) in self.dialogs.clone() {
            self.with(block, |slot: &mut DialogSlot| slot.hidden = block != front);
        }
        let hidden = self.slots.editor != front;
        self.with_editor(|editor| editor.set_hidden(hidden));
        self.runner
            .tui_mut()
            .scene_mut()
            .set_focus(Some(FocusTarget::Dock(front)));
    }
}
