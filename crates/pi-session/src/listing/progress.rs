//! Lists many sessions at once and tells of them as they come.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;

use thiserror::Error;
use tokio_util::sync::CancellationToken;

use super::{MessageText, SessionInfo, all_session_files, dated, session_files};
use crate::directory::SessionDirectory;

/// How many files are read at the same time: most of the time goes into waiting for the disk.
const PARALLEL_FILES: usize = 10;

/// How often a list of one directory is shown while it grows.
const SHOW_EVERY: usize = 10;

/// How often a list of all directories is shown while it grows.
const SHOW_EVERY_OF_ALL: usize = 100;

/// How far a listing is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListProgress {
    /// How many files have been read.
    pub loaded: usize,
    /// How many there are.
    pub total: usize,
    /// The sessions known so far, newest first, when it is time to show them.
    pub sessions: Option<Vec<Arc<SessionInfo>>>,
}

/// The listing was given up because nobody wants it any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the listing was cancelled")]
pub struct ListingCanceled;

/// Lists the sessions of a directory, newest first.
pub fn list(
    directory: &SessionDirectory,
    text: MessageText,
    on_progress: &mut dyn FnMut(ListProgress),
    token: &CancellationToken,
) -> Result<Vec<Arc<SessionInfo>>, ListingCanceled> {
    let mut files = session_files(directory.path());
    // Names begin with the time, so the newest come first.
    files.sort_by(|one, other| other.file_name().cmp(&one.file_name()));
    let is_wanted = |info: &SessionInfo| directory.accepts_cwd(&info.cwd);
    read_all(&files, text, SHOW_EVERY, &is_wanted, on_progress, token)
}

/// Lists the sessions of all working directories below a root, newest first.
pub fn list_all(
    root: &Path,
    text: MessageText,
    on_progress: &mut dyn FnMut(ListProgress),
    token: &CancellationToken,
) -> Result<Vec<Arc<SessionInfo>>, ListingCanceled> {
    let mut files = dated(all_session_files(root));
    files.sort_by(|(one, written), (other, other_written)| {
        let by_name = || other.file_name().cmp(&one.file_name());
        other_written.cmp(written).then_with(by_name)
    });
    let files: Vec<PathBuf> = files.into_iter().map(|(path, _)| path).collect();
    read_all(
        &files,
        text,
        SHOW_EVERY_OF_ALL,
        &|_| true,
        on_progress,
        token,
    )
}

fn read_all(
    files: &[PathBuf],
    text: MessageText,
    show_every: usize,
    is_wanted: &dyn Fn(&SessionInfo) -> bool,
    on_progress: &mut dyn FnMut(ListProgress),
    token: &CancellationToken,
) -> Result<Vec<Arc<SessionInfo>>, ListingCanceled> {
    let total = files.len();
    let next = AtomicUsize::new(0);
    let mut sessions: Vec<Arc<SessionInfo>> = Vec::new();
    thread::scope(|scope| {
        // One place for every reader: none waits long, and none runs far ahead of the list.
        let (found, arrivals) = mpsc::sync_channel(PARALLEL_FILES);
        for _ in 0..PARALLEL_FILES.min(total) {
            let (found, next) = (found.clone(), &next);
            scope.spawn(move || {
                while let Some(path) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let info = SessionInfo::read_until(path, text, token);
                    if token.is_cancelled() || found.send(info).is_err() {
                        return;
                    }
                }
            });
        }
        drop(found);
        for (loaded, info) in (1..).zip(arrivals) {
            sessions.extend(info.filter(is_wanted).map(Arc::new));
            let is_shown = loaded == 1 || loaded % show_every == 0 || loaded == total;
            on_progress(ListProgress {
                loaded,
                total,
                sessions: is_shown.then(|| newest_first(sessions.clone())),
            });
        }
    });
    if token.is_cancelled() {
        return Err(ListingCanceled);
    }
    Ok(newest_first(sessions))
}

fn newest_first(mut sessions: Vec<Arc<SessionInfo>>) -> Vec<Arc<SessionInfo>> {
    sessions.sort_by(|one, other| {
        let by_path = || one.path.cmp(&other.path);
        other.modified_ms.cmp(&one.modified_ms).then_with(by_path)
    });
    sessions
}
