//! The outcomes of effects, as far as they depend on the simulated store and on cancellation.

use std::sync::Arc;

use pi_protocol::{AgentMessage, SharedMessage, ToolOutput};

use super::fixtures::{prompt_input, user};
use super::lane::Work;
use super::script::{ScriptedResponse, execute, preflight};
use super::simulation::Simulation;
use crate::barrier::{OpenCall, OpenTurn};
use crate::machine::{CancelScope, ConversationTail, Effect, OmitTarget, Outcome, RunTrigger};

impl Simulation {
    /// Completes the effect in progress.
    pub(super) fn complete(&mut self, number: usize, work: Work) {
        if !matches!(work, Work::Navigation) && self.script.panics.pop_front() == Some(true) {
            return self.panic(number, work);
        }
        let outcome = match work {
            Work::Stream {
                response,
                mut parts,
            } => {
                let is_canceled = self.is_canceled(CancelScope::Run);
                if let Some(part) = parts.pop_front().filter(|_| !is_canceled) {
                    self.lanes[number].work = Some(Work::Stream { response, parts });
                    Outcome::Response(part)
                } else if is_canceled {
                    let event = ScriptedResponse::aborted().last_event();
                    event.map_or(Outcome::Continued, Outcome::Response)
                } else {
                    match response.last_event() {
                        Some(event) => Outcome::Response(event),
                        None => Outcome::RequestFailed("hook failed".to_owned()),
                    }
                }
            }
            Work::Navigation => {
                self.canceled.remove(&CancelScope::Navigation);
                Outcome::Navigated
            }
            Work::Effect(effect) => self.outcome_of(effect),
        };
        if let Outcome::DeferredResolved(Some(prompt)) = &outcome {
            self.lanes[number].resubmitted = Some(prompt.text.clone());
        }
        self.feed(number, outcome);
    }

    /// Ends an effect with a panic.
    fn panic(&mut self, number: usize, work: Work) {
        self.has_panicked = true;
        self.lanes[number].tools.clear();
        self.lanes[number].asked.clear();
        match work {
            // Stored, but not published.
            Work::Effect(Effect::Append(message)) => self.store.push(Arc::new(message)),
            Work::Effect(Effect::SubmitDeferred(prompt)) => self.dropped.push(prompt.text),
            _ => {}
        }
        self.feed(number, Outcome::Panicked("a defect".to_owned()));
    }

    /// Lets a running tool report progress, or finish.
    pub(super) fn advance_tool(&mut self, number: usize, place: usize) {
        let is_canceled = self.is_canceled(CancelScope::Run);
        let tool = &mut self.lanes[number].tools[place];
        let outcome = if std::mem::replace(&mut tool.updated, true) {
            let tool = self.lanes[number].tools.remove(place);
            Outcome::ToolFinished(tool.index, execute(&tool.call, is_canceled))
        } else {
            Outcome::ToolUpdated(tool.index, ToolOutput::text("partial"))
        };
        self.feed(number, outcome);
    }

    fn outcome_of(&mut self, effect: Effect) -> Outcome {
        let script = &mut self.script;
        match effect {
            Effect::SubmitDeferred(prompt) => {
                let is_handled = script.handled.pop_front().unwrap_or(false);
                if is_handled {
                    self.dropped.push(prompt.text);
                    return Outcome::DeferredResolved(None);
                }
                let input = prompt_input(&prompt.text, prompt.streaming_behavior);
                Outcome::DeferredResolved(Some(input))
            }
            Effect::CheckPrompt => {
                Outcome::PromptChecked(script.checks.pop_front().unwrap_or(true))
            }
            Effect::PrepareRun(trigger) => Outcome::RunPrepared {
                prompt: match trigger {
                    RunTrigger::Prompt { text, .. } => user(&text),
                    RunTrigger::Message(message) => message,
                },
                added: script.added.pop_front().unwrap_or_default(),
            },
            Effect::Append(message) => {
                self.store.push(Arc::new(message));
                Outcome::Appended
            }
            Effect::Compose => {
                Outcome::Composed(script.compositions.pop_front().unwrap_or(Ok(None)))
            }
            Effect::Record(message) => self.record(message),
            Effect::Continue => Outcome::Continued,
            Effect::Route => Outcome::Routed(script.routes.pop_front().unwrap_or(Ok(()))),
            Effect::Preflight(call) => {
                let is_canceled = self.is_canceled(CancelScope::Run);
                Outcome::Preflighted(preflight(call, is_canceled))
            }
            Effect::FinishTurn(_) => {
                Outcome::TurnFinished(script.decisions.pop_front().unwrap_or_default())
            }
            Effect::CheckContext(check) => Outcome::ContextChecked(script.context_decision(&check)),
            Effect::Omit(target) => self.omit(target),
            Effect::PlanCompaction => {
                Outcome::CompactionPlanned(script.plans.pop_front().unwrap_or(true))
            }
            Effect::Compact(_) => {
                let stored = script.compactions.pop_front().unwrap_or(true);
                let is_canceled = self.is_canceled(CancelScope::Compaction);
                self.canceled.remove(&CancelScope::Compaction);
                Outcome::Compacted(stored && !is_canceled)
            }
            Effect::Sleep(_) => {
                let is_canceled = self.is_canceled(CancelScope::Retry);
                self.canceled.remove(&CancelScope::Retry);
                Outcome::Slept(!is_canceled)
            }
            Effect::Barrier(_) => {
                let proceeds = script.barriers.pop_front().unwrap_or(true);
                let proceeds = proceeds || self.is_canceled(CancelScope::Run);
                self.was_interrupted |= !proceeds;
                Outcome::BarrierPassed(proceeds)
            }
            Effect::ReadOpenTurn { begun } => Outcome::OpenTurnRead(self.open_turn(&begun)),
            Effect::ReadTail => Outcome::TailRead(self.tail()),
            Effect::BeforeSettle => {
                Outcome::SettleDecided(script.settles.pop_front().unwrap_or(false))
            }
            other => panic!("{other:?} has no outcome"),
        }
    }

    fn record(&mut self, message: SharedMessage) -> Outcome {
        if self.machine.has_storage_failed() {
            return Outcome::Recorded(Ok(message));
        }
        if !self.script.records.pop_front().unwrap_or(true) {
            return Outcome::Recorded(Err("disk full".to_owned()));
        }
        self.store.push(Arc::clone(&message));
        Outcome::Recorded(Ok(message))
    }

    fn omit(&mut self, target: OmitTarget) -> Outcome {
        if !self.script.omissions.pop_front().unwrap_or(true) {
            return Outcome::Omitted(false);
        }
        let is_response =
            |message: &&SharedMessage| matches!(***message, AgentMessage::Assistant(_));
        let omitted = match target {
            OmitTarget::Message(message) => Some(message),
            OmitTarget::Entries(_) => self.store.iter().rev().find(is_response).cloned(),
        };
        self.omitted.extend(omitted);
        Outcome::Omitted(true)
    }

    /// Tools whose name starts with `safe` may run twice.
    fn open_turn(&self, begun: &[String]) -> Option<OpenTurn> {
        let mut answered = Vec::new();
        for message in self.store.iter().rev() {
            match &**message {
                AgentMessage::ToolResult(result) => answered.push(result.tool_call_id.clone()),
                AgentMessage::Assistant(response) => {
                    let calls = response.tool_calls();
                    let open = calls.filter(|call| !answered.contains(&call.id));
                    let calls = open.map(|call| OpenCall {
                        is_interrupted: begun.contains(&call.id) && !call.name.starts_with("safe"),
                        call: call.clone(),
                    });
                    return Some(OpenTurn {
                        response: Arc::clone(message),
                        has_results: !answered.is_empty(),
                        calls: calls.collect(),
                    });
                }
                _ => return None,
            }
        }
        None
    }

    fn tail(&self) -> ConversationTail {
        let is_omitted =
            |message: &SharedMessage| self.omitted.iter().any(|one| Arc::ptr_eq(one, message));
        let is_system = |message: &SharedMessage| matches!(**message, AgentMessage::System(_));
        let mut messages = self.store.iter().rev();
        match messages.find(|message| !is_omitted(message) && !is_system(message)) {
            None => ConversationTail::Empty,
            Some(last) if matches!(**last, AgentMessage::Assistant(_)) => {
                ConversationTail::Response
            }
            Some(_) => ConversationTail::Pending,
        }
    }
}
