//! Renders lists: markers, indentation, tasks, nested lists.

use pi_tui::{Style, visible_width, wrap_text};

use super::block::BlockRenderer;
use super::parse::{ListItem, MarkdownBlock, MarkdownList};

/// Content is never narrower than this; deeper levels stop indenting instead.
pub(super) const MIN_CONTENT: usize = 8;
const INDENT: usize = 4;

impl BlockRenderer<'_> {
    pub(super) fn list(&self, list: &MarkdownList, width: usize, style: Style) -> Vec<String> {
        let loose = list.is_loose();
        let mut lines = Vec::new();
        for (index, item) in list.items.iter().enumerate() {
            if loose && index > 0 {
                lines.push(String::new());
            }
            lines.extend(self.list_item(list.start, index, item, width, style));
        }
        lines
    }

    /// Returns the lines of the item with this index in a list that starts at `start`.
    pub(super) fn list_item(
        &self,
        start: Option<u64>,
        index: usize,
        item: &ListItem,
        width: usize,
        style: Style,
    ) -> Vec<String> {
        let mut lines = Vec::new();
        let marker = self.marker(start, item, index);
        self.item(item, &marker, width, style, &mut lines);
        lines
    }

    fn marker(&self, start: Option<u64>, item: &ListItem, index: usize) -> String {
        let bullet = match start {
            _ if self.options.keep_list_markers => format!("{} ", item.marker),
            Some(start) => format!("{}. ", start.saturating_add(index as u64)),
            None => "- ".to_owned(),
        };
        match item.task {
            Some(done) if self.options.keep_list_markers => {
                bullet + if done { "[x] " } else { "[ ] " }
            }
            // The box replaces the bullet.
            Some(done) => {
                let number = bullet.strip_prefix("- ").map_or(bullet.as_str(), |_| "");
                format!("{number}{} ", if done { "☑" } else { "☐" })
            }
            None => bullet,
        }
    }

    fn item(
        &self,
        item: &ListItem,
        marker: &str,
        width: usize,
        style: Style,
        lines: &mut Vec<String>,
    ) {
        let marker_width = visible_width(marker);
        let fits_marker = width >= marker_width + MIN_CONTENT;
        let content = if fits_marker {
            width - marker_width
        } else {
            width
        };
        let mut first = Some(self.theme.list_bullet.apply(marker));
        let indent = if fits_marker {
            " ".repeat(marker_width)
        } else {
            String::new()
        };
        for block in &item.blocks {
            if let MarkdownBlock::List(nested) = block {
                let step = if width >= INDENT + MIN_CONTENT {
                    INDENT
                } else {
                    0
                };
                lines.extend(first.take());
                let margin = " ".repeat(step);
                let inner = self.list(nested, width - step, style);
                lines.extend(inner.into_iter().map(|line| margin.clone() + &line));
                continue;
            }
            for line in self.block(block, content, style) {
                let prefix = match first.take() {
                    Some(marker) if fits_marker => marker,
                    Some(marker) => {
                        lines.extend(wrap_text(&marker, width));
                        String::new()
                    }
                    None => indent.clone(),
                };
                lines.push(prefix + &line);
            }
        }
        lines.extend(first.take());
    }
}
