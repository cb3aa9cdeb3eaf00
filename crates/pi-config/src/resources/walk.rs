//! Searches directories for resource files.
//!
//! Follows symlinks but enters no directory twice, honors ignore files, skips dot files and
//! `node_modules`, and stops at fixed limits, because the directories are untrusted. Names are sorted by
//! bytes, so "first one wins" is the same on every machine. Only directories, ignore files and
//! extension manifests are read.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use pi_protocol::ConfigDiagnostic;

use super::location::{RealPaths, normalize};
use super::path_glob::GlobSegment;
use crate::packages::Manifest;
use crate::regular_file::read_prose;

/// Maximum entries visited per load; a larger tree is a configuration mistake.
const MAX_ENTRIES: usize = 100_000;
const MAX_DEPTH: usize = 32;
const MAX_IGNORE_BYTES: u64 = 64 * 1024;
const IGNORE_FILES: [&str; 3] = [".gitignore", ".ignore", ".fdignore"];

/// Which Markdown files other than `SKILL.md` are skills.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LooseSkills {
    /// Files directly in the directory, as in pi's skill directories.
    TopLevel,
    /// Files in subdirectories, as in `.agents/skills`.
    Nested,
}

/// The type of a directory entry after following symlinks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntryKind {
    File,
    Directory,
}

#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    pub(crate) kind: EntryKind,
}

impl Entry {
    fn is_hidden(&self) -> bool {
        self.name.starts_with('.') || self.name == "node_modules"
    }

    fn is_file_with_suffix(&self, suffix: &str) -> bool {
        self.kind == EntryKind::File && self.name.ends_with(suffix)
    }
}

/// The remaining budget and the diagnostics of a search.
#[derive(Debug)]
pub(crate) struct Walk {
    entries_left: usize,
    real_paths: RealPaths,
    diagnostics: Vec<ConfigDiagnostic>,
}

/// State of a recursive search.
struct DescentState {
    rules: IgnoreRules,
    entered: HashSet<PathBuf>,
    depth: usize,
}

impl DescentState {
    fn new() -> Self {
        Self {
            rules: IgnoreRules::default(),
            entered: HashSet::new(),
            depth: 0,
        }
    }
}

impl Walk {
    pub(crate) fn new() -> Self {
        Self {
            entries_left: MAX_ENTRIES,
            real_paths: RealPaths::default(),
            diagnostics: Vec::new(),
        }
    }

    /// Ends the search and returns its diagnostics.
    pub(crate) fn into_diagnostics(self) -> Vec<ConfigDiagnostic> {
        self.diagnostics
    }

    /// Resolves all symlinks of a path.
    pub(crate) fn real_path(&mut self, path: &Path) -> PathBuf {
        self.real_paths.of(path)
    }

    /// Lists the files and directories in a directory, sorted. A missing directory is empty.
    pub(crate) fn list(&mut self, directory: &Path) -> Vec<Entry> {
        let Ok(listing) = std::fs::read_dir(directory) else {
            return Vec::new();
        };
        let mut entries = Vec::new();
        for entry in listing.flatten() {
            if self.entries_left == 0 {
                self.report_exhaustion(directory);
                break;
            }
            self.entries_left -= 1;
            let path = entry.path();
            let Some(kind) = entry.file_type().ok().and_then(|kind| {
                if kind.is_symlink() {
                    kind_of(&path)
                } else {
                    known_kind(kind)
                }
            }) else {
                continue;
            };
            entries.push(Entry {
                name: entry.file_name().to_string_lossy().into_owned(),
                path,
                kind,
            });
        }
        pi_protocol::sort_by(&mut entries, |one, other| {
            one.path.file_name().cmp(&other.path.file_name())
        });
        entries
    }

    fn report_exhaustion(&mut self, directory: &Path) {
        let message = format!(
            "more than {MAX_ENTRIES} files in resource directories; the rest is ignored, move unrelated files elsewhere"
        );
        if !self
            .diagnostics
            .iter()
            .any(|known| known.message == message)
        {
            self.diagnostics
                .push(ConfigDiagnostic::warning(message, directory));
        }
    }

    /// Finds the skill files of a directory. A directory with a `SKILL.md` is one skill.
    pub(crate) fn skill_files(&mut self, directory: &Path, loose: LooseSkills) -> Vec<PathBuf> {
        let mut found = Vec::new();
        self.collect_skills(directory, loose, &mut DescentState::new(), &mut found);
        found
    }

    fn collect_skills(
        &mut self,
        directory: &Path,
        loose: LooseSkills,
        descent: &mut DescentState,
        found: &mut Vec<PathBuf>,
    ) {
        let Some(entries) = self.enter(directory, descent) else {
            return;
        };
        let declared = entries.iter().find(|entry| {
            entry.name == "SKILL.md"
                && entry.kind == EntryKind::File
                && !descent.rules.ignores(entry)
        });
        if let Some(skill) = declared {
            found.push(skill.path.clone());
        } else {
            let includes_loose = (loose == LooseSkills::TopLevel) == (descent.depth == 1);
            for entry in entries {
                if entry.is_hidden() || descent.rules.ignores(&entry) {
                    continue;
                }
                if entry.kind == EntryKind::Directory {
                    self.collect_skills(&entry.path, loose, descent, found);
                } else if includes_loose && entry.is_file_with_suffix(".md") {
                    found.push(entry.path);
                }
            }
        }
        descent.leave();
    }

    /// Finds the files with a suffix directly in a directory.
    pub(crate) fn files_in(&mut self, directory: &Path, suffix: &str) -> Vec<PathBuf> {
        let entries = self.list(directory);
        let rules = IgnoreRules::of(directory, &entries);
        entries
            .into_iter()
            .filter(|entry| !entry.is_hidden() && entry.is_file_with_suffix(suffix))
            .filter(|entry| !rules.ignores(entry))
            .map(|entry| entry.path)
            .collect()
    }

    /// Finds the files with a suffix anywhere below a directory.
    pub(crate) fn files_below(&mut self, directory: &Path, suffix: &str) -> Vec<PathBuf> {
        let mut found = Vec::new();
        self.collect_files(directory, suffix, &mut DescentState::new(), &mut found);
        found
    }

    fn collect_files(
        &mut self,
        directory: &Path,
        suffix: &str,
        descent: &mut DescentState,
        found: &mut Vec<PathBuf>,
    ) {
        let Some(entries) = self.enter(directory, descent) else {
            return;
        };
        for entry in entries {
            if entry.is_hidden() || descent.rules.ignores(&entry) {
                continue;
            }
            if entry.kind == EntryKind::Directory {
                self.collect_files(&entry.path, suffix, descent, found);
            } else if entry.is_file_with_suffix(suffix) {
                found.push(entry.path);
            }
        }
        descent.leave();
    }

    /// Finds the extensions in a directory: those it declares itself, otherwise its scripts
    /// and those declared by its subdirectories.
    pub(crate) fn extension_files(&mut self, directory: &Path) -> Vec<PathBuf> {
        let entries = self.list(directory);
        if entries.is_empty() {
            return Vec::new();
        }
        if let Some(own) = declared_extensions(directory) {
            return own;
        }
        let rules = IgnoreRules::of(directory, &entries);
        let mut found = Vec::new();
        for entry in entries {
            if entry.is_hidden() || rules.ignores(&entry) {
                continue;
            }
            if entry.kind == EntryKind::Directory {
                found.extend(declared_extensions(&entry.path).into_iter().flatten());
            } else if entry.is_file_with_suffix(".ts") || entry.is_file_with_suffix(".js") {
                found.push(entry.path);
            }
        }
        found
    }

    /// Finds the paths that match a glob of a package manifest, without dot files.
    pub(crate) fn glob(&mut self, root: &Path, segments: &[GlobSegment]) -> Vec<PathBuf> {
        let mut found = HashSet::new();
        let mut pending = vec![(root.to_owned(), segments, 0_usize)];
        let mut entered = HashSet::new();
        while let Some((path, segments, depth)) = pending.pop() {
            let Some((first, rest)) = segments.split_first() else {
                found.insert(path);
                continue;
            };
            match first {
                GlobSegment::Literal(name) if name.is_empty() || name == "." => {
                    pending.push((path, rest, depth));
                }
                GlobSegment::Literal(name) if name == ".." => {
                    pending.push((normalize(&path.join("..")), rest, depth));
                }
                GlobSegment::Literal(name) => {
                    let path = path.join(name);
                    if !name.starts_with('.') && path.exists() {
                        pending.push((path, rest, depth));
                    }
                }
                GlobSegment::Wildcard { .. } => {
                    for entry in self.list(&path) {
                        if !entry.name.starts_with('.') && first.matches(&entry.name) {
                            pending.push((entry.path, rest, depth));
                        }
                    }
                }
                GlobSegment::AnyDepth => {
                    // Enter a directory only once per remaining pattern.
                    if depth > MAX_DEPTH || !entered.insert((path.clone(), rest.len())) {
                        continue;
                    }
                    for entry in self.list(&path) {
                        if entry.name.starts_with('.') {
                            continue;
                        }
                        if rest.is_empty() {
                            found.insert(entry.path.clone());
                        }
                        if entry.kind == EntryKind::Directory && !entry.path.is_symlink() {
                            pending.push((entry.path, segments, depth + 1));
                        }
                    }
                    if !rest.is_empty() {
                        pending.push((path, rest, depth));
                    }
                }
            }
        }
        let mut found: Vec<PathBuf> = found.into_iter().collect();
        found.sort();
        found
    }

    /// Lists a directory and descends into it, unless it was already entered or is too deep.
    fn enter(&mut self, directory: &Path, descent: &mut DescentState) -> Option<Vec<Entry>> {
        if descent.depth >= MAX_DEPTH {
            return None;
        }
        let entries = self.list(directory);
        if entries.is_empty() || !descent.entered.insert(self.real_path(directory)) {
            return None;
        }
        descent.rules.push(directory, &entries);
        descent.depth += 1;
        Some(entries)
    }
}

impl DescentState {
    fn leave(&mut self) {
        self.rules.pop();
        self.depth -= 1;
    }
}

/// The ignore rules of the current directory and its ancestors.
#[derive(Debug, Default)]
struct IgnoreRules(Vec<Gitignore>);

impl IgnoreRules {
    fn of(directory: &Path, entries: &[Entry]) -> Self {
        let mut rules = Self::default();
        rules.push(directory, entries);
        rules
    }

    fn push(&mut self, directory: &Path, entries: &[Entry]) {
        let mut builder = None;
        for entry in entries {
            if entry.kind != EntryKind::File || !IGNORE_FILES.contains(&entry.name.as_str()) {
                continue;
            }
            let Ok(Some(text)) = read_prose(&entry.path, MAX_IGNORE_BYTES) else {
                continue;
            };
            let builder = builder.get_or_insert_with(|| GitignoreBuilder::new(directory));
            for line in text.lines() {
                if let Err(error) = builder.add_line(None, line) {
                    tracing::debug!(path = %entry.path.display(), %error, "ignore rule skipped");
                }
            }
        }
        let rules = builder.and_then(|builder| builder.build().ok());
        self.0.push(rules.unwrap_or_else(Gitignore::empty));
    }

    fn pop(&mut self) {
        self.0.pop();
    }

    /// Returns whether an entry is ignored; the nearest rules take precedence.
    fn ignores(&self, entry: &Entry) -> bool {
        let is_directory = entry.kind == EntryKind::Directory;
        for rules in self.0.iter().rev() {
            match rules.matched(&entry.path, is_directory) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => {}
            }
        }
        false
    }
}

/// Returns the extensions that a directory declares by its manifest or an index file.
fn declared_extensions(directory: &Path) -> Option<Vec<PathBuf>> {
    let declared: Vec<PathBuf> = Manifest::read(directory)
        .and_then(|manifest| manifest.extensions)
        .unwrap_or_default()
        .iter()
        .map(|entry| normalize(&directory.join(entry)))
        .filter(|path| path.exists())
        .collect();
    if !declared.is_empty() {
        return Some(declared);
    }
    ["index.ts", "index.js"]
        .iter()
        .map(|name| directory.join(name))
        .find(|path| path.exists())
        .map(|path| vec![path])
}

/// Returns the type of a path after following symlinks.
pub(crate) fn kind_of(path: &Path) -> Option<EntryKind> {
    known_kind(std::fs::metadata(path).ok()?.file_type())
}

fn known_kind(kind: std::fs::FileType) -> Option<EntryKind> {
    if kind.is_dir() {
        Some(EntryKind::Directory)
    } else if kind.is_file() {
        Some(EntryKind::File)
    } else {
        None
    }
}
