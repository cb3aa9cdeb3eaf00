//! On-disk cache of prepared sources.
//!
//! Entries are named after a hash of the source, the preparation inputs and the program version,
//! and carry a checksum. If an entry or the directory is unusable, the source is prepared again:
//! cache failures are never errors.
//!
//! Every edit of an extension adds an entry, so the oldest entries are removed when the directory
//! grows too large.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Once;

use pi_fs::NewFileMode;
use pi_fs::atomic_file::{Durability, FileReplacement};
use sha2::{Digest as _, Sha256};

use crate::typescript::{PreparedSource, SourceFormat, SyntaxError, prepare};

/// Increment when the preparation changes, to invalidate entries of older versions.
const FORMAT: &str = "4";

/// Directory size at which the oldest entries are removed, down to half of it. Far more than any
/// set of extensions needs.
const MAX_BYTES: u64 = 256 << 20;

/// The directory size is checked once per process, after the first write.
static SIZE_CHECK: Once = Once::new();

/// Prepares sources and caches the results in a directory.
#[derive(Debug, Clone, Default)]
pub struct SourceCache {
    directory: Option<PathBuf>,
}

impl SourceCache {
    /// Creates a cache. The directory is created when the first entry is written.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: Some(directory.into()),
        }
    }

    /// Creates a cache that never stores anything.
    pub fn disabled() -> Self {
        Self::default()
    }

    /// Returns the prepared source, from the cache if possible.
    pub fn prepare(
        &self,
        path: &Path,
        source: &str,
        preferred: SourceFormat,
    ) -> Result<PreparedSource, SyntaxError> {
        let source = with_standalone_process(source);
        // The engine reads sources as C strings. In string literals, both forms are the same.
        let source = &*if source.contains('\0') {
            Cow::Owned(source.replace('\0', "\\x00"))
        } else {
            source
        };
        let Some(directory) = &self.directory else {
            return prepare(path, source, preferred);
        };
        let entry = directory.join(entry_name(path, source, preferred));
        if let Some(known) = read(&entry) {
            return Ok(known);
        }
        let prepared = prepare(path, source, preferred)?;
        if let Err(error) = write(&entry, &prepared) {
            tracing::debug!(path = %entry.display(), %error, "cannot cache prepared source");
        }
        SIZE_CHECK.call_once(|| remove_oldest(directory, MAX_BYTES));
        Ok(prepared)
    }
}

/// Directory of the TypeScript pi's standalone build. Modules that look for it want to start pi.
const STANDALONE_DIR: &str = "/$bunfs/";

/// Gives a module that looks for a standalone build of pi a `process` that identifies this program as one.
fn with_standalone_process(source: &str) -> Cow<'_, str> {
    let has_process = source.contains("import process") || source.contains("import * as process");
    if !source.contains(STANDALONE_DIR) || has_process || source.starts_with("#!") {
        return Cow::Borrowed(source);
    }
    let process = "const process = globalThis[Symbol.for('pi.standalone')];";
    Cow::Owned(format!("{process} {source}"))
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
    let directory = entry.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(directory)?;
    let body = serde_json::to_string(prepared)?;
    let cached = FileReplacement {
        durability: Durability::Cache,
        ..FileReplacement::durable(NewFileMode::Default)
    };
    cached.run(
        entry,
        |file| {
            writeln!(file, "{}", hex(&Sha256::digest(&body)))?;
            file.write_all(body.as_bytes())
        },
        |_| Ok(()),
    )
}

/// If the directory exceeds `max_bytes`, removes its oldest files until half of that is left.
/// Files that cannot be inspected or removed are skipped.
fn remove_oldest(directory: &Path, max_bytes: u64) {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut files: Vec<_> = entries
        .filter_map(|entry| {
            let metadata = entry.metadata().ok()?;
            let written = metadata.modified().ok()?;
            Some((written, metadata.len(), entry.path()))
        })
        .collect();
    let mut total: u64 = files.iter().map(|(_, size, _)| size).sum();
    if total <= max_bytes {
        return;
    }
    files.sort_unstable();
    for (_, size, file) in files {
        if total <= max_bytes / 2 {
            break;
        }
        if std::fs::remove_file(file).is_ok() {
            total -= size;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::time::{Duration, SystemTime};

    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn the_oldest_entries_are_removed_when_the_cache_is_too_large() {
        let directory = tempfile::tempdir().unwrap();
        let now = SystemTime::now();
        for age in 0..10 {
            let mut file =
                std::fs::File::create(directory.path().join(format!("{age}.json"))).unwrap();
            file.write_all(&[b'x'; 100]).unwrap();
            file.set_modified(now - Duration::from_secs(age)).unwrap();
        }
        let remaining = || {
            let entries = std::fs::read_dir(directory.path()).unwrap();
            let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
            names.sort();
            names
        };
        remove_oldest(directory.path(), 1000);
        assert_eq!(remaining().len(), 10);
        remove_oldest(directory.path(), 900);
        assert_eq!(remaining(), ["0.json", "1.json", "2.json", "3.json"]);
        remove_oldest(&directory.path().join("nowhere"), 0);
    }

    fn only_entry(directory: &Path) -> PathBuf {
        let mut entries = std::fs::read_dir(directory).unwrap();
        let entry = entries.next().unwrap().unwrap().path();
        assert!(entries.next().is_none());
        entry
    }

    #[test]
    fn a_second_preparation_uses_the_cache() {
        let directory = tempfile::tempdir().unwrap();
        let cache = SourceCache::new(directory.path().join("sub"));
        let path = Path::new("/x/a.ts");
        let first = cache
            .prepare(path, "export const a: number = 1;", SourceFormat::Module)
            .unwrap();
        let entry = only_entry(&directory.path().join("sub"));
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
        let directory = tempfile::tempdir().unwrap();
        let cache = SourceCache::new(directory.path());
        let path = Path::new("/x/a.ts");
        let source = "let a: string = 'x'; export default a;";
        let first = cache.prepare(path, source, SourceFormat::Module).unwrap();
        let entry = only_entry(directory.path());
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
    fn nul_characters_of_literals_are_escaped() {
        let cache = SourceCache::disabled();
        let source = "export default `a\0${1}` + '\0';";
        let prepared = cache.prepare(Path::new("a.js"), source, SourceFormat::Module);
        let code = prepared.unwrap().code;
        assert!(!code.contains('\0'), "{code:?}");
        assert_eq!(code.matches("\\x00").count(), 2, "{code}");
    }

    #[test]
    fn an_uncreatable_directory_is_not_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        std::fs::File::create(&file).unwrap();
        let cache = SourceCache::new(file.join("below"));
        assert!(
            cache
                .prepare(Path::new("a.ts"), "1", SourceFormat::Module)
                .is_ok()
        );
    }
}
