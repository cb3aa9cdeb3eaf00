//! Horizontal and vertical stacks of components that share the available space.
//!
//! Sizes follow the flexbox model: a basis, then growing or shrinking by weight within bounds.

use super::background::fit;
use crate::component::{Component, InputContext, MouseOutcome};
use crate::input::MouseEvent;
use crate::line::{Line, Lines};
use crate::text::{pad_to_width, visible_width};

/// The initial size of a child, before growing or shrinking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Basis {
    /// The size of its content.
    #[default]
    Content,
    /// A fixed number of columns or rows.
    Cells(usize),
}

/// A child of a stack with its flex parameters.
pub struct StackItem {
    component: Box<dyn Component>,
    basis: Basis,
    grow: usize,
    shrink: usize,
    min: usize,
    max: usize,
    visible: bool,
    lines: Lines,
    size: usize,
}

impl StackItem {
    /// Returns a child that takes the size of its content and shrinks when space is short.
    pub fn new(component: impl Component) -> Self {
        Self {
            component: Box::new(component),
            basis: Basis::Content,
            grow: 0,
            shrink: 1,
            min: 0,
            max: usize::MAX,
            visible: true,
            lines: Lines::empty(),
            size: 0,
        }
    }

    #[must_use]
    pub fn basis(mut self, basis: Basis) -> Self {
        self.basis = basis;
        self
    }

    /// Sets the weight for distributing spare space.
    #[must_use]
    pub fn grow(mut self, weight: usize) -> Self {
        self.grow = weight;
        self
    }

    /// Sets the weight for shrinking when space is short.
    #[must_use]
    pub fn shrink(mut self, weight: usize) -> Self {
        self.shrink = weight;
        self
    }

    /// Sets the minimum and maximum size.
    #[must_use]
    pub fn bounds(mut self, min: usize, max: usize) -> Self {
        self.min = min;
        self.max = max.max(min);
        self
    }

    pub fn set_visible(&mut self, visible: bool) {
        self.visible = visible;
    }

    pub fn component_mut(&mut self) -> &mut dyn Component {
        self.component.as_mut()
    }

    fn can_change(&self, adjustment: FlexAdjustment) -> usize {
        match adjustment {
            FlexAdjustment::Grow if self.grow > 0 => self.max.saturating_sub(self.size),
            FlexAdjustment::Shrink if self.shrink > 0 => self.size.saturating_sub(self.min),
            FlexAdjustment::Grow | FlexAdjustment::Shrink => 0,
        }
    }

    fn weight(&self, adjustment: FlexAdjustment) -> usize {
        match adjustment {
            FlexAdjustment::Grow => self.grow,
            // Larger children shrink more than smaller ones.
            FlexAdjustment::Shrink => self.shrink.saturating_mul(self.size.max(1)),
        }
    }
}

#[derive(Clone, Copy)]
enum FlexAdjustment {
    Grow,
    Shrink,
}

/// Sets the size of every visible item to fill `available` as far as their bounds allow.
fn allocate(items: &mut [StackItem], available: Option<usize>, gap: usize) {
    let mut shown: Vec<&mut StackItem> = items.iter_mut().filter(|item| item.visible).collect();
    for item in &mut shown {
        if let Basis::Cells(cells) = item.basis {
            item.size = cells;
        }
        item.size = item.size.clamp(item.min, item.max);
    }
    let Some(available) = available else { return };
    let room = available.saturating_sub(shown.len().saturating_sub(1) * gap);
    let total: usize = shown.iter().map(|item| item.size).sum();
    let (adjustment, mut remaining) = if total < room {
        (FlexAdjustment::Grow, room - total)
    } else {
        (FlexAdjustment::Shrink, total - room)
    };
    while remaining > 0 {
        let weights: usize = shown
            .iter()
            .filter(|item| item.can_change(adjustment) > 0)
            .map(|item| item.weight(adjustment))
            .sum();
        if weights == 0 {
            return;
        }
        let distributed = remaining;
        for item in &mut shown {
            let capacity = item.can_change(adjustment);
            if capacity == 0 || remaining == 0 {
                continue;
            }
            let part = (distributed.saturating_mul(item.weight(adjustment)) / weights).max(1);
            let change = part.min(capacity).min(remaining);
            match adjustment {
                FlexAdjustment::Grow => item.size += change,
                FlexAdjustment::Shrink => item.size -= change,
            }
            remaining -= change;
        }
    }
}

/// Stacks its children vertically.
#[derive(Default)]
pub struct VStack {
    items: Vec<StackItem>,
    gap: usize,
    height: Option<usize>,
}

impl VStack {
    /// Returns an empty stack with `gap` rows between children.
    pub fn new(gap: usize) -> Self {
        Self {
            gap,
            ..Self::default()
        }
    }

    pub fn push(&mut self, item: StackItem) {
        self.items.push(item);
    }

    pub fn item_mut(&mut self, index: usize) -> Option<&mut StackItem> {
        self.items.get_mut(index)
    }

    /// Sets the rows to fill. With `None`, children take the size of their content.
    pub fn set_height(&mut self, height: Option<usize>) {
        self.height = height;
    }
}

impl Component for VStack {
    fn render(&mut self, width: usize) -> Lines {
        for item in self.items.iter_mut().filter(|item| item.visible) {
            item.lines = item.component.render(width);
            item.size = item.lines.len();
        }
        allocate(&mut self.items, self.height, self.gap);
        let mut lines: Vec<Line> = Vec::new();
        for (index, item) in self.items.iter().filter(|item| item.visible).enumerate() {
            if index > 0 {
                lines.extend(std::iter::repeat_n(Line::default(), self.gap));
            }
            let missing = item.size.saturating_sub(item.lines.len());
            lines.extend(item.lines.iter().take(item.size).cloned());
            lines.extend(std::iter::repeat_n(Line::default(), missing));
        }
        lines.into()
    }

    fn handle_mouse(&mut self, event: &MouseEvent, context: &InputContext<'_>) -> MouseOutcome {
        let mut top = 0;
        for item in self.items.iter_mut().filter(|item| item.visible) {
            if (top..top + item.size).contains(&event.row) {
                let inside = MouseEvent {
                    row: event.row - top,
                    height: item.size,
                    ..*event
                };
                return item.component.handle_mouse(&inside, context);
            }
            top += item.size + self.gap;
        }
        MouseOutcome::default()
    }

    fn invalidate(&mut self) {
        for item in &mut self.items {
            item.component.invalidate();
        }
    }
}

/// Stacks its children horizontally. Shorter ones are padded with empty rows.
#[derive(Default)]
pub struct HStack {
    items: Vec<StackItem>,
    gap: usize,
}

impl HStack {
    /// Returns an empty stack with `gap` columns between children.
    pub fn new(gap: usize) -> Self {
        Self {
            gap,
            ..Self::default()
        }
    }

    pub fn push(&mut self, item: StackItem) {
        self.items.push(item);
    }

    pub fn item_mut(&mut self, index: usize) -> Option<&mut StackItem> {
        self.items.get_mut(index)
    }

    fn row(&self, row: usize, width: usize) -> Line {
        let mut line = String::new();
        for (index, item) in self.items.iter().filter(|item| item.visible).enumerate() {
            if index > 0 {
                line.extend(std::iter::repeat_n(' ', self.gap));
            }
            let part = item.lines.get(row).map_or("", Line::as_str);
            line.push_str(&pad_to_width(&fit(part.to_owned(), item.size), item.size));
        }
        fit(line, width)
    }
}

impl Component for HStack {
    fn render(&mut self, width: usize) -> Lines {
        for item in self.items.iter_mut().filter(|item| item.visible) {
            if item.basis == Basis::Content {
                let content = item.component.render(width);
                let used = content.iter().map(|line| visible_width(line.trim_end()));
                item.size = used.max().unwrap_or(0);
            }
        }
        allocate(&mut self.items, Some(width), self.gap);
        for item in self.items.iter_mut().filter(|item| item.visible) {
            item.lines = if item.size == 0 {
                Lines::empty()
            } else {
                item.component.render(item.size)
            };
        }
        let shown = self.items.iter().filter(|item| item.visible);
        let rows = shown.map(|item| item.lines.len()).max().unwrap_or(0);
        (0..rows).map(|row| self.row(row, width)).collect()
    }

    fn handle_mouse(&mut self, event: &MouseEvent, context: &InputContext<'_>) -> MouseOutcome {
        let mut left = 0;
        for item in self.items.iter_mut().filter(|item| item.visible) {
            if (left..left + item.size).contains(&event.column) {
                let inside = MouseEvent {
                    column: event.column - left,
                    width: item.size,
                    ..*event
                };
                return item.component.handle_mouse(&inside, context);
            }
            left += item.size + self.gap;
        }
        MouseOutcome::default()
    }

    fn invalidate(&mut self) {
        for item in &mut self.items {
            item.component.invalidate();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::components::{Spacer, Text};
    use pretty_assertions::assert_eq;

    fn sizes(items: Vec<StackItem>, available: usize, gap: usize) -> Vec<usize> {
        let mut items = items;
        allocate(&mut items, Some(available), gap);
        items.iter().map(|item| item.size).collect()
    }

    fn cells(cells: usize) -> StackItem {
        StackItem::new(Spacer::default()).basis(Basis::Cells(cells))
    }

    #[test]
    fn space_is_distributed_by_weight_within_bounds() {
        assert_eq!(sizes(vec![cells(2), cells(2).grow(1)], 10, 0), [2, 8]);
        assert_eq!(
            sizes(vec![cells(0).grow(1), cells(0).grow(3)], 8, 0),
            [2, 6]
        );
        assert_eq!(
            sizes(vec![cells(0).grow(1).bounds(0, 3), cells(0).grow(1)], 10, 0),
            [3, 7]
        );
        assert_eq!(sizes(vec![cells(6), cells(6).shrink(0)], 8, 0), [2, 6]);
        assert_eq!(sizes(vec![cells(6).bounds(5, 9), cells(6)], 8, 1), [5, 2]);
        assert_eq!(sizes(vec![cells(6).shrink(0)], 2, 0), [6]);
        assert_eq!(sizes(vec![cells(3), cells(3)], 0, 1), [0, 0]);
    }

    #[test]
    fn vertical_stack_fills_its_height() {
        let mut stack = VStack::new(0);
        stack.push(StackItem::new(Text::new("one").padding(0, 0)).shrink(0));
        stack.push(StackItem::new(Spacer::new(0)).grow(1));
        stack.push(StackItem::new(Text::new("two").padding(0, 0)).shrink(0));
        stack.set_height(Some(4));
        assert_eq!(stack.render(3).as_ref(), ["one", "", "", "two"]);
    }

    #[test]
    fn horizontal_stack_places_children_side_by_side() {
        let mut stack = HStack::new(1);
        stack.push(StackItem::new(Text::new("ab").padding(0, 0)));
        stack.push(StackItem::new(Text::new("c\nd").padding(0, 0)).grow(1));
        assert_eq!(stack.render(6).as_ref(), ["ab c  ", "   d  "]);
    }
}
