//! Random schedules: requests of every kind at any time, with random outcomes, and lanes that advance in any order.

use std::cell::RefCell;
use std::collections::BTreeSet;

use pi_protocol::{Answer, QueueMode, RequestId};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use super::invariants::check_end;
use super::script::Script;
use super::simulation::Simulation;
use super::strategies::{Action, Faults, modes, schedules, scripts};
use crate::machine::{Effect, Input, Reply};

/// Plays a schedule to its end.
fn play(
    actions: Vec<Action>,
    script: Script,
    steering: QueueMode,
    follow_up: QueueMode,
) -> Simulation {
    let mut simulation = Simulation::new(script);
    simulation
        .machine
        .queue_mut()
        .set_modes(steering, follow_up);
    let model = simulation.machine.selection().model.clone();
    for (number, action) in actions.into_iter().enumerate() {
        match action {
            Action::Advance { lane, tool, count } => {
                let ready = simulation.ready_lanes();
                let Some(lane) = ready.get(lane % ready.len().max(1)) else {
                    continue;
                };
                for _ in 0..count {
                    if simulation.ready_lanes().contains(lane) {
                        simulation.advance(*lane, tool);
                    }
                }
            }
            Action::Request(request) => {
                simulation.submit(request.input(number));
            }
            Action::Answer { place, answers } => answer_twice(&mut simulation, place, answers),
            Action::Select(mode) => {
                let selection = simulation.machine.selection_mut();
                selection.execution_mode = mode;
                selection.model = model.clone().filter(|_| selection.model.is_none());
            }
        }
    }
    simulation.allow_all();
    check_end(&simulation);
    simulation
}

/// Answers a request that was asked at some time, from two clients.
fn answer_twice(simulation: &mut Simulation, place: usize, answers: [bool; 2]) {
    let asked = simulation.log.iter().rev();
    let asked: Vec<_> = asked
        .filter_map(|line| line.strip_prefix("asked "))
        .collect();
    let Some(request) = asked.get(place % asked.len().max(1)) else {
        return;
    };
    let request = RequestId((*request).to_owned());
    let replies = answers.map(|is_allowed| {
        let answer = if is_allowed {
            Answer::Allow
        } else {
            Answer::Deny { reason: None }
        };
        let lane = simulation.submit(Input::Answer {
            request: request.clone(),
            answer,
        });
        let accepted = |effect: &Effect| matches!(effect, Effect::Reply(Reply::Done));
        simulation.lanes[lane].effects.iter().any(accepted)
    });
    assert!(!replies[1], "the second answer was accepted");
}

/// What happened in all schedules.
#[derive(Default)]
struct Coverage {
    steps: usize,
    /// Log lines about retries, compaction and storage, and rejections.
    seen: BTreeSet<String>,
}

impl Coverage {
    fn add(&mut self, simulation: &Simulation) {
        self.steps += simulation.steps;
        let kinds = [
            "retry_end",
            "compaction_end",
            "recovery_failed",
            "reload",
            "resolved asks-0",
        ];
        let is_special = |line: &&String| kinds.iter().any(|kind| line.starts_with(kind));
        self.seen
            .extend(simulation.log.iter().filter(is_special).cloned());
        let replies = simulation.lanes.iter().flat_map(|lane| &lane.replies);
        for reply in replies {
            match reply {
                Reply::Rejected(rejection) => {
                    self.seen.insert(format!("rejected {rejection:?}"));
                }
                Reply::AnswerRejected(error) => {
                    self.seen.insert(format!("rejected {error:?}"));
                }
                _ => {}
            }
        }
    }

    fn check(&self, steps: usize, expected: &[&str]) {
        assert!(self.steps >= steps, "only {} steps", self.steps);
        for line in expected {
            assert!(self.seen.contains(*line), "{line}: {:#?}", self.seen);
        }
    }
}

fn play_random(cases: u32, faults: Faults) -> Coverage {
    let coverage = RefCell::new(Coverage::default());
    let strategy = (schedules(), scripts(faults), modes(), modes());
    let mut runner = TestRunner::new(ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let played = runner.run(&strategy, |(actions, script, steering, follow_up)| {
        let simulation = play(actions, script, steering, follow_up);
        coverage.borrow_mut().add(&simulation);
        Ok(())
    });
    if let Err(failure) = played {
        panic!("{failure}");
    }
    coverage.into_inner()
}

#[test]
fn every_schedule_settles_and_keeps_every_message_once() {
    play_random(700, Faults::None).check(
        100_000,
        &[
            "retry_end 1 success",
            "retry_end 1 canceled",
            "retry_end 1 overloaded",
            "compaction_end manual",
            "compaction_end threshold",
            "compaction_end overflow retry",
            "recovery_failed Overflow",
            "rejected Busy",
            "rejected Compacting",
            "rejected CheckFailed",
            "rejected Canceled",
            "rejected Closed",
            "rejected AlreadyAnswered",
            "rejected Unknown",
            "resolved asks-0 allow",
            "resolved asks-0 deny",
            "resolved asks-0 canceled",
        ],
    );
}

#[test]
fn every_schedule_settles_when_messages_cannot_be_stored() {
    play_random(200, Faults::Storage).check(20_000, &["reload"]);
}

#[test]
fn every_schedule_settles_when_effects_panic() {
    play_random(300, Faults::Panics).check(20_000, &["rejected Crashed"]);
}
