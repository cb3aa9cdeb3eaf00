//! Retries, compaction and recovery from a context that is too large.

use pi_protocol::{CompactionDecision, RecoveryFailure, SessionEvent};
use pretty_assertions::assert_eq;

use super::fixtures::{custom, follow_up, prompt, prompt_as, steer};
use super::invariants::check_end;
use super::script::{Script, ScriptedResponse, compact, recover};
use super::simulation::Simulation;
use crate::machine::{Effect, Input, Rejection, Reply};

fn overloaded(count: usize) -> Script {
    Script::responses(std::iter::repeat_n(ScriptedResponse::overloaded(), count))
}

fn run(script: Script) -> Simulation {
    let simulation = Simulation::new(script).run(prompt("go"));
    check_end(&simulation);
    simulation
}

fn sleeps(effect: &Effect) -> bool {
    matches!(effect, Effect::Sleep(_))
}

fn omits(effect: &Effect) -> bool {
    matches!(effect, Effect::Omit(_))
}

fn announces_retry(effect: &Effect) -> bool {
    matches!(effect, Effect::Publish(SessionEvent::AutoRetryStart { .. }))
}

fn compacts(effect: &Effect) -> bool {
    matches!(effect, Effect::Compact(_))
}

fn checks_context(effect: &Effect) -> bool {
    matches!(effect, Effect::CheckContext(_))
}

/// The log from the first failed response on.
fn after_failure(simulation: &Simulation) -> Vec<String> {
    let summary = simulation.summary();
    let failure = summary.iter().position(|line| line == "assistant Error");
    summary[failure.unwrap() + 1..].to_vec()
}

#[test]
fn a_transient_failure_is_retried() {
    assert_eq!(
        after_failure(&run(overloaded(1))),
        [
            "turn_end 0",
            "agent_end 2 retry",
            "retry_start 1",
            "agent_start",
            "turn_start",
            "assistant Stop",
            "retry_end 1 success",
            "turn_end 0",
            "agent_end 1",
            "settled",
        ]
    );
}

#[test]
fn retrying_ends_with_the_last_error() {
    let simulation = run(overloaded(4));
    let attempts = simulation.log.iter();
    let attempts = attempts.filter(|line| line.starts_with("retry"));
    assert_eq!(
        attempts.collect::<Vec<_>>(),
        [
            "retry_start 1",
            "retry_start 2",
            "retry_start 3",
            "retry_end 3 overloaded"
        ]
    );
    assert!(simulation.log.contains(&"agent_end 1".to_owned()));
}

#[test]
fn other_failures_are_not_retried() {
    let log = after_failure(&run(Script::responses([ScriptedResponse::fails()])));
    assert_eq!(log, ["turn_end 0", "agent_end 2", "settled"]);
}

/// Whether the delay was canceled is a field of the event, and does not depend on the text of an error.
#[test]
fn a_canceled_retry_is_reported_as_canceled() {
    let points: [fn(&Effect) -> bool; 3] = [announces_retry, omits, sleeps];
    for point in points {
        for (input, end) in [
            (Input::AbortRetry, "settled"),
            (Input::Abort, "settled after abort"),
            (Input::Close, "settled after abort"),
        ] {
            let simulation = Simulation::new(overloaded(1))
                .when(point, [input])
                .run(prompt("go"));
            check_end(&simulation);
            assert_eq!(
                after_failure(&simulation)[2..],
                ["retry_start 1", "retry_end 1 canceled", end]
            );
        }
    }
    let mut simulation = Simulation::new(Script::responses([
        ScriptedResponse::overloaded().error("Retry canceled: overloaded")
    ]));
    simulation.machine.configure(
        0,
        pi_protocol::retry::RetryPolicy {
            max_retries: 0,
            ..pi_protocol::retry::RetryPolicy::default()
        },
    );
    let simulation = simulation.run(prompt("go"));
    assert!(!simulation.log.iter().any(|line| line.contains("canceled")));
    let ended = crate::retry_end::RetryEnd::Canceled.into_event(1);
    let SessionEvent::AutoRetryEnd {
        canceled,
        final_error,
        ..
    } = ended
    else {
        panic!("an end event");
    };
    assert!(canceled);
    assert_eq!(final_error.as_deref(), Some("Retry canceled"));
}

#[test]
fn the_session_is_retrying_until_the_attempt_begins() {
    let mut simulation = Simulation::new(overloaded(1));
    simulation.submit(prompt("go"));
    let mut seen = Vec::new();
    while let Some(lane) = simulation.ready_lanes().pop() {
        let state = (
            simulation.machine.is_retrying(),
            simulation.machine.retry_attempt(),
        );
        if seen.last() != Some(&state) {
            seen.push(state);
        }
        simulation.advance(lane, 0);
    }
    assert_eq!(seen, [(false, 0), (true, 1), (false, 1), (false, 0)]);
}

#[test]
fn a_failure_that_stays_in_the_context_is_not_retried() {
    let simulation = run(Script {
        omissions: [false].into(),
        ..overloaded(1)
    });
    assert_eq!(
        after_failure(&simulation)[2..],
        ["retry_start 1", "retry_end 1 overloaded", "settled"]
    );
}

#[test]
fn a_context_that_is_too_large_is_recovered_once() {
    let simulation = run(Script {
        after_run: [recover()].into(),
        ..Script::responses([ScriptedResponse::overflows()])
    });
    assert_eq!(
        after_failure(&simulation),
        [
            "turn_end 0",
            "agent_end 2",
            "compaction_start overflow",
            "compaction_end overflow retry",
            "agent_start",
            "turn_start",
            "assistant Stop",
            "turn_end 0",
            "agent_end 1",
            "settled",
        ]
    );
}

#[test]
fn a_second_overflow_publishes_the_end_of_recovery() {
    let failed = CompactionDecision::Failed(RecoveryFailure::Overflow);
    let responses = [ScriptedResponse::overflows(), ScriptedResponse::overflows()];
    let simulation = run(Script {
        after_run: [recover(), failed].into(),
        ..Script::responses(responses)
    });
    let log = simulation.summary();
    assert_eq!(
        log[log.len() - 4..],
        [
            "turn_end 0",
            "agent_end 1",
            "recovery_failed Overflow",
            "settled"
        ]
    );
}

#[test]
fn a_recovery_that_does_not_succeed_ends_the_run() {
    let recovery = || Script {
        after_run: [recover()].into(),
        ..Script::responses([ScriptedResponse::overflows()])
    };
    let cases: [(Script, &[&str]); 3] = [
        (
            Script {
                omissions: [false].into(),
                ..recovery()
            },
            &["settled"],
        ),
        (
            Script {
                plans: [false].into(),
                ..recovery()
            },
            &["settled"],
        ),
        (
            Script {
                compactions: [false].into(),
                ..recovery()
            },
            &[
                "compaction_start overflow",
                "compaction_end overflow retry",
                "settled",
            ],
        ),
    ];
    for (script, expected) in cases {
        assert_eq!(after_failure(&run(script))[2..], *expected);
    }
}

#[test]
fn the_context_is_compacted_between_turns() {
    for (possible, expected) in [
        (
            true,
            vec!["compaction_start threshold", "compaction_end threshold"],
        ),
        (false, vec![]),
    ] {
        let simulation = run(Script {
            between_turns: [compact()].into(),
            plans: [possible].into(),
            ..Script::responses([ScriptedResponse::calls(&["a"])])
        });
        let log = simulation.summary();
        let end = log.iter().position(|line| line == "turn_end 1").unwrap();
        let start = log.iter().rposition(|line| line == "turn_start").unwrap();
        assert_eq!(log[end + 1..start], expected);
    }
}

#[test]
fn a_failed_compaction_between_turns_does_not_end_the_run() {
    for input in [Input::AbortCompaction, steer("more")] {
        let simulation = Simulation::new(Script {
            between_turns: [compact()].into(),
            ..Script::responses([ScriptedResponse::calls(&["a"])])
        })
        .when(compacts, [input])
        .run(prompt("go"));
        check_end(&simulation);
        assert_eq!(simulation.stored().last().unwrap(), "assistant Stop");
    }
}

#[test]
fn the_context_is_compacted_before_a_prompt() {
    let simulation = run(Script {
        before_prompt: [compact()].into(),
        ..Script::default()
    });
    assert_eq!(
        simulation.log[..3],
        [
            "compaction_start threshold",
            "compaction_end threshold",
            "agent_start"
        ]
    );
    let failed = CompactionDecision::Failed(RecoveryFailure::Length);
    let simulation = run(Script {
        before_prompt: [failed].into(),
        ..Script::default()
    });
    assert_eq!(
        simulation.log[..2],
        ["recovery_failed Length", "agent_start"]
    );
}

#[test]
fn a_prompt_aborted_during_its_compaction_is_rejected_and_the_next_one_runs() {
    let simulation = Simulation::new(Script {
        before_prompt: [compact()].into(),
        ..Script::default()
    })
    .when(compacts, [Input::Abort])
    .run(prompt("go"));
    check_end(&simulation);
    assert_eq!(
        simulation.lanes[0].replies,
        [Reply::Rejected(Rejection::Canceled)]
    );
    let simulation = simulation.run(prompt("again"));
    check_end(&simulation);
    assert_eq!(simulation.stored(), ["user again", "assistant Stop"]);
}

#[test]
fn queued_messages_continue_after_a_compaction() {
    let simulation = Simulation::new(Script {
        after_run: [compact()].into(),
        ..Script::default()
    })
    .when(compacts, [follow_up("later")])
    .run(prompt("go"));
    check_end(&simulation);
    assert_eq!(
        simulation.stored(),
        ["user go", "assistant Stop", "user later", "assistant Stop"]
    );
}

#[test]
fn a_compaction_on_request_defers_messages_and_rejects_prompts() {
    let simulation = Simulation::new(Script::default())
        .when(
            compacts,
            [
                prompt("rejected"),
                prompt_as("also rejected", super::fixtures::STEER),
                custom("deferred", Some(true), None),
                custom("appended", None, None),
                Input::Compact,
                Input::Navigate,
            ],
        )
        .run(Input::Compact);
    check_end(&simulation);
    let replies: Vec<_> = simulation
        .lanes
        .iter()
        .map(|lane| &lane.replies[0])
        .collect();
    let rejected = |rejection| Reply::Rejected(rejection);
    assert_eq!(
        replies,
        [
            &Reply::Done,
            &rejected(Rejection::Compacting),
            &rejected(Rejection::Compacting),
            &Reply::Queued,
            &Reply::Done,
            &rejected(Rejection::Busy),
            &rejected(Rejection::Compacting),
        ]
    );
    assert_eq!(
        simulation.log[..3],
        [
            "compaction_start manual",
            "compaction_end manual",
            "agent_start"
        ]
    );
    assert_eq!(
        simulation.stored(),
        ["custom appended", "custom deferred", "assistant Stop"]
    );
}

#[test]
fn compaction_needs_an_idle_session() {
    for (point, rejection) in [
        (checks_context as fn(&Effect) -> bool, Rejection::Busy),
        (compacts, Rejection::Busy),
    ] {
        let simulation = Simulation::new(Script {
            before_prompt: [compact()].into(),
            ..Script::default()
        })
        .when(point, [Input::Compact])
        .run(prompt("go"));
        check_end(&simulation);
        assert_eq!(simulation.last_reply(), Some(&Reply::Rejected(rejection)));
    }
}
