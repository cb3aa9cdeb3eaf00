//! Text normalization for approximate matching. Models replace typographic quotes, dashes and
//! spaces with plain ones and drop trailing whitespace. Normalization removes these differences and
//! keeps line breaks.

use icu_normalizer::ComposingNormalizerBorrowed;

/// Normalizes a text. The operation is idempotent.
pub(super) fn normalize(text: &str) -> String {
    let composed = ComposingNormalizerBorrowed::new_nfkc().normalize(text);
    let mut normalized = String::with_capacity(composed.len());
    for (index, line) in composed.split('\n').enumerate() {
        if index > 0 {
            normalized.push('\n');
        }
        let line = line.trim_end_matches(is_blank);
        if line.is_ascii() {
            normalized.push_str(line);
        } else {
            normalized.extend(line.chars().map(plain));
        }
    }
    normalized
}

/// What JavaScript's `trimEnd` removes, so that both implementations find the same text.
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
