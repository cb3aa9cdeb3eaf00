//! What extensions need from sessions and from the runtime that owns them.
//!
//! The runtime implements these traits. Nothing else in this folder knows how a session works.
//! Errors are those that JavaScript receives.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_config::{AgentDir, ResourceFlags, Resources, Skill};
use pi_context::PromptSections;
use pi_core::{Tool, ToolMetadata};
use pi_env::Env;
use pi_ext::HostError;
use pi_protocol::{
    Ack, Answer, Command, CommandInfo, CompactionOutcome, ContextUsage, Delivery, EntryId,
    ImageContent, MessageContent, Model, QueuedTexts, Request, RoutedModel, SessionStats,
    SharedMessage, ThinkingLevel,
};
use pi_providers::Models;
use pi_session::{ForkPosition, Session, SessionError};
use pi_tools::ShellResult;
use serde_json::Value;

use crate::SessionExtensions;
use crate::send_message::{DraftData, SendOptions};

/// The result of a command to a session.
pub type ControlFuture<'a, Data> = BoxFuture<'a, Result<Data, HostError>>;

/// The history of a session.
pub trait SessionHistory: Send + Sync {
    fn cwd(&self) -> &Path;

    /// Returns the session file; `None` if the session is only in memory.
    fn file(&self) -> Option<PathBuf>;

    fn id(&self) -> String;

    fn name(&self) -> Option<String>;

    /// Reads the stored session, which is locked meanwhile.
    fn read(&self, read: &mut dyn FnMut(&Session));

    /// Returns the messages of the model's context.
    /// Changes the session directly. Emits no events.
    fn change(
        &self,
        change: &mut dyn FnMut(&mut Session) -> Result<(), SessionError>,
    ) -> Result<(), HostError>;

    fn messages(&self) -> Result<Vec<SharedMessage>, HostError>;

    fn last_assistant_text(&self) -> Result<Option<String>, HostError>;

    fn stats(&self) -> Result<SessionStats, HostError>;

    fn set_label(&self, entry: &EntryId, label: Option<&str>) -> Result<(), HostError>;

    fn set_name(&self, name: String) -> ControlFuture<'_, ()>;

    fn append_custom_entry(
        &self,
        custom_type: String,
        data: Option<Value>,
    ) -> ControlFuture<'_, ()>;

    /// Moves to another entry of the tree; returns whether that was canceled.
    fn navigate(&self, navigation: TreeNavigation) -> ControlFuture<'_, bool>;
}

/// The run of a session: its state, its messages, compaction and shell commands.
pub trait SessionRun: Send + Sync {
    fn is_idle(&self) -> bool;

    fn is_streaming(&self) -> bool;

    fn is_compacting(&self) -> bool;

    fn is_bash_running(&self) -> bool;

    /// Returns the number of queued messages.
    fn pending_message_count(&self) -> usize;

    fn context_usage(&self) -> Result<Option<ContextUsage>, HostError>;

    fn abort(&self) -> BoxFuture<'_, ()>;

    fn wait_for_idle(&self) -> BoxFuture<'_, ()>;

    fn compact(&self, instructions: Option<String>) -> ControlFuture<'_, CompactionOutcome>;

    fn prompt(&self, prompt: ExtensionPrompt) -> ControlFuture<'_, ()>;

    /// Queues a message, also if no run is in progress; it is then part of the next one.
    fn enqueue(
        &self,
        text: String,
        images: Vec<ImageContent>,
        delivery: Delivery,
    ) -> ControlFuture<'_, Ack>;

    fn send_message(&self, message: DraftData, options: SendOptions) -> ControlFuture<'_, ()>;

    fn send_user_message(
        &self,
        content: MessageContent,
        options: SendOptions,
    ) -> ControlFuture<'_, ()>;

    /// Empties the queue and returns the texts of its messages.
    fn clear_queue(&self) -> BoxFuture<'_, QueuedTexts>;

    fn run_bash(
        &self,
        command: String,
        exclude_from_context: bool,
    ) -> ControlFuture<'_, ShellResult>;

    fn abort_bash(&self);
}

/// Model, tools and system prompt of a session.
pub trait SessionSetup: Send + Sync {
    fn model(&self) -> Option<Arc<Model>>;

    fn thinking_level(&self) -> ThinkingLevel;

    /// Returns the model of the last response, if the selected one is virtual.
    fn routed_model(&self) -> Option<RoutedModel>;

    fn available_thinking_levels(&self) -> Vec<ThinkingLevel>;

    fn supports_thinking(&self) -> bool;

    /// Returns the models the user cycles through, with the thinking level to use each with.
    fn scoped_models(&self) -> Vec<(Arc<Model>, Option<ThinkingLevel>)>;

    /// Selects a model for this session.
    fn set_model(&self, model: Arc<Model>) -> ControlFuture<'_, ()>;

    /// Selects a thinking level for this session.
    fn set_thinking_level(&self, level: ThinkingLevel) -> ControlFuture<'_, ()>;

    fn set_auto_compaction(&self, enabled: bool) -> Result<(), HostError>;

    fn tools(&self) -> Vec<SessionTool>;

    fn active_tools(&self) -> Vec<String>;

    /// Returns the names of the tools that other tools may call.
    fn callable_tools(&self) -> Vec<String>;

    fn set_active_tools(&self, names: &[String]);

    /// Lets the active tools change the declarations of the active tools.
    fn prepare_loadout(&self) -> BoxFuture<'_, ()>;

    /// Adds a tool of an extension, or replaces one of the same name.
    fn register_tool(&self, tool: ToolRegistration);

    fn system_prompt(&self) -> String;

    fn prompt_inputs(&self) -> PromptInputs;

    /// Builds the sections of the system prompt from changed inputs, for a set of active tools.
    fn prompt_sections(&self, inputs: PromptInputs, active: &[String]) -> PromptSections;
}

/// Shows a request to the user.
pub type ShowRequest = dyn FnOnce() -> BoxFuture<'static, Answer> + Send;

/// Questions to the user, which any client of the session may answer.
pub trait SessionInteraction: Send + Sync {
    /// Opens a request, then calls `show` for the answer of the front end. The first answer wins; if it is not the front end's,
    /// the future of `show` is dropped, which closes the dialog there. Dropping the result cancels the request.
    fn ask(&self, request: Request, show: Box<ShowRequest>) -> BoxFuture<'static, Answer>;
}

/// A session, as extensions use it.
pub trait ExtensionSession:
    SessionHistory + SessionRun + SessionSetup + SessionInteraction
{
}

impl<Implementation: SessionHistory + SessionRun + SessionSetup + SessionInteraction>
    ExtensionSession for Implementation
{
}

impl dyn ExtensionSession {
    /// Reads the stored session and returns the result.
    pub(crate) fn with<Data>(
        &self,
        read: impl FnOnce(&Session) -> Data,
    ) -> Result<Data, HostError> {
        let mut read = Some(read);
        let mut result = None;
        self.read(&mut |session| {
            if let Some(read) = read.take() {
                result = Some(read(session));
            }
        });
        result.ok_or_else(|| HostError::new("the session cannot be read"))
    }
}

/// The runtime that owns the current session and can replace it.
pub trait RuntimeControl: Send + Sync {
    fn session(&self) -> Arc<dyn ExtensionSession>;

    /// Starts a new session; returns whether that was canceled. So do the next two.
    fn new_session(&self, parent: Option<PathBuf>) -> ControlFuture<'_, bool>;

    fn switch_session(&self, path: PathBuf) -> ControlFuture<'_, bool>;

    fn fork(&self, entry: EntryId, position: ForkPosition) -> ControlFuture<'_, bool>;

    /// Reloads settings, resources and extensions.
    fn reload(&self) -> ControlFuture<'_, ()>;

    /// Lists the slash commands of skills and prompt templates.
    fn resource_commands(&self) -> Vec<CommandInfo>;

    fn skills(&self) -> Vec<Skill>;

    /// Adds resources that extensions named.
    fn extend_resources(&self, more: Resources);

    /// Executes a command of a user. Returns once it is accepted.
    fn submit(&self, command: Command) -> ControlFuture<'_, ()>;
}

/// A runtime that may have ended.
pub trait RuntimeLink: Send + Sync {
    fn upgrade(&self) -> Option<Arc<dyn RuntimeControl>>;
}

/// What the program provides besides sessions.
pub trait ProgramServices: Send + Sync {
    /// Starts a session without extensions, in addition to the main one; `observer` receives its
    /// events.
    fn start_agent(
        &self,
        options: AgentOptions,
        observer: Arc<dyn AgentObserver>,
    ) -> BoxFuture<'static, Result<Box<dyn RunningAgent>, HostError>>;

    /// Returns a built-in tool; `None` if it does not exist on this system.
    fn builtin_tool(&self, cwd: &Path, name: &str) -> Option<ToolRegistration>;
}

/// Receives the events of an agent, as clients of the line protocol do.
pub trait AgentObserver: Send + Sync {
    fn on_event(&self, event: Value) -> BoxFuture<'_, ()>;
}

/// A session that an extension runs.
pub trait RunningAgent: Send + Sync {
    fn session(&self) -> Arc<dyn ExtensionSession>;

    /// Returns why the model differs from the requested one.
    fn model_fallback(&self) -> Option<String>;

    /// Emits `session_start` to the extensions of its session; a second call does nothing.
    fn notify_start(&self) -> BoxFuture<'static, ()>;

    fn shutdown(&self) -> BoxFuture<'_, ()>;
}

/// A move in the tree.
pub struct TreeNavigation {
    pub target: EntryId,
    pub summarize: bool,
    pub instructions: Option<String>,
    pub replace_instructions: bool,
    pub label: Option<String>,
}

/// A prompt of an extension to its own agent.
pub struct ExtensionPrompt {
    pub text: String,
    pub images: Vec<ImageContent>,
    /// How to deliver it to a session that is busy.
    pub delivery: Option<MessageDelivery>,
    /// Whether to expand skills and prompt templates.
    pub expand: bool,
}

/// How a message is delivered to a session that is busy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageDelivery {
    Steer,
    FollowUp,
    /// With the next prompt; only for custom messages.
    NextTurn,
}

/// A tool of an extension, and its text in the system prompt.
#[derive(Clone)]
pub struct ToolRegistration {
    pub tool: Arc<dyn Tool>,
    /// One line for the tool list of the prompt.
    pub snippet: Option<String>,
    /// Rules for its use.
    pub guidelines: Vec<String>,
    /// Whether the tool is active as soon as it is registered.
    pub is_default_active: bool,
    pub metadata: ToolMetadata,
}

/// A tool of a session.
pub struct SessionTool {
    pub name: String,
    pub description: String,
    pub parameters: Value,
    pub label: String,
    pub snippet: Option<String>,
    pub guidelines: Vec<String>,
    pub metadata: ToolMetadata,
    /// `builtin`, `sdk` or `extension`.
    pub source: &'static str,
}

/// Inputs of the system prompt that extensions may change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptInputs {
    /// A prompt that replaces the default one.
    pub custom: Option<String>,
    /// Text appended by the user.
    pub append: Vec<String>,
    /// User and project instructions: path and content.
    pub instructions: Vec<(PathBuf, String)>,
}

/// Options of an extension's agent.
pub struct AgentOptions {
    pub agent_dir: AgentDir,
    pub cwd: PathBuf,
    pub env: Env,
    pub models: Models,
    pub is_trusted: bool,
    pub session: AgentSessionChoice,
    pub session_dir: Option<String>,
    /// Provider and ID.
    pub model: Option<(String, String)>,
    pub thinking_level: Option<ThinkingLevel>,
    pub tools: AgentTools,
    pub resources: ResourceFlags,
    /// The extensions of the agent's session.
    pub extensions: Option<SessionExtensions>,
}

/// The session of an extension's agent.
pub enum AgentSessionChoice {
    /// A session that the extension opened.
    Opened(Box<Session>),
    New,
}

/// The tools of an extension's agent.
pub struct AgentTools {
    /// The only tools that exist, if given.
    pub allow: Option<Vec<String>>,
    pub exclude: Vec<String>,
    pub defaults: AgentDefaultTools,
    /// Tools the extension supplies.
    pub custom: Vec<ToolRegistration>,
}

/// Tools that are active without being named.
pub enum AgentDefaultTools {
    All,
    /// Only those the extension supplies.
    NoBuiltin,
    None,
}
