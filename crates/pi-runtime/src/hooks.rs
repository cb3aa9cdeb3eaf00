//! Session hooks, for extension hosts and programs that embed a session.
//!
//! Every hook has a default that changes nothing. Arguments are cheap to build; anything expensive
//! is computed on demand through the values passed in. Hooks run before the listeners of the same
//! event, and the session awaits them.

mod chain;

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_context::{
    AbandonedBranch, CompactionPlan, CompactionReason, CompactionResult, PromptSections,
    SummaryAuthor,
};
use pi_core::{
    ActivityOutcome, Delivery, FinishedToolCall, HookError, InputSource, PendingToolCall,
    ReviewedToolCall, SessionEvent, SharedMessage, ToolResultUpdate,
};
use pi_protocol::{
    AgentMessage, ImageContent, Message, MessageContent, Model, ThinkingLevel, Usage,
};
use pi_providers::RequestHooks;
use pi_session::{BranchSummary, ContextReplacement, Entry, EntryId};
use pi_tools::{ProcessOperations, ShellResult};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::session::{AgentSession, BoundaryView};

pub(crate) use chain::HookChain;

/// Callbacks of an extension host or an embedding program.
pub trait SessionHooks: Send + Sync {
    /// Returns whether a slash command with this name exists.
    fn has_command(&self, name: &str) -> bool {
        let _ = name;
        false
    }

    /// Runs a slash command; only called for existing commands. The host reports failures itself.
    fn run_command<'a>(&'a self, name: &'a str, arguments: &'a str) -> BoxFuture<'a, ()> {
        let _ = (name, arguments);
        ready(())
    }

    /// Called with the user's input, before skills and templates are expanded.
    fn input(&self, input: UserInput) -> BoxFuture<'_, InputVerdict> {
        let _ = input;
        ready(InputVerdict::Continue)
    }

    /// Called when a prompt is about to start a run.
    fn before_agent_start(&self, start: AgentStart) -> BoxFuture<'_, AgentStartChanges> {
        let _ = start;
        ready(AgentStartChanges::default())
    }

    /// Changes the messages of one request; the transcript is not modified.
    fn context<'a>(
        &'a self,
        messages: Vec<SharedMessage>,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Vec<SharedMessage>, HookError>> {
        let _ = cancel;
        ready(Ok(messages))
    }

    /// Returns hooks that inspect requests and responses on the wire.
    fn request_hooks(&self) -> Option<Arc<dyn RequestHooks>> {
        None
    }

    /// Called before a tool runs. An error blocks the call.
    fn tool_call<'a>(
        &'a self,
        call: PendingToolCall,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<ReviewedToolCall, HookError>> {
        let _ = cancel;
        ready(Ok(ReviewedToolCall::allow(call.arguments)))
    }

    /// Called after a tool has run, before its end is published.
    fn tool_result<'a>(
        &'a self,
        call: &'a FinishedToolCall,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<ToolResultUpdate, HookError>> {
        let _ = (call, cancel);
        ready(Ok(ToolResultUpdate::default()))
    }

    /// Called when a message is complete, before it is stored. A returned message of the same role
    /// replaces it; one of another role is ignored.
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

    /// Called when the session has nothing left to do, before it settles.
    fn before_settle<'a>(&'a self, settle: SettleBoundary<'a>) -> BoxFuture<'a, BoundaryDecision> {
        let _ = settle;
        ready(BoundaryDecision::default())
    }

    /// Called before a compaction calls a model.
    fn before_compact<'a>(
        &'a self,
        proposal: CompactionProposal<'a>,
    ) -> BoxFuture<'a, CompactionVerdict> {
        let _ = proposal;
        ready(CompactionVerdict::Proceed)
    }

    /// Called after a compaction is stored.
    fn compacted<'a>(&'a self, compacted: CompactionCompleted<'a>) -> BoxFuture<'a, ()> {
        let _ = compacted;
        ready(())
    }

    /// Called when a compaction failed or was canceled.
    fn compaction_failed(&self, failed: CompactionFailed) -> BoxFuture<'_, ()> {
        let _ = failed;
        ready(())
    }

    /// Called before the session moves to another entry of its tree.
    fn before_tree<'a>(&'a self, proposal: TreeProposal<'a>) -> BoxFuture<'a, TreeVerdict> {
        let _ = proposal;
        ready(TreeVerdict::default())
    }

    /// Called after the session moved.
    fn tree<'a>(&'a self, moved: TreeMoved<'a>) -> BoxFuture<'a, ()> {
        let _ = moved;
        ready(())
    }

    /// Called before a user's shell command runs. An error prevents it from running.
    fn user_bash(&self, command: UserCommand) -> BoxFuture<'_, Result<UserBashVerdict, HookError>> {
        let _ = command;
        ready(Ok(UserBashVerdict::Run))
    }

    /// Called after the model changed.
    fn model_selected(&self, selected: ModelSelected) -> BoxFuture<'_, ()> {
        let _ = selected;
        ready(())
    }

    /// Called after the thinking level changed.
    fn thinking_level_selected(
        &self,
        level: ThinkingLevel,
        previous: ThinkingLevel,
    ) -> BoxFuture<'_, ()> {
        let _ = (level, previous);
        ready(())
    }

    /// Called with run events, settling and name changes, before the listeners.
    fn on_event<'a>(&'a self, event: &'a SessionEvent) -> BoxFuture<'a, ()> {
        let _ = event;
        ready(())
    }

    /// Called when a session is ready for use.
    fn session_start(&self, start: SessionStart) -> BoxFuture<'_, ()> {
        let _ = start;
        ready(())
    }

    /// Called before another session replaces this one; false vetoes the switch.
    fn before_switch(&self, switch: SessionSwitch) -> BoxFuture<'_, bool> {
        let _ = switch;
        ready(true)
    }

    /// Called before the session is forked; false vetoes the fork.
    fn before_fork<'a>(
        &'a self,
        entry: &'a EntryId,
        position: pi_session::ForkPosition,
    ) -> BoxFuture<'a, bool> {
        let _ = (entry, position);
        ready(true)
    }

    /// Called before a session is shut down.
    fn session_shutdown(&self, shutdown: SessionShutdown) -> BoxFuture<'_, ()> {
        let _ = shutdown;
        ready(())
    }

    /// Reports a failure that no caller receives, so the host can show it.
    fn report(&self, failure: HookFailure) {
        tracing::warn!(event = failure.event, "{}", failure.message);
    }
}

/// Hooks that change nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoSessionHooks;

impl SessionHooks for NoSessionHooks {}

fn ready<'a, T: Send + 'a>(value: T) -> BoxFuture<'a, T> {
    Box::pin(std::future::ready(value))
}

#[derive(Debug, Clone, PartialEq)]
pub struct UserInput {
    pub text: String,
    pub images: Vec<ImageContent>,
    pub source: InputSource,
    /// How it will be queued; `None` when the session is idle.
    pub delivery: Option<Delivery>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum InputVerdict {
    /// Use the input unchanged.
    Continue,
    /// Use other input.
    Replace {
        text: String,
        /// The images; `None` keeps the original ones.
        images: Option<Vec<ImageContent>>,
    },
    /// The hook has handled the input.
    Handled,
}

/// A prompt that is about to start a run.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentStart {
    pub prompt: String,
    /// The images as given, before resizing.
    pub images: Vec<ImageContent>,
    /// The current system prompt.
    pub sections: PromptSections,
    pub tools: Vec<String>,
}

/// Changes a hook makes to a run before it starts; `None` leaves a value unchanged.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AgentStartChanges {
    /// Messages to send together with the prompt.
    pub messages: Vec<CustomMessageDraft>,
    /// Replacement sections of the system prompt for this run.
    pub sections: Option<PromptSections>,
    /// Text that replaces the complete system prompt in requests of this run. The transcript keeps
    /// its sections.
    pub forced_prompt: Option<String>,
    pub tools: Option<Vec<String>>,
}

/// An extension message without a timestamp.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CustomMessageDraft {
    /// The extension's name for this kind of message.
    pub custom_type: String,
    pub content: MessageContent,
    /// Whether the message is shown to the user.
    pub display: bool,
    /// Data for the extension; not sent to the model.
    pub details: Option<Value>,
}

/// A turn that is complete except for its `turn_end` event.
#[derive(Clone)]
pub struct TurnBoundary<'a> {
    pub message: &'a SharedMessage,
    pub tool_results: &'a [SharedMessage],
    pub message_entry_id: EntryId,
    pub tool_result_entry_ids: Vec<EntryId>,
    pub outcome: ActivityOutcome,
    /// Access to the context the model would see next.
    pub view: BoundaryView<'a>,
}

/// A session that is about to settle.
#[derive(Clone)]
pub struct SettleBoundary<'a> {
    pub outcome: ActivityOutcome,
    /// Access to the context the model would see next.
    pub view: BoundaryView<'a>,
}

/// The context the model would see if the run continued from here with the drafts appended.
#[derive(Debug, Clone)]
pub struct BoundaryContext {
    /// The entries behind the messages.
    pub entries: Vec<Arc<Entry>>,
    /// The messages of the transcript.
    pub messages: Vec<AgentMessage>,
    /// The messages sent to the model.
    pub model_messages: Vec<Message>,
    /// Queued messages.
    pub pending: Vec<AgentMessage>,
    /// Whether a run could continue from here.
    pub can_continue: bool,
}

/// A hook's decision at the end of a turn or before settling.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BoundaryDecision {
    /// Entries to append, in order. One invalid entry discards all.
    pub entries: Vec<EntryDraft>,
    /// Whether to call the model once more.
    pub proceed: bool,
}

/// An entry a hook wants to append.
#[derive(Debug, Clone, PartialEq)]
pub enum EntryDraft {
    Custom {
        /// The extension's name for this kind of entry.
        custom_type: String,
        data: Option<Value>,
    },
    CustomMessage(CustomMessageDraft),
    /// An edit of the model's context.
    ContextEdit {
        /// The entry to edit.
        target_id: EntryId,
        /// The new content; `None` omits the entry.
        replacement: Option<ContextReplacement>,
    },
    /// A summary of everything before.
    Compaction {
        summary: String,
        /// The first entry to keep; `None` keeps nothing.
        first_kept_entry_id: Option<EntryId>,
        details: Option<Value>,
        /// Tokens used to write the summary.
        usage: Option<Usage>,
    },
}

/// A compaction that is about to call a model.
#[derive(Clone)]
pub struct CompactionProposal<'a> {
    /// Which entries would be summarized and which kept.
    pub plan: &'a CompactionPlan,
    pub session: &'a AgentSession,
    /// The user's instructions for the summary.
    pub instructions: Option<&'a str>,
    pub reason: CompactionReason,
    /// Whether the failed request is sent again afterwards.
    pub will_retry: bool,
    /// Canceled when the compaction is.
    pub cancel: &'a CancellationToken,
}

#[derive(Debug, Clone, PartialEq)]
pub enum CompactionVerdict {
    /// Let a model write the summary.
    Proceed,
    Cancel,
    /// Store this summary.
    Use(CompactionResult),
}

/// A compaction that was stored.
#[derive(Clone)]
pub struct CompactionCompleted<'a> {
    pub entry: &'a Arc<Entry>,
    pub author: SummaryAuthor,
    pub reason: CompactionReason,
    /// Whether the failed request is sent again.
    pub will_retry: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompactionFailed {
    pub reason: CompactionReason,
    /// The error; `None` if the compaction was canceled.
    pub error_message: Option<String>,
    pub aborted: bool,
    /// Who wrote or was to write the summary.
    pub author: SummaryAuthor,
}

/// A move in the tree that is about to happen.
#[derive(Clone)]
pub struct TreeProposal<'a> {
    /// The entry to move to.
    pub target_id: &'a EntryId,
    /// The current leaf.
    pub old_leaf_id: Option<&'a EntryId>,
    /// The branch that is left behind.
    pub left: &'a AbandonedBranch,
    /// Whether the user wants a summary of it.
    pub summarize: bool,
    /// The user's instructions for the summary.
    pub instructions: Option<&'a str>,
    /// Whether they replace the default instructions.
    pub replace_instructions: bool,
    /// The label to set.
    pub label: Option<&'a str>,
    /// Canceled when the move is.
    pub cancel: &'a CancellationToken,
}

/// Changes a hook makes to a move; `None` leaves a value unchanged.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TreeVerdict {
    /// Cancels the move.
    pub cancel: bool,
    /// The hook's own summary, used if the user wants one.
    pub summary: Option<BranchSummary>,
    pub instructions: Option<String>,
    pub replace_instructions: Option<bool>,
    pub label: Option<String>,
}

/// A completed move.
#[derive(Clone)]
pub struct TreeMoved<'a> {
    /// The current leaf.
    pub new_leaf_id: Option<&'a EntryId>,
    pub old_leaf_id: Option<&'a EntryId>,
    /// The summary of the branch that was left.
    pub summary: Option<&'a Arc<Entry>>,
    pub author: Option<SummaryAuthor>,
}

/// A shell command entered by the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserCommand {
    pub command: String,
    /// Whether to keep the command out of the model's context.
    pub exclude_from_context: bool,
    pub cwd: PathBuf,
}

#[derive(Clone)]
pub enum UserBashVerdict {
    Run,
    /// Run it with these operations.
    RunWith(Arc<dyn ProcessOperations>),
    /// The hook has run the command.
    Result(ShellResult),
}

/// A model change.
#[derive(Debug, Clone)]
pub struct ModelSelected {
    pub model: Arc<Model>,
    pub previous: Option<Arc<Model>>,
    pub source: ModelSource,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelSource {
    Set,
    Cycle,
    /// Restored from the session's history.
    Restore,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionStart {
    pub reason: StartReason,
    /// The file of the previous session.
    pub previous_session_file: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartReason {
    Startup,
    /// Settings and resources were reloaded.
    Reload,
    New,
    Resume,
    Fork,
}

/// A session that is about to replace the current one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionSwitch {
    /// Either [`StartReason::New`] or [`StartReason::Resume`].
    pub reason: StartReason,
    /// The file that will be opened.
    pub target_session_file: Option<PathBuf>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionShutdown {
    /// The next session's start reason; `None` when the program exits.
    pub next: Option<StartReason>,
    /// The file that will be opened.
    pub target_session_file: Option<PathBuf>,
}

/// A failure that no caller receives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookFailure {
    /// The event or operation that failed.
    pub event: &'static str,
    /// The file or command involved, if any.
    pub origin: Option<String>,
    pub message: String,
}
