//! Finding text in the transcript, in full-screen mode.

use std::ops::Range;

use crate::line::Line;
use crate::text::{strip_ansi, visible_width};

/// A place where the query was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Match {
    pub(crate) line: usize,
    pub(crate) columns: Range<usize>,
}

/// A query with its matches, one of them current.
#[derive(Clone, Debug, Default)]
pub(crate) struct Search {
    query: String,
    matches: Vec<Match>,
    current: usize,
}

impl Search {
    pub(crate) fn query(&self) -> &str {
        &self.query
    }

    pub(crate) fn count(&self) -> usize {
        self.matches.len()
    }

    /// Returns the number of the current match, from 1.
    pub(crate) fn position(&self) -> usize {
        self.current + usize::from(!self.matches.is_empty())
    }

    pub(crate) fn current(&self) -> Option<&Match> {
        self.matches.get(self.current)
    }

    /// Searches for `query` and makes the first match at or below `line` the current one.
    pub(crate) fn start<'a>(
        &mut self,
        query: String,
        lines: impl Iterator<Item = &'a Line>,
        line: usize,
    ) {
        self.query = query;
        self.refresh(lines);
        let below = self.matches.partition_point(|found| found.line < line);
        self.current = if below < self.matches.len() { below } else { 0 };
    }

    /// Searches again because the lines changed; the current match stays where it was, if it is there.
    pub(crate) fn refresh<'a>(&mut self, lines: impl Iterator<Item = &'a Line>) {
        let kept = self.current().cloned();
        self.matches = find(&self.query, lines);
        self.current = kept
            .and_then(|kept| self.matches.iter().position(|found| *found == kept))
            .unwrap_or(self.current)
            .min(self.matches.len().saturating_sub(1));
    }

    pub(crate) fn next(&mut self) {
        self.current = (self.current + 1) % self.matches.len().max(1);
    }

    pub(crate) fn previous(&mut self) {
        let count = self.matches.len().max(1);
        self.current = (self.current + count - 1) % count;
    }

    /// Returns the matches of a line, and whether each is the current one.
    pub(super) fn in_line(&self, line: usize) -> impl DoubleEndedIterator<Item = (&Match, bool)> {
        let start = self.matches.partition_point(|found| found.line < line);
        let end = self.matches.partition_point(|found| found.line <= line);
        self.matches
            .iter()
            .enumerate()
            .take(end)
            .skip(start)
            .map(|(index, found)| (found, index == self.current))
    }
}

/// Returns where `query` occurs, ignoring case.
fn find<'a>(query: &str, lines: impl Iterator<Item = &'a Line>) -> Vec<Match> {
    let needle = fold(query.trim());
    if needle.is_empty() {
        return Vec::new();
    }
    let mut matches = Vec::new();
    for (number, line) in lines.enumerate() {
        let plain = strip_ansi(line);
        let folded = fold(&plain);
        for (start, _) in folded.match_indices(&needle) {
            // Folding may change lengths (İ), hence columns are measured in the folded text, which
            // looks the same.
            let before = visible_width(folded.get(..start).unwrap_or_default());
            let width = visible_width(&needle);
            matches.push(Match {
                line: number,
                columns: before..before + width,
            });
        }
    }
    matches
}

fn fold(text: &str) -> String {
    text.to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn lines() -> Vec<Line> {
        ["Alpha beta", "\x1b[31m漢 ALPHA\x1b[0m alpha", "gamma"]
            .into_iter()
            .map(Line::from)
            .collect()
    }

    #[test]
    fn matches_ignore_case_and_styles_and_count_columns() {
        let lines = lines();
        let mut search = Search::default();
        search.start("alpha".to_owned(), lines.iter(), 1);
        let found: Vec<_> = search
            .matches
            .iter()
            .map(|found| (found.line, found.columns.clone()))
            .collect();
        assert_eq!(found, [(0, 0..5), (1, 3..8), (1, 9..14)]);
        assert_eq!((search.position(), search.count()), (2, 3));
        search.next();
        search.next();
        assert_eq!(search.position(), 1);
        search.previous();
        assert_eq!(search.position(), 3);
        assert_eq!(search.in_line(1).filter(|(_, current)| *current).count(), 1);
    }

    #[test]
    fn nothing_is_found_for_nothing() {
        let lines = lines();
        let mut search = Search::default();
        search.start("  ".to_owned(), lines.iter(), 0);
        assert_eq!((search.position(), search.count()), (0, 0));
        search.next();
        search.previous();
        assert_eq!(search.current(), None);
    }
}
