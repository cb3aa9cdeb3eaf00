//! File watching by polling.
//!
//! Implements both `fs.watch` and `fs.watchFile`. Polling works on every file system and needs no
//! file descriptors.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, SystemTime};

use serde::Deserialize;
use serde_json::json;

use super::{NativeError, NativeFuture, NativeRequest};
use crate::engine::{NativeReply, Realm};

/// Maximum number of files scanned per watcher.
const MAX_FILES: usize = 10_000;

/// Default polling interval in milliseconds.
const DEFAULT_INTERVAL: u64 = 250;

/// Minimum polling interval in milliseconds.
const MIN_INTERVAL: u64 = 50;

/// Modification time and size of a file.
type FileState = (Option<SystemTime>, u64);

/// State of a watcher's files at the last scan.
type WatchedFiles = RefCell<BTreeMap<PathBuf, FileState>>;

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct WatchArguments {
    path: PathBuf,
    recursive: bool,
    interval: Option<u64>,
    watcher: u32,
}

/// Starts an operation. `open` returns a watcher ID; `next` waits for changes below the path and
/// returns a list of `[kind, name]`, or nothing after `close`.
pub(super) fn start(realm: &Rc<Realm>, request: NativeRequest) -> NativeFuture {
    let weak = Rc::downgrade(realm);
    Box::pin(async move {
        let arguments: WatchArguments = request.read()?;
        let realm = || weak.upgrade().ok_or_else(|| NativeError::new("stopped"));
        match request.operation.as_str() {
            "open" => {
                let files = scan(&arguments).await.map_err(|error| {
                    NativeError::from_io(&error, "watch", arguments.path.to_str())
                })?;
                let watcher = realm()?.resources.insert(RefCell::new(files));
                Ok(NativeReply::Json(json!(watcher)))
            }
            "next" => {
                let interval = arguments.interval.unwrap_or(DEFAULT_INTERVAL);
                let interval = Duration::from_millis(interval.max(MIN_INTERVAL));
                loop {
                    tokio::time::sleep(interval).await;
                    let after = scan(&arguments).await.unwrap_or_default();
                    let Some(before) = realm()?.resources.get::<WatchedFiles>(arguments.watcher)
                    else {
                        return Ok(NativeReply::Nothing);
                    };
                    let changes = changes(&arguments.path, &before.borrow(), &after);
                    *before.borrow_mut() = after;
                    if !changes.is_empty() {
                        return Ok(NativeReply::Json(json!(changes)));
                    }
                }
            }
            "close" => {
                realm()?.resources.release(arguments.watcher);
                Ok(NativeReply::Nothing)
            }
            _ => Err(request.unknown("watch")),
        }
    })
}

/// Scans the watched files. A single directory is scanned on this thread; a recursive scan may
/// cover thousands of files and runs on the blocking pool.
async fn scan(arguments: &WatchArguments) -> std::io::Result<BTreeMap<PathBuf, FileState>> {
    if !arguments.recursive {
        return scan_path(&arguments.path, false);
    }
    let path = arguments.path.clone();
    let scanned = tokio::task::spawn_blocking(move || scan_path(&path, true));
    scanned.await.map_err(std::io::Error::other)?
}

fn scan_path(path: &Path, recursive: bool) -> std::io::Result<BTreeMap<PathBuf, FileState>> {
    let mut files = BTreeMap::new();
    let metadata = fs::metadata(path)?;
    if !metadata.is_dir() {
        files.insert(
            path.to_path_buf(),
            (metadata.modified().ok(), metadata.len()),
        );
        return Ok(files);
    }
    let mut directories = vec![path.to_path_buf()];
    while let Some(directory) = directories.pop() {
        let Ok(entries) = fs::read_dir(&directory) else {
            continue;
        };
        for entry in entries.flatten() {
            let Ok(metadata) = entry.metadata() else {
                continue;
            };
            if recursive && metadata.is_dir() {
                directories.push(entry.path());
            }
            files.insert(entry.path(), (metadata.modified().ok(), metadata.len()));
            if files.len() >= MAX_FILES {
                return Ok(files);
            }
        }
    }
    Ok(files)
}

/// Compares two scans. As in Node, added and removed files are `rename` and all others `change`.
fn changes(
    root: &Path,
    before: &BTreeMap<PathBuf, FileState>,
    after: &BTreeMap<PathBuf, FileState>,
) -> Vec<(&'static str, String)> {
    let name = |path: &Path| match path.strip_prefix(root) {
        Ok(inner) if inner.as_os_str().is_empty() => path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned(),
        Ok(inner) => inner.to_string_lossy().into_owned(),
        Err(_) => path.to_string_lossy().into_owned(),
    };
    let removed = before.keys().filter(|path| !after.contains_key(*path));
    let added = after.keys().filter(|path| !before.contains_key(*path));
    let renamed = removed.chain(added).map(|path| ("rename", name(path)));
    let changed = after
        .iter()
        .filter(|(path, state)| before.get(*path).is_some_and(|known| known != *state))
        .map(|(path, _)| ("change", name(path)));
    renamed.chain(changed).collect()
}
