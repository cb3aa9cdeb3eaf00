//! Participants of a session: extensions, policies and the embedding program.
//!
//! A participant implements the traits of the concerns it has and registers for them. The session
//! calls the participants of a concern in order, awaits them, and lets them change or veto what it
//! does; each concern has its file, with the rule that combines several participants. They run
//! before the listeners of the same event. Arguments are cheap to build; anything expensive is
//! computed on demand through the values passed in.

mod compaction;
mod context;
mod events;
mod failures;
mod input;
mod lifecycle;
mod navigation;
mod prompt;
mod tools;
mod turn;

use std::sync::Arc;

use futures_util::future::BoxFuture;

pub use compaction::{
    CompactionCompleted, CompactionFailed, CompactionHook, CompactionProposal, CompactionVerdict,
};
pub use context::ContextHook;
pub use events::{EventHook, ModelSelected, ModelSource};
pub use failures::{FailureReporter, HookFailure};
pub use input::{InputHook, InputVerdict, UserBashVerdict, UserCommand, UserInput};
pub use lifecycle::{LifecycleHook, SessionShutdown, SessionStart, SessionSwitch, StartReason};
pub use navigation::{NavigationHook, TreeMoved, TreeProposal, TreeVerdict};
pub use prompt::{AgentStart, AgentStartChanges, CustomMessageDraft, PromptHook};
pub use tools::ToolPolicy;
pub use turn::{
    BoundaryContext, BoundaryDecision, EntryDraft, SettleBoundary, TurnBoundary, TurnHook,
};

/// The participants of a session, in order, by concern. The default has none.
///
/// ```
/// use std::sync::Arc;
///
/// use futures_util::future::{BoxFuture, FutureExt as _};
/// use pi_host::{InputHook, InputVerdict, Participants, UserInput};
///
/// struct Shout;
///
/// impl InputHook for Shout {
///     fn input(&self, input: UserInput) -> BoxFuture<'_, InputVerdict> {
///         let text = input.text.to_uppercase();
///         async { InputVerdict::Replace { text, images: None } }.boxed()
///     }
/// }
///
/// let participants = Participants::builder().input(Arc::new(Shout)).build();
/// ```
#[derive(Clone, Default)]
pub struct Participants {
    input: Vec<Arc<dyn InputHook>>,
    prompt: Vec<Arc<dyn PromptHook>>,
    context: Vec<Arc<dyn ContextHook>>,
    tool_policy: Vec<Arc<dyn ToolPolicy>>,
    turn: Vec<Arc<dyn TurnHook>>,
    compaction: Vec<Arc<dyn CompactionHook>>,
    navigation: Vec<Arc<dyn NavigationHook>>,
    lifecycle: Vec<Arc<dyn LifecycleHook>>,
    events: Vec<Arc<dyn EventHook>>,
    failures: Vec<Arc<dyn FailureReporter>>,
}

impl Participants {
    pub fn builder() -> ParticipantsBuilder {
        ParticipantsBuilder(Self::default())
    }

    /// Appends the participants of `later` to those of every concern.
    #[must_use]
    pub fn then(mut self, later: Self) -> Self {
        self.input.extend(later.input);
        self.prompt.extend(later.prompt);
        self.context.extend(later.context);
        self.tool_policy.extend(later.tool_policy);
        self.turn.extend(later.turn);
        self.compaction.extend(later.compaction);
        self.navigation.extend(later.navigation);
        self.lifecycle.extend(later.lifecycle);
        self.events.extend(later.events);
        self.failures.extend(later.failures);
        self
    }
}

/// Registers participants; those of one concern run in the order of registration.
#[must_use]
pub struct ParticipantsBuilder(Participants);

impl ParticipantsBuilder {
    pub fn input(mut self, hook: Arc<impl InputHook + 'static>) -> Self {
        self.0.input.push(hook);
        self
    }

    pub fn prompt(mut self, hook: Arc<impl PromptHook + 'static>) -> Self {
        self.0.prompt.push(hook);
        self
    }

    pub fn context(mut self, hook: Arc<impl ContextHook + 'static>) -> Self {
        self.0.context.push(hook);
        self
    }

    pub fn tool_policy(mut self, policy: Arc<impl ToolPolicy + 'static>) -> Self {
        self.0.tool_policy.push(policy);
        self
    }

    pub fn turn(mut self, hook: Arc<impl TurnHook + 'static>) -> Self {
        self.0.turn.push(hook);
        self
    }

    pub fn compaction(mut self, hook: Arc<impl CompactionHook + 'static>) -> Self {
        self.0.compaction.push(hook);
        self
    }

    pub fn navigation(mut self, hook: Arc<impl NavigationHook + 'static>) -> Self {
        self.0.navigation.push(hook);
        self
    }

    pub fn lifecycle(mut self, hook: Arc<impl LifecycleHook + 'static>) -> Self {
        self.0.lifecycle.push(hook);
        self
    }

    pub fn events(mut self, hook: Arc<impl EventHook + 'static>) -> Self {
        self.0.events.push(hook);
        self
    }

    pub fn failures(mut self, reporter: Arc<impl FailureReporter + 'static>) -> Self {
        self.0.failures.push(reporter);
        self
    }

    pub fn build(self) -> Participants {
        self.0
    }
}

fn ready<'a, T: Send + 'a>(value: T) -> BoxFuture<'a, T> {
    Box::pin(std::future::ready(value))
}
