//! The built-in extension `sandbox`: the commands `/sandbox` and `/try`, the word in the footer, and commands that are tried,
//! for sessions that are confined or have rules about trying. The sandbox itself does not depend on it.

mod denials;
mod keep_question;
mod no_sandbox;
mod tried_commands;

use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use pi_config::BuiltinExtension;
use pi_core::{HookError, PendingToolCall, ReviewedToolCall};
use pi_host::{
    AgentSession, BashRequest, Effect, ExtensionMode, ExtensionNotice, ExtensionUi, InputHook,
    LifecycleHook, NativeCommand, NativeContext, NativeExtension, NativeParts, Participants,
    PermissionRules, Sandbox, SessionShutdown, SessionStart, ToolPolicy, ToolUse, UserBashVerdict,
    UserCommand,
};
use pi_protocol::settings::SandboxMode;
use tokio_util::sync::CancellationToken;

use denials::DenialPrompter;
use tried_commands::{TriedCommands, TryingProcesses};

const SHOW: &str = "sandbox";
const DESCRIPTION: &str = "Show what the sandbox allows";
const TRY: &str = "try";

/// Lines of output of a command after `/try` that are shown in the terminal.
const MAX_SHOWN_LINES: usize = 40;

pub(crate) const EXTENSION: NativeExtension = NativeExtension::new(BuiltinExtension::Sandbox, load);

fn load(context: &NativeContext<'_>) -> NativeParts {
    let workspace = context.workspace;
    let Ok(sandbox) = workspace.sandbox() else {
        return NativeParts::default();
    };
    let permissions = &workspace.settings.settings().permissions;
    let home = workspace.env.home_dir();
    // Invalid rules are an error of the session.
    let rules = PermissionRules::parse(permissions, &workspace.cwd, home.as_deref());
    let rules = rules.ok().filter(PermissionRules::has_tried_commands);
    if sandbox.is_none() && rules.is_none() {
        return no_sandbox::parts(context.ui);
    }
    let tries_all = sandbox
        .as_ref()
        .is_some_and(|sandbox| sandbox.policy().mode == SandboxMode::Try);
    let extension = Arc::new(SandboxExtension {
        tried: Arc::new(TriedCommands::new(workspace, context.ui)),
        sandbox: sandbox.clone(),
        ui: Arc::clone(context.ui),
        rules,
        session: Arc::default(),
        requested: Mutex::default(),
    });
    let participants = Participants::builder()
        .input(Arc::clone(&extension))
        .tool_policy(Arc::clone(&extension))
        .lifecycle(Arc::clone(&extension))
        .build();
    let commands = vec![
        NativeCommand {
            name: SHOW,
            description: DESCRIPTION,
        },
        NativeCommand {
            name: TRY,
            description: "Run a command, then keep or discard what it changed",
        },
    ];
    let tried = Arc::clone(&extension.tried);
    let (workspace, ui) = (workspace.clone(), Arc::clone(context.ui));
    let session = Arc::clone(&extension.session);
    NativeParts {
        commands,
        participants,
        wrap_environment: Some(Box::new(move |confinable| {
            let mut environment = match &sandbox {
                Some(sandbox) => {
                    DenialPrompter::environment(&workspace, &ui, &session, &confinable, sandbox)
                }
                None => confinable.confined(None),
            };
            tried.set_environment(confinable);
            environment.processes = Arc::new(TryingProcesses {
                tried: Arc::clone(&tried),
                processes: environment.processes,
                tries_all,
                call: None,
            });
            environment
        })),
        bind: Some(Box::new(move |session| extension.bind(session))),
        ..NativeParts::default()
    }
}

struct SandboxExtension {
    tried: Arc<TriedCommands>,
    /// `None` if only some commands are tried.
    sandbox: Option<Arc<Sandbox>>,
    ui: Arc<dyn ExtensionUi>,
    /// Which commands of the model are tried.
    rules: Option<PermissionRules>,
    /// From the moment the session exists until it ends.
    session: Arc<Mutex<Option<AgentSession>>>,
    /// The command that `/try` is about to run.
    requested: Mutex<Option<String>>,
}

impl SandboxExtension {
    fn bind(&self, session: &AgentSession) {
        *self.session.lock() = Some(session.clone());
        self.tried.bind(session);
    }

    async fn notify(&self, message: String) {
        let notice = ExtensionNotice::Notify {
            message,
            notify_type: Some("info".to_owned()),
        };
        self.ui.notify(notice).await;
    }

    async fn show(&self) {
        let description = self.sandbox.as_ref().map(|sandbox| sandbox.describe());
        let description = description.unwrap_or_else(|| no_sandbox::OFF.to_owned());
        self.notify(description).await;
    }

    /// Runs a command of the user, like `!`.
    async fn try_command(&self, command: &str) {
        let Some(session) = self.session.lock().clone() else {
            return;
        };
        *self.requested.lock() = Some(command.to_owned());
        let request = BashRequest {
            command: command.to_owned(),
            ..BashRequest::default()
        };
        match session.user_commands().run(request).await {
            // Other clients show commands of the user as such.
            Ok(result) if self.ui.mode() == ExtensionMode::Terminal => {
                let lines: Vec<&str> = result.output.trim_end().lines().collect();
                let shown = lines.len().saturating_sub(MAX_SHOWN_LINES);
                let shown = lines.get(shown..).unwrap_or_default().join("\n");
                self.notify(format!("$ {command}\n{shown}")).await;
            }
            Ok(_) => {}
            Err(error) => {
                self.notify(format!("Cannot try the command: {error}"))
                    .await;
            }
        }
        self.requested.lock().take();
    }
}

impl InputHook for SandboxExtension {
    fn has_command(&self, name: &str) -> bool {
        [SHOW, TRY].contains(&name)
    }

    fn run_command<'a>(&'a self, name: &'a str, arguments: &'a str) -> BoxFuture<'a, ()> {
        async move {
            match (name, arguments.trim()) {
                (TRY, "") => self.tried.decide_oldest().await,
                (TRY, command) => self.try_command(command).await,
                _ => self.show().await,
            }
        }
        .boxed()
    }

    fn user_bash(&self, command: UserCommand) -> BoxFuture<'_, Result<UserBashVerdict, HookError>> {
        let requested = self
            .requested
            .lock()
            .take_if(|requested| *requested == command.command);
        let verdict = match (requested, self.tried.trying_processes()) {
            (Some(_), Some(processes)) => UserBashVerdict::RunWith(processes),
            _ => UserBashVerdict::Run,
        };
        std::future::ready(Ok(verdict)).boxed()
    }
}

/// The rules are applied before; this policy only notes which commands they try.
impl ToolPolicy for SandboxExtension {
    fn tool_call<'a>(
        &'a self,
        call: PendingToolCall,
        _cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<ReviewedToolCall, HookError>> {
        let verdict = self.rules.as_ref().map(|rules| {
            rules.decide(ToolUse {
                tool: &call.call.name,
                arguments: &call.arguments,
            })
        });
        if verdict.is_some_and(|verdict| verdict.effect == Effect::Try) {
            self.tried.try_call(&call.call.id);
        }
        std::future::ready(Ok(ReviewedToolCall::allow(call.arguments))).boxed()
    }
}

impl LifecycleHook for SandboxExtension {
    fn session_start(&self, _start: SessionStart) -> BoxFuture<'_, ()> {
        let text = self.sandbox.as_ref().map(|sandbox| sandbox.label());
        let status = ExtensionNotice::Status {
            key: SHOW.to_owned(),
            text,
        };
        if self.sandbox.is_none() {
            return std::future::ready(()).boxed();
        }
        self.ui.notify(status).boxed()
    }

    fn session_shutdown(&self, _shutdown: SessionShutdown) -> BoxFuture<'_, ()> {
        drop(self.session.lock().take());
        self.tried.release();
        std::future::ready(()).boxed()
    }
}
