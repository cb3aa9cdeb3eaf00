//! The other verbs: models and levels, commands of the user, the tree, names, numbers.

use std::sync::Arc;

use pi_agent::QueueMode;
use pi_ai::{FauxGate, FauxModel, FauxResponse, ThinkingLevel};
use pi_session::EntryId;
use pretty_assertions::assert_eq;
use serde_json::json;

use super::stage::{Setting, Stage};
use crate::hooks::CustomDraft;
use crate::session::{
    BashRequest, CustomDelivery, CustomSending, CycleDirection, NavigateError, NavigateOptions,
    Persist, Prompt, Run,
};

fn thinking(id: &str) -> FauxModel {
    FauxModel {
        reasoning: true,
        ..FauxModel::new(id)
    }
}

#[tokio::test]
async fn models_and_levels_are_entries_and_defaults_only_on_demand() {
    let stage = Stage::set(Setting {
        models: vec![thinking("one"), FauxModel::new("two")],
        thinking_level: ThinkingLevel::Medium,
        ..Setting::default()
    });
    let session = &stage.session;
    let mut two = stage.faux.model();
    two.id = "two".to_owned();
    two.reasoning = false;
    session
        .set_model(Arc::new(two), Persist::Session)
        .await
        .unwrap();
    assert_eq!(session.thinking_level(), ThinkingLevel::Off);
    assert_eq!(session.available_thinking_levels(), [ThinkingLevel::Off]);
    assert_eq!(
        session
            .cycle_thinking_level(Persist::Session)
            .await
            .unwrap(),
        None
    );
    assert_eq!(session.settings().settings().default_model, None);
    let cycled = session
        .cycle_model(CycleDirection::Forward, Persist::Default)
        .await;
    let cycled = cycled.unwrap().unwrap();
    assert_eq!((cycled.model.id.as_str(), cycled.is_scoped), ("one", false));
    assert_eq!(
        session.settings().settings().default_model.as_deref(),
        Some("one")
    );
    session
        .set_thinking_level(ThinkingLevel::High, Persist::Session)
        .await
        .unwrap();
    session
        .set_thinking_level(ThinkingLevel::High, Persist::Session)
        .await
        .unwrap();
    assert_eq!(
        stage.entries(),
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
        stage.told(),
        ["thinking_level_changed off", "thinking_level_changed high"]
    );
}

#[tokio::test]
async fn queue_modes_are_remembered() {
    let stage = Stage::new();
    let session = &stage.session;
    session.set_steering_mode(QueueMode::All).unwrap();
    session.set_auto_compaction(false).unwrap();
    let shown = serde_json::to_value(session.state()).unwrap();
    assert_eq!(shown["steeringMode"], "all");
    assert_eq!(shown["followUpMode"], "one-at-a-time");
    assert_eq!(shown["autoCompactionEnabled"], false);
    assert_eq!(shown["messageCount"], 0);
    assert_eq!(shown["sessionName"], json!(null));
}

#[cfg(unix)]
#[tokio::test]
async fn a_command_is_shown_as_it_prints_and_kept_for_the_model() {
    let stage = Stage::new();
    let request = |command: &str, exclude_from_context| BashRequest {
        id: Some(json!("r1")),
        command: command.to_owned(),
        exclude_from_context,
    };
    let session = &stage.session;
    let result = session
        .bash(request("printf 'a\\nb\\n'", false))
        .await
        .unwrap();
    assert_eq!(
        (result.output.as_str(), result.exit_code),
        ("a\nb\n", Some(0))
    );
    let failed = session.bash(request("exit 3", true)).await.unwrap();
    assert_eq!(failed.exit_code, Some(3));
    let told = stage.told().concat();
    assert_eq!(
        told.replace("bash_execution_update ", "").replace('\n', ""),
        "ab"
    );
    stage.faux.push("seen");
    stage.say("what happened").await;
    let sent = stage.faux.last_request().unwrap();
    let users = sent
        .messages
        .iter()
        .filter(|one| matches!(one, pi_ai::Message::User(_)));
    assert_eq!(users.count(), 2);
}

#[cfg(unix)]
#[tokio::test]
async fn a_command_during_a_run_is_kept_after_it() {
    let stage = Stage::new();
    let gate = FauxGate::new();
    stage
        .faux
        .push(FauxResponse::text("answer").wait_for(&gate));
    stage.session.prompt(Prompt::text("go")).await.unwrap();
    gate.reached().await;
    let request = BashRequest {
        command: "echo meanwhile".to_owned(),
        ..BashRequest::default()
    };
    stage.session.bash(request).await.unwrap();
    assert!(stage.session.has_pending_bash_messages());
    gate.open();
    stage.session.wait_for_idle().await;
    assert!(!stage.session.has_pending_bash_messages());
    assert_eq!(
        stage.context()[1..],
        [
            "user go",
            "assistant answer",
            "bashExecution echo meanwhile"
        ]
    );
}

fn note(text: &str) -> CustomDraft {
    CustomDraft {
        custom_type: "note".to_owned(),
        content: text.into(),
        display: true,
        details: None,
    }
}

#[tokio::test]
async fn messages_of_extensions_are_appended_queued_or_answered() {
    let stage = Stage::new();
    let session = &stage.session;
    let plain = CustomSending::default();
    assert_eq!(
        session
            .send_custom_message(note("one"), plain)
            .await
            .unwrap(),
        Run::Handled
    );
    assert_eq!(stage.told(), ["message_start custom", "message_end custom"]);
    let next = CustomSending {
        deliver_as: Some(CustomDelivery::NextTurn),
        ..plain
    };
    assert_eq!(
        session
            .send_custom_message(note("two"), next)
            .await
            .unwrap(),
        Run::Queued
    );
    let gate = FauxGate::new();
    stage.faux.push(FauxResponse::text("a").wait_for(&gate));
    session.prompt(Prompt::text("go")).await.unwrap();
    gate.reached().await;
    let silent = CustomSending {
        trigger_turn: Some(false),
        ..plain
    };
    assert_eq!(
        session
            .send_custom_message(note("three"), silent)
            .await
            .unwrap(),
        Run::Queued
    );
    stage.faux.push("b");
    assert_eq!(
        session
            .send_custom_message(note("four"), plain)
            .await
            .unwrap(),
        Run::Queued
    );
    gate.open();
    session.wait_for_idle().await;
    stage.faux.push("c");
    let asking = CustomSending {
        trigger_turn: Some(true),
        ..plain
    };
    assert_eq!(
        session
            .send_custom_message(note("five"), asking)
            .await
            .unwrap(),
        Run::Started
    );
    session.wait_for_idle().await;
    assert_eq!(
        stage.context(),
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
async fn moving_in_the_tree_brings_the_text_back_and_can_sum_up_what_was_left() {
    let stage = Stage::new();
    stage.faux.extend(["one".into(), "two".into()]);
    stage.say("first").await;
    stage.say("second").await;
    let forks = stage.session.messages_for_forking().unwrap();
    let texts: Vec<_> = forks.iter().map(|fork| fork.text.as_str()).collect();
    assert_eq!(texts, ["first", "second"]);
    let target = forks[1].entry_id.clone();
    stage.faux.push("what happened there");
    let options = NavigateOptions {
        summarize: true,
        label: Some("mark".to_owned()),
        ..NavigateOptions::default()
    };
    let moved = stage.session.navigate_tree(&target, options).await.unwrap();
    assert_eq!(moved.editor_text.as_deref(), Some("second"));
    let summary = moved.summary.unwrap();
    let label = stage
        .session
        .with_session(|one| one.label(&summary.id).map(str::to_owned));
    assert_eq!(label.as_deref(), Some("mark"));
    let context = stage.context();
    assert_eq!(context[1..3], ["user first", "assistant one"]);
    assert!(context[3].contains("what happened there"), "{context:?}");

    let unknown = EntryId::from("nowhere");
    let refused = stage
        .session
        .navigate_tree(&unknown, NavigateOptions::default())
        .await;
    assert!(matches!(refused, Err(NavigateError::Session(_))));
    assert!(stage.session.is_idle());
    let back = stage
        .session
        .navigate_tree(&target, NavigateOptions::default())
        .await
        .unwrap();
    assert_eq!(back.summary, None);
    assert_eq!(stage.context()[1..], ["user first", "assistant one"]);
}

#[tokio::test]
async fn names_numbers_and_entries_can_be_asked_for() {
    let stage = Stage::new();
    let session = &stage.session;
    session.set_session_name(" a\nname ").await.unwrap();
    assert_eq!(session.session_name().as_deref(), Some("a name"));
    assert_eq!(stage.told(), ["session_info_changed \"a name\""]);
    assert_eq!(session.last_assistant_text().unwrap(), None);
    stage
        .faux
        .push(FauxResponse::tool_call("echo", json!({"text": "hi"})));
    stage.faux.push(" said ");
    let first = session.stats().unwrap();
    assert_eq!((first.total_messages, first.tokens.total), (0, 0));
    stage.say("go").await;
    let stats = session.stats().unwrap();
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
        session.last_assistant_text().unwrap().as_deref(),
        Some("said")
    );
    let all = session.entries_since(None).unwrap();
    let some = session.entries_since(Some(&all.entries[5].id)).unwrap();
    assert_eq!(some.entries, all.entries[6..]);
    assert_eq!(all.leaf_id.as_ref(), Some(&all.entries.last().unwrap().id));
    assert!(
        session
            .entries_since(Some(&EntryId::from("nowhere")))
            .is_err()
    );
    assert_eq!(session.tree().nodes.len(), all.entries.len());
}

#[tokio::test]
async fn tools_can_be_switched_and_the_model_is_told() {
    let stage = Stage::new();
    let session = &stage.session;
    assert_eq!(session.active_tool_names(), ["echo"]);
    stage.faux.extend(["a".into(), "b".into()]);
    stage.say("first").await;
    session.set_active_tools(&["nothing".to_owned()]);
    assert_eq!(session.active_tool_names(), Vec::<String>::new());
    stage.say("second").await;
    assert_eq!(stage.entries()[5..], ["system", "user", "assistant"]);
    assert_eq!(session.all_tools().len(), 1);
    let forks = session.messages_for_forking().unwrap();
    let target = forks[1].entry_id.clone();
    session
        .navigate_tree(&target, NavigateOptions::default())
        .await
        .unwrap();
    assert_eq!(session.active_tool_names(), Vec::<String>::new());
}
