//! Runs that wait for a supervisor, and runs that continue after their process was killed.

use std::sync::Arc;

use pi_protocol::{
    AgentMessage, AssistantMessageEvent, MISSING_RESULT, StopReason, ToolResultMessage,
};
use pretty_assertions::assert_eq;

use super::fixtures::{prompt, user};
use super::invariants::check_end;
use super::script::{Script, ScriptedResponse};
use super::simulation::Simulation;
use crate::barrier::BarrierPoint;
use crate::machine::{Effect, Input, Reply};

fn supervised(responses: &[ScriptedResponse], barriers: &[bool]) -> Simulation {
    Simulation::new(Script {
        has_barrier: true,
        barriers: barriers.iter().copied().collect(),
        ..Script::responses(responses.iter().cloned())
    })
}

/// Describes the effects that a supervisor decides about, and those that follow.
fn describe(effect: &Effect) -> Option<String> {
    match effect {
        Effect::Barrier(BarrierPoint::Tools(calls)) => {
            let ids: Vec<_> = calls.iter().map(|call| &*call.id).collect();
            Some(format!("barrier {}", ids.join(" ")))
        }
        Effect::Barrier(_) => Some("barrier request".to_owned()),
        Effect::ConfirmSettled => Some("barrier settled".to_owned()),
        Effect::Stream => Some("request".to_owned()),
        Effect::Execute { call, .. } => Some(format!("run {}", call.id)),
        Effect::Record(message) => match &**message {
            AgentMessage::ToolResult(result) => Some(format!("result {}", result.tool_call_id)),
            AgentMessage::Assistant(_) => Some("response".to_owned()),
            _ => None,
        },
        _ => None,
    }
}

/// Returns the effects of a run in the order they were performed.
fn effects(simulation: Simulation, input: Input) -> (Vec<String>, Simulation) {
    use std::cell::RefCell;
    use std::rc::Rc;
    let seen = Rc::new(RefCell::new(Vec::new()));
    let recorder = Rc::clone(&seen);
    let observe = move |effect: &Effect| {
        recorder.borrow_mut().extend(describe(effect));
        false
    };
    let simulation = simulation.when(observe, []).run(input);
    let effects = seen.borrow().clone();
    (effects, simulation)
}

#[test]
fn parallel_calls_share_a_barrier() {
    let (effects, simulation) = effects(
        supervised(&[ScriptedResponse::calls(&["a", "b"])], &[]),
        prompt("go"),
    );
    check_end(&simulation);
    assert_eq!(
        effects,
        [
            "barrier request",
            "request",
            "response",
            "barrier a-0 b-1",
            "run a-0",
            "run b-1",
            "result a-0",
            "result b-1",
            "barrier request",
            "request",
            "response",
            "barrier settled",
        ]
    );
}

#[test]
fn the_barrier_of_a_sequential_call_follows_the_result_of_the_one_before() {
    let (effects, simulation) = effects(
        supervised(&[ScriptedResponse::calls(&["s", "b"])], &[]),
        prompt("go"),
    );
    check_end(&simulation);
    assert_eq!(
        effects[3..9],
        [
            "barrier s-0",
            "run s-0",
            "result s-0",
            "barrier b-1",
            "run b-1",
            "result b-1",
        ]
    );
}

#[test]
fn without_a_supervisor_there_are_no_barriers() {
    let script = Script::responses([ScriptedResponse::calls(&["a"])]);
    let (effects, _) = effects(Simulation::new(script), prompt("go"));
    let barriers = effects.iter().filter(|line| line.starts_with("barrier"));
    assert_eq!(barriers.count(), 0);
}

#[test]
fn a_run_that_is_stopped_before_a_request_stores_nothing_more() {
    let simulation = supervised(&[ScriptedResponse::calls(&["a"])], &[true, true, false]);
    let simulation = simulation.run(prompt("go"));
    check_end(&simulation);
    assert_eq!(
        simulation.stored(),
        ["user go", "assistant ToolUse", "result a-0"]
    );
    assert_eq!(simulation.log.last().unwrap(), "settled");
}

#[test]
fn calls_that_are_stopped_do_not_run_and_stay_open() {
    let (effects, simulation) = effects(
        supervised(&[ScriptedResponse::calls(&["a", "b"])], &[true, false]),
        prompt("go"),
    );
    assert_eq!(simulation.stored(), ["user go", "assistant ToolUse"]);
    assert_eq!(effects.last().unwrap(), "barrier settled");
    assert!(!effects.iter().any(|effect| effect.starts_with("run")));

    // They run when the session is resumed.
    let simulation = simulation.run(Input::ResumeTurn { begun: Vec::new() });
    assert_eq!(
        simulation.stored()[2..],
        ["result a-0", "result b-1", "assistant Stop"]
    );
}

#[test]
fn an_aborted_run_ends_at_its_barrier_as_it_does_without_one() {
    for (mode, expected) in [("a", vec!["result a-0"]), ("s", vec!["result s-0"])] {
        let simulation = supervised(&[ScriptedResponse::calls(&[mode])], &[]).when(
            |effect| matches!(effect, Effect::Barrier(BarrierPoint::Tools(_))),
            [Input::Abort],
        );
        let (effects, simulation) = effects(simulation, prompt("go"));
        assert_eq!(simulation.stored()[2..3], expected);
        assert!(!effects.iter().any(|effect| effect.starts_with("run")));
    }
}

/// A session whose process was killed after these messages.
fn killed(messages: &[AgentMessage], responses: &[ScriptedResponse]) -> Simulation {
    let mut simulation = supervised(responses, &[]);
    let messages = messages.iter().cloned().map(Arc::new);
    simulation.store = messages.collect();
    simulation
}

fn response(response: &ScriptedResponse) -> AgentMessage {
    match response.last_event() {
        Some(
            AssistantMessageEvent::Done { message, .. }
            | AssistantMessageEvent::Error { error: message, .. },
        ) => AgentMessage::Assistant(message),
        _ => panic!("the response has an end"),
    }
}

fn result(call: &str) -> AgentMessage {
    AgentMessage::from(ToolResultMessage {
        tool_call_id: call.to_owned(),
        ..ToolResultMessage::default()
    })
}

fn resume(begun: &[&str]) -> Input {
    Input::ResumeTurn {
        begun: begun.iter().map(|id| (*id).to_owned()).collect(),
    }
}

#[test]
fn open_calls_run_unless_they_may_have_started() {
    for calls in [["a", "safe", "b"], ["s", "safe", "b"]] {
        let asked = response(&ScriptedResponse::calls(&calls));
        let first = format!("{}-0", calls[0]);
        let simulation = killed(&[user("go"), asked], &[]);
        let (effects, simulation) = effects(simulation, resume(&[&first, "safe-1"]));
        assert_eq!(simulation.lanes[0].replies, [Reply::Started]);
        let ran: Vec<_> = effects
            .iter()
            .filter_map(|effect| effect.strip_prefix("run "))
            .collect();
        assert_eq!(ran, ["safe-1", "b-2"]);
        let interrupted = simulation.store[2].clone();
        let AgentMessage::ToolResult(interrupted) = &*interrupted else {
            panic!("not a result");
        };
        assert_eq!(interrupted.tool_call_id, first);
        assert!(interrupted.is_error);
        let text = interrupted.content.iter().find_map(|block| block.as_text());
        assert_eq!(text, Some(MISSING_RESULT));
        assert_eq!(
            simulation.stored()[3..],
            ["result safe-1", "result b-2", "assistant Stop"]
        );
        super::invariants::check_end(&simulation);
    }
}

#[test]
fn a_turn_whose_calls_were_all_interrupted_continues_with_the_next_request() {
    for name in ["a", "s"] {
        let asked = response(&ScriptedResponse::calls(&[name]));
        let call = format!("{name}-0");
        let simulation = killed(&[user("go"), asked], &[]).run(resume(&[&call]));
        assert_eq!(
            simulation.stored()[2..],
            [format!("result {call}"), "assistant Stop".to_owned()]
        );
    }
}

#[test]
fn only_calls_without_a_result_run() {
    let asked = response(&ScriptedResponse::calls(&["s", "b"]));
    let simulation = killed(&[user("go"), asked, result("s-0")], &[]);
    let (effects, simulation) = effects(simulation, resume(&["s-0"]));
    check_end(&simulation);
    assert_eq!(effects[..3], ["barrier b-1", "run b-1", "result b-1"]);
}

#[test]
fn a_session_without_open_calls_continues_with_a_request() {
    let asked = response(&ScriptedResponse::calls(&["a"]));
    for messages in [vec![user("go")], vec![user("go"), asked, result("a-0")]] {
        let (effects, simulation) = effects(killed(&messages, &[]), resume(&[]));
        check_end(&simulation);
        assert_eq!(
            effects,
            ["barrier request", "request", "response", "barrier settled"]
        );
    }
}

#[test]
fn a_complete_session_settles() {
    let done = response(&ScriptedResponse::text());
    let (effects, simulation) = effects(killed(&[user("go"), done], &[]), resume(&[]));
    assert_eq!(effects, ["barrier settled"]);
    assert_eq!(simulation.log, ["settled"]);
}

#[test]
fn a_request_that_failed_before_the_kill_is_repeated() {
    let failed = response(&ScriptedResponse::overloaded());
    let simulation = killed(&[user("go"), failed], &[]).run(resume(&[]));
    assert_eq!(simulation.stored().last().unwrap(), "assistant Stop");
    assert_eq!(simulation.omitted.len(), 1);
}

#[test]
fn truncated_calls_do_not_run_on_resume() {
    let cut = ScriptedResponse::calls(&["a"]).stop(StopReason::Length);
    let (effects, _) = effects(killed(&[user("go"), response(&cut)], &[]), resume(&[]));
    assert_eq!(effects[0], "result a-0");
    assert!(!effects.iter().any(|effect| effect.starts_with("run")));
}

#[test]
fn a_busy_session_is_not_resumed() {
    let simulation =
        supervised(&[], &[]).when(|effect| matches!(effect, Effect::Stream), [resume(&[])]);
    let simulation = simulation.run(prompt("go"));
    assert!(matches!(simulation.last_reply(), Some(Reply::Rejected(_))));
}
