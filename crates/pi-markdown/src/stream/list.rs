//! A list that is still growing: an item is finished when the next one has started with a complete
//! line.
//!
//! Only the last item is parsed again. A blank line between any two items makes the list loose;
//! finished items are then moved, but not rendered again.

use pi_tui::Line;

use super::{MarkdownStream, PageLayout, has_complete_lines, is_determined};
use crate::parse::{ListItem, MarkdownBlock, MarkdownList, SpannedBlock, line_start};

#[derive(Debug)]
pub(super) struct OpenList {
    start: Option<u64>,
    /// Whether a blank line inside or after a finished item makes the list loose.
    loose: bool,
    /// Whether the finished items are shown with blank lines between them.
    shown_loose: bool,
    /// Index of each finished item's first line among the finished lines.
    items: Vec<usize>,
}

impl OpenList {
    pub(super) fn new(list: &MarkdownList) -> Self {
        Self {
            start: list.start,
            loose: false,
            shown_loose: false,
            items: Vec::new(),
        }
    }

    /// Renders the items that follow the finished ones.
    fn render(&self, items: &[ListItem], loose: bool, page: &PageLayout<'_>) -> Vec<Vec<Line>> {
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

impl MarkdownStream {
    /// Continues parsing a list. Returns it if it has not ended.
    pub(super) fn continue_list(
        &mut self,
        mut open: OpenList,
        text: &str,
        page: &PageLayout<'_>,
    ) -> Option<OpenList> {
        let offset = self.rest;
        let rest = text.get(offset..).unwrap_or_default();
        let parsed = self.parse(rest, page);
        let source = parsed.source.as_ref();
        let Some((list, after)) = first_list(&parsed.blocks) else {
            self.non_incremental = Some(self.rest);
            return None;
        };
        let loose = open.loose || list.is_loose();
        if let (Some(next), Some(last)) = (after.first(), after.last())
            && is_determined(source, last)
        {
            self.finish_items(&mut open, &list.items, loose, page);
            let end = line_start(source, next.range.start);
            self.rest += end;
            self.store_definitions(parsed.definitions, end);
            return None;
        }
        let mut items = list.items.as_slice();
        if let Some((last, before)) = items.split_last()
            && !before.is_empty()
            && has_complete_lines(source, last.start, 1)
        {
            self.finish_items(&mut open, before, loose, page);
            // The continuation of the last item may still change, so it does not affect the spacing
            // of the others permanently.
            open.loose |= last.blank_before || before.iter().any(ListItem::has_gap);
            let end = line_start(source, last.start);
            self.rest += end;
            self.store_definitions(parsed.definitions, end);
            items = std::slice::from_ref(last);
        }
        self.space_items(&mut open, loose, page);
        self.tail = open.render(items, loose, page).concat();
        self.render_from(offset, text, after, page);
        Some(open)
    }

    fn finish_items(
        &mut self,
        open: &mut OpenList,
        items: &[ListItem],
        loose: bool,
        page: &PageLayout<'_>,
    ) {
        self.space_items(open, loose, page);
        for lines in open.render(items, loose, page) {
            let separator = usize::from(loose && !open.items.is_empty());
            open.items.push(self.finished.len() + separator);
            self.finished.extend(lines);
        }
    }

    /// Shows the finished items with or without blank lines between them.
    fn space_items(&mut self, open: &mut OpenList, loose: bool, page: &PageLayout<'_>) {
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
            // The separator before the next item belongs to neither item.
            let last = end == first + shown.len();
            let end = if loose || last { end } else { end - 1 };
            let lines = shown.get(*start - first..end - first);
            *start = self.finished.len();
            self.finished.extend_from_slice(lines.unwrap_or_default());
        }
    }
}

fn first_list(blocks: &[SpannedBlock]) -> Option<(&MarkdownList, &[SpannedBlock])> {
    let (first, after) = blocks.split_first()?;
    match &first.block {
        MarkdownBlock::List(list) => Some((list, after)),
        _ => None,
    }
}
