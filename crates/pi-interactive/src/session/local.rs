//! A session in this process.

mod commands;
mod conversation;
mod files;
mod models;
mod pages;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use pi_host::{
    AgentSession, LiveClients, LiveDirectory, McpCompleter, SessionRuntime, SettingsEditor,
    Workspace,
};
use pi_protocol::{
    CommandInfo, CommandSource, Entry, EntryId, EntryKind, LiveMessage, RoutedModel, SessionEvent,
    SessionStats, SessionTree,
};
use tokio::sync::watch;

use super::command::{SessionChange, SessionCommand};
use super::events::{SessionEvents, SessionUpdate};
use super::history::SessionHistory;
use super::outcome::SessionOutcome;
use super::port::{OpeningReport, PortUpdate, SessionHolder, SessionPort};
use super::snapshot::{ProviderInfo, SessionActivity, SessionSnapshot};

/// Implements the port with the session runtime of this process.
pub(crate) struct LocalSessionPort {
    runtime: SessionRuntime,
    session: AgentSession,
    events: SessionEvents,
    sessions: watch::Receiver<AgentSession>,
}

impl LocalSessionPort {
    pub(crate) fn new(runtime: SessionRuntime) -> Self {
        let mut sessions = runtime.sessions();
        let session = sessions.borrow_and_update().clone();
        Self {
            events: SessionEvents::subscribe(&session),
            runtime,
            session,
            sessions,
        }
    }

    /// Follows the session that replaced the current one.
    fn rebind(&mut self) {
        self.session = self.sessions.borrow_and_update().clone();
        self.events = SessionEvents::subscribe(&self.session);
    }

    /// Stops waiting for handlers of extensions; what is in progress is aborted, too.
    fn interrupt_hooks(&self) {
        // The first poll aborts; the end is observed by events.
        self.session.abort().now_or_never();
    }
}

/// Formats the model that answered for a virtual one.
fn routed_label(routed: RoutedModel) -> String {
    match routed.thinking_level {
        Some(level) => format!("{} • {level}", routed.model.id),
        None => routed.model.id.clone(),
    }
}

impl SessionPort for LocalSessionPort {
    fn snapshot(&self) -> SessionSnapshot {
        let session = &self.session;
        let activity = SessionActivity {
            idle: session.is_idle(),
            streaming: session.is_streaming(),
            compacting: session.is_compacting(),
            retrying: session.retries().is_waiting(),
            shell: session.user_commands().is_running(),
        };
        let outline = session.history().outline();
        let immediate_commands = if activity.compacting {
            let commands = self.runtime.commands().into_iter();
            let own = commands.filter(|command| command.source == CommandSource::Extension);
            own.map(|command| command.name).collect()
        } else {
            Vec::new()
        };
        SessionSnapshot {
            id: outline.id,
            name: outline.name,
            file: outline.file,
            cwd: session.cwd().to_owned(),
            activity,
            model: session.selection().model(),
            routed: session.selection().routed_model().map(routed_label),
            thinking: session.selection().thinking_level(),
            thinking_levels: session.selection().available_thinking_levels(),
            supports_thinking: session.selection().supports_thinking(),
            scoped_models: session.selection().scoped_models(),
            queue: session.queue().texts(),
            auto_compaction: session.compaction().is_automatic(),
            settings: session.settings().settings(),
            leaf: outline.leaf,
            entry_count: outline.entry_count,
            watching: LiveClients::of(session).count(),
            immediate_commands,
        }
    }

    fn workspace(&self) -> Arc<Workspace> {
        self.runtime.workspace()
    }

    fn provider_info(&self) -> ProviderInfo {
        let model = self.session.selection().model();
        let provider = model.as_ref().map(|model| model.provider.as_str());
        models::provider_info(self.session.models(), provider)
    }

    fn history(&self) -> Arc<dyn SessionHistory> {
        Arc::new(LocalHistory(self.session.clone()))
    }

    fn tree(&self) -> SessionTree {
        self.session.history().tree()
    }

    fn live_message(&self) -> Option<LiveMessage> {
        self.session.streaming_message()
    }

    fn usage(&self) -> Option<SessionStats> {
        let stats = self.session.history().stats();
        stats
            .inspect_err(|error| tracing::warn!(%error, "cannot compute session stats"))
            .ok()
    }

    fn commands(&self) -> Vec<CommandInfo> {
        self.runtime.commands()
    }

    fn mcp_completer(&self) -> Option<McpCompleter> {
        pi_host::mcp_completer(&self.runtime)
    }

    fn take_opening_report(&self) -> OpeningReport {
        let mut diagnostics = self.runtime.diagnostics();
        diagnostics.extend(self.runtime.workspace().settings.take_diagnostics());
        OpeningReport {
            diagnostics,
            model_fallback: self.runtime.model_fallback(),
        }
    }

    fn held_elsewhere(&self) -> Option<SessionHolder> {
        let history = self.session.history();
        let is_held = history.with_session(|session| session.open_report().locked_elsewhere);
        is_held.then(|| {
            let workspace = self.runtime.workspace();
            let live = LiveDirectory::new(workspace.agent_dir.path(), &workspace.env);
            if live.ids().contains(&self.session.session_id()) {
                SessionHolder::Attachable
            } else {
                SessionHolder::Other
            }
        })
    }

    fn find_import(&self, path: &Path) -> Result<PathBuf, String> {
        let found = self.runtime.find_import(path);
        found.map_err(|error| pi_host::describe_error(&error))
    }

    fn apply(&self, change: SessionChange) -> Result<(), String> {
        match change {
            SessionChange::AbortRetry => self.session.retries().abort(),
            SessionChange::AbortCompaction => {
                self.session.compaction().abort();
                self.session.navigation().abort_summary();
            }
            SessionChange::AbortShell => {
                self.session.user_commands().abort();
                self.interrupt_hooks();
            }
            SessionChange::InterruptHooks => self.interrupt_hooks(),
            SessionChange::SetScope(models) => self.session.selection().set_scoped_models(models),
            SessionChange::SetLabel { entry, label } => {
                let set = self.session.history().set_label(&entry, label.as_deref());
                return set.map_err(|error| pi_host::describe_error(&error));
            }
            SessionChange::Setting(change) => {
                let applied = SettingsEditor::new(&self.session).apply(change);
                return applied.map_err(|error| pi_host::describe_error(&error));
            }
            SessionChange::RefreshCatalogs => self.runtime.refresh_catalogs(),
        }
        Ok(())
    }

    fn submit(&self, command: SessionCommand) -> BoxFuture<'static, SessionOutcome> {
        commands::submit(self.runtime.clone(), self.session.clone(), command)
    }

    fn next_update(&mut self) -> BoxFuture<'_, PortUpdate> {
        Box::pin(async move {
            let update = tokio::select! {
                biased;
                Ok(()) = self.sessions.changed() => None,
                update = self.events.next() => Some(update),
            };
            match update {
                None => {
                    self.rebind();
                    PortUpdate::Replaced
                }
                Some(SessionUpdate::Event(event)) => PortUpdate::Event(event),
                Some(SessionUpdate::Phase(phase)) => PortUpdate::Phase(phase),
            }
        })
    }

    fn try_next_event(&mut self) -> Option<SessionEvent> {
        self.events.try_next()
    }

    fn take_replacement(&mut self) -> bool {
        let is_replaced = self.sessions.has_changed().unwrap_or(false);
        if is_replaced {
            self.rebind();
        }
        is_replaced
    }

    fn shutdown(self: Box<Self>) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            let Self {
                runtime, events, ..
            } = *self;
            // The session awaits its listeners.
            drop(events);
            runtime.shutdown().await;
        })
    }
}

struct LocalHistory(AgentSession);

impl SessionHistory for LocalHistory {
    fn branch(&self) -> Vec<EntryId> {
        self.0
            .history()
            .with_session(|session| session.current_branch().ids())
    }

    fn kind(&self, id: &EntryId) -> Option<EntryKind> {
        self.0
            .history()
            .with_session(|session| session.entries().kind(id.as_str()))
    }

    fn entry(&self, id: &EntryId) -> Option<Arc<Entry>> {
        self.0
            .history()
            .with_session(|session| session.entries().read(id.as_str()).ok())
    }
}
