//! Text search in the transcript, in full-screen mode.
//!
//! A query ignores case and the amount of whitespace between words, line breaks included. Matches
//! do not cross block boundaries. The matches of a block are cached until its lines change, so the
//! cost of a frame depends only on what changed.

use std::collections::HashMap;
use std::ops::Range;

use super::document::{BlockId, Document};
use crate::line::{Line, Lines};
use crate::text::{graphemes, strip_ansi, visible_width};

/// Part of a match: columns of one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MatchSegment {
    pub(crate) line: usize,
    pub(crate) columns: Range<usize>,
}

/// A segment and the index of its match.
#[derive(Clone, Debug, PartialEq, Eq)]
struct NumberedSegment {
    segment: MatchSegment,
    number: usize,
}

/// Matches in one block. Line numbers are relative to the block.
#[derive(Clone, Debug)]
struct BlockMatches {
    lines: Lines,
    matches: Vec<Vec<MatchSegment>>,
}

/// A query with its matches, one of which is current.
#[derive(Clone, Debug, Default)]
pub(crate) struct TranscriptSearch {
    query: String,
    /// The query, normalized for matching.
    needle: String,
    blocks: HashMap<BlockId, BlockMatches>,
    /// Revision of the document that was searched.
    revision: Option<u64>,
    /// The segments of all matches, from top to bottom.
    segments: Vec<NumberedSegment>,
    /// Index in `segments` where each match starts.
    matches: Vec<usize>,
    current: usize,
}

impl TranscriptSearch {
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

    /// Returns the first segment of the current match.
    pub(crate) fn current(&self) -> Option<&MatchSegment> {
        Some(&self.segments.get(*self.matches.get(self.current)?)?.segment)
    }

    /// Searches for `query` and makes the first match at or below `line` current.
    pub(crate) fn start(&mut self, query: String, document: &Document, line: usize) {
        self.needle = normalize_query(&query);
        self.query = query;
        self.blocks.clear();
        self.revision = None;
        self.refresh(document);
        let below = self.matches.partition_point(|first| {
            self.segments
                .get(*first)
                .is_some_and(|it| it.segment.line < line)
        });
        self.current = if below < self.matches.len() { below } else { 0 };
    }

    /// Searches changed blocks again. The current match stays where it was, if it still exists.
    ///
    /// Returns whether anything changed.
    pub(crate) fn refresh(&mut self, document: &Document) -> bool {
        if self.needle.is_empty() || self.revision == Some(document.revision()) {
            return false;
        }
        self.revision = Some(document.revision());
        let previous = self.current().cloned();
        let mut old_blocks = std::mem::take(&mut self.blocks);
        self.segments.clear();
        self.matches.clear();
        let mut first_line = 0;
        for (id, lines) in document.rendered() {
            let block = old_blocks
                .remove(&id)
                .filter(|block| block.lines.ptr_eq(lines))
                .unwrap_or_else(|| BlockMatches {
                    lines: lines.clone(),
                    matches: find(&self.needle, lines),
                });
            for segments in &block.matches {
                let number = self.matches.len();
                self.matches.push(self.segments.len());
                self.segments
                    .extend(segments.iter().map(|segment| NumberedSegment {
                        segment: MatchSegment {
                            line: first_line + segment.line,
                            columns: segment.columns.clone(),
                        },
                        number,
                    }));
            }
            first_line += lines.len();
            self.blocks.insert(id, block);
        }
        let current = previous.and_then(|previous| {
            let segment = self.segments.iter().find(|it| it.segment == previous)?;
            Some(segment.number)
        });
        self.current = current
            .unwrap_or(self.current)
            .min(self.matches.len().saturating_sub(1));
        true
    }

    pub(crate) fn next(&mut self) {
        self.current = (self.current + 1) % self.matches.len().max(1);
    }

    pub(crate) fn previous(&mut self) {
        let count = self.matches.len().max(1);
        self.current = (self.current + count - 1) % count;
    }

    /// Returns the matched columns of a line, and whether each belongs to the current match.
    pub(super) fn in_line(
        &self,
        line: usize,
    ) -> impl DoubleEndedIterator<Item = (Range<usize>, bool)> {
        let start = self.segments.partition_point(|it| it.segment.line < line);
        let end = self.segments.partition_point(|it| it.segment.line <= line);
        let segments = self.segments.get(start..end).unwrap_or_default();
        segments
            .iter()
            .map(|it| (it.segment.columns.clone(), it.number == self.current))
    }
}

/// A character of the searched text and the cells it occupies.
#[derive(Clone, Copy, Debug)]
struct SearchCell {
    /// Byte offset where its text ends.
    end: usize,
    line: usize,
    column: usize,
    width: usize,
}

/// Returns the segments of each occurrence of `needle`.
fn find(needle: &str, lines: &[Line]) -> Vec<Vec<MatchSegment>> {
    let mut text = String::new();
    let mut cells: Vec<SearchCell> = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        index_line(line, number, &mut text, &mut cells);
        push_space(&mut text, &mut cells);
    }
    text.match_indices(needle)
        .map(|(start, found)| {
            let first = cells.partition_point(|cell| cell.end <= start);
            let last = cells.partition_point(|cell| cell.end < start + found.len());
            cells_to_segments(cells.get(first..=last).unwrap_or_default())
        })
        .filter(|segments| !segments.is_empty())
        .collect()
}

fn index_line(line: &Line, number: usize, text: &mut String, cells: &mut Vec<SearchCell>) {
    let mut column = 0;
    for grapheme in graphemes(&strip_ansi(line)) {
        let width = visible_width(grapheme);
        if grapheme.trim().is_empty() {
            push_space(text, cells);
        } else {
            text.extend(grapheme.chars().flat_map(char::to_lowercase));
            cells.push(SearchCell {
                end: text.len(),
                line: number,
                column,
                width,
            });
        }
        column += width;
    }
}

/// Appends a single space for any amount of whitespace. It has no cell.
fn push_space(text: &mut String, cells: &mut Vec<SearchCell>) {
    if let Some(last) = cells.last().copied()
        && !text.ends_with(' ')
    {
        text.push(' ');
        cells.push(SearchCell {
            end: text.len(),
            column: last.column + last.width,
            width: 0,
            ..last
        });
    }
}

/// Joins cells into column ranges per line, including spaces between them.
fn cells_to_segments(cells: &[SearchCell]) -> Vec<MatchSegment> {
    let mut segments: Vec<MatchSegment> = Vec::new();
    for cell in cells.iter().filter(|cell| cell.width > 0) {
        match segments.last_mut() {
            Some(last) if last.line == cell.line => last.columns.end = cell.column + cell.width,
            Some(_) | None => segments.push(MatchSegment {
                line: cell.line,
                columns: cell.column..cell.column + cell.width,
            }),
        }
    }
    segments
}

/// Normalizes a query: lowercase, words separated by one space.
fn normalize_query(query: &str) -> String {
    let words: Vec<&str> = query.split_whitespace().collect();
    words
        .join(" ")
        .chars()
        .flat_map(char::to_lowercase)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::components::Text;
    use pretty_assertions::assert_eq;

    fn document(blocks: &[&str]) -> Document {
        let mut document = Document::new();
        for block in blocks {
            document.push(Text::new(*block).padding(0, 0));
        }
        document.layout(40);
        document
    }

    fn search(query: &str, document: &Document, line: usize) -> TranscriptSearch {
        let mut search = TranscriptSearch::default();
        search.start(query.to_owned(), document, line);
        search
    }

    fn match_positions(search: &TranscriptSearch) -> Vec<(usize, Range<usize>)> {
        let segments = search.segments.iter();
        segments
            .map(|it| (it.segment.line, it.segment.columns.clone()))
            .collect()
    }

    #[test]
    fn matches_ignore_case_and_styles_and_count_columns() {
        let document = document(&["Alpha beta\n\x1b[31m漢 ALPHA\x1b[0m alpha", "gamma"]);
        let mut search = search("alpha", &document, 1);
        assert_eq!(match_positions(&search), [(0, 0..5), (1, 3..8), (1, 9..14)]);
        assert_eq!((search.position(), search.count()), (2, 3));
        search.next();
        search.next();
        assert_eq!(search.position(), 1);
        search.previous();
        assert_eq!(search.position(), 3);
        assert_eq!(search.in_line(1).filter(|(_, current)| *current).count(), 1);
    }

    #[test]
    fn matches_span_line_breaks_and_whitespace() {
        let document = document(&["one  two\n  three", "four"]);
        let results = search(" two three ", &document, 0);
        assert_eq!(results.count(), 1);
        assert_eq!(match_positions(&results), [(0, 5..8), (1, 2..7)]);
        assert_eq!(
            match_positions(&search("one two", &document, 0)),
            [(0, 0..8)]
        );
        assert_eq!(search("three four", &document, 0).count(), 0);
    }

    #[test]
    fn an_empty_query_has_no_matches() {
        let document = document(&["a"]);
        let mut search = search("  ", &document, 0);
        assert_eq!((search.position(), search.count()), (0, 0));
        search.next();
        search.previous();
        assert_eq!(search.current(), None);
    }

    #[test]
    fn only_blocks_that_changed_are_searched_again() {
        let mut document = document(&["alpha", "beta", "alpha"]);
        let mut search = search("alpha", &document, 2);
        assert_eq!(search.position(), 2);
        document.layout(40);
        assert!(!search.refresh(&document), "nothing changed");
        let last = document.push(Text::new("an alpha").padding(0, 0));
        document.layout(40);
        let first = document.ids().next().unwrap();
        let lines = search.blocks.get(&first).unwrap().lines.clone();
        assert!(search.refresh(&document));
        assert!(search.blocks.get(&first).unwrap().lines.ptr_eq(&lines));
        assert_eq!((search.position(), search.count()), (2, 3));
        document.remove(last);
        assert!(search.refresh(&document));
        assert_eq!(search.count(), 2);
        assert_eq!(search.blocks.len(), 3, "removed blocks are forgotten");
    }
}
