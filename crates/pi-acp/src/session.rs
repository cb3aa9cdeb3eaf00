//! A session that the client has opened.

use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use pi_host::{AgentSession, Host, Observed, Observer, SessionRuntime};
use pi_protocol::{ClientHello, Command, DiagnosticLevel};
use serde_json::{Value, json};
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;

use crate::backing::Backing;
use crate::commands;
use crate::feed::Feed;
use crate::session_ui::SessionUi;

pub(crate) struct AcpSession {
    pub(crate) backing: Backing,
    pub(crate) feed: Arc<Feed>,
    ui: SessionUi,
    /// Canceled by `session/cancel` for the prompts that are open then.
    cancel: Mutex<CancellationToken>,
    /// Canceled once the hooks of the session's start have run.
    started: CancellationToken,
    /// The tasks that follow and start the session; `None` once it is closed.
    tasks: Mutex<Option<Vec<AbortHandle>>>,
}

impl AcpSession {
    pub(crate) fn new(backing: Backing, feed: Feed, ui: SessionUi) -> Arc<Self> {
        let feed = Arc::new(feed);
        let changes = feed.follow(&backing.session());
        let runtime = backing.runtime().clone();
        let following = tokio::spawn(follow(Arc::clone(&feed), runtime, changes));
        Arc::new(Self {
            backing,
            feed,
            ui,
            cancel: Mutex::default(),
            started: CancellationToken::new(),
            tasks: Mutex::new(Some(vec![following.abort_handle()])),
        })
    }

    pub(crate) fn id(&self) -> &str {
        &self.feed.session_id
    }

    pub(crate) fn session(&self) -> AgentSession {
        self.backing.session()
    }

    pub(crate) fn config(&self) -> Value {
        self.feed.config()
    }

    pub(crate) fn is_planning(&self) -> bool {
        self.feed.is_planning()
    }

    fn tasks(&self) -> MutexGuard<'_, Option<Vec<AbortHandle>>> {
        self.tasks.lock()
    }

    fn cancel_token(&self) -> MutexGuard<'_, CancellationToken> {
        self.cancel.lock()
    }

    /// Returns what ends the prompts that are open now.
    pub(crate) fn cancellation(&self) -> CancellationToken {
        self.cancel_token().clone()
    }

    /// Cancels the open prompts, the run and what it has queued.
    pub(crate) async fn cancel(&self) {
        let canceled = std::mem::take(&mut *self.cancel_token());
        canceled.cancel();
        // The abort comes first: a run whose dialog is withdrawn would go on.
        let rest = async {
            self.feed.withdraw_dialogs();
            self.backing.clear_queue().await;
        };
        futures_util::future::join(self.backing.abort(), rest).await;
    }

    /// Shows the session to a client that knows its ID: its commands, what waited, and what the start reported. Then runs
    /// the hooks of the start, which may ask the user.
    pub(crate) async fn announce(self: &Arc<Self>, notice: Option<String>) {
        self.feed.send(self.commands()).await;
        self.ui.connect(Arc::clone(&self.feed)).await;
        let runtime = self.backing.runtime();
        for diagnostic in runtime.diagnostics() {
            let severity = match diagnostic.level {
                DiagnosticLevel::Info => "info",
                DiagnosticLevel::Warning => "warning",
                DiagnosticLevel::Error => "error",
            };
            let message = diagnostic.message_with_path();
            self.feed.notice(severity, &message).await;
        }
        for message in runtime.model_fallback().into_iter().chain(notice) {
            self.feed.notice("warning", &message).await;
        }
        // The client may have closed the session in the meantime.
        if let Some(tasks) = self.tasks().as_mut() {
            let session = Arc::clone(self);
            let starting = tokio::spawn(async move { session.start().await });
            tasks.push(starting.abort_handle());
        }
    }

    async fn start(&self) {
        if let Backing::Remote(remote) = &self.backing {
            self.started.cancel();
            remote.show_pending().await;
            self.backing.lost().await;
            let message =
                "The pi that ran this session has ended.\nLoad the session again to continue here.";
            return self.feed.notice("warning", message).await;
        }
        let runtime = self.backing.runtime();
        if self.feed.client.forms {
            let hello = Command::Hello(ClientHello {
                elicitation: true,
                ..ClientHello::default()
            });
            runtime.submit(hello).await.ok();
        }
        let before = self.commands();
        runtime.notify_session_start().await;
        let after = self.commands();
        if before != after {
            self.feed.send(after).await;
        }
        runtime.refresh_catalogs();
        self.started.cancel();
        if let Some(changes) = runtime.project_changes().await {
            let message = changes.message_with_path();
            self.feed.notice("warning", &message).await;
        }
    }

    /// Waits until the hooks of the session's start have run.
    pub(crate) async fn started(&self) {
        self.started.cancelled().await;
    }

    /// Returns the update with the slash commands.
    pub(crate) fn commands(&self) -> Value {
        let available = commands::available(&self.backing, self.feed.offered_commands);
        json!({"sessionUpdate": "available_commands_update", "availableCommands": available})
    }

    /// Ends the session and its children.
    pub(crate) async fn close(&self, host: &Host) {
        let canceled = std::mem::take(&mut *self.cancel_token());
        canceled.cancel();
        // The abort comes first: a run whose dialog is withdrawn would go on.
        let rest = async {
            self.feed.stop();
            self.ui.disconnect();
            let tasks = self.tasks().take();
            for task in tasks.into_iter().flatten() {
                task.abort();
            }
        };
        futures_util::future::join(self.backing.close(host), rest).await;
    }
}

/// Follows the current session of a runtime, which changes when an extension replaces it.
async fn follow(feed: Arc<Feed>, runtime: SessionRuntime, mut changes: Observer) {
    let mut sessions = runtime.sessions();
    sessions.mark_unchanged();
    // Keeping the runtime would keep its session open.
    drop(runtime);
    loop {
        tokio::select! {
            replaced = sessions.changed() => {
                if replaced.is_err() {
                    return;
                }
                let session = sessions.borrow_and_update().clone();
                changes = feed.follow(&session);
                feed.send_config().await;
            }
            observed = changes.next() => match observed {
                Some(Observed::Event(envelope)) => feed.change(&envelope.event).await,
                Some(Observed::Lagged) => feed.send_config().await,
                // The session was closed; another one may follow.
                None => match sessions.changed().await {
                    Ok(()) => sessions.mark_changed(),
                    Err(_) => return,
                },
            },
        }
    }
}
