//! A cache of what lists show, for a process that lists sessions again and again. A file is read again once its size, its
//! modification time or the file itself has changed.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::{Mutex, MutexGuard};
use pi_protocol::SessionInfo;

use super::info::{MessageText, read_info};

/// Memory for texts and paths. Beyond it, files are read each time.
const MAX_BYTES: usize = 16 * 1024 * 1024;

/// Approximate size of a cached file without its texts.
const ENTRY_BYTES: usize = 512;

/// What lists show of session files, by path. Reading blocks on disk access.
#[derive(Debug)]
pub struct TitleCache {
    cached: Mutex<CachedTitles>,
    max_bytes: usize,
}

#[derive(Debug, Default)]
struct CachedTitles {
    files: HashMap<PathBuf, CachedTitle>,
    bytes: usize,
    /// The number of the current listing.
    listing: u64,
}

#[derive(Debug)]
struct CachedTitle {
    stamp: TitleStamp,
    /// `None` if the file is not a session.
    info: Option<Arc<SessionInfo>>,
    bytes: usize,
    /// The last listing that had it.
    listing: u64,
}

/// The state of a file when it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct TitleStamp {
    length: u64,
    modified: Option<SystemTime>,
    #[cfg(unix)]
    device_and_inode: (u64, u64),
}

impl TitleStamp {
    fn of(path: &Path) -> Option<Self> {
        let metadata = fs::metadata(path).ok()?;
        Some(Self {
            length: metadata.len(),
            modified: metadata.modified().ok(),
            #[cfg(unix)]
            device_and_inode: {
                use std::os::unix::fs::MetadataExt as _;
                (metadata.dev(), metadata.ino())
            },
        })
    }
}

impl Default for TitleCache {
    fn default() -> Self {
        Self::with_max_bytes(MAX_BYTES)
    }
}

impl TitleCache {
    fn with_max_bytes(max_bytes: usize) -> Self {
        Self {
            cached: Mutex::default(),
            max_bytes,
        }
    }

    fn cached(&self) -> MutexGuard<'_, CachedTitles> {
        self.cached.lock()
    }

    /// Marks what is read from now on as part of a new listing.
    pub(super) fn start_listing(&self) {
        self.cached().listing += 1;
    }

    /// Returns what a list shows of a file; `None` if it is not a session.
    pub(super) fn read(&self, path: &Path) -> Option<Arc<SessionInfo>> {
        // Read first: a change in between makes the entry outdated, not wrong.
        let stamp = TitleStamp::of(path)?;
        let mut cached = self.cached();
        let listing = cached.listing;
        if let Some(title) = cached.files.get_mut(path)
            && title.stamp == stamp
        {
            title.listing = listing;
            return title.info.clone();
        }
        drop(cached);
        let info = read_info(path, MessageText::Skip).map(Arc::new);
        self.put(path, stamp, info.clone());
        info
    }

    fn put(&self, path: &Path, stamp: TitleStamp, info: Option<Arc<SessionInfo>>) {
        let bytes =
            ENTRY_BYTES + 2 * path.as_os_str().len() + info.as_deref().map_or(0, text_bytes);
        let mut cached = self.cached();
        cached.remove(path);
        if cached.bytes + bytes > self.max_bytes {
            cached.drop_unlisted();
        }
        if cached.bytes + bytes > self.max_bytes {
            return;
        }
        let listing = cached.listing;
        cached.bytes += bytes;
        let title = CachedTitle {
            stamp,
            info,
            bytes,
            listing,
        };
        cached.files.insert(path.to_owned(), title);
    }
}

impl CachedTitles {
    fn remove(&mut self, path: &Path) {
        if let Some(removed) = self.files.remove(path) {
            self.bytes -= removed.bytes;
        }
    }

    /// Drops the files that were not in this listing or the one before it: most no longer exist.
    fn drop_unlisted(&mut self) {
        let listing = self.listing;
        self.files.retain(|_, title| title.listing + 1 >= listing);
        self.bytes = self.files.values().map(|title| title.bytes).sum();
    }
}

fn text_bytes(info: &SessionInfo) -> usize {
    let texts = [&info.name, &info.first_message, &info.parent_session];
    let optional: usize = texts.into_iter().flatten().map(String::len).sum();
    optional + info.id.len() + info.cwd.len() + info.text.len()
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use pretty_assertions::assert_eq;

    use super::*;

    const HEADER: &str = r#"{"type":"session","version":3,"id":"one","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/p"}"#;

    fn named(name: &str) -> String {
        format!(
            r#"{{"type":"session_info","id":"{name}","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","name":"{name}"}}"#
        )
    }

    /// Writes a session that was given these names.
    fn write(path: &Path, names: &[&str]) {
        let mut file = fs::File::create(path).unwrap();
        writeln!(file, "{HEADER}").unwrap();
        for name in names {
            writeln!(file, "{}", named(name)).unwrap();
        }
    }

    fn name(cache: &TitleCache, path: &Path) -> Option<String> {
        cache.start_listing();
        cache.read(path)?.name.clone()
    }

    #[test]
    fn a_file_is_read_again_after_a_change() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("one.jsonl");
        let cache = TitleCache::default();
        assert_eq!(cache.read(&path), None);
        write(&path, &["a"]);
        let first = cache.read(&path).unwrap();
        assert!(Arc::ptr_eq(&cache.read(&path).unwrap(), &first));

        let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
        writeln!(file, "{}", named("b")).unwrap();
        assert_eq!(name(&cache, &path).as_deref(), Some("b"));

        // Same length and time, but another file.
        let modified = fs::metadata(&path).unwrap().modified().unwrap();
        let other = directory.path().join("other");
        write(&other, &["a", "c"]);
        let replacement = fs::File::options().write(true).open(&other).unwrap();
        replacement.set_modified(modified).unwrap();
        fs::rename(&other, &path).unwrap();
        if cfg!(unix) {
            assert_eq!(name(&cache, &path).as_deref(), Some("c"));
        }
        fs::remove_file(&path).unwrap();
        assert_eq!(cache.read(&path), None);
    }

    #[test]
    fn memory_is_bounded() {
        let directory = tempfile::tempdir().unwrap();
        let paths: Vec<PathBuf> = (0..10)
            .map(|number| directory.path().join(format!("{number}.jsonl")))
            .collect();
        for path in &paths {
            write(path, &["a"]);
        }
        let cache = TitleCache::with_max_bytes(5 * (ENTRY_BYTES + 2 * 1024));
        for path in paths.iter().chain(&paths) {
            assert_eq!(name(&cache, path).as_deref(), Some("a"));
            let cached = cache.cached();
            assert!(cached.bytes <= cache.max_bytes);
            let sum: usize = cached.files.values().map(|title| title.bytes).sum();
            assert_eq!(cached.bytes, sum);
            assert!(!cached.files.is_empty());
        }
    }
}
