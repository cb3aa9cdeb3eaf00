//! Finds what a trusted project contributes: the files that run, and the files that instruct the model.
//!
//! Everything below `.pi` counts, whatever its depth and number, installed packages and linked directories included.
//! What runs is not limited to that directory: paths in the project's settings and imports of scripts are followed.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::imports::{ImportedPath, imported_paths};
use super::project_changes::short_hex;
use crate::regular_file::{MAX_BYTES, read_bytes};
use crate::resources::location::normalize;

/// Entries of `.pi` that instruct the model and run nothing.
const INSTRUCTIONS: [&str; 4] = ["skills", "prompts", "SYSTEM.md", "APPEND_SYSTEM.md"];

const SETTINGS: &str = "settings.json";

/// Parts of the names of settings that decide which programs run.
const CODE_SETTINGS: [&str; 5] = ["extensions", "packages", "shell", "npm", "command"];

/// Entries of `.pi` that are data only.
const IGNORED: [&str; 3] = ["themes", "sessions", ".git"];

/// A project with more files is never unchanged.
const MAX_FILES: usize = 20_000;

/// Represents the files of a project beyond [`MAX_FILES`].
const TOO_MANY_FILES: &str = "more files than can be compared";

/// What is known about a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileRecord {
    hash: String,
    /// Size, times and number of the file: as long as they are the same, it is not read again. Programs cannot set the
    /// time of the last change of a file's metadata.
    stat: String,
    /// Whether the file is code, or decides which code runs.
    pub(super) runs: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    imports: Vec<ImportedPath>,
}

impl FileRecord {
    pub(super) fn has_same_content(&self, other: &Self) -> bool {
        self.hash == other.hash
    }
}

/// Files by path; those of the project by their path relative to it.
pub(super) type FileRecords = BTreeMap<String, FileRecord>;

/// Scans a project. Files that did not change since `before` are not read.
pub(super) fn scan(project: &Path, before: Option<&FileRecords>) -> FileRecords {
    let mut scan = ProjectScan {
        project,
        before,
        found: FileRecords::new(),
        directories: HashSet::new(),
        outside: Vec::new(),
    };
    let config = project.join(".pi");
    for name in children(&config) {
        if IGNORED.contains(&&*name) {
            continue;
        }
        let runs = !INSTRUCTIONS.contains(&&*name) && name != SETTINGS;
        scan.add(&config.join(&*name), runs);
    }
    scan.add(&project.join(".agents/skills"), false);
    let settings = read_settings(&config);
    scan.add_settings(&settings);
    for path in paths_in_settings(project, &settings) {
        scan.add(&path, true);
    }
    while let Some(path) = scan.outside.pop() {
        scan.add(&path, true);
    }
    scan.found
}

struct ProjectScan<'scan> {
    project: &'scan Path,
    before: Option<&'scan FileRecords>,
    found: FileRecords,
    /// Real paths of directories that were scanned: links may form cycles.
    directories: HashSet<PathBuf>,
    /// Imported files and packages that are still to be added.
    outside: Vec<PathBuf>,
}

impl ProjectScan<'_> {
    /// Adds a file, or all files of a directory.
    fn add(&mut self, path: &Path, runs: bool) {
        let name = self.name_of(path);
        if self.found.contains_key(&name) {
            return;
        }
        if self.found.len() >= MAX_FILES {
            self.found
                .insert(TOO_MANY_FILES.to_owned(), FileRecord::never_equal());
            return;
        }
        let Ok(metadata) = fs::metadata(path) else {
            return;
        };
        if !metadata.is_dir() {
            self.add_file(path, name, &metadata, runs);
            return;
        }
        let Ok(real) = path.canonicalize() else {
            return;
        };
        // A link to a directory that contains the project would add everything around it.
        let contains_project = self.project.starts_with(&real);
        if !self.directories.insert(real) {
            return;
        }
        for child in children(path) {
            let child = path.join(&*child);
            if child.ends_with(".git") || (contains_project && child.is_dir()) {
                continue;
            }
            self.add(&child, runs);
        }
    }

    /// Adds the settings that decide which programs run. Other settings change with the use of pi.
    fn add_settings(&mut self, settings: &Map<String, Value>) {
        let decides = |name: &str| {
            let name = name.to_lowercase();
            CODE_SETTINGS.iter().any(|part| name.contains(part))
        };
        let deciding = settings.iter().filter(|(name, _)| decides(name));
        for (name, value) in deciding {
            let record = FileRecord {
                hash: short_hex(&Sha256::digest(value.to_string())),
                stat: String::new(),
                runs: true,
                imports: Vec::new(),
            };
            self.found.insert(format!(".pi/{SETTINGS}: {name}"), record);
        }
    }

    fn add_file(&mut self, path: &Path, name: String, metadata: &fs::Metadata, runs: bool) {
        let stat = stat_of(path, metadata);
        let before = self.before.and_then(|before| before.get(&name));
        let record = match before {
            Some(before) if before.stat == stat && before.runs == runs => before.clone(),
            _ => FileRecord::read(path, metadata, stat, runs),
        };
        for imported in &record.imports {
            self.follow(path, imported);
        }
        self.found.insert(name, record);
    }

    fn follow(&mut self, script: &Path, imported: &ImportedPath) {
        let Some(directory) = script.parent() else {
            return;
        };
        match imported {
            ImportedPath::File(path) => {
                let path = directory.join(path);
                self.outside.extend(candidates(&path));
            }
            ImportedPath::Package(name) => {
                let found = directory.ancestors().map(|directory| {
                    let modules = directory.join("node_modules");
                    modules.join(name)
                });
                self.outside.extend(found.filter(|path| path.exists()));
            }
            // A package is added as a whole.
            ImportedPath::Computed | ImportedPath::Mentioned(_) if is_installed(script) => {}
            ImportedPath::Computed => self.outside.push(directory.to_owned()),
            ImportedPath::Mentioned(part) => {
                let part = part.trim_matches('/');
                let found = [directory, self.project].map(|base| base.join(part));
                let found = found.into_iter().filter(|path| self.may_add(path));
                self.outside.extend(found.collect::<Vec<_>>());
            }
        }
    }

    /// Returns whether a path that a script mentions is scanned: neither what contains the project, nor what is found
    /// anyway or changes with every use.
    fn may_add(&self, path: &Path) -> bool {
        let Ok(real) = path.canonicalize() else {
            return false;
        };
        let is_apart = [".pi", ".git"].iter().all(|name| {
            let own = self.project.join(name);
            !real.starts_with(own)
        });
        is_apart && !real.ends_with("node_modules") && !self.project.starts_with(real)
    }

    fn name_of(&self, path: &Path) -> String {
        let path = normalize(path);
        let relative = path.strip_prefix(self.project).unwrap_or(&path);
        relative.to_string_lossy().into_owned()
    }
}

impl FileRecord {
    fn read(path: &Path, metadata: &fs::Metadata, stat: String, runs: bool) -> Self {
        let content = if metadata.is_file() {
            read_bytes(path, MAX_BYTES).ok().flatten()
        } else {
            None
        };
        let script = content.as_deref().filter(|_| runs && is_script(path));
        Self {
            imports: script.map(imported_paths).unwrap_or_default(),
            hash: match &content {
                Some(content) => short_hex(&Sha256::digest(content)),
                // A file that is too large to read is compared by its size and times.
                None => stat.clone(),
            },
            stat,
            runs,
        }
    }

    /// A record that differs from every other one.
    fn never_equal() -> Self {
        let now = std::time::SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            hash: now.unwrap_or_default().as_nanos().to_string(),
            stat: String::new(),
            runs: true,
            imports: Vec::new(),
        }
    }
}

/// Returns whether a script belongs to an installed package.
fn is_installed(script: &Path) -> bool {
    let mut names = script.components();
    names.any(|name| name.as_os_str() == "node_modules")
}

/// Returns the names in a directory in a fixed order.
fn children(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<_> = names.collect();
    names.sort();
    names
}

/// Returns the files that an import without an extension may refer to.
fn candidates(path: &Path) -> Vec<PathBuf> {
    if path.is_file() {
        return vec![path.to_owned()];
    }
    let stem = path.with_extension("");
    let sources = SCRIPT_EXTENSIONS.iter().flat_map(|extension| {
        let mut appended = path.as_os_str().to_owned();
        appended.push(format!(".{extension}"));
        // An import of `x.js` may mean `x.ts`.
        let replaced = stem.with_extension(extension);
        let index = path.join(format!("index.{extension}"));
        [PathBuf::from(appended), replaced, index]
    });
    let manifest = path.join("package.json");
    let all = sources.chain([manifest]);
    all.filter(|path| path.is_file()).collect()
}

const SCRIPT_EXTENSIONS: [&str; 9] = ["ts", "tsx", "mts", "cts", "js", "jsx", "mjs", "cjs", "json"];

fn is_script(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| SCRIPT_EXTENSIONS.contains(&extension))
}

fn read_settings(config: &Path) -> Map<String, Value> {
    let settings = read_bytes(&config.join(SETTINGS), MAX_BYTES);
    let settings = settings.ok().flatten().unwrap_or_default();
    crate::json_text::parse(&String::from_utf8_lossy(&settings)).unwrap_or_default()
}

/// Returns the paths that the project's settings name as extensions or packages.
fn paths_in_settings(project: &Path, settings: &Map<String, Value>) -> Vec<PathBuf> {
    let config = project.join(".pi");
    let entries = ["extensions", "packages"].map(|key| settings.get(key));
    let entries = entries.into_iter().flatten();
    let entries = entries.filter_map(Value::as_array).flatten();
    let sources = entries.filter_map(|entry| match entry {
        Value::String(source) => Some(source.as_str()),
        entry => entry.get("source")?.as_str(),
    });
    sources
        .flat_map(|source| {
            let source = source.trim_start_matches(['!', '+', '-']);
            let source = source.strip_prefix("file://").unwrap_or(source);
            // A pattern runs files of the directory before its first wildcard.
            let fixed = source.split(['*', '?', '[', '{']).next();
            let fixed = fixed.unwrap_or_default();
            let is_pattern = fixed.len() < source.len();
            [&config, project].map(|base| {
                let path = base.join(fixed);
                match path.parent() {
                    Some(parent) if is_pattern && !path.is_dir() => parent.to_owned(),
                    _ => path,
                }
            })
        })
        .filter(|path| path.exists() && path.canonicalize().is_ok_and(|real| real != project))
        .collect()
}

/// Describes a file without its content: its target if it is a link, its size, times and number.
fn stat_of(path: &Path, metadata: &fs::Metadata) -> String {
    let modified = metadata.modified().ok();
    let modified = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let modified = modified.unwrap_or_default().as_nanos();
    let link = fs::read_link(path).unwrap_or_default();
    let link = link.to_string_lossy();
    format!(
        "{}-{modified}-{}-{link}",
        metadata.len(),
        change_stamp(metadata)
    )
}

#[cfg(unix)]
fn change_stamp(metadata: &fs::Metadata) -> String {
    use std::os::unix::fs::MetadataExt as _;
    format!(
        "{}.{}-{}",
        metadata.ctime(),
        metadata.ctime_nsec(),
        metadata.ino()
    )
}

/// Elsewhere every file is read, because its times can be set.
#[cfg(not(unix))]
fn change_stamp(_metadata: &fs::Metadata) -> String {
    let now = std::time::SystemTime::now().duration_since(UNIX_EPOCH);
    now.unwrap_or_default().as_nanos().to_string()
}
