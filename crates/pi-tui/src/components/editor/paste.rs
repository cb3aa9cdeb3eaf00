//! Pasted text: converted to plain text, and stored behind a marker if it is large.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

const MAX_LINES: usize = 10;
const MAX_CHARACTERS: usize = 1000;
const TAB: &str = "    ";
const MARKER_START: &str = "[paste #";

/// Returns `text` with line breaks as `\n`, tabs as spaces and other control characters removed.
pub(crate) fn plain_text(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\r' => {
                characters.next_if_eq(&'\n');
                plain.push('\n');
            }
            '\n' => plain.push('\n'),
            '\t' => plain.push_str(TAB),
            _ if character.is_control() => {}
            _ => plain.push(character),
        }
    }
    plain
}

/// Decodes re-encoded control characters in pasted text, then converts it to plain text.
///
/// tmux with `extended-keys-format csi-u` encodes control characters inside a paste as keys: `ESC [
/// 106 ; 5 u` for a line feed. See <https://github.com/tmux/tmux/wiki/Modifier-Keys>.
pub(crate) fn plain_paste(text: &str) -> String {
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\x1b[") {
        decoded.push_str(before);
        match control_key(after) {
            Some((character, tail)) => {
                decoded.push(character);
                rest = tail;
            }
            None => {
                decoded.push_str("\x1b[");
                rest = after;
            }
        }
    }
    decoded.push_str(rest);
    plain_text(&decoded)
}

fn control_key(sequence: &str) -> Option<(char, &str)> {
    let (code, tail) = sequence.split_once(";5u")?;
    let letter = char::from_u32(code.parse().ok()?)?;
    let control = letter
        .is_ascii_alphabetic()
        .then(|| u8::try_from(letter.to_ascii_lowercase()).ok())??
        - b'a'
        + 1;
    Some((char::from(control), tail))
}

/// The large pastes of a text, by the number in their marker.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pastes {
    contents: BTreeMap<usize, Arc<str>>,
    count: usize,
}

impl Pastes {
    /// Returns the text to insert: `text`, or a marker if it is large.
    pub(crate) fn store(&mut self, text: String) -> String {
        let lines = text.split('\n').count();
        let characters = text.chars().count();
        if lines <= MAX_LINES && characters <= MAX_CHARACTERS {
            return text;
        }
        self.count += 1;
        let marker = if lines > MAX_LINES {
            format!("{MARKER_START}{} +{lines} lines]", self.count)
        } else {
            format!("{MARKER_START}{} {characters} chars]", self.count)
        };
        self.contents.insert(self.count, text.into());
        marker
    }

    /// Returns the markers in `line` that refer to a stored paste.
    pub(crate) fn markers(&self, line: &str) -> Vec<Range<usize>> {
        if self.contents.is_empty() {
            return Vec::new();
        }
        find_markers(line)
            .filter(|(_, id)| self.contents.contains_key(id))
            .map(|(range, _)| range)
            .collect()
    }

    /// Replaces every marker in `text` with its paste.
    pub(crate) fn expand(&self, text: &str) -> String {
        let mut expanded = String::with_capacity(text.len());
        let mut end = 0;
        for (range, id) in find_markers(text) {
            if let Some(content) = self.contents.get(&id) {
                expanded.push_str(text.get(end..range.start).unwrap_or_default());
                expanded.push_str(content);
                end = range.end;
            }
        }
        expanded.push_str(text.get(end..).unwrap_or_default());
        expanded
    }

    /// Returns a value that changes whenever the set of valid markers does.
    pub(crate) fn signature(&self) -> (usize, usize) {
        (self.count, self.contents.len())
    }

    /// Removes a paste and closes the gap in the numbering.
    pub(crate) fn forget(&mut self, id: usize) {
        if self.contents.remove(&id).is_none() {
            return;
        }
        self.count = self.count.saturating_sub(1);
        let later = self.contents.split_off(&id);
        self.contents
            .extend(later.into_iter().map(|(id, content)| (id - 1, content)));
    }
}

/// Returns `line` with the numbers above `removed` lowered by one, as [`Pastes::forget`] does.
pub(crate) fn renumber(line: &str, removed: usize) -> String {
    let mut renumbered = String::with_capacity(line.len());
    let mut end = 0;
    for (range, id) in find_markers(line).filter(|(_, id)| *id > removed) {
        let marker = line.get(range.clone()).unwrap_or_default();
        renumbered.push_str(line.get(end..range.start).unwrap_or_default());
        renumbered.push_str(&marker.replacen(&format!("#{id}"), &format!("#{}", id - 1), 1));
        end = range.end;
    }
    renumbered.push_str(line.get(end..).unwrap_or_default());
    renumbered
}

/// Returns the number of a text that is exactly one marker.
pub(crate) fn marker_id(text: &str) -> Option<usize> {
    let (range, id) = find_markers(text).next()?;
    (range == (0..text.len())).then_some(id)
}

fn find_markers(text: &str) -> impl Iterator<Item = (Range<usize>, usize)> + '_ {
    text.match_indices(MARKER_START).filter_map(|(start, _)| {
        let body = text.get(start + MARKER_START.len()..)?;
        // Markers are short, however long the rest of the text is.
        let close = body.bytes().take(64).position(|byte| byte == b']')?;
        let body = body.get(..close)?;
        let (id, size) = body.split_once(' ').unwrap_or((body, ""));
        let digits =
            |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let is_valid_size = size.is_empty()
            || size
                .strip_prefix('+')
                .and_then(|size| size.strip_suffix(" lines"))
                .is_some_and(digits)
            || size.strip_suffix(" chars").is_some_and(digits);
        let id = is_valid_size.then(|| id.parse().ok()).flatten()?;
        Some((start..start + MARKER_START.len() + close + 1, id))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn pasted_text_becomes_plain() {
        let cases = [
            ("a\r\nb\rc\nd", "a\nb\nc\nd"),
            ("a\tb", "a    b"),
            ("a\x1b[31mb\x07\u{9b}c\x7f", "a[31mbc"),
            ("a\x1b[106;5ub\x1b[77;5uc", "a\nb\nc"),
            ("a\x1b[99;6ub", "a[99;6ub"),
            ("x\x1b[", "x["),
        ];
        for (pasted, expected) in cases {
            assert_eq!(plain_paste(pasted), expected, "{pasted:?}");
        }
    }

    #[test]
    fn large_pastes_are_replaced_by_a_marker() {
        let mut pastes = Pastes::default();
        assert_eq!(pastes.store("x".repeat(1000)), "x".repeat(1000));
        assert_eq!(pastes.store("\n".repeat(9)), "\n".repeat(9));
        assert_eq!(pastes.store("y\n".repeat(10)), "[paste #1 +11 lines]");
        assert_eq!(pastes.store("z".repeat(1001)), "[paste #2 1001 chars]");
        assert_eq!(
            pastes.expand("a[paste #2 1001 chars]b[paste #9 +1 lines]"),
            format!("a{}b[paste #9 +1 lines]", "z".repeat(1001))
        );
        let markers = pastes.markers("é[paste #1 +11 lines] [paste #3]");
        assert_eq!(markers, std::slice::from_ref(&(2..22)));
        pastes.forget(1);
        assert_eq!(
            renumber("a[paste #2 1001 chars]", 1),
            "a[paste #1 1001 chars]"
        );
        assert_eq!(pastes.expand("[paste #1]"), "z".repeat(1001));
    }
}
