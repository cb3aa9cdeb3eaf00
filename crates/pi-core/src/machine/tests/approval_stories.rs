//! Tool calls that wait for the approval of a client.

use pi_protocol::{ActivityKind, Answer, RequestId};
use pretty_assertions::assert_eq;

use super::fixtures::prompt;
use super::invariants::check_end;
use super::script::{Script, ScriptedResponse};
use super::simulation::Simulation;
use crate::machine::{AnswerError, Input, Reply};

fn answer(request: &str, answer: Answer) -> Input {
    Input::Answer {
        request: RequestId(request.to_owned()),
        answer,
    }
}

fn deny(reason: Option<&str>) -> Answer {
    Answer::Deny {
        reason: reason.map(str::to_owned),
    }
}

/// A session whose calls run until only answers are missing.
fn waiting_for(calls: &[&'static str]) -> Simulation {
    let mut simulation = Simulation::new(Script::responses([ScriptedResponse::calls(calls)]));
    simulation.submit(prompt("go"));
    simulation.drain();
    assert_eq!(simulation.machine.activity(), ActivityKind::Running);
    simulation
}

fn pending(simulation: &Simulation) -> Vec<String> {
    let requests = simulation.machine.pending_requests();
    requests.into_iter().map(|request| request.id.0).collect()
}

/// Lines about calls and requests.
fn calls(simulation: &Simulation) -> Vec<&str> {
    let kinds = ["tool", "asked", "resolved"];
    let lines = simulation.log.iter().map(String::as_str);
    lines
        .filter(|line| kinds.iter().any(|kind| line.starts_with(kind)))
        .collect()
}

#[test]
fn the_other_calls_of_a_parallel_batch_run_while_one_waits() {
    let simulation = waiting_for(&["asks", "a"]);
    assert_eq!(pending(&simulation), ["asks-0"]);
    assert_eq!(simulation.machine.pending_calls(), ["asks-0"]);
    let simulation = simulation.run(answer("asks-0", Answer::Allow));
    check_end(&simulation);
    assert_eq!(simulation.last_reply(), Some(&Reply::Done));
    assert_eq!(
        calls(&simulation),
        [
            "tool asks-0",
            "asked asks-0",
            "tool a-1",
            "tool_end a-1",
            "resolved asks-0 allow",
            "tool_end asks-0",
        ]
    );
    assert_eq!(
        simulation.stored()[2..],
        ["result asks-0", "result a-1", "assistant Stop"]
    );
}

#[test]
fn a_sequential_batch_waits_for_the_answer() {
    let simulation = waiting_for(&["s", "asks", "a"]);
    assert_eq!(simulation.machine.pending_calls(), ["asks-1"]);
    let simulation = simulation.run(answer("asks-1", deny(None)));
    check_end(&simulation);
    assert_eq!(
        calls(&simulation)[2..],
        [
            "tool asks-1",
            "asked asks-1",
            "resolved asks-1 deny",
            "tool_failed asks-1",
            "tool a-2",
            "tool_end a-2",
        ]
    );
}

#[test]
fn the_model_receives_the_reason_of_a_denial() {
    let simulation = waiting_for(&["asks"]);
    let simulation = simulation.run(answer("asks-0", deny(Some("not in this directory"))));
    check_end(&simulation);
    let pi_protocol::AgentMessage::ToolResult(result) = &*simulation.store[2] else {
        panic!("a result");
    };
    assert!(result.is_error);
    let text = pi_protocol::join_text(&result.content);
    assert_eq!(text, "not in this directory");
}

#[test]
fn the_first_answer_wins() {
    let mut simulation = waiting_for(&["asks", "asks"]);
    let first = simulation.submit(answer("asks-0", deny(None)));
    let second = simulation.submit(answer("asks-0", Answer::Allow));
    simulation.drain();
    assert_eq!(simulation.lanes[first].replies, [Reply::Done]);
    let late = [Reply::AnswerRejected(AnswerError::AlreadyAnswered)];
    assert_eq!(simulation.lanes[second].replies, late);
    assert_eq!(pending(&simulation), ["asks-1"]);
    let simulation = simulation.run(answer("asks-0", Answer::Allow));
    assert_eq!(simulation.lanes.last().unwrap().replies, late);
    let simulation = simulation.run(answer("asks-1", Answer::Allow));
    check_end(&simulation);
    let simulation = simulation.run(answer("asks-1", Answer::Allow));
    let unknown = Reply::AnswerRejected(AnswerError::Unknown);
    assert_eq!(simulation.last_reply(), Some(&unknown));
}

#[test]
fn an_answer_of_another_kind_is_rejected_and_the_call_still_waits() {
    let simulation = waiting_for(&["asks"]).run(answer("asks-0", Answer::Cancelled));
    let invalid = Reply::AnswerRejected(AnswerError::Invalid {
        expected: "`allow`, `allow_for_session` or `deny`",
    });
    assert_eq!(simulation.last_reply(), Some(&invalid));
    assert_eq!(pending(&simulation), ["asks-0"]);
}

#[test]
fn an_abort_cancels_requests() {
    for (input, batch) in [(Input::Abort, ["asks", "a"]), (Input::Close, ["s", "asks"])] {
        let mut simulation = waiting_for(&batch);
        let request = pending(&simulation).remove(0);
        simulation.submit(input);
        assert!(pending(&simulation).is_empty());
        let late = simulation.submit(answer(&request, Answer::Allow));
        simulation.drain();
        check_end(&simulation);
        let rejected = [Reply::AnswerRejected(AnswerError::AlreadyAnswered)];
        assert_eq!(simulation.lanes[late].replies, rejected);
        let resolved = format!("resolved {request} canceled");
        let failed = format!("tool_failed {request}");
        assert!(calls(&simulation).ends_with(&[&resolved, &failed]));
    }
}
