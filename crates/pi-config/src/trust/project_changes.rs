//! Detects changes to a trusted project's configuration since its last use, for example by a `git pull`.
//!
//! Only fingerprints are stored, one file per project. They do not affect trust; changes are only reported.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use pi_fs::{NewFileMode, atomic_file, private};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::canonical;
use crate::AgentDir;
use crate::regular_file::{MAX_BYTES, ReadFileError, read_bytes};

/// Entries of `.pi` that run code or instruct the model. Themes are left out, as they do neither.
const TRACKED_ENTRIES: [&str; 6] = [
    "settings.json",
    "extensions",
    "skills",
    "prompts",
    "SYSTEM.md",
    "APPEND_SYSTEM.md",
];

/// Only the first files up to this limit are tracked, and content beyond [`MAX_TOTAL`] bytes is tracked by size
/// and modification time: this runs during startup and must take only a few milliseconds.
const MAX_FILES: usize = 500;
const MAX_DEPTH: usize = 8;
const MAX_TOTAL: u64 = 1 << 20;

/// Fingerprints by path relative to the project.
type Fingerprints = BTreeMap<String, String>;

#[derive(Debug, Serialize, Deserialize)]
struct ProjectFingerprints {
    /// Only for people who read the file.
    #[serde(rename = "folder")]
    dir: String,
    files: Fingerprints,
}

/// New and changed files of a project since its last use. They are reported again until
/// [`mark_seen`](Self::mark_seen) is called.
#[derive(Debug)]
pub struct ProjectChanges {
    files: Vec<String>,
    fingerprint_file: PathBuf,
    current: ProjectFingerprints,
}

impl ProjectChanges {
    /// Returns the changed paths relative to the project; never empty.
    pub fn files(&self) -> &[String] {
        &self.files
    }

    /// Saves the fingerprints that were taken when the changes were found.
    pub fn mark_seen(&self) -> io::Result<()> {
        self.current.save(&self.fingerprint_file)
    }
}

impl ProjectFingerprints {
    fn save(&self, path: &Path) -> io::Result<()> {
        if let Some(dir) = path.parent() {
            private::create_directory(dir)?;
        }
        atomic_file::write(
            path,
            &serde_json::to_vec_pretty(self)?,
            NewFileMode::Private,
        )
    }
}

/// Finds new and changed files of a project since its last use. If there are none, because the project is used for
/// the first time or files were only removed, the current state is saved.
pub fn find_project_changes(
    agent_dir: &AgentDir,
    cwd: &Path,
) -> io::Result<Option<ProjectChanges>> {
    let dir = canonical(cwd);
    let dir_name = dir.to_string_lossy();
    let fingerprint_file = agent_dir
        .seen_projects()
        .join(format!("{}.json", fingerprint(dir_name.as_bytes())));
    let files = fingerprints(&dir);
    let before = match read_bytes(&fingerprint_file, MAX_BYTES) {
        // Treat a malformed file as missing.
        Ok(Some(bytes)) => serde_json::from_slice::<ProjectFingerprints>(&bytes).ok(),
        Ok(None) => None,
        Err(error) => return Err(error.into()),
    };
    let before = before.map(|previous| previous.files);
    if before.as_ref() == Some(&files) || (before.is_none() && files.is_empty()) {
        return Ok(None);
    }
    let changed: Vec<String> = match &before {
        None => Vec::new(),
        Some(before) => files
            .iter()
            .filter(|(path, now)| before.get(*path) != Some(*now))
            .map(|(path, _)| path.clone())
            .collect(),
    };
    let current = ProjectFingerprints {
        dir: dir_name.into_owned(),
        files,
    };
    if changed.is_empty() {
        current.save(&fingerprint_file)?;
        return Ok(None);
    }
    Ok(Some(ProjectChanges {
        files: changed,
        fingerprint_file,
        current,
    }))
}

fn fingerprints(dir: &Path) -> Fingerprints {
    let mut scanner = FingerprintScanner {
        found: Fingerprints::new(),
        remaining_bytes: MAX_TOTAL,
    };
    let below_pi = TRACKED_ENTRIES.map(|name| format!(".pi/{name}"));
    for name in below_pi.into_iter().chain([".agents/skills".to_owned()]) {
        scanner.scan(&dir.join(&name), name, MAX_DEPTH);
    }
    scanner.found
}

struct FingerprintScanner {
    found: Fingerprints,
    remaining_bytes: u64,
}

impl FingerprintScanner {
    /// Adds the fingerprint of a file, or of all files in a directory. The fingerprint of a symlink includes its
    /// target; symlinked directories are not descended into.
    fn scan(&mut self, path: &Path, name: String, depth: usize) {
        if self.found.len() >= MAX_FILES || depth == 0 {
            return;
        }
        let Ok(metadata) = fs::symlink_metadata(path) else {
            return;
        };
        if !metadata.is_dir() {
            let fingerprint = self.fingerprint_of(path, &metadata);
            self.found.insert(name, fingerprint);
            return;
        }
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        let mut children: Vec<_> = entries.map(|entry| entry.file_name()).collect();
        children.sort();
        for child in children {
            if child != "node_modules" && child != ".git" {
                let name = format!("{name}/{}", child.to_string_lossy());
                self.scan(&path.join(child), name, depth - 1);
            }
        }
    }

    fn fingerprint_of(&mut self, path: &Path, metadata: &fs::Metadata) -> String {
        let mut hash = Sha256::new();
        if metadata.is_symlink() {
            let target = fs::read_link(path).unwrap_or_default();
            hash.update(target.to_string_lossy().as_bytes());
        }
        match read_bytes(path, self.remaining_bytes.min(MAX_BYTES)) {
            Ok(Some(bytes)) => {
                self.remaining_bytes = self.remaining_bytes.saturating_sub(bytes.len() as u64);
                hash.update(&bytes);
            }
            Ok(None) | Err(ReadFileError::NotRegular) => {}
            // Too large to read: use size and modification time.
            Err(_) => {
                hash.update(metadata.len().to_le_bytes());
                let modified = metadata.modified().ok();
                let modified = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
                hash.update(modified.unwrap_or_default().as_nanos().to_le_bytes());
            }
        }
        short_hex(&hash.finalize())
    }
}

fn fingerprint(bytes: &[u8]) -> String {
    short_hex(&Sha256::digest(bytes))
}

/// Formats the first 128 bits of a digest, which is enough to rule out collisions.
fn short_hex(digest: &[u8]) -> String {
    digest
        .iter()
        .take(16)
        .fold(String::new(), |mut text, byte| {
            // Writing to a string cannot fail.
            write!(text, "{byte:02x}").ok();
            text
        })
}
