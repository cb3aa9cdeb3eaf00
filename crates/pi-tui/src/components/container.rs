//! Components below each other.

use crate::component::{Component, InputContext, MouseOutcome};
use crate::input::MouseEvent;
use crate::line::Lines;

/// Shows its children from top to bottom.
///
/// While no child changes, a frame costs one comparison for each of them.
#[derive(Default)]
pub struct Container {
    children: Vec<Box<dyn Component>>,
    parts: Vec<Lines>,
    width: usize,
    joined: Lines,
}

impl Container {
    /// Returns an empty container.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a child at the end.
    pub fn push(&mut self, child: impl Component) {
        self.push_boxed(Box::new(child));
    }

    /// Adds a boxed child at the end.
    pub fn push_boxed(&mut self, child: Box<dyn Component>) {
        self.children.push(child);
    }

    /// Removes and returns the child at `index`.
    pub fn remove(&mut self, index: usize) -> Option<Box<dyn Component>> {
        (index < self.children.len()).then(|| self.children.remove(index))
    }

    /// Removes all children.
    pub fn clear(&mut self) {
        self.children.clear();
    }

    /// Returns the number of children.
    pub fn len(&self) -> usize {
        self.children.len()
    }

    /// Returns whether there are no children.
    pub fn is_empty(&self) -> bool {
        self.children.is_empty()
    }

    /// Returns the child at `index`.
    pub fn child_mut(&mut self, index: usize) -> Option<&mut dyn Component> {
        self.children.get_mut(index).map(Box::as_mut)
    }

    /// Renders every child and tells whether anything differs from the last time.
    pub(crate) fn render_children(&mut self, width: usize) -> bool {
        let mut changed = self.width != width || self.parts.len() != self.children.len();
        self.width = width;
        self.parts.resize(self.children.len(), Lines::empty());
        for (child, part) in self.children.iter_mut().zip(&mut self.parts) {
            let lines = child.render(width);
            changed |= !lines.ptr_eq(part);
            *part = lines;
        }
        changed
    }

    /// Returns the children's lines as of the last rendering.
    pub(crate) fn parts(&self) -> &[Lines] {
        &self.parts
    }

    /// Passes a mouse event on to the child it hits; `event` is relative to the container.
    pub(crate) fn dispatch_mouse(
        &mut self,
        event: &MouseEvent,
        context: &InputContext<'_>,
    ) -> MouseOutcome {
        let mut top = 0;
        for (child, part) in self.children.iter_mut().zip(&self.parts) {
            if (top..top + part.len()).contains(&event.row) {
                let inside = MouseEvent {
                    row: event.row - top,
                    height: part.len(),
                    ..*event
                };
                return child.handle_mouse(&inside, context);
            }
            top += part.len();
        }
        MouseOutcome::default()
    }
}

impl Component for Container {
    fn render(&mut self, width: usize) -> Lines {
        if self.render_children(width) {
            self.joined = match self.parts.as_slice() {
                [only] => only.clone(),
                parts => parts.iter().flatten().cloned().collect(),
            };
        }
        self.joined.clone()
    }

    fn handle_mouse(&mut self, event: &MouseEvent, context: &InputContext<'_>) -> MouseOutcome {
        self.dispatch_mouse(event, context)
    }

    fn invalidate(&mut self) {
        self.parts.clear();
        for child in &mut self.children {
            child.invalidate();
        }
    }
}
