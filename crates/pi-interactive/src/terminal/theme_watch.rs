//! Watches theme files, so that edits show at once.

use std::path::Path;
use std::time::Duration;

use notify::{RecursiveMode, Watcher as _};
use tokio::sync::mpsc::{self, error::TrySendError};
use tokio::time::Instant;

/// Editors write in several steps; events within this time count as one change.
const PAUSE: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub(crate) struct ThemeWatch {
    changes: mpsc::Receiver<()>,
    /// Set when something changed; more events may follow until then.
    quiet_at: Option<Instant>,
    _watcher: notify::RecommendedWatcher,
}

impl ThemeWatch {
    /// Watches the directories of these files; `None` if watching fails.
    ///
    /// Directories, because editors replace files on save.
    pub(crate) fn on<'a>(files: impl Iterator<Item = &'a Path>) -> Option<Self> {
        let mut directories: Vec<&Path> = files.filter_map(Path::parent).collect();
        directories.sort_unstable();
        directories.dedup();
        if directories.is_empty() {
            return None;
        }
        // A capacity of one is enough: only the fact of a change matters.
        let (sender, changes) = mpsc::channel(1);
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            if event.is_ok_and(|event| !event.kind.is_access()) {
                match sender.try_send(()) {
                    // A full channel already signals a change.
                    Ok(()) | Err(TrySendError::Full(())) => {}
                    Err(TrySendError::Closed(())) => tracing::debug!("theme watcher is closed"),
                }
            }
        });
        let mut watcher = watcher
            .inspect_err(|error| tracing::debug!(%error, "cannot watch themes"))
            .ok()?;
        for directory in directories {
            if let Err(error) = watcher.watch(directory, RecursiveMode::NonRecursive) {
                tracing::debug!(%error, "cannot watch theme directory");
            }
        }
        Some(Self {
            changes,
            quiet_at: None,
            _watcher: watcher,
        })
    }

    /// Waits until a change has settled. Cancel safe.
    pub(crate) async fn changed(&mut self) {
        if self.quiet_at.is_none() {
            if self.changes.recv().await.is_none() {
                return std::future::pending().await;
            }
            self.quiet_at = Some(Instant::now() + PAUSE);
        }
        if let Some(quiet_at) = self.quiet_at {
            tokio::time::sleep_until(quiet_at).await;
        }
        self.quiet_at = None;
        while self.changes.try_recv().is_ok() {}
    }
}
