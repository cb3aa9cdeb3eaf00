//! Commands of clients on a hosted session: what each returns, and the texts of rejections.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_core::{Decision, HookError, PendingToolCall, ReviewedToolCall};
use pi_host::{
    AcceptedCommand, CommandOrigin, Host, Observed, Observer, Participants, SessionHandle,
    ToolPolicy,
};
use pi_protocol::{
    Ack, Answer, Command, Delivery, NavigateStep, QueueMode, Rejected, RejectionCode, RequestId,
    SessionEvent,
};
use pi_providers::{FauxGate, FauxResponse};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::test_env::{RuntimeTestEnv, TestOptions};

async fn open(options: TestOptions) -> SessionHandle {
    Host::new(options.host).open(options.session).await.unwrap()
}

/// Returns the data of the reply.
async fn data(handle: &SessionHandle, command: Command) -> Value {
    match handle.submit(command).await.unwrap() {
        Ack::Done { data: Some(data) } => data.parse().unwrap(),
        other => panic!("a reply with data expected: {other:?}"),
    }
}

/// Executes a command whose reply has no data.
async fn execute(handle: &SessionHandle, command: Command) {
    let ack = handle.submit(command).await;
    assert_eq!(ack, Ok(Ack::Done { data: None }));
}

async fn rejection(handle: &SessionHandle, command: Command) -> Rejected {
    handle.submit(command).await.unwrap_err()
}

fn prompt_command(message: &str, streaming_behavior: Option<Delivery>) -> Command {
    Command::Prompt {
        message: message.to_owned(),
        images: Vec::new(),
        streaming_behavior,
    }
}

async fn prompt(handle: &SessionHandle, message: &str) {
    let ack = handle.submit(prompt_command(message, None)).await;
    assert_eq!(ack, Ok(Ack::Started));
    handle.session().wait_for_idle().await;
}

async fn next_event(observer: &mut Observer) -> SessionEvent {
    match observer.next().await.unwrap() {
        Observed::Event(envelope) => envelope.event.clone(),
        Observed::Lagged => panic!("the observer keeps up"),
    }
}

#[tokio::test]
async fn messages_start_a_run_or_wait_for_their_turn() {
    let env = RuntimeTestEnv::new();
    let handle = open(env.options()).await;
    let gate = FauxGate::new();
    env.faux.push(FauxResponse::after(&gate).then_text("one"));
    let ack = handle.submit(prompt_command("go", None)).await;
    assert_eq!(ack, Ok(Ack::Started));
    gate.reached().await;

    let busy = rejection(&handle, prompt_command("again", None)).await;
    assert_eq!(
        busy,
        Rejected::new(
            RejectionCode::Busy,
            "the agent is busy: send the prompt as steering or as a follow-up, or wait until it is idle"
        )
    );
    let (message, images) = ("first".to_owned(), Vec::new());
    let steer = handle.submit(Command::Steer { message, images }).await;
    assert_eq!(steer, Ok(Ack::Queued));
    let (message, images) = ("second".to_owned(), Vec::new());
    let follow_up = handle.submit(Command::FollowUp { message, images }).await;
    assert_eq!(follow_up, Ok(Ack::Queued));
    let queued = prompt_command("third", Some(Delivery::FollowUp));
    assert_eq!(handle.submit(queued).await, Ok(Ack::Queued));
    assert_eq!(
        data(&handle, Command::ClearQueue).await,
        json!({"steering": ["first"], "followUp": ["second", "third"]})
    );
    execute(&handle, Command::Abort).await;
    assert!(handle.session().is_idle());
    execute(&handle, Command::AbortRetry).await;
}

#[tokio::test]
async fn a_run_waits_until_the_client_has_the_reply() {
    let env = RuntimeTestEnv::new();
    let handle = open(env.options()).await;
    let mut observer = handle.observe(None);
    let submitting = handle
        .runtime()
        .submit_from(CommandOrigin::default(), prompt_command("go", None));
    let AcceptedCommand { ack, run } = submitting.await.unwrap();
    assert_eq!(ack, Ack::Started);
    let start = handle.observe(None).cursor();
    tokio::task::yield_now().await;
    assert_eq!(handle.observe(None).cursor(), start);
    drop(run);
    handle.session().wait_for_idle().await;
    let first = serde_json::to_value(next_event(&mut observer).await).unwrap();
    assert_eq!(first["type"], "agent_start");
}

#[tokio::test]
async fn queries_return_the_data_of_rpc() {
    let env = RuntimeTestEnv::new();
    let handle = open(env.options()).await;
    assert_eq!(
        data(&handle, Command::GetLastAssistantText).await,
        json!({})
    );
    env.faux.push(FauxResponse::text("hello"));
    prompt(&handle, "hi").await;

    let state = data(&handle, Command::GetState).await;
    assert_eq!(state["sessionId"], handle.id());
    assert_eq!(state["messageCount"], 3);
    let messages = data(&handle, Command::GetMessages).await;
    assert_eq!(messages["messages"].as_array().unwrap().len(), 3);
    let counts = data(&handle, Command::GetSessionStats).await;
    assert_eq!(counts["userMessages"], 1);
    assert_eq!(
        data(&handle, Command::GetLastAssistantText).await,
        json!({"text": "hello"})
    );
    let forks = data(&handle, Command::GetForkMessages).await;
    assert_eq!(forks["messages"][0]["text"], "hi");
    let commands = data(&handle, Command::GetCommands).await;
    assert_eq!(commands["commands"][0]["name"], "llama");

    let entries = data(&handle, Command::GetEntries { since: None }).await;
    let list = entries["entries"].as_array().unwrap();
    assert_eq!(entries["leafId"], list.last().unwrap()["id"]);
    let before_last = list[list.len() - 2]["id"].as_str().unwrap().to_owned();
    let since = Some(before_last);
    let newest = data(&handle, Command::GetEntries { since }).await;
    assert_eq!(newest["entries"], json!([list.last().unwrap()]));
    let tree = data(&handle, Command::GetTree).await;
    assert_eq!(tree["tree"][0]["entry"]["id"], list[0]["id"]);
    let since = Some("nope".to_owned());
    assert_eq!(
        rejection(&handle, Command::GetEntries { since }).await,
        Rejected::new(RejectionCode::NotFound, "Entry not found: nope")
    );
}

#[tokio::test]
async fn a_move_in_the_tree_stops_where_a_summary_can_be_chosen() {
    let env = RuntimeTestEnv::new();
    let handle = open(env.options()).await;
    for text in ["one", "two"] {
        env.faux.push(FauxResponse::text(text));
        prompt(&handle, text).await;
    }
    let entries = data(&handle, Command::GetEntries { since: None }).await;
    let entries = entries["entries"].as_array().unwrap();
    let answer = entries
        .iter()
        .find(|entry| entry["message"]["role"] == "assistant");
    let target = answer.unwrap()["id"].clone();
    let leaf = entries.last().unwrap()["id"].clone();
    let move_in = |step| Command::NavigateTree {
        entry_id: target.as_str().unwrap().to_owned(),
        summarize: false,
        custom_instructions: None,
        step: Some(step),
    };
    let stopped = data(&handle, move_in(NavigateStep::UntilSummary)).await;
    assert_eq!(stopped["needsSummaryChoice"], true);
    assert_eq!(stopped["leafId"], leaf);
    let moved = data(&handle, move_in(NavigateStep::Rest)).await;
    assert_eq!(moved["needsSummaryChoice"], false);
    assert_eq!(moved["leafId"], target);
}

#[tokio::test]
async fn models_and_thinking_levels_are_chosen_by_name() {
    let env = RuntimeTestEnv::new();
    let handle = open(env.options()).await;
    let models = data(&handle, Command::GetAvailableModels).await;
    let ids = models["models"].as_array().unwrap().iter();
    let ids: Vec<_> = ids.map(|model| model["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["thinks", "plain"]);
    let set_model = |id: &str| Command::SetModel {
        provider: "faux".to_owned(),
        model_id: id.to_owned(),
    };
    assert_eq!(data(&handle, set_model("thinks")).await["id"], "thinks");
    assert_eq!(
        rejection(&handle, set_model("absent")).await,
        Rejected::new(RejectionCode::NotFound, "Model not available: faux/absent")
    );
    let levels = data(&handle, Command::GetAvailableThinkingLevels).await;
    assert_eq!(levels["levels"][0], "off");
    let level = "high".to_owned();
    execute(&handle, Command::SetThinkingLevel { level }).await;
    let state = data(&handle, Command::GetState).await;
    assert_eq!(state["thinkingLevel"], "high");
    let next = data(&handle, Command::CycleThinkingLevel).await;
    assert_ne!(next["level"], "high");
    let cycled = data(&handle, Command::CycleModel).await;
    assert_eq!(cycled["model"]["id"], "plain");
    assert_eq!(
        data(&handle, Command::CycleThinkingLevel).await,
        Value::Null,
        "the model has no levels"
    );
}

#[tokio::test]
async fn preferences_and_the_name_are_part_of_the_state() {
    let env = RuntimeTestEnv::new();
    let handle = open(env.options()).await;
    for command in [
        Command::SetSteeringMode {
            mode: QueueMode::All,
        },
        Command::SetFollowUpMode {
            mode: QueueMode::All,
        },
        Command::SetAutoCompaction { enabled: false },
        Command::SetAutoRetry { enabled: false },
        Command::SetSessionName {
            name: " a name ".to_owned(),
        },
    ] {
        execute(&handle, command).await;
    }
    let state = data(&handle, Command::GetState).await;
    assert_eq!(state["steeringMode"], "all");
    assert_eq!(state["followUpMode"], "all");
    assert_eq!(state["autoCompactionEnabled"], false);
    assert_eq!(state["sessionName"], "a name");
    assert!(!handle.session().retries().is_automatic());
    let name = " ".to_owned();
    assert_eq!(
        rejection(&handle, Command::SetSessionName { name }).await,
        Rejected::new(RejectionCode::Invalid, "Session name must not be blank")
    );
}

#[tokio::test]
async fn shell_commands_carry_the_id_of_the_client() {
    let env = RuntimeTestEnv::new();
    let handle = open(env.options()).await;
    let mut observer = handle.observe(None);
    let origin = CommandOrigin {
        request_id: Some(json!("r1")),
        ..CommandOrigin::default()
    };
    let command = Command::Bash {
        command: "echo out".to_owned(),
        exclude_from_context: Some(true),
    };
    let running = handle.runtime().submit_from(origin, command).await;
    let Ack::Done { data: Some(result) } = running.unwrap().ack else {
        panic!("the result of the command expected");
    };
    let result: Value = result.parse().unwrap();
    assert_eq!(result["output"], "out\n");
    assert_eq!(result["exitCode"], 0);
    let start = serde_json::to_value(next_event(&mut observer).await).unwrap();
    assert_eq!(start["type"], "bash_execution_start");
    assert_eq!(start["id"], "r1");
    execute(&handle, Command::AbortBash).await;
}

#[tokio::test]
async fn replacements_return_whether_they_were_vetoed() {
    let env = RuntimeTestEnv::new();
    let handle = open(env.options()).await;
    prompt(&handle, "one").await;
    let (first, file) = (handle.id(), handle.session().session_file().unwrap());
    let parent_session = None;
    assert_eq!(
        data(&handle, Command::NewSession { parent_session }).await,
        json!({"cancelled": false})
    );
    assert_ne!(handle.id(), first);

    let session_path = file.to_string_lossy().into_owned();
    assert_eq!(
        data(&handle, Command::SwitchSession { session_path }).await,
        json!({"cancelled": false})
    );
    assert_eq!(handle.id(), first);
    assert_eq!(
        data(&handle, Command::Clone).await,
        json!({"cancelled": false})
    );
    assert_ne!(handle.id(), first);

    let forks = data(&handle, Command::GetForkMessages).await;
    let entry_id = forks["messages"][0]["entryId"].as_str().unwrap().to_owned();
    assert_eq!(
        data(&handle, Command::Fork { entry_id }).await,
        json!({"text": "one", "cancelled": false})
    );
    let entry_id = "nope".to_owned();
    assert_eq!(
        rejection(&handle, Command::Fork { entry_id }).await,
        Rejected::new(RejectionCode::NotFound, "Entry nope not found")
    );
    let other = env.home.write("notes.txt", "notes\n");
    let session_path = other.to_string_lossy().into_owned();
    let other = rejection(&handle, Command::SwitchSession { session_path }).await;
    assert_eq!(other.code, RejectionCode::Failed);
    assert!(other.message.starts_with("not a pi session"), "{other}");
}

#[tokio::test]
async fn exports_return_their_path() {
    let env = RuntimeTestEnv::new();
    let handle = open(env.options()).await;
    let output_path = Some(env.path("out.html").to_string_lossy().into_owned());
    let export = Command::ExportHtml { output_path };
    assert_eq!(
        rejection(&handle, export.clone()).await,
        Rejected::new(
            RejectionCode::Failed,
            "nothing to export: this session has no model response yet"
        )
    );
    prompt(&handle, "one").await;
    let path = data(&handle, export).await["path"].clone();
    assert_eq!(path, env.path("out.html").to_str().unwrap());
    assert!(env.path("out.html").exists());
}

#[tokio::test]
async fn a_compaction_returns_its_summary() {
    let env = RuntimeTestEnv::new();
    let handle = open(env.options()).await;
    let compact = Command::Compact {
        custom_instructions: Some("short".to_owned()),
        preview: false,
    };
    let nothing = rejection(&handle, compact.clone()).await;
    assert_eq!(nothing.code, RejectionCode::Invalid);
    execute(&handle, Command::SetAutoCompaction { enabled: false }).await;
    for _ in 0..4 {
        env.faux.push(FauxResponse::text("word ".repeat(20_000)));
        prompt(&handle, "more").await;
    }
    env.faux.push(FauxResponse::text("the summary"));
    let compacted = data(&handle, compact).await;
    let summary = compacted["summary"].as_str().unwrap();
    assert!(summary.contains("the summary"), "{summary}");
}

#[tokio::test]
async fn a_compaction_is_previewed_and_undone() {
    let env = RuntimeTestEnv::new();
    let handle = open(env.options()).await;
    execute(&handle, Command::SetAutoCompaction { enabled: false }).await;
    let early = rejection(&handle, Command::UndoCompaction).await;
    assert_eq!(early.code, RejectionCode::NotFound);
    for _ in 0..4 {
        env.faux.push(FauxResponse::text("word ".repeat(20_000)));
        prompt(&handle, "more").await;
    }
    let before = data(&handle, Command::GetMessages).await;
    let preview = Command::Compact {
        custom_instructions: None,
        preview: true,
    };
    let requests = env.faux.requests().len();
    let preview = data(&handle, preview).await;
    assert_eq!(env.faux.requests().len(), requests, "no model is called");
    assert_eq!(data(&handle, Command::GetMessages).await, before);

    env.faux.push(FauxResponse::text("the summary"));
    let compact = Command::Compact {
        custom_instructions: None,
        preview: false,
    };
    let compacted = data(&handle, compact).await;
    assert_eq!(
        (&preview["firstKeptEntryId"], &preview["tokensBefore"]),
        (&compacted["firstKeptEntryId"], &compacted["tokensBefore"])
    );
    let after = data(&handle, Command::GetMessages).await;
    assert_ne!(after, before);
    let kept = preview["keptMessages"].as_u64();
    let messages = after["messages"].as_array().unwrap();
    let conversation = messages
        .iter()
        .filter(|message| matches!(message["role"].as_str(), Some("user" | "assistant")));
    assert_eq!(kept, Some(conversation.count() as u64), "{after}");

    data(&handle, Command::UndoCompaction).await;
    assert_eq!(data(&handle, Command::GetMessages).await, before);
}

#[tokio::test]
async fn a_prompt_after_a_compaction_prevents_undoing_it() {
    let env = RuntimeTestEnv::new();
    let handle = open(env.options()).await;
    execute(&handle, Command::SetAutoCompaction { enabled: false }).await;
    for _ in 0..4 {
        env.faux.push(FauxResponse::text("word ".repeat(20_000)));
        prompt(&handle, "more").await;
    }
    env.faux.push(FauxResponse::text("the summary"));
    let compact = Command::Compact {
        custom_instructions: None,
        preview: false,
    };
    data(&handle, compact).await;
    env.faux.push(FauxResponse::text("an answer"));
    prompt(&handle, "next").await;
    let refused = rejection(&handle, Command::UndoCompaction).await;
    assert_eq!(refused.code, RejectionCode::Invalid);
    assert!(refused.message.contains("/tree"), "{}", refused.message);
}

#[tokio::test]
async fn reports_and_searches_return_data() {
    let env = RuntimeTestEnv::new();
    let handle = open(env.options()).await;
    env.faux
        .push(FauxResponse::text("the retry budget is used up"));
    prompt(&handle, "what about retries").await;
    let context = data(&handle, Command::GetContextReport).await;
    let parts = context["parts"].as_array().unwrap();
    assert!(
        parts.iter().any(|it| it["part"] == "assistant"),
        "{context}"
    );
    assert!(parts.iter().any(|it| it["part"] == "system"), "{context}");
    let cache = data(&handle, Command::GetCacheReport).await;
    assert_eq!(cache, json!({ "misses": [] }));
    let search = |query: &str| Command::SearchSessions {
        query: query.to_owned(),
        cwd: None,
        since: None,
        role: None,
        limit: None,
    };
    loop {
        let found = data(&handle, search("\"retry budget\"")).await;
        if found.get("indexing").is_none() {
            assert_eq!(found["hits"][0]["role"], "assistant", "{found}");
            break;
        }
    }
    let empty = rejection(&handle, search("the of")).await;
    assert_eq!(empty.code, RejectionCode::Invalid);
}

struct AskAlways;

impl ToolPolicy for AskAlways {
    fn tool_call<'a>(
        &'a self,
        call: PendingToolCall,
        _cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<ReviewedToolCall, HookError>> {
        Box::pin(async move {
            Ok(ReviewedToolCall {
                decision: Decision::Ask(call.approval_request(None)),
                arguments: call.arguments,
            })
        })
    }
}

#[tokio::test]
async fn an_answer_continues_the_run_and_a_second_one_is_rejected() {
    let env = RuntimeTestEnv::new();
    let policy = Participants::builder().tool_policy(Arc::new(AskAlways));
    let policy = policy.build();
    let options = env
        .options()
        .with(|_, session| session.participants = Arc::new(policy));
    let handle = open(options).await;
    let mut observer = handle.observe(None);
    env.faux.push(FauxResponse::tool_call(
        "bash",
        json!({"command": "echo allowed"}),
    ));
    env.faux.push(FauxResponse::text("done"));
    let started = handle.submit(prompt_command("go", None)).await;
    assert_eq!(started, Ok(Ack::Started));
    let request = loop {
        if let SessionEvent::ApprovalRequested { request } = next_event(&mut observer).await {
            break request.id;
        }
    };
    let answer = |request: &RequestId, answer| Command::Answer {
        request: request.clone(),
        answer,
    };
    assert_eq!(
        rejection(&handle, answer(&request, Answer::Cancelled)).await,
        Rejected::new(
            RejectionCode::Invalid,
            "this request expects `allow`, `allow_for_session` or `deny`"
        )
    );
    execute(&handle, answer(&request, Answer::Allow)).await;
    let second = rejection(&handle, answer(&request, Answer::Allow)).await;
    assert_eq!(second.code, RejectionCode::NotFound);
    handle.session().wait_for_idle().await;
    let messages = data(&handle, Command::GetMessages).await.to_string();
    assert!(messages.contains("allowed"), "{messages}");
}

#[tokio::test]
async fn a_closed_session_rejects_commands() {
    let env = RuntimeTestEnv::new();
    let handle = open(env.options()).await;
    handle.runtime().shutdown().await;
    let parent_session = None;
    assert_eq!(
        rejection(&handle, Command::NewSession { parent_session }).await,
        Rejected::new(RejectionCode::Closed, "pi is shutting down")
    );
    assert_eq!(
        rejection(&handle, prompt_command("go", None)).await,
        Rejected::new(
            RejectionCode::Closed,
            "this session was closed; use the one that replaced it"
        )
    );
}
