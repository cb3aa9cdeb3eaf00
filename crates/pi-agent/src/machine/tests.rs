//! The loop's event order, situation by situation, and a property over random runs.

use std::collections::VecDeque;
use std::sync::Arc;

use pi_ai::{
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
        .map(|(name, mode)| ToolFacts {
            declaration: ToolDeclaration {
                name: (*name).into(),
                description: String::new(),
                parameters: json!({}),
                constrained_sampling: None,
                extra: pi_ai::json::JsonObject::new(),
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

/// What the scripted model answers.
#[derive(Debug, Clone)]
struct Answer {
    calls: Vec<&'static str>,
    stop: StopReason,
}

impl Answer {
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

type Meddle = dyn FnMut(&mut Machine, &Effect, usize);
/// Picks which of the running calls ends next.
type Choice<'a> = &'a mut dyn FnMut(&[(usize, String)]) -> usize;

/// Performs effects from scripts and writes down the events.
struct Stage {
    machine: Machine,
    effects: VecDeque<Effect>,
    answers: VecDeque<Answer>,
    running: Vec<(usize, String)>,
    decisions: VecDeque<TurnDecision>,
    log: Vec<String>,
    finished: bool,
    /// Called before each effect; may feed inputs.
    meddle: Box<Meddle>,
    steps: usize,
}

impl Stage {
    fn new(machine: Machine, answers: Vec<Answer>) -> Self {
        Self {
            machine,
            effects: VecDeque::new(),
            answers: answers.into(),
            running: Vec::new(),
            decisions: VecDeque::new(),
            log: Vec::new(),
            finished: false,
            meddle: Box::new(|_, _, _| {}),
            steps: 0,
        }
    }

    fn meddling(mut self, meddle: impl FnMut(&mut Machine, &Effect, usize) + 'static) -> Self {
        self.meddle = Box::new(meddle);
        self
    }

    fn prompt(mut self, text: &str) -> Self {
        self.effects = self.machine.prompt(vec![user(text)]).unwrap().into();
        self.run(&mut |running| running.len() - 1);
        self
    }

    fn feed(&mut self, input: Input) {
        self.effects.extend(self.machine.step(input));
    }

    fn run(&mut self, choose: Choice<'_>) {
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
                self.feed(Input::ToolFinished(
                    index,
                    CallOutcome {
                        output,
                        is_error: false,
                    },
                ));
                continue;
            };
            self.steps += 1;
            assert!(self.steps < 10_000, "the loop does not end");
            (self.meddle)(&mut self.machine, &effect, self.steps);
            self.perform(effect);
        }
    }

    fn perform(&mut self, effect: Effect) {
        assert!(!self.finished, "nothing follows the end of a run");
        match effect {
            Effect::Emit(event) => self.log.push(line(&event)),
            Effect::Resume => self.feed(Input::Resumed),
            Effect::PrepareNextTurn => self.feed(Input::NextTurnPrepared(ContextUpdate::default())),
            Effect::PrepareRequest => self.feed(Input::RequestPrepared(ContextUpdate::default())),
            Effect::Stream => {
                let answer = if self.machine.run.aborted {
                    Answer::text().stop(StopReason::Aborted)
                } else {
                    self.answers.pop_front().unwrap_or_else(Answer::text)
                };
                self.feed(Input::Stream(answer.event()));
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
                self.feed(Input::Preflighted(outcome));
            }
            Effect::Execute { index, call, .. } => self.running.push((index, call.name)),
            Effect::FinishTurn(_) => {
                let decision = self.decisions.pop_front().unwrap_or_default();
                self.feed(Input::TurnFinished(decision));
            }
            Effect::Finish => {
                self.feed(Input::Settled);
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

/// The log without what every run has: message pairs are folded into one line.
fn story(stage: &Stage) -> Vec<String> {
    stage
        .log
        .iter()
        .filter(|line| !line.starts_with("start "))
        .map(|line| line.strip_prefix("end ").unwrap_or(line).to_owned())
        .collect()
}

const PARALLEL: ExecutionMode = ExecutionMode::Parallel;
const SEQUENTIAL: ExecutionMode = ExecutionMode::Sequential;

#[test]
fn a_prompt_is_answered_in_one_turn() {
    let stage = Stage::new(machine(&[]), vec![Answer::text()]).prompt("hi");
    assert_eq!(
        stage.log,
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
    assert!(!stage.machine.is_running());
}

#[test]
fn tools_are_declared_before_the_first_message_that_is_not_a_system_one() {
    let stage = Stage::new(machine(&[("a", PARALLEL)]), vec![]).prompt("hi");
    assert_eq!(story(&stage)[2..4], ["system", "user hi"]);
    let AgentMessage::System(system) = &*stage.machine.transcript[0] else {
        panic!("system")
    };
    assert_eq!(system.tools_added.as_ref().unwrap().len(), 1);
    let again = Stage::new(stage.machine, vec![]).prompt("again");
    assert!(
        !story(&again).contains(&"system".to_owned()),
        "nothing changed, nothing declared"
    );
}

#[test]
fn parallel_calls_end_as_they_complete_and_answer_in_call_order() {
    let stage = Stage::new(
        machine(&[("a", PARALLEL), ("b", PARALLEL)]),
        vec![Answer::calls(&["a", "unknown", "b"]), Answer::text()],
    )
    .prompt("go");
    assert_eq!(
        story(&stage)[4..],
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
    let stage = Stage::new(
        machine(&[("a", PARALLEL), ("s", SEQUENTIAL)]),
        vec![Answer::calls(&["a", "s"]), Answer::text()],
    )
    .prompt("go");
    assert_eq!(
        story(&stage)[5..11],
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
fn calls_of_a_truncated_answer_are_refused() {
    let answers = vec![
        Answer::calls(&["a"]).stop(StopReason::Length),
        Answer::text(),
    ];
    let stage = Stage::new(machine(&[("a", PARALLEL)]), answers).prompt("go");
    assert_eq!(
        story(&stage)[5..9],
        ["tool a-0", "fails a-0", "result a-0", "turn_end 1"]
    );
    assert_eq!(stage.answers.len(), 0, "the model is asked again");
}

#[test]
fn a_batch_ends_the_run_only_when_every_result_asks_for_it() {
    let tools = [("last", PARALLEL), ("a", PARALLEL)];
    for (calls, asked_again) in [
        (vec!["last", "blocked-last"], false),
        (vec!["last", "a"], true),
        (vec!["last", "unknown"], true),
    ] {
        let stage =
            Stage::new(machine(&tools), vec![Answer::calls(&calls), Answer::text()]).prompt("go");
        assert_eq!(stage.answers.is_empty(), asked_again, "{calls:?}");
    }
}

#[test]
fn a_failed_request_ends_the_run_and_keeps_the_queues() {
    let mut machine = machine(&[]);
    machine.step(Input::FollowUp(user("later")));
    let stage = Stage::new(machine, vec![Answer::text().stop(StopReason::Error)]).prompt("hi");
    assert_eq!(
        story(&stage)[3..],
        ["assistant Error", "turn_end 0", "agent_end 2"]
    );
    assert_eq!(stage.machine.follow_ups.iter().count(), 1);
    assert_eq!(stage.machine.error_message.as_deref(), Some("broke"));
}

#[test]
fn steering_joins_the_next_turn_and_follow_ups_wait_for_the_end() {
    for (mode, expected_turns) in [(QueueMode::OneAtATime, 4), (QueueMode::All, 3)] {
        let mut machine = machine(&[("a", PARALLEL)]);
        machine.steering.set_mode(mode);
        let stage = Stage::new(machine, vec![Answer::calls(&["a"])])
            .meddling(|machine, effect, _| {
                if matches!(effect, Effect::Execute { .. }) {
                    machine.step(Input::Steer(user("s1")));
                    machine.step(Input::Steer(user("s2")));
                    machine.step(Input::FollowUp(user("f")));
                }
            })
            .prompt("go");
        let said: Vec<_> = story(&stage)
            .into_iter()
            .filter(|line| line.starts_with("user"))
            .skip(1)
            .collect();
        assert_eq!(said, ["user s1", "user s2", "user f"]);
        let turns = story(&stage)
            .iter()
            .filter(|line| *line == "turn_start")
            .count();
        assert_eq!(turns, expected_turns, "{mode:?}");
    }
}

#[test]
fn what_a_listener_steers_at_the_start_joins_the_first_turn() {
    let mut steered = false;
    let stage = Stage::new(machine(&[]), vec![])
        .meddling(move |machine, effect, _| {
            if matches!(effect, Effect::Emit(AgentEvent::MessageEnd { .. })) && !steered {
                steered = true;
                machine.step(Input::Steer(user("and this")));
            }
        })
        .prompt("hi");
    assert_eq!(
        story(&stage)[2..5],
        ["user hi", "user and this", "assistant Stop"]
    );
}

#[test]
fn a_turn_hook_can_end_or_prolong_the_run() {
    let mut stage = Stage::new(machine(&[("a", PARALLEL)]), vec![Answer::calls(&["a"])]);
    stage.decisions = [TurnDecision::End].into();
    let stage = stage.prompt("go");
    assert_eq!(story(&stage).last().unwrap(), "agent_end 4");
    let mut stage = Stage::new(machine(&[]), vec![]);
    stage.decisions = [TurnDecision::Continue].into();
    let stage = stage.prompt("go");
    let turns = story(&stage)
        .iter()
        .filter(|line| *line == "turn_start")
        .count();
    assert_eq!(turns, 2, "one more request, and no more than one");
}

#[test]
fn abort_in_a_parallel_check_starts_no_further_call() {
    let stage = Stage::new(
        machine(&[("a", PARALLEL), ("b", PARALLEL), ("c", PARALLEL)]),
        vec![Answer::calls(&["a", "b", "c"])],
    )
    .meddling(|machine, effect, _| {
        if matches!(effect, Effect::Preflight(call) if call.name == "b") {
            machine.step(Input::Abort);
        }
    })
    .prompt("go");
    assert_eq!(
        story(&stage)[5..],
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
fn a_failing_hook_ends_the_run_with_a_message_that_says_why() {
    let mut machine = machine(&[]);
    machine.prompt(vec![user("hi")]).unwrap();
    let effects = machine.step(Input::Failed("no key".into()));
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
fn a_second_run_is_refused_and_a_resume_needs_something_to_say() {
    let mut machine = machine(&[]);
    assert_eq!(machine.resume().unwrap_err(), AgentError::NothingToContinue);
    machine.prompt(vec![user("hi")]).unwrap();
    assert_eq!(
        machine.prompt(vec![user("again")]).unwrap_err(),
        AgentError::Busy
    );
    let mut stage = Stage::new(self::machine(&[]), vec![]).prompt("hi");
    assert_eq!(
        stage.machine.resume().unwrap_err(),
        AgentError::AlreadyAnswered
    );
    stage.machine.step(Input::FollowUp(user("more")));
    assert!(stage.machine.resume().is_ok());
}

#[derive(Debug, Clone)]
enum Meddling {
    Steer,
    FollowUp,
    Abort,
}

fn answers() -> impl Strategy<Value = Vec<Answer>> {
    let call = prop_oneof![
        Just("a"),
        Just("b"),
        Just("s"),
        Just("last"),
        Just("unknown"),
        Just("blocked-last")
    ];
    let answer = prop_oneof![
        3 => Just(Answer::text()),
        4 => proptest::collection::vec(call.clone(), 1..5).prop_map(|calls| Answer::calls(&calls)),
        1 => proptest::collection::vec(call, 1..3)
            .prop_map(|calls| Answer::calls(&calls).stop(StopReason::Length)),
        1 => Just(Answer::text().stop(StopReason::Error)),
    ];
    proptest::collection::vec(answer, 0..8)
}

fn meddlings() -> impl Strategy<Value = Vec<(usize, Meddling)>> {
    let meddling = prop_oneof![
        3 => Just(Meddling::Steer),
        3 => Just(Meddling::FollowUp),
        1 => Just(Meddling::Abort),
    ];
    proptest::collection::vec((1..120usize, meddling), 0..10)
}

proptest! {
    #[test]
    fn every_run_ends_idle_with_a_valid_transcript(
        answers in answers(),
        meddlings in meddlings(),
        all_at_once in any::<bool>(),
        order in proptest::collection::vec(0..8usize, 64),
    ) {
        let mode = if all_at_once { QueueMode::All } else { QueueMode::OneAtATime };
        let mut machine = machine(&[("a", PARALLEL), ("b", PARALLEL), ("s", SEQUENTIAL), ("last", PARALLEL)]);
        machine.steering.set_mode(mode);
        machine.follow_ups.set_mode(mode);
        let mut stage = Stage::new(machine, answers);
        let script = meddlings.clone();
        stage.meddle = Box::new(move |machine, _, step| {
            for (number, (_, meddling)) in script.iter().enumerate().filter(|(_, (at, _))| *at == step) {
                let message = user(&format!("queued {number}"));
                machine.step(match meddling {
                    Meddling::Steer => Input::Steer(message),
                    Meddling::FollowUp => Input::FollowUp(message),
                    Meddling::Abort => Input::Abort,
                });
            }
        });
        stage.effects = stage.machine.prompt(vec![user("go")]).unwrap().into();
        let mut order = order.into_iter().cycle();
        stage.run(&mut |running| order.next().unwrap_or(0) % running.len());

        prop_assert!(stage.finished && !stage.machine.is_running());
        prop_assert_eq!(stage.log.first().map(String::as_str), Some("agent_start"));
        prop_assert!(stage.log.last().is_some_and(|line| line.starts_with("agent_end")));
        prop_assert_eq!(stage.log.iter().filter(|line| line.starts_with("agent_end")).count(), 1);
        check_tools_are_paired(&stage)?;
        check_nothing_queued_is_lost(&stage, &meddlings)?;
    }
}

fn check_tools_are_paired(stage: &Stage) -> Result<(), TestCaseError> {
    let begun = stage
        .log
        .iter()
        .filter(|line| line.starts_with("tool "))
        .count();
    let ended = stage
        .log
        .iter()
        .filter(|line| line.starts_with("ends ") || line.starts_with("fails "))
        .count();
    prop_assert_eq!(begun, ended, "every call that began has ended");
    let results = stage
        .log
        .iter()
        .filter(|line| line.starts_with("start result"))
        .count();
    prop_assert_eq!(results, ended, "every call that ended is answered");
    let transcript = &stage.machine.transcript;
    for (place, message) in transcript.iter().enumerate() {
        let AgentMessage::Assistant(answer) = &**message else {
            continue;
        };
        let wanted: Vec<_> = answer.tool_calls().map(|call| call.id.clone()).collect();
        let given: Vec<_> = transcript[place + 1..]
            .iter()
            .map_while(|message| match &**message {
                AgentMessage::ToolResult(result) => Some(result.tool_call_id.clone()),
                _ => None,
            })
            .collect();
        if stage.machine.run.aborted {
            prop_assert!(wanted.starts_with(&given), "{wanted:?} {given:?}");
        } else {
            prop_assert_eq!(wanted, given);
        }
    }
    Ok(())
}

fn check_nothing_queued_is_lost(
    stage: &Stage,
    meddlings: &[(usize, Meddling)],
) -> Result<(), TestCaseError> {
    let delivered = stage
        .machine
        .transcript
        .iter()
        .filter_map(|message| match &**message {
            AgentMessage::User(message) => Some(message.content.joined_text()),
            _ => None,
        });
    let waiting = stage
        .machine
        .steering
        .iter()
        .chain(stage.machine.follow_ups.iter());
    let waiting = waiting.filter_map(|message| match message {
        AgentMessage::User(message) => Some(message.content.joined_text()),
        _ => None,
    });
    let mut known: Vec<_> = delivered
        .chain(waiting)
        .filter(|text| text != "go")
        .collect();
    known.sort();
    let mut queued: Vec<_> = meddlings
        .iter()
        .enumerate()
        .filter(|(_, (at, meddling))| *at <= stage.steps && !matches!(meddling, Meddling::Abort))
        .map(|(number, _)| format!("queued {number}"))
        .collect();
    queued.sort();
    prop_assert_eq!(known, queued);
    Ok(())
}
