//! Turns the names of files in rendered lines into links; see [`FileLink`].

use pi_tui::{AnsiToken, AnsiTokens, Line, Lines, strip_ansi};
use pi_views::text::file_reference::{FileReference, file_references};
use pi_views::theme::ui_theme::RenderContext;

use crate::terminal::file_link::{self, FileLink};

/// Longer lines contain images.
const MAX_LINE: usize = 16 * 1024;

/// The most files that are looked up for one block.
const MAX_LOOKUPS: usize = 500;

const UNDERLINE: &str = "\x1b[4m";
const NO_UNDERLINE: &str = "\x1b[24m";
const HYPERLINK: &str = "\x1b]8;";
const NO_HYPERLINK: &str = "\x1b]8;;\x1b\\";

/// Returns the lines with links to the files of the session's directory that they name.
pub(super) fn link_files(lines: Lines, ctx: &RenderContext) -> Lines {
    let mut lookups = 0;
    let mut is_file = |reference: &FileReference<'_>| {
        lookups += 1;
        lookups <= MAX_LOOKUPS
            && file_link::find(reference.path, &ctx.cwd, ctx.home.as_deref()).is_some()
    };
    let mut linked: Option<Vec<Line>> = None;
    for (index, line) in lines.iter().enumerate() {
        if let Some(text) = link_line(line, &mut is_file) {
            let linked = linked.get_or_insert_with(|| lines.to_vec());
            if let Some(line) = linked.get_mut(index) {
                *line = Line::from(text);
            }
        }
    }
    linked.map_or(lines, Lines::from)
}

/// Returns the line with its links; `None` if it has none.
fn link_line(line: &str, is_file: &mut dyn FnMut(&FileReference<'_>) -> bool) -> Option<String> {
    if line.len() > MAX_LINE || !line.contains(['.', '/', ':']) {
        return None;
    }
    let plain = strip_ansi(line);
    let mut references = file_references(&plain);
    references.retain(|reference| is_file(reference));
    if references.is_empty() {
        return None;
    }
    let mut writer = LinkWriter {
        references: references.into_iter(),
        current: None,
        offset: 0,
        is_open: false,
        in_hyperlink: false,
        out: String::with_capacity(line.len() + 128),
    };
    writer.current = writer.references.next();
    for token in AnsiTokens::new(line) {
        match token {
            AnsiToken::Text(text) => writer.text(text),
            AnsiToken::Sequence(sequence) => writer.sequence(sequence),
        }
    }
    Some(writer.out)
}

/// Copies a line and opens and closes links at their places in its text.
struct LinkWriter<'text> {
    references: std::vec::IntoIter<FileReference<'text>>,
    /// The next reference, or the one inside of which the text is.
    current: Option<FileReference<'text>>,
    /// Bytes of text so far.
    offset: usize,
    is_open: bool,
    /// Whether the line itself has a link here, which stays.
    in_hyperlink: bool,
    out: String,
}

impl LinkWriter<'_> {
    fn text(&mut self, text: &str) {
        let mut rest = text;
        while !rest.is_empty()
            && let Some(reference) = &self.current
        {
            let range = reference.range.clone();
            if !self.is_open {
                let before = range.start.saturating_sub(self.offset);
                if before >= rest.len() {
                    break;
                }
                let address = FileLink::address(reference.path, reference.position);
                rest = self.push_start(rest, before);
                if self.in_hyperlink {
                    self.current = self.references.next();
                    continue;
                }
                for part in [HYPERLINK, ";", &address, "\x1b\\", UNDERLINE] {
                    self.out.push_str(part);
                }
                self.is_open = true;
            }
            rest = self.push_start(rest, range.end.saturating_sub(self.offset));
            if self.offset >= range.end {
                self.close();
            }
        }
        self.push_start(rest, rest.len());
    }

    /// Copies at most `length` bytes and returns the rest.
    fn push_start<'rest>(&mut self, text: &'rest str, length: usize) -> &'rest str {
        let (start, rest) = text.split_at_checked(length).unwrap_or((text, ""));
        self.out.push_str(start);
        self.offset += start.len();
        rest
    }

    fn close(&mut self) {
        self.out.push_str(NO_UNDERLINE);
        self.out.push_str(NO_HYPERLINK);
        self.is_open = false;
        self.current = self.references.next();
    }

    fn sequence(&mut self, sequence: &str) {
        let Some(link) = sequence.strip_prefix(HYPERLINK) else {
            self.out.push_str(sequence);
            if self.is_open {
                // A style that ends inside of the link may have ended the underline.
                self.out.push_str(UNDERLINE);
            }
            return;
        };
        if self.is_open {
            self.close();
        }
        self.out.push_str(sequence);
        let target = link.split_once(';').map_or("", |(_, target)| target);
        self.in_hyperlink = !matches!(target, "" | "\x1b\\" | "\x07");
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn linked(line: &str) -> Option<String> {
        link_line(line, &mut |reference| {
            ["a.rs", "b.rs"].contains(&reference.path)
        })
    }

    #[test]
    fn files_become_links() {
        let open = "\x1b]8;;pi-file:3:0:a.rs\x1b\\\x1b[4m";
        let close = "\x1b[24m\x1b]8;;\x1b\\";
        for (line, expected) in [
            ("see a.rs:3, then", format!("see {open}a.rs:3{close}, then")),
            ("a.rs:3", format!("{open}a.rs:3{close}")),
            (
                "\x1b[1ma.rs\x1b[22m\x1b[33m:3\x1b[39m x",
                format!("\x1b[1m{open}a.rs\x1b[22m\x1b[4m\x1b[33m\x1b[4m:3{close}\x1b[39m x"),
            ),
            (
                "a.rs:3 \x1b]8;;https://x\x1b\\b.rs\x1b]8;;\x1b\\ a.rs:3",
                format!(
                    "{open}a.rs:3{close} \x1b]8;;https://x\x1b\\b.rs\x1b]8;;\x1b\\ {open}a.rs:3{close}"
                ),
            ),
        ] {
            assert_eq!(linked(line).as_deref(), Some(expected.as_str()), "{line:?}");
            assert_eq!(strip_ansi(&expected), strip_ansi(line));
        }
        assert_eq!(linked("a.py:3 and text"), None);
    }
}
