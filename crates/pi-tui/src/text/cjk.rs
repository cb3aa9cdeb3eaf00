//! Line breaking in Chinese, Japanese and Korean text.

/// Whether text may be broken on either side of `character`: Chinese, Japanese and Korean do not
/// separate words with spaces.
pub(crate) fn is_cjk(character: char) -> bool {
    matches!(character,
        '\u{1100}'..='\u{11ff}' // Hangul letters
        | '\u{2e80}'..='\u{2fff}' // radicals
        | '\u{3001}'..='\u{9fff}' // punctuation, kana, bopomofo, ideographs
        | '\u{a960}'..='\u{a97f}' // Hangul letters
        | '\u{ac00}'..='\u{d7ff}' // Hangul syllables
        | '\u{f900}'..='\u{faff}' // compatibility ideographs
        | '\u{ff61}'..='\u{ffdc}' // halfwidth kana and Hangul
        | '\u{16ff0}'..='\u{16ff6}' // ideographic marks
        | '\u{1aff0}'..='\u{1b16f}' // kana
        | '\u{1f200}'..='\u{1f2ff}' // enclosed ideographs
        | '\u{20000}'..='\u{3ffff}') // ideographs
}
