//! The search query of the session picker: words, quoted phrases, or a regex.

use grep_matcher::Matcher;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use pi_protocol::SessionInfo;
use pi_tui::fuzzy_score;

/// Memory limit of a compiled pattern.
const PATTERN_LIMIT: usize = 1 << 20;

#[derive(Debug)]
pub(super) enum SessionQuery {
    Empty,
    /// All words and phrases must match.
    Words(Vec<QueryTerm>),
    /// `re:…` must match.
    Pattern(RegexMatcher),
    /// `re:…` is not a valid pattern, for this reason.
    Invalid(String),
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum QueryTerm {
    /// Characters in this order in the name or directory, or a part of the ID or text.
    Fuzzy(String),
    /// Exact text, ignoring case and whitespace differences.
    Phrase(String),
}

impl SessionQuery {
    pub(super) fn parse(text: &str) -> Self {
        let text = text.trim();
        if let Some(pattern) = text.strip_prefix("re:") {
            return Self::pattern(pattern.trim());
        }
        let words = words_of(text);
        if words.is_empty() {
            Self::Empty
        } else {
            Self::Words(words)
        }
    }

    fn pattern(pattern: &str) -> Self {
        if pattern.is_empty() {
            return Self::Invalid("the pattern is empty".to_owned());
        }
        let built = RegexMatcherBuilder::new()
            .case_insensitive(true)
            .size_limit(PATTERN_LIMIT)
            .build(pattern);
        match built {
            Ok(pattern) => Self::Pattern(pattern),
            Err(error) => {
                let cause = error.to_string();
                Self::Invalid(cause.lines().last().unwrap_or_default().to_owned())
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        matches!(self, Self::Empty)
    }

    /// Returns the match score, lower being better; `None` without a match.
    pub(super) fn score(&self, session: &SessionInfo) -> Option<f64> {
        match self {
            Self::Empty => Some(0.0),
            Self::Invalid(_) => None,
            Self::Pattern(pattern) => {
                let found = pattern.find(text_of(session).as_bytes());
                Some(distance(found.ok()??.start()))
            }
            Self::Words(words) => {
                let mut flat = None;
                words.iter().try_fold(0.0, |sum, word| {
                    let mut find = |part: &str| {
                        let flat = flat.get_or_insert_with(|| flatten(&text_of(session)));
                        flat.find(part).map(distance)
                    };
                    let score = match word {
                        QueryTerm::Fuzzy(letters) => fuzzy_title(letters, session)
                            .or_else(|| find(&letters.to_lowercase()))?,
                        QueryTerm::Phrase(phrase) => find(phrase)?,
                    };
                    Some(sum + score)
                })
            }
        }
    }
}

/// Returns the score of a word in the name or the directory of a session. Its ID and its text contain the letters of
/// almost any word, so there the word must be a part.
fn fuzzy_title(letters: &str, session: &SessionInfo) -> Option<f64> {
    let name = session.name.as_deref();
    let name = name.and_then(|name| fuzzy_score(letters, name));
    let directory = fuzzy_score(letters, &session.cwd);
    match (name, directory) {
        (Some(name), Some(directory)) => Some(name.min(directory)),
        (name, directory) => name.or(directory),
    }
}

fn text_of(session: &SessionInfo) -> String {
    let name = session.name.as_deref().unwrap_or_default();
    let text = if session.text.is_empty() {
        session.first_message.as_deref().unwrap_or_default()
    } else {
        &session.text
    };
    format!("{} {name} {text} {}", session.id, session.cwd)
}

/// Early matches score better.
fn distance(position: usize) -> f64 {
    f64::from(u32::try_from(position).unwrap_or(u32::MAX)) * 0.1
}

fn flatten(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").to_lowercase()
}

/// Splits a query at spaces, except inside quotes; an unclosed quote is literal.
fn words_of(text: &str) -> Vec<QueryTerm> {
    if text.matches('"').count() % 2 == 1 {
        let words = text.split_whitespace();
        return words
            .map(|word| QueryTerm::Fuzzy(word.to_owned()))
            .collect();
    }
    let mut words = Vec::new();
    for (index, part) in text.split('"').enumerate() {
        if index % 2 == 1 {
            let phrase = flatten(part);
            if !phrase.is_empty() {
                words.push(QueryTerm::Phrase(phrase));
            }
        } else {
            words.extend(
                part.split_whitespace()
                    .map(|word| QueryTerm::Fuzzy(word.to_owned())),
            );
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn words_and_phrases_are_distinguished() {
        let fuzzy = |text: &str| QueryTerm::Fuzzy(text.to_owned());
        let phrase = |text: &str| QueryTerm::Phrase(text.to_owned());
        assert_eq!(words_of("foo  bar"), [fuzzy("foo"), fuzzy("bar")]);
        assert_eq!(
            words_of(r#"foo "Node  CVE" bar"#),
            [fuzzy("foo"), phrase("node cve"), fuzzy("bar")]
        );
        assert_eq!(words_of(r#"say "hi"#), [fuzzy("say"), fuzzy("\"hi")]);
        assert_eq!(words_of(r#""" "#), []);
    }

    #[test]
    fn invalid_patterns_are_reported() {
        assert!(matches!(
            SessionQuery::parse("re:("),
            SessionQuery::Invalid(_)
        ));
        assert!(matches!(
            SessionQuery::parse("re: "),
            SessionQuery::Invalid(_)
        ));
        assert!(matches!(
            SessionQuery::parse("re:a{999}{999}{999}"),
            SessionQuery::Invalid(_)
        ));
        assert!(matches!(
            SessionQuery::parse("re:^a"),
            SessionQuery::Pattern(_)
        ));
        assert!(matches!(SessionQuery::parse("  "), SessionQuery::Empty));
    }

    #[test]
    fn names_and_directories_match_by_letters_ids_and_texts_by_parts() {
        let session = SessionInfo {
            path: "/sessions/1.jsonl".into(),
            id: "0199-abcd".to_owned(),
            cwd: "/home/user/garden".to_owned(),
            name: Some("Prune roses".to_owned()),
            parent_session: None,
            created_ms: None,
            modified_ms: 0,
            message_count: 1,
            first_message: None,
            text: "Water the tomatoes daily".to_owned(),
        };
        for (query, expected) in [
            ("prns", true),
            ("grdn", true),
            ("tomato", true),
            ("tmts", false),
            ("0199-ab", true),
            ("09ad", false),
            ("prns TOMATO", true),
        ] {
            let found = SessionQuery::parse(query).score(&session).is_some();
            assert_eq!(found, expected, "{query}");
        }
    }
}
