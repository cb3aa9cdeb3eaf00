//! What separates one completion from the prose around it.

/// Returns whether text may be broken on either side of `character`: Chinese, Japanese and Korean
/// letters need no spaces between words.
pub(crate) fn is_cjk(character: char) -> bool {
    matches!(character,
        '\u{1100}'..='\u{11ff}'     // Hangul letters
        | '\u{2e80}'..='\u{2fdf}'   // Han radicals
        | '\u{3001}'..='\u{303f}'   // CJK punctuation
        | '\u{3041}'..='\u{30ff}'   // Hiragana, Katakana
        | '\u{3105}'..='\u{312f}'   // Bopomofo
        | '\u{3131}'..='\u{318e}'   // Hangul letters for compatibility
        | '\u{31a0}'..='\u{31bf}' | '\u{31f0}'..='\u{31ff}'
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{a960}'..='\u{a97f}' | '\u{ac00}'..='\u{d7ff}'
        | '\u{f900}'..='\u{faff}' | '\u{ff65}'..='\u{ffdc}'
        | '\u{20000}'..='\u{3ffff}')
}

/// Returns whether `character` ends a completion: a space or CJK punctuation. CJK letters do not,
/// since they are part of words and file names.
pub(crate) fn is_separator(character: char) -> bool {
    character.is_whitespace()
        || matches!(character,
            '\u{3001}'..='\u{3003}' | '\u{3008}'..='\u{3011}' | '\u{3014}'..='\u{301f}'
            | '\u{3030}' | '\u{303d}' | '\u{30a0}' | '\u{30fb}' | '\u{ff61}'..='\u{ff65}'
            | '，' | '．' | '：' | '；' | '！' | '？' | '（' | '）' | '［' | '］' | '｛' | '｝'
            | '“' | '”' | '‘' | '’' | '…' | '—')
}

/// Returns whether a path ends before `character` when it is not quoted.
pub(crate) fn is_path_delimiter(character: char) -> bool {
    matches!(character, '"' | '\'' | '=') || is_separator(character)
}
