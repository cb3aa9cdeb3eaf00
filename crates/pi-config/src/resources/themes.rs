//! Themes as files: which there are and what they are called. Whether their colours make sense is
//! for the one who paints with them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::SourceInfo;
use crate::ConfigDiagnostic;
use crate::regular_file::read_prose;

/// The largest theme that is read: fifty colours fit a hundred times over.
const MAX_THEME_BYTES: u64 = 512 * 1024;

/// A theme file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThemeFile {
    /// What the theme calls itself.
    pub name: String,
    /// Its JSON file.
    pub path: PathBuf,
    /// The text of that file.
    pub content: String,
    /// Where it came from.
    pub source_info: SourceInfo,
}

/// Gathers themes; the first one of a name wins.
#[derive(Debug, Default)]
pub(super) struct ThemeSet {
    themes: Vec<ThemeFile>,
    by_name: HashMap<String, usize>,
    diagnostics: Vec<ConfigDiagnostic>,
    collisions: Vec<ConfigDiagnostic>,
}

impl ThemeSet {
    /// Loads one file. `describe` says where it came from.
    pub(super) fn load(&mut self, path: &Path, describe: impl FnOnce(&Path) -> SourceInfo) {
        let (name, content) = match read_theme(path) {
            Ok(theme) => theme,
            Err(problem) => {
                self.warn(&format!("theme is left out: {problem}"), path);
                return;
            }
        };
        let winner = self
            .by_name
            .get(&name)
            .and_then(|index| self.themes.get(*index));
        if let Some(winner) = winner {
            let message = format!(
                "theme {name:?} is left out: {} has the same name",
                winner.path.display()
            );
            self.collisions
                .push(ConfigDiagnostic::warning(message, path));
            return;
        }
        self.by_name.insert(name.clone(), self.themes.len());
        self.themes.push(ThemeFile {
            name,
            path: path.to_owned(),
            content,
            source_info: describe(path),
        });
    }

    /// Reports something about a path that is no theme.
    pub(super) fn warn(&mut self, message: &str, path: &Path) {
        self.diagnostics
            .push(ConfigDiagnostic::warning(message, path));
    }

    /// Returns the themes and what the user should know.
    pub(super) fn finish(mut self) -> (Vec<ThemeFile>, Vec<ConfigDiagnostic>) {
        self.diagnostics.append(&mut self.collisions);
        (self.themes, self.diagnostics)
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
