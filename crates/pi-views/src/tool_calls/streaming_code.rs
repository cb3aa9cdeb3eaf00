//! Code shown while it streams: earlier lines are neither sanitized nor highlighted again.

use std::borrow::Cow;

use pi_markdown::{CodeHighlighter, SyntaxStyles};
use pi_tui::{Line, Sanitizer, Style, wrap_text};

use crate::canvas::without_tabs;

/// Growing text, sanitized, with its first lines highlighted as far as requested.
#[derive(Debug, Default)]
pub struct StreamingCode {
    /// The text as received.
    source: String,
    sanitizer: Sanitizer,
    clean: String,
    line_feeds: usize,
    colors: HighlightedLines,
    layout: CodeLayout,
}

/// Highlighted lines wrapped to a width.
#[derive(Debug, Default)]
struct CodeLayout {
    width: usize,
    /// Number of lines already wrapped.
    lines: usize,
    rows: Vec<Line>,
}

#[derive(Debug, Default)]
struct HighlightedLines {
    style_key: Option<(String, SyntaxStyles, Style)>,
    /// Bytes of the complete lines already highlighted.
    bytes: usize,
    lines: Vec<String>,
    highlighter: Option<CodeHighlighter>,
}

impl StreamingCode {
    /// Updates the text; a prefix that has not changed is not processed again.
    pub fn grow(&mut self, text: &str) {
        let Some(new) = text.strip_prefix(self.source.as_str()) else {
            *self = Self::default();
            return self.grow(text);
        };
        let before = self.clean.len();
        self.sanitizer.push(new, &mut self.clean);
        let added = self.clean.get(before..).unwrap_or_default();
        self.line_feeds += added.matches('\n').count();
        if added.contains('\t') {
            let added = without_tabs(added);
            self.clean.truncate(before);
            self.clean.push_str(&added);
        }
        self.source.push_str(new);
    }

    /// Returns the number of lines, ignoring empty ones at the end.
    pub fn total(&self) -> usize {
        let text = self.clean.trim_end_matches('\n');
        let trailing = self.clean.len() - text.len();
        match text {
            "" => 0,
            _ => self.line_feeds - trailing + 1,
        }
    }

    /// Returns the first `limit` lines, highlighted.
    ///
    /// `language` is a code-fence name; an unknown one stays plain.
    pub fn lines(
        &mut self,
        language: &str,
        styles: &SyntaxStyles,
        plain: Style,
        limit: usize,
    ) -> impl Iterator<Item = Cow<'_, str>> {
        let last = self.highlight_until(language, styles, plain, limit);
        let complete = self.colors.lines.iter();
        complete
            .map(|line| Cow::Borrowed(line.as_str()))
            .chain(last.map(Cow::Owned))
            .take(limit)
    }

    /// Returns all lines, highlighted and wrapped to a width.
    pub fn rows(
        &mut self,
        language: &str,
        styles: &SyntaxStyles,
        plain: Style,
        width: usize,
    ) -> Vec<Line> {
        let last = self.highlight_until(language, styles, plain, usize::MAX);
        let layout = &mut self.layout;
        if layout.width != width {
            *layout = CodeLayout {
                width,
                ..CodeLayout::default()
            };
        }
        let wrap = |line: &str| wrap_text(line, width).into_iter().map(Line::from);
        let new = self.colors.lines.get(layout.lines..).unwrap_or_default();
        layout.rows.extend(new.iter().flat_map(|line| wrap(line)));
        layout.lines = self.colors.lines.len();
        let mut rows = layout.rows.clone();
        rows.extend(last.iter().flat_map(|line| wrap(line)));
        rows
    }

    /// Highlights complete lines until there are `limit`; returns the incomplete last line if there are
    /// fewer.
    fn highlight_until(
        &mut self,
        language: &str,
        styles: &SyntaxStyles,
        plain: Style,
        limit: usize,
    ) -> Option<String> {
        if self.colors.choose(language, styles, plain) {
            self.layout = CodeLayout::default();
        }
        let text = self.clean.trim_end_matches('\n');
        let rest = self.colors.highlight_until(text, limit);
        if self.colors.lines.len() >= limit {
            return None;
        }
        let mut withheld = String::new();
        self.sanitizer.clone().finish(&mut withheld);
        match (rest, withheld.as_str()) {
            ("", "") => None,
            (rest, "") => Some(self.colors.preview(rest)),
            (rest, withheld) => Some(self.colors.preview(&format!("{rest}{withheld}"))),
        }
    }
}

impl HighlightedLines {
    /// Sets language and styles; returns whether they changed, in which case everything starts over.
    fn choose(&mut self, language: &str, styles: &SyntaxStyles, plain: Style) -> bool {
        let style_key = (language.to_owned(), *styles, plain);
        let is_other = self.style_key.as_ref() != Some(&style_key);
        if is_other {
            *self = Self {
                highlighter: CodeHighlighter::new(language, styles, plain),
                style_key: Some(style_key),
                ..Self::default()
            };
        }
        is_other
    }

    fn plain(&self) -> Style {
        self.style_key
            .as_ref()
            .map_or(Style::plain(), |(_, _, plain)| *plain)
    }

    /// Highlights complete lines until there are `limit`; returns the rest of the text.
    fn highlight_until<'text>(&mut self, text: &'text str, limit: usize) -> &'text str {
        let plain = self.plain();
        let mut rest = text.get(self.bytes..).unwrap_or_default();
        while self.lines.len() < limit
            && let Some((line, following)) = rest.split_once('\n')
        {
            let colored = paint(self.highlighter.as_mut(), line, plain);
            self.lines.push(colored);
            self.bytes += line.len() + 1;
            rest = following;
        }
        rest
    }

    /// Highlights a line that may still grow, without changing the highlighter's state.
    fn preview(&self, rest: &str) -> String {
        paint(self.highlighter.clone().as_mut(), rest, self.plain())
    }
}

fn paint(highlighter: Option<&mut CodeHighlighter>, line: &str, plain: Style) -> String {
    match highlighter {
        Some(highlighter) => highlighter.line(line),
        None => plain.apply(line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canvas::clean;
    use pi_markdown::highlight_code;
    use pi_tui::Color;
    use pretty_assertions::assert_eq;

    fn styles() -> SyntaxStyles {
        SyntaxStyles {
            comment: Style::plain().fg(Color::Indexed(1)),
            keyword: Style::plain().fg(Color::Indexed(2)),
            ..SyntaxStyles::default()
        }
    }

    fn shown(growing: &mut StreamingCode, limit: usize) -> Vec<String> {
        let styles = styles();
        let lines = growing.lines("rs", &styles, Style::plain(), limit);
        lines.map(Cow::into_owned).collect()
    }

    #[test]
    fn streamed_text_renders_like_complete_text() {
        let code = "/* a comment\r\nlet over lines */\n\tlet x\x1b[31m = 1;\rlet \u{1f3f4}\u{e0067}\n\n\nlet y";
        let mut growing = StreamingCode::default();
        for (end, _) in code.char_indices().chain([(code.len(), ' ')]) {
            let part = code.get(..end).unwrap();
            growing.grow(part);
            let complete = clean(part);
            let complete = complete.trim_end_matches('\n');
            let mut expected = highlight_code(complete, "rs", &styles(), Style::plain());
            if complete.is_empty() {
                expected.clear();
            }
            assert_eq!(growing.total(), expected.len(), "{part:?}");
            assert_eq!(shown(&mut growing, usize::MAX), expected, "{part:?}");
            let rows = growing.rows("rs", &styles(), Style::plain(), 5);
            let expected = expected.iter().flat_map(|line| wrap_text(line, 5));
            assert_eq!(
                rows,
                expected.map(Line::from).collect::<Vec<_>>(),
                "{part:?}"
            );
        }
        growing.grow("other");
        assert_eq!(shown(&mut growing, 9), ["other"]);
    }

    #[test]
    fn only_visible_lines_are_highlighted() {
        let mut growing = StreamingCode::default();
        growing.grow(&"a\n".repeat(1000));
        assert_eq!(shown(&mut growing, 3).len(), 3);
        assert_eq!((growing.total(), growing.colors.lines.len()), (1000, 3));
    }

    #[test]
    fn complete_lines_are_wrapped_once() {
        let mut growing = StreamingCode::default();
        growing.grow("let a;\nlet b;\nlet");
        let before = growing.rows("rs", &styles(), Style::plain(), 40);
        growing.grow("let a;\nlet b;\nlet c;\nlet d");
        let after = growing.rows("rs", &styles(), Style::plain(), 40);
        let reused = before.iter().zip(&after);
        let reused = reused.map(|(old, new)| old.ptr_eq(new));
        assert_eq!(reused.collect::<Vec<_>>(), [true, true, false]);
        assert_eq!(after.len(), 4);
    }
}
