//! Code that is shown while it arrives: lines that are complete are coloured once.

use pi_tui::{CodeHighlighter, Style, SyntaxStyles};

/// The coloured lines of a text, as far as they were asked for.
#[derive(Debug, Default)]
pub(crate) struct GrowingCode {
    looks: Option<(String, SyntaxStyles, Style)>,
    /// The complete lines that were coloured.
    source: String,
    lines: Vec<String>,
    highlighter: Option<CodeHighlighter>,
}

impl GrowingCode {
    /// Returns the first `wanted` lines of `code` in colour.
    ///
    /// `language` is named as after a code fence; an unknown one stays plain. Lines of an earlier,
    /// shorter version are taken over.
    pub(crate) fn lines(
        &mut self,
        code: &str,
        language: &str,
        styles: &SyntaxStyles,
        plain: Style,
        wanted: usize,
    ) -> Vec<String> {
        let looks = (language.to_owned(), *styles, plain);
        if self.looks.as_ref() != Some(&looks) || !code.starts_with(&self.source) {
            *self = Self {
                highlighter: CodeHighlighter::new(language, styles, plain),
                looks: Some(looks),
                ..Self::default()
            };
        }
        let mut rest = code.get(self.source.len()..).unwrap_or_default();
        while self.lines.len() < wanted
            && let Some((line, following)) = rest.split_once('\n')
        {
            let coloured = paint(self.highlighter.as_mut(), line, plain);
            self.lines.push(coloured);
            self.source.push_str(line);
            self.source.push('\n');
            rest = following;
        }
        let mut lines: Vec<String> = self.lines.iter().take(wanted).cloned().collect();
        if lines.len() < wanted && !rest.is_empty() {
            // The line may go on, so that the next one must not see what it did.
            lines.push(paint(self.highlighter.clone().as_mut(), rest, plain));
        }
        lines
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
    use pi_tui::{Color, highlight_code};
    use pretty_assertions::assert_eq;

    #[test]
    fn a_growing_text_looks_like_a_whole_one() {
        let styles = SyntaxStyles {
            comment: Style::plain().fg(Color::Indexed(1)),
            keyword: Style::plain().fg(Color::Indexed(2)),
            ..SyntaxStyles::default()
        };
        let code = "/* a comment\nlet over lines */\nlet x = 1;\nlet y";
        let mut growing = GrowingCode::default();
        for end in 0..=code.len() {
            let part = code.get(..end).unwrap();
            let lines = growing.lines(part, "rs", &styles, Style::plain(), usize::MAX);
            let mut whole = highlight_code(part, "rs", &styles, Style::plain());
            if part.is_empty() || part.ends_with('\n') {
                whole.pop();
            }
            assert_eq!(lines, whole);
        }
        assert_eq!(
            growing
                .lines("other", "rs", &styles, Style::plain(), 9)
                .len(),
            1
        );
    }

    #[test]
    fn only_what_is_shown_is_coloured() {
        let mut growing = GrowingCode::default();
        let code = "a\n".repeat(1000);
        let lines = growing.lines(&code, "rs", &SyntaxStyles::default(), Style::plain(), 3);
        assert_eq!((lines.len(), growing.lines.len()), (3, 3));
    }

    #[test]
    fn the_language_is_the_extension_or_the_name() {
        assert_eq!(language_of("/a/b.tar/c.rs"), "rs");
        assert_eq!(language_of("src/Makefile"), "Makefile");
    }
}
