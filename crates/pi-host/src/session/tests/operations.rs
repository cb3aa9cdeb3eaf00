//! Other operations: models and thinking levels, bash commands, the tree, names, statistics.

use std::sync::Arc;

use pi_core::{CustomDelivery, CustomMessageOptions, Prompt, PromptOutcome};
use pi_protocol::{EntryId, QueueMode, ThinkingLevel};
use pi_providers::{FauxGate, FauxModel, FauxResponse};
use pretty_assertions::assert_eq;
use serde_json::json;

use super::harness::{HarnessOptions, SessionHarness};
use super::observers::logged;
use crate::participants::CustomMessageDraft;
use crate::session::{BashRequest, CycleDirection, NavigateError, NavigateOptions, Persist};

fn thinking(id: &str) -> FauxModel {
    FauxModel {
        reasoning: true,
        ..FauxModel::new(id)
    }
}

#[tokio::test]
async fn models_and_levels_are_stored_as_entries_and_as_defaults_on_request() {
    let harness = SessionHarness::with_options(HarnessOptions {
        models: vec![thinking("one"), FauxModel::new("two")],
        thinking_level: ThinkingLevel::Medium,
        ..HarnessOptions::default()
    });
    let session = &harness.session;
    let mut two = harness.faux.model();
    two.id = "two".to_owned();
    two.reasoning = false;
    let mut observer = session.observe(None);
    session
        .selection()
        .set_model(Arc::new(two), Persist::Session)
        .await
        .unwrap();
    assert_eq!(
        logged(&mut observer),
        [
            json!({"type": "thinking_level_changed", "level": "off"}),
            json!({"type": "model_changed", "provider": "faux", "modelId": "two"}),
        ]
    );
    assert_eq!(session.selection().thinking_level(), ThinkingLevel::Off);
    assert_eq!(
        session.selection().available_thinking_levels(),
        [ThinkingLevel::Off]
    );
    assert_eq!(
        session
            .selection()
            .cycle_thinking_level(Persist::Session)
            .await
            .unwrap(),
        None
    );
    assert_eq!(session.settings().settings().default_model, None);
    let cycled = session
        .selection()
        .cycle_model(CycleDirection::Forward, Persist::Default)
        .await;
    let cycled = cycled.unwrap().unwrap();
    assert_eq!((cycled.model.id.as_str(), cycled.is_scoped), ("one", false));
    assert_eq!(
        session.settings().settings().default_model.as_deref(),
        Some("one")
    );
    session
        .selection()
        .set_thinking_level(ThinkingLevel::High, Persist::Session)
        .await
        .unwrap();
    session
        .selection()
        .set_thinking_level(ThinkingLevel::High, Persist::Session)
        .await
        .unwrap();
    assert_eq!(
        harness.entries(),
        [
            "model_change",
            "thinking_level_change",
            "model_change",
            "thinking_level_change",
            "model_change",
            "thinking_level_change"
        ]
    );
    assert_eq!(
        harness.lines(),
        ["thinking_level_changed off", "thinking_level_changed high"]
    );
}

#[tokio::test]
async fn queue_modes_are_saved() {
    let harness = SessionHarness::new();
    let session = &harness.session;
    session.queue().set_steering_mode(QueueMode::All).unwrap();
    session.compaction().set_automatic(false).unwrap();
    let status_json = serde_json::to_value(session.status()).unwrap();
    assert_eq!(status_json["steeringMode"], "all");
    assert_eq!(status_json["followUpMode"], "one-at-a-time");
    assert_eq!(status_json["autoCompactionEnabled"], false);
    assert_eq!(status_json["messageCount"], 0);
    assert_eq!(status_json["sessionName"], json!(null));
}

#[cfg(unix)]
#[tokio::test]
async fn bash_output_is_published_and_stored_for_the_model() {
    let harness = SessionHarness::new();
    let request = |command: &str, exclude_from_context| BashRequest {
        id: Some(json!("r1")),
        command: command.to_owned(),
        exclude_from_context,
    };
    let session = &harness.session;
    let result = session
        .user_commands()
        .run(request("printf 'a\\nb\\n'", false))
        .await
        .unwrap();
    assert_eq!(
        (result.output.as_str(), result.exit_code),
        ("a\nb\n", Some(0))
    );
    let failed = session
        .user_commands()
        .run(request("exit 3", true))
        .await
        .unwrap();
    assert_eq!(failed.exit_code, Some(3));
    let lines = harness.lines().concat();
    assert_eq!(
        lines
            .replace("bash_execution_update ", "")
            .replace('\n', ""),
        "ab"
    );
    harness.faux.push("seen");
    harness.prompt("what happened").await;
    let sent = harness.faux.last_request().unwrap();
    let users = sent
        .messages
        .iter()
        .filter(|one| matches!(one, pi_protocol::Message::User(_)));
    assert_eq!(users.count(), 2);
}

#[cfg(unix)]
#[tokio::test]
async fn a_command_during_a_run_is_stored_after_it() {
    let harness = SessionHarness::new();
    let gate = FauxGate::new();
    harness
        .faux
        .push(FauxResponse::text("answer").wait_for(&gate));
    harness.session.prompt(Prompt::text("go")).await.unwrap();
    gate.reached().await;
    let request = BashRequest {
        command: "echo meanwhile".to_owned(),
        ..BashRequest::default()
    };
    harness.session.user_commands().run(request).await.unwrap();
    assert!(harness.session.user_commands().has_pending_results());
    gate.open();
    harness.session.wait_for_idle().await;
    assert!(!harness.session.user_commands().has_pending_results());
    assert_eq!(
        harness.context()[1..],
        [
            "user go",
            "assistant answer",
            "bashExecution echo meanwhile"
        ]
    );
}

fn note(text: &str) -> CustomMessageDraft {
    CustomMessageDraft {
        custom_type: "note".to_owned(),
        content: text.into(),
        display: true,
        details: None,
    }
}

#[tokio::test]
async fn extension_messages_are_appended_queued_or_start_a_run() {
    let harness = SessionHarness::new();
    let session = &harness.session;
    let plain = CustomMessageOptions::default();
    assert_eq!(
        session
            .send_custom_message(note("one"), plain)
            .await
            .unwrap(),
        PromptOutcome::Handled
    );
    assert_eq!(
        harness.lines(),
        ["message_start custom", "message_end custom"]
    );
    let next = CustomMessageOptions {
        deliver_as: Some(CustomDelivery::NextTurn),
        ..plain
    };
    assert_eq!(
        session
            .send_custom_message(note("two"), next)
            .await
            .unwrap(),
        PromptOutcome::Queued
    );
    let gate = FauxGate::new();
    harness.faux.push(FauxResponse::text("a").wait_for(&gate));
    session.prompt(Prompt::text("go")).await.unwrap();
    gate.reached().await;
    let silent = CustomMessageOptions {
        trigger_turn: Some(false),
        ..plain
    };
    assert_eq!(
        session
            .send_custom_message(note("three"), silent)
            .await
            .unwrap(),
        PromptOutcome::Queued
    );
    harness.faux.push("b");
    assert_eq!(
        session
            .send_custom_message(note("four"), plain)
            .await
            .unwrap(),
        PromptOutcome::Queued
    );
    gate.open();
    session.wait_for_idle().await;
    harness.faux.push("c");
    let asking = CustomMessageOptions {
        trigger_turn: Some(true),
        ..plain
    };
    assert_eq!(
        session
            .send_custom_message(note("five"), asking)
            .await
            .unwrap(),
        PromptOutcome::Started
    );
    session.wait_for_idle().await;
    assert_eq!(
        harness.context(),
        [
            "custom one",
            "system",
            "user go",
            "custom two",
            "assistant a",
            "custom three",
            "custom four",
            "assistant b",
            "custom five",
            "assistant c"
        ]
    );
}

#[tokio::test]
async fn navigating_restores_the_text_and_can_summarize_the_branch() {
    let harness = SessionHarness::new();
    harness.faux.extend(["one".into(), "two".into()]);
    harness.prompt("first").await;
    harness.prompt("second").await;
    let forks = harness.session.history().messages_for_forking().unwrap();
    let texts: Vec<_> = forks.iter().map(|fork| fork.text.as_str()).collect();
    assert_eq!(texts, ["first", "second"]);
    let target = forks[1].entry_id.clone();
    harness.faux.push("what happened there");
    let options = NavigateOptions {
        summarize: true,
        label: Some("mark".to_owned()),
        ..NavigateOptions::default()
    };
    let moved = harness
        .session
        .navigation()
        .navigate(&target, options)
        .await
        .unwrap();
    assert_eq!(moved.editor_text.as_deref(), Some("second"));
    let summary = moved.summary.unwrap();
    let label = harness
        .session
        .history()
        .with_session(|one| one.entries().label(&summary.id).map(str::to_owned));
    assert_eq!(label.as_deref(), Some("mark"));
    let context = harness.context();
    assert_eq!(context[1..3], ["user first", "assistant one"]);
    assert!(context[3].contains("what happened there"), "{context:?}");

    let unknown = EntryId::from("nowhere");
    let refused = harness
        .session
        .navigation()
        .navigate(&unknown, NavigateOptions::default())
        .await;
    assert!(matches!(refused, Err(NavigateError::Session(_))));
    assert!(harness.session.is_idle());
    let back = harness
        .session
        .navigation()
        .navigate(&target, NavigateOptions::default())
        .await
        .unwrap();
    assert_eq!(back.summary, None);
    assert_eq!(harness.context()[1..], ["user first", "assistant one"]);
}

#[tokio::test]
async fn name_statistics_and_entries_are_available() {
    let harness = SessionHarness::new();
    let session = &harness.session;
    session.history().set_name(" a\nname ").await.unwrap();
    assert_eq!(session.session_name().as_deref(), Some("a name"));
    assert_eq!(harness.lines(), ["session_info_changed \"a name\""]);
    assert_eq!(session.history().last_assistant_text().unwrap(), None);
    harness
        .faux
        .push(FauxResponse::tool_call("echo", json!({"text": "hi"})));
    harness.faux.push(" said ");
    let first = session.history().stats().unwrap();
    assert_eq!((first.total_messages, first.tokens.total), (0, 0));
    harness.prompt("go").await;
    let stats = session.history().stats().unwrap();
    assert_eq!(
        (
            stats.user_messages,
            stats.assistant_messages,
            stats.tool_calls,
            stats.tool_results
        ),
        (1, 2, 1, 1)
    );
    assert_eq!(stats.total_messages, 5);
    assert!(stats.context_usage.unwrap().tokens.unwrap() > 0);
    assert_eq!(
        session.history().last_assistant_text().unwrap().as_deref(),
        Some("said")
    );
    let all = session.history().entries_since(None).unwrap();
    let some = session
        .history()
        .entries_since(Some(&all.entries[5].id))
        .unwrap();
    assert_eq!(some.entries, all.entries[6..]);
    assert_eq!(all.leaf_id.as_ref(), Some(&all.entries.last().unwrap().id));
    assert!(
        session
            .history()
            .entries_since(Some(&EntryId::from("nowhere")))
            .is_err()
    );
    assert_eq!(session.history().tree().nodes.len(), all.entries.len());
}

#[tokio::test]
async fn tool_changes_are_announced_to_the_model() {
    let harness = SessionHarness::new();
    let session = &harness.session;
    assert_eq!(session.tools().active_names(), ["echo"]);
    harness.faux.extend(["a".into(), "b".into()]);
    harness.prompt("first").await;
    session.tools().set_active(&["nothing".to_owned()]);
    assert_eq!(session.tools().active_names(), Vec::<String>::new());
    harness.prompt("second").await;
    assert_eq!(harness.entries()[5..], ["system", "user", "assistant"]);
    assert_eq!(session.tools().all().len(), 1);
    let forks = session.history().messages_for_forking().unwrap();
    let target = forks[1].entry_id.clone();
    session
        .navigation()
        .navigate(&target, NavigateOptions::default())
        .await
        .unwrap();
    assert_eq!(session.tools().active_names(), Vec::<String>::new());
}
