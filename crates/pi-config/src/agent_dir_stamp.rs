//! Detects changes of the agent directory by commands. What a command writes there takes effect at the next start, with
//! the permissions of the user, so it must not go unnoticed.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// Files that decide what pi loads, which services it uses and what it trusts.
const FILES: [&str; 7] = [
    "settings.json",
    "models.json",
    "auth.json",
    "trust.json",
    "mcp.json",
    "SYSTEM.md",
    "AGENTS.md",
];

/// Directories whose files pi loads.
const DIRECTORIES: [&str; 3] = ["extensions", "skills", "prompts"];

/// More files in these directories are not compared.
const MAX_FILES: usize = 1000;

/// How deep the directories are compared: an extension may be a directory with a file.
const MAX_DEPTH: usize = 2;

/// Sizes and times of the files of an agent directory that take effect at the next start.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AgentDirStamp(BTreeMap<String, FileStamp>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileStamp {
    length: u64,
    modified_ns: u128,
    /// Changes with the content, also if the time of the change is set back.
    number: (u64, i64),
}

impl AgentDirStamp {
    /// Reads the stamps of all files, without opening them.
    pub fn read(agent_dir: &Path) -> Self {
        let mut stamp = Self::default();
        for file in FILES {
            stamp.add(&agent_dir.join(file), file);
        }
        for directory in DIRECTORIES {
            stamp.add_directory(&agent_dir.join(directory), directory, MAX_DEPTH);
        }
        stamp
    }

    /// Returns the files that are new, different or missing since `before`, relative to the agent directory.
    pub fn changed_since(&self, before: &Self) -> Vec<String> {
        let names = self.0.keys().chain(before.0.keys());
        let changed = names.filter(|name| self.0.get(*name) != before.0.get(*name));
        let mut changed: Vec<String> = changed.cloned().collect();
        changed.sort();
        changed.dedup();
        changed
    }

    fn add(&mut self, path: &Path, name: &str) {
        if let Ok(metadata) = fs::metadata(path) {
            self.0.insert(name.to_owned(), FileStamp::of(&metadata));
        }
    }

    fn add_directory(&mut self, path: &Path, name: &str, depth: usize) {
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        for entry in entries {
            if self.0.len() >= MAX_FILES {
                return;
            }
            let name = format!("{name}/{}", entry.file_name().to_string_lossy());
            let path = entry.path();
            if path.is_dir() {
                if depth > 1 {
                    self.add_directory(&path, &name, depth - 1);
                }
            } else {
                self.add(&path, &name);
            }
        }
    }
}

impl FileStamp {
    fn of(metadata: &fs::Metadata) -> Self {
        let modified = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        let modified = modified.duration_since(UNIX_EPOCH).unwrap_or_default();
        Self {
            length: metadata.len(),
            modified_ns: modified.as_nanos(),
            number: change_number(metadata),
        }
    }
}

#[cfg(unix)]
fn change_number(metadata: &fs::Metadata) -> (u64, i64) {
    use std::os::unix::fs::MetadataExt as _;
    (metadata.ino(), metadata.ctime_nsec())
}

#[cfg(not(unix))]
fn change_number(_metadata: &fs::Metadata) -> (u64, i64) {
    (0, 0)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use pretty_assertions::assert_eq;

    use super::*;

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::File::create(path)
            .unwrap()
            .write_all(text.as_bytes())
            .unwrap();
    }

    #[test]
    fn files_that_take_effect_are_compared() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        write(&path("settings.json"), "{}");
        write(&path("trust.json"), "{}");
        let before = AgentDirStamp::read(directory.path());
        assert_eq!(AgentDirStamp::read(directory.path()), before);
        write(&path("settings.json"), "{\"packages\":[]}");
        write(&path("extensions/one.ts"), "x");
        write(&path("extensions/two/index.ts"), "x");
        write(&path("sessions/s.jsonl"), "x");
        fs::remove_file(path("trust.json")).unwrap();
        let now = AgentDirStamp::read(directory.path());
        assert_eq!(
            now.changed_since(&before),
            [
                "extensions/one.ts",
                "extensions/two/index.ts",
                "settings.json",
                "trust.json"
            ]
        );
        assert!(now.changed_since(&now).is_empty());
    }
}
