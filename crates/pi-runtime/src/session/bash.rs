//! Commands the user runs: shown as they print, and kept in the session for the model to see.

use std::sync::Mutex;

use pi_agent::HookError;
use pi_ai::{AgentMessage, BashExecutionMessage};
use pi_session::SessionError;
use pi_tools::{ProcessError, ShellResult, UserShell};
use serde_json::Value;
use std::sync::Arc;
use thiserror::Error;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::{AgentSession, lock};
use crate::event::SessionEvent;
use crate::hooks::{UserBashVerdict, UserCommand};

/// A command the user wants to run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BashRequest {
    /// An id that comes back with what the command prints.
    pub id: Option<Value>,
    pub command: String,
    /// Whether the model shall not see it (`!!`).
    pub exclude_from_context: bool,
}

/// Why a command has no result.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BashError {
    /// A hook stopped it.
    #[error(transparent)]
    Stopped(#[from] HookError),
    /// It could not be started.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// It ran, and the session could not be told.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The session is over.
    #[error("this session has been closed: use the one that took its place")]
    Closed,
}

/// A command in progress; it is over when this is dropped.
struct BashGuard {
    session: AgentSession,
    number: u64,
    cancel: CancellationToken,
}

impl BashGuard {
    fn begin(session: &AgentSession) -> Option<Self> {
        let cancel = CancellationToken::new();
        let mut state = session.state();
        if state.disposed {
            return None;
        }
        let number = state.next_bash;
        state.next_bash += 1;
        state.bash.push((number, cancel.clone()));
        drop(state);
        Some(Self {
            session: session.clone(),
            number,
            cancel,
        })
    }
}

impl Drop for BashGuard {
    fn drop(&mut self) {
        let mut state = self.session.state();
        state.bash.retain(|(number, _)| *number != self.number);
        drop(state);
        self.session.0.busy.send_modify(|_| {});
    }
}

/// What a listener that does not keep up may leave untold; more than that is not worth catching up
/// with, since the result holds the end of the output anyway.
const MAX_PENDING_OUTPUT: usize = 1024 * 1024;

/// What was printed and not yet told.
#[derive(Default)]
struct PendingOutput {
    text: Mutex<(String, bool)>,
    changed: Notify,
}

impl PendingOutput {
    fn push(&self, text: &str) {
        let mut deferred_start = lock(&self.text);
        if deferred_start.0.len() + text.len() > MAX_PENDING_OUTPUT {
            deferred_start.0.clear();
        }
        deferred_start.0.push_str(text);
        drop(deferred_start);
        self.changed.notify_one();
    }

    fn close(&self) {
        lock(&self.text).1 = true;
        self.changed.notify_one();
    }

    /// Waits for text; none when there will be no more.
    async fn next(&self) -> Option<String> {
        loop {
            {
                let mut deferred_start = lock(&self.text);
                if !deferred_start.0.is_empty() {
                    return Some(std::mem::take(&mut deferred_start.0));
                }
                if deferred_start.1 {
                    return None;
                }
            }
            self.changed.notified().await;
        }
    }
}

impl AgentSession {
    /// Runs a command for the user and keeps it in the session.
    pub async fn bash(&self, request: BashRequest) -> Result<ShellResult, BashError> {
        let mut shell = self.state().tools.user_shell().clone();
        let verdict = self.0.hooks.user_bash(UserCommand {
            command: request.command.clone(),
            exclude_from_context: request.exclude_from_context,
            cwd: shell.cwd.clone(),
        });
        match verdict.await? {
            UserBashVerdict::Run => {}
            UserBashVerdict::RunWith(processes) => shell.processes = processes,
            UserBashVerdict::Result(result) => {
                self.record_bash_result(&request, &result)?;
                return Ok(result);
            }
        }
        let running = BashGuard::begin(self).ok_or(BashError::Closed)?;
        let result = self.run_shell(&shell, &request, &running.cancel).await;
        let recorded = match &result {
            Ok(result) => self.record_bash_result(&request, result),
            Err(_) => Ok(()),
        };
        drop(running);
        recorded?;
        Ok(result?)
    }

    async fn run_shell(
        &self,
        shell: &UserShell,
        request: &BashRequest,
        cancel: &CancellationToken,
    ) -> Result<ShellResult, ProcessError> {
        let deferred_start = PendingOutput::default();
        let running = async {
            let show = |text: &str| deferred_start.push(text);
            let result = shell.run(&request.command, show, cancel.clone()).await;
            deferred_start.close();
            result
        };
        let telling = async {
            while let Some(delta) = deferred_start.next().await {
                let id = request.id.clone();
                self.publish(SessionEvent::BashExecutionUpdate { id, delta })
                    .await;
            }
        };
        let (result, ()) = tokio::join!(running, telling);
        result
    }

    /// Keeps a command in the session. While a run is under way it waits for the run's end, so that it
    /// does not come between a call and its result.
    pub fn record_bash_result(
        &self,
        request: &BashRequest,
        result: &ShellResult,
    ) -> Result<(), SessionError> {
        let path = result.full_output_path.as_ref();
        let message = BashExecutionMessage {
            command: request.command.clone(),
            output: result.output.clone(),
            exit_code: result.exit_code.map(i64::from),
            cancelled: result.cancelled,
            truncated: result.truncated,
            full_output_path: path.map(|path| path.to_string_lossy().into_owned()),
            exclude_from_context: request.exclude_from_context.then_some(true),
            timestamp: self.0.env.now_ms(),
            ..BashExecutionMessage::default()
        };
        {
            let mut state = self.state();
            if state.run.active {
                state.pending_bash.push(message);
                return Ok(());
            }
        }
        self.append_bash(message)
    }

    fn append_bash(&self, message: BashExecutionMessage) -> Result<(), SessionError> {
        let message = AgentMessage::BashExecution(message);
        self.transcript().append_message(message.clone())?;
        self.extend_context(Arc::new(message));
        Ok(())
    }

    /// Appends the commands that waited for the end of the run.
    pub(super) fn flush_bash_messages(&self) {
        let pending = std::mem::take(&mut self.state().pending_bash);
        for message in pending {
            if let Err(error) = self.append_bash(message) {
                self.report("bash", None, &error);
            }
        }
    }

    /// Stops the user's commands.
    pub fn abort_bash(&self) {
        self.state().cancel_bash();
    }

    /// Returns whether a command of the user runs.
    pub fn is_bash_running(&self) -> bool {
        !self.state().bash.is_empty()
    }

    /// Returns whether commands wait for the end of the run to be kept.
    pub fn has_pending_bash_messages(&self) -> bool {
        !self.state().pending_bash.is_empty()
    }

    pub(super) async fn wait_for_bash(&self) {
        let mut busy = self.0.busy.subscribe();
        let over = busy.wait_for(|_| !self.is_bash_running());
        if over.await.is_err() {
            tracing::debug!("the session is gone while waited for");
        }
    }
}
