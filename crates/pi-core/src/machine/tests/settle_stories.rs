//! The end of a run, and requests made while the session settles.

use pi_protocol::SessionEvent;
use pretty_assertions::assert_eq;

use super::fixtures::{STEER, custom, deferred_prompt, hook_prompt, prompt, prompt_as, steer};
use super::invariants::check_end;
use super::script::{Script, ScriptedResponse};
use super::simulation::Simulation;
use crate::machine::{Effect, Input, Rejection, Reply};

fn settles(effect: &Effect) -> bool {
    matches!(effect, Effect::Emit(SessionEvent::AgentSettled { .. }))
}

fn resubmits(effect: &Effect) -> bool {
    matches!(effect, Effect::SubmitDeferred(_))
}

fn while_settling(inputs: impl IntoIterator<Item = Input>) -> Simulation {
    let simulation = Simulation::new(Script::default()).when(settles, inputs);
    let simulation = simulation.run(prompt("go"));
    check_end(&simulation);
    simulation
}

#[test]
fn a_hook_can_request_another_turn_before_the_session_settles() {
    let settle = |effect: &Effect| matches!(effect, Effect::BeforeSettle);
    for (message, proceed) in [
        (custom("more", None, None), false),
        (custom("more", Some(false), None), true),
        (steer("more"), true),
    ] {
        let simulation = Simulation::new(Script {
            settles: [proceed].into(),
            ..Script::default()
        });
        let simulation = simulation.when(settle, [message]).run(prompt("go"));
        check_end(&simulation);
        assert_eq!(simulation.stored().len(), 4);
        let log = simulation.log.iter();
        assert_eq!(log.filter(|line| *line == "settled").count(), 1);
    }
}

#[test]
fn a_hook_that_wants_a_turn_without_a_message_gets_none() {
    let simulation = Simulation::new(Script {
        settles: [true].into(),
        ..Script::default()
    });
    let simulation = simulation.run(prompt("go"));
    check_end(&simulation);
    assert_eq!(simulation.stored(), ["user go", "assistant Stop"]);
}

#[test]
fn a_prompt_of_a_hook_is_deferred_until_the_session_has_settled() {
    for input in [hook_prompt("more"), deferred_prompt("more")] {
        let simulation = while_settling([input]);
        assert_eq!(simulation.lanes[1].replies, [Reply::Queued]);
        let summary = simulation.summary();
        let settled = summary.iter().position(|line| line == "settled").unwrap();
        assert_eq!(
            summary[settled + 1..settled + 4],
            ["agent_start", "turn_start", "user more"]
        );
    }
}

#[test]
fn a_prompt_of_a_client_waits_until_the_session_has_settled() {
    let simulation = while_settling([prompt("more")]);
    assert_eq!(simulation.lanes[1].replies, [Reply::Started]);
    assert_eq!(
        simulation.stored(),
        ["user go", "assistant Stop", "user more", "assistant Stop"]
    );
}

#[test]
fn a_deferred_prompt_precedes_a_waiting_one() {
    for (delivery, reply, is_stored) in [
        (None, Reply::Rejected(Rejection::Busy), false),
        (STEER, Reply::Queued, true),
    ] {
        let simulation = while_settling([
            hook_prompt("hook"),
            prompt_as("client", delivery),
            custom("message", Some(true), None),
        ]);
        assert_eq!(simulation.lanes[2].replies, [reply]);
        let stored = simulation.stored();
        assert_eq!(stored[2], "user hook");
        assert_eq!(stored.contains(&"user client".to_owned()), is_stored);
        assert!(stored.contains(&"custom message".to_owned()));
    }
}

/// A deferred prompt was accepted, so no other request may start in its place while its hooks run.
#[test]
fn requests_cannot_overtake_a_deferred_prompt() {
    let simulation = Simulation::new(Script::default())
        .when(
            resubmits,
            [
                prompt("client"),
                prompt_as("steered", STEER),
                hook_prompt("hook"),
                custom("custom", Some(true), None),
                Input::Compact,
                Input::Navigate,
            ],
        )
        .run(deferred_prompt("deferred"));
    check_end(&simulation);
    let replies = simulation.lanes.iter().map(|lane| lane.replies[0].clone());
    let busy = Reply::Rejected(Rejection::Busy);
    assert_eq!(
        replies.collect::<Vec<_>>(),
        [
            Reply::Queued,
            busy.clone(),
            Reply::Queued,
            Reply::Queued,
            Reply::Queued,
            busy.clone(),
            busy,
        ]
    );
    assert_eq!(
        simulation.stored(),
        [
            "user deferred",
            "user steered",
            "assistant Stop",
            "user hook",
            "assistant Stop",
            "custom custom",
            "assistant Stop",
        ]
    );
}

#[test]
fn deferred_prompts_that_hooks_handle_or_checks_reject_do_not_stop_the_next() {
    let simulation = Simulation::new(Script {
        handled: [true].into(),
        // The prompt and the second deferred one are checked.
        checks: [true, false].into(),
        ..Script::default()
    })
    .when(
        settles,
        [
            hook_prompt("handled"),
            hook_prompt("rejected"),
            hook_prompt("runs"),
        ],
    )
    .run(prompt("go"));
    check_end(&simulation);
    assert_eq!(
        simulation.stored(),
        ["user go", "assistant Stop", "user runs", "assistant Stop"]
    );
}

#[test]
fn messages_queued_while_settling_stay_queued() {
    let simulation = while_settling([steer("later")]);
    assert_eq!(simulation.stored(), ["user go", "assistant Stop"]);
    assert_eq!(simulation.machine.queue().texts().steering, ["later"]);
}

#[test]
fn messages_queued_up_to_the_last_check_continue_the_run() {
    let waits = |effect: &Effect| matches!(effect, Effect::Append(_));
    let simulation = Simulation::new(Script::responses([ScriptedResponse::text()]))
        .when(
            |effect| matches!(effect, Effect::Stream),
            [super::fixtures::bash("ls")],
        )
        .when(waits, [steer("more")])
        .run(prompt("go"));
    check_end(&simulation);
    assert_eq!(
        simulation.stored(),
        [
            "user go",
            "assistant Stop",
            "bash ls",
            "user more",
            "assistant Stop"
        ]
    );
}

#[test]
fn results_of_shell_commands_are_stored_at_once_outside_of_a_run() {
    let simulation = while_settling([super::fixtures::bash("ls")]);
    assert_eq!(
        simulation.stored(),
        ["user go", "assistant Stop", "bash ls"]
    );
    assert!(simulation.machine.waiting_bash().next().is_none());
}

#[test]
fn results_of_shell_commands_are_not_stored_after_the_session_is_closed() {
    let simulation = Simulation::new(Script::default())
        .run(Input::Close)
        .run(super::fixtures::bash("ls"));
    assert_eq!(
        simulation.last_reply(),
        Some(&Reply::Rejected(Rejection::Closed))
    );
    assert_eq!(simulation.stored(), [] as [&str; 0]);
}
