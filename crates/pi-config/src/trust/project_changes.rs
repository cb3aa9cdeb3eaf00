//! Remembers what a trusted project contributed, to notice changes since its last use, for example by a `git pull`.
//!
//! One file per project below the agent directory, which is read and compared before any code of the project is loaded.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use pi_fs::{NewFileMode, atomic_file, private};
use pi_protocol::hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::canonical;
use super::project_scan::{FileRecord, FileRecords, scan};
use crate::AgentDir;
use crate::regular_file::{MAX_STORED_BYTES, read_bytes};

/// Records with another version are compared, but their imports were found by other rules.
const RECORD_VERSION: u32 = 1;

#[derive(Debug, Serialize, Deserialize)]
struct ProjectRecord {
    #[serde(default)]
    version: u32,
    /// Only for people who read the file.
    #[serde(rename = "folder")]
    dir: String,
    files: FileRecords,
}

/// The files of a project now and at its last use.
#[derive(Debug)]
pub struct ProjectChanges {
    /// `None` on the first use.
    before: Option<FileRecords>,
    record_file: PathBuf,
    current: ProjectRecord,
    is_seen: AtomicBool,
}

impl ProjectChanges {
    /// Compares a project with its last use. A record that cannot be read counts as missing.
    pub fn find(agent_dir: &AgentDir, cwd: &Path) -> io::Result<Self> {
        let dir = canonical(cwd);
        let dir_name = dir.to_string_lossy();
        let digest = Sha256::digest(dir_name.as_bytes());
        let record_file = agent_dir
            .seen_projects()
            .join(format!("{}.json", short_hex(&digest)));
        let before = match read_bytes(&record_file, MAX_STORED_BYTES) {
            Ok(Some(bytes)) => serde_json::from_slice::<ProjectRecord>(&bytes).ok(),
            Ok(None) => None,
            Err(error) => return Err(error.into()),
        };
        let known = before.as_ref();
        let known = known.filter(|record| record.version == RECORD_VERSION);
        Ok(Self {
            record_file,
            current: ProjectRecord {
                version: RECORD_VERSION,
                dir: dir_name.into_owned(),
                files: scan(&dir, known.map(|record| &record.files)),
            },
            before: before.map(|record| record.files),
            is_seen: AtomicBool::new(false),
        })
    }

    /// Returns new and changed files, relative to the project if they belong to it; none on the first use.
    pub fn files(&self) -> Vec<String> {
        self.changed(|_| true)
            .map(|(path, _)| path.clone())
            .collect()
    }

    /// Describes new and changed files that run, or decide what runs.
    pub fn changed_code(&self) -> Vec<String> {
        let changed = self.changed(|record| record.runs);
        let described = changed.map(|(path, is_new)| {
            let change = if is_new { "new" } else { "changed" };
            format!("{change}: {path}")
        });
        described.collect()
    }

    /// Returns whether the record is missing or not up to date.
    pub fn is_unrecorded(&self) -> bool {
        match &self.before {
            Some(before) => *before != self.current.files || !self.record_file.exists(),
            None => !self.current.files.is_empty(),
        }
    }

    /// Whether [`mark_seen`](Self::mark_seen) was called.
    pub fn is_seen(&self) -> bool {
        self.is_seen.load(Ordering::Relaxed)
    }

    /// Saves the state of the project when it was compared.
    pub fn mark_seen(&self) -> io::Result<()> {
        self.is_seen.store(true, Ordering::Relaxed);
        if let Some(dir) = self.record_file.parent() {
            private::create_directory(dir)?;
        }
        atomic_file::write(
            &self.record_file,
            &serde_json::to_vec_pretty(&self.current)?,
            NewFileMode::Private,
        )
    }

    /// Returns new and changed files, and whether they are new.
    fn changed(
        &self,
        is_relevant: impl Fn(&FileRecord) -> bool,
    ) -> impl Iterator<Item = (&String, bool)> {
        let before = self.before.as_ref();
        let files = before.map(|before| (before, &self.current.files));
        let files = files.into_iter().flat_map(|(before, files)| {
            files
                .iter()
                .map(|(path, now)| (path, before.get(path), now))
        });
        files
            .filter(move |(_, before, now)| {
                is_relevant(now) && !before.is_some_and(|before| before.has_same_content(now))
            })
            .map(|(path, before, _)| (path, before.is_none()))
    }
}

/// Formats the first 128 bits of a digest, which is enough to rule out collisions.
pub(super) fn short_hex(digest: &[u8]) -> String {
    hex(digest.get(..16).unwrap_or(digest))
}
