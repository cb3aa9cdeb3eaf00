//! Renders blocks as styled lines of a given width.

use pi_tui::{Style, WideCharPolicy, slice_columns, strip_ansi, visible_width, wrap_text};

use super::code::HighlightCache;
use super::inline::{InlineRenderer, merge_styles, push};
use super::latex::stacked_formula;
use super::list::MIN_CONTENT;
use super::mermaid::{is_mermaid, mermaid_to_text};
use super::parse::{Inline, MarkdownBlock};
use super::{MarkdownOptions, MarkdownTheme, MermaidRendering, table};
use std::cell::RefCell;

const MAX_RULE_WIDTH: usize = 80;
/// Columns by which the rest of a wrapped line of code is indented.
const CONTINUATION: usize = 2;

/// Renders a display formula on several lines, or as LaTeX if that is too wide.
fn formula_lines(formula: &str, width: usize, style: Style) -> Vec<String> {
    let stacked = stacked_formula(formula);
    if stacked.iter().all(|line| visible_width(line) <= width) {
        return stacked.iter().map(|line| style.apply(line)).collect();
    }
    let mut line = String::new();
    push(&format!("$${}$$", formula.trim()), style, &mut line);
    wrap_text(&line, width)
}

/// Renders blocks in a theme, caching the highlighting of code that is still growing.
pub(super) struct BlockRenderer<'a> {
    pub(super) theme: &'a MarkdownTheme,
    pub(super) options: &'a MarkdownOptions,
    pub(super) highlights: &'a RefCell<HighlightCache>,
}

impl BlockRenderer<'_> {
    /// Returns the block's lines, each at most `width` columns.
    pub(super) fn block(&self, block: &MarkdownBlock, width: usize, style: Style) -> Vec<String> {
        let theme = self.theme;
        let inline = InlineRenderer { theme };
        match block {
            MarkdownBlock::Heading(level, text) => {
                let mut heading = merge_styles(style, theme.heading).bold();
                if *level == 1 {
                    heading = heading.underline();
                }
                let mut line = String::new();
                if *level >= 3 {
                    push(&format!("{} ", "#".repeat(*level)), heading, &mut line);
                }
                line.push_str(&inline.render(text, heading));
                wrap_text(&line, width)
            }
            MarkdownBlock::Paragraph(text) => match text.as_slice() {
                [Inline::Math(formula)] => formula_lines(formula, width, style),
                _ => wrap_text(&inline.render(text, style), width),
            },
            MarkdownBlock::Code { language, text } => self.code(language, text, width),
            MarkdownBlock::List(list) => self.list(list, width, style),
            MarkdownBlock::Quote(blocks) => self.quote(blocks, width),
            MarkdownBlock::Table(table) => table::render(table, theme, style, width),
            MarkdownBlock::Rule => vec![theme.rule.apply(&"─".repeat(width.min(MAX_RULE_WIDTH)))],
            MarkdownBlock::Html(source) => {
                let mut line = String::new();
                push(source.trim(), style, &mut line);
                wrap_text(&line, width)
            }
        }
    }

    fn quote(&self, blocks: &[MarkdownBlock], width: usize) -> Vec<String> {
        let border = self.theme.quote_border.apply("│ ");
        let (border, inside) = if width >= MIN_CONTENT + 2 {
            (border.as_str(), width - 2)
        } else {
            ("", width)
        };
        let style = self.theme.quote.italic();
        let mut lines = Vec::new();
        for (index, block) in blocks.iter().enumerate() {
            if index > 0 {
                lines.push(border.to_owned());
            }
            for line in self.block(block, inside, style) {
                lines.push(format!("{border}{line}"));
            }
        }
        lines
    }

    fn code(&self, language: &str, text: &str, width: usize) -> Vec<String> {
        if let Some(diagram) = self.diagram(language, text, width) {
            return diagram;
        }
        if text.is_empty() {
            return [self.fence(language, width), self.fence("", width)].concat();
        }
        let text = text.strip_suffix('\n').unwrap_or(text);
        let highlighted = self.highlights.borrow_mut().lines(
            language,
            text,
            &self.theme.syntax,
            self.theme.code_block,
        );
        let mut lines = self.fence(language, width);
        for line in highlighted {
            lines.extend(self.code_line(&line, width));
        }
        lines.extend(self.fence("", width));
        lines
    }

    /// Returns the lines of a diagram, if the code is a diagram that can be drawn and fits.
    pub(super) fn diagram(&self, language: &str, text: &str, width: usize) -> Option<Vec<String>> {
        if self.options.mermaid == MermaidRendering::Off || !is_mermaid(language) {
            return None;
        }
        let lines = mermaid_to_text(text)?;
        let fits = lines.iter().all(|line| visible_width(line) <= width);
        fits.then(|| {
            let style = self.theme.code_block;
            lines.iter().map(|line| style.apply(line)).collect()
        })
    }

    /// Returns the border above or below code.
    pub(super) fn fence(&self, language: &str, width: usize) -> Vec<String> {
        let border = format!("```{language}");
        wrap_text(&self.theme.code_block_border.apply(&border), width)
    }

    /// Wraps one line of highlighted code; continuation rows are indented further than the line.
    pub(super) fn code_line(&self, line: &str, width: usize) -> Vec<String> {
        let indent = if width >= MIN_CONTENT {
            self.theme.code_indent.as_str()
        } else {
            ""
        };
        let line = format!("{indent}{line}");
        let rows = wrap_text(&line, width);
        if rows.len() <= 1 {
            return rows;
        }
        let plain = strip_ansi(&line);
        let columns = visible_width(&plain);
        let leading = plain.len() - plain.trim_start_matches(' ').len();
        let hanging = leading + CONTINUATION;
        if width < hanging + MIN_CONTENT {
            return rows;
        }
        let content = slice_columns(&line, leading..columns, WideCharPolicy::Keep).text;
        let margins = std::iter::once(leading).chain(std::iter::repeat(hanging));
        wrap_text(&content, width - hanging)
            .into_iter()
            .zip(margins)
            .map(|(row, margin)| format!("{}{row}", " ".repeat(margin)))
            .collect()
    }
}
