//! The built-in extension `process`: commands in the background of a session, and the command `/ps`. Only sessions whose
//! settings or flags name it have it.

use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use pi_config::BuiltinExtension;
use pi_host::{
    AgentSession, CustomDelivery, CustomMessageDraft, CustomMessageOptions, DialogPrompt,
    ExtensionNotice, ExtensionUi, InputHook, KeptParts, LifecycleHook, NativeCommand,
    NativeContext, NativeExtension, NativeParts, Participants, SessionShutdown, SessionStart,
    StartReason,
};
use pi_protocol::MessageContent;
use pi_protocol::settings::{SandboxMode, SandboxSettings};
use pi_tools::{
    BackgroundProcesses, ProcessExit, ProcessState, ProcessStatus, ProcessTool, ProcessToolOptions,
};
use tokio::sync::Mutex as AsyncMutex;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

const COMMAND: &str = "ps";

/// Type of the messages about processes that have ended.
const MESSAGE_TYPE: &str = "process";

pub(crate) const EXTENSION: NativeExtension = NativeExtension::new(BuiltinExtension::Process, load);

/// Processes, and what receives their ends. A reloaded session continues with them, unless its sandbox is another one.
#[derive(Clone)]
struct SessionProcesses {
    processes: BackgroundProcesses,
    exits: Arc<AsyncMutex<UnboundedReceiver<ProcessExit>>>,
    /// What they may do.
    sandbox: SandboxChoice,
}

/// The mode, and the other settings.
type SandboxChoice = (SandboxMode, SandboxSettings);

/// The processes of a session that is reloaded; stopped if the reloaded session does not continue with them.
struct KeptProcesses(Option<SessionProcesses>);

impl KeptProcesses {
    /// Returns them if they run in the same sandbox.
    fn claim(mut self, sandbox: &SandboxChoice) -> Option<SessionProcesses> {
        self.0.take_if(|kept| kept.sandbox == *sandbox)
    }
}

impl Drop for KeptProcesses {
    fn drop(&mut self) {
        if let Some(kept) = &self.0 {
            kept.processes.cancel_all();
        }
    }
}

fn load(context: &NativeContext<'_>) -> NativeParts {
    let workspace = context.workspace;
    let sandbox = (
        workspace.sandbox_mode(),
        workspace.settings.settings().sandbox.clone(),
    );
    let kept: Option<KeptProcesses> = context.host.kept_parts().take(context.session);
    let running = kept
        .and_then(|kept| kept.claim(&sandbox))
        .unwrap_or_else(|| {
            let (processes, exits) = BackgroundProcesses::new();
            SessionProcesses {
                processes,
                exits: Arc::new(AsyncMutex::new(exits)),
                sandbox,
            }
        });
    let processes = running.processes.clone();
    let extension = Arc::new(ProcessExtension {
        running,
        kept: Arc::clone(context.host.kept_parts()),
        ui: Arc::clone(context.ui),
        session: Mutex::default(),
        reporting: Mutex::default(),
        reload: CancellationToken::new(),
    });
    let variables = Arc::downgrade(&extension);
    let tool = ProcessTool::new(ProcessToolOptions {
        processes,
        variables: Arc::new(move || {
            let session = variables.upgrade()?.session()?;
            session.tools().toolset().session_variables().get()
        }),
        command_prefix: workspace.settings.settings().shell_command_prefix.clone(),
        spill_directory: std::env::temp_dir(),
    });
    let participants = Participants::builder()
        .input(Arc::clone(&extension))
        .lifecycle(Arc::clone(&extension))
        .build();
    NativeParts {
        tools: vec![tool.registered()],
        commands: vec![NativeCommand {
            name: COMMAND,
            description: "List and stop background processes",
        }],
        participants,
        bind: Some(Box::new(move |session| {
            *extension.session.lock() = Some(session.clone());
        })),
        ..NativeParts::default()
    }
}

struct ProcessExtension {
    running: SessionProcesses,
    kept: Arc<KeptParts>,
    ui: Arc<dyn ExtensionUi>,
    /// From the moment the session exists until it ends.
    session: Mutex<Option<AgentSession>>,
    /// Reports ended processes to the session.
    reporting: Mutex<JoinSet<()>>,
    /// Leaves further reports to the next extension.
    reload: CancellationToken,
}

impl ProcessExtension {
    fn session(&self) -> Option<AgentSession> {
        self.session.lock().clone()
    }

    fn notify(&self, message: String) -> BoxFuture<'static, ()> {
        self.ui.notify(ExtensionNotice::Notify {
            message,
            notify_type: Some("info".to_owned()),
        })
    }

    /// Lists the processes; a user can stop one of them.
    async fn list(&self) {
        let processes = self.running.processes.list();
        let rows: Vec<String> = processes.iter().map(row).collect();
        let session = self.session();
        let Some(session) = session.filter(|_| self.ui.mode().has_ui() && !rows.is_empty()) else {
            let text = match rows.as_slice() {
                [] => "No background processes".to_owned(),
                _ => rows.join("\n"),
            };
            return self.notify(text).await;
        };
        let title = "Background processes: choose one to stop it".to_owned();
        let options = rows.clone();
        let prompt = DialogPrompt::Select { title, options };
        let Some(chosen) = session.requests().ask_dialog(&self.ui, prompt).await else {
            return;
        };
        let chosen = rows.iter().position(|row| *row == chosen);
        let Some(process) = chosen.and_then(|index| processes.get(index)) else {
            return;
        };
        let outcome = match self.running.processes.stop(&process.name).await {
            Ok(status) => format!("{} {}", status.name, status.state),
            Err(error) => error.to_string(),
        };
        self.notify(outcome).await;
    }
}

fn row(process: &ProcessStatus) -> String {
    let ProcessStatus { name, command, .. } = process;
    let command = command.lines().next().unwrap_or_default();
    let age = process.age_seconds;
    format!("{name} {} ({age} s): {command}", process.state)
}

impl InputHook for ProcessExtension {
    fn has_command(&self, name: &str) -> bool {
        name == COMMAND
    }

    fn run_command<'a>(&'a self, _name: &'a str, _arguments: &'a str) -> BoxFuture<'a, ()> {
        self.list().boxed()
    }
}

impl LifecycleHook for ProcessExtension {
    fn session_start(&self, _start: SessionStart) -> BoxFuture<'_, ()> {
        let mut reporting = self.reporting.lock();
        if let Some(session) = self.session().filter(|_| reporting.is_empty()) {
            let exits = Arc::clone(&self.running.exits);
            reporting.spawn(report_exits(session, exits, self.reload.clone()));
        }
        async {}.boxed()
    }

    fn session_shutdown(&self, shutdown: SessionShutdown) -> BoxFuture<'_, ()> {
        async move {
            let session = self.session.lock().take();
            match session.filter(|_| shutdown.next == Some(StartReason::Reload)) {
                Some(session) => {
                    self.reload.cancel();
                    let kept = KeptProcesses(Some(self.running.clone()));
                    self.kept.keep(&session.session_id(), kept);
                }
                None => {
                    self.reporting.lock().abort_all();
                    self.running.processes.stop_all().await;
                }
            }
        }
        .boxed()
    }
}

/// Sends a message to the model for each process that has ended.
async fn report_exits(
    session: AgentSession,
    exits: Arc<AsyncMutex<UnboundedReceiver<ProcessExit>>>,
    reload: CancellationToken,
) {
    let next = || async { exits.lock().await.recv().await };
    while let Some(exit) = reload.run_until_cancelled(next()).await.flatten() {
        let options = CustomMessageOptions {
            trigger_turn: Some(true),
            deliver_as: Some(CustomDelivery::FollowUp),
        };
        let sent = session.send_custom_message(message(&exit), options).await;
        if let Err(error) = sent {
            tracing::warn!(%error, process = exit.name, "cannot report the end of a process");
        }
    }
}

fn message(exit: &ProcessExit) -> CustomMessageDraft {
    let mut text = format!("The process {} {}.", exit.name, exit.state);
    if !exit.output.is_empty() && !matches!(exit.state, ProcessState::Failed(_)) {
        text.push_str("\n\n");
        text.push_str(exit.output.trim_end());
    }
    CustomMessageDraft {
        custom_type: MESSAGE_TYPE.to_owned(),
        content: MessageContent::Text(text),
        display: true,
        details: None,
    }
}
