//! The built-in extension `task`: sub-agents, to which a model delegates work, and the command `/agents`. Only sessions whose
//! settings or flags name it have it.
//!
//! A sub-agent is a session of the same host, with its own file, that ends with its answer. While it runs it is live, so a
//! user can attach to it.

mod arguments;
mod child;
mod child_session;
mod command;
mod limits;
mod requests;
mod result;
mod run;
mod runner;
mod worktree;

use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use pi_config::{
    AgentDirectories, AgentFile, BuiltinExtension, TrustStore, load_agents, requires_trust,
};
use pi_host::{
    InputHook, InputSource, InputVerdict, LifecycleHook, NativeCommand, NativeContext,
    NativeExtension, NativeParts, Participants, SessionShutdown, UserInput,
};
use pi_protocol::{ConfigDiagnostic, DiagnosticLevel, ProjectAccess};

use runner::{TaskRunner, TaskTree};

pub const EXTENSION: NativeExtension = NativeExtension::new(BuiltinExtension::Task, load);

/// Name of the built-in agent, and of the agent for tasks that name none.
const GENERAL: &str = "general";

/// The tool of a package that provides sub-agents, which then replaces this one.
const PACKAGE_TOOL: &str = "subagent";

fn load(context: &NativeContext<'_>) -> NativeParts {
    if context.has_extension_tool(PACKAGE_TOOL) {
        let message = format!("builtin:task: replaced by the tool {PACKAGE_TOOL} of an extension");
        return NativeParts {
            diagnostics: vec![ConfigDiagnostic {
                level: DiagnosticLevel::Warning,
                message,
                path: None,
            }],
            ..NativeParts::default()
        };
    }
    let workspace = context.workspace;
    let home = workspace.env.home_dir();
    let project = may_use_project(context).then_some(workspace.cwd.as_path());
    let agent_dir = workspace.agent_dir.path();
    let directories = AgentDirectories::new(agent_dir, home.as_deref(), project);
    let (mut agents, diagnostics) = load_agents(&directories);
    if !agents.iter().any(|agent| agent.name == GENERAL) {
        agents.insert(0, general_agent());
    }
    let runner = Arc::new(TaskRunner::new(
        context.host.clone(),
        context.options.clone(),
        Arc::new(TaskTree::new(agents)),
        workspace.project.is_trusted(),
    ));
    let hooks = Arc::new(TaskExtension(Arc::clone(&runner)));
    let participants = Participants::builder()
        .input(Arc::clone(&hooks))
        .lifecycle(hooks);
    NativeParts {
        tools: vec![runner.tool()],
        commands: vec![NativeCommand {
            name: command::COMMAND,
            description: "List agents, and stop running sub-agents",
        }],
        participants: participants.build(),
        diagnostics,
        bind: Some(Box::new(move |session| runner.bind(session))),
        ..NativeParts::default()
    }
}

/// Whether the agents of the project are used. A project without files that need trust is not asked about; then its
/// agents for other programs need a decision that the user made before.
fn may_use_project(context: &NativeContext<'_>) -> bool {
    let workspace = context.workspace;
    let home = workspace.env.home_dir();
    let is_decided = || {
        let saved = TrustStore::new(&workspace.agent_dir).nearest(&workspace.cwd);
        let is_saved = saved
            .is_ok_and(|saved| saved.is_some_and(|saved| saved.access == ProjectAccess::Trusted));
        is_saved || context.host.options().trust.is_some()
    };
    workspace.project.is_trusted()
        && (requires_trust(&workspace.cwd, home.as_deref()) || is_decided())
}

fn general_agent() -> AgentFile {
    AgentFile {
        name: GENERAL.to_owned(),
        description: "Any task for which no other agent fits; has your tools and your model"
            .to_owned(),
        ..AgentFile::default()
    }
}

struct TaskExtension(Arc<TaskRunner>);

impl InputHook for TaskExtension {
    fn has_command(&self, name: &str) -> bool {
        name == command::COMMAND
    }

    fn run_command<'a>(&'a self, _name: &'a str, arguments: &'a str) -> BoxFuture<'a, ()> {
        command::run(&self.0, arguments).boxed()
    }

    fn input(&self, input: UserInput) -> BoxFuture<'_, InputVerdict> {
        if input.source != InputSource::Extension {
            self.0.tree.limits.begin_run();
        }
        std::future::ready(InputVerdict::Continue).boxed()
    }
}

impl LifecycleHook for TaskExtension {
    fn session_shutdown(&self, _shutdown: SessionShutdown) -> BoxFuture<'_, ()> {
        async {
            self.0.tree.shut_down().await;
            self.0.release();
        }
        .boxed()
    }
}
