//! Theme files: finds and names them. The terminal application validates their colors.

use std::path::Path;

use pi_protocol::{SourceInfo, ThemeFile};
use serde_json::Value;

use super::named_set::NamedSet;
use crate::regular_file::read_prose;

/// A theme has about fifty colors, so this is generous.
const MAX_THEME_BYTES: u64 = 512 * 1024;

impl NamedSet<ThemeFile> {
    /// Loads one file. `describe` returns its provenance.
    pub(super) fn load(&mut self, path: &Path, describe: impl FnOnce(&Path) -> SourceInfo) {
        match read_theme(path) {
            Ok((name, content)) => {
                self.add(&name, path, || ThemeFile {
                    name: name.clone(),
                    path: path.to_owned(),
                    content,
                    source_info: describe(path),
                });
            }
            Err(problem) => self.warn(format!("skipped theme: {problem}"), path),
        }
    }
}

fn read_theme(path: &Path) -> Result<(String, String), String> {
    let content = read_prose(path, MAX_THEME_BYTES)
        .map_err(|error| error.to_string())?
        .ok_or("file not found")?;
    let theme: Value =
        serde_json::from_str(&content).map_err(|error| format!("invalid JSON: {error}"))?;
    let name = theme
        .get("name")
        .and_then(Value::as_str)
        .filter(|name| !name.is_empty())
        .ok_or("no name")?;
    if name.contains('/') {
        return Err(format!("name {name:?} must not contain a slash"));
    }
    if !theme.get("colors").is_some_and(Value::is_object) {
        return Err("no colors".to_owned());
    }
    Ok((name.to_owned(), content))
}
