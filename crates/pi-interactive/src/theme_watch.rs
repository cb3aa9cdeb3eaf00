//! Watches the files of themes, so that a theme can be written with its effect in view.

use std::path::Path;
use std::time::Duration;

use notify::{RecursiveMode, Watcher as _};
use tokio::sync::mpsc::{self, error::TrySendError};
use tokio::time::Instant;

/// Editors write in several steps; what follows within this time is the same change.
const PAUSE: Duration = Duration::from_millis(100);

/// A watch on folders of themes.
#[derive(Debug)]
pub(crate) struct ThemeWatch {
    changes: mpsc::Receiver<()>,
    /// Something changed; until then more may follow.
    quiet_at: Option<Instant>,
    _watcher: notify::RecommendedWatcher,
}

impl ThemeWatch {
    /// Watches the folders of these files; none if that cannot be done.
    ///
    /// Folders, because editors put a new file in the place of the old one.
    pub(crate) fn on<'a>(files: impl Iterator<Item = &'a Path>) -> Option<Self> {
        let mut folders: Vec<&Path> = files.filter_map(Path::parent).collect();
        folders.sort_unstable();
        folders.dedup();
        if folders.is_empty() {
            return None;
        }
        // One is enough: what counts is that something changed.
        let (sender, changes) = mpsc::channel(1);
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            if event.is_ok_and(|event| !event.kind.is_access()) {
                match sender.try_send(()) {
                    // A full channel says the same.
                    Ok(()) | Err(TrySendError::Full(())) => {}
                    Err(TrySendError::Closed(())) => tracing::debug!("nobody watches themes"),
                }
            }
        });
        let mut watcher = watcher
            .inspect_err(|error| tracing::debug!(%error, "themes are not watched"))
            .ok()?;
        for folder in folders {
            if let Err(error) = watcher.watch(folder, RecursiveMode::NonRecursive) {
                tracing::debug!(%error, "a folder of themes is not watched");
            }
        }
        Some(Self {
            changes,
            quiet_at: None,
            _watcher: watcher,
        })
    }

    /// Waits until something changed and is quiet again. May be dropped and called again.
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
