//! Natural ordering of IDs: punctuation, then digits, then letters regardless of case, with
//! lowercase first among otherwise equal IDs. This matches the Unicode root collation for
//! characters used in IDs, and code point order for all others.

use std::cmp::Ordering;

/// Punctuation in collation order.
const PUNCTUATION: &str = " _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$";

/// Compares two provider or model IDs in natural order.
pub fn compare_ids(left: &str, right: &str) -> Ordering {
    let primary = left.chars().map(weight).cmp(right.chars().map(weight));
    primary.then_with(|| {
        let cases = |text: &str| text.chars().map(char::is_uppercase).collect::<Vec<_>>();
        cases(left).cmp(&cases(right))
    })
}

fn weight(character: char) -> (u8, u32) {
    if let Some(index) = PUNCTUATION.chars().position(|mark| mark == character) {
        return (0, u32::try_from(index).unwrap_or(u32::MAX));
    }
    if character.is_ascii_digit() {
        return (1, u32::from(character));
    }
    let lower = character.to_lowercase().next().unwrap_or(character);
    (2, u32::from(lower))
}
