//! The on-disk cache of prepared sources.
//!
//! An entry is named by the hash of the source, of what the preparation depends on, and of our
//! version; it carries a checksum. Whatever is wrong with an entry or its folder, the file is
//! prepared again: the cache can only save time.
//!
//! Whoever writes an extension adds an entry with every save, so the oldest ones go when there is too much.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};

use sha2::{Digest as _, Sha256};

use crate::typescript::{PreparedSource, SourceFormat, SyntaxError, prepare};

/// Raised when the preparation changes, so that entries of older programs are not read.
const FORMAT: &str = "2";

/// How large the folder may grow before the oldest half of it goes; far more than any set of extensions needs.
const MOST_BYTES: u64 = 256 << 20;

/// Tells files of one process apart while they are written.
static TEMPORARY: AtomicU64 = AtomicU64::new(0);

/// The first entry that a process writes pays for a look at the others.
static LOOK_AT_SIZE: Once = Once::new();

/// Prepares sources, remembering the results in a folder.
#[derive(Debug, Clone, Default)]
pub struct SourceCache {
    folder: Option<PathBuf>,
}

impl SourceCache {
    /// Creates a cache in a folder, which is made when the first entry is written.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: Some(folder.into()),
        }
    }

    /// Creates a cache that remembers nothing.
    pub fn disabled() -> Self {
        Self::default()
    }

    /// Returns the prepared source, from the folder if it is there.
    pub fn prepare(
        &self,
        path: &Path,
        source: &str,
        preferred: SourceFormat,
    ) -> Result<PreparedSource, SyntaxError> {
        let Some(folder) = &self.folder else {
            return prepare(path, source, preferred);
        };
        let entry = folder.join(entry_name(path, source, preferred));
        if let Some(known) = read(&entry) {
            return Ok(known);
        }
        let prepared = prepare(path, source, preferred)?;
        if let Err(error) = write(&entry, &prepared) {
            tracing::debug!(path = %entry.display(), %error, "a prepared extension was not cached");
        }
        LOOK_AT_SIZE.call_once(|| remove_oldest(folder, MOST_BYTES));
        Ok(prepared)
    }
}

fn entry_name(path: &Path, source: &str, preferred: SourceFormat) -> String {
    let extension = path.extension().unwrap_or_default().to_string_lossy();
    let mut hash = Sha256::new();
    for part in [
        FORMAT,
        env!("CARGO_PKG_VERSION"),
        extension.as_ref(),
        match preferred {
            SourceFormat::Module => "module",
            SourceFormat::CommonJs => "commonjs",
        },
        source,
    ] {
        hash.update(part.len().to_le_bytes());
        hash.update(part.as_bytes());
    }
    format!("{}.json", hex(&hash.finalize()))
}

fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            // Writing to a string cannot fail.
            write!(text, "{byte:02x}").unwrap_or_default();
            text
        })
}

fn read(entry: &Path) -> Option<PreparedSource> {
    let text = std::fs::read_to_string(entry).ok()?;
    let (checksum, body) = text.split_once('\n')?;
    (checksum == hex(&Sha256::digest(body))).then_some(())?;
    serde_json::from_str(body).ok()
}

fn write(entry: &Path, prepared: &PreparedSource) -> std::io::Result<()> {
    let folder = entry.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let body = serde_json::to_string(prepared)?;
    let temporary = folder.join(format!(
        ".{}-{}.tmp",
        std::process::id(),
        TEMPORARY.fetch_add(1, Ordering::Relaxed)
    ));
    let written = std::fs::File::create(&temporary).and_then(|mut file| {
        writeln!(file, "{}", hex(&Sha256::digest(&body)))?;
        file.write_all(body.as_bytes())
    });
    let renamed = written.and_then(|()| std::fs::rename(&temporary, entry));
    if renamed.is_err() {
        // Best effort: what remains is a dot file nobody reads.
        drop(std::fs::remove_file(&temporary));
    }
    renamed
}

/// Removes the oldest files of a folder that holds more than `most` bytes, until it holds half of that. What cannot
/// be looked at or removed stays.
fn remove_oldest(folder: &Path, most: u64) {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<_> = entries
        .filter_map(|entry| {
            let metadata = entry.metadata().ok()?;
            let written = metadata.modified().ok()?;
            Some((written, metadata.len(), entry.path()))
        })
        .collect();
    let mut total: u64 = files.iter().map(|(_, size, _)| size).sum();
    if total <= most {
        return;
    }
    files.sort_unstable();
    for (_, size, file) in files {
        if total <= most / 2 {
            break;
        }
        if std::fs::remove_file(file).is_ok() {
            total -= size;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn the_oldest_entries_go_when_there_is_too_much() {
        let folder = tempfile::tempdir().unwrap();
        let now = SystemTime::now();
        for age in 0..10 {
            let mut file =
                std::fs::File::create(folder.path().join(format!("{age}.json"))).unwrap();
            file.write_all(&[b'x'; 100]).unwrap();
            file.set_modified(now - Duration::from_secs(age)).unwrap();
        }
        let left = || {
            let entries = std::fs::read_dir(folder.path()).unwrap();
            let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
            names.sort();
            names
        };
        remove_oldest(folder.path(), 1000);
        assert_eq!(left().len(), 10);
        remove_oldest(folder.path(), 900);
        assert_eq!(left(), ["0.json", "1.json", "2.json", "3.json"]);
        remove_oldest(&folder.path().join("nowhere"), 0);
    }

    fn only_entry(folder: &Path) -> PathBuf {
        let mut entries = std::fs::read_dir(folder).unwrap();
        let entry = entries.next().unwrap().unwrap().path();
        assert!(entries.next().is_none());
        entry
    }

    #[test]
    fn a_second_preparation_reads_the_entry() {
        let folder = tempfile::tempdir().unwrap();
        let cache = SourceCache::new(folder.path().join("sub"));
        let path = Path::new("/x/a.ts");
        let first = cache
            .prepare(path, "export const a: number = 1;", SourceFormat::Module)
            .unwrap();
        let entry = only_entry(&folder.path().join("sub"));
        let changed = PreparedSource {
            code: "changed".to_owned(),
            ..first.clone()
        };
        write(&entry, &changed).unwrap();
        let second = cache
            .prepare(path, "export const a: number = 1;", SourceFormat::Module)
            .unwrap();
        assert_eq!(second.code, "changed");
        assert_ne!(first.code, second.code);
    }

    #[test]
    fn a_corrupt_entry_is_prepared_again() {
        let folder = tempfile::tempdir().unwrap();
        let cache = SourceCache::new(folder.path());
        let path = Path::new("/x/a.ts");
        let source = "let a: string = 'x'; export default a;";
        let first = cache.prepare(path, source, SourceFormat::Module).unwrap();
        let entry = only_entry(folder.path());
        for damage in ["", "zzz", "deadbeef\n{}"] {
            std::fs::File::create(&entry)
                .unwrap()
                .write_all(damage.as_bytes())
                .unwrap();
            assert_eq!(
                cache.prepare(path, source, SourceFormat::Module).unwrap(),
                first
            );
        }
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_no_error() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::File::create(&file).unwrap();
        let cache = SourceCache::new(file.join("below"));
        assert!(
            cache
                .prepare(Path::new("a.ts"), "1", SourceFormat::Module)
                .is_ok()
        );
    }
}
