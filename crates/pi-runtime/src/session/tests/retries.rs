//! Trying failed turns again.

use pi_ai::{FauxResponse, ProviderError};
use pi_config::Settings;
use pretty_assertions::assert_eq;

use super::stage::{Setting, Stage, one_turn, overloaded};
use crate::session::Prompt;

fn retried(lines: &mut Vec<String>, more: &[&str]) {
    lines.extend(more.iter().map(|line| (*line).to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_failed_turn_is_tried_again_and_the_attempt_leaves_the_context() {
    let stage = Stage::new();
    stage.faux.push("hello");
    stage.say("warm up").await;
    stage.told();
    stage.faux.push(FauxResponse::error(overloaded()));
    stage.faux.push(FauxResponse::error(overloaded()));
    stage.faux.push("at last");
    stage.say("go").await;
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
    assert_eq!(stage.told(), expected);
    assert_eq!(
        stage.context()[1..],
        [
            "user warm up",
            "assistant hello",
            "user go",
            "assistant at last"
        ]
    );
    let answers = stage
        .entries()
        .iter()
        .filter(|kind| *kind == "assistant")
        .count();
    assert_eq!(answers, 4);
}

#[tokio::test(start_paused = true)]
async fn attempts_end_with_the_budget() {
    let mut settings = Settings::default();
    settings.retry.max_retries = Some(1);
    settings.retry.base_delay_ms = Some(10);
    let stage = Stage::set(Setting {
        settings,
        ..Setting::default()
    });
    stage.faux.push(FauxResponse::error(overloaded()));
    stage.faux.push(FauxResponse::error(overloaded()));
    stage.say("go").await;
    let told = stage.told();
    assert_eq!(
        told[told.len() - 3..],
        ["agent_end", "auto_retry_end 1 false", "agent_settled"]
    );
    assert_eq!(stage.context().last().unwrap(), "assistant");
}

#[tokio::test(start_paused = true)]
async fn what_waiting_does_not_help_is_not_tried_again() {
    for (enabled, error) in [
        (false, overloaded()),
        (true, ProviderError::invalid("400 no such field")),
    ] {
        let stage = Stage::new();
        stage.session.set_auto_retry(enabled).unwrap();
        assert_eq!(stage.session.auto_retry_enabled(), enabled);
        stage.faux.push(FauxResponse::error(error));
        stage.say("go").await;
        let told = stage.told();
        assert_eq!(told[told.len() - 2..], ["agent_end", "agent_settled"]);
    }
}

#[tokio::test(start_paused = true)]
async fn the_pause_can_be_cancelled_alone_or_with_everything() {
    for everything in [false, true] {
        let stage = Stage::new();
        stage.faux.push(FauxResponse::error(overloaded()));
        stage.session.prompt(Prompt::text("go")).await.unwrap();
        stage.notes.heard("entry_appended context_edit").await;
        tokio::task::yield_now().await;
        assert!(stage.session.is_retrying());
        if everything {
            stage.session.abort().await;
        } else {
            stage.session.abort_retry();
            stage.session.wait_for_idle().await;
        }
        let told = stage.told();
        assert_eq!(
            told[told.len() - 3..],
            [
                "entry_appended context_edit",
                "auto_retry_end 1 false",
                "agent_settled"
            ]
        );
        assert!(!stage.session.is_retrying());
        stage.faux.push("fine");
        stage.say("again").await;
        assert_eq!(stage.context().last().unwrap(), "assistant fine");
    }
}
