//! Characters that separate a completion from the surrounding text.

/// Whether `character` ends a completion: a space or CJK punctuation. CJK letters do not, since
/// they are part of words and file names.
pub(crate) fn is_separator(character: char) -> bool {
    character.is_whitespace()
        || matches!(character,
            '\u{3001}'..='\u{3003}' | '\u{3008}'..='\u{3011}' | '\u{3014}'..='\u{301f}'
            | '\u{3030}' | '\u{303d}' | '\u{30a0}' | '\u{30fb}' | '\u{ff61}'..='\u{ff65}'
            | '，' | '．' | '：' | '；' | '！' | '？' | '（' | '）' | '［' | '］' | '｛' | '｝'
            | '“' | '”' | '‘' | '’' | '…' | '—')
}

/// Whether `character` ends an unquoted path.
pub(crate) fn is_path_delimiter(character: char) -> bool {
    matches!(character, '"' | '\'' | '=') || is_separator(character)
}
