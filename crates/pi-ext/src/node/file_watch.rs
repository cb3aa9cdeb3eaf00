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

/// What a file looked like.
type Look = (Option<SystemTime>, u64);

/// What the files of a watcher looked like last.
type Files = RefCell<BTreeMap<PathBuf, Look>>;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Arguments {
    path: PathBuf,
    #[serde(default)]
    recursive: bool,
    #[serde(default = "default_interval")]
    interval: u64,
}

fn default_interval() -> u64 {
    250
}

/// Waits for the next change below a path: `next` gives `[kind, name]`.
pub(super) fn start(realm: &Rc<Realm>, request: Request) -> NativeFuture {
    let arguments: Result<Arguments, NativeError> = request.read();
    let known = request
        .arguments
        .get("watcher")
        .and_then(serde_json::Value::as_u64);
    let weak = Rc::downgrade(realm);
    Box::pin(async move {
        let arguments = arguments?;
        let look = |arguments: &Arguments| look_at(&arguments.path, arguments.recursive);
        match request.operation.as_str() {
            "open" => {
                let files = look(&arguments).map_err(|error| {
                    NativeError::from_io(&error, "watch", arguments.path.to_str())
                })?;
                let realm = weak.upgrade().ok_or_else(|| NativeError::new("stopped"))?;
                let watcher = realm.resources.keep(RefCell::new(files));
                Ok(Reply::Json(json!(watcher)))
            }
            "next" => {
                let watcher = known
                    .and_then(|id| u32::try_from(id).ok())
                    .unwrap_or_default();
                loop {
                    tokio::time::sleep(Duration::from_millis(arguments.interval.max(50))).await;
                    let Some(realm) = weak.upgrade() else {
                        return Ok(Reply::Nothing);
                    };
                    let Some(before) = realm.resources.get::<Files>(watcher) else {
                        return Ok(Reply::Nothing);
                    };
                    let after = look(&arguments).unwrap_or_default();
                    let changes = changes(&arguments.path, &before.borrow(), &after);
                    *before.borrow_mut() = after;
                    if !changes.is_empty() {
                        return Ok(Reply::Json(json!(changes)));
                    }
                }
            }
            _ => Err(request.unknown("watch")),
        }
    })
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
