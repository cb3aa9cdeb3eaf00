//! Components shown on top of the screen: their position and stacking order.
//!
//! Which component has focus while one is shown is decided in `focus`.

use crate::component::Component;
use crate::line::Line;
use crate::terminal::Size;

mod compose;
mod layout;

pub(crate) use compose::compose_line;

pub use layout::{
    CellRect, OverlayAnchor, OverlayMargin, OverlayOptions, OverlayPosition, OverlayWidth,
};

/// Identifies an overlay. IDs are never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OverlayId(u64);

pub(crate) struct Overlay {
    pub(crate) id: OverlayId,
    pub(crate) component: Box<dyn Component>,
    pub(crate) options: OverlayOptions,
    hidden: bool,
    /// Overlays focused later are further to the front.
    order: u64,
    bounds: Option<CellRect>,
}

/// The overlays, in the order they were shown.
#[derive(Default)]
pub(crate) struct OverlayStack {
    entries: Vec<Overlay>,
    next_id: u64,
    next_order: u64,
}

impl OverlayStack {
    pub(crate) fn push(
        &mut self,
        component: Box<dyn Component>,
        options: OverlayOptions,
    ) -> OverlayId {
        let id = OverlayId(self.next_id);
        self.next_id += 1;
        let order = self.take_order();
        self.entries.push(Overlay {
            id,
            component,
            options,
            hidden: false,
            order,
            bounds: None,
        });
        id
    }

    pub(crate) fn remove(&mut self, id: OverlayId) -> Option<Overlay> {
        let position = self.entries.iter().position(|entry| entry.id == id)?;
        Some(self.entries.remove(position))
    }

    pub(crate) fn get(&self, id: OverlayId) -> Option<&Overlay> {
        self.entries.iter().find(|entry| entry.id == id)
    }

    pub(crate) fn get_mut(&mut self, id: OverlayId) -> Option<&mut Overlay> {
        self.entries.iter_mut().find(|entry| entry.id == id)
    }

    pub(crate) fn last(&self) -> Option<OverlayId> {
        self.entries.last().map(|entry| entry.id)
    }

    pub(crate) fn bring_to_front(&mut self, id: OverlayId) {
        let order = self.take_order();
        if let Some(entry) = self.get_mut(id) {
            entry.order = order;
        }
    }

    pub(crate) fn set_hidden(&mut self, id: OverlayId, hidden: bool) {
        if let Some(entry) = self.get_mut(id) {
            entry.hidden = hidden;
        }
    }

    pub(crate) fn is_hidden(&self, id: OverlayId) -> bool {
        self.get(id).is_none_or(|entry| entry.hidden)
    }

    pub(crate) fn is_visible(&self, id: OverlayId, size: Size) -> bool {
        self.get(id).is_some_and(|entry| entry.is_visible(size))
    }

    pub(crate) fn any_visible(&self, size: Size) -> bool {
        self.entries.iter().any(|entry| entry.is_visible(size))
    }

    /// Returns the frontmost visible overlay that captures focus.
    pub(crate) fn front_capturing(&self, size: Size) -> Option<OverlayId> {
        self.entries
            .iter()
            .filter(|entry| entry.options.captures_focus && entry.is_visible(size))
            .max_by_key(|entry| entry.order)
            .map(|entry| entry.id)
    }

    /// Returns the frontmost overlay that covers a cell.
    pub(crate) fn at(
        &self,
        column: usize,
        row: usize,
        size: Size,
    ) -> Option<(OverlayId, CellRect)> {
        self.entries
            .iter()
            .filter(|entry| entry.is_visible(size))
            .filter_map(|entry| Some((entry, entry.bounds?)))
            .filter(|(_, bounds)| bounds.contains(column, row))
            .max_by_key(|(entry, _)| entry.order)
            .map(|(entry, bounds)| (entry.id, bounds))
    }

    pub(crate) fn bounds(&self, id: OverlayId, size: Size) -> Option<CellRect> {
        self.get(id)
            .filter(|entry| entry.is_visible(size))
            .and_then(|entry| entry.bounds)
    }

    pub(crate) fn invalidate(&mut self) {
        for entry in &mut self.entries {
            entry.component.invalidate();
        }
    }

    /// Draws the visible overlays over the rows of the screen.
    pub(crate) fn compose(&mut self, screen: &mut Vec<Line>, size: Size) {
        screen.resize(size.rows, Line::default());
        self.entries
            .iter_mut()
            .for_each(|entry| entry.bounds = None);
        let mut visible: Vec<&mut Overlay> = self
            .entries
            .iter_mut()
            .filter(|entry| entry.is_visible(size))
            .collect();
        visible.sort_by_key(|entry| entry.order);
        for entry in visible {
            let width = entry.options.resolve_width(size);
            let lines = entry.component.render(width);
            let bounds = entry.options.place(width, lines.len(), size);
            entry.bounds = Some(bounds);
            let rows = screen.iter_mut().skip(bounds.row);
            for (base, line) in rows.zip(lines.iter().take(bounds.height)) {
                *base = compose_line(base, line, bounds, size.columns);
            }
        }
    }

    fn take_order(&mut self) -> u64 {
        self.next_order += 1;
        self.next_order
    }
}

impl Overlay {
    fn is_visible(&self, size: Size) -> bool {
        !self.hidden && (self.options.visible)(size)
    }
}
