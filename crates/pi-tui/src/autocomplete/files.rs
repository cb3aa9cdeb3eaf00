//! Finds files below a directory by part of their name, respecting `.gitignore`.
//!
//! The walk runs on a dedicated thread that always takes the newest request. A walk stops when its
//! request becomes stale.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use ignore::{DirEntry, WalkBuilder};
use parking_lot::{Condvar, Mutex};

use super::paths::PathRoots;
use super::prefix::PathPrefix;
use super::{CompletionReply, Suggestions, locked};
use crate::components::SelectItem;

/// Maximum number of matches that are ranked, in the directory itself and below it.
const MAX_MATCHES: usize = 100;
const MAX_SHOWN: usize = 20;
/// Larger trees are searched only partially, so that a typo costs seconds at most.
const MAX_VISITED: usize = 500_000;

/// The ignore files a walk reads in each directory.
const IGNORE_FILES: [&str; 3] = [".gitignore", ".ignore", ".git/info/exclude"];
/// Far larger than any handwritten ignore file.
const MAX_IGNORE_FILE_BYTES: u64 = 4 << 20;

/// A request for the worker.
struct SearchJob {
    prefix: String,
    reply: CompletionReply,
}

#[derive(Default)]
struct JobSlot {
    job: Option<SearchJob>,
    closed: bool,
}

/// Finds files on a thread that starts with the first request and stops when this value is dropped.
pub(super) struct FileFinder {
    roots: PathRoots,
    slot: Arc<(Mutex<JobSlot>, Condvar)>,
    worker: Mutex<Option<JoinHandle<()>>>,
}

impl FileFinder {
    pub(super) fn new(roots: PathRoots) -> Self {
        Self {
            roots,
            slot: Arc::default(),
            worker: Mutex::new(None),
        }
    }

    /// Replies later with the files that match the attachment `prefix`.
    pub(super) fn find(&self, prefix: &str, reply: CompletionReply) {
        let (slot, wake) = &*self.slot;
        locked(slot).job = Some(SearchJob {
            prefix: prefix.to_owned(),
            reply,
        });
        wake.notify_one();
        let mut worker = locked(&self.worker);
        if worker.is_none() {
            let slot = Arc::clone(&self.slot);
            let roots = self.roots.clone();
            let started = thread::Builder::new()
                .name("pi-tui-files".to_owned())
                .spawn(move || run_worker(&slot, &roots));
            match started {
                Ok(handle) => *worker = Some(handle),
                // Dropping the request with the slot sends empty suggestions.
                Err(error) => tracing::warn!(%error, "cannot start file completion thread"),
            }
        }
    }
}

impl Drop for FileFinder {
    fn drop(&mut self) {
        let (slot, wake) = &*self.slot;
        locked(slot).closed = true;
        wake.notify_one();
        // The walk notices at its next entry. Joining the thread would block the owner.
    }
}

fn run_worker(slot: &(Mutex<JobSlot>, Condvar), roots: &PathRoots) {
    let (mutex, wake) = slot;
    loop {
        let mut state = locked(mutex);
        while state.job.is_none() && !state.closed {
            wake.wait(&mut state);
        }
        let Some(job) = state.job.take().filter(|_| !state.closed) else {
            return;
        };
        drop(state);
        let stop = || job.reply.is_stale() || locked(mutex).closed;
        let items = find_files(roots, &job.prefix, &stop);
        job.reply.send(Suggestions {
            items,
            prefix: job.prefix,
        });
    }
}

struct FileMatch {
    path: String,
    is_directory: bool,
    score: u32,
}

/// Returns the files that match the attachment `prefix`, best first.
pub(super) fn find_files(
    roots: &PathRoots,
    prefix: &str,
    stop: &dyn Fn() -> bool,
) -> Vec<SelectItem> {
    let prefix = PathPrefix::parse(prefix);
    let (base_prefix, base, query) = split_scope(roots, prefix.path);
    let query = FileQuery::new(query);
    let mut matches = walk(&base, &query, Some(1), stop);
    for file in walk(&base, &query, None, stop) {
        if matches.iter().all(|known| known.path != file.path) {
            matches.push(file);
        }
    }
    matches.retain(|file| file.score > 0);
    matches.sort_by(|a, b| {
        let depth = |file: &FileMatch| file.path.matches('/').count();
        b.score
            .cmp(&a.score)
            .then_with(|| depth(a).cmp(&depth(b)))
            .then_with(|| a.path.len().cmp(&b.path.len()))
            .then_with(|| a.path.cmp(&b.path))
    });
    matches.truncate(MAX_SHOWN);
    matches
        .into_iter()
        .map(|file| {
            let path = format!("{base_prefix}{}", file.path);
            let slash = if file.is_directory { "/" } else { "" };
            let name = file.path.rsplit('/').next().unwrap_or_default();
            SelectItem {
                value: prefix.decorate(&format!("{path}{slash}")),
                label: format!("{name}{slash}"),
                description: Some(path),
            }
        })
        .collect()
}

/// Splits a typed path into its directory, if that exists, and the name to search for there.
fn split_scope<'a>(roots: &PathRoots, typed: &'a str) -> (&'a str, PathBuf, &'a str) {
    if let Some(slash) = typed.rfind('/')
        && let Some((directory, query)) = typed.split_at_checked(slash + 1)
    {
        let base = roots.resolve(directory);
        if base.is_dir() {
            return (directory, base, query);
        }
    }
    ("", roots.base.clone(), typed)
}

/// A search term. Case-sensitive only if it contains uppercase letters.
struct FileQuery {
    text: String,
    lower: String,
    by_path: bool,
}

impl FileQuery {
    fn new(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            lower: text.to_lowercase(),
            by_path: text.contains('/'),
        }
    }

    fn matches(&self, path: &str) -> bool {
        let searched = if self.by_path {
            path
        } else {
            path.rsplit('/').next().unwrap_or(path)
        };
        if self.text == self.lower {
            searched.to_lowercase().contains(&self.lower)
        } else {
            searched.contains(&self.text)
        }
    }

    fn score(&self, path: &str, is_directory: bool) -> u32 {
        if self.lower.is_empty() {
            return 1;
        }
        let path = path.to_lowercase();
        let name = path.rsplit('/').next().unwrap_or(&path);
        let score = if name == self.lower {
            100
        } else if name.starts_with(&self.lower) {
            80
        } else if name.contains(&self.lower) {
            50
        } else if path.contains(&self.lower) {
            30
        } else {
            return 0;
        };
        score + if is_directory { 10 } else { 0 }
    }
}

fn walk(
    base: &Path,
    query: &FileQuery,
    depth: Option<usize>,
    stop: &dyn Fn() -> bool,
) -> Vec<FileMatch> {
    let mut matches = Vec::new();
    let mut walk = WalkBuilder::new(base);
    let real_base = base.canonicalize().unwrap_or_else(|_| base.to_owned());
    if real_base.ancestors().any(has_unsafe_ignore_file) {
        walk.standard_filters(false);
    }
    walk.hidden(false)
        .follow_links(true)
        .max_depth(depth)
        .filter_entry(|entry| {
            let is_directory = entry.file_type().is_some_and(|kind| kind.is_dir());
            entry.file_name() != ".git" && !(is_directory && has_unsafe_ignore_file(entry.path()))
        });
    for (visited, entry) in walk.build().enumerate() {
        if matches.len() >= MAX_MATCHES || visited >= MAX_VISITED || stop() {
            break;
        }
        // Skip broken links and unreadable directories.
        let Ok(entry) = entry else { continue };
        let Some((path, is_directory)) = relative_path(base, &entry) else {
            continue;
        };
        if query.matches(&path) {
            matches.push(FileMatch {
                score: query.score(&path, is_directory),
                path,
                is_directory,
            });
        }
    }
    matches
}

/// Whether an ignore file in this directory is unsafe to read: a repository may contain a link to
/// an endless device instead of a regular file.
fn has_unsafe_ignore_file(directory: &Path) -> bool {
    IGNORE_FILES.iter().any(|name| {
        let metadata = directory.join(name).metadata();
        metadata.is_ok_and(|it| !it.is_dir() && (!it.is_file() || it.len() > MAX_IGNORE_FILE_BYTES))
    })
}

fn relative_path(base: &Path, entry: &DirEntry) -> Option<(String, bool)> {
    let path = entry.path().strip_prefix(base).ok()?.to_str()?;
    let shown = !path.is_empty() && !path.contains(char::is_control);
    let kind = entry.file_type()?;
    shown.then(|| (path.replace('\\', "/"), kind.is_dir()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use std::fs;
    use std::io::Write;

    fn tree() -> (tempfile::TempDir, PathRoots) {
        let directory = tempfile::tempdir().unwrap();
        let base = directory.path();
        for path in [
            "src/main.rs",
            "src/deep/domain.rs",
            "target/main.o",
            ".git/main",
            "my dir/x",
        ] {
            fs::create_dir_all(base.join(path).parent().unwrap()).unwrap();
            fs::File::create(base.join(path)).unwrap();
        }
        fs::File::create(base.join("main")).unwrap();
        let mut ignored = fs::File::create(base.join(".gitignore")).unwrap();
        ignored.write_all(b"target/\n").unwrap();
        let roots = PathRoots {
            base: base.to_owned(),
            home: None,
        };
        (directory, roots)
    }

    fn values(roots: &PathRoots, prefix: &str) -> Vec<String> {
        find_files(roots, prefix, &|| false)
            .into_iter()
            .map(|item| item.value)
            .collect()
    }

    #[test]
    fn best_match_comes_first_and_ignored_files_are_skipped() {
        let (_directory, roots) = tree();
        assert_eq!(
            values(&roots, "@main"),
            ["@main", "@src/main.rs", "@src/deep/domain.rs"]
        );
        assert_eq!(values(&roots, "@src/dom"), ["@src/deep/domain.rs"]);
        assert_eq!(
            values(&roots, "@src/"),
            ["@src/deep/", "@src/main.rs", "@src/deep/domain.rs"]
        );
        assert_eq!(values(&roots, "@my"), ["@\"my dir/\""]);
        assert_eq!(values(&roots, "@MAIN"), [""; 0]);
    }

    #[test]
    fn a_stale_walk_stops() {
        let (_directory, roots) = tree();
        assert!(find_files(&roots, "@", &|| true).is_empty());
    }

    #[cfg(unix)]
    #[test]
    fn endless_ignore_files_are_not_read() {
        let (directory, roots) = tree();
        let endless = |path: &str| {
            std::os::unix::fs::symlink("/dev/zero", directory.path().join(path)).unwrap();
        };
        endless("src/.gitignore");
        assert_eq!(values(&roots, "@main"), ["@main"]);
        fs::remove_file(directory.path().join(".gitignore")).unwrap();
        endless(".gitignore");
        assert_eq!(values(&roots, "@main"), ["@main", "@target/main.o"]);
    }
}
