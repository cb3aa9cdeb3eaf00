//! The patterns of a resource list: what is included, excluded, and insisted upon.
//!
//! A plain entry includes, `!glob` excludes, `+path` brings exactly this file back, `-path` takes
//! exactly this file away and has the last word. Globs are held against the path below the base
//! directory, the file name and the whole path; a `SKILL.md` also goes by the name of its directory.

use std::path::Path;

use super::location::{relative, slashed};
use super::path_glob::PathGlob;

/// The patterns of one list, held against paths below one directory.
#[derive(Debug, Default)]
pub(crate) struct EntryPatterns {
    includes: Vec<PathGlob>,
    excludes: Vec<PathGlob>,
    forced_in: Vec<String>,
    forced_out: Vec<String>,
}

/// Returns whether a list entry is a pattern and not a plain path.
pub(crate) fn is_pattern(entry: &str) -> bool {
    is_override(entry) || entry.contains(['*', '?'])
}

/// Returns whether a list entry changes what other entries brought.
pub(crate) fn is_override(entry: &str) -> bool {
    entry.starts_with(['!', '+', '-'])
}

impl EntryPatterns {
    /// Reads every pattern of a list; what is neither an override nor a glob includes too.
    pub(crate) fn new<'a>(entries: impl IntoIterator<Item = &'a str>) -> Self {
        let mut patterns = Self::default();
        for entry in entries {
            if let Some(path) = entry.strip_prefix('+') {
                patterns.forced_in.push(exact(path));
            } else if let Some(path) = entry.strip_prefix('-') {
                patterns.forced_out.push(exact(path));
            } else if let Some(glob) = entry.strip_prefix('!') {
                patterns.excludes.push(PathGlob::new(glob));
            } else {
                patterns.includes.push(PathGlob::new(entry));
            }
        }
        patterns
    }

    /// Reads only the overrides of a list.
    pub(crate) fn overrides(entries: &[String]) -> Self {
        let overrides = entries.iter().map(String::as_str);
        Self::new(overrides.filter(|entry| is_override(entry)))
    }

    /// Returns whether a file is enabled.
    pub(crate) fn allow(&self, path: &Path, base: &Path) -> bool {
        if self.includes.is_empty()
            && self.excludes.is_empty()
            && self.forced_in.is_empty()
            && self.forced_out.is_empty()
        {
            return true;
        }
        let names = Names::of(path, base);
        if names.equal_any(&self.forced_out) {
            return false;
        }
        if names.equal_any(&self.forced_in) {
            return true;
        }
        (self.includes.is_empty() || names.match_any(&self.includes))
            && !names.match_any(&self.excludes)
    }
}

/// One change a project makes to a package the user has: the last one that names a file counts.
pub(crate) struct Delta {
    enables: bool,
    target: DeltaTarget,
}

enum DeltaTarget {
    Exact(String),
    Glob(PathGlob),
}

impl Delta {
    pub(crate) fn new(entry: &str) -> Self {
        let glob = |text| DeltaTarget::Glob(PathGlob::new(text));
        let (enables, target) = if let Some(path) = entry.strip_prefix('+') {
            (true, DeltaTarget::Exact(exact(path)))
        } else if let Some(path) = entry.strip_prefix('-') {
            (false, DeltaTarget::Exact(exact(path)))
        } else if let Some(text) = entry.strip_prefix('!') {
            (false, glob(text))
        } else {
            (true, glob(entry))
        };
        Self { enables, target }
    }

    /// Says whether a file is enabled, if this change is about it.
    pub(crate) fn decide(&self, path: &Path, base: &Path) -> Option<bool> {
        let names = Names::of(path, base);
        let concerned = match &self.target {
            DeltaTarget::Exact(path) => names.equal_any(std::slice::from_ref(path)),
            DeltaTarget::Glob(glob) => names.match_any(std::slice::from_ref(glob)),
        };
        concerned.then_some(self.enables)
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

/// Every name a file goes by.
struct Names {
    paths: Vec<String>,
    short: Vec<String>,
}

impl Names {
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
        // No wildcard matches `..`, so a path beside the base is also held up without it.
        let beside = relative.trim_start_matches("../");
        if beside.len() < relative.len() {
            self.short.push(beside.to_owned());
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
    fn later_kinds_of_pattern_outrank_earlier_ones() {
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
}
