//! A list that is still growing: an item is finished when the next one has begun with a whole line.
//!
//! Only the last item is read again. A blank line between any two items sets all of them apart, hence
//! finished items are moved, though not rendered again, when one appears.

use super::{Page, Stream, has_begun, has_whole_lines};
use crate::components::markdown::parse::{Block, Item, List, Placed, line_start};
use crate::line::Line;

/// A list whose end has not come yet.
#[derive(Debug)]
pub(super) struct OpenList {
    start: Option<u64>,
    /// Whether a blank line within a finished item or behind one sets all items apart.
    loose: bool,
    /// Whether the finished items are shown with empty lines between them.
    shown_loose: bool,
    /// Where the lines of each finished item start among the finished lines.
    items: Vec<usize>,
}

impl OpenList {
    pub(super) fn new(list: &List) -> Self {
        Self {
            start: list.start,
            loose: false,
            shown_loose: false,
            items: Vec::new(),
        }
    }

    /// Returns the lines of the items, which follow the finished ones.
    fn render(&self, items: &[Item], loose: bool, page: &Page<'_>) -> Vec<Vec<Line>> {
        let numbered = (self.items.len()..).zip(items);
        numbered
            .map(|(index, item)| {
                let mut lines = Vec::new();
                if loose && index > 0 {
                    lines.push((page.frame)(""));
                }
                let shown = page
                    .renderer
                    .list_item(self.start, index, item, page.width, page.style);
                page.add(&shown, &mut lines);
                lines
            })
            .collect()
    }
}

impl Stream {
    /// Reads on in a list; returns it if it has not ended.
    pub(super) fn read_list(
        &mut self,
        mut open: OpenList,
        text: &str,
        page: &Page<'_>,
    ) -> Option<OpenList> {
        let offset = self.rest;
        let rest = text.get(offset..).unwrap_or_default();
        let parsed = self.parse(rest, page);
        let source = parsed.source.as_ref();
        let Some((list, after)) = first_list(&parsed.blocks) else {
            self.unreadable = Some(self.rest);
            return None;
        };
        let loose = open.loose || list.is_loose();
        if let (Some(next), Some(last)) = (after.first(), after.last())
            && has_begun(source, last)
        {
            self.finish_items(&mut open, &list.items, loose, page);
            let end = line_start(source, next.range.start);
            self.rest += end;
            self.learn(parsed.definitions, end);
            return None;
        }
        let mut items = list.items.as_slice();
        if let Some((last, before)) = items.split_last()
            && !before.is_empty()
            && has_whole_lines(source, last.start, 1)
        {
            self.finish_items(&mut open, before, loose, page);
            // What the last item goes on with may still change: it does not space the others for good.
            open.loose |= last.blank_before || before.iter().any(Item::has_gap);
            let end = line_start(source, last.start);
            self.rest += end;
            self.learn(parsed.definitions, end);
            items = std::slice::from_ref(last);
        }
        self.space_items(&mut open, loose, page);
        self.tail = open.render(items, loose, page).concat();
        self.render_from(offset, text, after, page);
        Some(open)
    }

    fn finish_items(&mut self, open: &mut OpenList, items: &[Item], loose: bool, page: &Page<'_>) {
        self.space_items(open, loose, page);
        for lines in open.render(items, loose, page) {
            let separator = usize::from(loose && !open.items.is_empty());
            open.items.push(self.finished.len() + separator);
            self.finished.extend(lines);
        }
    }

    /// Shows the finished items with or without empty lines between them.
    fn space_items(&mut self, open: &mut OpenList, loose: bool, page: &Page<'_>) {
        if std::mem::replace(&mut open.shown_loose, loose) == loose {
            return;
        }
        let Some(first) = open.items.first().copied() else {
            return;
        };
        let shown = self.finished.split_off(first);
        let ends = open.items.iter().skip(1).copied();
        let ends: Vec<usize> = ends.chain([first + shown.len()]).collect();
        for (index, (start, end)) in open.items.iter_mut().zip(ends).enumerate() {
            if loose && index > 0 {
                self.finished.push((page.frame)(""));
            }
            // The separator before the next item belongs to neither.
            let last = end == first + shown.len();
            let end = if loose || last { end } else { end - 1 };
            let lines = shown.get(*start - first..end - first);
            *start = self.finished.len();
            self.finished.extend_from_slice(lines.unwrap_or_default());
        }
    }
}

fn first_list(blocks: &[Placed]) -> Option<(&List, &[Placed])> {
    let (first, after) = blocks.split_first()?;
    match &first.block {
        Block::List(list) => Some((list, after)),
        _ => None,
    }
}
