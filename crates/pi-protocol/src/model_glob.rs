//! Globs over model IDs: `*` and `?` match within a slash-separated segment, `**` as a full segment
//! matches any number of segments, `[a-c]` and `[!a-c]` are classes, `{a,b}` alternatives, and a
//! leading `!` negates. Matching ignores case. This is not a path matcher: IDs have no dotfiles and
//! no roots.

/// Maximum number of alternatives after brace expansion.
const MAX_ALTERNATIVES: usize = 256;
/// Longer patterns match nothing.
const MAX_PATTERN_BYTES: usize = 4096;

/// A compiled pattern.
#[derive(Debug)]
pub struct ModelGlob {
    alternatives: Vec<Vec<GlobSegment>>,
    negated: bool,
}

/// A segment between two slashes.
#[derive(Debug)]
enum GlobSegment {
    AnySegments,
    Tokens(Vec<GlobToken>),
}

#[derive(Debug)]
enum GlobToken {
    Literal(char),
    AnyCharacter,
    AnyCharacters,
    Class {
        ranges: Vec<(char, char)>,
        negated: bool,
    },
}

impl ModelGlob {
    /// Compiles a pattern; one that exceeds the limits matches nothing.
    pub fn new(pattern: &str) -> Self {
        let pattern = pattern.to_lowercase();
        let body = pattern.trim_start_matches('!');
        let marks = pattern.len() - body.len();
        let alternatives = if body.len() > MAX_PATTERN_BYTES {
            Vec::new()
        } else {
            expand_braces(body)
        };
        Self {
            negated: marks % 2 == 1 && !alternatives.is_empty(),
            alternatives: alternatives
                .iter()
                .map(|alternative| alternative.split('/').map(parse_segment).collect())
                .collect(),
        }
    }

    /// Whether the pattern matches an ID.
    pub fn matches(&self, text: &str) -> bool {
        let text = text.to_lowercase();
        let segments: Vec<Vec<char>> = text
            .split('/')
            .map(|segment| segment.chars().collect())
            .collect();
        let matched = self
            .alternatives
            .iter()
            .any(|pattern| match_segments(pattern, &segments));
        matched != self.negated
    }
}

/// Expands `a{b,c}d` to `abd` and `acd`; braces without a comma or a closing brace are literal.
/// Returns nothing if there are more than [`MAX_ALTERNATIVES`].
fn expand_braces(pattern: &str) -> Vec<String> {
    let mut open = vec![pattern.to_owned()];
    let mut done = Vec::new();
    while let Some(text) = open.pop() {
        match find_braces(&text) {
            None => done.push(text),
            Some((before, choices, after)) => {
                let choices = choices.iter().rev();
                open.extend(choices.map(|choice| format!("{before}{choice}{after}")));
            }
        }
        if done.len() + open.len() > MAX_ALTERNATIVES {
            return Vec::new();
        }
    }
    done
}

/// Finds the first braces with a comma: the text before, the alternatives, the text after.
fn find_braces(pattern: &str) -> Option<(&str, Vec<&str>, &str)> {
    for (open, _) in pattern.match_indices('{') {
        let (before, rest) = pattern.split_at_checked(open)?;
        let inside = rest.strip_prefix('{')?;
        let mut depth = 0_usize;
        let mut choices = Vec::new();
        let mut choice_start = 0;
        for (offset, character) in inside.char_indices() {
            match character {
                '{' => depth += 1,
                ',' if depth == 0 => {
                    choices.push(inside.get(choice_start..offset)?);
                    choice_start = offset + 1;
                }
                '}' if depth == 0 => {
                    if choices.is_empty() {
                        break;
                    }
                    choices.push(inside.get(choice_start..offset)?);
                    return Some((before, choices, inside.get(offset + 1..)?));
                }
                '}' => depth -= 1,
                _ => {}
            }
        }
    }
    None
}

fn parse_segment(segment: &str) -> GlobSegment {
    if segment == "**" {
        return GlobSegment::AnySegments;
    }
    let mut tokens = Vec::new();
    let mut rest = segment.chars();
    while let Some(character) = rest.next() {
        tokens.push(match character {
            '*' if matches!(tokens.last(), Some(GlobToken::AnyCharacters)) => continue,
            '*' => GlobToken::AnyCharacters,
            '?' => GlobToken::AnyCharacter,
            '\\' => GlobToken::Literal(rest.next().unwrap_or('\\')),
            '[' => match parse_class(rest.as_str()) {
                Some((class, after)) => {
                    rest = after.chars();
                    class
                }
                None => GlobToken::Literal('['),
            },
            other => GlobToken::Literal(other),
        });
    }
    GlobSegment::Tokens(tokens)
}

/// Parses a class after its opening bracket; `None` if it is not closed.
fn parse_class(text: &str) -> Option<(GlobToken, &str)> {
    let body = text.strip_prefix(['!', '^']);
    let negated = body.is_some();
    let body = body.unwrap_or(text);
    let mut ranges = Vec::new();
    let mut characters = body.char_indices().peekable();
    while let Some((offset, first)) = characters.next() {
        if first == ']' && offset > 0 {
            let after = body.get(offset + 1..)?;
            return Some((GlobToken::Class { ranges, negated }, after));
        }
        let mut ahead = characters.clone();
        let range_end = match (ahead.next(), ahead.next()) {
            (Some((_, '-')), Some((_, last))) if last != ']' => Some(last),
            _ => None,
        };
        if let Some(last) = range_end {
            characters = ahead;
            ranges.push((first, last));
        } else {
            ranges.push((first, first));
        }
    }
    None
}

/// Matches all segments: `reached[n]` is whether the pattern so far can match the first `n`
/// segments.
fn match_segments(pattern: &[GlobSegment], segments: &[Vec<char>]) -> bool {
    let mut reached = vec![true];
    reached.resize(segments.len() + 1, false);
    for expected in pattern {
        match expected {
            GlobSegment::AnySegments => {
                let mut before = false;
                for here in &mut reached {
                    before |= *here;
                    *here = before;
                }
            }
            GlobSegment::Tokens(tokens) => {
                let steps = reached.iter().zip(segments);
                let stepped = steps.map(|(from, segment)| *from && match_tokens(tokens, segment));
                reached = [false].into_iter().chain(stepped).collect();
            }
        }
    }
    reached.last().copied().unwrap_or(false)
}

/// Matches one segment. Only the last `*` is retried, so the time is at most pattern length times
/// text length.
fn match_tokens(tokens: &[GlobToken], text: &[char]) -> bool {
    let (mut token, mut position) = (0, 0);
    let mut retry = None;
    loop {
        match (tokens.get(token), text.get(position)) {
            (None, None) => return true,
            (Some(GlobToken::AnyCharacters), _) => {
                retry = Some((token + 1, position));
                token += 1;
                continue;
            }
            (Some(expected), Some(character)) if expected.accepts(*character) => {
                token += 1;
                position += 1;
                continue;
            }
            _ => {}
        }
        match retry {
            Some((after, from)) if from < text.len() => {
                retry = Some((after, from + 1));
                (token, position) = (after, from + 1);
            }
            _ => return false,
        }
    }
}

impl GlobToken {
    fn accepts(&self, character: char) -> bool {
        match self {
            Self::Literal(literal) => *literal == character,
            Self::AnyCharacter => true,
            Self::AnyCharacters => false,
            Self::Class { ranges, negated } => {
                let within = |(first, last): &(char, char)| (*first..=*last).contains(&character);
                ranges.iter().any(within) != *negated
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn globs_match_like_shells() {
        for (pattern, text, expected) in [
            ("a*c", "abc", true),
            ("a*c", "a/c", false),
            ("a**c", "abbc", true),
            ("a/**", "a/b/c", true),
            ("**", "a/b/c", true),
            ("a/**/c", "a/c", true),
            ("?", "", false),
            ("[!x]y", "ay", true),
            ("[^x]y", "xy", false),
            ("[a-c]", "B", true),
            ("[]]", "]", true),
            ("[a-]", "-", true),
            ("[ab", "[ab", true),
            ("{a,b{c,d}}e", "bde", true),
            ("{a,b{c,d}}e", "be", false),
            ("{a}", "{a}", true),
            ("\\*", "*", true),
            ("\\*", "a", false),
            ("!*a*", "bcd", true),
            ("!*a*", "bad", false),
            ("*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false),
            ("", "", true),
        ] {
            assert_eq!(
                ModelGlob::new(pattern).matches(text),
                expected,
                "{pattern} on {text}"
            );
        }
    }

    #[test]
    fn pathological_patterns_are_fast() {
        let braces = "{a,b}".repeat(40);
        assert!(!ModelGlob::new(&format!("{braces}*")).matches(&"a".repeat(40)));
        assert!(
            !ModelGlob::new(&format!("!{braces}")).matches("a"),
            "too much"
        );
        assert!(ModelGlob::new(&format!("{}*", "{a,b}".repeat(8))).matches("abababab"));
        let (deep, path) = ("**/".repeat(40) + "x", "a/".repeat(40) + "y");
        assert!(!ModelGlob::new(&deep).matches(&path));
        assert!(ModelGlob::new(&deep).matches(&(path + "/x")));
    }
}
