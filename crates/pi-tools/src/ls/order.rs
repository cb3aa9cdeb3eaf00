//! The order of names in a listing: punctuation, digits, letters; case and accents decide last.
//!
//! This is the order of the Unicode collation for the names people give to files, without its tables.

use icu_normalizer::DecomposingNormalizerBorrowed;
use icu_normalizer::properties::CanonicalCombiningClassMapBorrowed;

/// ASCII punctuation in the order of the collation; other symbols follow it.
const PUNCTUATION: &str = " _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$";

/// A name's place in a listing.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct NameOrder {
    letters: Vec<Weight>,
    accents: String,
    // Names that differ in case alone have a fixed order too.
    name: String,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Weight {
    Punctuation(usize),
    Symbol(char),
    Alphanumeric(char),
}

impl NameOrder {
    /// Places a name.
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

    /// Returns the name.
    pub(super) fn into_name(self) -> String {
        self.name
    }
}

fn weight(character: char) -> Weight {
    if character.is_alphanumeric() {
        return Weight::Alphanumeric(character);
    }
    PUNCTUATION
        .find(character)
        .map_or(Weight::Symbol(character), Weight::Punctuation)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn names_stand_where_a_reader_looks_for_them() {
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
