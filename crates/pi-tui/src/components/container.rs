//! A vertical list of components.

use crate::component::{Component, InputContext, MouseOutcome};
use crate::input::MouseEvent;
use crate::line::Lines;

/// Shows its children from top to bottom.
///
/// While no child changes, a frame costs one comparison per child.
#[derive(Default)]
pub struct Container {
    children: Vec<Box<dyn Component>>,
    child_lines: Vec<Lines>,
    width: usize,
    joined: Lines,
}

impl Container {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn push(&mut self, child: impl Component) {
        self.push_boxed(Box::new(child));
    }

    pub fn push_boxed(&mut self, child: Box<dyn Component>) {
        self.children.push(child);
    }

    /// Removes and returns the child at `index`.
    pub fn remove(&mut self, index: usize) -> Option<Box<dyn Component>> {
        (index < self.children.len()).then(|| self.children.remove(index))
    }

    pub fn clear(&mut self) {
        self.children.clear();
    }

    pub fn len(&self) -> usize {
        self.children.len()
    }

    pub fn is_empty(&self) -> bool {
        self.children.is_empty()
    }

    pub fn child_mut(&mut self, index: usize) -> Option<&mut dyn Component> {
        self.children.get_mut(index).map(Box::as_mut)
    }

    /// Renders every child. Returns whether anything changed since the last call.
    pub(crate) fn render_children(&mut self, width: usize) -> bool {
        let mut changed = self.width != width || self.child_lines.len() != self.children.len();
        self.width = width;
        self.child_lines.resize(self.children.len(), Lines::empty());
        for (child, part) in self.children.iter_mut().zip(&mut self.child_lines) {
            let lines = child.render(width);
            changed |= !lines.ptr_eq(part);
            *part = lines;
        }
        changed
    }

    /// Returns each child's lines as of the last render.
    pub(crate) fn child_lines(&self) -> &[Lines] {
        &self.child_lines
    }

    /// Forwards a mouse event to the child it hits; `event` is relative to the container.
    pub(crate) fn dispatch_mouse(
        &mut self,
        event: &MouseEvent,
        context: &InputContext<'_>,
    ) -> MouseOutcome {
        let mut top = 0;
        for (child, part) in self.children.iter_mut().zip(&self.child_lines) {
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
            self.joined = match self.child_lines.as_slice() {
                [only] => only.clone(),
                child_lines => child_lines.iter().flatten().cloned().collect(),
            };
        }
        self.joined.clone()
    }

    fn handle_mouse(&mut self, event: &MouseEvent, context: &InputContext<'_>) -> MouseOutcome {
        self.dispatch_mouse(event, context)
    }

    fn invalidate(&mut self) {
        self.child_lines.clear();
        for child in &mut self.children {
            child.invalidate();
        }
    }
}
