//! A query as typed: words that must all occur, and phrases whose words must follow each other.

use crate::terms::{LocatedTerm, terms};

/// What entries must contain.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SearchQuery {
    /// Words in the order of the query; each part is one word or a phrase.
    parts: Vec<QueryPart>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct QueryPart {
    pub(crate) terms: Vec<String>,
    /// Whether the last term may be the start of a longer one.
    pub(crate) is_prefix: bool,
}

/// A term of a query.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct QueryTerm {
    pub(crate) text: String,
    pub(crate) is_prefix: bool,
}

impl QueryTerm {
    pub(crate) fn matches(&self, term: &str) -> bool {
        if self.is_prefix {
            term.starts_with(&self.text)
        } else {
            term == self.text
        }
    }
}

impl SearchQuery {
    /// Parses a query: text in double quotes is a phrase, and so is a word that consists of several, such as
    /// `retry_budget` or `src/main.rs`. A word that ends with `*` matches words that start with it.
    pub fn parse(text: &str) -> Self {
        let mut parts = Vec::new();
        for (position, quoted) in text.split('"').enumerate() {
            if position % 2 == 1 {
                parts.extend(QueryPart::parse(quoted));
            } else {
                parts.extend(quoted.split_whitespace().filter_map(QueryPart::parse));
            }
        }
        Self { parts }
    }

    /// Like [`Self::parse`] for a query that is being typed: the last word may be incomplete.
    pub fn parse_incomplete(text: &str) -> Self {
        let mut query = Self::parse(text);
        let is_typing = text.ends_with(|last: char| last.is_alphanumeric());
        if let Some(last) = query.parts.last_mut().filter(|_| is_typing) {
            last.is_prefix = true;
        }
        query
    }

    /// Whether there is nothing to find, as in a query of stop words.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    pub(crate) fn terms(&self) -> Vec<QueryTerm> {
        let mut found: Vec<QueryTerm> = Vec::new();
        for term in self.parts.iter().flat_map(QueryPart::query_terms) {
            if !found.contains(&term) {
                found.push(term);
            }
        }
        found
    }

    /// Whether a text with these terms matches.
    pub(crate) fn matches(&self, terms: &[LocatedTerm]) -> bool {
        !self.is_empty() && self.parts.iter().all(|part| part.find(terms).is_some())
    }

    /// Returns the positions of terms that match, with the first occurrence of every phrase.
    pub(crate) fn matching(&self, terms: &[LocatedTerm]) -> Vec<usize> {
        let mut found: Vec<usize> = Vec::new();
        for part in &self.parts {
            match part.terms.len() {
                1 => found.extend((0..terms.len()).filter(|at| part.matches_at(terms, *at))),
                length => found.extend(part.find(terms).into_iter().flat_map(|at| at..at + length)),
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }
}

impl QueryPart {
    fn parse(text: &str) -> Option<Self> {
        let terms: Vec<String> = terms(text).collect();
        (!terms.is_empty()).then(|| Self {
            terms,
            is_prefix: text.trim_end().ends_with('*'),
        })
    }

    fn query_terms(&self) -> impl Iterator<Item = QueryTerm> {
        let last = self.terms.len().saturating_sub(1);
        self.terms
            .iter()
            .enumerate()
            .map(move |(at, term)| QueryTerm {
                text: term.clone(),
                is_prefix: self.is_prefix && at == last,
            })
    }

    fn find(&self, terms: &[LocatedTerm]) -> Option<usize> {
        (0..terms.len()).find(|at| self.matches_at(terms, *at))
    }

    fn matches_at(&self, terms: &[LocatedTerm], at: usize) -> bool {
        let Some(terms) = terms.get(at..at + self.terms.len()) else {
            return false;
        };
        let mut pairs = terms.iter().zip(self.query_terms());
        pairs.all(|(found, wanted)| wanted.matches(&found.term))
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::terms::located_terms;

    fn matches(query: &SearchQuery, text: &str) -> bool {
        let terms: Vec<_> = located_terms(text).collect();
        query.matches(&terms)
    }

    #[test]
    fn words_phrases_and_prefixes_match() {
        for (query, text, expected) in [
            ("retry budget", "the budget of a retry", true),
            ("retry budget", "retries only", false),
            ("\"retry budget\"", "the budget of a retry", false),
            ("\"retry budget\"", "a Retry-Budget.", true),
            ("retry_budget", "fn retryBudget()", true),
            ("retry_budget", "retry the budget", true),
            ("src/main.rs", "in src/main.rs:4", true),
            ("src/main.rs", "main src rs", false),
            ("retr*", "retrying", true),
            ("retr", "retrying", false),
            ("\"a retry budg*\"", "one retry budgets", true),
            ("the of", "the of", false),
            ("", "x", false),
            ("\"open quote", "open the quote", true),
        ] {
            assert_eq!(
                matches(&SearchQuery::parse(query), text),
                expected,
                "{query} in {text}"
            );
        }
        assert!(matches(&SearchQuery::parse_incomplete("retr"), "retrying"));
        assert!(!matches(
            &SearchQuery::parse_incomplete("retr "),
            "retrying"
        ));
    }

    #[test]
    fn positions_of_matches_are_found() {
        let terms: Vec<_> = located_terms("x retry y retry budget").collect();
        assert_eq!(SearchQuery::parse("retry").matching(&terms), [1, 3]);
        assert_eq!(SearchQuery::parse("retry_budget").matching(&terms), [3, 4]);
    }
}
