//! Commands that are tried: they run in an overlay, and the user keeps or discards what they have changed.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use pi_core::{ExitCode, FileOperations, ProcessError, ProcessOperations, ShellCommand};
use pi_host::{
    AgentSession, Attempt, ConfinableEnvironment, CustomMessageDraft, CustomMessageOptions,
    DialogPrompt, ExtensionNotice, ExtensionUi, KeptChanges, Sandbox, SandboxError, TriedChange,
    Workspace,
};
use pi_protocol::MessageContent;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::keep_question::{self, Choices, KeepAnswer};

/// Kind of the message about a decision that was made later.
const MESSAGE: &str = "sandbox-try";

/// Set for tried commands, so that `git status` does not change the index.
const NO_OPTIONAL_LOCKS: (&str, &str) = ("GIT_OPTIONAL_LOCKS", "0");

/// Tries commands of a session.
pub(super) struct TriedCommands {
    workspace: Workspace,
    ui: Arc<dyn ExtensionUi>,
    /// Whether changes are kept where no user can be asked.
    keeps_without_user: bool,
    /// Started when a command is first tried.
    sandbox: Mutex<Option<Arc<Sandbox>>>,
    environment: Mutex<Option<ConfinableEnvironment>>,
    session: Mutex<Option<AgentSession>>,
    /// Calls whose commands are tried.
    calls: Mutex<BTreeSet<String>>,
    /// Commands whose user decides later, oldest first.
    undecided: Mutex<Vec<Undecided>>,
    /// One question at a time.
    asking: tokio::sync::Mutex<()>,
}

/// A command that has run, with its changes.
struct Undecided {
    attempt: Attempt,
    changes: Vec<TriedChange>,
    command: String,
    call: Option<String>,
}

impl TriedCommands {
    pub(super) fn new(workspace: &Workspace, ui: &Arc<dyn ExtensionUi>) -> Self {
        let settings = workspace.settings.settings();
        Self {
            workspace: workspace.clone(),
            ui: Arc::clone(ui),
            keeps_without_user: settings.sandbox.keep_tried == Some(true),
            sandbox: Mutex::default(),
            environment: Mutex::default(),
            session: Mutex::default(),
            calls: Mutex::default(),
            undecided: Mutex::default(),
            asking: tokio::sync::Mutex::default(),
        }
    }

    pub(super) fn set_environment(&self, environment: ConfinableEnvironment) {
        *self.environment.lock() = Some(environment);
    }

    pub(super) fn bind(&self, session: &AgentSession) {
        *self.session.lock() = Some(session.clone());
    }

    /// The session ends: what is undecided is discarded.
    pub(super) fn release(&self) {
        drop(self.session.lock().take());
        drop(std::mem::take(&mut *self.undecided.lock()));
    }

    /// Returns processes that are all tried.
    pub(super) fn trying_processes(self: &Arc<Self>) -> Option<Arc<dyn ProcessOperations>> {
        let environment = self.environment.lock().clone()?;
        Some(Arc::new(TryingProcesses {
            tried: Arc::clone(self),
            processes: environment.confined(None).processes,
            tries_all: true,
            call: None,
        }))
    }

    /// Tries the command of a call.
    pub(super) fn try_call(&self, call: &str) {
        self.calls.lock().insert(call.to_owned());
    }

    fn takes_call(&self, call: &str) -> bool {
        self.calls.lock().remove(call)
    }

    async fn notify(&self, message: impl Into<String>) {
        let notice = ExtensionNotice::Notify {
            message: message.into(),
            notify_type: Some("info".to_owned()),
        };
        self.ui.notify(notice).await;
    }

    /// Runs work that blocks on the disk.
    async fn blocking<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self) -> T + Send + 'static,
    ) -> io::Result<T> {
        let shared = Arc::clone(self);
        let done = tokio::task::spawn_blocking(move || work(&shared)).await;
        done.map_err(io::Error::other)
    }

    fn start(&self) -> Result<Attempt, Arc<SandboxError>> {
        let mut started = self.sandbox.lock();
        let sandbox = match &*started {
            Some(sandbox) => Arc::clone(sandbox),
            None => Arc::clone(started.insert(self.workspace.try_sandbox()?)),
        };
        drop(started);
        Ok(sandbox.attempt()?)
    }

    /// Runs a command in an overlay and decides about its changes.
    async fn run(
        self: &Arc<Self>,
        mut command: ShellCommand,
        output: mpsc::Sender<Bytes>,
        cancel: CancellationToken,
        call: Option<&str>,
    ) -> Result<ExitCode, ProcessError> {
        let failed = |error: &dyn std::fmt::Display| {
            ProcessError::Other(format!("the command was not tried: {error}"))
        };
        let environment = self.environment.lock().clone();
        let environment = environment.ok_or_else(|| failed(&"the session has ended"))?;
        let attempt = self.blocking(Self::start).await;
        let attempt = attempt
            .map_err(|error| failed(&error))?
            .map_err(|error| failed(&error))?;
        let text = command.command.clone();
        let (name, value) = NO_OPTIONAL_LOCKS;
        command
            .environment
            .insert(name.into(), OsString::from(value));
        let processes = environment.confined(Some(attempt.sandbox())).processes;
        let run = processes.execute(command, output.clone(), cancel.clone());
        let run = run.await;
        let (attempt, found) = tokio::task::spawn_blocking(move || {
            let changes = attempt.changes();
            (attempt, changes)
        })
        .await
        .map_err(|error| failed(&error))?;
        let code = run?;
        let changes = found.map_err(|error| {
            ProcessError::Other(format!(
                "the changes of the command were discarded: {error}"
            ))
        })?;
        if changes.is_empty() {
            return Ok(code);
        }
        let summary = keep_question::summary(&changes);
        let tried = Undecided {
            attempt,
            changes,
            command: text,
            call: call.map(str::to_owned),
        };
        let outcome = cancel.run_until_cancelled(self.decide(tried)).await;
        let outcome = outcome.ok_or(ProcessError::Aborted)?;
        let note = format!("\n[Tried: {summary}. {outcome}]\n");
        // Fails if the caller does not read the output.
        output.send(Bytes::from(note)).await.ok();
        Ok(code)
    }

    fn cwd(&self) -> PathBuf {
        let cwd = &self.workspace.cwd;
        cwd.canonicalize().unwrap_or_else(|_| cwd.clone())
    }

    async fn ask(&self, prompt: DialogPrompt) -> Option<String> {
        let session = self.session.lock().clone()?;
        session.requests().ask_dialog(&self.ui, prompt).await
    }

    /// Asks about the changes of a command and does what the user wants; returns what happened, for the model.
    async fn decide(self: &Arc<Self>, tried: Undecided) -> String {
        if !self.ui.mode().has_ui() {
            if self.keeps_without_user {
                let all = tried.changes.clone();
                return self.keep(tried, all).await;
            }
            return "Nothing was applied: there is no user to ask; the user can run pi with --keep."
                .to_owned();
        }
        let _asking = self.asking.lock().await;
        let cwd = self.cwd();
        loop {
            let prompt = keep_question::prompt(&tried.command, &tried.changes, &cwd);
            let answer = self.ask(prompt).await;
            match keep_question::read_answer(answer.as_deref()) {
                KeepAnswer::Keep => {
                    let all = tried.changes.clone();
                    return self.keep(tried, all).await;
                }
                KeepAnswer::Discard => {
                    // Removes the overlay.
                    tokio::task::spawn_blocking(move || drop(tried)).await.ok();
                    return "The user discarded the changes: nothing was applied.".to_owned();
                }
                KeepAnswer::Choose => {
                    if let Some(chosen) = self.choose(&tried.changes, &cwd).await {
                        return self.keep(tried, chosen).await;
                    }
                }
                KeepAnswer::Differences => {
                    let changes = tried.changes.clone();
                    let shown = self.blocking(move |_| keep_question::differences(&changes));
                    self.ask(DialogPrompt::Editor {
                        title: "Differences (changes here have no effect)".to_owned(),
                        prefill: Some(shown.await.unwrap_or_else(|error| error.to_string())),
                    })
                    .await;
                }
                KeepAnswer::Later => {
                    self.undecided.lock().push(tried);
                    self.notify("Not applied yet: /try keeps or discards the changes")
                        .await;
                    return "Not applied yet: the user decides later. Until then, other commands and tools do not see \
                            the changes."
                        .to_owned();
                }
            }
        }
    }

    /// Lets the user choose among changes; `None` to go back.
    async fn choose(&self, changes: &[TriedChange], cwd: &Path) -> Option<Vec<TriedChange>> {
        let mut choices = Choices::new(changes, cwd);
        loop {
            let answer = self.ask(choices.prompt()).await;
            match choices.answer(answer.as_deref()) {
                Ok(Some(chosen)) => return Some(chosen),
                Ok(None) => {}
                Err(()) => return None,
            }
        }
    }

    /// Keeps changes and discards the others. The file history records what is replaced.
    async fn keep(self: &Arc<Self>, tried: Undecided, chosen: Vec<TriedChange>) -> String {
        let files = self
            .environment
            .lock()
            .as_ref()
            .map(|environment| environment.confined(None).files);
        let call = tried.call.as_deref();
        let files = files.map(|files| {
            let for_call = call.and_then(|call| files.for_call(call));
            for_call.unwrap_or(files)
        });
        let total = tried.changes.len();
        let handle = Handle::current();
        let kept =
            self.blocking(move |_| keep_observed(&tried.attempt, &chosen, files.as_ref(), &handle));
        match kept.await {
            Ok(Ok(kept)) => keep_question::kept_text(&kept, total, &self.cwd()),
            Ok(Err(error)) | Err(error) => format!("The changes could not be kept: {error}"),
        }
    }

    /// Asks about the oldest command whose user has not decided, and reports the decision to the model.
    pub(super) async fn decide_oldest(self: &Arc<Self>) {
        let oldest = {
            let mut undecided = self.undecided.lock();
            (!undecided.is_empty()).then(|| undecided.remove(0))
        };
        let Some(tried) = oldest else {
            let usage = "No changes wait for a decision. /try COMMAND runs a command whose changes you keep or discard.";
            return self.notify(usage).await;
        };
        let command = tried.command.clone();
        let before = self.undecided.lock().len();
        let outcome = self.decide(tried).await;
        if self.undecided.lock().len() > before {
            return;
        }
        self.notify(outcome.clone()).await;
        let Some(session) = self.session.lock().clone() else {
            return;
        };
        let draft = CustomMessageDraft {
            custom_type: MESSAGE.to_owned(),
            content: MessageContent::Text(format!(
                "About the tried command `{command}`: {outcome}"
            )),
            display: false,
            details: None,
        };
        let sent = session.send_custom_message(draft, CustomMessageOptions::default());
        if let Err(error) = sent.await {
            tracing::warn!(%error, "cannot report the decision about a tried command");
        }
    }
}

/// Keeps changes on a blocking thread.
fn keep_observed(
    attempt: &Attempt,
    chosen: &[TriedChange],
    files: Option<&Arc<dyn FileOperations>>,
    handle: &Handle,
) -> io::Result<KeptChanges> {
    attempt.keep(chosen, &mut |path, step| {
        let Some(files) = files else { return step() };
        let observed = handle.block_on(files.observe_change(path));
        let done = step();
        if let Some(observed) = observed {
            handle.block_on(observed.finish());
        }
        done
    })
}

/// Processes of which some are tried.
pub(super) struct TryingProcesses {
    pub(super) tried: Arc<TriedCommands>,
    /// For commands that are not tried.
    pub(super) processes: Arc<dyn ProcessOperations>,
    /// Whether every command is tried.
    pub(super) tries_all: bool,
    pub(super) call: Option<String>,
}

impl TryingProcesses {
    fn is_tried(&self) -> bool {
        let call = self.call.as_deref();
        // The call is no longer needed when its command has started.
        call.is_some_and(|call| self.tried.takes_call(call)) || self.tries_all
    }
}

impl ProcessOperations for TryingProcesses {
    fn execute(
        &self,
        command: ShellCommand,
        output: mpsc::Sender<Bytes>,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<ExitCode, ProcessError>> {
        if !self.is_tried() {
            return self.processes.execute(command, output, cancel);
        }
        async move {
            let call = self.call.as_deref();
            self.tried.run(command, output, cancel, call).await
        }
        .boxed()
    }

    fn execute_with_input(
        &self,
        command: ShellCommand,
        input: mpsc::Receiver<Bytes>,
        output: mpsc::Sender<Bytes>,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<ExitCode, ProcessError>> {
        if self.is_tried() {
            let text = "a background process cannot be tried; run the command with bash";
            return std::future::ready(Err(ProcessError::Other(text.to_owned()))).boxed();
        }
        self.processes
            .execute_with_input(command, input, output, cancel)
    }

    fn for_call(&self, call: &str) -> Option<Arc<dyn ProcessOperations>> {
        let processes = self.processes.for_call(call);
        Some(Arc::new(Self {
            tried: Arc::clone(&self.tried),
            processes: processes.unwrap_or_else(|| Arc::clone(&self.processes)),
            tries_all: self.tries_all,
            call: Some(call.to_owned()),
        }))
    }

    fn failure_hint(&self, output: &str) -> Option<String> {
        self.processes.failure_hint(output)
    }
}
