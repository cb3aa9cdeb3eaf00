//! Maps positions in transpiled code back to the original source.

use std::collections::HashMap;

use oxc_sourcemap::SourceMap;

/// Source maps of transpiled files, parsed only when an error needs them.
#[derive(Debug, Default)]
pub(crate) struct SourceMaps {
    texts: HashMap<String, String>,
}

impl SourceMaps {
    pub(crate) fn add(&mut self, file: &str, map: String) {
        self.texts.insert(file.to_owned(), map);
    }

    pub(crate) fn contains(&self, file: &str) -> bool {
        self.texts.contains_key(file)
    }

    /// Maps a position in the transpiled code to the original line and column. All are 1-based.
    pub(crate) fn position(&self, file: &str, line: u32, column: u32) -> Option<(u32, u32)> {
        let map = SourceMap::from_json_string(self.texts.get(file)?).ok()?;
        let table = map.generate_lookup_table();
        let token = map.lookup_token(&table, line.checked_sub(1)?, column.saturating_sub(1))?;
        Some((token.get_src_line() + 1, token.get_src_col() + 1))
    }
}
