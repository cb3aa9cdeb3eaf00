//! The MCP servers of a session: connects `pi-mcp` with the session, its tools and its front end.

use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use parking_lot::{Mutex, MutexGuard};
use pi_auth::{AuthOverrides, CommandCache};
use pi_core::{
    HookError, InputSource, PendingToolCall, ReachedTools, ReviewedToolCall, ToolSource,
};
use pi_env::Env;
use pi_extensions::{DialogPrompt, ExtensionMode, ExtensionNotice, ExtensionUi, SessionExtensions};
use pi_mcp::{
    ExtensionServer, MCP_SERVERS_SECTION, McpNoticeLevel, McpPool, McpServers, McpServersOptions,
    McpSession, SamplingAnswer, SamplingRequest, SessionToolInfo,
};
use pi_protocol::{AgentEvent, AgentMessage, McpServerSpec, McpServerStatus, SessionEvent};
use secrecy::SecretString;
use tokio_util::sync::CancellationToken;

use crate::native_extensions::{NativeCommand, NativeContext, NativeParts};
use crate::participants::{
    AgentStart, AgentStartChanges, EventHook, InputHook, InputVerdict, LifecycleHook, Participants,
    PromptHook, SessionShutdown, SessionStart, ToolPolicy, UserInput,
};
use crate::session::{AgentSession, sample_for_server};

const COMMAND: &str = "mcp";

/// The source of servers that the embedding program passes.
const PROGRAM: &str = "the client";

/// What the sessions of a process share.
#[derive(Clone, Default)]
pub(crate) struct SharedMcp {
    pool: McpPool,
    commands: CommandCache,
}

/// The MCP servers of a session. Clones share them.
#[derive(Clone)]
struct SessionMcp(Arc<SessionMcpState>);

struct SessionMcpState {
    servers: McpServers,
    ui: Arc<dyn ExtensionUi>,
    env: Env,
    extensions: Option<SessionExtensions>,
    /// Servers of the embedding program.
    program_servers: Arc<[McpServerSpec]>,
    /// Set from the construction of the session to its end.
    session: Mutex<Option<AgentSession>>,
}

/// Returns what the servers of a session add to it.
pub(crate) fn load(context: &NativeContext<'_>) -> NativeParts {
    let mcp = SessionMcp::new(context);
    NativeParts {
        tool_sources: vec![mcp.tool_source()],
        commands: vec![NativeCommand {
            name: COMMAND,
            description: "Manage MCP servers",
        }],
        participants: mcp.participants(),
        mcp: Some(mcp.0.servers.clone()),
        bind: Some(Box::new(move |session| mcp.bind(session))),
        ..NativeParts::default()
    }
}

impl SessionMcp {
    fn new(context: &NativeContext<'_>) -> Self {
        let NativeContext {
            host,
            workspace,
            ui,
            options,
            extensions,
            ..
        } = context;
        let shared = host.mcp();
        let settings = workspace.settings.settings();
        let servers = McpServers::new(McpServersOptions {
            agent_dir: workspace.agent_dir.clone(),
            cwd: workspace.cwd.clone(),
            project: workspace.project,
            env: workspace.env.clone(),
            http: host.http().client_for(settings.http_proxy()),
            pool: shared.pool.clone(),
            commands: shared.commands.clone(),
            pinning: settings.mcp.pin,
            dot_mcp_json: settings.mcp.dot_mcp_json.unwrap_or_default(),
            config_files: workspace.resources.mcp_config_files.clone(),
            sandbox: workspace.sandbox().ok().flatten(),
        });
        Self(Arc::new(SessionMcpState {
            servers,
            ui: Arc::clone(ui),
            env: workspace.env.clone(),
            extensions: extensions.cloned(),
            program_servers: options.mcp_servers.as_slice().into(),
            session: Mutex::default(),
        }))
    }

    fn tool_source(&self) -> Arc<dyn ToolSource> {
        self.0.servers.tools()
    }

    fn participants(&self) -> Participants {
        let hooks = Arc::new(self.clone());
        Participants::builder()
            .input(Arc::clone(&hooks))
            .prompt(Arc::clone(&hooks))
            .tool_policy(Arc::clone(&hooks))
            .lifecycle(Arc::clone(&hooks))
            .events(hooks)
            .build()
    }

    /// Connects the servers with the session that uses them.
    fn bind(&self, session: &AgentSession) {
        *self.session_slot() = Some(session.clone());
        let Some(extensions) = &self.0.extensions else {
            return;
        };
        let state = Arc::downgrade(&self.0);
        extensions.connect_mcp_servers(Arc::new(move || {
            let state = state.upgrade();
            async move {
                if let Some(state) = state {
                    state.servers.extensions_changed().await;
                }
            }
            .boxed()
        }));
    }

    fn session_slot(&self) -> MutexGuard<'_, Option<AgentSession>> {
        self.0.session.lock()
    }

    fn session(&self) -> Option<AgentSession> {
        self.session_slot().clone()
    }

    /// Replaces the command of a prompt, and attaches the resources that a prompt mentions.
    async fn expand_input(&self, input: UserInput) -> InputVerdict {
        let servers = &self.0.servers;
        let notify = |level: &str, message: String| {
            self.0.ui.notify(ExtensionNotice::Notify {
                message,
                notify_type: Some(level.to_owned()),
            })
        };
        let expanded = match servers.expand_prompt(&input.text).await {
            Some(Ok(expanded)) => expanded,
            Some(Err(problem)) => {
                notify("error", problem).await;
                return InputVerdict::Handled;
            }
            None => match servers.attach_resources(&input.text).await {
                Some((expanded, problems)) => {
                    if !problems.is_empty() {
                        let message = format!("Not attached:\n{}", problems.join("\n"));
                        notify("warning", message).await;
                    }
                    expanded
                }
                None => return InputVerdict::Continue,
            },
        };
        let mut images = input.images;
        images.extend(expanded.images);
        InputVerdict::Replace {
            text: expanded.text,
            images: Some(images),
        }
    }

    /// Returns what a call may reach through other tools; `None` if its tool reaches none.
    fn reached_tools(&self, call: &PendingToolCall) -> Option<ReachedTools> {
        let session = self.session()?;
        let tools = session.tools().toolset();
        let tool = tools.get(&call.call.name)?;
        if !tool.metadata.reaches_tools {
            return None;
        }
        match tool.metadata.builtin_extension {
            Some(_) => Some(tool.tool.reached_tools(&call.arguments)),
            // Only the engine of the extension could evaluate its function.
            None => Some(ReachedTools::All),
        }
    }
}

impl LifecycleHook for SessionMcp {
    fn session_start(&self, _start: SessionStart) -> BoxFuture<'_, ()> {
        async {
            if let Some(session) = self.session() {
                let state = &self.0;
                let session = Arc::new(BoundSession {
                    session,
                    ui: Arc::clone(&state.ui),
                    env: state.env.clone(),
                    extensions: state.extensions.clone(),
                    program_servers: Arc::clone(&state.program_servers),
                });
                state.servers.start(session).await;
            }
        }
        .boxed()
    }

    fn session_shutdown(&self, _shutdown: SessionShutdown) -> BoxFuture<'_, ()> {
        async {
            self.0.servers.stop().await;
            drop(self.session_slot().take());
        }
        .boxed()
    }
}

impl PromptHook for SessionMcp {
    fn before_agent_start(&self, start: AgentStart) -> BoxFuture<'_, AgentStartChanges> {
        async move {
            self.0.servers.wait_for_direct_tools().await;
            let Some(section) = self.0.servers.prompt_section() else {
                return AgentStartChanges::default();
            };
            let mut sections = start.sections;
            if let Err(error) = sections.set_extension(MCP_SERVERS_SECTION, section) {
                tracing::warn!(%error, "cannot describe the MCP servers");
            }
            AgentStartChanges {
                sections: Some(sections),
                ..AgentStartChanges::default()
            }
        }
        .boxed()
    }
}

impl ToolPolicy for SessionMcp {
    fn tool_call<'a>(
        &'a self,
        call: PendingToolCall,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<ReviewedToolCall, HookError>> {
        async move {
            let reached = self.reached_tools(&call);
            let waiting = self.0.servers.wait_for_call(&call.call.name, reached);
            cancel.run_until_cancelled(waiting).await;
            Ok(ReviewedToolCall::allow(call.arguments))
        }
        .boxed()
    }
}

impl InputHook for SessionMcp {
    fn has_command(&self, name: &str) -> bool {
        name == COMMAND
    }

    fn input(&self, input: UserInput) -> BoxFuture<'_, InputVerdict> {
        async move {
            if input.source == InputSource::Extension {
                return InputVerdict::Continue;
            }
            self.expand_input(input).await
        }
        .boxed()
    }

    fn run_command<'a>(&'a self, _name: &'a str, arguments: &'a str) -> BoxFuture<'a, ()> {
        self.0.servers.run_command(arguments).boxed()
    }
}

impl EventHook for SessionMcp {
    fn on_event<'a>(&'a self, event: &'a SessionEvent) -> BoxFuture<'a, ()> {
        async move {
            let servers = &self.0.servers;
            match event {
                SessionEvent::Agent(AgentEvent::TurnStart) => servers.apply_new_credentials().await,
                SessionEvent::Agent(AgentEvent::ToolExecutionStart { .. }) => {
                    servers.hold_tool_changes();
                }
                // The request has declared its tools.
                SessionEvent::Agent(AgentEvent::MessageStart { message })
                    if matches!(**message, AgentMessage::Assistant(_)) =>
                {
                    servers.release_tool_changes();
                }
                SessionEvent::AgentSettled { .. } => servers.release_tool_changes(),
                _ => {}
            }
        }
        .boxed()
    }
}

/// The session, as the servers see it.
struct BoundSession {
    session: AgentSession,
    ui: Arc<dyn ExtensionUi>,
    env: Env,
    extensions: Option<SessionExtensions>,
    program_servers: Arc<[McpServerSpec]>,
}

impl McpSession for BoundSession {
    fn tools(&self) -> Vec<SessionToolInfo> {
        let tools = self.session.tools().toolset();
        let tools = tools.tools().iter().map(|tool| SessionToolInfo {
            name: tool.name().to_owned(),
            reaches_tools: tool.metadata.reaches_tools,
        });
        tools.collect()
    }

    fn active_tools(&self) -> Vec<String> {
        self.session.tools().active_names()
    }

    fn set_active_tools(&self, names: &[String]) {
        self.session.tools().set_active(names);
    }

    fn extension_servers(&self) -> Vec<ExtensionServer> {
        let extensions = self.extensions.as_ref();
        let servers = extensions.map_or_else(Vec::new, SessionExtensions::mcp_servers);
        let servers = servers.into_iter().map(|server| ExtensionServer {
            spec: server.spec,
            extension: server.extension,
        });
        let program = self.program_servers.iter().map(|spec| ExtensionServer {
            spec: spec.clone(),
            extension: PROGRAM.to_owned(),
        });
        program.chain(servers).collect()
    }

    fn notify(&self, level: McpNoticeLevel, message: String) -> BoxFuture<'static, ()> {
        let kind = match level {
            McpNoticeLevel::Info => "info",
            McpNoticeLevel::Warning => "warning",
            McpNoticeLevel::Error => "error",
        };
        self.ui.notify(ExtensionNotice::Notify {
            message,
            notify_type: Some(kind.to_owned()),
        })
    }

    fn select(&self, title: String, options: Vec<String>) -> BoxFuture<'static, Option<String>> {
        let prompt = DialogPrompt::Select { title, options };
        self.session.requests().ask_dialog(&self.ui, prompt)
    }

    fn input(&self, title: String, placeholder: String) -> BoxFuture<'static, Option<String>> {
        let prompt = DialogPrompt::Input {
            title,
            placeholder: Some(placeholder),
        };
        self.session.requests().ask_dialog(&self.ui, prompt)
    }

    fn has_user(&self) -> bool {
        self.ui.mode().has_ui()
    }

    fn asks_for_text(&self) -> bool {
        self.ui.asks_for_text()
    }

    fn has_screen(&self) -> bool {
        self.ui.mode() == ExtensionMode::Terminal
    }

    fn statuses_changed(&self, servers: Vec<McpServerStatus>) -> BoxFuture<'static, ()> {
        let session = self.session.clone();
        async move { session.tools().publish_servers(servers).await }.boxed()
    }

    fn sample(
        &self,
        server: &str,
        request: SamplingRequest,
    ) -> BoxFuture<'static, Result<SamplingAnswer, String>> {
        sample_for_server(self.session.clone(), server.to_owned(), request).boxed()
    }

    fn provider_token(&self, provider: &str) -> BoxFuture<'static, Option<SecretString>> {
        let (models, env) = (self.session.models().clone(), self.env.clone());
        let auth = models
            .provider(provider)
            .and_then(|provider| provider.auth());
        async move {
            let overrides = AuthOverrides::default();
            let resolved = models
                .authenticator()
                .resolve(&auth?, &env, &overrides)
                .await;
            match resolved {
                Ok(resolved) => resolved?.api_key,
                Err(error) => {
                    tracing::warn!(%error, "cannot get the token of a provider for an MCP server");
                    None
                }
            }
        }
        .boxed()
    }
}
