//! Watching files for change, by looking.
//!
//! `fs.watch` and `fs.watchFile` both end here: the files are looked at again and again, which
//! works on every file system and needs no descriptors.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, SystemTime};

use serde::Deserialize;
use serde_json::json;

use super::{NativeError, NativeFuture, Request};
use crate::engine::{Realm, Reply};

/// Most files of a tree that are looked at.
const MOST_FILES: usize = 10_000;

/// Milliseconds between two looks, where nobody says otherwise.
const USUAL_INTERVAL: u64 = 250;

/// Milliseconds between two looks, whoever says otherwise.
const SHORTEST_INTERVAL: u64 = 50;

/// What a file looked like.
type Look = (Option<SystemTime>, u64);

/// What the files of a watcher looked like last.
type Files = RefCell<BTreeMap<PathBuf, Look>>;

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Arguments {
    path: PathBuf,
    recursive: bool,
    interval: Option<u64>,
    watcher: u32,
}

/// Begins an operation: `open` gives a number, `next` waits for the next changes below its path and gives
/// `[kind, name]` each, and ends with nothing after `close`.
pub(super) fn start(realm: &Rc<Realm>, request: Request) -> NativeFuture {
    let weak = Rc::downgrade(realm);
    Box::pin(async move {
        let arguments: Arguments = request.read()?;
        let realm = || weak.upgrade().ok_or_else(|| NativeError::new("stopped"));
        match request.operation.as_str() {
            "open" => {
                let files = look(&arguments).await.map_err(|error| {
                    NativeError::from_io(&error, "watch", arguments.path.to_str())
                })?;
                let watcher = realm()?.resources.keep(RefCell::new(files));
                Ok(Reply::Json(json!(watcher)))
            }
            "next" => {
                let interval = arguments.interval.unwrap_or(USUAL_INTERVAL);
                let interval = Duration::from_millis(interval.max(SHORTEST_INTERVAL));
                loop {
                    tokio::time::sleep(interval).await;
                    let after = look(&arguments).await.unwrap_or_default();
                    let Some(before) = realm()?.resources.get::<Files>(arguments.watcher) else {
                        return Ok(Reply::Nothing);
                    };
                    let changes = changes(&arguments.path, &before.borrow(), &after);
                    *before.borrow_mut() = after;
                    if !changes.is_empty() {
                        return Ok(Reply::Json(json!(changes)));
                    }
                }
            }
            "close" => {
                realm()?.resources.release(arguments.watcher);
                Ok(Reply::Nothing)
            }
            _ => Err(request.unknown("watch")),
        }
    })
}

/// Looks at the files: those of one folder at once, those of a tree off the thread of JavaScript, for there may
/// be thousands. A thread for every watch, with memory of its own, would be more than most of them are worth.
async fn look(arguments: &Arguments) -> std::io::Result<BTreeMap<PathBuf, Look>> {
    if !arguments.recursive {
        return look_at(&arguments.path, false);
    }
    let path = arguments.path.clone();
    let looked = tokio::task::spawn_blocking(move || look_at(&path, true));
    looked.await.map_err(std::io::Error::other)?
}

fn look_at(path: &Path, recursive: bool) -> std::io::Result<BTreeMap<PathBuf, Look>> {
    let mut files = BTreeMap::new();
    let metadata = fs::metadata(path)?;
    if !metadata.is_dir() {
        files.insert(
            path.to_path_buf(),
            (metadata.modified().ok(), metadata.len()),
        );
        return Ok(files);
    }
    let mut folders = vec![path.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else {
            continue;
        };
        for entry in entries.flatten() {
            let Ok(metadata) = entry.metadata() else {
                continue;
            };
            if recursive && metadata.is_dir() {
                folders.push(entry.path());
            }
            files.insert(entry.path(), (metadata.modified().ok(), metadata.len()));
            if files.len() >= MOST_FILES {
                return Ok(files);
            }
        }
    }
    Ok(files)
}

/// Compares two looks: Node says `rename` for what came or went and `change` for the rest.
fn changes(
    root: &Path,
    before: &BTreeMap<PathBuf, Look>,
    after: &BTreeMap<PathBuf, Look>,
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
    let gone = before.keys().filter(|path| !after.contains_key(*path));
    let came = after.keys().filter(|path| !before.contains_key(*path));
    let renamed = gone.chain(came).map(|path| ("rename", name(path)));
    let changed = after
        .iter()
        .filter(|(path, look)| before.get(*path).is_some_and(|known| known != *look))
        .map(|(path, _)| ("change", name(path)));
    renamed.chain(changed).collect()
}
