//! What a trusted project brought when it was last used here, so that a later pull that changes it does
//! not go unnoticed.
//!
//! Only fingerprints are kept, a file for each project. They decide nothing: trust stays as it was given,
//! and what changed is told.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::canonical;
use crate::AgentDir;
use crate::atomic_file::{self, NewFileMode};
use crate::regular_file::{MAX_BYTES, ReadFileError, read_bytes};

/// What of `.pi` runs, or tells the model what to do. Themes only color.
const TELLING: [&str; 6] = [
    "settings.json",
    "extensions",
    "skills",
    "prompts",
    "SYSTEM.md",
    "APPEND_SYSTEM.md",
];

/// A project with more files than this is judged by the first ones, and what is over the bytes by its
/// outside: this happens beside the first frames, and a few milliseconds are all it may take.
const MAX_FILES: usize = 500;
const MAX_DEPTH: usize = 8;
const MAX_TOTAL: u64 = 1 << 20;

/// Fingerprints by path below the project.
type Fingerprints = BTreeMap<String, String>;

#[derive(Debug, Serialize, Deserialize)]
struct Record {
    /// Only for people who read the file.
    #[serde(rename = "folder")]
    dir: String,
    files: Fingerprints,
}

/// What is new or other in a project than when it was last used. It counts as seen once it is
/// [remembered](Self::remember): whoever leaves before hearing of it hears of it the next time.
#[derive(Debug)]
pub struct ProjectChanges {
    files: Vec<String>,
    place: PathBuf,
    record: Record,
}

impl ProjectChanges {
    /// Returns the paths of the files below the project; there is at least one.
    pub fn files(&self) -> &[String] {
        &self.files
    }

    /// Remembers the project as it was when it was looked at.
    pub fn mark_seen(&self) -> io::Result<()> {
        self.record.save(&self.place)
    }
}

impl Record {
    fn save(&self, place: &Path) -> io::Result<()> {
        if let Some(dir) = place.parent() {
            atomic_file::create_private_directory(dir)?;
        }
        atomic_file::write(
            place,
            &serde_json::to_vec_pretty(self)?,
            NewFileMode::Private,
        )
    }
}

/// Looks for files of a project that are new or other than when it was last used. Where there are none, since it is
/// used for the first time or has lost some, it is remembered as it is.
pub fn find_project_changes(
    agent_dir: &AgentDir,
    cwd: &Path,
) -> io::Result<Option<ProjectChanges>> {
    let dir = canonical(cwd);
    let dir_name = dir.to_string_lossy();
    let place = agent_dir
        .seen_projects()
        .join(format!("{}.json", fingerprint(dir_name.as_bytes())));
    let files = fingerprints(&dir);
    let before = match read_bytes(&place, MAX_BYTES) {
        // A record nobody understands is as good as none.
        Ok(Some(bytes)) => serde_json::from_slice::<Record>(&bytes).ok(),
        Ok(None) => None,
        Err(error) => return Err(error.into()),
    };
    let before = before.map(|record| record.files);
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
    let record = Record {
        dir: dir_name.into_owned(),
        files,
    };
    if changed.is_empty() {
        record.save(&place)?;
        return Ok(None);
    }
    Ok(Some(ProjectChanges {
        files: changed,
        place,
        record,
    }))
}

fn fingerprints(dir: &Path) -> Fingerprints {
    let mut look = Look {
        found: Fingerprints::new(),
        budget: MAX_TOTAL,
    };
    let below_pi = TELLING.map(|name| format!(".pi/{name}"));
    for name in below_pi.into_iter().chain([".agents/skills".to_owned()]) {
        look.at(&dir.join(&name), name, MAX_DEPTH);
    }
    look.found
}

/// A look at a project's files, and how much may still be read.
struct Look {
    found: Fingerprints,
    budget: u64,
}

impl Look {
    /// Takes the fingerprints of a file or of all files in a directory. Links count by where they lead; what is
    /// behind one that leads to a directory is not looked at.
    fn at(&mut self, path: &Path, name: String, depth: usize) {
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
        let mut inside: Vec<_> = entries.map(|entry| entry.file_name()).collect();
        inside.sort();
        for inner in inside {
            if inner != "node_modules" && inner != ".git" {
                let name = format!("{name}/{}", inner.to_string_lossy());
                self.at(&path.join(inner), name, depth - 1);
            }
        }
    }

    fn fingerprint_of(&mut self, path: &Path, metadata: &fs::Metadata) -> String {
        let mut hash = Sha256::new();
        if metadata.is_symlink() {
            let target = fs::read_link(path).unwrap_or_default();
            hash.update(target.to_string_lossy().as_bytes());
        }
        match read_bytes(path, self.budget.min(MAX_BYTES)) {
            Ok(Some(bytes)) => {
                self.budget = self.budget.saturating_sub(bytes.len() as u64);
                hash.update(&bytes);
            }
            Ok(None) | Err(ReadFileError::NotRegular) => {}
            // What is too much to read is judged by its outside.
            Err(_) => {
                hash.update(metadata.len().to_le_bytes());
                let changed = metadata.modified().ok();
                let changed = changed.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
                hash.update(changed.unwrap_or_default().as_nanos().to_le_bytes());
            }
        }
        short(&hash.finalize())
    }
}

fn fingerprint(bytes: &[u8]) -> String {
    short(&Sha256::digest(bytes))
}

/// Half of the digest is far more than chance, and more than anybody can forge.
fn short(digest: &[u8]) -> String {
    digest
        .iter()
        .take(16)
        .fold(String::new(), |mut text, byte| {
            // Writing to a text cannot fail.
            write!(text, "{byte:02x}").ok();
            text
        })
}
