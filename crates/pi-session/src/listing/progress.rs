//! Lists sessions in parallel and reports progress.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;

use pi_protocol::{ListProgress, SessionInfo};
use thiserror::Error;

use super::cache::TitleCache;
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
        let reading = Reading {
            files: &self.files_by_name(),
            read: &|path| read_info_until(path, text, is_canceled).map(Arc::new),
            include: &|info| self.accepts_cwd(&info.cwd),
            report_every: REPORT_EVERY,
        };
        reading.read_all(on_progress, is_canceled)
    }

    /// Lists the sessions without their text, newest first. Files that have not changed are not read again.
    pub fn list_titles(&self, cache: &TitleCache) -> Vec<Arc<SessionInfo>> {
        let include = |info: &SessionInfo| self.accepts_cwd(&info.cwd);
        read_titles(&self.files_by_name(), &include, cache)
    }

    /// Returns the files in the order to read them: names start with the creation time, and the newest comes first.
    fn files_by_name(&self) -> Vec<PathBuf> {
        let mut files = session_files(self.path());
        pi_protocol::sort_by(&mut files, |one, other| {
            other.file_name().cmp(&one.file_name())
        });
        files
    }
}

/// Lists the sessions in a root and those of all working directories below it, newest first.
pub fn list_all(
    root: &Path,
    text: MessageText,
    on_progress: &mut dyn FnMut(ListProgress),
    is_canceled: IsCanceled<'_>,
) -> Result<Vec<Arc<SessionInfo>>, ListingCanceled> {
    let mut files = with_modified_time(files_below(root));
    pi_protocol::sort_by(&mut files, |(one, written), (other, other_written)| {
        let by_name = || other.file_name().cmp(&one.file_name());
        other_written.cmp(written).then_with(by_name)
    });
    let files: Vec<PathBuf> = files.into_iter().map(|(path, _)| path).collect();
    let reading = Reading {
        files: &files,
        read: &|path| read_info_until(path, text, is_canceled).map(Arc::new),
        include: &|_| true,
        report_every: REPORT_EVERY_ALL,
    };
    reading.read_all(on_progress, is_canceled)
}

/// Lists the same sessions as [`list_all`] without their text. Files that have not changed are not read again.
pub fn list_all_titles(root: &Path, cache: &TitleCache) -> Vec<Arc<SessionInfo>> {
    read_titles(&files_below(root), &|_| true, cache)
}

fn files_below(root: &Path) -> Vec<PathBuf> {
    let mut found = session_files(root);
    found.extend(all_session_files(root));
    found
}

fn read_titles(
    files: &[PathBuf],
    include: &dyn Fn(&SessionInfo) -> bool,
    cache: &TitleCache,
) -> Vec<Arc<SessionInfo>> {
    cache.start_listing();
    let reading = Reading {
        files,
        read: &|path| cache.read(path),
        include,
        report_every: usize::MAX,
    };
    let listed = reading.read_all(&mut |_| {}, &|| false);
    listed.unwrap_or_default()
}

/// The files of a listing and what is done with them.
struct Reading<'a> {
    files: &'a [PathBuf],
    /// Called from several threads.
    read: &'a (dyn Fn(&Path) -> Option<Arc<SessionInfo>> + Sync),
    include: &'a dyn Fn(&SessionInfo) -> bool,
    /// Number of files after which a partial list is reported.
    report_every: usize,
}

impl Reading<'_> {
    fn read_all(
        self,
        on_progress: &mut dyn FnMut(ListProgress),
        is_canceled: IsCanceled<'_>,
    ) -> Result<Vec<Arc<SessionInfo>>, ListingCanceled> {
        let Self { files, read, .. } = self;
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
                        let info = read(path);
                        if is_canceled() || sender.send(info).is_err() {
                            return;
                        }
                    }
                });
            }
            drop(sender);
            for (loaded, info) in (1..).zip(results) {
                sessions.extend(info.filter(|info| (self.include)(info)));
                let with_sessions =
                    loaded == 1 || loaded % self.report_every == 0 || loaded == total;
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
}

fn newest_first(mut sessions: Vec<Arc<SessionInfo>>) -> Vec<Arc<SessionInfo>> {
    pi_protocol::sort_by(&mut sessions, |one, other| {
        let by_path = || one.path.cmp(&other.path);
        other.modified_ms.cmp(&one.modified_ms).then_with(by_path)
    });
    sessions
}
