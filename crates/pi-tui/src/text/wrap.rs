//! Wraps styled text to a width.
//!
//! A single pass: a word is held back until it is known to fit, and everything else is written
//! immediately, so the work is linear for any text.

use super::ansi::{AnsiToken, AnsiTokens, StyleState};
use super::cjk::is_cjk;
use super::width::{grapheme_width, graphemes, visible_width};

#[cfg(test)]
mod tests;

/// Wraps `text` into lines of at most `width` columns, without padding.
///
/// Lines break at spaces and between CJK characters, and longer words break anywhere. Spaces at a
/// break are dropped. A style or link open at a break is reopened on the next line. Line breaks in
/// `text` are kept. A character wider than `width` becomes `?`.
pub fn wrap_text(text: &str, width: usize) -> Vec<String> {
    let mut wrapper = TextWrapper::new(width);
    if width == 0 {
        return vec![String::new()];
    }
    let mut rest = Some(text);
    while let Some(text) = rest {
        let (line, following) = split_line(text);
        wrapper.wrap_line(line);
        if following.is_some() {
            wrapper.end_line();
        } else {
            wrapper.lines.push(std::mem::take(&mut wrapper.line));
        }
        rest = following;
    }
    wrapper.lines
}

/// Returns the text up to the first line break (LF, CR or CRLF), and the text after it.
fn split_line(text: &str) -> (&str, Option<&str>) {
    let Some(end) = memchr::memchr2(b'\n', b'\r', text.as_bytes()) else {
        return (text, None);
    };
    let (line, rest) = text.split_at_checked(end).unwrap_or((text, ""));
    let rest = rest
        .strip_prefix("\r\n")
        .or_else(|| rest.strip_prefix(['\r', '\n']));
    (line, rest)
}

/// The line under construction, and the pending gap and word.
struct TextWrapper {
    width: usize,
    lines: Vec<String>,
    line: String,
    line_width: usize,
    /// The style at the end of `line`.
    line_style: StyleState,
    /// Spaces after the line's last word, with the sequences among them.
    gap: String,
    gap_width: usize,
    /// The style at the end of the gap, where the word starts.
    word_style: StyleState,
    word: String,
    word_width: usize,
    /// The style at the end of the word.
    end_style: StyleState,
    /// Whether a sequence was seen since the three styles were equal.
    restyled: bool,
    /// Whether the word is longer than a line and is written directly, one character at a time.
    in_long_word: bool,
}

impl TextWrapper {
    fn new(width: usize) -> Self {
        Self {
            width,
            lines: Vec::new(),
            line: String::new(),
            line_width: 0,
            line_style: StyleState::default(),
            gap: String::new(),
            gap_width: 0,
            word_style: StyleState::default(),
            word: String::new(),
            word_width: 0,
            end_style: StyleState::default(),
            restyled: false,
            in_long_word: false,
        }
    }

    /// Wraps text without line breaks, leaving its last line in `line`.
    fn wrap_line(&mut self, text: &str) {
        if visible_width(text) <= self.width {
            self.line.push_str(text);
            for token in AnsiTokens::new(text) {
                if let AnsiToken::Sequence(sequence) = token {
                    self.end_style.apply(sequence);
                    self.restyled = true;
                }
            }
            self.sync_styles();
            return;
        }
        for token in AnsiTokens::new(text) {
            match token {
                AnsiToken::Sequence(sequence) => self.push_sequence(sequence),
                AnsiToken::Text(text) => self.push_text(text),
            }
        }
        self.commit_word();
        // Spaces at the end of a wrapped line are dropped, but style changes among them are not.
        for token in AnsiTokens::new(&std::mem::take(&mut self.gap)) {
            if let AnsiToken::Sequence(sequence) = token {
                self.line.push_str(sequence);
            }
        }
        self.sync_styles();
    }

    fn push_sequence(&mut self, sequence: &str) {
        self.end_style.apply(sequence);
        self.restyled = true;
        if self.in_long_word {
            self.line.push_str(sequence);
            self.line_style.apply(sequence);
        } else if self.word.is_empty() {
            self.gap.push_str(sequence);
            self.word_style.apply(sequence);
        } else {
            self.word.push_str(sequence);
        }
    }

    /// Adds text without sequences, with a fast path for ASCII runs.
    fn push_text(&mut self, text: &str) {
        let mut rest = text;
        while !rest.is_empty() {
            let filled = if self.in_long_word {
                self.line_width
            } else {
                self.word_width
            };
            let run = ascii_word_length(rest.as_bytes(), self.width.saturating_sub(filled));
            let taken = if run > 0 {
                let (text, width) = if self.in_long_word {
                    (&mut self.line, &mut self.line_width)
                } else {
                    (&mut self.word, &mut self.word_width)
                };
                text.push_str(rest.get(..run).unwrap_or_default());
                *width += run;
                run
            } else if let Some(grapheme) = graphemes(rest).next() {
                self.push_grapheme(grapheme);
                grapheme.len()
            } else {
                return;
            };
            rest = rest.get(taken..).unwrap_or_default();
        }
    }

    fn push_grapheme(&mut self, grapheme: &str) {
        if let " " | "\t" = grapheme {
            self.commit_word();
            self.gap.push_str(grapheme);
            self.gap_width += grapheme_width(grapheme);
            return;
        }
        let width = grapheme_width(grapheme);
        let (grapheme, width) = if width > self.width {
            ("?", 1)
        } else {
            (grapheme, width)
        };
        if grapheme.chars().next().is_some_and(is_cjk) {
            self.commit_word();
            self.word.push_str(grapheme);
            self.word_width = width;
            self.commit_word();
        } else if self.in_long_word {
            self.write_grapheme(grapheme, width);
        } else if self.word_width + width > self.width {
            self.spill_word();
            self.write_grapheme(grapheme, width);
        } else {
            self.word.push_str(grapheme);
            self.word_width += width;
        }
    }

    /// Commits the pending gap and word to the line, or the word to the next line.
    fn commit_word(&mut self) {
        if self.in_long_word {
            self.in_long_word = false;
            self.sync_styles();
            return;
        }
        if self.word.is_empty() {
            return;
        }
        if self.line_width + self.gap_width + self.word_width <= self.width {
            self.line.push_str(&self.gap);
            self.line_width += self.gap_width;
        } else {
            if self.line_width > 0 {
                self.break_line();
            } else {
                self.restart_line();
            }
            self.word_style.write_open(&mut self.line);
        }
        self.line.push_str(&self.word);
        self.line_width += self.word_width;
        self.sync_styles();
    }

    /// Starts a word that is longer than a line on its own line.
    fn spill_word(&mut self) {
        if self.line_width > 0 || self.gap_width >= self.width {
            if self.line_width > 0 {
                self.break_line();
            } else {
                self.restart_line();
            }
            self.word_style.write_open(&mut self.line);
        } else {
            self.line.push_str(&self.gap);
            self.line_width = self.gap_width;
        }
        self.line_style.clone_from(&self.word_style);
        let word = std::mem::take(&mut self.word);
        for token in AnsiTokens::new(&word) {
            match token {
                AnsiToken::Sequence(sequence) => {
                    self.line.push_str(sequence);
                    self.line_style.apply(sequence);
                }
                AnsiToken::Text(text) => {
                    for grapheme in graphemes(text) {
                        self.write_grapheme(grapheme, grapheme_width(grapheme));
                    }
                }
            }
        }
        self.sync_styles();
        self.in_long_word = true;
    }

    /// Writes one grapheme of a long word, on the next line if this one is full.
    fn write_grapheme(&mut self, grapheme: &str, width: usize) {
        if self.line_width + width > self.width {
            self.break_line();
            self.line_style.write_open(&mut self.line);
        }
        self.line.push_str(grapheme);
        self.line_width += width;
    }

    fn break_line(&mut self) {
        self.line_style.write_line_end(&mut self.line);
        self.lines.push(std::mem::take(&mut self.line));
        self.line_width = 0;
    }

    /// Drops the sequences of a zero-width line, since its style is written again. Zero-width text
    /// is kept.
    fn restart_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        let texts = AnsiTokens::new(&line).filter_map(|token| match token {
            AnsiToken::Text(text) => Some(text),
            AnsiToken::Sequence(_) => None,
        });
        self.line = texts.collect();
    }

    /// Ends the line at a line break of the text. The style continues.
    fn end_line(&mut self) {
        self.break_line();
        self.line_style.write_open(&mut self.line);
    }

    /// Makes the end of the pending word the end of the line.
    fn sync_styles(&mut self) {
        self.gap.clear();
        self.word.clear();
        (self.gap_width, self.word_width) = (0, 0);
        if std::mem::take(&mut self.restyled) {
            self.word_style.clone_from(&self.end_style);
            self.line_style.clone_from(&self.end_style);
        }
    }
}

/// Returns how many bytes at the start, at most `limit`, are word characters that need no further
/// inspection.
///
/// The last one before a non-ASCII character is excluded, since a combining mark may follow it.
fn ascii_word_length(bytes: &[u8], limit: usize) -> usize {
    let length = bytes
        .iter()
        .take(limit)
        .take_while(|byte| byte.is_ascii_graphic())
        .count();
    let before_other = bytes.get(length).is_some_and(|byte| !byte.is_ascii());
    if before_other {
        length.saturating_sub(1)
    } else {
        length
    }
}
