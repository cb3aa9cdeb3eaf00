//! What blocks write their rows on: wrapped to a width, in the theme's colours, on a panel or with a
//! margin.
//!
//! Text that came from outside enters through [`clean`] or [`Page::foreign`].

use std::borrow::Cow;

use pi_tui::{
    Boxed, ColorToken, Component, Line, Lines, Markdown, MarkdownOptions, MarkdownTheme,
    MouseButton, MouseEvent, MouseEventKind, Style, TAB_WIDTH, sanitize, wrap_text,
};

use crate::keys;
use crate::look::Appearance;

/// Marks the first line of a message, for shells and for jumping from one to the next (OSC 133).
const ZONE_START: &str = "\x1b]133;A\x07";
/// Marks the last line of a message.
const ZONE_END: &str = "\x1b]133;B\x07\x1b]133;C\x07";

/// Columns beside the text of a panel.
pub(crate) const PANEL_PADDING: usize = 1;

/// Returns foreign text without control sequences and tabs.
pub(crate) fn clean(text: &str) -> Cow<'_, str> {
    let text = sanitize(text);
    if text.contains('\t') {
        return Cow::Owned(text.replace('\t', &" ".repeat(TAB_WIDTH)));
    }
    text
}

/// Returns foreign text as one clean line.
pub(crate) fn clean_line(text: &str) -> String {
    clean(text).replace('\n', " ")
}

/// Returns the padding that leaves at least one column for content.
fn fitting_padding(wanted: usize, width: usize) -> usize {
    wanted.min(width.saturating_sub(1) / 2)
}

/// Rows under construction.
#[derive(Debug)]
pub(crate) struct Page<'look> {
    /// How everything looks.
    pub(crate) appearance: &'look Appearance,
    /// Whether everything is shown, or the short form.
    pub(crate) expanded: bool,
    full_width: usize,
    padding: usize,
    rows: Vec<Line>,
}

impl<'look> Page<'look> {
    /// Starts a page with this padding on both sides.
    pub(crate) fn new(width: usize, padding: usize, appearance: &'look Appearance) -> Self {
        Self {
            appearance,
            expanded: false,
            full_width: width,
            padding: fitting_padding(padding, width),
            rows: Vec::new(),
        }
    }

    /// Returns the page for a block that is expanded or not.
    #[must_use]
    pub(crate) fn expanded(mut self, expanded: bool) -> Self {
        self.expanded = expanded;
        self
    }

    /// Returns the columns there are for text.
    pub(crate) fn width(&self) -> usize {
        self.full_width.saturating_sub(2 * self.padding).max(1)
    }

    /// Adds an empty row.
    pub(crate) fn blank(&mut self) {
        self.rows.push(Line::default());
    }

    /// Adds text of our own, which may hold styles, wrapped.
    pub(crate) fn styled(&mut self, text: &str) {
        let width = self.width();
        self.rows
            .extend(wrap_text(text, width).into_iter().map(Line::from));
    }

    /// Adds rows that fit already.
    pub(crate) fn rows(&mut self, rows: impl IntoIterator<Item = impl Into<Line>>) {
        self.rows.extend(rows.into_iter().map(Into::into));
    }

    /// Adds clean text in one colour, wrapped.
    pub(crate) fn text(&mut self, token: ColorToken, text: &str) {
        let style = self.appearance.style(token);
        for line in text.split('\n') {
            self.styled(&style.apply(line));
        }
    }

    /// Adds text from outside in one colour, wrapped.
    pub(crate) fn foreign(&mut self, token: ColorToken, text: &str) {
        self.text(token, &clean(text));
    }

    /// Adds the first lines of a clean text, and how many more there are.
    pub(crate) fn beginning(&mut self, token: ColorToken, text: &str, shown: usize) {
        let shown = if self.expanded { usize::MAX } else { shown };
        let mut lines = text.split('\n');
        for line in lines.by_ref().take(shown) {
            self.styled(&self.appearance.paint(token, line));
        }
        let hidden = lines.count();
        if hidden > 0 {
            self.more(&format!("{hidden} more lines"));
        }
    }

    /// Adds the last rows of a clean text, and before them how many lines come earlier.
    ///
    /// Only what is shown is wrapped, so that the work does not grow with the text.
    pub(crate) fn end(&mut self, token: ColorToken, text: &str, shown: usize) {
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
            let wrapped = wrap_text(&self.appearance.paint(token, line), width);
            rows.extend(wrapped.into_iter().rev().take(shown - rows.len()));
        }
        let hidden = lines.count();
        if hidden > 0 {
            self.more(&format!("{hidden} earlier lines"));
        }
        self.rows(rows.into_iter().rev());
    }

    /// Adds a remark that something is not shown, with the key that shows it.
    pub(crate) fn more(&mut self, what: &str) {
        let key = self.appearance.key(keys::TOOLS_EXPAND);
        let paint = |token, text: &str| self.appearance.paint(token, text);
        let remark = format!(
            "{}{}{}",
            paint(ColorToken::Muted, &format!("… {what} (")),
            paint(ColorToken::Dim, &key),
            paint(ColorToken::Muted, " to expand)"),
        );
        self.styled(&remark);
    }

    /// Adds a bold label in brackets.
    pub(crate) fn label(&mut self, name: &str) {
        let style = self.appearance.style(ColorToken::CustomMessageLabel).bold();
        self.styled(&style.apply(&format!("[{}]", clean_line(name))));
    }

    /// Adds Markdown in one style.
    pub(crate) fn markdown(&mut self, text: &str, style: Style, options: MarkdownOptions) {
        let mut markdown = Markdown::new(text, markdown_theme(self.appearance))
            .style(style)
            .options(MarkdownOptions {
                mermaid: self.appearance.mermaid,
                ..options
            });
        let lines = markdown.render(self.width());
        self.rows.extend(lines.iter().cloned());
    }

    /// Returns the rows below an empty one, with the padding beside them.
    pub(crate) fn plain(self) -> Vec<Line> {
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

    /// Returns the rows on a background below an empty one, with a row of it above and below.
    pub(crate) fn panel(self, background: ColorToken) -> Vec<Line> {
        let mut panel = Boxed::new()
            .padding(self.padding, 1)
            .background(self.appearance.style(background));
        panel.children().push(Rows(self.rows.into()));
        let lines = panel.render(self.full_width);
        std::iter::once(Line::default())
            .chain(lines.iter().cloned())
            .collect()
    }
}

/// Marks lines as one message; the first one is an empty line that stays outside.
pub(crate) fn mark_zone(lines: &mut [Line]) {
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

/// Returns how Markdown looks.
pub(crate) fn markdown_theme(appearance: &Appearance) -> MarkdownTheme {
    MarkdownTheme {
        code_indent: appearance.code_indent.clone(),
        ..MarkdownTheme::from_theme(&appearance.theme, appearance.capabilities.hyperlinks)
    }
}

/// Returns whether an event asks to expand or collapse what is under the pointer.
pub(crate) fn is_click(event: &MouseEvent) -> bool {
    event.button == MouseButton::Left && matches!(event.kind, MouseEventKind::Click { .. })
}

/// Lines that were laid out before.
struct Rows(Lines);

impl Component for Rows {
    fn render(&mut self, _width: usize) -> Lines {
        self.0.clone()
    }
}
