//! A search through the tree in steps, so that typing stays responsive in a session of any length.

use super::entries::TreeEntries;

/// Entries read in one step.
const ENTRIES_PER_STEP: usize = 1_000;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Match {
    #[default]
    Unknown,
    Yes,
    No,
}

#[derive(Debug)]
pub(super) struct SearchScan {
    query: String,
    words: Vec<String>,
    matches: Vec<Match>,
    /// How many of the entries in tree order have been visited.
    visited: usize,
}

impl SearchScan {
    /// Starts a search. If the query continues the one before it, what did not match is not read again.
    pub(super) fn new(query: &str, entries: usize, previous: Option<Self>) -> Option<Self> {
        let words = query.split_whitespace().map(str::to_lowercase);
        let words: Vec<String> = words.collect();
        if words.is_empty() {
            return None;
        }
        let mut matches = match previous {
            Some(previous) if query.starts_with(&previous.query) => previous.matches,
            _ => vec![Match::Unknown; entries],
        };
        for state in matches.iter_mut().filter(|state| **state == Match::Yes) {
            *state = Match::Unknown;
        }
        Some(Self {
            query: query.to_owned(),
            words,
            matches,
            visited: 0,
        })
    }

    pub(super) fn contains(&self, node: usize) -> bool {
        self.matches.get(node) == Some(&Match::Yes)
    }

    pub(super) fn is_done(&self) -> bool {
        self.visited >= self.matches.len()
    }

    /// Returns the share of visited entries in percent.
    pub(super) fn percent(&self) -> usize {
        self.visited * 100 / self.matches.len().max(1)
    }

    /// Continues the search with the next entries; returns whether one of them matches.
    pub(super) fn step(&mut self, order: &[usize], entries: &mut TreeEntries) -> bool {
        let mut has_found = false;
        let mut budget = ENTRIES_PER_STEP;
        while budget > 0 && !self.is_done() {
            let node = order.get(self.visited).copied();
            self.visited += 1;
            let unknown = |node: &usize| self.matches.get(*node) == Some(&Match::Unknown);
            let Some(node) = node.filter(unknown) else {
                continue;
            };
            budget -= 1;
            let is_match = self.matches_entry(node, entries);
            has_found |= is_match;
            if let Some(state) = self.matches.get_mut(node) {
                *state = if is_match { Match::Yes } else { Match::No };
            }
        }
        has_found
    }

    fn matches_entry(&self, node: usize, entries: &mut TreeEntries) -> bool {
        let label = entries.label(node).map(|label| label.text.to_lowercase());
        let summary = entries.read_summary(node);
        let text = summary.map_or_else(String::new, |summary| summary.search_text());
        let text = format!("{} {text}", label.unwrap_or_default());
        self.words.iter().all(|word| text.contains(word.as_str()))
    }
}
