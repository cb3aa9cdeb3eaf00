//! Finding files by a part of their name, below a directory, as `.gitignore` allows.
//!
//! The walk runs on one thread of its own that always takes the newest question; a walk whose
//! question is stale stops.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use ignore::{DirEntry, WalkBuilder};

use super::paths::Places;
use super::prefix::PathPrefix;
use super::{CompletionReply, Suggestions, locked};
use crate::components::SelectItem;

/// Matches that are ranked, in the directory itself and below it.
const MAX_MATCHES: usize = 100;
const MAX_SHOWN: usize = 20;
/// A tree beyond this size is searched in part, so that a mistyped letter costs seconds at most.
const MAX_VISITED: usize = 500_000;

/// The ignore files that a walk reads in each directory.
const RULES: [&str; 3] = [".gitignore", ".ignore", ".git/info/exclude"];
/// Far more than anybody writes by hand.
const LARGEST_RULES: u64 = 4 << 20;

/// A question for the walk.
struct Job {
    prefix: String,
    reply: CompletionReply,
}

#[derive(Default)]
struct Inbox {
    job: Option<Job>,
    closed: bool,
}

/// Finds files on a thread that starts with the first question and ends with this value.
pub(super) struct FileFinder {
    places: Places,
    inbox: Arc<(Mutex<Inbox>, Condvar)>,
    worker: Mutex<Option<JoinHandle<()>>>,
}

impl FileFinder {
    pub(super) fn new(places: Places) -> Self {
        Self {
            places,
            inbox: Arc::default(),
            worker: Mutex::new(None),
        }
    }

    /// Answers later what fits the attachment `prefix`.
    pub(super) fn find(&self, prefix: &str, reply: CompletionReply) {
        let (inbox, wake) = &*self.inbox;
        locked(inbox).job = Some(Job {
            prefix: prefix.to_owned(),
            reply,
        });
        wake.notify_one();
        let mut worker = locked(&self.worker);
        if worker.is_none() {
            let inbox = Arc::clone(&self.inbox);
            let places = self.places.clone();
            let started = thread::Builder::new()
                .name("pi-tui-files".to_owned())
                .spawn(move || work(&inbox, &places));
            match started {
                Ok(handle) => *worker = Some(handle),
                // The question is dropped with the inbox, which answers it with nothing.
                Err(error) => tracing::warn!(%error, "no thread for file completion"),
            }
        }
    }
}

impl Drop for FileFinder {
    fn drop(&mut self) {
        let (inbox, wake) = &*self.inbox;
        locked(inbox).closed = true;
        wake.notify_one();
        // The walk notices at its next entry; waiting for it would hold up the owner.
    }
}

fn work(inbox: &(Mutex<Inbox>, Condvar), places: &Places) {
    let (mutex, wake) = inbox;
    loop {
        let mut state = locked(mutex);
        while state.job.is_none() && !state.closed {
            state = wake.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let Some(job) = state.job.take().filter(|_| !state.closed) else {
            return;
        };
        drop(state);
        let stop = || job.reply.is_stale() || locked(mutex).closed;
        let items = find_files(places, &job.prefix, &stop);
        job.reply.send(Suggestions {
            items,
            prefix: job.prefix,
        });
    }
}

/// A file or directory that matched.
struct Match {
    path: String,
    is_directory: bool,
    score: u32,
}

/// Returns what fits the attachment `prefix`, best first.
pub(super) fn find_files(
    places: &Places,
    prefix: &str,
    stop: &dyn Fn() -> bool,
) -> Vec<SelectItem> {
    let prefix = PathPrefix::parse(prefix);
    let (shown_base, base, query) = scope(places, prefix.path);
    let query = Query::new(query);
    let mut matches = walk(&base, &query, Some(1), stop);
    for found in walk(&base, &query, None, stop) {
        if matches.iter().all(|known| known.path != found.path) {
            matches.push(found);
        }
    }
    matches.retain(|found| found.score > 0);
    matches.sort_by(|a, b| {
        let depth = |found: &Match| found.path.matches('/').count();
        b.score
            .cmp(&a.score)
            .then_with(|| depth(a).cmp(&depth(b)))
            .then_with(|| a.path.len().cmp(&b.path.len()))
            .then_with(|| a.path.cmp(&b.path))
    });
    matches.truncate(MAX_SHOWN);
    matches
        .into_iter()
        .map(|found| {
            let path = format!("{shown_base}{}", found.path);
            let slash = if found.is_directory { "/" } else { "" };
            let name = found.path.rsplit('/').next().unwrap_or_default();
            SelectItem {
                value: prefix.decorate(&format!("{path}{slash}")),
                label: format!("{name}{slash}"),
                description: Some(path),
            }
        })
        .collect()
}

/// Splits a typed path into the directory it names, if that exists, and what is looked for there.
fn scope<'a>(places: &Places, typed: &'a str) -> (&'a str, PathBuf, &'a str) {
    if let Some(slash) = typed.rfind('/')
        && let Some((directory, query)) = typed.split_at_checked(slash + 1)
    {
        let base = places.resolve(directory);
        if base.is_dir() {
            return (directory, base, query);
        }
    }
    ("", places.base.clone(), typed)
}

/// What is looked for: capitals count only if some were typed.
struct Query {
    text: String,
    lower: String,
    by_path: bool,
}

impl Query {
    fn new(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            lower: text.to_lowercase(),
            by_path: text.contains('/'),
        }
    }

    fn finds(&self, path: &str) -> bool {
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

fn walk(base: &Path, query: &Query, depth: Option<usize>, stop: &dyn Fn() -> bool) -> Vec<Match> {
    let mut matches = Vec::new();
    let mut walk = WalkBuilder::new(base);
    let real_base = base.canonicalize().unwrap_or_else(|_| base.to_owned());
    if real_base.ancestors().any(has_endless_rules) {
        walk.standard_filters(false);
    }
    walk.hidden(false)
        .follow_links(true)
        .max_depth(depth)
        .filter_entry(|entry| {
            let is_directory = entry.file_type().is_some_and(|kind| kind.is_dir());
            entry.file_name() != ".git" && !(is_directory && has_endless_rules(entry.path()))
        });
    for (visited, entry) in walk.build().enumerate() {
        if matches.len() >= MAX_MATCHES || visited >= MAX_VISITED || stop() {
            break;
        }
        // A broken link or an unreadable directory hides nothing else.
        let Ok(entry) = entry else { continue };
        let Some((path, is_directory)) = relative(base, &entry) else {
            continue;
        };
        if query.finds(&path) {
            matches.push(Match {
                score: query.score(&path, is_directory),
                path,
                is_directory,
            });
        }
    }
    matches
}

/// Returns whether an ignore file of a directory must not be read: a repository may hold a link to an endless
/// device in its place.
fn has_endless_rules(directory: &Path) -> bool {
    RULES.iter().any(|name| {
        let metadata = directory.join(name).metadata();
        metadata.is_ok_and(|it| !it.is_dir() && (!it.is_file() || it.len() > LARGEST_RULES))
    })
}

fn relative(base: &Path, entry: &DirEntry) -> Option<(String, bool)> {
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

    fn tree() -> (tempfile::TempDir, Places) {
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
        let places = Places {
            base: base.to_owned(),
            home: None,
        };
        (directory, places)
    }

    fn values(places: &Places, prefix: &str) -> Vec<String> {
        find_files(places, prefix, &|| false)
            .into_iter()
            .map(|item| item.value)
            .collect()
    }

    #[test]
    fn the_best_name_comes_first_and_ignored_files_never() {
        let (_directory, places) = tree();
        assert_eq!(
            values(&places, "@main"),
            ["@main", "@src/main.rs", "@src/deep/domain.rs"]
        );
        assert_eq!(values(&places, "@src/dom"), ["@src/deep/domain.rs"]);
        assert_eq!(
            values(&places, "@src/"),
            ["@src/deep/", "@src/main.rs", "@src/deep/domain.rs"]
        );
        assert_eq!(values(&places, "@my"), ["@\"my dir/\""]);
        assert_eq!(values(&places, "@MAIN"), [""; 0]);
    }

    #[test]
    fn a_stale_walk_stops() {
        let (_directory, places) = tree();
        assert!(find_files(&places, "@", &|| true).is_empty());
    }

    #[cfg(unix)]
    #[test]
    fn an_ignore_file_without_end_is_not_read() {
        let (directory, places) = tree();
        let endless = |path: &str| {
            std::os::unix::fs::symlink("/dev/zero", directory.path().join(path)).unwrap();
        };
        endless("src/.gitignore");
        assert_eq!(values(&places, "@main"), ["@main"]);
        fs::remove_file(directory.path().join(".gitignore")).unwrap();
        endless(".gitignore");
        assert_eq!(values(&places, "@main"), ["@main", "@target/main.o"]);
    }
}
