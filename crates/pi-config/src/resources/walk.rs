//! Looking through directories for resource files.
//!
//! Follows links but enters no directory twice, heeds ignore files, skips dot names and
//! `node_modules`, and stops at fixed limits: the directories may be anybody's. Names come sorted by
//! bytes, so that "the first one wins" means the same on every machine. Nothing is read here
//! except directories, ignore files and the manifests of extensions.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::location::{RealPaths, normalize};
use super::path_glob::GlobSegment;
use crate::ConfigDiagnostic;
use crate::packages::Manifest;
use crate::regular_file::read_prose;

/// Entries one look at the resources may visit: a skill directory that holds a disk is a mistake.
const MAX_ENTRIES: usize = 100_000;
/// How deep directories may nest.
const MAX_DEPTH: usize = 32;
/// The largest ignore file that is heeded.
const MAX_IGNORE_BYTES: u64 = 64 * 1024;
const IGNORE_FILES: [&str; 3] = [".gitignore", ".ignore", ".fdignore"];

/// Which loose Markdown files of a skill directory count as skills.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LooseSkills {
    /// Those directly in the directory: pi's own skill directories.
    AtTheTop,
    /// Those in its subfolders: `.agents/skills`.
    Below,
}

/// What a name in a directory stands for, links followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntryKind {
    File,
    Directory,
}

/// One name in a directory.
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

    fn is_file_ending(&self, ending: &str) -> bool {
        self.kind == EntryKind::File && self.name.ends_with(ending)
    }
}

/// The budget and the findings of one look at the resources.
#[derive(Debug)]
pub(crate) struct Walk {
    entries_left: usize,
    real_paths: RealPaths,
    diagnostics: Vec<ConfigDiagnostic>,
}

/// What a recursive look carries along.
struct Descent {
    rules: IgnoreRules,
    entered: HashSet<PathBuf>,
    depth: usize,
}

impl Descent {
    fn new() -> Self {
        Self {
            rules: IgnoreRules::default(),
            entered: HashSet::new(),
            depth: 0,
        }
    }
}

impl Walk {
    /// Starts with a full budget.
    pub(crate) fn new() -> Self {
        Self {
            entries_left: MAX_ENTRIES,
            real_paths: RealPaths::default(),
            diagnostics: Vec::new(),
        }
    }

    /// Ends the look and returns what the user should know about it.
    pub(crate) fn into_diagnostics(self) -> Vec<ConfigDiagnostic> {
        self.diagnostics
    }

    /// Follows every link of a path.
    pub(crate) fn real_path(&mut self, path: &Path) -> PathBuf {
        self.real_paths.of(path)
    }

    /// Lists the files and directories in a directory, sorted. A directory that is not there is empty.
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
        entries.sort_by(|one, other| one.path.file_name().cmp(&other.path.file_name()));
        entries
    }

    fn report_exhaustion(&mut self, directory: &Path) {
        let message = format!(
            "more than {MAX_ENTRIES} files in the resource folders; the rest is not looked at, move what is no resource elsewhere"
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
        self.collect_skills(directory, loose, &mut Descent::new(), &mut found);
        found
    }

    fn collect_skills(
        &mut self,
        directory: &Path,
        loose: LooseSkills,
        descent: &mut Descent,
        found: &mut Vec<PathBuf>,
    ) {
        let Some(entries) = self.enter(directory, descent) else {
            return;
        };
        let declared = entries.iter().find(|entry| {
            entry.name == "SKILL.md"
                && entry.kind == EntryKind::File
                && !descent.rules.ignore(entry)
        });
        if let Some(skill) = declared {
            found.push(skill.path.clone());
        } else {
            let loose_count_here = (loose == LooseSkills::AtTheTop) == (descent.depth == 1);
            for entry in entries {
                if entry.is_hidden() || descent.rules.ignore(&entry) {
                    continue;
                }
                if entry.kind == EntryKind::Directory {
                    self.collect_skills(&entry.path, loose, descent, found);
                } else if loose_count_here && entry.is_file_ending(".md") {
                    found.push(entry.path);
                }
            }
        }
        descent.leave();
    }

    /// Finds the files with an ending directly in a directory.
    pub(crate) fn files_in(&mut self, directory: &Path, ending: &str) -> Vec<PathBuf> {
        let entries = self.list(directory);
        let rules = IgnoreRules::of(directory, &entries);
        entries
            .into_iter()
            .filter(|entry| !entry.is_hidden() && entry.is_file_ending(ending))
            .filter(|entry| !rules.ignore(entry))
            .map(|entry| entry.path)
            .collect()
    }

    /// Finds the files with an ending anywhere below a directory.
    pub(crate) fn files_below(&mut self, directory: &Path, ending: &str) -> Vec<PathBuf> {
        let mut found = Vec::new();
        self.collect_files(directory, ending, &mut Descent::new(), &mut found);
        found
    }

    fn collect_files(
        &mut self,
        directory: &Path,
        ending: &str,
        descent: &mut Descent,
        found: &mut Vec<PathBuf>,
    ) {
        let Some(entries) = self.enter(directory, descent) else {
            return;
        };
        for entry in entries {
            if entry.is_hidden() || descent.rules.ignore(&entry) {
                continue;
            }
            if entry.kind == EntryKind::Directory {
                self.collect_files(&entry.path, ending, descent, found);
            } else if entry.is_file_ending(ending) {
                found.push(entry.path);
            }
        }
        descent.leave();
    }

    /// Finds the extensions of a directory: the directory itself when it says so, otherwise its scripts
    /// and those of its subfolders that say so.
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
            if entry.is_hidden() || rules.ignore(&entry) {
                continue;
            }
            if entry.kind == EntryKind::Directory {
                found.extend(declared_extensions(&entry.path).into_iter().flatten());
            } else if entry.is_file_ending(".ts") || entry.is_file_ending(".js") {
                found.push(entry.path);
            }
        }
        found
    }

    /// Finds what a glob of a package manifest names below the package, dot names left out.
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
                    // The same directory is worth entering once for each rest of the pattern.
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

    /// Lists a directory on the way down, unless it was entered already or lies too deep.
    fn enter(&mut self, directory: &Path, descent: &mut Descent) -> Option<Vec<Entry>> {
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

impl Descent {
    fn leave(&mut self) {
        self.rules.pop();
        self.depth -= 1;
    }
}

/// The ignore files of the directories on the way down.
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

    /// Returns whether an entry is ignored; the rules nearest to it have the last word.
    fn ignore(&self, entry: &Entry) -> bool {
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

/// Returns the extensions a directory declares: by its manifest, or by an index file.
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

/// Tells what a path stands for, links followed.
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
