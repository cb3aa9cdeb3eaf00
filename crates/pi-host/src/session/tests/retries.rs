//! Retries of failed turns.

use pi_protocol::ProviderError;
use pi_protocol::settings::Settings;
use pi_providers::FauxResponse;
use pretty_assertions::assert_eq;

use super::harness::{HarnessOptions, SessionHarness, one_turn, overloaded};
use pi_core::Prompt;

fn retried(lines: &mut Vec<String>, more: &[&str]) {
    lines.extend(more.iter().map(|line| (*line).to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_failed_turn_is_retried_and_omitted_from_the_context() {
    let harness = SessionHarness::new();
    harness.faux.push("hello");
    harness.prompt("warm up").await;
    harness.lines();
    harness.faux.push(FauxResponse::error(overloaded()));
    harness.faux.push(FauxResponse::error(overloaded()));
    harness.faux.push("at last");
    harness.prompt("go").await;
    let mut expected = one_turn("error");
    expected.pop();
    retried(
        &mut expected,
        &[
            "agent_end will retry",
            "auto_retry_start 1/3 2000",
            "entry_appended context_edit",
            "agent_start",
            "turn_start",
            "message_start assistant",
            "message_end assistant error",
            "turn_end",
            "agent_end will retry",
            "auto_retry_start 2/3 4000",
            "entry_appended context_edit",
            "agent_start",
            "turn_start",
            "message_start assistant",
            "message_end assistant stop",
            "auto_retry_end 2 true",
            "turn_end",
            "agent_end",
            "agent_settled",
        ],
    );
    assert_eq!(harness.lines(), expected);
    assert_eq!(
        harness.context()[1..],
        [
            "user warm up",
            "assistant hello",
            "user go",
            "assistant at last"
        ]
    );
    let responses = harness
        .entries()
        .iter()
        .filter(|kind| *kind == "assistant")
        .count();
    assert_eq!(responses, 4);
}

#[tokio::test(start_paused = true)]
async fn retries_end_after_the_maximum() {
    let mut settings = Settings::default();
    settings.retry.max_retries = Some(1);
    settings.retry.base_delay_ms = Some(10);
    let harness = SessionHarness::with_options(HarnessOptions {
        settings,
        ..HarnessOptions::default()
    });
    harness.faux.push(FauxResponse::error(overloaded()));
    harness.faux.push(FauxResponse::error(overloaded()));
    harness.prompt("go").await;
    let lines = harness.lines();
    assert_eq!(
        lines[lines.len() - 3..],
        ["agent_end", "auto_retry_end 1 false", "agent_settled"]
    );
    assert_eq!(harness.context().last().unwrap(), "assistant");
}

#[tokio::test(start_paused = true)]
async fn permanent_errors_are_not_retried() {
    for (enabled, error) in [
        (false, overloaded()),
        (true, ProviderError::invalid("400 no such field")),
    ] {
        let harness = SessionHarness::new();
        harness.session.retries().set_automatic(enabled).unwrap();
        assert_eq!(harness.session.retries().is_automatic(), enabled);
        harness.faux.push(FauxResponse::error(error));
        harness.prompt("go").await;
        let lines = harness.lines();
        assert_eq!(lines[lines.len() - 2..], ["agent_end", "agent_settled"]);
    }
}

#[tokio::test(start_paused = true)]
async fn the_delay_can_be_canceled_by_abort_retry_and_by_abort() {
    for everything in [false, true] {
        let harness = SessionHarness::new();
        harness.faux.push(FauxResponse::error(overloaded()));
        harness.session.prompt(Prompt::text("go")).await.unwrap();
        harness.events.wait_for("entry_appended context_edit").await;
        tokio::task::yield_now().await;
        assert!(harness.session.retries().is_waiting());
        if everything {
            harness.session.abort().await;
        } else {
            harness.session.retries().abort();
            harness.session.wait_for_idle().await;
        }
        let lines = harness.lines();
        assert_eq!(
            lines[lines.len() - 3..],
            [
                "entry_appended context_edit",
                "auto_retry_end 1 false",
                "agent_settled"
            ]
        );
        assert!(!harness.session.retries().is_waiting());
        harness.faux.push("fine");
        harness.prompt("again").await;
        assert_eq!(harness.context().last().unwrap(), "assistant fine");
    }
}
