//! Compaction: the three check points, recovery, and on request.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_context::{CompactionResult, NothingToCompact};
use pi_core::Prompt;
use pi_protocol::{
    Model, ModelRoute, ProviderError, RouteRequest, RouteTarget, StopReason, ThinkingLevel,
    ToolOutput, api,
};
use pi_providers::{FauxResponse, ModelRouter, Registration, VirtualModel};
use pretty_assertions::assert_eq;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::harness::{
    HarnessOptions, SessionHarness, long, one_turn, overloaded, small_model, tight, too_long, tool,
};
use crate::participants::{
    CompactionHook, CompactionProposal, CompactionVerdict, Participants, ParticipantsBuilder,
};
use crate::session::{CompactError, Persist, PromptError};

fn small() -> SessionHarness {
    SessionHarness::with_options(HarnessOptions {
        models: vec![small_model()],
        settings: tight(),
        ..HarnessOptions::default()
    })
}

/// A session with two turns, of which the second is recent enough to stay.
async fn with_history() -> SessionHarness {
    let harness = small();
    harness
        .faux
        .extend([FauxResponse::text(long(40)), FauxResponse::text(long(40))]);
    harness.prompt(&long(200)).await;
    harness.prompt(&long(60)).await;
    harness.lines();
    harness
}

fn lines(parts: &[&[&str]]) -> Vec<String> {
    parts
        .concat()
        .iter()
        .map(|line| (*line).to_owned())
        .collect()
}

#[tokio::test]
async fn a_nearly_full_context_is_compacted_after_the_run() {
    let harness = with_history().await;
    harness.faux.push(FauxResponse::text(long(1600)));
    harness
        .faux
        .extend(["the history".into(), "the beginning".into()]);
    harness.prompt("third").await;
    let mut expected = one_turn("stop");
    expected.extend(lines(&[&[
        "compaction_start threshold",
        "compaction_end threshold done",
        "agent_settled",
    ]]));
    assert_eq!(harness.lines(), expected);
    let context = harness.context();
    assert!(
        context[1].starts_with("compactionSummary the history"),
        "{context:?}"
    );
    assert!(context.last().unwrap().starts_with("assistant wordword"));
    // The response describes the context before; the next prompt does not compact again.
    harness.faux.push("fine");
    harness.prompt("fourth").await;
    assert!(
        !harness
            .lines()
            .iter()
            .any(|line| line.starts_with("compaction"))
    );
}

#[tokio::test]
async fn a_nearly_full_context_is_compacted_between_turns() {
    let flood = tool("flood", |_, _, _| async { Ok(ToolOutput::text(long(560))) });
    let harness = SessionHarness::with_options(HarnessOptions {
        models: vec![small_model()],
        settings: tight(),
        tools: vec![flood],
        ..HarnessOptions::default()
    });
    harness
        .faux
        .extend([long(40).as_str().into(), long(40).as_str().into()]);
    // The scripted model counts cached tokens twice, hence the growth in steps.
    harness.prompt(&long(600)).await;
    harness.prompt(&long(300)).await;
    harness.lines();
    harness
        .faux
        .push(FauxResponse::tool_call("flood", json!({})));
    harness
        .faux
        .extend(["the history".into(), "the beginning".into()]);
    harness.faux.push("done");
    harness.prompt("third").await;
    let lines = harness.lines();
    let from = lines.iter().position(|line| line == "turn_end").unwrap();
    assert_eq!(
        lines[from..],
        [
            "turn_end",
            "compaction_start threshold",
            "compaction_end threshold done",
            "turn_start",
            "message_start assistant",
            "message_end assistant stop",
            "turn_end",
            "agent_end",
            "agent_settled",
        ]
    );
}

#[tokio::test]
async fn an_overflow_is_recovered_once() {
    let harness = with_history().await;
    harness.faux.push(FauxResponse::error(too_long()));
    harness.faux.push("the summary");
    harness.faux.push("recovered");
    harness.prompt("third").await;
    let mut expected = one_turn("error");
    expected.extend(lines(&[&[
        "entry_appended context_edit",
        "compaction_start overflow",
        "compaction_end overflow will retry",
        "agent_start",
        "turn_start",
        "message_start assistant",
        "message_end assistant stop",
        "turn_end",
        "agent_end",
        "agent_settled",
    ]]));
    assert_eq!(harness.lines(), expected);
    assert_eq!(harness.context().last().unwrap(), "assistant recovered");

    harness.faux.push(FauxResponse::error(too_long()));
    harness
        .faux
        .extend(["the history".into(), "the beginning".into()]);
    harness.faux.push(FauxResponse::error(too_long()));
    harness.prompt(&long(60)).await;
    let lines = harness.lines();
    assert_eq!(
        lines[lines.len() - 3..],
        [
            "agent_end",
            "compaction_end overflow failed",
            "agent_settled"
        ]
    );
}

#[tokio::test]
async fn a_response_cut_off_below_its_limit_is_recovered() {
    let harness = with_history().await;
    harness
        .faux
        .push(FauxResponse::text("half").stop(StopReason::Length));
    harness.faux.push("the summary");
    harness.faux.push("whole");
    harness.prompt("third").await;
    let lines = harness.lines();
    assert!(
        lines.contains(&"compaction_end overflow will retry".to_owned()),
        "{lines:?}"
    );
    assert_eq!(harness.context().last().unwrap(), "assistant whole");
}

#[tokio::test]
async fn a_session_is_compacted_manually_and_not_twice() {
    let harness = with_history().await;
    harness.faux.push("the summary");
    let outcome = harness
        .session
        .compaction()
        .run(Some("look".to_owned()))
        .await
        .unwrap();
    assert_eq!(outcome.summary, "the summary");
    assert!(outcome.first_kept_entry_id.is_some());
    assert_eq!(
        harness.lines(),
        ["compaction_start manual", "compaction_end manual done"]
    );
    let again = harness.session.compaction().run(None).await.unwrap_err();
    let reason = NothingToCompact::AlreadyCompacted;
    assert!(matches!(again, CompactError::Nothing(given) if given == reason));
    assert_eq!(
        harness.lines(),
        ["compaction_start manual", "compaction_end manual failed"]
    );
    assert!(harness.session.is_idle());
}

#[tokio::test]
async fn a_summary_that_fails_changes_nothing() {
    let harness = with_history().await;
    let before = harness.entries();
    harness
        .faux
        .push(FauxResponse::error(ProviderError::invalid("400 cannot")));
    harness.session.compaction().run(None).await.unwrap_err();
    assert_eq!(harness.entries(), before);
}

/// A session whose history does not fit into one summary request of its model.
async fn with_large_history() -> SessionHarness {
    let mut settings = tight();
    settings.compaction.enabled = Some(false);
    let harness = SessionHarness::with_options(HarnessOptions {
        models: vec![small_model()],
        settings,
        ..HarnessOptions::default()
    });
    harness
        .faux
        .extend(["one".into(), "two".into(), "three".into()]);
    for text in [long(900), long(900), long(60)] {
        harness.prompt(&text).await;
    }
    harness.lines();
    harness
}

#[tokio::test]
async fn a_history_that_does_not_fit_is_summarized_in_parts() {
    let harness = with_large_history().await;
    let before = harness.faux.call_count();
    harness
        .faux
        .extend(["first part".into(), "both parts".into()]);
    let outcome = harness.session.compaction().run(None).await.unwrap();
    assert_eq!(outcome.summary, "both parts");
    let requests = harness.faux.requests();
    let [first, second] = &requests[before..] else {
        panic!("two requests for summaries")
    };
    let text = |position: usize| serde_json::to_string(&requests[position].messages).unwrap();
    assert!(!text(before).contains("previous-summary"));
    assert!(text(before + 1).contains("<previous-summary>\\nfirst part"));
    for request in [first, second] {
        let size = serde_json::to_string(&request.messages).unwrap().len();
        assert!(
            size / 4 < 2000,
            "{size} characters for a window of 2000 tokens"
        );
    }
}

#[tokio::test]
async fn a_summary_request_that_is_rejected_as_too_large_is_split() {
    let harness = with_history().await;
    let before = harness.faux.call_count();
    harness.faux.push(FauxResponse::error(too_long()));
    harness.faux.push("the summary");
    let outcome = harness.session.compaction().run(None).await.unwrap();
    assert_eq!(outcome.summary, "the summary");
    assert_eq!(harness.faux.call_count(), before + 2);
}

#[tokio::test]
async fn a_history_whose_parts_do_not_fit_is_quoted_without_a_model() {
    let harness = with_large_history().await;
    harness.faux.push(FauxResponse::error(too_long()));
    let outcome = harness.session.compaction().run(None).await.unwrap();
    let summary = &outcome.summary;
    assert!(
        summary.contains("could not be summarized by a model"),
        "{summary}"
    );
    assert!(summary.contains("## Prompts\n- wordword"), "{summary}");
    assert!(summary.contains("## Last response\n- "), "{summary}");
    assert!(harness.context()[1].starts_with("compactionSummary"));
    harness.faux.push("still works");
    harness.prompt("next").await;
    assert_eq!(harness.context().last().unwrap(), "assistant still works");
}

async fn check_that_compaction_stops(harness: SessionHarness) {
    let refused = || FauxResponse::error(ProviderError::invalid("400 cannot"));
    harness.faux.extend([
        FauxResponse::text(long(1600)),
        refused(),
        refused(),
        "fine".into(),
        refused(),
        "later".into(),
    ]);
    harness.prompt("third").await;
    harness.prompt("fourth").await;
    let failed = |lines: Vec<String>| {
        let failed = lines
            .iter()
            .filter(|line| line.contains("threshold failed"));
        failed.count()
    };
    assert_eq!(failed(harness.lines()), 3);
    harness.prompt("fifth").await;
    let lines = harness.lines();
    assert!(
        !lines.iter().any(|line| line.starts_with("compaction")),
        "{lines:?}"
    );
    // A context that is too large is still compacted, without a model.
    harness.faux.extend([
        FauxResponse::error(too_long()),
        refused(),
        "recovered".into(),
    ]);
    harness.prompt("sixth").await;
    assert!(
        harness.context()[1].contains("could not be summarized by a model"),
        "{:?}",
        harness.context()
    );
    assert_eq!(harness.context().last().unwrap(), "assistant recovered");
}

#[tokio::test]
async fn automatic_compaction_stops_after_three_failures() {
    check_that_compaction_stops(with_history().await).await;
}

/// Routes every request to the model of the harness.
struct SmallModelRouter;

impl ModelRouter for SmallModelRouter {
    fn route(
        &self,
        _request: RouteRequest,
        _cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<ModelRoute, String>> {
        let model = RouteTarget {
            provider: "faux".to_owned(),
            id: "small".to_owned(),
        };
        Box::pin(std::future::ready(Ok(ModelRoute {
            model,
            thinking_level: ThinkingLevel::Off,
            state: None,
        })))
    }
}

#[tokio::test]
async fn automatic_compaction_with_a_virtual_model_stops_after_three_failures() {
    let harness = with_history().await;
    let auto = Arc::new(Model {
        id: "auto".to_owned(),
        provider: "router".to_owned(),
        api: api::PI_VIRTUAL.to_owned(),
        ..Model::unknown()
    });
    let registration = Registration::Virtual(VirtualModel {
        model: Arc::clone(&auto),
        router: Arc::new(SmallModelRouter),
    });
    let models = &harness.session.0.models;
    models.register("router", registration).unwrap();
    let selection = harness.session.selection();
    selection.set_model(auto, Persist::Session).await.unwrap();
    harness.lines();
    check_that_compaction_stops(harness).await;
}

#[tokio::test(start_paused = true)]
async fn summary_requests_are_retried() {
    let harness = with_history().await;
    harness.faux.push(FauxResponse::error(overloaded()));
    harness.faux.push("the summary");
    harness.session.compaction().run(None).await.unwrap();
    assert_eq!(
        harness.lines(),
        [
            "compaction_start manual",
            "summarization_retry_scheduled 1",
            "summarization_retry_attempt_start",
            "summarization_retry_finished",
            "compaction_end manual done",
        ]
    );
    let requests = harness.faux.requests();
    let ids: Vec<_> = requests
        .iter()
        .map(|one| one.options.session_id.clone())
        .collect();
    let [.., first, second] = &*ids else {
        panic!("two requests for summaries")
    };
    assert!(first != second && *first != Some(harness.session.session_id()));
}

#[tokio::test]
async fn prompts_are_rejected_during_manual_compaction_until_it_is_canceled() {
    let harness = with_history().await;
    harness.faux.push(FauxResponse::stall());
    let session = harness.session.clone();
    let compacting = tokio::spawn(async move { session.compaction().run(None).await });
    harness.events.wait_for("compaction_start").await;
    assert!(harness.session.is_compacting());
    let refused = harness.session.prompt(Prompt::text("now")).await;
    assert!(matches!(refused, Err(PromptError::Compacting)));
    harness.session.abort().await;
    let result = compacting.await.unwrap();
    assert!(matches!(result, Err(CompactError::Cancelled)));
    assert_eq!(
        harness.lines(),
        ["compaction_start manual", "compaction_end manual aborted"]
    );
    assert!(!harness.session.is_compacting());
}

/// Returns a fixed verdict about compactions.
struct FixedCompactionVerdict(CompactionVerdict);

impl CompactionHook for FixedCompactionVerdict {
    fn before_compact<'a>(
        &'a self,
        proposal: CompactionProposal<'a>,
    ) -> BoxFuture<'a, CompactionVerdict> {
        let branch = proposal
            .session
            .history()
            .with_session(|one| one.current_branch().entries().unwrap());
        assert!(!branch.is_empty());
        Box::pin(std::future::ready(self.0.clone()))
    }
}

#[tokio::test]
async fn a_hook_can_cancel_a_compaction_or_write_the_summary() {
    let own = CompactionResult {
        summary: "mine".to_owned(),
        first_kept_entry_id: None,
        tokens_before: 7,
        details: None,
        usage: None,
    };
    let (cancel, summary) = (CompactionVerdict::Cancel, CompactionVerdict::Use(own));
    for (verdict, later, expected) in [
        (&cancel, &summary, "compaction_end manual aborted"),
        (&summary, &cancel, "compaction_end manual done"),
    ] {
        // The first hook that decides ends the chain.
        let verdicts = [&CompactionVerdict::Proceed, verdict, later].into_iter();
        let hooks = verdicts.map(|verdict| Arc::new(FixedCompactionVerdict(verdict.clone())));
        let participants = hooks.fold(Participants::builder(), ParticipantsBuilder::compaction);
        let harness = SessionHarness::with_options(HarnessOptions {
            models: vec![small_model()],
            settings: tight(),
            participants: participants.build(),
            ..HarnessOptions::default()
        });
        harness
            .faux
            .extend([FauxResponse::text(long(40)), FauxResponse::text(long(40))]);
        harness.prompt("first").await;
        harness.prompt("second").await;
        harness.lines();
        let result = harness.session.compaction().run(None).await;
        assert_eq!(harness.lines(), ["compaction_start manual", expected]);
        if let Ok(outcome) = result {
            assert_eq!(outcome.summary, "mine");
            assert_eq!(harness.context(), ["system", "compactionSummary mine"]);
        }
        assert_eq!(harness.faux.call_count(), 2);
    }
}
