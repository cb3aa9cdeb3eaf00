//! Code that is shown while it arrives: what came before is neither cleaned nor colored again.

use std::borrow::Cow;

use pi_tui::{CodeHighlighter, Line, Sanitizer, Style, SyntaxStyles, wrap_text};

use super::canvas::without_tabs;

/// A text that grows, clean, and its first lines in color as far as they were asked for.
#[derive(Debug, Default)]
pub(crate) struct StreamingCode {
    /// The text as it came.
    source: String,
    sanitizer: Sanitizer,
    clean: String,
    line_feeds: usize,
    colors: HighlightedLines,
    layout: CodeLayout,
}

/// Colored lines wrapped to a width.
#[derive(Debug, Default)]
struct CodeLayout {
    width: usize,
    /// How many of the lines were wrapped.
    lines: usize,
    rows: Vec<Line>,
}

/// The colored lines of a clean text.
#[derive(Debug, Default)]
struct HighlightedLines {
    style_key: Option<(String, SyntaxStyles, Style)>,
    /// The bytes of the complete lines that were colored.
    bytes: usize,
    lines: Vec<String>,
    highlighter: Option<CodeHighlighter>,
}

impl StreamingCode {
    /// Takes the text as it is now; what it begins with, and was there before, is not looked at again.
    pub(crate) fn grow(&mut self, text: &str) {
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

    /// Returns how many lines the text has; empty ones at its end do not count.
    pub(crate) fn total(&self) -> usize {
        let text = self.clean.trim_end_matches('\n');
        let trailing = self.clean.len() - text.len();
        match text {
            "" => 0,
            _ => self.line_feeds - trailing + 1,
        }
    }

    /// Returns the first `wanted` lines in color.
    ///
    /// `language` is named as after a code fence; an unknown one stays plain.
    pub(crate) fn lines(
        &mut self,
        language: &str,
        styles: &SyntaxStyles,
        plain: Style,
        wanted: usize,
    ) -> impl Iterator<Item = Cow<'_, str>> {
        let last = self.reach(language, styles, plain, wanted);
        let complete = self.colors.lines.iter();
        complete
            .map(|line| Cow::Borrowed(line.as_str()))
            .chain(last.map(Cow::Owned))
            .take(wanted)
    }

    /// Returns all lines in color, wrapped to a width.
    pub(crate) fn rows(
        &mut self,
        language: &str,
        styles: &SyntaxStyles,
        plain: Style,
        width: usize,
    ) -> Vec<Line> {
        let last = self.reach(language, styles, plain, usize::MAX);
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

    /// Colors complete lines until there are as many as wanted; returns the last line if there are not.
    fn reach(
        &mut self,
        language: &str,
        styles: &SyntaxStyles,
        plain: Style,
        wanted: usize,
    ) -> Option<String> {
        if self.colors.choose(language, styles, plain) {
            self.layout = CodeLayout::default();
        }
        let text = self.clean.trim_end_matches('\n');
        let rest = self.colors.reach(text, wanted);
        if self.colors.lines.len() >= wanted {
            return None;
        }
        let mut queued_during_compaction = String::new();
        self.sanitizer.clone().finish(&mut queued_during_compaction);
        match (rest, queued_during_compaction.as_str()) {
            ("", "") => None,
            (rest, "") => Some(self.colors.preview(rest)),
            (rest, queued_during_compaction) => Some(
                self.colors
                    .preview(&format!("{rest}{queued_during_compaction}")),
            ),
        }
    }
}

impl HighlightedLines {
    /// Chooses the looks; tells whether they are others than before, so that everything begins anew.
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

    /// Colors complete lines of a text until there are as many as wanted; returns what follows them.
    fn reach<'text>(&mut self, text: &'text str, wanted: usize) -> &'text str {
        let plain = self.plain();
        let mut rest = text.get(self.bytes..).unwrap_or_default();
        while self.lines.len() < wanted
            && let Some((line, following)) = rest.split_once('\n')
        {
            let colored = paint(self.highlighter.as_mut(), line, plain);
            self.lines.push(colored);
            self.bytes += line.len() + 1;
            rest = following;
        }
        rest
    }

    /// Returns a line in color that may go on, so that the next one must not see what it did.
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

/// Returns the name of a file's language, as after a code fence.
pub(crate) fn language_of(path: &str) -> &str {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    match name.rsplit_once('.') {
        Some((_, extension)) => extension,
        None => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::canvas::clean;
    use pi_tui::{Color, highlight_code};
    use pretty_assertions::assert_eq;

    fn styles() -> SyntaxStyles {
        SyntaxStyles {
            comment: Style::plain().fg(Color::Indexed(1)),
            keyword: Style::plain().fg(Color::Indexed(2)),
            ..SyntaxStyles::default()
        }
    }

    fn shown(growing: &mut StreamingCode, wanted: usize) -> Vec<String> {
        let styles = styles();
        let lines = growing.lines("rs", &styles, Style::plain(), wanted);
        lines.map(Cow::into_owned).collect()
    }

    #[test]
    fn a_growing_text_looks_like_a_whole_one() {
        let code = "/* a comment\r\nlet over lines */\n\tlet x\x1b[31m = 1;\rlet \u{1f3f4}\u{e0067}\n\n\nlet y";
        let mut growing = StreamingCode::default();
        for (end, _) in code.char_indices().chain([(code.len(), ' ')]) {
            let part = code.get(..end).unwrap();
            growing.grow(part);
            let whole = clean(part);
            let whole = whole.trim_end_matches('\n');
            let mut expected = highlight_code(whole, "rs", &styles(), Style::plain());
            if whole.is_empty() {
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
    fn only_what_is_shown_is_colored() {
        let mut growing = StreamingCode::default();
        growing.grow(&"a\n".repeat(1000));
        assert_eq!(shown(&mut growing, 3).len(), 3);
        assert_eq!((growing.total(), growing.colors.lines.len()), (1000, 3));
    }

    #[test]
    fn rows_of_complete_lines_are_laid_out_once() {
        let mut growing = StreamingCode::default();
        growing.grow("let a;\nlet b;\nlet");
        let before = growing.rows("rs", &styles(), Style::plain(), 40);
        growing.grow("let a;\nlet b;\nlet c;\nlet d");
        let after = growing.rows("rs", &styles(), Style::plain(), 40);
        let kept = before.iter().zip(&after);
        let kept = kept.map(|(old, new)| old.same(new));
        assert_eq!(kept.collect::<Vec<_>>(), [true, true, false]);
        assert_eq!(after.len(), 4);
    }

    #[test]
    fn the_language_is_the_extension_or_the_name() {
        assert_eq!(language_of("/a/b.tar/c.rs"), "rs");
        assert_eq!(language_of("src/Makefile"), "Makefile");
    }
}
