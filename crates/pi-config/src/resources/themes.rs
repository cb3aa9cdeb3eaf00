//! Themes as files: which there are and what they are called. Whether their colors make sense is
//! for the one who paints with them.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::SourceInfo;
use super::named_set::NamedSet;
use crate::regular_file::read_prose;

/// The largest theme that is read: fifty colors fit a hundred times over.
const MAX_THEME_BYTES: u64 = 512 * 1024;

/// A theme file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThemeFile {
    /// What the theme calls itself.
    pub name: String,
    pub path: PathBuf,
    /// The text of that file.
    pub content: String,
    /// Where it came from.
    pub source_info: SourceInfo,
}

impl NamedSet<ThemeFile> {
    /// Loads one file. `describe` says where it came from.
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
            Err(problem) => self.warn(format!("theme is left out: {problem}"), path),
        }
    }
}

fn read_theme(path: &Path) -> Result<(String, String), String> {
    let content = read_prose(path, MAX_THEME_BYTES)
        .map_err(|error| error.to_string())?
        .ok_or("it is gone")?;
    let theme: Value =
        serde_json::from_str(&content).map_err(|error| format!("not valid JSON: {error}"))?;
    let name = theme
        .get("name")
        .and_then(Value::as_str)
        .filter(|name| !name.is_empty())
        .ok_or("it has no name")?;
    if name.contains('/') {
        return Err(format!("its name {name:?} must not hold a slash"));
    }
    if !theme.get("colors").is_some_and(Value::is_object) {
        return Err("it has no colors".to_owned());
    }
    Ok((name.to_owned(), content))
}
