//! Renders inline text with its styles and links.
//!
//! Each span opens and closes its complete style, so that any line can be cut and placed on any
//! background.

use pi_tui::Style;

use super::MarkdownTheme;
use super::latex::latex_to_unicode;
use super::parse::{Inline, is_east_asian};

#[derive(Clone, Copy, Debug)]
pub(super) struct InlineRenderer<'a> {
    pub(super) theme: &'a MarkdownTheme,
}

impl InlineRenderer<'_> {
    /// Renders the text, with line breaks where it has breaks.
    pub(super) fn render(self, text: &[Inline], style: Style) -> String {
        let mut out = String::new();
        self.write(text, style, &mut out);
        out
    }

    fn write(self, text: &[Inline], style: Style, out: &mut String) {
        for inline in text {
            match inline {
                Inline::Text(text) => self.write_linked(text, style, out),
                Inline::Code(code) => push(code, merge_styles(style, self.theme.code), out),
                Inline::Strong(inside) => self.write(inside, style.bold(), out),
                Inline::Emphasis(inside) => self.write(inside, style.italic(), out),
                Inline::Strikethrough(inside) => self.write(inside, style.strikethrough(), out),
                Inline::Link { url, text } => self.write_link(url, text, style, out),
                Inline::Math(formula) => push(&latex_to_unicode(formula), style, out),
                Inline::Break => out.push('\n'),
            }
        }
    }

    /// Writes text, turning bare URLs into links.
    fn write_linked(self, text: &str, style: Style, out: &mut String) {
        let mut rest = text;
        while let Some((start, end)) = find_url(rest) {
            let before = rest.get(..start).unwrap_or_default();
            let url = rest.get(start..end).unwrap_or_default();
            push(before, style, out);
            self.write_url(url, style, out);
            rest = rest.get(end..).unwrap_or_default();
        }
        push(rest, style, out);
    }

    fn write_url(self, url: &str, style: Style, out: &mut String) {
        let style = merge_styles(style, self.theme.link).underline();
        if self.theme.hyperlinks {
            open_link(url, out);
            push(url, style, out);
            close_link(out);
        } else {
            push(url, style, out);
        }
    }

    fn write_link(self, url: &str, text: &[Inline], style: Style, out: &mut String) {
        let inside = merge_styles(style, self.theme.link).underline();
        let plain = plain_text(text);
        if self.theme.hyperlinks && is_safe_to_open(url) {
            open_link(url, out);
            self.write_unlinked(text, inside, out);
            close_link(out);
            return;
        }
        self.write_unlinked(text, inside, out);
        let shown = url.strip_prefix("mailto:").unwrap_or(url);
        if plain != url && plain != shown {
            let url = format!(" ({url})");
            push(&url, merge_styles(style, self.theme.link_url), out);
        }
    }

    /// Writes the text of a link, in which URLs are not linked again.
    fn write_unlinked(self, text: &[Inline], style: Style, out: &mut String) {
        for inline in text {
            match inline {
                Inline::Text(text) => push(text, style, out),
                other => self.write(std::slice::from_ref(other), style, out),
            }
        }
    }
}

/// Returns `outer` overridden by `inner`.
pub(super) fn merge_styles(outer: Style, inner: Style) -> Style {
    Style {
        foreground: inner.foreground.or(outer.foreground),
        background: inner.background.or(outer.background),
        bold: outer.bold || inner.bold,
        dim: outer.dim || inner.dim,
        italic: outer.italic || inner.italic,
        underline: outer.underline || inner.underline,
        inverse: outer.inverse || inner.inverse,
        strikethrough: outer.strikethrough || inner.strikethrough,
    }
}

/// Writes text in a style, which is closed at line breaks.
pub(super) fn push(text: &str, style: Style, out: &mut String) {
    for (index, part) in text.split('\n').enumerate() {
        if index > 0 {
            out.push('\n');
        }
        if !part.is_empty() {
            out.push_str(&style.apply(part));
        }
    }
}

/// Whether a URL is safe to open with a click. Schemes other than web and mail may start programs
/// or read files, and the text of a link need not reveal its URL.
fn is_safe_to_open(url: &str) -> bool {
    ["https://", "http://", "mailto:"].iter().any(|scheme| {
        let start = url.get(..scheme.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    })
}

fn open_link(url: &str, out: &mut String) {
    out.push_str("\x1b]8;;");
    // Bytes outside printable ASCII would terminate or corrupt the sequence.
    for byte in url.bytes() {
        if byte.is_ascii_graphic() {
            out.push(char::from(byte));
        } else {
            let digit = |value: u8| char::from_digit(u32::from(value), 16).unwrap_or('0');
            out.extend(['%', digit(byte >> 4), digit(byte & 15)].map(|it| it.to_ascii_uppercase()));
        }
    }
    out.push_str("\x1b\\");
}

fn close_link(out: &mut String) {
    out.push_str("\x1b]8;;\x1b\\");
}

fn plain_text(text: &[Inline]) -> String {
    text.iter()
        .map(|inline| match inline {
            Inline::Text(text) | Inline::Code(text) | Inline::Math(text) => text.clone(),
            Inline::Strong(inside) | Inline::Emphasis(inside) | Inline::Strikethrough(inside) => {
                plain_text(inside)
            }
            Inline::Link { text, .. } => plain_text(text),
            Inline::Break => "\n".to_owned(),
        })
        .collect()
}

/// Returns the range of the first bare URL in a text.
fn find_url(text: &str) -> Option<(usize, usize)> {
    let starts = ["https://", "http://"];
    let start = text.match_indices("http").map(|(at, _)| at).find(|at| {
        let rest = text.get(*at..).unwrap_or_default();
        let before = text
            .get(..*at)
            .and_then(|before| before.chars().next_back());
        starts.iter().any(|start| rest.starts_with(start))
            && before.is_none_or(|before| !before.is_alphanumeric() || is_east_asian(before))
    })?;
    let rest = text.get(start..)?;
    let length = rest
        .find(|character: char| {
            character.is_whitespace() || "<>\"`".contains(character) || is_east_asian(character)
        })
        .unwrap_or(rest.len());
    let mut url = rest.get(..length)?;
    // Trailing punctuation belongs to the sentence, a closing parenthesis to its opening one.
    while let Some(last) = url.chars().next_back() {
        let unbalanced = last == ')' && url.matches('(').count() < url.matches(')').count();
        if !("?!.,:;*_~'".contains(last) || unbalanced) {
            break;
        }
        url = url.get(..url.len() - last.len_utf8())?;
    }
    let scheme = starts.iter().find(|start| url.starts_with(**start))?;
    (url.len() > scheme.len()).then(|| (start, start + url.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bare_urls_end_before_punctuation() {
        for (text, expected) in [
            ("see https://a.b/c.", Some("https://a.b/c")),
            ("(https://a.b/c)", Some("https://a.b/c")),
            ("https://a.b/c_(d)", Some("https://a.b/c_(d)")),
            ("xhttps://a.b", None),
            ("https://", None),
            ("http https://é.x y", Some("https://é.x")),
            ("請看https://a.b/c。謝謝", Some("https://a.b/c")),
            ("https://a.b/c（附註）", Some("https://a.b/c")),
            ("https://a.b/c를 보세요", Some("https://a.b/c")),
        ] {
            let found = find_url(text).and_then(|(start, end)| text.get(start..end));
            assert_eq!(found, expected, "{text:?}");
        }
    }
}
