//! What is compared: the words of a text with a limited length.

use pi_tool_search::{text_parts, words};

/// Longer words are compared by their start.
const MAX_TERM_BYTES: usize = 64;

/// A word with the place of the part of the text that contains it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LocatedTerm {
    pub(crate) term: String,
    /// In bytes.
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// Returns the terms of a text in its order.
pub(crate) fn terms(text: &str) -> impl Iterator<Item = String> {
    text_parts(text).flat_map(|part| words(part.text).into_iter().map(limited))
}

/// Returns the terms of a text with their places.
pub(crate) fn located_terms(text: &str) -> impl Iterator<Item = LocatedTerm> {
    text_parts(text).flat_map(|part| {
        words(part.text).into_iter().map(move |word| LocatedTerm {
            term: limited(word),
            start: part.offset,
            end: part.offset + part.text.len(),
        })
    })
}

fn limited(mut word: String) -> String {
    word.truncate(word.floor_char_boundary(MAX_TERM_BYTES));
    word
}
