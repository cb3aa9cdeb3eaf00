//! Abort and close, at every point of a session.

use pretty_assertions::assert_eq;

use super::fixtures::{custom, custom_message, deferred_prompt, follow_up, prompt, steer};
use super::invariants::{check_end, has_storage_failed};
use super::script::{Script, ScriptedResponse, compact, recover};
use super::simulation::Simulation;
use crate::machine::{CustomDelivery, Effect, Input, Rejection, Reply};
use crate::turn::TurnDecision;
use pi_protocol::{ActivityKind, CompactionDecision};

fn streams(effect: &Effect) -> bool {
    matches!(effect, Effect::Stream)
}

/// Scripts that together use every effect.
fn scripts() -> Vec<Script> {
    let skip = || CompactionDecision::Skip;
    vec![
        Script {
            added: [vec![custom_message("added")]].into(),
            before_prompt: [compact()].into(),
            decisions: [TurnDecision::Default, TurnDecision::Continue].into(),
            between_turns: [compact()].into(),
            ..Script::responses([
                ScriptedResponse::calls(&["slow", "b"]).streamed(),
                ScriptedResponse::text().streamed(),
            ])
        },
        Script {
            before_prompt: [recover()].into(),
            after_run: [recover(), compact(), skip()].into(),
            settles: [true].into(),
            ..Script::responses([
                ScriptedResponse::calls(&["a", "s", "unknown"]),
                ScriptedResponse::overflows(),
                ScriptedResponse::overloaded(),
            ])
        },
        Script {
            records: [true, true, false].into(),
            ..Script::default()
        },
        Script::responses([ScriptedResponse::HookFails]),
    ]
}

/// Runs every script once for each of its effects, with inputs during that effect.
fn at_every_effect(inputs: &[Input], mut check: impl FnMut(Simulation)) {
    for script in scripts() {
        let effects = Simulation::new(script.clone())
            .run(prompt("go"))
            .performed();
        assert!(effects > 10);
        for number in 0..effects {
            let inputs = inputs.iter().cloned();
            let simulation = Simulation::new(script.clone()).at(number, inputs);
            let simulation = simulation.run(prompt("go"));
            check_end(&simulation);
            check(simulation);
        }
    }
}

#[test]
fn abort_at_any_point_ends_the_run_and_keeps_the_session_usable() {
    at_every_effect(&[Input::Abort], |mut simulation| {
        simulation.script = Script::default();
        let before = simulation.store.len();
        let simulation = simulation.run(prompt("again"));
        check_end(&simulation);
        assert_eq!(
            simulation.stored()[before..],
            ["user again", "assistant Stop"]
        );
    });
}

#[test]
fn messages_queued_before_an_abort_are_delivered_or_kept() {
    let inputs = [
        steer("steered"),
        follow_up("follow-up"),
        custom("custom", Some(true), None),
        custom("waiting", Some(false), None),
        custom("next", None, Some(CustomDelivery::NextTurn)),
        super::fixtures::bash("ls"),
        Input::Abort,
    ];
    at_every_effect(&inputs, |mut simulation| {
        if has_storage_failed(&simulation) {
            return;
        }
        simulation.script = Script::default();
        let simulation = simulation.run(prompt("again"));
        check_end(&simulation);
        assert!(!simulation.machine.queue().has_waiting());
        let stored = simulation.stored();
        for message in [
            "user steered",
            "user follow-up",
            "custom custom",
            "custom waiting",
            "custom next",
            "bash ls",
        ] {
            assert!(stored.contains(&message.to_owned()), "{message} {stored:?}");
        }
    });
}

#[test]
fn closing_at_any_point_rejects_everything_later() {
    let inputs = [
        deferred_prompt("deferred"),
        Input::Close,
        prompt("late prompt"),
        deferred_prompt("late deferred"),
        steer("late steer"),
        custom("late custom", Some(true), None),
        Input::Compact,
        Input::Navigate,
    ];
    at_every_effect(&inputs, |simulation| {
        assert!(simulation.machine.is_closed());
        let last = simulation.lanes.last().unwrap();
        assert_eq!(last.replies, [Reply::Rejected(Rejection::Closed)]);
        assert!(!simulation.stored().contains(&"user deferred".to_owned()));
    });
}

#[test]
fn an_idle_session_closes_at_once() {
    let simulation = Simulation::new(Script::default())
        .run(Input::Close)
        .run(prompt("go"));
    check_end(&simulation);
    assert_eq!(
        simulation.last_reply(),
        Some(&Reply::Rejected(Rejection::Closed))
    );
}

/// A prompt that was deferred before the session closed is not started, and the session becomes idle.
#[test]
fn closing_while_a_deferred_prompt_is_resolved_rejects_it() {
    let simulation = Simulation::new(Script::default())
        .when(
            |effect| matches!(effect, Effect::SubmitDeferred(_)),
            [Input::Close],
        )
        .run(deferred_prompt("go"));
    check_end(&simulation);
    assert_eq!(
        simulation.lanes[0].replies,
        [Reply::Queued, Reply::Rejected(Rejection::Closed)]
    );
}

#[test]
fn abort_during_a_request_stores_the_aborted_response() {
    let simulation = Simulation::new(Script::responses([ScriptedResponse::text().streamed()]))
        .when(streams, [steer("kept"), Input::Abort])
        .run(prompt("go"));
    check_end(&simulation);
    assert_eq!(simulation.stored(), ["user go", "assistant Aborted"]);
    assert_eq!(simulation.machine.queue().texts().steering, ["kept"]);
}

#[test]
fn abort_in_a_parallel_check_starts_no_further_call() {
    let responses = [ScriptedResponse::calls(&["a", "b", "c"])];
    let simulation = Simulation::new(Script::responses(responses))
        .when(
            |effect| matches!(effect, Effect::Preflight(call) if call.name == "b"),
            [Input::Abort],
        )
        .run(prompt("go"));
    check_end(&simulation);
    assert_eq!(
        simulation.summary()[4..],
        [
            "tool a-0",
            "tool b-1",
            "tool_failed b-1",
            "tool_failed a-0",
            "result a-0",
            "result b-1",
            "turn_end 2",
            "turn_start",
            "assistant Aborted",
            "turn_end 0",
            "agent_end 5",
            "settled after abort",
        ]
    );
}

#[test]
fn abort_during_sequential_calls_leaves_the_rest_without_results() {
    let responses = [ScriptedResponse::calls(&["a", "s"])];
    let simulation = Simulation::new(Script::responses(responses))
        .when(
            |effect| matches!(effect, Effect::Execute { .. }),
            [Input::Abort],
        )
        .run(prompt("go"));
    check_end(&simulation);
    assert_eq!(
        simulation.stored(),
        [
            "user go",
            "assistant ToolUse",
            "result a-0",
            "assistant Aborted"
        ]
    );
}

/// An abort cancels what is in progress and nothing else.
#[test]
fn requests_to_cancel_do_nothing_while_idle() {
    for input in [
        Input::Abort,
        Input::AbortRetry,
        Input::AbortCompaction,
        Input::AbortNavigation,
    ] {
        let simulation = Simulation::new(Script::default())
            .run(input)
            .run(prompt("go"));
        check_end(&simulation);
        assert_eq!(simulation.stored(), ["user go", "assistant Stop"]);
    }
}

#[test]
fn a_move_in_the_tree_excludes_other_work() {
    for cancel in [Input::Abort, Input::AbortNavigation, Input::AbortRetry] {
        let mut simulation = Simulation::new(Script::default());
        let lane = simulation.submit(Input::Navigate);
        simulation.advance(lane, 0);
        assert_eq!(simulation.machine.activity(), ActivityKind::Navigating);
        let rejected = simulation.submit(prompt("rejected"));
        let deferred = simulation.submit(custom("deferred", Some(true), None));
        simulation.submit(cancel);
        simulation.drain();
        check_end(&simulation);
        assert_eq!(
            simulation.lanes[rejected].replies,
            [Reply::Rejected(Rejection::Compacting)]
        );
        assert_eq!(simulation.lanes[deferred].replies, [Reply::Queued]);
        assert_eq!(simulation.stored(), ["custom deferred", "assistant Stop"]);
    }
}

#[test]
fn a_move_in_the_tree_needs_an_idle_session() {
    let simulation = Simulation::new(Script::default())
        .when(streams, [Input::Navigate])
        .run(prompt("go"));
    check_end(&simulation);
    assert_eq!(
        simulation.last_reply(),
        Some(&Reply::Rejected(Rejection::Busy))
    );
}

#[test]
fn a_pause_ends_the_run_after_its_turn_and_another_input_resumes_it() {
    let script = Script::responses([
        ScriptedResponse::calls(&["a"]).streamed(),
        ScriptedResponse::text(),
    ]);
    let inputs = [Input::Pause, follow_up("queued")];
    let paused = Simulation::new(script).when(streams, inputs);
    let paused = paused.run(prompt("go"));
    check_end(&paused);
    assert_eq!(
        paused.stored(),
        ["user go", "assistant ToolUse", "result a-0"]
    );
    let resumed = paused.run(Input::Resume);
    check_end(&resumed);
    assert_eq!(
        resumed.stored()[3..],
        ["assistant Stop", "user queued", "assistant Stop"]
    );
    // Nothing is left to answer.
    let again = resumed.run(Input::Resume);
    check_end(&again);
    assert_eq!(again.stored().len(), 6);
}

#[test]
fn a_pause_at_any_point_ends_the_run_and_keeps_the_session_usable() {
    at_every_effect(&[Input::Pause], |mut simulation| {
        simulation.script = Script::default();
        let simulation = simulation.run(prompt("again"));
        check_end(&simulation);
        assert_eq!(simulation.stored().last().unwrap(), "assistant Stop");
    });
}
