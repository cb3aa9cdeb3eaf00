//! The form in which texts are compared when they do not match letter by letter.
//!
//! Models copy text with plain quotes, dashes and blanks and lose blanks at line ends. In this form
//! such differences are gone; line breaks stand where they stood.

use icu_normalizer::ComposingNormalizerBorrowed;

/// Returns a text in the form for comparison. Doing it twice changes nothing more.
pub(super) fn comparable(text: &str) -> String {
    let composed = ComposingNormalizerBorrowed::new_nfkc().normalize(text);
    let mut comparable = String::with_capacity(composed.len());
    for (index, line) in composed.split('\n').enumerate() {
        if index > 0 {
            comparable.push('\n');
        }
        let line = line.trim_end_matches(is_blank);
        if line.is_ascii() {
            comparable.push_str(line);
        } else {
            comparable.extend(line.chars().map(plain));
        }
    }
    comparable
}

/// What JavaScript's `trimEnd` removes, so that both programs find the same text.
fn is_blank(character: char) -> bool {
    character == '\u{feff}' || (character != '\u{85}' && character.is_whitespace())
}

fn plain(character: char) -> char {
    match character {
        '\u{2018}'..='\u{201b}' => '\'',
        '\u{201c}'..='\u{201f}' => '"',
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{a0}' | '\u{2002}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => ' ',
        other => other,
    }
}
