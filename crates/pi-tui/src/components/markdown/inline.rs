//! Running text with its styles and links.
//!
//! Each piece opens its whole style and closes it again, so that any line may be cut and put on any
//! background.

use super::MarkdownTheme;
use super::latex::latex_to_unicode;
use super::parse::Inline;
use crate::style::Style;

/// Writes running text in a theme.
#[derive(Clone, Copy, Debug)]
pub(super) struct InlineRenderer<'a> {
    pub(super) theme: &'a MarkdownTheme,
}

impl InlineRenderer<'_> {
    /// Returns the text with line ends where it has breaks.
    pub(super) fn render(self, text: &[Inline], style: Style) -> String {
        let mut out = String::new();
        self.write(text, style, &mut out);
        out
    }

    fn write(self, text: &[Inline], style: Style, out: &mut String) {
        for inline in text {
            match inline {
                Inline::Text(text) => self.write_linked(text, style, out),
                Inline::Code(code) => push(code, layered(style, self.theme.code), out),
                Inline::Strong(inside) => self.write(inside, style.bold(), out),
                Inline::Emphasis(inside) => self.write(inside, style.italic(), out),
                Inline::Strikethrough(inside) => self.write(inside, style.strikethrough(), out),
                Inline::Link { address, text } => self.write_link(address, text, style, out),
                Inline::Math(formula) => push(&latex_to_unicode(formula), style, out),
                Inline::Break => out.push('\n'),
            }
        }
    }

    /// Writes text; bare addresses in it become links.
    fn write_linked(self, text: &str, style: Style, out: &mut String) {
        let mut rest = text;
        while let Some((start, end)) = find_address(rest) {
            let before = rest.get(..start).unwrap_or_default();
            let address = rest.get(start..end).unwrap_or_default();
            push(before, style, out);
            self.write_address(address, style, out);
            rest = rest.get(end..).unwrap_or_default();
        }
        push(rest, style, out);
    }

    fn write_address(self, address: &str, style: Style, out: &mut String) {
        let style = layered(style, self.theme.link).underline();
        if self.theme.hyperlinks {
            open_link(address, out);
            push(address, style, out);
            close_link(out);
        } else {
            push(address, style, out);
        }
    }

    fn write_link(self, address: &str, text: &[Inline], style: Style, out: &mut String) {
        let inside = layered(style, self.theme.link).underline();
        let plain = plain_text(text);
        if self.theme.hyperlinks && opens_safely(address) {
            open_link(address, out);
            self.write_unlinked(text, inside, out);
            close_link(out);
            return;
        }
        self.write_unlinked(text, inside, out);
        let shown = address.strip_prefix("mailto:").unwrap_or(address);
        if plain != address && plain != shown {
            let address = format!(" ({address})");
            push(&address, layered(style, self.theme.link_url), out);
        }
    }

    /// Writes the text of a link, in which addresses are no links of their own.
    fn write_unlinked(self, text: &[Inline], style: Style, out: &mut String) {
        for inline in text {
            match inline {
                Inline::Text(text) => push(text, style, out),
                other => self.write(std::slice::from_ref(other), style, out),
            }
        }
    }
}

/// Returns `outer` with what `inner` sets on top.
pub(super) fn layered(outer: Style, inner: Style) -> Style {
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

/// Writes text in a style, which does not reach over line ends.
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

/// Returns whether a click may follow an address: other schemes than those of pages and mail start programs
/// or read files, and the text of a link says nothing of its address.
fn opens_safely(address: &str) -> bool {
    ["https://", "http://", "mailto:"].iter().any(|scheme| {
        let start = address.get(..scheme.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    })
}

fn open_link(address: &str, out: &mut String) {
    out.push_str("\x1b]8;;");
    // Bytes outside printable ASCII would end or spoil the sequence.
    for byte in address.bytes() {
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

/// Returns where the first bare web address of a text starts and ends.
fn find_address(text: &str) -> Option<(usize, usize)> {
    let starts = ["https://", "http://"];
    let start = text.match_indices("http").map(|(at, _)| at).find(|at| {
        let rest = text.get(*at..).unwrap_or_default();
        let before = text
            .get(..*at)
            .and_then(|before| before.chars().next_back());
        starts.iter().any(|start| rest.starts_with(start))
            && before.is_none_or(|before| !before.is_alphanumeric())
    })?;
    let rest = text.get(start..)?;
    let length = rest
        .find(|character: char| character.is_whitespace() || "<>\"`".contains(character))
        .unwrap_or(rest.len());
    let mut address = rest.get(..length)?;
    // Punctuation at the end belongs to the sentence, a closing bracket to its opening one.
    while let Some(last) = address.chars().next_back() {
        let unbalanced = last == ')' && address.matches('(').count() < address.matches(')').count();
        if !("?!.,:;*_~'".contains(last) || unbalanced) {
            break;
        }
        address = address.get(..address.len() - last.len_utf8())?;
    }
    let scheme = starts.iter().find(|start| address.starts_with(**start))?;
    (address.len() > scheme.len()).then(|| (start, start + address.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bare_addresses_end_before_punctuation() {
        for (text, expected) in [
            ("see https://a.b/c.", Some("https://a.b/c")),
            ("(https://a.b/c)", Some("https://a.b/c")),
            ("https://a.b/c_(d)", Some("https://a.b/c_(d)")),
            ("xhttps://a.b", None),
            ("https://", None),
            ("http https://é.x y", Some("https://é.x")),
        ] {
            let found = find_address(text).and_then(|(start, end)| text.get(start..end));
            assert_eq!(found, expected, "{text:?}");
        }
    }
}
