//! Lists, renames, deletes and imports sessions.

use std::path::PathBuf;

use pi_session::listing::{self, ListProgress, MessageText};
use pi_session::{
    AccessMode, OpenSession, Session, SessionError, SessionStore, delete_session, sessions_root,
};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::App;
use crate::dialog::DialogUpdate;
use crate::intent::SessionScope;

impl App {
    pub(super) fn update_dialog(&mut self, update: DialogUpdate) {
        self.screen.with_dialog(|dialog| dialog.on_update(update));
        self.handle_dialog_intents();
    }

    /// Lists sessions and updates the dialog as they are found; cancels an earlier listing.
    pub(super) fn list_sessions(&mut self, scope: SessionScope) {
        let cancel = CancellationToken::new();
        let guard: DropGuard = cancel.clone().drop_guard();
        self.listing = Some(guard);
        let agent_dir = self.runtime.services().agent_dir.path().to_owned();
        let cwd = self.session.cwd().to_owned();
        let directory = self
            .session
            .with_session(|session| session.directory().to_owned());
        let handle = self.handle();
        let work = move || {
            let progress = |progress: ListProgress, finished: bool| DialogUpdate::Sessions {
                scope,
                sessions: progress.sessions,
                loaded: progress.loaded,
                total: progress.total,
                finished,
            };
            let mut on_progress = |found: ListProgress| {
                let update = progress(found, false);
                handle.post(move |app| app.update_dialog(update));
            };
            let is_canceled = || cancel.is_cancelled();
            let found = match scope {
                SessionScope::Project => {
                    let store = SessionStore::custom(&directory, &agent_dir, &cwd);
                    store.list(MessageText::Collect, &mut on_progress, &is_canceled)
                }
                SessionScope::All => {
                    let root = sessions_root(&agent_dir);
                    listing::list_all(&root, MessageText::Collect, &mut on_progress, &is_canceled)
                }
            };
            found.map(|sessions| {
                let count = sessions.len();
                let all = ListProgress {
                    loaded: count,
                    total: count,
                    sessions: Some(sessions),
                };
                progress(all, true)
            })
        };
        self.spawn_blocking(work, |app, found| {
            if let Ok(update) = found {
                app.update_dialog(update);
            }
        });
    }

    /// Sets or clears a session's name.
    pub(super) fn rename_session(&mut self, path: PathBuf, name: Option<String>) {
        let name = name.unwrap_or_default();
        if self.session.session_file().as_ref() == Some(&path) {
            let session = self.session.clone();
            let work = async move { session.set_session_name(&name).await };
            self.spawn(work, Self::after_rename);
            return;
        }
        let env = self.runtime.services().env.clone();
        let work = move || {
            let options = OpenSession {
                access: AccessMode::Write,
                env,
                ..OpenSession::default()
            };
            Session::open(&path, options)?.set_name(&name).map(drop)
        };
        self.spawn_blocking(work, Self::after_rename);
    }

    fn after_rename(&mut self, renamed: Result<(), SessionError>) {
        self.update_dialog(match renamed {
            Ok(()) => DialogUpdate::SessionRenamed,
            Err(error) => DialogUpdate::Failed(pi_runtime::describe_error(&error)),
        });
    }

    /// Deletes a session other than the current one.
    pub(super) fn delete_session(&mut self, path: PathBuf) {
        if self.session.session_file().as_ref() == Some(&path) {
            let update = DialogUpdate::Failed("The current session cannot be deleted".to_owned());
            self.update_dialog(update);
            return;
        }
        let work = move || delete_session(&path).map(|_| path);
        self.spawn_blocking(work, |app, deleted| {
            app.update_dialog(match deleted {
                Ok(path) => DialogUpdate::SessionDeleted(path),
                Err(error) => DialogUpdate::Failed(pi_runtime::describe_error(&error)),
            });
        });
    }

    /// Imports a copy of a session file and switches to it.
    pub(super) fn import_session(&mut self, path: PathBuf) {
        let runtime = self.runtime.clone();
        let work = async move { runtime.import(&path, None).await };
        self.replace(work, |app, replacement| {
            if !replacement.cancelled {
                app.status("Session imported");
            }
        });
    }
}
