//! The part of an entry that a hit shows: text around the first match, on one line.

use pi_protocol::SnippetPart;

use crate::terms::LocatedTerm;

/// Characters before the first match.
const BEFORE: usize = 40;
/// Characters in total.
const LENGTH: usize = 160;

/// Returns the text around the first match, split at the matches. `matching` are positions in `terms`.
pub(crate) fn snippet(text: &str, terms: &[LocatedTerm], matching: &[usize]) -> Vec<SnippetPart> {
    let ranges: Vec<(usize, usize)> = matching
        .iter()
        .filter_map(|at| terms.get(*at).map(|term| (term.start, term.end)))
        .collect();
    let first = ranges.first().map_or(0, |(start, _)| *start);
    let before = text.get(..first).unwrap_or_default();
    let start = before.char_indices().rev().take(BEFORE).last();
    let start = start.map_or(first, |(position, _)| position);
    let mut line = SnippetLine::default();
    if start > 0 {
        line.push('…', false);
    }
    let shown = text.get(start..).unwrap_or_default();
    for (position, character) in shown.char_indices() {
        if line.length >= LENGTH {
            line.push('…', false);
            break;
        }
        let position = start + position;
        let is_match = ranges
            .iter()
            .any(|(from, to)| (*from..*to).contains(&position));
        line.push(character, is_match);
    }
    line.parts
}

/// Parts with single spaces and without control characters.
#[derive(Default)]
struct SnippetLine {
    parts: Vec<SnippetPart>,
    length: usize,
    ends_with_space: bool,
}

impl SnippetLine {
    fn push(&mut self, character: char, is_match: bool) {
        let is_space = character.is_whitespace() || character.is_control();
        if is_space && (self.ends_with_space || self.length == 0) {
            return;
        }
        self.ends_with_space = is_space;
        let character = if is_space { ' ' } else { character };
        self.length += 1;
        match self.parts.last_mut() {
            Some(part) if part.is_match == is_match => part.text.push(character),
            _ => self.parts.push(SnippetPart {
                text: character.to_string(),
                is_match,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::query::SearchQuery;
    use crate::terms::located_terms;

    fn shown(text: &str, query: &str) -> String {
        let terms: Vec<_> = located_terms(text).collect();
        let matching = SearchQuery::parse(query).matching(&terms);
        let parts = snippet(text, &terms, &matching).into_iter();
        let parts = parts.map(|part| {
            if part.is_match {
                format!("[{}]", part.text)
            } else {
                part.text
            }
        });
        parts.collect()
    }

    #[test]
    fn matches_are_marked_on_one_line() {
        assert_eq!(
            shown("a\n\n\tretry\u{1b}[31m of the Retries", "retry"),
            "a [retry] [31m of the [Retries]"
        );
        let long = format!("{} retry {}", "é".repeat(100), "x".repeat(300));
        let found = shown(&long, "retry");
        assert!(found.starts_with("…éé"), "{found}");
        assert!(found.contains("[retry]"), "{found}");
        assert!(found.ends_with("x…"), "{found}");
    }
}
