//! Splits text into the words that a search compares.

use icu_normalizer::ComposingNormalizerBorrowed;
use unicode_segmentation::UnicodeSegmentation as _;

/// Words without meaning for a search.
const STOP_WORDS: [&str; 21] = [
    "a", "an", "and", "are", "as", "at", "be", "by", "for", "from", "in", "is", "it", "of", "on",
    "or", "that", "the", "this", "to", "with",
];

/// A stretch of letters and digits, which may contain several words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextPart<'text> {
    /// Position in the text, in bytes.
    pub offset: usize,
    pub text: &'text str,
}

/// Splits a text at everything that is not part of a word.
pub fn text_parts(text: &str) -> impl Iterator<Item = TextPart<'_>> {
    let mut parts = text.char_indices().peekable();
    std::iter::from_fn(move || {
        let (offset, first) = parts.find(|(_, character)| is_inner(*character))?;
        let mut end = offset + first.len_utf8();
        while let Some((position, character)) = parts.next_if(|(_, it)| is_inner(*it)) {
            end = position + character.len_utf8();
        }
        let text = text.get(offset..end)?;
        Some(TextPart { offset, text })
    })
}

/// Returns the words of a text: lowercase, without stop words, English plurals as singulars. Identifiers are split at
/// their inner capitals.
pub fn words(text: &str) -> Vec<String> {
    let text = ComposingNormalizerBorrowed::new_nfc().normalize(text);
    let text = split_capitals(&text).to_lowercase();
    let mut words = Vec::new();
    for part in text.split(|character: char| !is_inner(character)) {
        if part.is_ascii() {
            words.push(part);
        } else {
            words.extend(part.unicode_words());
        }
    }
    words
        .into_iter()
        .filter(|word| !word.is_empty() && !STOP_WORDS.contains(word))
        .map(singular)
        .collect()
}

fn is_inner(character: char) -> bool {
    character.is_alphanumeric() || is_mark(character)
}

/// Whether a character only modifies the one before it.
fn is_mark(character: char) -> bool {
    matches!(character, '\u{300}'..='\u{36f}' | '\u{20d0}'..='\u{20ff}' | '\u{3099}' | '\u{309a}')
}

/// Puts a space in front of a capital that starts a word inside of an identifier: `listIssues`, `HTTPServer`.
fn split_capitals(text: &str) -> String {
    let mut split = String::with_capacity(text.len());
    let mut before = None;
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let starts_word = character.is_ascii_uppercase()
            && before.is_some_and(|before: char| {
                let next = characters.peek();
                before.is_ascii_lowercase()
                    || before.is_ascii_digit()
                    || (before.is_ascii_uppercase() && next.is_some_and(char::is_ascii_lowercase))
            });
        if starts_word {
            split.push(' ');
        }
        split.push(character);
        before = Some(character);
    }
    split
}

/// Returns the likely singular of an English word.
fn singular(word: &str) -> String {
    if !word.is_ascii() {
        return word.to_owned();
    }
    let without = |ending: &str| word.strip_suffix(ending);
    if word.len() > 4 {
        if let Some(stem) = without("ies") {
            return format!("{stem}y");
        }
        let endings = ["ches", "shes", "sses", "xes", "zes"];
        if let Some(stem) = without("es")
            && endings.iter().any(|ending| word.ends_with(ending))
        {
            return stem.to_owned();
        }
    }
    match without("s") {
        Some(stem) if word.len() > 3 && !stem.ends_with('s') => stem.to_owned(),
        _ => word.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn parts_have_positions_and_the_words_of_the_text() {
        let text = "fn retry_budget(x: HTTPServer) → Bücher, 図書";
        let found: Vec<_> = text_parts(text).collect();
        assert_eq!(
            found[1],
            TextPart {
                offset: 3,
                text: "retry"
            }
        );
        for part in &found {
            let rest = text.get(part.offset..).unwrap();
            assert!(rest.starts_with(part.text));
        }
        let of_parts: Vec<String> = found.iter().flat_map(|part| words(part.text)).collect();
        assert_eq!(of_parts, words(text));
    }

    #[test]
    fn texts_are_split_into_comparable_words() {
        for (text, expected) in [
            ("listIssues", vec!["list", "issue"]),
            ("HTTPServer_v2Api", vec!["http", "server", "v2", "api"]),
            ("mcp__docs__search-all", vec!["mcp", "doc", "search", "all"]),
            (
                "queries searches boxes class bus",
                vec!["query", "search", "box", "class", "bus"],
            ),
            ("the of and", vec![]),
            ("Bücher, Größen", vec!["bücher", "größen"]),
            ("Bu\u{308}cher", vec!["bücher"]),
            ("図書", vec!["図", "書"]),
            ("", vec![]),
        ] {
            let found = words(text);
            let expected: Vec<String> = expected.into_iter().map(str::to_owned).collect();
            assert_eq!(found, expected, "{text}");
        }
    }
}
