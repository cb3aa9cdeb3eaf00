//! A document of blocks, each keeping the lines it rendered.
//!
//! A block is rendered when it is new, touched, live, or laid out for another width or theme and about
//! to be seen. Everything else costs nothing, so that a frame does not grow with the transcript.

use std::collections::HashMap;
use std::ops::Range;

use super::line_index::LineIndex;
use crate::component::Component;
use crate::line::{Line, Lines};

/// Names a block of a [`Document`]; never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlockId(u64);

/// How often a block is rendered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Liveness {
    /// Every frame: it may change by itself, as a loader or a stream does.
    Live,
    /// After [`Document::get_mut`] only: it is finished.
    Settled,
}

struct Block {
    id: BlockId,
    component: Box<dyn Component>,
    lines: Lines,
    liveness: Liveness,
    /// The layout the lines belong to; another number means stale.
    epoch: u64,
}

/// Lines of a block were replaced; those before and after it moved along.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub(super) start: usize,
    pub(super) old: usize,
    pub(super) new: usize,
}

impl Change {
    /// Returns where a boundary between lines is after the change.
    ///
    /// A boundary inside the block, or at its end, keeps its distance from the block's start: what a
    /// growing block adds comes after it.
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
    blocks: Vec<Block>,
    positions: HashMap<BlockId, usize>,
    index: LineIndex,
    /// Blocks to render in the next layout whatever their epoch.
    touched: Vec<BlockId>,
    live: Vec<BlockId>,
    /// Edits of the block list since the last layout.
    changes: Vec<Change>,
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
    /// Returns a document without blocks.
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

    /// Appends a block.
    pub fn push_boxed(&mut self, component: Box<dyn Component>, liveness: Liveness) -> BlockId {
        let id = self.admit(liveness);
        self.positions.insert(id, self.blocks.len());
        self.index.push(0);
        self.blocks.push(self.block(id, component, liveness));
        id
    }

    /// Puts a block in front of `before`, or at the end if that is gone.
    pub fn insert_before(
        &mut self,
        before: BlockId,
        component: Box<dyn Component>,
        liveness: Liveness,
    ) -> BlockId {
        let Some(position) = self.positions.get(&before).copied() else {
            return self.push_boxed(component, liveness);
        };
        let id = self.admit(liveness);
        self.blocks
            .insert(position, self.block(id, component, liveness));
        self.reindex();
        id
    }

    /// Puts finished blocks in front of `before`, or at the end if that is gone.
    ///
    /// The list is put in order once, so that a thousand blocks cost little more than one.
    pub fn insert_all_before(
        &mut self,
        before: BlockId,
        components: Vec<Box<dyn Component>>,
    ) -> Vec<BlockId> {
        let position = self.positions.get(&before).copied();
        let position = position.unwrap_or(self.blocks.len());
        let blocks: Vec<Block> = components
            .into_iter()
            .map(|component| {
                let id = self.admit(Liveness::Settled);
                self.block(id, component, Liveness::Settled)
            })
            .collect();
        let ids = blocks.iter().map(|block| block.id).collect();
        self.blocks.splice(position..position, blocks);
        self.reindex();
        ids
    }

    /// Takes a block out of the document.
    pub fn remove(&mut self, id: BlockId) -> Option<Box<dyn Component>> {
        let position = self.positions.get(&id).copied()?;
        let start = self.index.start(position);
        let block = self.blocks.remove(position);
        self.live.retain(|live| *live != id);
        self.changes.push(Change {
            start,
            old: block.lines.len(),
            new: 0,
        });
        self.reindex();
        Some(block.component)
    }

    /// Takes every block out of the document.
    pub fn clear(&mut self) {
        self.changes.push(Change {
            start: 0,
            old: self.index.total(),
            new: 0,
        });
        self.blocks.clear();
        self.live.clear();
        self.touched.clear();
        self.reindex();
    }

    /// Returns the ids of the blocks from top to bottom.
    pub fn ids(&self) -> impl Iterator<Item = BlockId> {
        self.blocks.iter().map(|block| block.id)
    }

    /// Returns the id of the last block.
    pub fn last(&self) -> Option<BlockId> {
        self.blocks.last().map(|block| block.id)
    }

    /// Returns whether the block exists.
    pub fn contains(&self, id: BlockId) -> bool {
        self.positions.contains_key(&id)
    }

    /// Returns a block's component.
    pub fn get(&self, id: BlockId) -> Option<&dyn Component> {
        let position = self.positions.get(&id)?;
        Some(self.blocks.get(*position)?.component.as_ref())
    }

    /// Returns a block's component to change it; it is rendered again in the next frame.
    pub fn get_mut(&mut self, id: BlockId) -> Option<&mut dyn Component> {
        let position = self.positions.get(&id).copied()?;
        self.touched.push(id);
        Some(self.blocks.get_mut(position)?.component.as_mut())
    }

    /// Changes how often a block is rendered; one that settles is rendered once more.
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

    /// Makes every block drop its cached lines; those in view are rendered again.
    pub fn invalidate(&mut self) {
        self.epoch += 1;
        for block in &mut self.blocks {
            block.component.invalidate();
        }
    }

    /// Returns how many lines the document has; stale blocks count as they were.
    pub fn line_count(&self) -> usize {
        self.index.total()
    }

    /// Returns a number that changes with the lines.
    pub(super) fn revision(&self) -> u64 {
        self.revision
    }

    /// Returns the blocks' lines as they were last rendered.
    pub(super) fn rendered(&self) -> impl Iterator<Item = (BlockId, &Lines)> {
        self.blocks.iter().map(|block| (block.id, &block.lines))
    }

    /// Returns lines of the document as they were last rendered.
    pub fn lines(&self, range: Range<usize>) -> impl Iterator<Item = &Line> {
        let (first, offset) = self.index.find(range.start);
        self.blocks
            .iter()
            .skip(first)
            .flat_map(|block| block.lines.iter())
            .skip(offset)
            .take(range.len())
    }

    /// Returns the block at a line, the block's first line and its line count.
    pub(super) fn block_at(&self, line: usize) -> Option<(BlockId, usize, usize)> {
        let (position, _) = self.index.find(line);
        let block = self.blocks.get(position)?;
        Some((block.id, self.index.start(position), block.lines.len()))
    }

    /// Lays out for `width`: renders what was touched or lives, and returns what moved.
    pub(super) fn layout(&mut self, width: usize) -> Vec<Change> {
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

    /// Brings the last `rows` lines up to the current layout.
    pub(crate) fn refresh_tail(&mut self, rows: usize) -> Vec<Change> {
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

    /// Brings the lines of `range` up to the current layout.
    pub(super) fn refresh_range(&mut self, range: Range<usize>) -> Vec<Change> {
        let mut changes = Vec::new();
        let (mut position, offset) = self.index.find(range.start);
        let mut covered = 0;
        let wanted = range.len() + offset;
        while covered < wanted && position < self.blocks.len() {
            changes.extend(self.refresh(position));
            covered += self
                .blocks
                .get(position)
                .map_or(0, |block| block.lines.len());
            position += 1;
        }
        changes
    }

    fn refresh(&mut self, position: usize) -> Option<Change> {
        let epoch = self.epoch;
        if self.blocks.get(position)?.epoch == epoch {
            return None;
        }
        self.render(position)
    }

    fn render_by_id(&mut self, id: BlockId) -> Option<Change> {
        let position = self.positions.get(&id).copied()?;
        self.render(position)
    }

    fn render(&mut self, position: usize) -> Option<Change> {
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
        Some(Change { start, old, new })
    }

    fn admit(&mut self, liveness: Liveness) -> BlockId {
        let id = BlockId(self.next_id);
        self.next_id += 1;
        match liveness {
            Liveness::Live => self.live.push(id),
            Liveness::Settled => self.touched.push(id),
        }
        id
    }

    fn block(&self, id: BlockId, component: Box<dyn Component>, liveness: Liveness) -> Block {
        Block {
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

    /// Returns how often a block is rendered.
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
    fn blocks_put_in_front_together_keep_their_order_and_are_rendered() {
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
