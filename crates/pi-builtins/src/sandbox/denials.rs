//! Asks the user about what the sandbox denied: allow it once, for the session, always, or not.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use pi_core::{
    DirectoryEntry, Environment, ExitCode, FileError, FileFuture, FileOperations, FileStatus,
    ObservedChange, OpenFile, ProcessError, ProcessOperations, ShellCommand,
};
use pi_host::{
    AgentSession, ConfinableEnvironment, Denial, DeniedAccess, DialogPrompt, ExtensionUi, Sandbox,
    Workspace,
};
use pi_protocol::ConfigScope;
use pi_protocol::settings::{Checked, OnDenied, SandboxNetwork};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

const NO: &str = "No";
const ONCE: &str = "Once";
const SESSION: &str = "In this session";
const ALWAYS: &str = "Always: add it to the settings";

/// How often a command is run again after something was allowed.
const MAX_RUNS: usize = 8;

/// Bytes of output that are kept to find what was denied.
const TAIL_BYTES: usize = 8 * 1024;

/// Capacity of the channel with output, in chunks of up to 64 KiB.
const OUTPUT_CHUNKS: usize = 8;

/// Asks about denials, and knows what was allowed.
pub(super) struct DenialPrompter {
    workspace: Workspace,
    ui: Arc<dyn ExtensionUi>,
    environment: ConfinableEnvironment,
    /// With what was allowed for the session.
    sandbox: Mutex<Arc<Sandbox>>,
    session: Arc<Mutex<Option<AgentSession>>>,
    /// One question at a time.
    asking: tokio::sync::Mutex<()>,
}

impl DenialPrompter {
    /// Returns the environment of a session in which the user is asked about denials.
    pub(super) fn environment(
        workspace: &Workspace,
        ui: &Arc<dyn ExtensionUi>,
        session: &Arc<Mutex<Option<AgentSession>>>,
        environment: &ConfinableEnvironment,
        sandbox: &Arc<Sandbox>,
    ) -> Environment {
        let confined = environment.confined(Some(sandbox));
        let on_denied = workspace.settings.settings().sandbox.on_denied.clone();
        let asks = on_denied.is_none_or(|it| it == Checked::Valid(OnDenied::Ask));
        if !asks || !ui.mode().has_ui() {
            return confined;
        }
        let prompter = Arc::new(Self {
            workspace: workspace.clone(),
            ui: Arc::clone(ui),
            environment: environment.clone(),
            sandbox: Mutex::new(Arc::clone(sandbox)),
            session: Arc::clone(session),
            asking: tokio::sync::Mutex::default(),
        });
        Environment {
            files: Arc::new(AskingFiles {
                prompter: Arc::clone(&prompter),
                call: None,
                allowed: Mutex::default(),
            }),
            processes: Arc::new(AskingProcesses(prompter)),
            ..confined
        }
    }

    fn current(&self) -> Arc<Sandbox> {
        Arc::clone(&self.sandbox.lock())
    }

    /// Asks whether an access is allowed that a sandbox has denied; returns that sandbox with the access.
    async fn ask(&self, denied: DeniedAccess, by: &Sandbox) -> Option<Arc<Sandbox>> {
        let allowed = match denied {
            DeniedAccess::Write(path) => DeniedAccess::Write(by.allowable_directory(&path)?),
            DeniedAccess::Network => DeniedAccess::Network,
        };
        if is_allowed(by, &allowed) {
            // Something else denies it, such as a file system that is read-only for every program.
            return None;
        }
        let session = self.session.lock().clone()?;
        let _asking = self.asking.lock().await;
        let current = self.current();
        if is_allowed(&current, &allowed) {
            // By the answer to the question before.
            return widened(by, &allowed);
        }
        let title = match &allowed {
            DeniedAccess::Write(directory) => {
                format!(
                    "The sandbox denied writing. Allow writing in {:?}?",
                    directory.display().to_string()
                )
            }
            DeniedAccess::Network => "The sandbox denied network access. Allow it?".to_owned(),
        };
        let prompt = DialogPrompt::Select {
            title,
            options: [NO, ONCE, SESSION, ALWAYS].map(str::to_owned).into(),
        };
        let answer = session.requests().ask_dialog(&self.ui, prompt).await;
        let answer = answer.filter(|answer| [ONCE, SESSION, ALWAYS].contains(&answer.as_str()))?;
        if answer != ONCE {
            *self.sandbox.lock() = widened(&current, &allowed)?;
        }
        if answer == ALWAYS {
            self.remember(&allowed);
        }
        // With what was allowed once before.
        widened(by, &allowed)
    }

    /// Adds what was allowed to the settings of the user.
    fn remember(&self, allowed: &DeniedAccess) {
        let updated = self
            .workspace
            .settings
            .update(ConfigScope::User, |settings| {
                let sandbox = &mut settings.sandbox;
                match allowed {
                    DeniedAccess::Write(directory) => {
                        let writable = sandbox.writable.get_or_insert_default();
                        writable.push(directory.to_string_lossy().into_owned());
                    }
                    DeniedAccess::Network => sandbox.network = Some(SandboxNetwork::On.into()),
                }
            });
        if let Err(error) = updated {
            tracing::warn!(%error, "cannot add what was allowed to the settings");
        }
    }
}

fn widened(sandbox: &Sandbox, access: &DeniedAccess) -> Option<Arc<Sandbox>> {
    match sandbox.widened(access) {
        Ok(widened) => Some(Arc::new(widened)),
        Err(error) => {
            tracing::warn!(%error, "cannot change the sandbox");
            None
        }
    }
}

fn is_allowed(sandbox: &Sandbox, access: &DeniedAccess) -> bool {
    match access {
        DeniedAccess::Write(directory) => sandbox.policy().check_write(directory).is_ok(),
        DeniedAccess::Network => sandbox.policy().network == SandboxNetwork::On,
    }
}

/// Commands that run again if the user allows what they were denied.
struct AskingProcesses(Arc<DenialPrompter>);

impl AskingProcesses {
    fn confined(&self, sandbox: &Arc<Sandbox>) -> Arc<dyn ProcessOperations> {
        self.0.environment.confined(Some(sandbox)).processes
    }

    async fn run(
        &self,
        command: ShellCommand,
        output: mpsc::Sender<Bytes>,
        cancel: CancellationToken,
    ) -> Result<ExitCode, ProcessError> {
        let mut sandbox = self.0.current();
        let mut runs = 1;
        loop {
            let (sender, mut chunks) = mpsc::channel(OUTPUT_CHUNKS);
            let processes = self.confined(&sandbox);
            let execution = processes.execute(command.clone(), sender, cancel.clone());
            let forward = async {
                let mut tail = Vec::new();
                while let Some(chunk) = chunks.recv().await {
                    tail.extend_from_slice(&chunk);
                    let excess = tail.len().saturating_sub(TAIL_BYTES);
                    tail.drain(..excess);
                    // Without a receiver the output is still read.
                    output.send(chunk).await.ok();
                }
                tail
            };
            let (ended, tail) = tokio::join!(execution, forward);
            let code = ended?;
            if code == ExitCode(Some(0)) || runs == MAX_RUNS {
                return Ok(code);
            }
            let Some(denied) = sandbox.denied_access(&String::from_utf8_lossy(&tail)) else {
                return Ok(code);
            };
            let denied = match denied {
                DeniedAccess::Write(path) => DeniedAccess::Write(command.cwd.join(path)),
                DeniedAccess::Network => DeniedAccess::Network,
            };
            let asked = cancel
                .run_until_cancelled(self.0.ask(denied, &sandbox))
                .await;
            let Some(widened) = asked.ok_or(ProcessError::Aborted)? else {
                return Ok(code);
            };
            runs += 1;
            sandbox = widened;
            let note = Bytes::from_static(b"\n[The user allowed it: the command runs again.]\n");
            output.send(note).await.ok();
        }
    }
}

impl ProcessOperations for AskingProcesses {
    fn execute(
        &self,
        command: ShellCommand,
        output: mpsc::Sender<Bytes>,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<ExitCode, ProcessError>> {
        self.run(command, output, cancel).boxed()
    }

    fn execute_with_input(
        &self,
        command: ShellCommand,
        input: mpsc::Receiver<Bytes>,
        output: mpsc::Sender<Bytes>,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<ExitCode, ProcessError>> {
        let processes = self.confined(&self.0.current());
        async move {
            let running = processes.execute_with_input(command, input, output, cancel);
            running.await
        }
        .boxed()
    }

    fn failure_hint(&self, output: &str) -> Option<String> {
        self.0.current().hint(output)
    }
}

/// Files that are written if the user allows it.
struct AskingFiles {
    prompter: Arc<DenialPrompter>,
    call: Option<String>,
    /// The sandbox with what was allowed for this call.
    allowed: Mutex<Option<Arc<Sandbox>>>,
}

impl AskingFiles {
    fn confined(&self, sandbox: &Arc<Sandbox>) -> Arc<dyn FileOperations> {
        let files = self.prompter.environment.confined(Some(sandbox)).files;
        let call = self.call.as_deref();
        call.and_then(|call| files.for_call(call)).unwrap_or(files)
    }

    fn sandbox(&self) -> Arc<Sandbox> {
        let allowed = self.allowed.lock().clone();
        allowed.unwrap_or_else(|| self.prompter.current())
    }

    fn current(&self) -> Arc<dyn FileOperations> {
        self.confined(&self.sandbox())
    }

    /// Returns the files to try a failed operation with again.
    async fn allow(&self, error: &FileError) -> Option<Arc<dyn FileOperations>> {
        let FileError::Other(error) = error else {
            return None;
        };
        let denial = error.get_ref()?.downcast_ref::<Denial>()?;
        let Denial::Write(path) = denial else {
            return None;
        };
        let denied = DeniedAccess::Write(path.clone());
        let sandbox = self.prompter.ask(denied, &self.sandbox()).await?;
        if self.call.is_some() {
            *self.allowed.lock() = Some(Arc::clone(&sandbox));
        }
        Some(self.confined(&sandbox))
    }
}

impl FileOperations for AskingFiles {
    fn real_path<'a>(&'a self, path: &'a Path) -> FileFuture<'a, PathBuf> {
        async move { self.current().real_path(path).await }.boxed()
    }

    fn status<'a>(&'a self, path: &'a Path) -> FileFuture<'a, FileStatus> {
        async move { self.current().status(path).await }.boxed()
    }

    fn open<'a>(&'a self, path: &'a Path) -> FileFuture<'a, OpenFile> {
        async move { self.current().open(path).await }.boxed()
    }

    fn open_real<'a>(&'a self, path: &'a Path) -> FileFuture<'a, OpenFile> {
        async move { self.current().open_real(path).await }.boxed()
    }

    fn list<'a>(&'a self, path: &'a Path) -> FileFuture<'a, Vec<DirectoryEntry>> {
        async move { self.current().list(path).await }.boxed()
    }

    fn check_editable<'a>(&'a self, path: &'a Path) -> FileFuture<'a, ()> {
        async move {
            match self.current().check_editable(path).await {
                Err(error) => match self.allow(&error).await {
                    Some(files) => files.check_editable(path).await,
                    None => Err(error),
                },
                checked => checked,
            }
        }
        .boxed()
    }

    fn create_directories<'a>(&'a self, path: &'a Path) -> FileFuture<'a, ()> {
        async move {
            match self.current().create_directories(path).await {
                Err(error) => match self.allow(&error).await {
                    Some(files) => files.create_directories(path).await,
                    None => Err(error),
                },
                created => created,
            }
        }
        .boxed()
    }

    fn replace<'a>(&'a self, path: &'a Path, contents: Vec<u8>) -> FileFuture<'a, ()> {
        async move {
            match self.current().replace(path, contents.clone()).await {
                Err(error) => match self.allow(&error).await {
                    Some(files) => files.replace(path, contents).await,
                    None => Err(error),
                },
                replaced => replaced,
            }
        }
        .boxed()
    }

    fn observe_change<'a>(
        &'a self,
        path: &'a Path,
    ) -> BoxFuture<'a, Option<Box<dyn ObservedChange>>> {
        async move { self.current().observe_change(path).await }.boxed()
    }

    fn for_call(&self, call: &str) -> Option<Arc<dyn FileOperations>> {
        Some(Arc::new(Self {
            prompter: Arc::clone(&self.prompter),
            call: Some(call.to_owned()),
            allowed: Mutex::default(),
        }))
    }
}
