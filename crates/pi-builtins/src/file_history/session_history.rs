//! The file history of a live session: where the session is when a file changes, and the work on a blocking thread.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use pi_checkpoint::{
    CapturedFile, ChangeCause, FileHistory, FileState, Position, RestorePlan, WorkTree,
};
use pi_host::AgentSession;
use pi_protocol::{EntryId, EntryKind, MessageRole};
use pi_session::{Session, file_history_directory};
use pi_tools::TextChange;

use crate::shown_text::{shown_link, shown_text};

pub(super) struct SessionHistory {
    /// From the moment the session exists until it ends.
    session: Mutex<Option<AgentSession>>,
    /// Opened when it is first used.
    history: Mutex<Option<FileHistory>>,
    max_bytes: u64,
    /// The working directory, if shell commands are recorded.
    work_tree: Option<Mutex<WorkTree>>,
    /// Calls whose results have no entry yet, with the leaf at the time of the change.
    unbound: Mutex<Vec<(String, EntryId)>>,
}

/// Where a session is in its tree.
pub(super) struct Place {
    directory: PathBuf,
    /// The entries from the root to the leaf.
    pub(super) branch: Vec<EntryId>,
    /// The user message that is being answered; `None` if there are no entries.
    turn: Option<EntryId>,
}

impl Place {
    /// `None` if the session has no file.
    fn of(session: &Session) -> Option<Self> {
        let branch = session.current_branch().ids();
        let is_prompt = |id: &&EntryId| {
            let kind = session.entries().kind(id.as_str());
            kind == Some(EntryKind::Message(MessageRole::User))
        };
        let turn = branch.iter().rev().find(is_prompt);
        Some(Self {
            directory: file_history_directory(session.path()?),
            turn: turn.or(branch.first()).cloned(),
            branch,
        })
    }

    fn position(&self) -> Option<Position<'_>> {
        Some(Position {
            branch: &self.branch,
            turn: self.turn.as_ref()?,
        })
    }
}

impl SessionHistory {
    /// `work_tree` is the directory in which changes of shell commands are recorded.
    pub(super) fn new(max_bytes: u64, work_tree: Option<PathBuf>) -> Self {
        Self {
            work_tree: work_tree.map(|root| Mutex::new(WorkTree::new(root))),
            session: Mutex::default(),
            history: Mutex::default(),
            max_bytes,
            unbound: Mutex::default(),
        }
    }

    pub(super) fn bind(&self, session: &AgentSession) {
        *self.session.lock() = Some(session.clone());
    }

    pub(super) fn session(&self) -> Option<AgentSession> {
        self.session.lock().clone()
    }

    /// The session ends.
    pub(super) fn release(&self) {
        drop(self.session.lock().take());
    }

    /// Works with the history on a blocking thread; `None` if the session has no file.
    pub(super) async fn run<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&mut FileHistory, &Place) -> io::Result<T> + Send + 'static,
    ) -> io::Result<Option<T>> {
        let session = self.session();
        let place = session.and_then(|session| session.history().with_session(Place::of));
        let Some(place) = place else {
            return Ok(None);
        };
        let shared = Arc::clone(self);
        let work = move || {
            let mut history = shared.history.lock();
            let history = match &mut *history {
                Some(history) => history,
                closed => {
                    let opened = FileHistory::open(&place.directory, shared.max_bytes)?;
                    closed.insert(opened)
                }
            };
            work(history, &place)
        };
        let done = tokio::task::spawn_blocking(work).await;
        done.map_err(io::Error::other)?.map(Some)
    }

    /// Records what a tool call, or the user, made of a path. That has succeeded: a failure here is only logged.
    pub(super) async fn record(
        self: &Arc<Self>,
        call: Option<&str>,
        path: &Path,
        before: io::Result<CapturedFile>,
    ) {
        let (call, path) = (call.map(str::to_owned), path.to_owned());
        let shared = Arc::clone(self);
        let recorded = self.run(move |history, place| {
            let Some(at) = place.position() else {
                return Ok(());
            };
            let after = CapturedFile::read(&path)?;
            let cause = match &call {
                Some(call) => ChangeCause::Tool { call },
                None => ChangeCause::Other,
            };
            history.record(&at, cause, &path, &before?, &after)?;
            if let Some(call) = call {
                shared.remember(call, place);
            }
            Ok(())
        });
        if let Err(error) = recorded.await {
            tracing::warn!(%error, "cannot record a change in the file history");
        }
    }

    /// Compares the working directory with the last scan. Changes belong to a call, or to the user if there is none.
    pub(super) async fn scan(self: &Arc<Self>, call: Option<&str>) {
        if self.work_tree.is_none() {
            return;
        }
        let call = call.map(str::to_owned);
        let shared = Arc::clone(self);
        let scanned = self.run(move |history, place| {
            let (Some(work_tree), Some(at)) = (&shared.work_tree, place.position()) else {
                return Ok(());
            };
            let cause = match &call {
                Some(call) => ChangeCause::Tool { call },
                None => ChangeCause::Other,
            };
            let found = work_tree.lock().scan(history, &at, cause)?;
            if let Some(call) = call.filter(|_| found > 0) {
                shared.remember(call, place);
            }
            Ok(())
        });
        if let Err(error) = scanned.await {
            tracing::warn!(%error, "cannot record what a command has changed");
        }
    }

    /// Remembers a call that has changed files until its result has an entry.
    fn remember(&self, call: String, place: &Place) {
        if let Some(leaf) = place.branch.last() {
            self.unbound.lock().push((call, leaf.clone()));
        }
    }

    /// Binds the changes of a turn to the entries with the results of its calls.
    pub(super) async fn bind_results(
        self: &Arc<Self>,
        response: EntryId,
        results: Vec<(String, EntryId)>,
    ) {
        let unbound = std::mem::take(&mut *self.unbound.lock());
        let mut bound: Vec<(String, EntryId)> = Vec::new();
        for (call, leaf) in unbound {
            let result = results.iter().find(|(id, _)| *id == call);
            // The result of a call that another call made is part of that call's result. Changes of a turn that was
            // interrupted stay with the entry before them.
            let is_of_turn = leaf == response || results.iter().any(|(_, entry)| *entry == leaf);
            let last = results.last().filter(|_| is_of_turn);
            if let Some((_, entry)) = result.or(last)
                && !bound.iter().any(|(known, _)| *known == call)
            {
                bound.push((call, entry.clone()));
            }
        }
        let recorded = self.run(move |history, place| {
            let Some(at) = place.position() else {
                return Ok(());
            };
            history.refresh()?;
            history.follow_move(&at)?;
            let mut bound = bound.iter();
            bound.try_for_each(|(call, entry)| history.bind(call, at.turn, entry))
        });
        if let Err(error) = recorded.await {
            tracing::warn!(%error, "cannot bind a change in the file history");
        }
    }

    /// Returns what restoring would change, as a patch.
    pub(super) async fn differences(self: &Arc<Self>, plan: &RestorePlan) -> String {
        let plan = plan.clone();
        let patches = self.run(move |history, _| {
            let files = plan.files.iter();
            Ok(files
                .map(|file| restore_patch(history, &file.path, &file.wanted))
                .collect())
        });
        let patches: io::Result<Option<Vec<String>>> = patches.await;
        match patches {
            Ok(patches) => patches.unwrap_or_default().join("\n"),
            Err(error) => error.to_string(),
        }
    }
}

/// Larger files are not compared.
const MAX_COMPARED_BYTES: u64 = 64 * 1024 * 1024;

/// Returns what restoring a file changes, as a patch.
pub fn restore_patch(history: &FileHistory, path: &Path, wanted: &FileState) -> String {
    let stored = match wanted {
        FileState::File { sha256, .. } => {
            let stored = history.content(sha256).ok().flatten();
            stored.and_then(|stored| String::from_utf8(stored).ok())
        }
        FileState::Link { target } => Some(shown_link(target)),
        FileState::Missing | FileState::Directory { .. } => Some(String::new()),
        FileState::Other => None,
    };
    let name = path.to_string_lossy();
    match (shown_text(path, MAX_COMPARED_BYTES), stored) {
        (Some(current), Some(stored)) => TextChange::between(&current, &stored, &name).patch,
        _ => format!("Binary file {name} differs\n"),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::io::Write as _;
    use std::os::unix::fs::symlink;
    use std::process::Command;

    use super::*;

    /// What a command leaves instead of a file may be a trap.
    #[test]
    fn links_are_not_followed_and_pipes_not_opened() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let mut secret = std::fs::File::create(at("secret")).unwrap();
        secret.write_all(b"SECRET\n").unwrap();
        symlink(at("secret"), at("link")).unwrap();
        assert!(
            Command::new("mkfifo")
                .arg(at("pipe"))
                .status()
                .unwrap()
                .success()
        );
        let history = FileHistory::open(&at("s.files"), u64::MAX).unwrap();
        let wanted = FileState::Link {
            target: "other".into(),
        };
        let patch = restore_patch(&history, &at("link"), &wanted);
        assert!(!patch.contains("SECRET"), "{patch}");
        assert!(
            patch.contains("-link to ") && patch.contains("+link to other"),
            "{patch}"
        );
        let patch = restore_patch(&history, &at("pipe"), &FileState::Missing);
        assert!(patch.contains("pipe differs"), "{patch}");
        let patch = restore_patch(&history, &at("secret"), &FileState::Missing);
        assert!(patch.contains("-SECRET"), "{patch}");
    }
}
