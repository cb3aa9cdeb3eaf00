//! User shell commands: output is published as it arrives, and the result is stored for the
//! model.

use parking_lot::Mutex;
use pi_core::{HookError, Input, ProcessError, Rejection, Reply};
use pi_protocol::{BashExecutionMessage, SessionEvent, describe_error};
use pi_session::SessionError;
use pi_tools::{ShellResult, UserShell};
use serde_json::Value;
use thiserror::Error;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::config_watch::ConfigReporter;
use super::prompt::PromptError;
use super::{AgentSession, pending};
use crate::participants::{UserBashVerdict, UserCommand};

#[derive(Debug, Clone, PartialEq, Default)]
pub struct BashRequest {
    /// An ID that is repeated in the output events.
    pub id: Option<Value>,
    pub command: String,
    /// Whether to keep the command out of the model's context (`!!`).
    pub exclude_from_context: bool,
}

/// Why a command has no result.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BashError {
    #[error(transparent)]
    Stopped(#[from] HookError),
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// The command ran, but its result could not be stored.
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error("this session was closed; use the one that replaced it")]
    Closed,
    /// The command ran, but the session panicked when its result was stored.
    #[error("the result of the command was not stored because of an internal error")]
    Crashed,
}

/// A command in progress; ends when dropped.
struct BashGuard {
    session: AgentSession,
    number: u64,
    cancel: CancellationToken,
}

impl BashGuard {
    fn begin(session: &AgentSession) -> Option<Self> {
        let cancel = CancellationToken::new();
        let mut state = session.0.state();
        if session.0.machine().is_closed() {
            return None;
        }
        let number = state.next_bash;
        state.next_bash += 1;
        state.bash.push((number, cancel.clone()));
        session.0.bash_count.send_replace(state.bash.len());
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
        let mut state = self.session.0.state();
        state.bash.retain(|(number, _)| *number != self.number);
        self.session.0.bash_count.send_replace(state.bash.len());
    }
}

/// Maximum output buffered for listeners that do not keep up. Beyond it, older output is dropped;
/// the result contains the end of the output anyway.
const MAX_PENDING_OUTPUT: usize = 1024 * 1024;

/// Output that was not published yet.
#[derive(Default)]
struct PendingOutput {
    text: Mutex<(String, bool)>,
    changed: Notify,
}

impl PendingOutput {
    fn push(&self, text: &str) {
        let mut output = self.text.lock();
        if output.0.len() + text.len() > MAX_PENDING_OUTPUT {
            output.0.clear();
        }
        output.0.push_str(text);
        drop(output);
        self.changed.notify_one();
    }

    fn close(&self) {
        self.text.lock().1 = true;
        self.changed.notify_one();
    }

    /// Waits for text; `None` once the output is closed.
    async fn next(&self) -> Option<String> {
        loop {
            {
                let mut output = self.text.lock();
                if !output.0.is_empty() {
                    return Some(std::mem::take(&mut output.0));
                }
                if output.1 {
                    return None;
                }
            }
            self.changed.notified().await;
        }
    }
}

/// The user's shell commands.
#[derive(Clone, Copy)]
pub struct UserCommands<'session> {
    session: &'session AgentSession,
}

impl AgentSession {
    pub fn user_commands(&self) -> UserCommands<'_> {
        UserCommands { session: self }
    }
}

impl UserCommands<'_> {
    /// Runs a command for the user and stores the result in the session.
    pub async fn run(self, request: BashRequest) -> Result<ShellResult, BashError> {
        let mut shell = self.session.0.state().tools.user_shell().clone();
        let verdict = self.session.0.participants.user_bash(UserCommand {
            command: request.command.clone(),
            exclude_from_context: request.exclude_from_context,
            cwd: shell.cwd.clone(),
        });
        match verdict.await? {
            UserBashVerdict::Run => {}
            UserBashVerdict::RunWith(processes) => shell.processes = processes,
            UserBashVerdict::Result(result) => {
                self.log_bash_start(&request);
                let recorded = self.record_result(&request, &result).await;
                self.log_bash_end(&request, Ok(&result));
                recorded?;
                return Ok(result);
            }
        }
        let running = BashGuard::begin(self.session).ok_or(BashError::Closed)?;
        self.log_bash_start(&request);
        let call = format!("command {}", running.number);
        let configuration = ConfigReporter(self.session);
        configuration.begin(&call);
        let result = self.run_shell(&shell, &request, &running.cancel).await;
        configuration.report(&call, "a command").await;
        let recorded = match &result {
            Ok(result) => self.record_result(&request, result).await,
            Err(_) => Ok(()),
        };
        self.log_bash_end(&request, result.as_ref());
        drop(running);
        match recorded {
            // A command that ends with its session still has a result.
            Ok(()) | Err(BashError::Closed) => Ok(result?),
            Err(error) => Err(error),
        }
    }

    fn log_bash_start(self, request: &BashRequest) {
        self.session.0.log_change(SessionEvent::BashExecutionStart {
            id: request.id.clone(),
            command: request.command.clone(),
            exclude_from_context: request.exclude_from_context,
        });
    }

    fn log_bash_end(self, request: &BashRequest, result: Result<&ShellResult, &ProcessError>) {
        let ended = result.ok();
        self.session.0.log_change(SessionEvent::BashExecutionEnd {
            id: request.id.clone(),
            exit_code: ended.and_then(|result| result.exit_code).map(i64::from),
            cancelled: ended.is_some_and(|result| result.cancelled),
            error_message: result.err().map(|error| describe_error(error)),
        });
    }

    async fn run_shell(
        self,
        shell: &UserShell,
        request: &BashRequest,
        cancel: &CancellationToken,
    ) -> Result<ShellResult, ProcessError> {
        let output = PendingOutput::default();
        let running = async {
            let show = |text: &str| output.push(text);
            let result = shell.run(&request.command, show, cancel.clone()).await;
            output.close();
            result
        };
        let publishing = async {
            while let Some(delta) = output.next().await {
                let id = request.id.clone();
                self.session
                    .0
                    .publish(SessionEvent::BashExecutionUpdate { id, delta })
                    .await;
            }
        };
        let (result, ()) = tokio::join!(running, publishing);
        result
    }

    /// Stores the result of a command in the session. During a run, it is stored when the run ends,
    /// so that it does not separate a tool call from its result; until then it is kept as pending.
    pub async fn record_result(
        self,
        request: &BashRequest,
        result: &ShellResult,
    ) -> Result<(), BashError> {
        let path = result.full_output_path.as_ref();
        let message = BashExecutionMessage {
            command: request.command.clone(),
            output: result.output.clone(),
            exit_code: result.exit_code.map(i64::from),
            cancelled: result.cancelled,
            truncated: result.truncated,
            full_output_path: path.map(|path| path.to_string_lossy().into_owned()),
            exclude_from_context: request.exclude_from_context.then_some(true),
            timestamp: self.session.0.env.now_ms(),
            ..BashExecutionMessage::default()
        };
        let input = Input::BashFinished(message);
        let reply = pi_core::submit(self.session, input).reply().await;
        match (reply.reply, reply.error) {
            (_, Some(PromptError::Session(error))) => Err(error.into()),
            (Reply::Rejected(Rejection::Closed), _) => Err(BashError::Closed),
            (Reply::Rejected(_), _) => Err(BashError::Crashed),
            _ => Ok(pending::keep(self.session)?),
        }
    }

    pub fn abort(self) {
        self.session.0.state().cancel_bash();
    }

    pub fn is_running(self) -> bool {
        !self.session.0.state().bash.is_empty()
    }

    /// Returns whether results are held back until the run ends.
    pub fn has_pending_results(self) -> bool {
        self.session.0.machine().waiting_bash().next().is_some()
    }

    pub(super) async fn wait(self) {
        let mut count = self.session.0.bash_count.subscribe();
        if count.wait_for(|count| *count == 0).await.is_err() {
            tracing::debug!("session dropped while waiting for bash");
        }
    }
}
