//! A document of blocks that cache their rendered lines.
//!
//! A block is rendered when it is new, touched or live, or when it is about to become visible after
//! a width or theme change. All other blocks cost nothing, so the cost of a frame does not grow
//! with the transcript.

use std::collections::HashMap;
use std::ops::Range;

use super::line_index::LineIndex;
use crate::component::Component;
use crate::line::{Line, Lines};

/// Identifies a block of a [`Document`]. IDs are never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlockId(u64);

/// How often a block is rendered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Liveness {
    /// Every frame: it changes without being touched, like a loader or a stream.
    Live,
    /// Only after [`Document::get_mut`]: it is finished.
    Settled,
}

struct DocumentBlock {
    id: BlockId,
    component: Box<dyn Component>,
    lines: Lines,
    liveness: Liveness,
    /// Layout epoch of the lines. Any other epoch means they are stale.
    epoch: u64,
}

/// The lines of a block were replaced, and the lines after it moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LineChange {
    pub(super) start: usize,
    pub(super) old: usize,
    pub(super) new: usize,
}

impl LineChange {
    /// Returns the position of a boundary between lines after the change.
    ///
    /// A boundary inside the block, or at its end, keeps its distance from the block's start: lines
    /// added by a growing block come after it.
    pub(super) fn shift(self, line: usize) -> usize {
        if line > self.start + self.old {
            line + self.new - self.old
        } else if line > self.start {
            line.min(self.start + self.new)
        } else {
            line
        }
    }
}

/// An ordered list of blocks with their rendered lines.
#[derive(Default)]
pub struct Document {
    blocks: Vec<DocumentBlock>,
    positions: HashMap<BlockId, usize>,
    index: LineIndex,
    /// Blocks to render in the next layout regardless of their epoch.
    touched: Vec<BlockId>,
    live: Vec<BlockId>,
    /// Changes to the block list since the last layout.
    changes: Vec<LineChange>,
    next_id: u64,
    width: usize,
    epoch: u64,
    revision: u64,
}

impl std::fmt::Debug for Document {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Document")
            .field("blocks", &self.blocks.len())
            .field("lines", &self.index.total())
            .finish_non_exhaustive()
    }
}

impl Document {
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends a finished block.
    pub fn push(&mut self, component: impl Component) -> BlockId {
        self.push_boxed(Box::new(component), Liveness::Settled)
    }

    /// Appends a block that is rendered every frame.
    pub fn push_live(&mut self, component: impl Component) -> BlockId {
        self.push_boxed(Box::new(component), Liveness::Live)
    }

    pub fn push_boxed(&mut self, component: Box<dyn Component>, liveness: Liveness) -> BlockId {
        let id = self.register(liveness);
        self.positions.insert(id, self.blocks.len());
        self.index.push(0);
        self.blocks.push(self.block(id, component, liveness));
        id
    }

    /// Inserts a block before `before`, or at the end if that block does not exist.
    pub fn insert_before(
        &mut self,
        before: BlockId,
        component: Box<dyn Component>,
        liveness: Liveness,
    ) -> BlockId {
        let Some(position) = self.positions.get(&before).copied() else {
            return self.push_boxed(component, liveness);
        };
        let id = self.register(liveness);
        self.blocks
            .insert(position, self.block(id, component, liveness));
        self.reindex();
        id
    }

    /// Inserts finished blocks before `before`, or at the end if that block does not exist.
    ///
    /// The index is rebuilt only once, so inserting a thousand blocks costs little more than one.
    pub fn insert_all_before(
        &mut self,
        before: BlockId,
        components: Vec<Box<dyn Component>>,
    ) -> Vec<BlockId> {
        let position = self.positions.get(&before).copied();
        let position = position.unwrap_or(self.blocks.len());
        let blocks: Vec<DocumentBlock> = components
            .into_iter()
            .map(|component| {
                let id = self.register(Liveness::Settled);
                self.block(id, component, Liveness::Settled)
            })
            .collect();
        let ids = blocks.iter().map(|block| block.id).collect();
        self.blocks.splice(position..position, blocks);
        self.reindex();
        ids
    }

    pub fn remove(&mut self, id: BlockId) -> Option<Box<dyn Component>> {
        let position = self.positions.get(&id).copied()?;
        let start = self.index.start(position);
        let block = self.blocks.remove(position);
        self.live.retain(|live| *live != id);
        self.changes.push(LineChange {
            start,
            old: block.lines.len(),
            new: 0,
        });
        self.reindex();
        Some(block.component)
    }

    pub fn clear(&mut self) {
        self.changes.push(LineChange {
            start: 0,
            old: self.index.total(),
            new: 0,
        });
        self.blocks.clear();
        self.live.clear();
        self.touched.clear();
        self.reindex();
    }

    /// Returns the IDs of the blocks from top to bottom.
    pub fn ids(&self) -> impl Iterator<Item = BlockId> {
        self.blocks.iter().map(|block| block.id)
    }

    /// Returns the ID of the last block.
    pub fn last(&self) -> Option<BlockId> {
        self.blocks.last().map(|block| block.id)
    }

    pub fn contains(&self, id: BlockId) -> bool {
        self.positions.contains_key(&id)
    }

    pub fn get(&self, id: BlockId) -> Option<&dyn Component> {
        let position = self.positions.get(&id)?;
        Some(self.blocks.get(*position)?.component.as_ref())
    }

    /// Returns a block's component for modification. The block is rendered again in the next frame.
    pub fn get_mut(&mut self, id: BlockId) -> Option<&mut dyn Component> {
        let position = self.positions.get(&id).copied()?;
        self.touched.push(id);
        Some(self.blocks.get_mut(position)?.component.as_mut())
    }

    /// Changes how often a block is rendered. A block that settles is rendered once more.
    pub fn set_liveness(&mut self, id: BlockId, liveness: Liveness) {
        let Some(block) = self
            .positions
            .get(&id)
            .and_then(|position| self.blocks.get_mut(*position))
        else {
            return;
        };
        block.liveness = liveness;
        self.live.retain(|live| *live != id);
        match liveness {
            Liveness::Live => self.live.push(id),
            Liveness::Settled => self.touched.push(id),
        }
    }

    /// Makes every block drop its cached lines. Visible blocks are rendered again.
    pub fn invalidate(&mut self) {
        self.epoch += 1;
        for block in &mut self.blocks {
            block.component.invalidate();
        }
    }

    /// Returns the number of lines. Stale blocks count with their previous lines.
    pub fn line_count(&self) -> usize {
        self.index.total()
    }

    /// Returns the number of lines above the first live block.
    pub(super) fn settled_lines(&self) -> usize {
        let live = self.live.iter().filter_map(|id| self.positions.get(id));
        live.min()
            .map_or(self.index.total(), |position| self.index.start(*position))
    }

    /// Returns a number that changes whenever the lines do.
    pub(super) fn revision(&self) -> u64 {
        self.revision
    }

    /// Returns the most recently rendered lines of each block.
    pub(super) fn rendered(&self) -> impl Iterator<Item = (BlockId, &Lines)> {
        self.blocks.iter().map(|block| (block.id, &block.lines))
    }

    /// Returns lines of the document as most recently rendered.
    pub fn lines(&self, range: Range<usize>) -> impl Iterator<Item = &Line> {
        let (first, offset) = self.index.find(range.start);
        self.blocks
            .iter()
            .skip(first)
            .flat_map(|block| block.lines.iter())
            .skip(offset)
            .take(range.len())
    }

    /// Returns the block at a line, its first line and its line count.
    pub(super) fn block_at(&self, line: usize) -> Option<(BlockId, usize, usize)> {
        let (position, _) = self.index.find(line);
        let block = self.blocks.get(position)?;
        Some((block.id, self.index.start(position), block.lines.len()))
    }

    /// Returns the first line of a block as of the last layout.
    pub fn first_line(&self, id: BlockId) -> Option<usize> {
        let position = self.positions.get(&id)?;
        Some(self.index.start(*position))
    }

    /// Lays out for `width`: renders touched and live blocks, and returns the resulting line
    /// changes.
    pub(super) fn layout(&mut self, width: usize) -> Vec<LineChange> {
        if self.width != width {
            self.width = width;
            self.epoch += 1;
        }
        let mut changes = std::mem::take(&mut self.changes);
        for id in std::mem::take(&mut self.touched) {
            changes.extend(self.render_by_id(id));
        }
        for index in 0..self.live.len() {
            if let Some(id) = self.live.get(index).copied() {
                changes.extend(self.render_by_id(id));
            }
        }
        changes
    }

    /// Brings the last `rows` lines up to date with the current layout.
    pub(crate) fn refresh_tail(&mut self, rows: usize) -> Vec<LineChange> {
        let mut changes = Vec::new();
        let mut covered = 0;
        for position in (0..self.blocks.len()).rev() {
            if covered >= rows {
                break;
            }
            changes.extend(self.refresh(position));
            covered += self
                .blocks
                .get(position)
                .map_or(0, |block| block.lines.len());
        }
        changes
    }

    /// Brings the lines of `range` up to date with the current layout.
    pub(super) fn refresh_range(&mut self, range: Range<usize>) -> Vec<LineChange> {
        let mut changes = Vec::new();
        let (mut position, offset) = self.index.find(range.start);
        let mut covered = 0;
        let target_lines = range.len() + offset;
        while covered < target_lines && position < self.blocks.len() {
            changes.extend(self.refresh(position));
            covered += self
                .blocks
                .get(position)
                .map_or(0, |block| block.lines.len());
            position += 1;
        }
        changes
    }

    fn refresh(&mut self, position: usize) -> Option<LineChange> {
        let epoch = self.epoch;
        if self.blocks.get(position)?.epoch == epoch {
            return None;
        }
        self.render(position)
    }

    fn render_by_id(&mut self, id: BlockId) -> Option<LineChange> {
        let position = self.positions.get(&id).copied()?;
        self.render(position)
    }

    fn render(&mut self, position: usize) -> Option<LineChange> {
        let block = self.blocks.get_mut(position)?;
        block.epoch = self.epoch;
        let lines = block.component.render(self.width);
        if lines.ptr_eq(&block.lines) {
            return None;
        }
        self.revision += 1;
        let old = std::mem::replace(&mut block.lines, lines).len();
        let new = block.lines.len();
        if old == new {
            return None;
        }
        let start = self.index.start(position);
        self.index.change(position, old, new);
        Some(LineChange { start, old, new })
    }

    fn register(&mut self, liveness: Liveness) -> BlockId {
        let id = BlockId(self.next_id);
        self.next_id += 1;
        match liveness {
            Liveness::Live => self.live.push(id),
            Liveness::Settled => self.touched.push(id),
        }
        id
    }

    fn block(
        &self,
        id: BlockId,
        component: Box<dyn Component>,
        liveness: Liveness,
    ) -> DocumentBlock {
        DocumentBlock {
            id,
            component,
            lines: Lines::empty(),
            liveness,
            epoch: self.epoch,
        }
    }

    fn reindex(&mut self) {
        self.revision += 1;
        self.positions = self
            .blocks
            .iter()
            .enumerate()
            .map(|(position, block)| (block.id, position))
            .collect();
        self.index
            .rebuild(self.blocks.iter().map(|block| block.lines.len()));
    }

    pub fn liveness(&self, id: BlockId) -> Option<Liveness> {
        let position = self.positions.get(&id)?;
        Some(self.blocks.get(*position)?.liveness)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::components::TruncatedText;
    use pretty_assertions::assert_eq;

    #[test]
    fn blocks_inserted_together_keep_their_order() {
        let mut document = Document::new();
        let text = |text: &str| TruncatedText::new(text);
        let head = document.push(text("head"));
        let tail = document.push(text("tail"));
        let boxed = |content: &str| -> Box<dyn Component> { Box::new(text(content)) };
        let added = document.insert_all_before(tail, vec![boxed("one"), boxed("two")]);
        document.layout(10);
        let ids: Vec<BlockId> = document.ids().collect();
        assert_eq!(ids, [vec![head], added, vec![tail]].concat());
        let lines: Vec<&str> = document.lines(0..4).map(|line| line.trim_end()).collect();
        assert_eq!(lines, ["head", "one", "two", "tail"]);
    }
}
