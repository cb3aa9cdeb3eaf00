//! Tests of the working indicator, the footer and the usage count.

use pi_views::test_support::model;
use pretty_assertions::assert_eq;

use super::*;
use crate::app::command::listed;
use crate::app::context::TestContext;

#[derive(Default)]
struct StatusTester {
    status: StatusController,
    app: TestContext,
}

impl StatusTester {
    fn send(&mut self, message: StatusMsg) -> Vec<String> {
        listed(&self.status.update(message, &self.app.context()))
    }
}

#[test]
fn a_short_session_is_counted_at_once() {
    let mut tester = StatusTester::default();
    tester.app.session.entry_count = COUNTED_AT_ONCE;
    let footer = "RefreshFooter { with_usage: true }";
    assert_eq!(tester.send(StatusMsg::Refresh), [footer]);
    tester.app.session.entry_count = COUNTED_AT_ONCE + 1;
    assert_eq!(tester.send(StatusMsg::Refresh), [footer], "it keeps count");
}

#[test]
fn a_long_session_is_counted_once_in_the_background() {
    let mut tester = StatusTester::default();
    "s1".clone_into(&mut tester.app.session.id);
    tester.app.session.entry_count = COUNTED_AT_ONCE + 1;
    let without = "RefreshFooter { with_usage: false }";
    assert_eq!(
        tester.send(StatusMsg::Refresh),
        [without, "session CountUsage"]
    );
    assert_eq!(tester.send(StatusMsg::Refresh), [without]);
    let counted = |session: &str| StatusMsg::UsageCounted {
        session: session.to_owned(),
        is_counted: true,
    };
    assert!(tester.send(counted("another")).is_empty());
    tester.send(StatusMsg::Refresh);
    assert_eq!(
        tester.send(counted("s1")),
        ["RefreshFooter { with_usage: true }"]
    );
}

#[test]
fn only_long_runs_ring_the_bell() {
    let mut tester = StatusTester::default();
    tester.send(StatusMsg::RunStarted);
    tester.app.now += Duration::from_secs(20);
    // A retry starts the loop again, but not the clock.
    tester.send(StatusMsg::RunStarted);
    tester.app.now += Duration::from_secs(20);
    let bell = "Notify { kind: Bell, text: \"pi: run finished\" }".to_owned();
    assert!(tester.send(StatusMsg::Settled).contains(&bell));
    tester.send(StatusMsg::RunStarted);
    assert!(!tester.send(StatusMsg::Settled).contains(&bell));
}

#[test]
fn a_compaction_returns_to_the_activity_it_interrupted() {
    let mut tester = StatusTester::default();
    let is_automatic = true;
    let started = tester.send(StatusMsg::CompactionStarted { is_automatic });
    assert_eq!(started[0], "SetActivity(Compacting { automatic: true })");
    tester.app.session.activity.streaming = true;
    let ended = tester.send(StatusMsg::CompactionEnded { will_retry: true });
    assert!(ended.contains(&"SetActivity(Working)".to_owned()));
    assert!(!ended.contains(&"Prompt(SendHeld)".to_owned()));
    tester.app.session.activity.streaming = false;
    let ended = tester.send(StatusMsg::CompactionEnded { will_retry: false });
    assert!(ended.contains(&"SetActivity(Idle)".to_owned()));
    assert_eq!(ended.last().unwrap(), "Prompt(SendHeld)");
}

#[test]
fn extra_usage_is_mentioned_once() {
    let mut tester = StatusTester::default();
    tester.app.session.model = Some(model("anthropic", "claude"));
    assert!(tester.send(StatusMsg::CheckExtraUsage).is_empty());
    tester.send(StatusMsg::Providers(ProviderInfo {
        subscription: true,
        ..ProviderInfo::default()
    }));
    assert_eq!(tester.send(StatusMsg::CheckExtraUsage).len(), 1);
    assert!(tester.send(StatusMsg::CheckExtraUsage).is_empty());
}

#[test]
fn a_usable_model_restores_the_unsent_prompt() {
    let mut tester = StatusTester::default();
    let ready = ProviderInfo {
        ready: true,
        ..ProviderInfo::default()
    };
    assert_eq!(
        tester.send(StatusMsg::Providers(ready)),
        ["Prompt(ModelReady)"]
    );
    assert!(
        tester
            .send(StatusMsg::Providers(ProviderInfo::default()))
            .is_empty()
    );
}

#[test]
fn deltas_do_not_concern_the_status() {
    let delta = SessionEvent::BashExecutionUpdate {
        id: None,
        delta: "line\n".to_owned(),
    };
    assert!(matches!(
        StatusMsg::of(&delta),
        Some(StatusMsg::ShellOutput(text)) if text == "line\n"
    ));
    let message = pi_protocol::SharedMessage::new(pi_protocol::AgentMessage::from(
        pi_protocol::UserMessage::default(),
    ));
    let start = SessionEvent::Agent(AgentEvent::MessageStart { message });
    assert!(StatusMsg::of(&start).is_none());
}

#[test]
fn the_title_follows_the_name() {
    let mut tester = StatusTester::default();
    tester.app.session.cwd = "/home/me/project".into();
    tester.app.session.name = Some("Parser".to_owned());
    let commands = tester.send(StatusMsg::NameChanged);
    assert_eq!(commands[0], "SetTitle(\"π - Parser - project\")");
}

#[test]
fn a_retry_is_shown_with_its_deadline_until_it_ends() {
    let mut tester = StatusTester::default();
    let delay = Duration::from_secs(4);
    let scheduled = StatusMsg::RetryScheduled {
        attempt: 2,
        max_attempts: 3,
        delay,
    };
    let commands = tester.status.update(scheduled, &tester.app.context());
    let [
        AppCommand::Display(DisplayCommand::SetActivity(Activity::Retrying {
            attempt: 2,
            until,
            ..
        })),
    ] = &commands[..]
    else {
        panic!("{:?}", listed(&commands));
    };
    assert_eq!(*until, tester.app.now + delay);
    tester.app.session.activity.streaming = true;
    let ended = tester.send(StatusMsg::RetryEnded);
    assert_eq!(ended.last().unwrap(), "SetActivity(Working)");
}

#[test]
fn another_session_is_counted_again() {
    let mut tester = StatusTester::default();
    tester.send(StatusMsg::Refresh);
    tester.app.session.entry_count = COUNTED_AT_ONCE + 1;
    tester.send(StatusMsg::SessionReplaced);
    assert_eq!(
        tester.send(StatusMsg::Refresh),
        ["RefreshFooter { with_usage: false }", "session CountUsage"]
    );
}

#[test]
fn a_failed_count_is_tried_again() {
    let mut tester = StatusTester::default();
    tester.app.session.entry_count = COUNTED_AT_ONCE + 1;
    tester.send(StatusMsg::Refresh);
    let failed = StatusMsg::UsageCounted {
        session: tester.app.session.id.clone(),
        is_counted: false,
    };
    assert!(tester.send(failed).is_empty());
    assert_eq!(tester.send(StatusMsg::Refresh)[1..], ["session CountUsage"]);
}

#[test]
fn another_model_updates_everything_that_depends_on_it() {
    let mut tester = StatusTester::default();
    assert_eq!(
        tester.send(StatusMsg::ModelChanged),
        [
            "RefreshProviders",
            "Status(CheckExtraUsage)",
            "Prompt(PaintBorder)",
            "Status(Refresh)",
            "RefreshCompletion",
        ]
    );
}
