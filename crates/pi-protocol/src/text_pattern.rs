//! A small pattern language for error messages.
//!
//! Services word the same error in many ways, which the tables in [`crate::overflow`] and
//! [`crate::retry`] list. Letters match either case; the rest of the syntax is:
//!
//! | Syntax | Matches |
//! |---|---|
//! | `#` | a number, with or without thousands separators |
//! | `?` | any character, or nothing |
//! | `*` | any characters on the same line |
//! | `[words]` | the words, or nothing |
//! | `^` | at the start of the pattern: the start of the text |
//! | `<` | at the start of the pattern: no letter or digit before the match |
//! | `>` | no letter or digit after this place |

/// Returns whether any of the lowercase patterns occurs in the text.
pub(crate) fn any_matches(patterns: &[&str], text: &str) -> bool {
    patterns.iter().any(|pattern| matches(pattern, text))
}

/// Returns whether the lowercase pattern occurs in the text.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    let text = text.as_bytes();
    if let Some(pattern) = pattern.strip_prefix('^') {
        return matches_here(pattern.as_bytes(), text);
    }
    match pattern.strip_prefix('<') {
        Some(pattern) => word_starts(text).any(|rest| matches_here(pattern.as_bytes(), rest)),
        None => matches_somewhere(pattern.as_bytes(), text, |_| true),
    }
}

/// Returns the rest of the text from every place that no letter or digit precedes.
fn word_starts(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    (0..text.len()).filter_map(|start| {
        let (before, rest) = text.split_at_checked(start)?;
        let is_inside = before.last().is_some_and(u8::is_ascii_alphanumeric);
        (!is_inside).then_some(rest)
    })
}

fn matches_somewhere(pattern: &[u8], text: &[u8], may_skip: impl Fn(u8) -> bool) -> bool {
    let mut rest = text;
    loop {
        if matches_here(pattern, rest) {
            return true;
        }
        match rest.split_first() {
            Some((skipped, after)) if may_skip(*skipped) => rest = after,
            Some(_) | None => return false,
        }
    }
}

fn matches_here(pattern: &[u8], text: &[u8]) -> bool {
    let (mut pattern, mut text) = (pattern, text);
    while let Some((sign, after)) = pattern.split_first() {
        match sign {
            b'#' => {
                let digits = text
                    .iter()
                    .take_while(|byte| byte.is_ascii_digit() || **byte == b',')
                    .count();
                if digits == 0 {
                    return false;
                }
                text = text.get(digits..).unwrap_or_default();
            }
            b'?' => {
                return matches_here(after, text)
                    || text
                        .split_first()
                        .is_some_and(|(_, rest)| matches_here(after, rest));
            }
            b'>' => {
                if text.first().is_some_and(u8::is_ascii_alphanumeric) {
                    return false;
                }
            }
            b'*' => return matches_somewhere(after, text, |skipped| skipped != b'\n'),
            b'[' => {
                let mut parts = after.splitn(2, |byte| *byte == b']');
                let words = parts.next().unwrap_or_default();
                let after = parts.next().unwrap_or_default();
                return strip_words(words, text).is_some_and(|rest| matches_here(after, rest))
                    || matches_here(after, text);
            }
            letter => match text.split_first() {
                Some((found, rest)) if found.eq_ignore_ascii_case(letter) => text = rest,
                Some(_) | None => return false,
            },
        }
        pattern = after;
    }
    true
}

fn strip_words<'text>(words: &[u8], text: &'text [u8]) -> Option<&'text [u8]> {
    let (start, rest) = text.split_at_checked(words.len())?;
    start.eq_ignore_ascii_case(words).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn syntax_matches_the_table() {
        for (pattern, text, expected) in [
            ("too long", "Prompt TOO LONG!", true),
            ("too long", "too  long", false),
            ("limit of # tokens", "the limit of 131,072 tokens", true),
            ("limit of # tokens", "the limit of many tokens", false),
            ("rate?limit", "rate limit", true),
            ("rate?limit", "rate_limit", true),
            ("rate?limit", "ratelimit", true),
            ("rate?limit", "rate the limit", false),
            ("count*exceeds", "count (12) exceeds", true),
            ("count*exceeds", "count\nexceeds", false),
            ("prompt [is ]too long", "prompt is too long", true),
            ("prompt [is ]too long", "prompt too long", true),
            ("prompt [is ]too long", "prompt was too long", false),
            ("^413[ ](no body)", "413 (no body)", true),
            ("^413[ ](no body)", "error 413 (no body)", false),
            ("a[b]", "a", true),
            ("<503>", "503", true),
            ("<503>", "HTTP 503: busy", true),
            ("<503>", "req_a503 failed", false),
            ("<503>", "1503 bytes", false),
            ("<503>", "5030", false),
            ("#", "", false),
            ("", "", true),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern:?} in {text:?}");
        }
    }
}
