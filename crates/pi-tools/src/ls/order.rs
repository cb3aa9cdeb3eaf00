//! Sort order of names in a listing: punctuation, digits, letters; case and accents are compared
//! last. This approximates Unicode collation for common file names without its tables.

use icu_normalizer::DecomposingNormalizerBorrowed;
use icu_normalizer::properties::CanonicalCombiningClassMapBorrowed;

/// ASCII punctuation in collation order; other symbols follow.
const PUNCTUATION: &str = " _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$";

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct NameOrder {
    letters: Vec<CharacterWeight>,
    accents: String,
    // Names that differ only in case have a fixed order too.
    name: String,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum CharacterWeight {
    Punctuation(usize),
    Symbol(char),
    Alphanumeric(char),
}

impl NameOrder {
    pub(super) fn of(name: &str) -> Self {
        let lower = name.to_lowercase();
        let decomposed = DecomposingNormalizerBorrowed::new_nfd().normalize(&lower);
        let combining = CanonicalCombiningClassMapBorrowed::new();
        let (accents, letters): (String, String) = decomposed
            .chars()
            .partition(|character| combining.get_u8(*character) != 0);
        Self {
            letters: letters.chars().map(weight).collect(),
            accents,
            name: name.to_owned(),
        }
    }

    pub(super) fn into_name(self) -> String {
        self.name
    }
}

fn weight(character: char) -> CharacterWeight {
    if character.is_alphanumeric() {
        return CharacterWeight::Alphanumeric(character);
    }
    PUNCTUATION.find(character).map_or(
        CharacterWeight::Symbol(character),
        CharacterWeight::Punctuation,
    )
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn names_are_sorted_like_unicode_collation() {
        let sorted = [
            "_a", "-b", ".git", ".hidden", "(x)", "@types", "#tmp", "~bak", "$v", "10", "2", "a b",
            "a-b", "a.txt", "B.txt", "Cafe", "café", "cafes", "Makefile", "z", "日本",
        ];
        let mut names: Vec<NameOrder> = sorted
            .iter()
            .rev()
            .map(|name| NameOrder::of(name))
            .collect();
        names.sort();
        let names: Vec<String> = names.into_iter().map(NameOrder::into_name).collect();
        assert_eq!(names, sorted);
    }
}
