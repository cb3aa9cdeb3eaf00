//! Finds references to files in text, such as `src/main.rs:42`.
//!
//! A reference is a guess from the spelling: its user checks whether the file exists.

use std::ops::Range;

/// Longer words are not paths.
const MAX_LENGTH: usize = 512;

/// A position in a file; both numbers start at 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FilePosition {
    pub line: u32,
    pub column: Option<u32>,
}

/// What may be the path of a file, with an optional position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileReference<'text> {
    /// Bytes of the text, including the position.
    pub range: Range<usize>,
    pub path: &'text str,
    pub position: Option<FilePosition>,
}

/// Returns the references in a text, from left to right.
pub fn file_references(text: &str) -> Vec<FileReference<'_>> {
    let mut found = Vec::new();
    let mut rest = text;
    let mut offset = 0;
    while let Some(start) = rest.find(is_path_character) {
        let word = rest.get(start..).unwrap_or_default();
        let end = word.find(|character| !is_path_character(character));
        let end = end.unwrap_or(word.len());
        let (word, after) = word.split_at_checked(end).unwrap_or((word, ""));
        found.extend(reference(word, offset + start));
        offset += start + end;
        rest = after;
    }
    found
}

/// Whether a character continues a path or its position. Spaces, quotes and brackets end both.
fn is_path_character(character: char) -> bool {
    character.is_alphanumeric() || "/\\._-+@~:#".contains(character)
}

/// Returns the reference in a word that starts at `offset`.
fn reference(word: &str, offset: usize) -> Option<FileReference<'_>> {
    if word.len() > MAX_LENGTH || word.contains("://") {
        return None;
    }
    let trimmed = word.trim_start_matches(['@', ':', '#', '-', '+']);
    let start = offset + (word.len() - trimmed.len());
    let (path, position, length) = split_position(trimmed);
    let is_path = path.contains(['/', '\\']) || has_extension(path) || position.is_some();
    let is_number = path.chars().all(|it| it.is_ascii_digit() || it == '.');
    let has_name = path.chars().any(char::is_alphanumeric);
    (is_path && has_name && !is_number).then(|| FileReference {
        range: start..start + length,
        path,
        position,
    })
}

/// Splits a word into path, position, and the length of both in bytes.
fn split_position(word: &str) -> (&str, Option<FilePosition>, usize) {
    let colons = word.match_indices(':').map(|(at, _)| (at, 1));
    let anchors = word.match_indices("#L").map(|(at, _)| (at, 2));
    for (at, mark) in colons.chain(anchors) {
        let Some((line, length)) = number(word, at + mark) else {
            continue;
        };
        let mut end = at + mark + length;
        let mut column = None;
        // A column follows a colon, the end of a range follows a dash.
        let next = word.get(end..).unwrap_or_default();
        let is_anchor = mark == 2;
        if next.starts_with(':') && !is_anchor {
            if let Some((number, length)) = number(word, end + 1) {
                column = Some(number);
                end += 1 + length;
            }
        } else if let Some(last) = next.strip_prefix('-') {
            let prefix = 1 + usize::from(is_anchor && last.starts_with('L'));
            end += number(word, end + prefix).map_or(0, |(_, length)| prefix + length);
        }
        let path = word.get(..at).unwrap_or_default();
        return (path, Some(FilePosition { line, column }), end);
    }
    let path = word.trim_end_matches(['.', ':', '#', '-', '@', '+']);
    (path, None, path.len())
}

/// Returns the number at `start`, if it is a line or a column, and its length.
fn number(word: &str, start: usize) -> Option<(u32, usize)> {
    let digits = word.get(start..)?;
    let length = digits.bytes().take_while(u8::is_ascii_digit).count();
    let number: u32 = digits.get(..length)?.parse().ok()?;
    (number > 0).then_some((number, length))
}

fn has_extension(path: &str) -> bool {
    path.rsplit_once('.').is_some_and(|(name, extension)| {
        !name.is_empty() && extension.starts_with(char::is_alphanumeric)
    })
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn references_end_before_punctuation() {
        for (text, expected) in [
            (
                "see src/main.rs:42.",
                vec![("src/main.rs:42", "src/main.rs", Some((42, None)))],
            ),
            (
                "src/a.rs:3:7: error",
                vec![("src/a.rs:3:7", "src/a.rs", Some((3, Some(7))))],
            ),
            ("a.rs:10-20", vec![("a.rs:10-20", "a.rs", Some((10, None)))]),
            ("a.rs#L5-L9", vec![("a.rs#L5-L9", "a.rs", Some((5, None)))]),
            (
                "a.rs:12:fn main",
                vec![("a.rs:12", "a.rs", Some((12, None)))],
            ),
            ("(@docs/x.md)", vec![("docs/x.md", "docs/x.md", None)]),
            (
                "Makefile:3",
                vec![("Makefile:3", "Makefile", Some((3, None)))],
            ),
            (
                "C:\\a\\b.rs:4",
                vec![("C:\\a\\b.rs:4", "C:\\a\\b.rs", Some((4, None)))],
            ),
            (
                "größe/ä.rs:1",
                vec![("größe/ä.rs:1", "größe/ä.rs", Some((1, None)))],
            ),
            (
                "a.rs b.rs",
                vec![("a.rs", "a.rs", None), ("b.rs", "b.rs", None)],
            ),
            ("https://a.b/c:3 1.5.0 12:30 word --flag … ./", vec![]),
            ("a.rs:0", vec![("a.rs:0", "a.rs:0", None)]),
            (
                "a.rs:99999999999",
                vec![("a.rs:99999999999", "a.rs:99999999999", None)],
            ),
        ] {
            let found = file_references(text);
            let found: Vec<_> = found
                .iter()
                .map(|it| {
                    let position = it.position.map(|it| (it.line, it.column));
                    (text.get(it.range.clone()).unwrap(), it.path, position)
                })
                .collect();
            assert_eq!(found, expected, "{text}");
        }
    }
}
