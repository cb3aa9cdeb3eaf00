//! Files with the output of commands that is too long for a result. A file has a limited size, and
//! creating one removes those of the past: nothing else would.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tokio::fs::File;
use tokio::io::AsyncWriteExt;

/// Output beyond this size is not saved; the result contains its end.
pub(crate) const MAX_FILE_BYTES: usize = 256 * 1024 * 1024;

/// The last line of a file that does not contain all output.
const TRUNCATION_LINE: &[u8] = b"\n[Output truncated]\n";

/// How long a file is kept for the model and the user.
const MAX_AGE: Duration = Duration::from_hours(24);

/// If the kept files are larger in total, the oldest are removed.
const MAX_TOTAL_BYTES: u64 = 1024 * 1024 * 1024;

/// Where the full output is written if it is too long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SpillTarget {
    pub(crate) directory: PathBuf,
    /// File name prefix.
    pub(crate) prefix: &'static str,
}

impl SpillTarget {
    /// Creates a file that only the user can access.
    pub(super) async fn create(&self) -> io::Result<SpillFile> {
        let target = self.clone();
        let created = tokio::task::spawn_blocking(move || {
            target.remove_old(SystemTime::now());
            let name = format!("{}-{:016x}.log", target.prefix, rand::random::<u64>());
            let path = target.directory.join(name);
            let file = pi_fs::private::create_file(&path)?;
            Ok(SpillFile {
                path,
                file: File::from_std(file),
                size: 0,
                is_truncated: false,
            })
        });
        created
            .await
            .unwrap_or_else(|error| Err(io::Error::other(error)))
    }

    /// Removes files of earlier commands that are old, or too large in total.
    pub(super) fn remove_old(&self, now: SystemTime) {
        let mut files = self.existing();
        // The newest first.
        pi_protocol::sort_by_key(&mut files, |file| std::cmp::Reverse(file.modified));
        let mut total = 0_u64;
        for file in files {
            total = total.saturating_add(file.size);
            let age = now.duration_since(file.modified).unwrap_or_default();
            if (age > MAX_AGE || total > MAX_TOTAL_BYTES)
                && let Err(error) = fs::remove_file(&file.path)
            {
                tracing::debug!(%error, file = %file.path.display(), "cannot remove command output");
            }
        }
    }

    fn existing(&self) -> Vec<ExistingSpill> {
        let Ok(entries) = fs::read_dir(&self.directory) else {
            return Vec::new();
        };
        entries
            .flatten()
            .filter(|entry| self.is_own_name(&entry.file_name()))
            .filter_map(|entry| {
                // Not followed: in a shared directory another user may create a link.
                let metadata = entry.metadata().ok().filter(fs::Metadata::is_file)?;
                Some(ExistingSpill {
                    path: entry.path(),
                    size: metadata.len(),
                    modified: metadata.modified().ok()?,
                })
            })
            .collect()
    }

    fn is_own_name(&self, name: &OsStr) -> bool {
        name.to_str()
            .and_then(|name| name.strip_prefix(self.prefix)?.strip_prefix('-'))
            .and_then(|name| name.strip_suffix(".log"))
            .is_some_and(|id| id.len() == 16 && id.bytes().all(|byte| byte.is_ascii_hexdigit()))
    }
}

struct ExistingSpill {
    path: PathBuf,
    size: u64,
    modified: SystemTime,
}

/// A file with the output of one command.
#[derive(Debug)]
pub(super) struct SpillFile {
    path: PathBuf,
    file: File,
    size: usize,
    is_truncated: bool,
}

impl SpillFile {
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whether output was dropped.
    pub(super) fn is_truncated(&self) -> bool {
        self.is_truncated
    }

    pub(super) async fn write(&mut self, output: &[u8]) -> io::Result<()> {
        if self.is_truncated {
            return Ok(());
        }
        let fitting = output.get(..MAX_FILE_BYTES - self.size).unwrap_or(output);
        self.file.write_all(fitting).await?;
        self.size += fitting.len();
        if fitting.len() < output.len() {
            self.is_truncated = true;
            self.file.write_all(TRUNCATION_LINE).await?;
        }
        Ok(())
    }

    pub(super) async fn flush(&mut self) -> io::Result<()> {
        self.file.flush().await
    }
}
