//! From a position in what the engine runs to the author's file and line.

use std::collections::HashMap;

use oxc_sourcemap::SourceMap;

/// The maps of the files that were changed before they ran; read when an error needs them.
#[derive(Debug, Default)]
pub(crate) struct SourceMaps {
    texts: HashMap<String, String>,
}

impl SourceMaps {
    /// Keeps the map of a file.
    pub(crate) fn add(&mut self, file: &str, map: String) {
        self.texts.insert(file.to_owned(), map);
    }

    /// Returns whether a file has a map.
    pub(crate) fn contains(&self, file: &str) -> bool {
        self.texts.contains_key(file)
    }

    /// Returns the author's line and column (from 1) for those of the engine (from 1).
    pub(crate) fn position(&self, file: &str, line: u32, column: u32) -> Option<(u32, u32)> {
        let map = SourceMap::from_json_string(self.texts.get(file)?).ok()?;
        let table = map.generate_lookup_table();
        let token = map.lookup_token(&table, line.checked_sub(1)?, column.saturating_sub(1))?;
        Some((token.get_src_line() + 1, token.get_src_col() + 1))
    }
}
