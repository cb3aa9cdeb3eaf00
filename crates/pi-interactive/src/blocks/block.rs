//! Transcript blocks: one message, tool call or notice each.
//!
//! A block holds plain data and lays it out on demand. [`BlockView`] makes it a component that caches its
//! lines until the width, the render context or the block changes.

use std::time::Instant;

use pi_host::ComponentId;
use pi_tui::{Component, InputContext, Lines, MouseEvent, MouseOutcome};
use pi_views::theme::ui_theme::{RenderContext, UiTheme};

use super::file_links::link_files;

/// A transcript block.
///
/// Created from a message or an event and updated through its own methods; every update changes its
/// [`generation`](Self::generation).
pub(crate) trait TranscriptBlock: Send + 'static {
    /// Lays the block out; called only when something it depends on has changed.
    fn lines(&mut self, width: usize, ctx: &RenderContext) -> Lines;

    /// Returns a number that changes whenever the rendered content changes.
    fn generation(&self) -> u64;

    /// Expands or collapses the block. Changes the generation if that makes a difference.
    fn set_expanded(&mut self, _expanded: bool) {}

    /// Whether only the render context or expansion can still change the block.
    fn is_finished(&self) -> bool {
        true
    }

    /// Returns when the block next changes without an event, such as a running timer.
    fn next_tick(&self) -> Option<Instant> {
        None
    }

    /// Called when the time returned by [`next_tick`](Self::next_tick) has come.
    fn tick(&mut self, _now: Instant) {}

    /// Returns the component ID under which an extension draws the block, if one does.
    fn row(&self) -> Option<ComponentId> {
        None
    }

    /// Whether the finished block links to the files that it names.
    fn links_files(&self) -> bool {
        false
    }

    /// Handles a mouse event inside the block, in full-screen mode.
    fn mouse(&mut self, _event: &MouseEvent) -> MouseOutcome {
        MouseOutcome::default()
    }
}

/// Cache key of a layout: width, generation of the render context, generation of the block.
type LayoutKey = (usize, u64, u64);

/// A component that shows a block and caches its lines.
#[derive(Debug)]
pub(crate) struct BlockView<B> {
    block: B,
    ui: UiTheme,
    /// The global expansion state last applied; a clicked block differs until it changes.
    expanded: bool,
    layout: Option<(LayoutKey, Lines)>,
    #[cfg(test)]
    layouts: usize,
}

impl<B: TranscriptBlock> BlockView<B> {
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

    pub(crate) fn block(&self) -> &B {
        &self.block
    }

    pub(crate) fn block_mut(&mut self) -> &mut B {
        &mut self.block
    }

    /// Number of layouts so far, for tests.
    #[cfg(test)]
    pub(crate) fn layouts(&self) -> usize {
        self.layouts
    }
}

impl<B: TranscriptBlock> Component for BlockView<B> {
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
        let mut lines = self.block.lines(width, &ctx);
        if self.block.links_files() && self.block.is_finished() {
            lines = link_files(lines, &ctx);
        }
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

    /// The cache key covers everything the lines depend on, so there is nothing to drop.
    fn invalidate(&mut self) {}
}
