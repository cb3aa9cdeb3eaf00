//! Fuzzy matching for pickers and completion: the text must contain all characters of the query in
//! order.
//!
//! Lower scores are better. The constants are part of the contract: they determine the order users
//! see.

/// Per matched character of a consecutive run, multiplied by the length of the run so far.
const CONSECUTIVE: f64 = -5.0;
/// For each character skipped between two matches.
const GAP: f64 = 2.0;
/// For a match at the start of a word.
const BOUNDARY: f64 = -10.0;
/// For each character position a match is further into the text.
const POSITION: f64 = 0.1;
/// When query and text are equal.
const EXACT: f64 = -100.0;
/// When letters and digits of the query had to be swapped (`5gpt` for `gpt5`).
const SWAPPED: f64 = 5.0;

/// Returns how well `query` matches `text` (lower is better), or `None` if it does not match.
///
/// Matching is case-insensitive. A query of letters followed by digits, or the reverse, may also
/// match the other way around.
pub fn fuzzy_score(query: &str, text: &str) -> Option<f64> {
    score_token(&query.to_lowercase(), &text.to_lowercase())
}

/// Returns the items that match every word of `query`, best match first. The sort is stable.
///
/// Words are separated by spaces and slashes. An empty query returns all items unchanged.
pub fn fuzzy_filter<T>(items: Vec<T>, query: &str, text_of: impl Fn(&T) -> &str) -> Vec<T> {
    let query = FuzzyQuery::new(query);
    if query.is_empty() {
        return items;
    }
    sort_by_score(
        items
            .into_iter()
            .filter_map(|item| Some((query.score(text_of(&item))?, item))),
    )
}

/// Sorts scored items, best first, and drops their scores. The sort is stable.
pub fn sort_by_score<T>(scored: impl IntoIterator<Item = (f64, T)>) -> Vec<T> {
    let mut scored: Vec<(f64, T)> = scored.into_iter().collect();
    scored.sort_by(|(first, _), (second, _)| first.total_cmp(second));
    scored.into_iter().map(|(_, item)| item).collect()
}

/// A query of one or more words, prepared for matching against many texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FuzzyQuery {
    tokens: Vec<String>,
}

impl FuzzyQuery {
    /// Splits `query` at spaces and slashes.
    pub fn new(query: &str) -> Self {
        let tokens = query
            .split(|character: char| character.is_whitespace() || character == '/')
            .filter(|token| !token.is_empty())
            .map(str::to_lowercase)
            .collect();
        Self { tokens }
    }

    /// Whether the query has no words and therefore matches everything equally.
    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    /// Whether the text contains every word as it is, not only its letters.
    pub fn is_contained_in(&self, text: &str) -> bool {
        let text = text.to_lowercase();
        self.tokens
            .iter()
            .all(|token| text.contains(token.as_str()))
    }

    /// Returns the sum of the word scores, or `None` if a word does not match.
    pub fn score(&self, text: &str) -> Option<f64> {
        let text = text.to_lowercase();
        self.tokens
            .iter()
            .try_fold(0.0, |sum, token| Some(sum + score_token(token, &text)?))
    }
}

/// Scores a lowercase token, swapping letters and digits if necessary.
fn score_token(token: &str, text: &str) -> Option<f64> {
    score_in_order(token, text)
        .or_else(|| Some(score_in_order(&swap_letters_and_digits(token)?, text)? + SWAPPED))
}

/// Returns `5gpt` for `gpt5` and the reverse; `None` for anything else.
fn swap_letters_and_digits(token: &str) -> Option<String> {
    let first = token.bytes().next()?;
    let in_first_part: fn(u8) -> bool = match first {
        b'a'..=b'z' => |byte| byte.is_ascii_lowercase(),
        b'0'..=b'9' => |byte| byte.is_ascii_digit(),
        _ => return None,
    };
    let length = token
        .bytes()
        .take_while(|byte| in_first_part(*byte))
        .count();
    let (head, tail) = token.split_at_checked(length)?;
    let tail_is_the_other_kind = tail
        .bytes()
        .all(|byte| !in_first_part(byte) && (byte.is_ascii_lowercase() || byte.is_ascii_digit()));
    (!tail.is_empty() && tail_is_the_other_kind).then(|| format!("{tail}{head}"))
}

fn score_in_order(query: &str, text: &str) -> Option<f64> {
    let mut remaining = query.chars().peekable();
    let mut score = 0.0;
    let mut run = 0.0;
    // Where the next character would continue a run. The start of the text counts as a run.
    let mut continues_at = 0_u32;
    let mut any_match = false;
    let mut previous = None;
    for (position, character) in (0_u32..).zip(text.chars()) {
        let Some(next) = remaining.peek() else { break };
        if *next == character {
            if position == continues_at {
                run += 1.0;
                score += run * CONSECUTIVE;
            } else {
                run = 0.0;
                if any_match {
                    score += f64::from(position - continues_at) * GAP;
                }
            }
            if previous.is_none_or(is_boundary) {
                score += BOUNDARY;
            }
            score += f64::from(position) * POSITION;
            continues_at = position + 1;
            any_match = true;
            remaining.next();
        }
        previous = Some(character);
    }
    if remaining.peek().is_some() {
        return None;
    }
    if any_match && query == text {
        score += EXACT;
    }
    Some(score)
}

fn is_boundary(character: char) -> bool {
    character.is_whitespace() || matches!(character, '-' | '_' | '.' | '/' | ':')
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn scores_are_the_known_numbers() {
        let cases: &[(&str, &str, Option<f64>)] = &[
            ("", "anything", Some(0.0)),
            ("a", "a", Some(-115.0)),
            (
                "abc",
                "abc",
                Some(-5.0 - 10.0 - 10.0 + 0.1 - 15.0 + 0.2 - 100.0),
            ),
            ("ac", "abc", Some(-5.0 - 10.0 + 2.0 + 0.2)),
            ("b", "abc", Some(0.1)),
            ("b", "a-b", Some(-10.0 + 0.2)),
            ("AB", "xaB", Some(0.1 - 5.0 + 0.2)),
            (
                "gpt5",
                "5-gpt",
                Some(-15.0 + 2.0 - 10.0 + 0.2 - 5.0 + 0.3 - 10.0 + 0.4 + 5.0),
            ),
            ("cb", "abc", None),
            ("abcd", "abc", None),
            ("5é", "é5", None),
        ];
        for (query, text, expected) in cases {
            let score = fuzzy_score(query, text);
            match (score, expected) {
                (Some(score), Some(expected)) => {
                    assert!(
                        (score - expected).abs() < 1e-9,
                        "{query} in {text}: {score}"
                    );
                }
                _ => assert_eq!(score, *expected, "{query} in {text}"),
            }
        }
    }

    #[test]
    fn every_word_must_match_and_the_best_comes_first() {
        let items = vec![
            "openai/gpt-5",
            "anthropic/claude",
            "openai/o3",
            "groq/gpt-oss",
        ];
        let find = |query| fuzzy_filter(items.clone(), query, |item| item);
        assert_eq!(find("gpt"), ["openai/gpt-5", "groq/gpt-oss"]);
        assert_eq!(find("openai gpt"), ["openai/gpt-5"]);
        assert_eq!(find("openai/o3"), ["openai/o3"]);
        assert_eq!(find(" / "), items);
        assert!(find("zzz").is_empty());
    }
}
