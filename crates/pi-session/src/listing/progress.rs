//! Lists sessions in parallel and reports progress.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;

use pi_protocol::{ListProgress, SessionInfo};
use thiserror::Error;

use super::info::read_info_until;
use super::{MessageText, all_session_files, session_files, with_modified_time};
use crate::session_store::SessionStore;

/// How many files are read in parallel: most of the time is spent waiting for the disk.
const PARALLEL_FILES: usize = 10;

/// Number of files after which a partial list of one directory is reported.
const REPORT_EVERY: usize = 10;

/// Number of files after which a partial list of all directories is reported.
const REPORT_EVERY_ALL: usize = 100;

/// Returns whether a listing is to stop; called from several threads before every line.
pub type IsCanceled<'a> = &'a (dyn Fn() -> bool + Sync);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("listing canceled")]
pub struct ListingCanceled;

impl SessionStore {
    /// Lists the sessions, newest first.
    pub fn list(
        &self,
        text: MessageText,
        on_progress: &mut dyn FnMut(ListProgress),
        is_canceled: IsCanceled<'_>,
    ) -> Result<Vec<Arc<SessionInfo>>, ListingCanceled> {
        let mut files = session_files(self.path());
        // File names start with the creation time: read the newest first.
        files.sort_by(|one, other| other.file_name().cmp(&one.file_name()));
        let include = |info: &SessionInfo| self.accepts_cwd(&info.cwd);
        read_all(
            &files,
            text,
            REPORT_EVERY,
            &include,
            on_progress,
            is_canceled,
        )
    }
}

/// Lists the sessions of all working directories below a root, newest first.
pub fn list_all(
    root: &Path,
    text: MessageText,
    on_progress: &mut dyn FnMut(ListProgress),
    is_canceled: IsCanceled<'_>,
) -> Result<Vec<Arc<SessionInfo>>, ListingCanceled> {
    let mut files = with_modified_time(all_session_files(root));
    files.sort_by(|(one, written), (other, other_written)| {
        let by_name = || other.file_name().cmp(&one.file_name());
        other_written.cmp(written).then_with(by_name)
    });
    let files: Vec<PathBuf> = files.into_iter().map(|(path, _)| path).collect();
    read_all(
        &files,
        text,
        REPORT_EVERY_ALL,
        &|_| true,
        on_progress,
        is_canceled,
    )
}

fn read_all(
    files: &[PathBuf],
    text: MessageText,
    report_every: usize,
    include: &dyn Fn(&SessionInfo) -> bool,
    on_progress: &mut dyn FnMut(ListProgress),
    is_canceled: IsCanceled<'_>,
) -> Result<Vec<Arc<SessionInfo>>, ListingCanceled> {
    let total = files.len();
    let next = AtomicUsize::new(0);
    let mut sessions: Vec<Arc<SessionInfo>> = Vec::new();
    thread::scope(|scope| {
        // One slot per reader: readers do not wait long and do not run far ahead of the list.
        let (sender, results) = mpsc::sync_channel(PARALLEL_FILES);
        for _ in 0..PARALLEL_FILES.min(total) {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || {
                while let Some(path) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let info = read_info_until(path, text, is_canceled);
                    if is_canceled() || sender.send(info).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        for (loaded, info) in (1..).zip(results) {
            sessions.extend(info.filter(include).map(Arc::new));
            let with_sessions = loaded == 1 || loaded % report_every == 0 || loaded == total;
            on_progress(ListProgress {
                loaded,
                total,
                sessions: with_sessions.then(|| newest_first(sessions.clone())),
            });
        }
    });
    if is_canceled() {
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
