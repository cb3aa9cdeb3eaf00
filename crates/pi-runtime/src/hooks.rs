//! Where an extension host, or a program that embeds a session, takes part in it.
//!
//! Every point has a default that changes nothing. What a hook is given is cheap to make; what costs
//! something is asked for through the value it is given. Hooks run before the listeners of the same
//! step, and the session waits for them.

mod chain;

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_agent::{ToolCallVerdict, FinishedToolCall, HookError, PendingToolCall, ToolResultUpdate, SharedMessage};
use pi_ai::{
    AgentMessage, Content, ImageContent, Message, Model, RequestHooks, ThinkingLevel, Usage,
};
use pi_session::{
    BranchSummary, CompactionPlan, CompactionReason, CompactionResult, ContextReplacement, Entry,
    EntryId, LeftBranch, PromptSections, SummaryAuthor,
};
use pi_tools::{ProcessOperations, ShellResult};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::event::SessionEvent;
use crate::session::{AgentSession, BoundaryView, Delivery, InputSource};

pub(crate) use chain::HookChain;

/// The application's part in a session.
pub trait SessionHooks: Send + Sync {
    /// Returns whether a slash command of this name exists.
    fn has_command(&self, name: &str) -> bool {
        let _ = name;
        false
    }

    /// Runs a slash command; only called for those that exist. Failures are the host's to report.
    fn run_command<'a>(&'a self, name: &'a str, arguments: &'a str) -> BoxFuture<'a, ()> {
        let _ = (name, arguments);
        ready(())
    }

    /// Called with what the user typed, before skills and templates are expanded.
    fn input(&self, input: UserInput) -> BoxFuture<'_, InputVerdict> {
        let _ = input;
        ready(InputVerdict::Continue)
    }

    /// Called when a prompt is about to start a run.
    fn before_agent_start(&self, start: AgentStart) -> BoxFuture<'_, AgentStartChanges> {
        let _ = start;
        ready(AgentStartChanges::default())
    }

    /// Changes what one request is made of; the transcript stays.
    fn context<'a>(
        &'a self,
        messages: Vec<SharedMessage>,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Vec<SharedMessage>, HookError>> {
        let _ = cancel;
        ready(Ok(messages))
    }

    /// Returns what looks at requests and responses on the wire.
    fn request_hooks(&self) -> Option<Arc<dyn RequestHooks>> {
        None
    }

    /// Called before a tool runs. A failure blocks the call.
    fn tool_call<'a>(
        &'a self,
        call: PendingToolCall,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<ToolCallVerdict, HookError>> {
        let _ = cancel;
        ready(Ok(ToolCallVerdict::Run(call.arguments)))
    }

    /// Called after a tool has run, before its end is told.
    fn tool_result<'a>(
        &'a self,
        call: &'a FinishedToolCall,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<ToolResultUpdate, HookError>> {
        let _ = (call, cancel);
        ready(Ok(ToolResultUpdate::default()))
    }

    /// Called when a message is complete, before it is stored. Another message of the same role
    /// takes its place; one of another role is ignored.
    fn message_end<'a>(
        &'a self,
        message: &'a SharedMessage,
    ) -> BoxFuture<'a, Option<AgentMessage>> {
        let _ = message;
        ready(None)
    }

    /// Called when a turn is over, before `turn_end`.
    fn turn_end<'a>(&'a self, turn: TurnBoundary<'a>) -> BoxFuture<'a, BoundaryDecision> {
        let _ = turn;
        ready(BoundaryDecision::default())
    }

    /// Called when the session has nothing left to do by itself, before it settles.
    fn before_settle<'a>(&'a self, settle: SettleBoundary<'a>) -> BoxFuture<'a, BoundaryDecision> {
        let _ = settle;
        ready(BoundaryDecision::default())
    }

    /// Called before a compaction asks a model.
    fn before_compact<'a>(
        &'a self,
        proposal: CompactionProposal<'a>,
    ) -> BoxFuture<'a, CompactionVerdict> {
        let _ = proposal;
        ready(CompactionVerdict::Proceed)
    }

    /// Called when a compaction is stored.
    fn compacted<'a>(&'a self, compacted: CompactionCompleted<'a>) -> BoxFuture<'a, ()> {
        let _ = compacted;
        ready(())
    }

    /// Called when a compaction failed or was cancelled.
    fn compaction_failed(&self, failed: CompactionFailed) -> BoxFuture<'_, ()> {
        let _ = failed;
        ready(())
    }

    /// Called before the session moves to another place in its tree.
    fn before_tree<'a>(&'a self, proposal: TreeProposal<'a>) -> BoxFuture<'a, TreeVerdict> {
        let _ = proposal;
        ready(TreeVerdict::default())
    }

    /// Called when the session has moved.
    fn tree<'a>(&'a self, moved: TreeMoved<'a>) -> BoxFuture<'a, ()> {
        let _ = moved;
        ready(())
    }

    /// Called before a command of the user runs. A failure stops the command.
    fn user_bash(&self, command: UserCommand) -> BoxFuture<'_, Result<UserBashVerdict, HookError>> {
        let _ = command;
        ready(Ok(UserBashVerdict::Run))
    }

    /// Called when another model is in force.
    fn model_selected(&self, selected: ModelSelected) -> BoxFuture<'_, ()> {
        let _ = selected;
        ready(())
    }

    /// Called when another thinking level is in force.
    fn thinking_level_selected(
        &self,
        level: ThinkingLevel,
        previous: ThinkingLevel,
    ) -> BoxFuture<'_, ()> {
        let _ = (level, previous);
        ready(())
    }

    /// Hears of the steps of a run, of settling and of a new name, before the listeners do.
    fn on_event<'a>(&'a self, event: &'a SessionEvent) -> BoxFuture<'a, ()> {
        let _ = event;
        ready(())
    }

    /// Called when a session is ready to be used.
    fn session_start(&self, start: SessionStart) -> BoxFuture<'_, ()> {
        let _ = start;
        ready(())
    }

    /// Called before another session takes this one's place; false keeps it.
    fn before_switch(&self, switch: SessionSwitch) -> BoxFuture<'_, bool> {
        let _ = switch;
        ready(true)
    }

    /// Called before the session is forked; false keeps it.
    fn before_fork<'a>(
        &'a self,
        entry: &'a EntryId,
        position: pi_session::ForkPosition,
    ) -> BoxFuture<'a, bool> {
        let _ = (entry, position);
        ready(true)
    }

    /// Called before a session goes away.
    fn session_shutdown(&self, shutdown: SessionShutdown) -> BoxFuture<'_, ()> {
        let _ = shutdown;
        ready(())
    }

    /// Told of a failure that belongs to nobody's call, for the host to show.
    fn report(&self, problem: HookFailure) {
        tracing::warn!(event = problem.event, "{}", problem.message);
    }
}

/// The hooks of a session without an application.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoSessionHooks;

impl SessionHooks for NoSessionHooks {}

fn ready<'a, T: Send + 'a>(value: T) -> BoxFuture<'a, T> {
    Box::pin(std::future::ready(value))
}

/// What the user typed.
#[derive(Debug, Clone, PartialEq)]
pub struct UserInput {
    pub text: String,
    pub images: Vec<ImageContent>,
    /// Where it comes from.
    pub source: InputSource,
    /// How it will be queued; none when the session is idle.
    pub delivery: Option<Delivery>,
}

/// What a hook makes of what the user typed.
#[derive(Debug, Clone, PartialEq)]
pub enum InputVerdict {
    /// It goes on as it is.
    Continue,
    /// Something else goes on.
    Replace {
        text: String,
        /// The images; none keeps those of the user.
        images: Option<Vec<ImageContent>>,
    },
    /// The hook has dealt with it.
    Handled,
}

/// A prompt that is about to start a run.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentStart {
    pub prompt: String,
    /// The images as they were given.
    pub images: Vec<ImageContent>,
    /// The system prompt in force.
    pub sections: PromptSections,
    pub tools: Vec<String>,
}

/// What a hook changes about a run that starts; what is absent stays.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AgentStartChanges {
    /// Messages that go with the prompt.
    pub messages: Vec<CustomMessageDraft>,
    /// Other sections of the system prompt, for this run.
    pub sections: Option<PromptSections>,
    /// A text that takes the place of the whole system prompt in requests of this run. The
    /// transcript keeps its sections.
    pub forced_prompt: Option<String>,
    pub tools: Option<Vec<String>>,
}

/// A message of an extension, before it has a time.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CustomMessageDraft {
    /// The extension's name for this kind of message.
    pub custom_type: String,
    /// What the model sees.
    pub content: Content,
    /// Whether the user sees it.
    pub display: bool,
    /// Data for the extension.
    pub details: Option<Value>,
}

/// How the last turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ActivityOutcome {
    #[default]
    Completed,
    Aborted,
    Error,
}

/// A turn that is over but for its `turn_end`.
#[derive(Clone)]
pub struct TurnBoundary<'a> {
    pub message: &'a SharedMessage,
    /// The results of its calls.
    pub tool_results: &'a [SharedMessage],
    pub message_entry_id: EntryId,
    /// The entries of the results.
    pub tool_result_entry_ids: Vec<EntryId>,
    pub outcome: ActivityOutcome,
    /// What the model would see next.
    pub view: BoundaryView<'a>,
}

/// A session that is about to settle.
#[derive(Clone)]
pub struct SettleBoundary<'a> {
    /// How the last turn ended.
    pub outcome: ActivityOutcome,
    /// What the model would see next.
    pub view: BoundaryView<'a>,
}

/// What the model would see if a run went on from here with some drafts appended.
#[derive(Debug, Clone)]
pub struct BoundaryContext {
    /// The entries behind the messages.
    pub entries: Vec<Arc<Entry>>,
    /// The messages of the transcript.
    pub messages: Vec<AgentMessage>,
    /// What the model is sent.
    pub model_messages: Vec<Message>,
    /// What waits to be said.
    pub pending: Vec<AgentMessage>,
    /// Whether a run could go on from here.
    pub can_continue: bool,
}

/// What a boundary leads to.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BoundaryDecision {
    /// Entries to append, in order; one that does not fit discards all.
    pub entries: Vec<EntryDraft>,
    /// Whether the model is asked once more.
    pub proceed: bool,
}

/// An entry a hook wants to append.
#[derive(Debug, Clone, PartialEq)]
pub enum EntryDraft {
    /// State of an extension.
    Custom {
        /// The extension's name for this kind of entry.
        custom_type: String,
        data: Option<Value>,
    },
    /// A message of an extension.
    CustomMessage(CustomMessageDraft),
    /// An edit of what the model sees.
    ContextEdit {
        /// The entry that is edited.
        target_id: EntryId,
        /// What it says instead; none leaves it out.
        replacement: Option<ContextReplacement>,
    },
    /// A summary of what came before.
    Compaction {
        summary: String,
        /// The first entry that stays; none keeps nothing.
        first_kept_entry_id: Option<EntryId>,
        /// Data for the extension.
        details: Option<Value>,
        /// Tokens spent on it.
        usage: Option<Usage>,
    },
}

/// A compaction that is about to ask a model.
#[derive(Clone)]
pub struct CompactionProposal<'a> {
    /// What would be summarized and what stays.
    pub plan: &'a CompactionPlan,
    /// The session, for those who want to read its branch.
    pub session: &'a AgentSession,
    /// What the user wants the summary to look at.
    pub instructions: Option<&'a str>,
    /// Why the session is compacted.
    pub reason: CompactionReason,
    /// Whether the model is asked again afterwards.
    pub will_retry: bool,
    /// Cancelled when the compaction is.
    pub cancel: &'a CancellationToken,
}

/// What a hook makes of a compaction.
#[derive(Debug, Clone, PartialEq)]
pub enum CompactionVerdict {
    /// A model is asked.
    Proceed,
    Cancel,
    /// This summary is stored.
    Use(CompactionResult),
}

/// A compaction that is stored.
#[derive(Clone)]
pub struct CompactionCompleted<'a> {
    pub entry: &'a Arc<Entry>,
    /// Who wrote the summary.
    pub author: SummaryAuthor,
    /// Why the session was compacted.
    pub reason: CompactionReason,
    /// Whether the model is asked again.
    pub will_retry: bool,
}

/// A compaction that came to nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompactionFailed {
    /// Why the session was to be compacted.
    pub reason: CompactionReason,
    /// What went wrong; none when it was cancelled.
    pub error_message: Option<String>,
    /// Whether somebody cancelled it.
    pub aborted: bool,
    /// Whose summary it was.
    pub author: SummaryAuthor,
}

/// A move in the tree that is about to be made.
#[derive(Clone)]
pub struct TreeProposal<'a> {
    /// The entry to go to.
    pub target_id: &'a EntryId,
    /// Where the session stands.
    pub old_leaf_id: Option<&'a EntryId>,
    /// What the move leaves behind.
    pub left: &'a LeftBranch,
    /// Whether the user wants a summary of it.
    pub summarize: bool,
    /// What the user wants the summary to look at.
    pub instructions: Option<&'a str>,
    /// Whether that replaces the usual instructions.
    pub replace_instructions: bool,
    /// The label the user wants.
    pub label: Option<&'a str>,
    /// Cancelled when the move is.
    pub cancel: &'a CancellationToken,
}

/// What a hook makes of a move; what is absent stays.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TreeVerdict {
    /// The session stays where it is.
    pub cancel: bool,
    /// A summary of the hook's own, used when the user wants one.
    pub summary: Option<BranchSummary>,
    pub instructions: Option<String>,
    /// Whether they replace the usual ones.
    pub replace_instructions: Option<bool>,
    pub label: Option<String>,
}

/// A move that has been made.
#[derive(Clone)]
pub struct TreeMoved<'a> {
    /// Where the session stands.
    pub new_leaf_id: Option<&'a EntryId>,
    pub old_leaf_id: Option<&'a EntryId>,
    /// The summary of what was left.
    pub summary: Option<&'a Arc<Entry>>,
    pub author: Option<SummaryAuthor>,
}

/// A command of the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserCommand {
    pub command: String,
    /// Whether the model shall not see it.
    pub exclude_from_context: bool,
    pub cwd: PathBuf,
}

/// What a hook makes of a command of the user.
#[derive(Clone)]
pub enum UserBashVerdict {
    Run,
    /// It runs through these operations.
    RunWith(Arc<dyn ProcessOperations>),
    /// The hook ran it.
    Result(ShellResult),
}

/// A model that is in force.
#[derive(Debug, Clone)]
pub struct ModelSelected {
    pub model: Arc<Model>,
    pub previous: Option<Arc<Model>>,
    /// How it was chosen.
    pub source: ModelSource,
}

/// How a model was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelSource {
    Set,
    /// As the next in turn.
    Cycle,
    /// From the session's history.
    Restore,
}

/// Why a session starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionStart {
    pub reason: StartReason,
    /// The file of the session before.
    pub previous_session_file: Option<PathBuf>,
}

/// Why a session starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartReason {
    Startup,
    /// Settings and resources were read again.
    Reload,
    /// The user wanted a new session.
    New,
    /// The user wanted another one.
    Resume,
    /// The user forked one.
    Fork,
}

/// Another session that is about to take the place of the live one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionSwitch {
    /// Why: [`StartReason::New`] or [`StartReason::Resume`].
    pub reason: StartReason,
    /// The file that will be opened.
    pub target_session_file: Option<PathBuf>,
}

/// Why a session goes away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionShutdown {
    /// What comes after; none when the program ends.
    pub next: Option<StartReason>,
    /// The file that will be opened.
    pub target_session_file: Option<PathBuf>,
}

/// A failure that belongs to nobody's call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookFailure {
    /// The event or the verb it happened in.
    pub event: &'static str,
    /// The file or command it belongs to, where there is one.
    pub origin: Option<String>,
    pub message: String,
}
