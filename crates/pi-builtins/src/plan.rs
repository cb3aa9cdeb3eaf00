//! The built-in extension `plan`: after `/plan`, the model can look around but change nothing, until the user agrees to
//! its plan with `/plan go`.

use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use pi_config::BuiltinExtension;
use pi_core::{DenialReason, HookError, PendingToolCall, ReviewedToolCall};
use pi_host::{
    AgentSession, AgentStart, AgentStartChanges, BoundaryDecision, ExtensionNotice, ExtensionUi,
    InputHook, InputVerdict, LifecycleHook, NativeCommand, NativeContext, NativeExtension,
    NativeParts, Participants, PromptHook, SessionShutdown, ToolPolicy, TurnBoundary, TurnHook,
    UserInput,
};
use pi_protocol::EntryId;
use tokio_util::sync::CancellationToken;

const COMMAND: &str = "plan";

/// The tools of plan mode: they only read.
const TOOLS: [&str; 4] = ["read", "grep", "find", "ls"];

/// Name of the section of the system prompt.
const SECTION: &str = "plan_mode";

const INSTRUCTIONS: &str = "\
Plan mode is on. Explore with the tools you have; they only read. Do not try to change files or to run commands.
End with a plan: the goal in one sentence, numbered steps that name files, how to verify the result, and open questions.
The user decides whether the plan is carried out.";

/// What is sent when the user agrees to the plan.
const GO: &str = "Carry out the plan.";

/// Label of the message with the plan that is carried out, and key of the status.
const LABEL: &str = "plan";

pub(crate) const EXTENSION: NativeExtension = NativeExtension::new(BuiltinExtension::Plan, load);

fn load(context: &NativeContext<'_>) -> NativeParts {
    let extension = Arc::new(PlanExtension {
        ui: Arc::clone(context.ui),
        session: Mutex::default(),
        planning: Mutex::default(),
    });
    let participants = Participants::builder()
        .input(Arc::clone(&extension))
        .prompt(Arc::clone(&extension))
        .tool_policy(Arc::clone(&extension))
        .turn(Arc::clone(&extension))
        .lifecycle(Arc::clone(&extension))
        .build();
    NativeParts {
        commands: vec![NativeCommand {
            name: COMMAND,
            description: "Plan without changes: /plan [task], /plan go, /plan off",
        }],
        participants,
        bind: Some(Box::new(move |session| {
            *extension.session.lock() = Some(session.clone());
        })),
        ..NativeParts::default()
    }
}

struct PlanExtension {
    ui: Arc<dyn ExtensionUi>,
    /// From the moment the session exists until it ends.
    session: Mutex<Option<AgentSession>>,
    /// `None` outside of plan mode.
    planning: Mutex<Option<Planning>>,
}

struct Planning {
    /// The tools that were active before.
    tools: Vec<String>,
    /// The latest answer.
    answer: Option<EntryId>,
}

/// What follows `/plan`.
#[derive(Debug, PartialEq, Eq)]
enum PlanCommand<'text> {
    /// Turns plan mode on.
    On,
    /// Turns it on, and sends a task.
    Task(&'text str),
    /// Turns it off, and sends that the plan is to be carried out, with further words of the user.
    Go(&'text str),
    Off,
}

impl<'text> PlanCommand<'text> {
    /// Reads the input of a user; `None` if it is not this command.
    fn parse(input: &'text str) -> Option<Self> {
        let rest = input.trim().strip_prefix('/')?.strip_prefix(COMMAND)?;
        if rest.starts_with(|next: char| !next.is_whitespace()) {
            return None;
        }
        let rest = rest.trim();
        let (word, words) = rest
            .split_once(char::is_whitespace)
            .map_or((rest, ""), |(word, words)| (word, words.trim()));
        Some(match (word, words) {
            ("", _) => Self::On,
            ("go", words) => Self::Go(words),
            ("off", "") => Self::Off,
            _ => Self::Task(rest),
        })
    }
}

impl PlanExtension {
    fn is_planning(&self) -> bool {
        self.planning.lock().is_some()
    }

    async fn notify(&self, message: &str) {
        let notice = ExtensionNotice::Notify {
            message: message.to_owned(),
            notify_type: Some("info".to_owned()),
        };
        self.ui.notify(notice).await;
    }

    async fn show_status(&self) {
        let text = self.is_planning().then(|| "plan mode".to_owned());
        let key = LABEL.to_owned();
        self.ui.notify(ExtensionNotice::Status { key, text }).await;
    }

    /// Turns plan mode on, unless it is.
    async fn begin(&self) {
        let session = self.session.lock().clone();
        let Some(session) = session.filter(|_| !self.is_planning()) else {
            return;
        };
        let tools = session.tools().active_names();
        session.tools().set_active(&TOOLS.map(str::to_owned));
        let answer = None;
        *self.planning.lock() = Some(Planning { tools, answer });
        self.show_status().await;
    }

    /// Turns plan mode off; returns whether it was on.
    async fn end(&self, keeps_plan: bool) -> bool {
        let ended = self.planning.lock().take();
        let (Some(session), Some(ended)) = (self.session.lock().clone(), ended) else {
            return false;
        };
        session.tools().set_active(&ended.tools);
        if let Some(answer) = ended.answer.filter(|_| keeps_plan)
            && let Err(error) = session.history().set_label(&answer, Some(LABEL))
        {
            tracing::warn!(%error, "cannot label the plan");
        }
        self.show_status().await;
        true
    }

    async fn run(&self, command: PlanCommand<'_>) -> InputVerdict {
        match command {
            PlanCommand::On => {
                self.begin().await;
                self.notify("Plan mode is on: describe the task. /plan go carries the plan out, /plan off leaves plan mode.")
                    .await;
                InputVerdict::Handled
            }
            PlanCommand::Task(task) => {
                self.begin().await;
                replace(task.to_owned())
            }
            PlanCommand::Go(words) => {
                if !self.end(true).await {
                    self.notify("Plan mode is off: /plan turns it on.").await;
                    return InputVerdict::Handled;
                }
                replace(match words {
                    "" => GO.to_owned(),
                    words => format!("{GO} {words}"),
                })
            }
            PlanCommand::Off => {
                self.end(false).await;
                self.notify("Plan mode is off.").await;
                InputVerdict::Handled
            }
        }
    }
}

fn replace(text: String) -> InputVerdict {
    let images = None;
    InputVerdict::Replace { text, images }
}

/// A prompt rather than a command: what it sends is a turn of the client that entered it.
impl InputHook for PlanExtension {
    fn input(&self, input: UserInput) -> BoxFuture<'_, InputVerdict> {
        async move {
            let Some(command) = PlanCommand::parse(&input.text) else {
                return InputVerdict::Continue;
            };
            if input.delivery.is_some() {
                self.notify("/plan waits for the end of the run: enter it again then.")
                    .await;
                return InputVerdict::Handled;
            }
            self.run(command).await
        }
        .boxed()
    }
}

impl PromptHook for PlanExtension {
    fn before_agent_start(&self, start: AgentStart) -> BoxFuture<'_, AgentStartChanges> {
        let mut changes = AgentStartChanges::default();
        if self.is_planning() {
            let mut sections = start.sections;
            match sections.set_extension(SECTION, INSTRUCTIONS) {
                Ok(()) => changes.sections = Some(sections),
                Err(error) => tracing::warn!(%error, "the prompt does not mention plan mode"),
            }
        }
        std::future::ready(changes).boxed()
    }
}

/// Tools that a server or an extension adds later are refused, too.
impl ToolPolicy for PlanExtension {
    fn tool_call<'a>(
        &'a self,
        call: PendingToolCall,
        _cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<ReviewedToolCall, HookError>> {
        let is_allowed = !self.is_planning() || TOOLS.contains(&call.call.name.as_str());
        let reviewed = if is_allowed {
            ReviewedToolCall::allow(call.arguments)
        } else {
            let tools = TOOLS.join(", ");
            ReviewedToolCall::deny(DenialReason {
                text: Some(format!(
                    "Plan mode allows only {tools}. End with the plan; the user decides whether it is carried out."
                )),
                terminate: false,
            })
        };
        std::future::ready(Ok(reviewed)).boxed()
    }
}

impl TurnHook for PlanExtension {
    fn turn_end<'a>(&'a self, turn: TurnBoundary<'a>) -> BoxFuture<'a, BoundaryDecision> {
        if let Some(planning) = &mut *self.planning.lock() {
            planning.answer = Some(turn.message_entry_id);
        }
        std::future::ready(BoundaryDecision::default()).boxed()
    }
}

impl LifecycleHook for PlanExtension {
    fn session_shutdown(&self, _shutdown: SessionShutdown) -> BoxFuture<'_, ()> {
        drop(self.session.lock().take());
        std::future::ready(()).boxed()
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn the_command_is_read_from_the_input() {
        for (input, expected) in [
            ("/plan", Some(PlanCommand::On)),
            (" /plan ", Some(PlanCommand::On)),
            ("/plan go", Some(PlanCommand::Go(""))),
            ("/plan go  but faster", Some(PlanCommand::Go("but faster"))),
            ("/plan off", Some(PlanCommand::Off)),
            ("/plan off by one", Some(PlanCommand::Task("off by one"))),
            ("/plan add\na test", Some(PlanCommand::Task("add\na test"))),
            ("/planner", None),
            ("plan", None),
        ] {
            assert_eq!(PlanCommand::parse(input), expected, "{input}");
        }
    }
}
