//! The patterns of a resource list: includes, excludes and exact overrides.
//!
//! A plain entry includes, `!glob` excludes, `+path` includes exactly this file again, and `-path` excludes
//! exactly this file with the highest precedence. Globs are matched against the path relative to the base
//! directory, the file name and the full path; a `SKILL.md` is also matched by its directory.

use std::path::Path;

use pi_env::Env;

use super::location::{relative, slashed};
use super::path_glob::PathGlob;
use crate::expand_home;

/// The patterns of one list.
#[derive(Debug, Default)]
pub(crate) struct EntryPatterns {
    includes: Vec<PathGlob>,
    excludes: Vec<PathGlob>,
    force_included: Vec<String>,
    force_excluded: Vec<String>,
}

/// Returns whether a list entry is a pattern and not a plain path.
pub(crate) fn is_pattern(entry: &str) -> bool {
    is_override(entry) || entry.contains(['*', '?'])
}

/// Returns whether a list entry modifies the selection of other entries.
pub(crate) fn is_override(entry: &str) -> bool {
    entry.starts_with(['!', '+', '-'])
}

/// Returns an entry of the settings with `~` expanded, also behind `!`, `+` and `-`.
pub(crate) fn with_home(entry: &str, env: &Env) -> String {
    let path = entry.strip_prefix(['!', '+', '-']).unwrap_or(entry);
    if path != "~" && !path.starts_with("~/") {
        return entry.to_owned();
    }
    let operator = entry.strip_suffix(path).unwrap_or_default();
    format!("{operator}{}", expand_home(path, env).display())
}

impl EntryPatterns {
    /// Parses all entries of a list; plain paths are includes.
    pub(crate) fn new<'a>(entries: impl IntoIterator<Item = &'a str>) -> Self {
        let mut patterns = Self::default();
        for entry in entries {
            if let Some(path) = entry.strip_prefix('+') {
                patterns.force_included.push(exact(path));
            } else if let Some(path) = entry.strip_prefix('-') {
                patterns.force_excluded.push(exact(path));
            } else if let Some(glob) = entry.strip_prefix('!') {
                patterns.excludes.push(PathGlob::new(glob));
            } else {
                patterns.includes.push(PathGlob::new(entry));
            }
        }
        patterns
    }

    /// Parses only the overrides of a list.
    pub(crate) fn overrides(entries: &[String]) -> Self {
        let overrides = entries.iter().map(String::as_str);
        Self::new(overrides.filter(|entry| is_override(entry)))
    }

    /// Returns whether a file is enabled.
    pub(crate) fn allow(&self, path: &Path, base: &Path) -> bool {
        if self.includes.is_empty()
            && self.excludes.is_empty()
            && self.force_included.is_empty()
            && self.force_excluded.is_empty()
        {
            return true;
        }
        let names = MatchNames::of(path, base);
        if names.equal_any(&self.force_excluded) {
            return false;
        }
        if names.equal_any(&self.force_included) {
            return true;
        }
        (self.includes.is_empty() || names.match_any(&self.includes))
            && !names.match_any(&self.excludes)
    }
}

/// A project's change to one of the user's packages. The last matching change applies.
pub(crate) struct OverrideEntry {
    enables: bool,
    target: OverrideTarget,
}

enum OverrideTarget {
    Exact(String),
    Glob(PathGlob),
}

impl OverrideEntry {
    pub(crate) fn new(entry: &str) -> Self {
        let glob = |text| OverrideTarget::Glob(PathGlob::new(text));
        let (enables, target) = if let Some(path) = entry.strip_prefix('+') {
            (true, OverrideTarget::Exact(exact(path)))
        } else if let Some(path) = entry.strip_prefix('-') {
            (false, OverrideTarget::Exact(exact(path)))
        } else if let Some(text) = entry.strip_prefix('!') {
            (false, glob(text))
        } else {
            (true, glob(entry))
        };
        Self { enables, target }
    }

    /// Returns whether a file is enabled, or `None` if the change does not match it.
    pub(crate) fn decide(&self, path: &Path, base: &Path) -> Option<bool> {
        let names = MatchNames::of(path, base);
        let matches = match &self.target {
            OverrideTarget::Exact(path) => names.equal_any(std::slice::from_ref(path)),
            OverrideTarget::Glob(glob) => names.match_any(std::slice::from_ref(glob)),
        };
        matches.then_some(self.enables)
    }
}

fn exact(path: &str) -> String {
    let path = path.strip_prefix("./").unwrap_or(path);
    if cfg!(windows) {
        path.strip_prefix(".\\").unwrap_or(path).replace('\\', "/")
    } else {
        path.to_owned()
    }
}

/// All names that patterns can match for a file.
struct MatchNames {
    paths: Vec<String>,
    short: Vec<String>,
}

impl MatchNames {
    fn of(path: &Path, base: &Path) -> Self {
        let mut names = Self {
            paths: Vec::with_capacity(4),
            short: Vec::with_capacity(2),
        };
        names.add(path, base);
        if path.file_name().is_some_and(|name| name == "SKILL.md")
            && let Some(dir) = path.parent()
        {
            names.add(dir, base);
        }
        names
    }

    fn add(&mut self, path: &Path, base: &Path) {
        let relative = relative(base, path);
        // No wildcard matches `..`, so a path outside the base is also matched without it.
        let without_parents = relative.trim_start_matches("../");
        if without_parents.len() < relative.len() {
            self.short.push(without_parents.to_owned());
        }
        self.paths.push(relative);
        self.paths.push(slashed(path));
        if let Some(name) = path.file_name() {
            self.short.push(name.to_string_lossy().into_owned());
        }
    }

    fn equal_any(&self, exact: &[String]) -> bool {
        self.paths.iter().any(|path| exact.contains(path))
    }

    fn match_any(&self, globs: &[PathGlob]) -> bool {
        globs.iter().any(|glob| {
            self.paths
                .iter()
                .chain(&self.short)
                .any(|name| glob.matches(name))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::location::normalize;
    use super::*;

    #[test]
    fn pattern_precedence() {
        let base = Path::new("/home/u/.pi/agent");
        for (entries, path, expected) in [
            (vec![], "skills/a/SKILL.md", true),
            (vec!["!a"], "skills/a/SKILL.md", false),
            (vec!["!skills/a"], "skills/a/SKILL.md", false),
            (vec!["!**/a/**"], "skills/a/SKILL.md", false),
            (vec!["!*.md"], "prompts/x.md", false),
            (vec!["!*.md", "+prompts/x.md"], "prompts/x.md", true),
            (vec!["!*.md", "+./prompts/x.md"], "prompts/x.md", true),
            (
                vec!["+prompts/x.md", "-prompts/x.md"],
                "prompts/x.md",
                false,
            ),
            (vec!["-x.md"], "prompts/x.md", true),
            (vec!["-skills/a"], "skills/a/SKILL.md", false),
            (
                vec!["-/home/u/.pi/agent/skills/a"],
                "skills/a/SKILL.md",
                false,
            ),
            (vec!["*.ts"], "prompts/x.md", false),
            (vec!["x.*"], "prompts/x.md", true),
            (vec!["!**/agent/**"], "prompts/x.md", true),
            (vec!["!**/no/**"], "../../.mine/no/SKILL.md", true),
            (vec!["!**/no/**"], "../../mine/no/SKILL.md", false),
        ] {
            assert_eq!(
                EntryPatterns::new(entries.iter().copied())
                    .allow(&normalize(&base.join(path)), base),
                expected,
                "{entries:?} on {path}"
            );
        }
    }

    #[test]
    fn the_home_directory_is_expanded_behind_operators() {
        let env = Env::fixed([("HOME", "/home/u")]);
        for (entry, expected) in [
            ("~/a", "/home/u/a"),
            ("!~/a/*", "!/home/u/a/*"),
            ("+~/a", "+/home/u/a"),
            ("-~/a", "-/home/u/a"),
            ("-~a", "-~a"),
            ("a/~", "a/~"),
        ] {
            assert_eq!(with_home(entry, &env), expected, "{entry}");
        }
    }
}
