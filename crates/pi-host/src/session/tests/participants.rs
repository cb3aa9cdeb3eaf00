//! Participants: their inputs, their order, and their effects.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use pi_core::{FinishedToolCall, HookError, PendingToolCall, ReviewedToolCall, ToolResultUpdate};
use pi_protocol::{
    AgentMessage, AssistantBlock, ContextReplacement, InputBlock, Message, SessionEvent,
    SharedMessage,
};
use pi_providers::FauxResponse;
use pi_tools::ShellResult;
use pretty_assertions::assert_eq;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::harness::{HarnessOptions, SessionHarness, line};
use crate::participants::{
    AgentStart, AgentStartChanges, BoundaryDecision, ContextHook, CustomMessageDraft, EntryDraft,
    EventHook, FailureReporter, HookFailure, InputHook, InputVerdict, Participants, PromptHook,
    SettleBoundary, ToolPolicy, TurnBoundary, TurnHook, UserBashVerdict, UserCommand, UserInput,
};
use crate::session::BashRequest;

/// Logs every call; its decisions are in its fields.
#[derive(Default)]
struct LoggingHooks {
    log: Mutex<Vec<String>>,
    start: Mutex<AgentStartChanges>,
    rewrite: bool,
    turn_ends: Mutex<Vec<BoundaryDecision>>,
    settles: Mutex<Vec<BoundaryDecision>>,
    bash: Option<ShellResult>,
}

impl LoggingHooks {
    fn note(&self, line: impl Into<String>) {
        self.log.lock().push(line.into());
    }
}

fn ready<'a, T: Send + 'a>(value: T) -> BoxFuture<'a, T> {
    Box::pin(std::future::ready(value))
}

impl InputHook for LoggingHooks {
    fn input(&self, input: UserInput) -> BoxFuture<'_, InputVerdict> {
        self.note(format!("input {}", input.text));
        ready(InputVerdict::Continue)
    }

    fn user_bash(&self, command: UserCommand) -> BoxFuture<'_, Result<UserBashVerdict, HookError>> {
        self.note(format!("user_bash {}", command.command));
        ready(match &self.bash {
            Some(result) => Ok(UserBashVerdict::Result(result.clone())),
            None => Err(HookError::new("not today")),
        })
    }
}

impl PromptHook for LoggingHooks {
    fn before_agent_start(&self, start: AgentStart) -> BoxFuture<'_, AgentStartChanges> {
        self.note(format!(
            "before_agent_start {} {:?}",
            start.prompt, start.tools
        ));
        ready(self.start.lock().clone())
    }
}

impl ContextHook for LoggingHooks {
    fn context<'a>(
        &'a self,
        messages: Vec<SharedMessage>,
        _cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Vec<SharedMessage>, HookError>> {
        self.note(format!("context {}", messages.len()));
        ready(Ok(messages))
    }
}

impl ToolPolicy for LoggingHooks {
    fn tool_call<'a>(
        &'a self,
        mut call: PendingToolCall,
        _cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<ReviewedToolCall, HookError>> {
        self.note(format!("tool_call {}", call.call.name));
        call.arguments.insert("text".to_owned(), json!("changed"));
        ready(Ok(ReviewedToolCall::allow(call.arguments)))
    }

    fn tool_result<'a>(
        &'a self,
        call: &'a FinishedToolCall,
        _cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<ToolResultUpdate, HookError>> {
        let text = pi_protocol::join_text(&call.output.content);
        self.note(format!("tool_result {text}"));
        ready(Ok(ToolResultUpdate {
            content: Some(vec![InputBlock::text(format!("{text}!"))]),
            ..ToolResultUpdate::default()
        }))
    }
}

impl TurnHook for LoggingHooks {
    fn message_end<'a>(
        &'a self,
        message: &'a SharedMessage,
    ) -> BoxFuture<'a, Option<AgentMessage>> {
        let rewritten = match &**message {
            AgentMessage::Assistant(response) if self.rewrite => {
                let mut response = response.clone();
                Arc::make_mut(&mut response).content = vec![AssistantBlock::text("rewritten")];
                Some(AgentMessage::Assistant(response))
            }
            _ => None,
        };
        ready(rewritten)
    }

    fn turn_end<'a>(&'a self, turn: TurnBoundary<'a>) -> BoxFuture<'a, BoundaryDecision> {
        self.note(format!("turn_end {}", turn.tool_result_entry_ids.len()));
        ready(self.turn_ends.lock().pop().unwrap_or_default())
    }

    fn before_settle<'a>(&'a self, settle: SettleBoundary<'a>) -> BoxFuture<'a, BoundaryDecision> {
        let can_continue = settle.view.context(&[]).unwrap().can_continue;
        self.note(format!("before_settle {:?} {can_continue}", settle.outcome));
        ready(self.settles.lock().pop().unwrap_or_default())
    }
}

impl EventHook for LoggingHooks {
    fn on_event<'a>(&'a self, event: &'a SessionEvent) -> BoxFuture<'a, ()> {
        if let Some(line) = line(event) {
            self.note(format!("> {line}"));
        }
        ready(())
    }
}

impl FailureReporter for LoggingHooks {
    fn report(&self, failure: HookFailure) {
        self.note(format!("report {}", failure.event));
    }
}

/// Registers the hooks for all their concerns.
fn participants(hooks: &Arc<LoggingHooks>) -> Participants {
    Participants::builder()
        .input(Arc::clone(hooks))
        .prompt(Arc::clone(hooks))
        .context(Arc::clone(hooks))
        .tool_policy(Arc::clone(hooks))
        .turn(Arc::clone(hooks))
        .events(Arc::clone(hooks))
        .failures(Arc::clone(hooks))
        .build()
}

fn harness_with(hooks: LoggingHooks) -> (SessionHarness, Arc<LoggingHooks>) {
    let hooks = Arc::new(hooks);
    let harness = SessionHarness::with_options(HarnessOptions {
        participants: participants(&hooks),
        ..HarnessOptions::default()
    });
    (harness, hooks)
}

#[tokio::test]
async fn hooks_are_called_in_the_reference_order() {
    let (harness, hooks) = harness_with(LoggingHooks::default());
    harness
        .faux
        .push(FauxResponse::tool_call("echo", json!({"text": "hi"})));
    harness.faux.push("done");
    harness.prompt("go").await;
    assert_eq!(
        *hooks.log.lock(),
        [
            "input go",
            "before_agent_start go [\"echo\"]",
            "> agent_start",
            "> turn_start",
            "> message_start system",
            "> message_end system",
            "> message_start user",
            "> message_end user",
            "context 2",
            "> message_start assistant",
            "> message_end assistant toolUse",
            "> tool_execution_start echo",
            "tool_call echo",
            "tool_result changed",
            "> tool_execution_end echo",
            "> message_start toolResult",
            "> message_end toolResult",
            "turn_end 1",
            "> turn_end",
            "> turn_start",
            "context 4",
            "> message_start assistant",
            "> message_end assistant stop",
            "turn_end 0",
            "> turn_end",
            "> agent_end",
            "before_settle Completed false",
            "> agent_settled",
        ]
    );
    assert_eq!(
        harness.context()[3..],
        ["toolResult changed!", "assistant done"]
    );
}

#[tokio::test]
async fn a_hook_can_change_prompt_tools_and_messages_of_a_run() {
    let (harness, hooks) = harness_with(LoggingHooks::default());
    *hooks.start.lock() = AgentStartChanges {
        messages: vec![CustomMessageDraft {
            custom_type: "note".to_owned(),
            content: "remember".into(),
            ..CustomMessageDraft::default()
        }],
        forced_prompt: Some("Another prompt.".to_owned()),
        tools: Some(Vec::new()),
        sections: None,
    };
    harness.faux.push("ok");
    harness.prompt("go").await;
    assert_eq!(
        harness.context()[1..],
        ["user go", "custom remember", "assistant ok"]
    );
    let request = harness.faux.last_request().unwrap();
    let Some(Message::System(system)) = request.messages.first() else {
        panic!("expected a system message first")
    };
    assert_eq!(system.content.joined_text(), "Another prompt.");
    let others = request.messages.iter().skip(1);
    assert!(
        others
            .into_iter()
            .all(|one| !matches!(one, Message::System(_)))
    );
    assert!(harness.session.tools().system_prompt().contains("A test."));
}

#[tokio::test]
async fn a_message_replaced_by_a_hook_is_stored_and_published() {
    let (harness, _) = harness_with(LoggingHooks {
        rewrite: true,
        ..LoggingHooks::default()
    });
    harness
        .faux
        .push(FauxResponse::tool_call("echo", json!({})));
    harness.prompt("go").await;
    assert_eq!(harness.context().last().unwrap(), "assistant rewritten");
    assert!(
        !harness
            .lines()
            .iter()
            .any(|line| line.starts_with("tool_execution"))
    );
    let stored = harness
        .session
        .history()
        .with_session(|session| session.current_branch().leaf().unwrap().unwrap());
    let AgentMessage::Assistant(response) = stored.body.as_message().unwrap() else {
        panic!("expected the response as the leaf")
    };
    assert_eq!(response.text(), "rewritten");
}

#[tokio::test]
async fn boundary_hooks_add_entries_and_continue_the_run() {
    let note = EntryDraft::CustomMessage(CustomMessageDraft {
        custom_type: "note".to_owned(),
        content: "one more thing".into(),
        ..CustomMessageDraft::default()
    });
    let (harness, hooks) = harness_with(LoggingHooks::default());
    hooks.settles.lock().push(BoundaryDecision {
        entries: vec![note],
        proceed: true,
    });
    harness.faux.extend(["first".into(), "second".into()]);
    harness.prompt("go").await;
    let lines = harness.lines();
    let from = lines.iter().position(|line| line == "agent_end").unwrap();
    assert_eq!(
        lines[from..],
        [
            "agent_end",
            "entry_appended custom_message",
            "agent_start",
            "turn_start",
            "message_start assistant",
            "message_end assistant stop",
            "turn_end",
            "agent_end",
            "agent_settled"
        ]
    );
    assert_eq!(
        harness.context()[1..],
        [
            "user go",
            "assistant first",
            "custom one more thing",
            "assistant second"
        ]
    );
}

#[tokio::test]
async fn decisions_of_several_hooks_are_merged() {
    let deciding = |text: &str, proceed| {
        let entries = vec![EntryDraft::CustomMessage(CustomMessageDraft {
            custom_type: "note".to_owned(),
            content: text.into(),
            ..CustomMessageDraft::default()
        })];
        let decision = BoundaryDecision { entries, proceed };
        participants(&Arc::new(LoggingHooks {
            turn_ends: Mutex::new(vec![decision.clone()]),
            settles: Mutex::new(vec![decision]),
            ..LoggingHooks::default()
        }))
    };
    let harness = SessionHarness::with_options(HarnessOptions {
        participants: deciding("first", true).then(deciding("second", false)),
        ..HarnessOptions::default()
    });
    let responses = ["one", "two", "three"];
    harness.faux.extend(responses.map(Into::into));
    harness.prompt("go").await;
    assert_eq!(
        harness.context()[1..],
        [
            "user go",
            "assistant one",
            "custom first",
            "custom second",
            "assistant two",
            "custom first",
            "custom second",
            "assistant three",
        ]
    );
}

#[tokio::test]
async fn invalid_drafts_are_discarded_and_the_run_ends_without_a_message() {
    let (harness, hooks) = harness_with(LoggingHooks::default());
    hooks.settles.lock().push(BoundaryDecision {
        entries: vec![
            EntryDraft::Custom {
                custom_type: "state".to_owned(),
                data: None,
            },
            EntryDraft::ContextEdit {
                target_id: "nowhere".into(),
                replacement: Some(ContextReplacement {
                    content: json!("x"),
                    extra: pi_protocol::json::JsonObject::new(),
                }),
            },
        ],
        proceed: true,
    });
    harness.faux.push("first");
    harness.prompt("go").await;
    assert!(!harness.entries().contains(&"custom".to_owned()));
    let log = hooks.log.lock();
    let reports = log.iter().filter(|line| line.starts_with("report"));
    assert_eq!(reports.count(), 2, "{log:?}");
}

#[tokio::test]
async fn a_hook_can_run_or_block_a_bash_command() {
    let result = ShellResult {
        output: "from afar".to_owned(),
        exit_code: Some(0),
        cancelled: false,
        truncated: false,
        full_output_path: None,
    };
    let (harness, _) = harness_with(LoggingHooks {
        bash: Some(result.clone()),
        ..LoggingHooks::default()
    });
    let request = BashRequest {
        command: "ls".to_owned(),
        ..BashRequest::default()
    };
    assert_eq!(
        harness
            .session
            .user_commands()
            .run(request.clone())
            .await
            .unwrap(),
        result
    );
    assert_eq!(harness.context(), ["bashExecution ls"]);
    let (harness, _) = harness_with(LoggingHooks::default());
    assert!(harness.session.user_commands().run(request).await.is_err());
    assert_eq!(harness.context(), Vec::<String>::new());
}
