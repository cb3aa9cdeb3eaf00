//! Components of extensions on the screen: where each stands, and who has the place of the prompt.
//!
//! In the place of the prompt stand, the first of these that there is: a dialog, the newest component an
//! extension shows there, an extension's editor, the prompt.

use std::any::Any;

use pi_runtime::{ComponentId, OverlayExtent, OverlayPlacement};
use pi_tui::{
    Anchor, BlockId, FocusTarget, Heir, Liveness, Margin, OverlayId, OverlayOptions, Position,
    Width,
};

use super::Screen;
use crate::foreign_view::ForeignView;

/// Which side of the prompt a widget is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Above,
    Below,
}

impl Side {
    /// Returns the side an extension names.
    pub(crate) fn named(placement: Option<&str>) -> Self {
        match placement {
            Some("belowEditor") => Self::Below,
            _ => Self::Above,
        }
    }
}

#[derive(Debug)]
struct OverlayPlaced {
    component: ComponentId,
    overlay: OverlayId,
    /// The extension hides it.
    hidden: bool,
    /// It does not fit the size of the screen.
    unfit: bool,
}

/// Where components of extensions are.
#[derive(Debug, Default)]
pub(super) struct ForeignPlaces {
    customs: Vec<(ComponentId, BlockId)>,
    editor: Option<(ComponentId, BlockId)>,
    footer: Option<(ComponentId, BlockId)>,
    bottom: Vec<(ComponentId, BlockId)>,
    overlays: Vec<OverlayPlaced>,
}

impl ForeignPlaces {
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

impl Screen {
    /// Shows a component in the place of the prompt, for a while.
    pub(crate) fn mount_custom(&mut self, view: ForeignView) {
        let id = view.id();
        let block = self.insert_at_prompt(view);
        self.foreign.customs.push((id, block));
        self.settle_front();
    }

    /// Shows an extension's editor in the place of the prompt.
    pub(crate) fn mount_editor(&mut self, view: ForeignView) {
        if let Some((_, block)) = self.foreign.editor.take() {
            self.runner.tui().dock_mut().remove(block);
        }
        let id = view.id();
        let block = self.insert_at_prompt(view);
        self.foreign.editor = Some((id, block));
        self.settle_front();
    }

    /// Shows a component in the place of the footer.
    pub(crate) fn mount_footer(&mut self, view: ForeignView) {
        let id = view.id();
        let before = self.places.footer;
        let dock = self.runner.tui().dock_mut();
        let block = dock.insert_before(before, Box::new(view), Liveness::Settled);
        self.foreign.footer = Some((id, block));
        self.with_footer(|footer| footer.set_hidden(true));
    }

    /// Shows a component below everything.
    pub(crate) fn mount_bottom(&mut self, view: ForeignView) {
        let id = view.id();
        let block = self.runner.tui().dock_mut().push(view);
        self.foreign.bottom.push((id, block));
    }

    /// Shows a component over everything.
    pub(crate) fn mount_overlay(&mut self, view: ForeignView, place: &OverlayPlacement) {
        let component = view.id();
        let tui = self.runner.tui();
        let overlay = tui.show_overlay(view, overlay_options(place));
        if !place.is_visible {
            tui.set_overlay_hidden(overlay, true);
        }
        self.foreign.overlays.push(OverlayPlaced {
            component,
            overlay,
            hidden: false,
            unfit: !place.is_visible,
        });
    }

    fn insert_at_prompt(&mut self, view: ForeignView) -> BlockId {
        let before = self.places.editor;
        let dock = self.runner.tui().dock_mut();
        dock.insert_before(before, Box::new(view), Liveness::Settled)
    }

    /// Takes a component off the screen.
    pub(crate) fn unmount(&mut self, id: ComponentId) {
        if let Some(overlay) = self.foreign.overlay(id) {
            self.runner.tui().remove_overlay(overlay);
            self.foreign.overlays.retain(|it| it.component != id);
        }
        if let Some(block) = self.foreign.block(id) {
            self.runner.tui().dock_mut().remove(block);
        }
        let places = &mut self.foreign;
        let is_other = |known: &(ComponentId, BlockId)| known.0 != id;
        places.customs.retain(is_other);
        places.bottom.retain(is_other);
        places.editor = places.editor.filter(is_other);
        let had_footer = places.footer.is_some();
        places.footer = places.footer.filter(is_other);
        if had_footer && places.footer.is_none() {
            self.with_footer(|footer| footer.set_hidden(false));
        }
        for side in [Side::Above, Side::Below] {
            self.with_widgets(side, |widgets| widgets.remove_component(id));
        }
        self.settle_front();
    }

    /// Takes everything of extensions off the screen.
    pub(crate) fn unmount_all(&mut self) {
        let blocks = self.foreign.dock_blocks().map(|(id, _)| id);
        let overlays = self.foreign.overlays.iter().map(|it| it.component);
        let ids: Vec<ComponentId> = blocks.chain(overlays).collect();
        for id in ids {
            self.unmount(id);
        }
        for side in [Side::Above, Side::Below] {
            self.with_widgets(side, super::Widgets::clear);
        }
    }

    /// Changes a component of an extension, wherever it is in the dock or over it.
    pub(crate) fn with_foreign<R>(
        &mut self,
        id: ComponentId,
        change: impl FnOnce(&mut ForeignView) -> R,
    ) -> Option<R> {
        if let Some(overlay) = self.foreign.overlay(id) {
            let component = self.runner.tui().overlay_mut(overlay)?;
            let view = (component as &mut dyn Any).downcast_mut::<ForeignView>()?;
            return Some(change(view));
        }
        if let Some(block) = self.foreign.block(id) {
            let component = self.runner.tui().dock_mut().get_mut(block)?;
            let view = (component as &mut dyn Any).downcast_mut::<ForeignView>()?;
            return Some(change(view));
        }
        let mut change = Some(change);
        for side in [Side::Above, Side::Below] {
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

    /// Returns whether an extension's editor stands in the place of the prompt.
    pub(crate) fn has_foreign_editor(&self) -> bool {
        self.foreign.editor.is_some()
    }

    /// Returns the component of an extension that has the keyboard.
    pub(crate) fn focused_foreign(&self) -> Option<ComponentId> {
        match self.peek().focused()? {
            FocusTarget::Overlay(overlay) => {
                let mut overlays = self.foreign.overlays.iter();
                overlays.find_map(|it| (it.overlay == overlay).then_some(it.component))
            }
            FocusTarget::Dock(block) => {
                let mut blocks = self.foreign.dock_blocks();
                blocks.find_map(|(id, known)| (known == block).then_some(id))
            }
            FocusTarget::Transcript(_) => None,
        }
    }

    /// Gives the keyboard to a component, or to whoever usually has it.
    pub(crate) fn focus_foreign(&mut self, id: Option<ComponentId>) {
        let Some(id) = id else {
            let front = self.front();
            self.runner.tui().set_focus(Some(FocusTarget::Dock(front)));
            return;
        };
        if let Some(overlay) = self.foreign.overlay(id) {
            self.runner.tui().focus_overlay(overlay);
        } else if let Some(block) = self.foreign.block(id) {
            self.runner.tui().set_focus(Some(FocusTarget::Dock(block)));
        }
    }

    /// Takes the keyboard from an overlay.
    pub(crate) fn release_overlay(
        &mut self,
        id: ComponentId,
        usual: bool,
        heir: Option<ComponentId>,
    ) {
        let Some(overlay) = self.foreign.overlay(id) else {
            return;
        };
        let target = heir.and_then(|heir| {
            let overlay = self.foreign.overlay(heir).map(FocusTarget::Overlay);
            overlay.or_else(|| self.foreign.block(heir).map(FocusTarget::Dock))
        });
        let heir = if usual {
            Heir::Usual
        } else {
            Heir::Target(target)
        };
        self.runner.tui().release_overlay(overlay, heir);
    }

    /// Hides an overlay because the extension wants it (`hidden`) or because it does not fit.
    pub(crate) fn hide_overlay(
        &mut self,
        id: ComponentId,
        hidden: Option<bool>,
        fits: Option<bool>,
    ) {
        let known = self.foreign.overlays.iter_mut();
        let Some(overlay) = known.into_iter().find(|it| it.component == id) else {
            return;
        };
        overlay.hidden = hidden.unwrap_or(overlay.hidden);
        overlay.unfit = fits.map_or(overlay.unfit, |fits| !fits);
        let (id, hidden) = (overlay.overlay, overlay.hidden || overlay.unfit);
        self.runner.tui().set_overlay_hidden(id, hidden);
    }

    /// Returns the cells that overlays of extensions covered in the last frame.
    pub(crate) fn overlay_bounds(&self) -> Vec<(ComponentId, [usize; 4])> {
        let overlays = self.foreign.overlays.iter();
        overlays
            .filter_map(|it| {
                let bounds = self.peek().overlay_bounds(it.overlay)?;
                let cells = [bounds.row, bounds.column, bounds.width, bounds.height];
                Some((it.component, cells))
            })
            .collect()
    }

    /// Returns the block that has the place of the prompt.
    fn front(&self) -> BlockId {
        let custom = self.foreign.customs.last().map(|(_, block)| *block);
        let editor = self.foreign.editor.map(|(_, block)| block);
        let front = self.dialog.or(custom).or(editor);
        front.unwrap_or(self.places.editor)
    }

    /// Shows who has the place of the prompt, hides who has not, and hands over the keyboard.
    pub(super) fn settle_front(&mut self) {
        let front = self.front();
        let places = &self.foreign;
        let rivals = places.customs.iter().chain(&places.editor);
        let rivals: Vec<BlockId> = rivals.map(|(_, block)| *block).collect();
        for block in rivals {
            self.with(block, |view: &mut ForeignView| {
                view.set_hidden(block != front);
            });
        }
        let hidden = self.places.editor != front;
        self.with_editor(|editor| editor.set_hidden(hidden));
        self.runner.tui().set_focus(Some(FocusTarget::Dock(front)));
    }
}

/// Reads the place of an overlay.
fn overlay_options(place: &OverlayPlacement) -> OverlayOptions {
    let margin = place.margin.unwrap_or_default();
    OverlayOptions {
        width: match place.width.as_ref().map(measure) {
            None => Width::Auto,
            Some(Measure::Cells(cells)) => Width::Columns(cells),
            Some(Measure::Percent(share)) => Width::Percent(share),
        },
        min_width: place.min_width.map_or(0, cells),
        max_height: place.max_height.as_ref().map(position),
        anchor: match place.anchor.as_deref() {
            Some("top-left") => Anchor::TopLeft,
            Some("top-center") => Anchor::TopCenter,
            Some("top-right") => Anchor::TopRight,
            Some("left-center") => Anchor::LeftCenter,
            Some("right-center") => Anchor::RightCenter,
            Some("bottom-left") => Anchor::BottomLeft,
            Some("bottom-center") => Anchor::BottomCenter,
            Some("bottom-right") => Anchor::BottomRight,
            _ => Anchor::Center,
        },
        offset_x: offset(place.offset_x),
        offset_y: offset(place.offset_y),
        row: place.row.as_ref().map(position),
        column: place.col.as_ref().map(position),
        margin: Margin {
            top: cells(margin.top),
            right: cells(margin.right),
            bottom: cells(margin.bottom),
            left: cells(margin.left),
        },
        captures_focus: !place.non_capturing,
        ..OverlayOptions::default()
    }
}

enum Measure {
    Cells(usize),
    Percent(f32),
}

fn measure(extent: &OverlayExtent) -> Measure {
    match extent {
        OverlayExtent::Cells(count) => Measure::Cells(cells(*count)),
        OverlayExtent::Share(text) => {
            let share = text.trim_end_matches('%').trim().parse();
            Measure::Percent(share.unwrap_or(100.0))
        }
    }
}

fn position(extent: &OverlayExtent) -> Position {
    match measure(extent) {
        Measure::Cells(cells) => Position::Cell(cells),
        Measure::Percent(share) => Position::Percent(share),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the number is brought between zero and the most a screen has"
)]
fn cells(count: f64) -> usize {
    count.clamp(0.0, f64::from(u16::MAX)) as usize
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "the number is brought between what a screen has"
)]
fn offset(count: f64) -> isize {
    let most = f64::from(u16::MAX);
    count.clamp(-most, most) as isize
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    #[test]
    fn the_place_of_an_overlay_is_read_as_extensions_write_it() {
        let place: OverlayPlacement = serde_json::from_value(json!({
            "width": "50%", "minWidth": 20, "maxHeight": 10, "anchor": "top-right",
            "offsetX": -2, "row": "25%", "col": 3, "margin": { "top": 1, "left": 2 },
            "nonCapturing": true, "isVisible": true,
        }))
        .unwrap();
        let options = overlay_options(&place);
        assert_eq!(options.width, Width::Percent(50.0));
        assert_eq!(options.min_width, 20);
        assert_eq!(options.max_height, Some(Position::Cell(10)));
        assert_eq!(options.anchor, Anchor::TopRight);
        assert_eq!((options.offset_x, options.offset_y), (-2, 0));
        assert_eq!(options.row, Some(Position::Percent(25.0)));
        assert_eq!(options.column, Some(Position::Cell(3)));
        assert_eq!((options.margin.top, options.margin.left), (1, 2));
        assert!(!options.captures_focus);
        let odd: OverlayPlacement =
            serde_json::from_value(json!({ "width": "wide", "minWidth": -4 })).unwrap();
        assert_eq!(overlay_options(&odd).min_width, 0);
    }
}
