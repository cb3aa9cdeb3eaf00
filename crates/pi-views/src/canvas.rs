//! The canvas blocks write their rows to: wrapped to a width, in theme colors, on a panel or with a margin.
//!
//! Untrusted text goes through [`clean`] or [`BlockCanvas::untrusted`].

use std::borrow::Cow;

use crate::keys;
use crate::theme::ui_theme::RenderContext;
use pi_markdown::{Markdown, MarkdownOptions, MarkdownTheme};
use pi_tui::{
    ColorToken, Component, Line, Lines, MouseButton, MouseEvent, MouseEventKind, PaddedBox, Style,
    TAB_WIDTH, TruncateOptions, sanitize, truncate_to_width, visible_width, wrap_text,
};

/// Marks the first line of a message, for jumping between messages; not written to the terminal (OSC 133).
const ZONE_START: &str = "\x1b]133;A\x07";
/// Marks the last line of a message.
const ZONE_END: &str = "\x1b]133;B\x07\x1b]133;C\x07";

/// Returns untrusted text without control sequences and tabs.
pub fn clean(text: &str) -> Cow<'_, str> {
    let text = sanitize(text);
    if text.contains('\t') {
        return Cow::Owned(without_tabs(&text));
    }
    text
}

/// Replaces tabs with spaces.
pub fn without_tabs(text: &str) -> String {
    text.replace('\t', &" ".repeat(TAB_WIDTH))
}

/// Returns the hint that a key expands the block.
pub fn expand_hint(ctx: &RenderContext) -> String {
    let key = ctx.key(keys::TOOLS_EXPAND);
    ctx.paint(ColorToken::Dim, &format!(" ({key} to expand)"))
}

/// Returns untrusted text as one sanitized line.
pub fn clean_line(text: &str) -> String {
    clean(text).replace('\n', " ")
}

/// Limits the padding so that at least one column remains.
fn fitting_padding(padding: usize, width: usize) -> usize {
    padding.min(width.saturating_sub(1) / 2)
}

#[derive(Debug)]
pub struct BlockCanvas<'ctx> {
    pub ctx: &'ctx RenderContext,
    /// Whether the block is expanded.
    pub expanded: bool,
    full_width: usize,
    padding: usize,
    rows: Vec<Line>,
}

impl<'ctx> BlockCanvas<'ctx> {
    /// Creates a canvas with this padding on both sides.
    pub fn new(width: usize, padding: usize, ctx: &'ctx RenderContext) -> Self {
        Self {
            ctx,
            expanded: false,
            full_width: width,
            padding: fitting_padding(padding, width),
            rows: Vec::new(),
        }
    }

    #[must_use]
    pub fn expanded(mut self, expanded: bool) -> Self {
        self.expanded = expanded;
        self
    }

    /// Returns the columns available for text.
    pub fn width(&self) -> usize {
        self.full_width.saturating_sub(2 * self.padding).max(1)
    }

    pub fn blank(&mut self) {
        self.rows.push(Line::default());
    }

    /// Adds trusted text, which may contain styles, wrapped.
    pub fn styled(&mut self, text: &str) {
        let width = self.width();
        self.rows
            .extend(wrap_text(text, width).into_iter().map(Line::from));
    }

    /// Adds rows that already fit.
    pub fn rows(&mut self, rows: impl IntoIterator<Item = impl Into<Line>>) {
        self.rows.extend(rows.into_iter().map(Into::into));
    }

    /// Adds sanitized text in one color, wrapped.
    pub fn text(&mut self, token: ColorToken, text: &str) {
        let style = self.ctx.style(token);
        for line in text.split('\n') {
            self.styled(&style.apply(line));
        }
    }

    /// Adds untrusted text in one color, wrapped.
    pub fn untrusted(&mut self, token: ColorToken, text: &str) {
        self.text(token, &clean(text));
    }

    /// Adds untrusted text in one color; wrapped rows keep the indentation of their line.
    pub fn notice(&mut self, token: ColorToken, text: &str) {
        let style = self.ctx.style(token);
        for line in clean(text).split('\n') {
            let (indent, content) = self.indentation(line);
            self.wrapped(indent, &style.apply(content));
        }
    }

    /// Adds an untrusted report: lines without indentation are headings, and the blocks of its charts have colors. What
    /// does not fit in the last column of a line continues in that column.
    pub fn report(&mut self, text: &str) {
        let heading = self.ctx.style(ColorToken::Text).bold();
        for line in clean(text).split('\n') {
            let (indent, content) = self.indentation(line);
            let is_heading = indent == 0 && content.starts_with(char::is_alphanumeric);
            if is_heading {
                self.wrapped(indent, &heading.apply(content));
                continue;
            }
            let (columns, last) = self.last_column(indent, content);
            let hanging = indent + visible_width(columns);
            let columns = self.chart_colors(columns);
            let rows = wrap_text(&self.chart_colors(last), self.width() - hanging);
            for (row, text) in rows.into_iter().enumerate() {
                let margin = if row == 0 {
                    format!("{}{columns}", " ".repeat(indent))
                } else {
                    " ".repeat(hanging)
                };
                self.rows([format!("{margin}{text}")]);
            }
        }
    }

    /// Splits a line before its last column, which follows two blanks in the left half of the screen.
    fn last_column<'line>(&self, indent: usize, content: &'line str) -> (&'line str, &'line str) {
        let gaps = content.rmatch_indices("  ");
        let fits = |columns: &&str| indent + visible_width(columns) <= self.width() / 2;
        let columns = gaps
            .filter_map(|(gap, blanks)| content.get(..gap + blanks.len()))
            .find(fits);
        let columns = columns.unwrap_or_default();
        (columns, content.get(columns.len()..).unwrap_or_default())
    }

    /// Returns the columns that a line is indented by, and the rest of it.
    fn indentation<'line>(&self, line: &'line str) -> (usize, &'line str) {
        let content = line.trim_start_matches(' ');
        let indent = (line.len() - content.len()).min(self.width() / 2);
        (indent, content)
    }

    fn wrapped(&mut self, indent: usize, styled: &str) {
        let margin = " ".repeat(indent);
        let rows = wrap_text(styled, self.width() - indent);
        self.rows(rows.into_iter().map(|row| format!("{margin}{row}")));
    }

    /// Gives each kind of block its color, and the rest that of text.
    fn chart_colors(&self, content: &str) -> String {
        let mut styled = String::new();
        let mut run = String::new();
        let mut run_color = ColorToken::Text;
        for character in content.chars() {
            let color = match character {
                '▁'..='█' => ColorToken::Accent,
                '▓' => ColorToken::Success,
                '▒' => ColorToken::Warning,
                '░' | '·' => ColorToken::Dim,
                '▚' => ColorToken::MdLink,
                '▞' => ColorToken::SyntaxKeyword,
                '▤' => ColorToken::SyntaxString,
                '▥' => ColorToken::SyntaxNumber,
                _ => ColorToken::Text,
            };
            if color != run_color {
                styled.push_str(&self.ctx.paint(run_color, &run));
                run.clear();
                run_color = color;
            }
            run.push(character);
        }
        styled.push_str(&self.ctx.paint(run_color, &run));
        styled
    }

    /// Adds the first lines of a sanitized text, and the number of further lines.
    pub fn head(&mut self, token: ColorToken, text: &str, shown: usize) {
        let shown = if self.expanded { usize::MAX } else { shown };
        let mut lines = text.split('\n');
        for line in lines.by_ref().take(shown) {
            self.styled(&self.ctx.paint(token, line));
        }
        let hidden = lines.count();
        if hidden > 0 {
            self.more(&format!("{hidden} more lines"));
        }
    }

    /// Adds the last rows of a sanitized text, preceded by the number of earlier lines.
    ///
    /// Only visible lines are wrapped, so the cost does not grow with the text.
    pub fn tail(&mut self, token: ColorToken, text: &str, shown: usize) {
        if self.expanded {
            self.text(token, text);
            return;
        }
        let width = self.width();
        let mut lines = text.rsplit('\n');
        let mut rows: Vec<String> = Vec::new();
        while rows.len() < shown
            && let Some(line) = lines.next()
        {
            let wrapped = wrap_text(&self.ctx.paint(token, line), width);
            rows.extend(wrapped.into_iter().rev().take(shown - rows.len()));
        }
        let hidden = lines.count();
        if hidden > 0 {
            self.more(&format!("{hidden} earlier lines"));
        }
        self.rows(rows.into_iter().rev());
    }

    /// Adds the last lines of a sanitized text, each cut to one row.
    pub fn last_rows(&mut self, token: ColorToken, text: &str, shown: usize) {
        let lines: Vec<&str> = text.rsplit('\n').take(shown).collect();
        for line in lines.into_iter().rev() {
            self.cut_row(token, line);
        }
    }

    /// Adds the first lines of a sanitized text, each cut to one row.
    pub fn first_rows(&mut self, token: ColorToken, text: &str, shown: usize) {
        for line in text.split('\n').take(shown) {
            self.cut_row(token, line);
        }
    }

    fn cut_row(&mut self, token: ColorToken, line: &str) {
        let line = truncate_to_width(line, self.width(), TruncateOptions { ellipsis: "…" });
        if !line.is_empty() || !self.rows.is_empty() {
            self.rows.push(Line::from(self.ctx.paint(token, &line)));
        }
    }

    /// Returns an empty canvas for rows that are indented by `columns`.
    #[must_use]
    pub fn indented(&self, columns: usize) -> Self {
        Self {
            ctx: self.ctx,
            expanded: self.expanded,
            full_width: self.width().saturating_sub(columns).max(1),
            padding: 0,
            rows: Vec::new(),
        }
    }

    /// Adds the rows of such a canvas.
    pub fn append_indented(&mut self, below: Self, columns: usize) {
        let margin = " ".repeat(columns.min(self.width().saturating_sub(1)));
        let rows = below.rows.into_iter();
        self.rows
            .extend(rows.map(|row| Line::from(format!("{margin}{row}"))));
    }

    /// Replaces the rows after the first `shown` ones by their number if there are more than `limit`, and returns
    /// whether there are.
    pub fn fold(&mut self, limit: usize, shown: usize) -> bool {
        let is_long = self.rows.len() > limit;
        if is_long && !self.expanded {
            let hidden = self.rows.len().saturating_sub(shown);
            self.rows.truncate(shown);
            self.more(&format!("{hidden} more lines"));
        }
        is_long
    }

    /// Adds a line that says what is hidden, with the key that shows it.
    pub fn more(&mut self, what: &str) {
        let key = self.ctx.key(keys::TOOLS_EXPAND);
        let paint = |token, text: &str| self.ctx.paint(token, text);
        let notice = format!(
            "{}{}{}",
            paint(ColorToken::Muted, &format!("… {what} (")),
            paint(ColorToken::Dim, &key),
            paint(ColorToken::Muted, " to expand)"),
        );
        self.styled(&notice);
    }

    /// Adds a bold label in brackets.
    pub fn label(&mut self, name: &str) {
        let style = self.ctx.style(ColorToken::CustomMessageLabel).bold();
        self.styled(&style.apply(&format!("[{}]", clean_line(name))));
    }

    pub fn markdown(&mut self, text: &str, style: Style, options: MarkdownOptions) {
        let mut markdown = Markdown::new(text, markdown_theme(self.ctx))
            .style(style)
            .options(MarkdownOptions {
                mermaid: self.ctx.mermaid,
                ..options
            });
        let lines = markdown.render(self.width());
        self.rows.extend(lines.iter().cloned());
    }

    /// Returns the rows with padding, below an empty row.
    pub fn plain(self) -> Vec<Line> {
        let margin = " ".repeat(self.padding);
        let rows = self.rows.into_iter().map(|row| {
            if row.is_empty() || margin.is_empty() {
                row
            } else {
                Line::from(format!("{margin}{row}"))
            }
        });
        std::iter::once(Line::default()).chain(rows).collect()
    }

    /// Returns the rows next to a bar, below an empty row, where a panel has no background.
    pub fn barred(self, color: ColorToken) -> Vec<Line> {
        let bar = match self.padding {
            0 => String::new(),
            padding => self.ctx.paint(color, "▌") + &" ".repeat(padding - 1),
        };
        let rows = self.rows.into_iter();
        let rows = rows.map(|row| Line::from(format!("{bar}{row}")));
        std::iter::once(Line::default()).chain(rows).collect()
    }

    /// Returns the rows on a background with a blank row above and below, below an empty row.
    pub fn panel(self, background: ColorToken) -> Vec<Line> {
        self.panel_cached(background, &mut PanelCache::default())
    }

    /// Like [`Self::panel`], but reuses the leading rows that are unchanged in `panel`.
    pub fn panel_cached(self, background: ColorToken, panel: &mut PanelCache) -> Vec<Line> {
        let style_key = (self.full_width, self.padding, self.ctx.style(background));
        if panel.style_key != Some(style_key) {
            *panel = PanelCache {
                style_key: Some(style_key),
                ..PanelCache::default()
            };
        }
        let same = panel.rows.iter().zip(&self.rows);
        let same = same.take_while(|(old, new)| old == new).count();
        panel.painted.truncate(same);
        let new = self.rows.get(same..).unwrap_or_default();
        panel.painted.extend(paint_panel(new, style_key));
        panel.rows = self.rows;
        if panel.rows.is_empty() {
            return vec![Line::default()];
        }
        let edge = paint_panel(&[Line::default()], style_key);
        let mut lines = Vec::with_capacity(panel.painted.len() + 3);
        lines.push(Line::default());
        lines.extend_from_slice(&edge);
        lines.extend_from_slice(&panel.painted);
        lines.extend(edge);
        lines
    }
}

/// Width, padding and background of a panel.
type PanelStyle = (usize, usize, Style);

/// Rows of a previously painted panel; a growing panel keeps its beginning.
#[derive(Debug, Default)]
pub struct PanelCache {
    style_key: Option<PanelStyle>,
    rows: Vec<Line>,
    painted: Vec<Line>,
}

fn paint_panel(rows: &[Line], (width, padding, background): PanelStyle) -> Vec<Line> {
    let mut panel = PaddedBox::new().padding(padding, 0).background(background);
    panel.children().push(RenderedRows(rows.to_vec().into()));
    panel.render(width).to_vec()
}

/// Marks lines as one message; the first line is empty and stays outside.
pub fn mark_zone(lines: &mut [Line]) {
    if let Some(first) = lines.get_mut(1) {
        *first = Line::from(format!("{ZONE_START}{first}"));
    }
    if let Some(last) = lines.last_mut() {
        let end = match last.strip_prefix(ZONE_START) {
            Some(text) => format!("{ZONE_START}{ZONE_END}{text}"),
            None => format!("{ZONE_END}{last}"),
        };
        *last = Line::from(end);
    }
}

pub fn markdown_theme(ctx: &RenderContext) -> MarkdownTheme {
    MarkdownTheme {
        code_indent: ctx.code_indent.clone(),
        ..MarkdownTheme::from_theme(&ctx.theme, ctx.capabilities.hyperlinks)
    }
}

/// Returns whether an event is a click that expands or collapses a block.
pub fn is_click(event: &MouseEvent) -> bool {
    event.button == MouseButton::Left && matches!(event.kind, MouseEventKind::Click { .. })
}

struct RenderedRows(Lines);

impl Component for RenderedRows {
    fn render(&mut self, _width: usize) -> Lines {
        self.0.clone()
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn canvas<'ctx>(texts: &[&str], width: usize, ui: &'ctx RenderContext) -> BlockCanvas<'ctx> {
        let mut canvas = BlockCanvas::new(width, 1, ui);
        canvas.rows(texts.iter().copied());
        canvas
    }

    #[test]
    fn a_growing_panel_equals_a_new_one() {
        let ui = RenderContext::for_tests();
        let mut panel = PanelCache::default();
        let states: [(&[&str], usize); 6] = [
            (&["a"], 20),
            (&["a", "b", "c"], 20),
            (&["a", "x"], 20),
            (&["a", "x"], 10),
            (&[], 10),
            (&["a"], 10),
        ];
        for (texts, width) in states {
            let token = ColorToken::ToolPendingBg;
            let again = canvas(texts, width, &ui).panel_cached(token, &mut panel);
            assert_eq!(again, canvas(texts, width, &ui).panel(token), "{texts:?}");
        }
    }

    #[test]
    fn unchanged_panel_rows_are_painted_once() {
        let ui = RenderContext::for_tests();
        let mut panel = PanelCache::default();
        let token = ColorToken::ToolPendingBg;
        let before = canvas(&["a", "b"], 20, &ui).panel_cached(token, &mut panel);
        let after = canvas(&["a", "b", "c"], 20, &ui).panel_cached(token, &mut panel);
        let rows = 2..4;
        let mut reused = before[rows.clone()].iter().zip(&after[rows]);
        assert!(reused.all(|(old, new)| old.ptr_eq(new)));
    }
}
