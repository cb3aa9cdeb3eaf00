//! A block of the transcript: one message, tool call or notice.
//!
//! A block holds plain data and lays it out on demand; [`BlockView`] turns it into a component that
//! keeps its lines until the width, the appearance or the block itself changes.

use std::time::Instant;

use pi_runtime::ComponentId;
use pi_tui::{Component, InputContext, Lines, MouseEvent, MouseOutcome};

use crate::ui_theme::{RenderContext, UiTheme};

/// One block.
///
/// It is built from a message or an event and updated through methods of its own; every update
/// gives it another [`generation`](Self::generation).
pub(crate) trait Block: Send + 'static {
    /// Lays the block out; called only when something it depends on has changed.
    fn lines(&mut self, width: usize, ctx: &RenderContext) -> Lines;

    /// Returns a number that changes with what the block would show.
    fn generation(&self) -> u64;

    /// Shows everything, or the short form. Changes the generation if that makes a difference.
    fn set_expanded(&mut self, _expanded: bool) {}

    /// Returns whether nothing changes any more except through the appearance or expansion.
    fn is_finished(&self) -> bool {
        true
    }

    /// Returns when the block changes by itself next, such as with a running time.
    fn next_tick(&self) -> Option<Instant> {
        None
    }

    /// Tells that a moment asked for with [`next_tick`](Self::next_tick) has come.
    fn tick(&mut self, _now: Instant) {}

    /// Returns the number under which an extension draws the block, if one does.
    fn row(&self) -> Option<ComponentId> {
        None
    }

    /// Handles a mouse event inside the block, in full-screen mode.
    fn mouse(&mut self, _event: &MouseEvent) -> MouseOutcome {
        MouseOutcome::default()
    }
}

/// What lines belong to: width, generation of the appearance, generation of the block.
type LayoutKey = (usize, u64, u64);

/// A block as a component that keeps its lines.
#[derive(Debug)]
pub(crate) struct BlockView<B> {
    block: B,
    ui: UiTheme,
    /// What was last said about details; a block that was clicked differs until that changes.
    expanded: bool,
    layout: Option<(LayoutKey, Lines)>,
    #[cfg(test)]
    layouts: usize,
}

impl<B: Block> BlockView<B> {
    /// Makes a component of a block.
    pub(crate) fn new(block: B, ui: UiTheme) -> Self {
        Self {
            block,
            ui,
            expanded: false,
            layout: None,
            #[cfg(test)]
            layouts: 0,
        }
    }

    /// Returns the block.
    pub(crate) fn block(&self) -> &B {
        &self.block
    }

    /// Returns the block, to update it.
    pub(crate) fn block_mut(&mut self) -> &mut B {
        &mut self.block
    }

    /// Returns how often the block was laid out.
    #[cfg(test)]
    pub(crate) fn layouts(&self) -> usize {
        self.layouts
    }
}

impl<B: Block> Component for BlockView<B> {
    fn render(&mut self, width: usize) -> Lines {
        let expanded = self.ui.is_expanded();
        if self.expanded != expanded {
            self.expanded = expanded;
            self.block.set_expanded(expanded);
        }
        let (ui, ctx) = self.ui.current();
        let key = (width, ui, self.block.generation());
        if let Some((layout, lines)) = &self.layout
            && *layout == key
        {
            return lines.clone();
        }
        let lines = self.block.lines(width, &ctx);
        #[cfg(test)]
        {
            self.layouts += 1;
        }
        self.layout = Some((key, lines.clone()));
        lines
    }

    fn handle_mouse(&mut self, event: &MouseEvent, _context: &InputContext<'_>) -> MouseOutcome {
        self.block.mouse(event)
    }

    /// The key of the kept lines holds everything they depend on, so that there is nothing to drop.
    fn invalidate(&mut self) {}
}
