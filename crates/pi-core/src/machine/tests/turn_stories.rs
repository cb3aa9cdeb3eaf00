//! Event order of prompts, turns and tool calls.

use pi_protocol::StopReason;
use pretty_assertions::assert_eq;

use super::fixtures::{custom, custom_message, prompt, steer, system};
use super::invariants::check_end;
use super::script::{Script, ScriptedResponse, compact};
use super::simulation::Simulation;
use crate::machine::{CustomDelivery, Effect, Input, Rejection, Reply};
use crate::tool::ExecutionMode;
use crate::turn::TurnDecision;

fn run(script: Script) -> Simulation {
    let simulation = Simulation::new(script).run(prompt("go"));
    check_end(&simulation);
    simulation
}

fn run_with(responses: &[ScriptedResponse]) -> Simulation {
    run(Script::responses(responses.iter().cloned()))
}

#[test]
fn a_prompt_gets_a_response_in_one_turn() {
    let simulation = run(Script::default());
    assert_eq!(
        simulation.log,
        [
            "agent_start",
            "turn_start",
            "start user go",
            "end user go",
            "start assistant Stop",
            "end assistant Stop",
            "turn_end 0",
            "agent_end 2",
            "settled",
        ]
    );
    assert_eq!(simulation.lanes[0].replies, [Reply::Started]);
    assert_eq!(simulation.stored(), ["user go", "assistant Stop"]);
}

#[test]
fn a_growing_response_starts_once() {
    let simulation = run_with(&[ScriptedResponse::text().streamed()]);
    assert_eq!(
        simulation.log[4..7],
        ["start assistant Pending", "update", "end assistant Stop"]
    );
}

#[test]
fn changes_are_announced_before_the_first_message_and_before_each_request() {
    let simulation = run(Script {
        compositions: [Ok(Some(system())), Ok(None), Ok(Some(system()))].into(),
        responses: [ScriptedResponse::calls(&["a"])].into(),
        ..Script::default()
    });
    assert_eq!(
        simulation.stored(),
        [
            "system",
            "user go",
            "assistant ToolUse",
            "result a-0",
            "system",
            "assistant Stop"
        ]
    );
}

#[test]
fn messages_for_the_next_turn_and_of_start_hooks_follow_the_prompt() {
    let next_turn = custom("next", None, Some(CustomDelivery::NextTurn));
    let simulation = Simulation::new(Script {
        added: [vec![custom_message("hook")]].into(),
        ..Script::default()
    });
    let simulation = simulation.run(next_turn).run(prompt("go"));
    check_end(&simulation);
    assert_eq!(
        simulation.stored(),
        ["user go", "custom next", "custom hook", "assistant Stop"]
    );
}

#[test]
fn a_message_that_starts_a_run_is_prepared_like_a_prompt() {
    let next_turn = custom("next", None, Some(CustomDelivery::NextTurn));
    let simulation = Simulation::new(Script {
        added: [vec![custom_message("hook")]].into(),
        ..Script::default()
    });
    let simulation = simulation
        .run(next_turn)
        .run(custom("go", Some(true), None));
    check_end(&simulation);
    assert_eq!(
        simulation.stored(),
        ["custom go", "custom next", "custom hook", "assistant Stop"]
    );
}

#[test]
fn a_message_whose_run_is_canceled_before_it_starts_is_kept() {
    let prepares = |effect: &Effect| matches!(effect, Effect::PrepareRun(_));
    let simulation = Simulation::new(Script::default()).when(prepares, [Input::Abort]);
    let simulation = simulation.run(custom("go", Some(true), None));
    check_end(&simulation);
    assert_eq!(simulation.stored(), ["custom go"]);
    let simulation = simulation.run(prompt("again"));
    check_end(&simulation);
    assert_eq!(
        simulation.stored(),
        ["custom go", "user again", "assistant Stop"]
    );
}

#[test]
fn messages_sent_while_a_run_is_prepared_belong_to_it() {
    let prepares = |effect: &Effect| matches!(effect, Effect::PrepareRun(_));
    let inputs = [
        custom("steers", None, None),
        custom("appended", Some(false), None),
    ];
    let simulation = Simulation::new(Script::default()).when(prepares, inputs);
    let simulation = simulation.run(prompt("go"));
    check_end(&simulation);
    assert_eq!(
        simulation.stored(),
        [
            "custom appended",
            "user go",
            "custom steers",
            "assistant Stop"
        ]
    );
}

#[test]
fn a_prompt_that_fails_its_check_changes_nothing() {
    let next_turn = custom("next", None, Some(CustomDelivery::NextTurn));
    let simulation = Simulation::new(Script {
        checks: [false].into(),
        ..Script::default()
    });
    let simulation = simulation.run(next_turn).run(prompt("go"));
    check_end(&simulation);
    assert_eq!(
        simulation.last_reply(),
        Some(&Reply::Rejected(Rejection::CheckFailed))
    );
    assert_eq!(simulation.log, [] as [&str; 0]);
    assert_eq!(simulation.machine.context.waiting.next_turn.len(), 1);
}

#[test]
fn parallel_calls_end_as_they_complete_and_report_results_in_call_order() {
    let simulation = run_with(&[ScriptedResponse::calls(&["slow", "unknown", "b"])]);
    assert_eq!(
        simulation.summary()[3..],
        [
            "assistant ToolUse",
            "tool slow-0",
            "tool unknown-1",
            "tool_failed unknown-1",
            "tool b-2",
            "tool_end b-2",
            "tool_update slow-0",
            "tool_end slow-0",
            "result slow-0",
            "result unknown-1",
            "result b-2",
            "turn_end 3",
            "turn_start",
            "assistant Stop",
            "turn_end 0",
            "agent_end 6",
            "settled",
        ]
    );
}

#[test]
fn sequential_calls_are_stored_before_the_next_one_starts() {
    let responses = [ScriptedResponse::calls(&["a", "b"])];
    let sequential = ["tool a-0", "tool_end a-0", "result a-0", "tool b-1"];
    let mut simulation = Simulation::new(Script::responses(responses));
    simulation.machine.selection_mut().execution_mode = ExecutionMode::Sequential;
    let simulation = simulation.run(prompt("go"));
    check_end(&simulation);
    assert_eq!(simulation.summary()[4..8], sequential);

    let one_is_sequential = run_with(&[ScriptedResponse::calls(&["a", "s"])]);
    assert_eq!(
        one_is_sequential.summary()[4..10],
        [
            "tool a-0",
            "tool_end a-0",
            "result a-0",
            "tool s-1",
            "tool_end s-1",
            "result s-1"
        ]
    );
}

#[test]
fn calls_of_a_truncated_response_are_not_run() {
    let simulation = run_with(&[ScriptedResponse::calls(&["a", "b"]).stop(StopReason::Length)]);
    assert_eq!(
        simulation.summary()[3..12],
        [
            "assistant Length",
            "tool a-0",
            "tool_failed a-0",
            "result a-0",
            "tool b-1",
            "tool_failed b-1",
            "result b-1",
            "turn_end 2",
            "turn_start",
        ]
    );
}

#[test]
fn a_batch_ends_the_run_only_if_every_result_requests_it() {
    for (calls, requests) in [
        (["last", "blocked-last"], 1),
        (["last", "last-s"], 1),
        (["last", "a"], 2),
        (["last", "unknown"], 2),
    ] {
        let simulation = run_with(&[ScriptedResponse::calls(&calls)]);
        let stored = simulation.stored();
        let responses = stored.iter().filter(|line| line.starts_with("assistant"));
        assert_eq!(responses.count(), requests, "{calls:?}");
    }
}

#[test]
fn a_turn_hook_can_request_one_more_turn() {
    let simulation = run(Script {
        decisions: [TurnDecision::Continue].into(),
        ..Script::default()
    });
    assert_eq!(
        simulation.stored(),
        ["user go", "assistant Stop", "assistant Stop"]
    );
    let log = simulation.log.iter();
    assert_eq!(log.filter(|line| *line == "agent_start").count(), 1);
}

#[test]
fn a_failed_hook_ends_the_run_with_an_error_message() {
    let simulation = run_with(&[ScriptedResponse::HookFails]);
    assert_eq!(
        simulation.summary(),
        [
            "agent_start",
            "turn_start",
            "user go",
            "assistant Error",
            "turn_end 0",
            "agent_end 1",
            "settled",
        ]
    );
    assert_eq!(simulation.stored(), ["user go", "assistant Error"]);
}

#[test]
fn a_message_whose_changes_cannot_be_announced_is_stored_before_the_error() {
    let failure = || Err("cannot read the session".to_owned());
    let simulation = run(Script {
        compositions: [failure(), failure()].into(),
        ..Script::default()
    });
    assert_eq!(simulation.stored(), ["user go", "assistant Error"]);
}

#[test]
fn messages_steered_by_a_start_hook_join_the_first_turn() {
    let is_end = |effect: &Effect| matches!(effect, Effect::Emit(event) if super::log::line(event) == "end user go");
    let simulation = Simulation::new(Script::default())
        .when(is_end, [steer("and this")])
        .run(prompt("go"));
    check_end(&simulation);
    assert_eq!(
        simulation.stored(),
        ["user go", "user and this", "assistant Stop"]
    );
}

#[test]
fn a_message_that_waits_for_the_turn_follows_the_tool_results() {
    let simulation = Simulation::new(Script::responses([ScriptedResponse::calls(&["a"])]))
        .when(
            |effect| matches!(effect, Effect::Execute { .. }),
            [
                custom("waits", Some(false), None),
                custom("steers", None, None),
                custom("follows", None, Some(CustomDelivery::FollowUp)),
                super::fixtures::bash("ls"),
            ],
        )
        .run(prompt("go"));
    check_end(&simulation);
    assert_eq!(
        simulation.stored(),
        [
            "user go",
            "assistant ToolUse",
            "result a-0",
            "custom waits",
            "custom steers",
            "assistant Stop",
            "custom follows",
            "assistant Stop",
            "bash ls",
        ]
    );
}

#[test]
fn an_idle_session_appends_or_starts_a_run() {
    for (trigger, reply, stored) in [
        (None, Reply::Done, vec!["custom note"]),
        (Some(false), Reply::Done, vec!["custom note"]),
        (
            Some(true),
            Reply::Started,
            vec!["custom note", "assistant Stop"],
        ),
    ] {
        let simulation = Simulation::new(Script::default()).run(custom("note", trigger, None));
        check_end(&simulation);
        assert_eq!(simulation.last_reply(), Some(&reply));
        assert_eq!(simulation.stored(), stored);
    }
}

fn run_virtual(script: Script) -> Simulation {
    let simulation = Simulation::new(Script {
        is_virtual: true,
        ..script
    })
    .run(prompt("go"));
    check_end(&simulation);
    simulation
}

#[test]
fn a_request_of_a_virtual_model_is_routed_before_it_is_sent() {
    let simulation = run_virtual(Script::default());
    assert_eq!(simulation.stored(), ["user go", "assistant Stop"]);
}

#[test]
fn a_request_without_a_route_ends_with_an_error() {
    let simulation = run_virtual(Script {
        routes: [Err("no route".to_owned())].into(),
        ..Script::default()
    });
    assert_eq!(simulation.stored(), ["user go", "assistant Error"]);
}

#[test]
fn the_context_is_compacted_for_the_model_of_the_route() {
    let simulation = run_virtual(Script {
        after_routing: [compact()].into(),
        ..Script::default()
    });
    let compacted = simulation
        .log
        .iter()
        .position(|line| line.starts_with("compaction_end"));
    let answered = simulation
        .log
        .iter()
        .position(|line| line.starts_with("start assistant"));
    assert!(
        compacted.is_some() && compacted < answered,
        "{:?}",
        simulation.log
    );
}
