//! Maps positions in transpiled code back to the original source.

use std::cell::RefCell;
use std::collections::HashMap;

use oxc_sourcemap::SourceMap;

/// Maps of this many files stay parsed. Code may create errors in a loop, and parsing a map takes milliseconds.
const MAX_PARSED: usize = 32;

/// A position in the transpiled code, as line and column, and the one in the original source. All are 0-based.
type Mapping = ((u32, u32), (u32, u32));

/// Source maps of transpiled files, parsed when an error needs them.
#[derive(Debug, Default)]
pub(crate) struct SourceMaps {
    texts: HashMap<String, String>,
    /// Sorted by the position in the transpiled code.
    parsed: RefCell<HashMap<String, Vec<Mapping>>>,
}

impl SourceMaps {
    pub(crate) fn add(&mut self, file: &str, map: String) {
        self.parsed.get_mut().remove(file);
        self.texts.insert(file.to_owned(), map);
    }

    pub(crate) fn contains(&self, file: &str) -> bool {
        self.texts.contains_key(file)
    }

    /// Maps a position in the transpiled code to the original line and column. All are 1-based.
    pub(crate) fn position(&self, file: &str, line: u32, column: u32) -> Option<(u32, u32)> {
        let mut parsed = self.parsed.borrow_mut();
        if !parsed.contains_key(file) {
            let mappings = parse(self.texts.get(file)?)?;
            if parsed.len() >= MAX_PARSED {
                parsed.clear();
            }
            parsed.insert(file.to_owned(), mappings);
        }
        let mappings = parsed.get(file)?;
        let (line, column) = (line.checked_sub(1)?, column.saturating_sub(1));
        let after = mappings.partition_point(|(position, _)| *position <= (line, column));
        let ((mapped_line, _), source) = mappings.get(after.checked_sub(1)?)?;
        (*mapped_line == line).then_some((source.0 + 1, source.1 + 1))
    }
}

fn parse(text: &str) -> Option<Vec<Mapping>> {
    let map = SourceMap::from_json_string(text).ok()?;
    let mut mappings: Vec<Mapping> = map
        .get_tokens()
        .map(|token| {
            let position = (token.get_dst_line(), token.get_dst_col());
            (position, (token.get_src_line(), token.get_src_col()))
        })
        .collect();
    mappings.sort_unstable_by_key(|(position, _)| *position);
    Some(mappings)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two segments in the first line, at columns 0 and 4, and one in the third, at column 2.
    const MAP: &str = r#"{"version":3,"sources":["a.ts"],"names":[],"mappings":"AAAA,IACE;;EAEA"}"#;

    #[test]
    fn a_position_is_that_of_the_last_segment_before_it_in_the_line() {
        let mut maps = SourceMaps::default();
        maps.add("a.js", MAP.to_owned());
        let position = |line, column| maps.position("a.js", line, column);
        assert_eq!(position(1, 1), Some((1, 1)));
        assert_eq!(position(1, 4), Some((1, 1)));
        assert_eq!(position(1, 5), Some((2, 3)));
        assert_eq!(position(1, 100), Some((2, 3)));
        assert_eq!(position(2, 1), None);
        assert_eq!(position(3, 1), None);
        assert_eq!(position(3, 3), Some((4, 3)));
        assert_eq!(maps.position("b.js", 1, 1), None);
    }

    #[test]
    fn a_changed_file_has_its_new_map() {
        let mut maps = SourceMaps::default();
        maps.add("a.js", MAP.to_owned());
        assert_eq!(maps.position("a.js", 1, 5), Some((2, 3)));
        maps.add("a.js", MAP.replace("IACE", "IAEE"));
        assert_eq!(maps.position("a.js", 1, 5), Some((3, 3)));
    }
}
