//! A session that another process runs.
//!
//! What can be read comes from a local copy that follows the session file; changes are commands to the other process.

mod commands;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_host::{LinkStatus, RemoteSession, Workspace};
use pi_protocol::{
    ActivityKind, Command, CommandInfo, LiveMessage, SessionEvent, SessionStats, SessionTree,
};
use tokio::sync::watch;

use super::command::{SessionChange, SessionCommand};
use super::history::SessionHistory;
use super::local::LocalSessionPort;
use super::outcome::SessionOutcome;
use super::port::{OpeningReport, PortUpdate, SessionPort};
use super::snapshot::{ProviderInfo, SessionActivity, SessionSnapshot};

/// Shown for what the process that runs the session has to do.
pub(crate) const OWNER_ONLY: &str =
    "Not available while attached: use the pi that runs the session, or quit and resume it";

/// Implements the port with a connection to the process that runs the session.
pub(crate) struct RemoteSessionPort {
    remote: RemoteSession,
    copy: LocalSessionPort,
    status: watch::Receiver<LinkStatus>,
}

impl RemoteSessionPort {
    pub(crate) fn new(remote: RemoteSession) -> Self {
        Self {
            copy: LocalSessionPort::new(remote.runtime().clone()),
            status: remote.status(),
            remote,
        }
    }

    /// Continues with the session that replaced this one; `false` if there is none.
    fn follow_successor(&mut self) -> bool {
        let Some(successor) = self.remote.take_successor() else {
            return false;
        };
        let ended = std::mem::replace(self, Self::new(successor));
        let remote = self.remote.clone();
        tokio::spawn(async move {
            Box::new(ended).shutdown().await;
            remote.show_pending().await;
        });
        true
    }

    /// Sends a command whose effect arrives as events.
    fn send(&self, command: Command) {
        let remote = self.remote.clone();
        tokio::spawn(async move {
            if let Err(error) = remote.submit(&command).await {
                tracing::warn!(%error, "the command was not executed");
            }
        });
    }
}

impl SessionPort for RemoteSessionPort {
    fn snapshot(&self) -> SessionSnapshot {
        let state = self.remote.state();
        let is_run = matches!(
            state.activity.kind,
            ActivityKind::Preparing | ActivityKind::Running
        );
        SessionSnapshot {
            activity: SessionActivity {
                idle: !is_run && !state.activity.is_compacting,
                streaming: state.activity.kind == ActivityKind::Running,
                compacting: state.activity.is_compacting,
                retrying: state.activity.is_retrying,
                shell: state.is_running_shell,
            },
            queue: state.queue,
            auto_compaction: state.auto_compaction,
            watching: state.observers,
            ..self.copy.snapshot()
        }
    }

    fn workspace(&self) -> Arc<Workspace> {
        self.copy.workspace()
    }

    fn provider_info(&self) -> ProviderInfo {
        self.copy.provider_info()
    }

    fn history(&self) -> Arc<dyn SessionHistory> {
        self.copy.history()
    }

    fn tree(&self) -> SessionTree {
        self.copy.tree()
    }

    fn live_message(&self) -> Option<LiveMessage> {
        self.remote.state().live
    }

    fn usage(&self) -> Option<SessionStats> {
        self.copy.usage()
    }

    fn commands(&self) -> Vec<CommandInfo> {
        self.remote.commands()
    }

    fn take_opening_report(&self) -> OpeningReport {
        // The other process has reported its problems.
        OpeningReport::default()
    }

    fn find_import(&self, _path: &Path) -> Result<PathBuf, String> {
        Err(OWNER_ONLY.to_owned())
    }

    fn apply(&self, change: SessionChange) -> Result<(), String> {
        match change {
            SessionChange::AbortRetry => self.send(Command::AbortRetry),
            SessionChange::AbortCompaction | SessionChange::InterruptHooks => {
                self.send(Command::Abort);
            }
            SessionChange::AbortShell => {
                self.send(Command::AbortBash);
                self.send(Command::Abort);
            }
            SessionChange::SetLabel { entry, label } => self.send(Command::SetLabel {
                entry_id: entry.as_str().to_owned(),
                label,
            }),
            SessionChange::SetScope(_)
            | SessionChange::Setting(_)
            | SessionChange::RefreshCatalogs => return self.copy.apply(change),
        }
        Ok(())
    }

    fn submit(&self, command: SessionCommand) -> BoxFuture<'static, SessionOutcome> {
        match commands::submit(&self.remote, command) {
            Ok(work) => work,
            Err(command) => self.copy.submit(command),
        }
    }

    fn next_update(&mut self) -> BoxFuture<'_, PortUpdate> {
        Box::pin(async move {
            tokio::select! {
                biased;
                Ok(()) = self.status.changed() => {
                    let status = *self.status.borrow_and_update();
                    if status == LinkStatus::Succeeded && self.follow_successor() {
                        PortUpdate::Replaced
                    } else {
                        PortUpdate::Link(status)
                    }
                }
                update = self.copy.next_update() => update,
            }
        })
    }

    fn try_next_event(&mut self) -> Option<SessionEvent> {
        self.copy.try_next_event()
    }

    fn take_replacement(&mut self) -> bool {
        self.copy.take_replacement()
    }

    fn shutdown(self: Box<Self>) -> BoxFuture<'static, ()> {
        let Self { copy, remote, .. } = *self;
        drop(remote);
        Box::new(copy).shutdown()
    }
}
