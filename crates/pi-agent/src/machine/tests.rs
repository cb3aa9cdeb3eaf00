//! Event order of the loop in specific situations, and a property over random runs.

use std::collections::VecDeque;
use std::sync::Arc;

use pi_protocol::{
    AgentMessage, AssistantBlock, AssistantMessage, AssistantMessageEvent, Model, ProviderError,
    StopReason, Tool as ToolDeclaration, ToolCall, UserMessage,
};
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::queue::QueueMode;
use crate::tool::ExecutionMode;
use crate::turn::TurnDecision;

fn model() -> Arc<Model> {
    Arc::new(
        serde_json::from_value(json!({"id": "m", "name": "m", "api": "a", "provider": "p",
            "baseUrl": "", "reasoning": false, "input": ["text"], "cost": {}, "contextWindow": 1,
            "maxTokens": 1}))
        .unwrap(),
    )
}

fn machine(tools: &[(&str, ExecutionMode)]) -> Machine {
    let mut machine = Machine::new(model(), || 0);
    machine.tools = tools
        .iter()
        .map(|(name, mode)| ToolSpec {
            declaration: ToolDeclaration {
                name: (*name).into(),
                description: String::new(),
                parameters: json!({}),
                constrained_sampling: None,
                extra: pi_protocol::json::JsonObject::new(),
            },
            mode: *mode,
        })
        .collect();
    machine
}

fn user(text: &str) -> AgentMessage {
    AgentMessage::from(UserMessage {
        content: text.into(),
        ..UserMessage::default()
    })
}

#[derive(Debug, Clone)]
struct ScriptedResponse {
    calls: Vec<&'static str>,
    stop: StopReason,
}

impl ScriptedResponse {
    fn text() -> Self {
        Self {
            calls: Vec::new(),
            stop: StopReason::Stop,
        }
    }

    fn calls(calls: &[&'static str]) -> Self {
        Self {
            calls: calls.to_vec(),
            stop: StopReason::ToolUse,
        }
    }

    fn stop(mut self, stop: StopReason) -> Self {
        self.stop = stop;
        self
    }

    fn message(&self) -> Arc<AssistantMessage> {
        let calls = self.calls.iter().enumerate().map(|(index, name)| {
            AssistantBlock::ToolCall(ToolCall {
                id: format!("{name}-{index}"),
                name: (*name).to_owned(),
                ..ToolCall::default()
            })
        });
        Arc::new(AssistantMessage {
            content: calls.collect(),
            stop_reason: self.stop,
            error_message: self.stop.is_failure().then(|| "broke".to_owned()),
            ..AssistantMessage::default()
        })
    }

    fn event(&self) -> AssistantMessageEvent {
        let message = self.message();
        if self.stop.is_failure() {
            AssistantMessageEvent::Error {
                reason: self.stop,
                error: message,
                cause: ProviderError::network("broke"),
            }
        } else {
            AssistantMessageEvent::Done {
                reason: self.stop,
                message,
            }
        }
    }
}

type Disturb = dyn FnMut(&mut Machine, &Effect, usize);
/// Picks which running call ends next.
type NextStep<'a> = &'a mut dyn FnMut(&[(usize, String)]) -> usize;

/// Performs effects from scripts and logs the events.
struct MachineHarness {
    machine: Machine,
    effects: VecDeque<Effect>,
    responses: VecDeque<ScriptedResponse>,
    running: Vec<(usize, String)>,
    decisions: VecDeque<TurnDecision>,
    log: Vec<String>,
    finished: bool,
    /// Called before each effect; may feed inputs.
    disturb: Box<Disturb>,
    steps: usize,
}

impl MachineHarness {
    fn new(machine: Machine, responses: Vec<ScriptedResponse>) -> Self {
        Self {
            machine,
            effects: VecDeque::new(),
            responses: responses.into(),
            running: Vec::new(),
            decisions: VecDeque::new(),
            log: Vec::new(),
            finished: false,
            disturb: Box::new(|_, _, _| {}),
            steps: 0,
        }
    }

    fn disturbed_by(mut self, disturb: impl FnMut(&mut Machine, &Effect, usize) + 'static) -> Self {
        self.disturb = Box::new(disturb);
        self
    }

    fn prompt(mut self, text: &str) -> Self {
        self.effects = self.machine.prompt(vec![user(text)]).unwrap().into();
        self.run(&mut |running| running.len() - 1);
        self
    }

    fn feed(&mut self, input: MachineInput) {
        self.effects.extend(self.machine.step(input));
    }

    fn run(&mut self, choose: NextStep<'_>) {
        loop {
            let Some(effect) = self.effects.pop_front() else {
                if self.running.is_empty() {
                    return;
                }
                let (index, name) = self.running.remove(choose(&self.running));
                let output = ToolOutput {
                    terminate: name.starts_with("last").then_some(true),
                    ..ToolOutput::text(name)
                };
                self.feed(MachineInput::ToolFinished(
                    index,
                    CallOutcome {
                        output,
                        is_error: false,
                    },
                ));
                continue;
            };
            self.steps += 1;
            assert!(self.steps < 10_000, "the loop does not terminate");
            (self.disturb)(&mut self.machine, &effect, self.steps);
            self.perform(effect);
        }
    }

    fn perform(&mut self, effect: Effect) {
        assert!(!self.finished, "nothing follows the end of a run");
        match effect {
            Effect::Emit(event) => self.log.push(line(&event)),
            Effect::Resume => self.feed(MachineInput::Resumed),
            Effect::PrepareNextTurn => {
                self.feed(MachineInput::NextTurnPrepared(ContextUpdate::default()));
            }
            Effect::PrepareRequest => {
                self.feed(MachineInput::RequestPrepared(ContextUpdate::default()));
            }
            Effect::Stream => {
                let response = if self.machine.run.aborted {
                    ScriptedResponse::text().stop(StopReason::Aborted)
                } else {
                    self.responses
                        .pop_front()
                        .unwrap_or_else(ScriptedResponse::text)
                };
                self.feed(MachineInput::Stream(response.event()));
            }
            Effect::Preflight(call) => {
                let refused = |text: &str| PreflightOutcome::Refused(ToolOutput::failure(text));
                let outcome = match call.name.as_str() {
                    _ if self.machine.run.aborted => refused("aborted"),
                    "unknown" => refused("unknown"),
                    "blocked-last" => PreflightOutcome::Refused(ToolOutput {
                        terminate: Some(true),
                        ..ToolOutput::failure("blocked")
                    }),
                    _ => PreflightOutcome::Ready(call.arguments),
                };
                self.feed(MachineInput::Preflighted(outcome));
            }
            Effect::Execute { index, call, .. } => self.running.push((index, call.name)),
            Effect::FinishTurn(_) => {
                let decision = self.decisions.pop_front().unwrap_or_default();
                self.feed(MachineInput::TurnFinished(decision));
            }
            Effect::Finish => {
                self.feed(MachineInput::Settled);
                self.finished = true;
            }
        }
    }
}

fn line(event: &AgentEvent) -> String {
    let role = |message: &SharedMessage| match &**message {
        AgentMessage::System(_) => "system".to_owned(),
        AgentMessage::User(message) => format!("user {}", message.content.joined_text()),
        AgentMessage::Assistant(message) => format!("assistant {:?}", message.stop_reason),
        AgentMessage::ToolResult(message) => format!("result {}", message.tool_call_id),
        _ => "other".to_owned(),
    };
    match event {
        AgentEvent::AgentStart => "agent_start".into(),
        AgentEvent::AgentEnd { messages } => format!("agent_end {}", messages.len()),
        AgentEvent::TurnStart => "turn_start".into(),
        AgentEvent::TurnEnd { tool_results, .. } => format!("turn_end {}", tool_results.len()),
        AgentEvent::MessageStart { message } => format!("start {}", role(message)),
        AgentEvent::MessageUpdate { .. } => "update".into(),
        AgentEvent::MessageEnd { message } => format!("end {}", role(message)),
        AgentEvent::ToolExecutionStart { tool_call_id, .. } => format!("tool {tool_call_id}"),
        AgentEvent::ToolExecutionUpdate { tool_call_id, .. } => format!("shows {tool_call_id}"),
        AgentEvent::ToolExecutionEnd {
            tool_call_id,
            is_error,
            ..
        } => {
            format!(
                "{} {tool_call_id}",
                if *is_error { "fails" } else { "ends" }
            )
        }
    }
}

/// The log with message pairs folded into one line.
fn summary(harness: &MachineHarness) -> Vec<String> {
    harness
        .log
        .iter()
        .filter(|line| !line.starts_with("start "))
        .map(|line| line.strip_prefix("end ").unwrap_or(line).to_owned())
        .collect()
}

const PARALLEL: ExecutionMode = ExecutionMode::Parallel;
const SEQUENTIAL: ExecutionMode = ExecutionMode::Sequential;

#[test]
fn a_prompt_gets_a_response_in_one_turn() {
    let harness = MachineHarness::new(machine(&[]), vec![ScriptedResponse::text()]).prompt("hi");
    assert_eq!(
        harness.log,
        [
            "agent_start",
            "turn_start",
            "start user hi",
            "end user hi",
            "start assistant Stop",
            "end assistant Stop",
            "turn_end 0",
            "agent_end 2"
        ]
    );
    assert!(!harness.machine.is_running());
}

#[test]
fn tools_are_declared_before_the_first_non_system_message() {
    let harness = MachineHarness::new(machine(&[("a", PARALLEL)]), vec![]).prompt("hi");
    assert_eq!(summary(&harness)[2..4], ["system", "user hi"]);
    let AgentMessage::System(system) = &*harness.machine.transcript[0] else {
        panic!("system")
    };
    assert_eq!(system.tools_added.as_ref().unwrap().len(), 1);
    let again = MachineHarness::new(harness.machine, vec![]).prompt("again");
    assert!(
        !summary(&again).contains(&"system".to_owned()),
        "nothing changed, nothing declared"
    );
}

#[test]
fn parallel_calls_end_as_they_complete_and_report_results_in_call_order() {
    let harness = MachineHarness::new(
        machine(&[("a", PARALLEL), ("b", PARALLEL)]),
        vec![
            ScriptedResponse::calls(&["a", "unknown", "b"]),
            ScriptedResponse::text(),
        ],
    )
    .prompt("go");
    assert_eq!(
        summary(&harness)[4..],
        [
            "assistant ToolUse",
            "tool a-0",
            "tool unknown-1",
            "fails unknown-1",
            "tool b-2",
            "ends b-2",
            "ends a-0",
            "result a-0",
            "result unknown-1",
            "result b-2",
            "turn_end 3",
            "turn_start",
            "assistant Stop",
            "turn_end 0",
            "agent_end 7"
        ]
    );
}

#[test]
fn one_sequential_tool_makes_its_batch_sequential() {
    let harness = MachineHarness::new(
        machine(&[("a", PARALLEL), ("s", SEQUENTIAL)]),
        vec![
            ScriptedResponse::calls(&["a", "s"]),
            ScriptedResponse::text(),
        ],
    )
    .prompt("go");
    assert_eq!(
        summary(&harness)[5..11],
        [
            "tool a-0",
            "ends a-0",
            "result a-0",
            "tool s-1",
            "ends s-1",
            "result s-1"
        ]
    );
}

#[test]
fn calls_of_a_truncated_response_are_not_run() {
    let responses = vec![
        ScriptedResponse::calls(&["a"]).stop(StopReason::Length),
        ScriptedResponse::text(),
    ];
    let harness = MachineHarness::new(machine(&[("a", PARALLEL)]), responses).prompt("go");
    assert_eq!(
        summary(&harness)[5..9],
        ["tool a-0", "fails a-0", "result a-0", "turn_end 1"]
    );
    assert_eq!(harness.responses.len(), 0, "the model is called again");
}

#[test]
fn a_batch_ends_the_run_only_if_every_result_requests_it() {
    let tools = [("last", PARALLEL), ("a", PARALLEL)];
    for (calls, called_again) in [
        (vec!["last", "blocked-last"], false),
        (vec!["last", "a"], true),
        (vec!["last", "unknown"], true),
    ] {
        let harness = MachineHarness::new(
            machine(&tools),
            vec![ScriptedResponse::calls(&calls), ScriptedResponse::text()],
        )
        .prompt("go");
        assert_eq!(harness.responses.is_empty(), called_again, "{calls:?}");
    }
}

#[test]
fn a_failed_request_ends_the_run_and_keeps_the_queues() {
    let mut machine = machine(&[]);
    machine.step(MachineInput::FollowUp(user("later")));
    let harness = MachineHarness::new(
        machine,
        vec![ScriptedResponse::text().stop(StopReason::Error)],
    )
    .prompt("hi");
    assert_eq!(
        summary(&harness)[3..],
        ["assistant Error", "turn_end 0", "agent_end 2"]
    );
    assert_eq!(harness.machine.follow_ups.iter().count(), 1);
    assert_eq!(harness.machine.error_message.as_deref(), Some("broke"));
}

#[test]
fn steering_joins_the_next_turn_and_follow_ups_wait_for_the_end() {
    for (mode, expected_turns) in [(QueueMode::OneAtATime, 4), (QueueMode::All, 3)] {
        let mut machine = machine(&[("a", PARALLEL)]);
        machine.steering.set_mode(mode);
        let harness = MachineHarness::new(machine, vec![ScriptedResponse::calls(&["a"])])
            .disturbed_by(|machine, effect, _| {
                if matches!(effect, Effect::Execute { .. }) {
                    machine.step(MachineInput::Steer(user("s1")));
                    machine.step(MachineInput::Steer(user("s2")));
                    machine.step(MachineInput::FollowUp(user("f")));
                }
            })
            .prompt("go");
        let texts: Vec<_> = summary(&harness)
            .into_iter()
            .filter(|line| line.starts_with("user"))
            .skip(1)
            .collect();
        assert_eq!(texts, ["user s1", "user s2", "user f"]);
        let turns = summary(&harness)
            .iter()
            .filter(|line| *line == "turn_start")
            .count();
        assert_eq!(turns, expected_turns, "{mode:?}");
    }
}

#[test]
fn messages_steered_at_the_start_join_the_first_turn() {
    let mut steered = false;
    let harness = MachineHarness::new(machine(&[]), vec![])
        .disturbed_by(move |machine, effect, _| {
            if matches!(effect, Effect::Emit(AgentEvent::MessageEnd { .. })) && !steered {
                steered = true;
                machine.step(MachineInput::Steer(user("and this")));
            }
        })
        .prompt("hi");
    assert_eq!(
        summary(&harness)[2..5],
        ["user hi", "user and this", "assistant Stop"]
    );
}

#[test]
fn a_turn_hook_can_end_or_extend_the_run() {
    let mut harness = MachineHarness::new(
        machine(&[("a", PARALLEL)]),
        vec![ScriptedResponse::calls(&["a"])],
    );
    harness.decisions = [TurnDecision::End].into();
    let harness = harness.prompt("go");
    assert_eq!(summary(&harness).last().unwrap(), "agent_end 4");
    let mut harness = MachineHarness::new(machine(&[]), vec![]);
    harness.decisions = [TurnDecision::Continue].into();
    let harness = harness.prompt("go");
    let turns = summary(&harness)
        .iter()
        .filter(|line| *line == "turn_start")
        .count();
    assert_eq!(turns, 2, "one more request, and no more than one");
}

#[test]
fn abort_in_a_parallel_check_starts_no_further_call() {
    let harness = MachineHarness::new(
        machine(&[("a", PARALLEL), ("b", PARALLEL), ("c", PARALLEL)]),
        vec![ScriptedResponse::calls(&["a", "b", "c"])],
    )
    .disturbed_by(|machine, effect, _| {
        if matches!(effect, Effect::Preflight(call) if call.name == "b") {
            machine.step(MachineInput::Abort);
        }
    })
    .prompt("go");
    assert_eq!(
        summary(&harness)[5..],
        [
            "tool a-0",
            "tool b-1",
            "fails b-1",
            "fails a-0",
            "result a-0",
            "result b-1",
            "turn_end 2",
            "turn_start",
            "assistant Aborted",
            "turn_end 0",
            "agent_end 6"
        ]
    );
}

#[test]
fn a_failing_hook_ends_the_run_with_an_error_message() {
    let mut machine = machine(&[]);
    machine.prompt(vec![user("hi")]).unwrap();
    let effects = machine.step(MachineInput::Failed("no key".into()));
    let lines: Vec<_> = effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Emit(event) => Some(line(event)),
            _ => None,
        })
        .collect();
    assert_eq!(
        lines,
        [
            "start assistant Error",
            "end assistant Error",
            "turn_end 0",
            "agent_end 1"
        ]
    );
    assert!(matches!(effects.last(), Some(Effect::Finish)));
}

#[test]
fn a_second_run_is_rejected_and_resume_needs_a_message() {
    let mut machine = machine(&[]);
    assert_eq!(machine.resume().unwrap_err(), AgentError::NothingToContinue);
    machine.prompt(vec![user("hi")]).unwrap();
    assert_eq!(
        machine.prompt(vec![user("again")]).unwrap_err(),
        AgentError::Busy
    );
    let mut harness = MachineHarness::new(self::machine(&[]), vec![]).prompt("hi");
    assert_eq!(
        harness.machine.resume().unwrap_err(),
        AgentError::AlreadyAnswered
    );
    harness.machine.step(MachineInput::FollowUp(user("more")));
    assert!(harness.machine.resume().is_ok());
}

#[derive(Debug, Clone)]
enum Disturbance {
    Steer,
    FollowUp,
    Abort,
}

fn responses() -> impl Strategy<Value = Vec<ScriptedResponse>> {
    let call = prop_oneof![
        Just("a"),
        Just("b"),
        Just("s"),
        Just("last"),
        Just("unknown"),
        Just("blocked-last")
    ];
    let response = prop_oneof![
        3 => Just(ScriptedResponse::text()),
        4 => proptest::collection::vec(call.clone(), 1..5).prop_map(|calls| ScriptedResponse::calls(&calls)),
        1 => proptest::collection::vec(call, 1..3)
            .prop_map(|calls| ScriptedResponse::calls(&calls).stop(StopReason::Length)),
        1 => Just(ScriptedResponse::text().stop(StopReason::Error)),
    ];
    proptest::collection::vec(response, 0..8)
}

fn disturbances() -> impl Strategy<Value = Vec<(usize, Disturbance)>> {
    let disturbed_by = prop_oneof![
        3 => Just(Disturbance::Steer),
        3 => Just(Disturbance::FollowUp),
        1 => Just(Disturbance::Abort),
    ];
    proptest::collection::vec((1..120usize, disturbed_by), 0..10)
}

proptest! {
    #[test]
    fn every_run_ends_idle_with_a_valid_transcript(
        responses in responses(),
        disturbances in disturbances(),
        all_at_once in any::<bool>(),
        order in proptest::collection::vec(0..8usize, 64),
    ) {
        let mode = if all_at_once { QueueMode::All } else { QueueMode::OneAtATime };
        let mut machine = machine(&[("a", PARALLEL), ("b", PARALLEL), ("s", SEQUENTIAL), ("last", PARALLEL)]);
        machine.steering.set_mode(mode);
        machine.follow_ups.set_mode(mode);
        let mut harness = MachineHarness::new(machine, responses);
        let script = disturbances.clone();
        harness.disturb = Box::new(move |machine, _, step| {
            for (number, (_, disturbed_by)) in script.iter().enumerate().filter(|(_, (at, _))| *at == step) {
                let message = user(&format!("queued {number}"));
                machine.step(match disturbed_by {
                    Disturbance::Steer => MachineInput::Steer(message),
                    Disturbance::FollowUp => MachineInput::FollowUp(message),
                    Disturbance::Abort => MachineInput::Abort,
                });
            }
        });
        harness.effects = harness.machine.prompt(vec![user("go")]).unwrap().into();
        let mut order = order.into_iter().cycle();
        harness.run(&mut |running| order.next().unwrap_or(0) % running.len());

        prop_assert!(harness.finished && !harness.machine.is_running());
        prop_assert_eq!(harness.log.first().map(String::as_str), Some("agent_start"));
        prop_assert!(harness.log.last().is_some_and(|line| line.starts_with("agent_end")));
        prop_assert_eq!(harness.log.iter().filter(|line| line.starts_with("agent_end")).count(), 1);
        check_tools_are_paired(&harness)?;
        check_nothing_queued_is_lost(&harness, &disturbances)?;
    }
}

fn check_tools_are_paired(harness: &MachineHarness) -> Result<(), TestCaseError> {
    let begun = harness
        .log
        .iter()
        .filter(|line| line.starts_with("tool "))
        .count();
    let ended = harness
        .log
        .iter()
        .filter(|line| line.starts_with("ends ") || line.starts_with("fails "))
        .count();
    prop_assert_eq!(begun, ended, "every call that began has ended");
    let results = harness
        .log
        .iter()
        .filter(|line| line.starts_with("start result"))
        .count();
    prop_assert_eq!(results, ended, "every call that ended has a result");
    let transcript = &harness.machine.transcript;
    for (place, message) in transcript.iter().enumerate() {
        let AgentMessage::Assistant(response) = &**message else {
            continue;
        };
        let expected: Vec<_> = response.tool_calls().map(|call| call.id.clone()).collect();
        let given: Vec<_> = transcript[place + 1..]
            .iter()
            .map_while(|message| match &**message {
                AgentMessage::ToolResult(result) => Some(result.tool_call_id.clone()),
                _ => None,
            })
            .collect();
        if harness.machine.run.aborted {
            prop_assert!(expected.starts_with(&given), "{expected:?} {given:?}");
        } else {
            prop_assert_eq!(expected, given);
        }
    }
    Ok(())
}

fn check_nothing_queued_is_lost(
    harness: &MachineHarness,
    disturbances: &[(usize, Disturbance)],
) -> Result<(), TestCaseError> {
    let delivered = harness
        .machine
        .transcript
        .iter()
        .filter_map(|message| match &**message {
            AgentMessage::User(message) => Some(message.content.joined_text()),
            _ => None,
        });
    let waiting = harness
        .machine
        .steering
        .iter()
        .chain(harness.machine.follow_ups.iter());
    let waiting = waiting.filter_map(|message| match message {
        AgentMessage::User(message) => Some(message.content.joined_text()),
        _ => None,
    });
    let mut known: Vec<_> = delivered
        .chain(waiting)
        .filter(|text| text != "go")
        .collect();
    known.sort();
    let mut queued: Vec<_> = disturbances
        .iter()
        .enumerate()
        .filter(|(_, (at, disturbed_by))| {
            *at <= harness.steps && !matches!(disturbed_by, Disturbance::Abort)
        })
        .map(|(number, _)| format!("queued {number}"))
        .collect();
    queued.sort();
    prop_assert_eq!(known, queued);
    Ok(())
}
