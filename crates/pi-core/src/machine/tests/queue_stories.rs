//! Steering, follow-ups and clearing the queue.

use pi_protocol::{Delivery, QueueMode, QueuedTexts};
use pretty_assertions::assert_eq;

use super::fixtures::{
    FOLLOW_UP, STEER, custom, follow_up, prompt, prompt_as, queued, steer, user,
};
use super::invariants::check_end;
use super::script::{Script, ScriptedResponse};
use super::simulation::Simulation;
use crate::machine::{CustomDelivery, Effect, Input, Rejection, Reply};

fn executes(effect: &Effect) -> bool {
    matches!(effect, Effect::Execute { .. })
}

fn streams(effect: &Effect) -> bool {
    matches!(effect, Effect::Stream)
}

fn with_tool() -> Simulation {
    Simulation::new(Script::responses([ScriptedResponse::calls(&["a"])]))
}

#[test]
fn steering_joins_the_next_turn_and_follow_ups_wait_for_the_end() {
    use QueueMode::{All, OneAtATime};
    let one_by_one = ["s1", "|", "s2", "|", "f1", "|", "f2", "|"];
    for (steering, follow_ups, turns) in [
        (OneAtATime, OneAtATime, one_by_one.to_vec()),
        (All, OneAtATime, vec!["s1", "s2", "|", "f1", "|", "f2", "|"]),
        (OneAtATime, All, vec!["s1", "|", "s2", "|", "f1", "f2", "|"]),
        (All, All, vec!["s1", "s2", "|", "f1", "f2", "|"]),
    ] {
        let inputs = [steer("s1"), follow_up("f1"), steer("s2"), follow_up("f2")];
        let mut simulation = with_tool().when(executes, inputs);
        let queue = simulation.machine.queue_mut();
        queue.set_modes(steering, follow_ups);
        let simulation = simulation.run(prompt("go"));
        check_end(&simulation);
        let stored = simulation.stored();
        let turn = stored[3..].iter().map(|line| match line.as_str() {
            "assistant Stop" => "|",
            line => line.strip_prefix("user ").unwrap_or(line),
        });
        assert_eq!(turn.collect::<Vec<_>>(), turns);
        let runs = simulation.log.iter().filter(|line| *line == "agent_start");
        assert_eq!(runs.count(), 1);
    }
}

#[test]
fn a_prompt_during_a_run_is_queued_or_rejected() {
    for (delivery, reply) in [
        (STEER, Reply::Queued),
        (FOLLOW_UP, Reply::Queued),
        (None, Reply::Rejected(Rejection::Busy)),
    ] {
        let simulation = with_tool()
            .when(executes, [prompt_as("more", delivery)])
            .run(prompt("go"));
        check_end(&simulation);
        assert_eq!(simulation.last_reply(), Some(&reply));
        let is_stored = simulation.stored().contains(&"user more".to_owned());
        assert_eq!(is_stored, reply == Reply::Queued);
    }
}

#[test]
fn messages_queued_while_idle_join_the_next_run() {
    let simulation = Simulation::new(Script::default())
        .run(steer("first"))
        .run(follow_up("later"));
    assert_eq!(simulation.stored(), [] as [&str; 0]);
    let simulation = simulation.run(prompt("go"));
    check_end(&simulation);
    assert_eq!(
        simulation.stored(),
        [
            "user go",
            "user first",
            "assistant Stop",
            "user later",
            "assistant Stop"
        ]
    );
}

#[test]
fn the_queue_is_published_when_a_message_is_queued_and_when_it_starts() {
    let simulation = with_tool().when(executes, [steer("s")]).run(prompt("go"));
    check_end(&simulation);
    let log = simulation.log;
    let published = log.iter().position(|line| line == "queue [\"s\"] []");
    let place = log.iter().position(|line| line == "queue [] []").unwrap();
    assert!(published.is_some_and(|first| first < place));
    assert_eq!(log[place + 1], "start user s");
}

#[test]
fn equal_texts_and_messages_without_text_keep_the_queue_in_order() {
    let simulation = with_tool()
        .when(
            executes,
            [
                queued("one", "same", Delivery::Steer),
                custom("hidden", Some(true), Some(CustomDelivery::Steer)),
                queued("two", "same", Delivery::FollowUp),
                queued("three", "", Delivery::Steer),
            ],
        )
        .run(prompt("same"));
    check_end(&simulation);
    let updates = simulation.log.iter();
    let updates = updates.filter(|line| line.starts_with("queue"));
    let mut updates: Vec<_> = updates.collect();
    updates.dedup();
    assert_eq!(
        updates,
        [
            "queue [\"same\", \"\"] [\"same\"]",
            "queue [\"\"] [\"same\"]",
            "queue [] [\"same\"]",
            "queue [] []",
        ]
    );
}

/// The two requests arrive during any two effects.
#[test]
fn a_cleared_message_is_never_delivered() {
    let scenario = || {
        let mut simulation = with_tool();
        simulation.script.between_turns = [super::script::compact()].into();
        simulation
    };
    let effects = scenario().run(prompt("go")).performed();
    for first in 0..effects {
        for second in first..effects {
            for input in [steer("queued"), follow_up("queued")] {
                let simulation = scenario()
                    .at(first, [input])
                    .at(second, [Input::ClearQueue])
                    .run(prompt("go"));
                check_end(&simulation);
                let is_cleared = simulation.cleared == ["queued"];
                let is_stored = simulation.stored().contains(&"user queued".to_owned());
                let replies = simulation.lanes.iter().flat_map(|lane| &lane.replies);
                let is_reported = replies.into_iter().any(|reply| {
                    matches!(reply, Reply::Cleared(texts) if *texts != QueuedTexts::default())
                });
                assert_eq!(is_reported, is_cleared, "{first} {second}");
                let is_queued = simulation.machine.queue().has_waiting();
                let places = [is_cleared, is_stored, is_queued];
                let count = places.into_iter().filter(|found| *found).count();
                assert_eq!(count, 1, "{first} {second} {places:?}");
            }
        }
    }
}

#[test]
fn a_run_whose_follow_up_was_cleared_ends() {
    let checks = |effect: &Effect| matches!(effect, Effect::CheckContext(_));
    let between_turns = |effect: &Effect| {
        matches!(
            effect,
            Effect::CheckContext(crate::machine::ContextCheck::BetweenTurns)
        )
    };
    for simulation in [
        Simulation::new(Script::default())
            .when(streams, [follow_up("later")])
            .when(between_turns, [Input::ClearQueue]),
        Simulation::new(Script::default())
            .when(
                |effect| matches!(effect, Effect::BeforeSettle),
                [steer("x")],
            )
            .when(
                |effect| matches!(effect, Effect::ReadTail),
                [Input::ClearQueue],
            ),
    ] {
        let simulation = simulation.when(checks, []).run(prompt("go"));
        check_end(&simulation);
        assert_eq!(simulation.stored(), ["user go", "assistant Stop"]);
    }
}

#[test]
fn messages_that_cannot_be_stored_return_to_the_queue() {
    let mut simulation = Simulation::new(Script {
        // The prompt, its response, then the first of three steered messages.
        records: [true, true, true, false].into(),
        ..Script::default()
    })
    .when(
        streams,
        [steer("a"), steer("b"), steer("c"), follow_up("d")],
    );
    let queue = simulation.machine.queue_mut();
    queue.set_modes(QueueMode::All, QueueMode::All);
    let mut simulation = simulation.run(prompt("go"));
    check_end(&simulation);
    assert_eq!(
        simulation.summary()[simulation.summary().len() - 6..],
        [
            "queue [\"b\", \"c\"] [\"d\"]",
            "assistant Error",
            "turn_end 0",
            "agent_end 1",
            "reload",
            "settled",
        ]
    );
    assert_eq!(simulation.stored(), ["user go", "assistant Stop", "user a"]);
    simulation
        .store
        .push(std::sync::Arc::new(user("unrelated")));
    let simulation = simulation.run(prompt("again"));
    assert_eq!(
        simulation.stored()[4..],
        [
            "user again",
            "user b",
            "user c",
            "assistant Stop",
            "user d",
            "assistant Stop"
        ]
    );
}

#[test]
fn the_first_messages_of_a_run_return_to_the_queue_if_they_cannot_be_stored() {
    let next_turn = custom("next", None, Some(CustomDelivery::NextTurn));
    let simulation = Simulation::new(Script {
        added: [vec![super::fixtures::custom_message("added")]].into(),
        records: [false].into(),
        ..Script::default()
    });
    let simulation = simulation.run(next_turn).run(prompt("go"));
    check_end(&simulation);
    assert_eq!(simulation.stored(), [] as [&str; 0]);
    assert_eq!(
        simulation.summary()[2..],
        [
            "queue [\"go\"] []",
            "assistant Error",
            "turn_end 0",
            "agent_end 1",
            "reload",
            "settled",
        ]
    );
    let mut simulation = simulation;
    let queue = simulation.machine.queue_mut();
    queue.set_modes(QueueMode::All, QueueMode::All);
    let simulation = simulation.run(prompt("again"));
    check_end(&simulation);
    assert_eq!(
        simulation.stored(),
        ["user again", "user go", "custom next", "assistant Stop"]
    );
}

/// Queues a prompt while another one is checked.
fn queued_during_check(checks: [bool; 2]) -> Simulation {
    Simulation::new(Script {
        checks: checks.into(),
        ..Script::default()
    })
    .when(
        |effect| matches!(effect, Effect::CheckPrompt),
        [prompt_as("second", STEER), prompt_as("third", FOLLOW_UP)],
    )
    .run(prompt("first"))
}

#[test]
fn prompts_queued_during_a_preparation_are_delivered_if_it_is_rejected() {
    let simulation = queued_during_check([false, true]);
    check_end(&simulation);
    assert_eq!(
        simulation.lanes[0].replies,
        [Reply::Rejected(Rejection::CheckFailed)]
    );
    assert_eq!(
        simulation.stored(),
        [
            "user second",
            "assistant Stop",
            "user third",
            "assistant Stop"
        ]
    );
}

#[test]
fn prompts_queued_during_a_preparation_are_kept_if_no_run_is_possible() {
    let simulation = queued_during_check([false, false]);
    check_end(&simulation);
    let rejected = Reply::Rejected(Rejection::CheckFailed);
    assert_eq!(simulation.lanes[0].replies, [rejected.clone(), rejected]);
    let queued = simulation.machine.queue().texts();
    assert_eq!(queued.steering, ["second"]);
    assert_eq!(queued.follow_up, ["third"]);
}

#[test]
fn prompts_queued_during_a_preparation_are_kept_if_it_is_canceled() {
    for input in [Input::Abort, Input::Close] {
        let simulation = Simulation::new(Script::default())
            .when(
                |effect| matches!(effect, Effect::CheckPrompt),
                [prompt_as("second", STEER), input],
            )
            .run(prompt("first"));
        check_end(&simulation);
        assert_eq!(
            simulation.lanes[0].replies,
            [Reply::Rejected(Rejection::Canceled)]
        );
        assert_eq!(simulation.machine.queue().texts().steering, ["second"]);
    }
}
