//! Plays the driver: performs the effects of a machine from a script, lane by lane.
//!
//! A lane begins an effect and completes it in two separate steps, so that the other lanes can do anything in between.
//! Some effects are performed together with the step that returned them, as the driver must do: `Cancel` and `Resolve`,
//! which apply to the work of that moment, and `AppendNow`, which stores a message outside of a run.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use pi_protocol::{
    ActivityKind, AssistantMessageEvent, MessageBuilder, Model, QueuedTexts, RequestId,
    SessionEvent, SharedMessage, api,
};

use super::fixtures::{label, machine};
use super::lane::{RunningTool, SimulatedLane, Work};
use super::log;
use super::script::{Script, ScriptedResponse};
use crate::machine::context::Deferred;
use crate::machine::{CancelScope, Effect, Input, Machine, Outcome, Reply};
use crate::queue::{Queued, queued_texts};

/// No schedule needs more steps; a machine that exceeds them does not terminate.
const MAX_STEPS: usize = 20_000;

pub(super) struct Simulation {
    pub machine: Machine,
    pub script: Script,
    /// The stored messages.
    pub store: Vec<SharedMessage>,
    pub omitted: Vec<SharedMessage>,
    /// Published events and reports.
    pub log: Vec<String>,
    pub canceled: HashSet<CancelScope>,
    pub lanes: Vec<SimulatedLane>,
    /// Requests that were answered or canceled, until the lane that asked continues.
    pub resolved: HashSet<RequestId>,
    /// Labels of the messages returned by `ClearQueue`.
    pub cleared: Vec<String>,
    /// Labels of deferred prompts that a command or hook completed, that were rejected, or that `Close` dropped.
    pub dropped: Vec<String>,
    /// The lane that closed the session.
    pub closed_by: Option<usize>,
    /// Whether anything was aborted.
    pub was_interrupted: bool,
    /// Whether an effect panicked.
    pub has_panicked: bool,
    pub steps: usize,
    triggers: Vec<Trigger>,
    performed: usize,
    /// Called after every step of the machine.
    pub inspect: fn(&Self),
}

/// Inputs to submit once an effect has begun.
struct Trigger {
    point: TriggerPoint,
    inputs: Vec<Input>,
}

enum TriggerPoint {
    /// The first effect that matches.
    When(Box<dyn Fn(&Effect) -> bool>),
    /// The effect with this number.
    Number(usize),
}

impl Simulation {
    pub(super) fn new(script: Script) -> Self {
        let mut machine = machine();
        machine.selection_mut().is_supervised = script.has_barrier;
        if script.is_virtual {
            let model = Model {
                api: api::PI_VIRTUAL.to_owned(),
                ..Model::unknown()
            };
            machine.selection_mut().model = Some(Arc::new(model));
        }
        Self {
            machine,
            script,
            store: Vec::new(),
            omitted: Vec::new(),
            log: Vec::new(),
            canceled: HashSet::new(),
            lanes: Vec::new(),
            resolved: HashSet::new(),
            cleared: Vec::new(),
            dropped: Vec::new(),
            closed_by: None,
            was_interrupted: false,
            has_panicked: false,
            steps: 0,
            triggers: Vec::new(),
            performed: 0,
            inspect: super::invariants::check_step,
        }
    }

    /// Submits inputs once the first effect that matches has begun.
    pub(super) fn when(
        mut self,
        matches: impl Fn(&Effect) -> bool + 'static,
        inputs: impl IntoIterator<Item = Input>,
    ) -> Self {
        self.triggers.push(Trigger {
            point: TriggerPoint::When(Box::new(matches)),
            inputs: inputs.into_iter().collect(),
        });
        self
    }

    /// Submits inputs once the effect with this number has begun.
    pub(super) fn at(mut self, number: usize, inputs: impl IntoIterator<Item = Input>) -> Self {
        self.triggers.push(Trigger {
            point: TriggerPoint::Number(number),
            inputs: inputs.into_iter().collect(),
        });
        self
    }

    /// Submits an input and performs everything that follows from it.
    pub(super) fn run(mut self, input: Input) -> Self {
        self.submit(input);
        self.drain();
        self
    }

    /// Feeds a request in a new lane and returns the lane's number.
    pub(super) fn submit(&mut self, input: Input) -> usize {
        let lane = self.lanes.len();
        self.lanes.push(SimulatedLane::new(&input));
        match &input {
            Input::Close => {
                self.closed_by.get_or_insert(lane);
                let deferred = self.machine.context.waiting.deferred.iter();
                self.dropped.extend(deferred.filter_map(deferred_label));
                self.step(lane, input);
            }
            Input::ClearQueue => self.clear_queue(lane),
            _ => self.step(lane, input),
        }
        lane
    }

    /// Clears the queue; the reply lists exactly the messages that left it.
    fn clear_queue(&mut self, lane: usize) {
        let queued: Vec<_> = self.machine.queue().iter().cloned().collect();
        self.step(lane, Input::ClearQueue);
        let left: Vec<_> = self
            .machine
            .queue()
            .iter()
            .map(|queued| queued.id)
            .collect();
        let is_cleared = |queued: &&Queued| !left.contains(&queued.id);
        let cleared = queued.iter().filter(is_cleared);
        let expected = Reply::Cleared(queued_texts(cleared.clone()));
        let reply = self.lanes[lane].effects.back();
        assert!(matches!(reply, Some(Effect::Reply(reply)) if *reply == expected));
        let labels = cleared.filter_map(|queued| label(&queued.message));
        self.cleared.extend(labels);
    }

    /// Returns the lanes that have something to do now.
    pub(super) fn ready_lanes(&self) -> Vec<usize> {
        let has_settled = self.machine.activity() != ActivityKind::Settling;
        let is_ready = |lane: &SimulatedLane| match lane.effects.front() {
            Some(Effect::AwaitSettled(_)) => has_settled,
            Some(_) => true,
            None => {
                let is_answered = lane.asked.iter().any(|id| self.resolved.contains(id));
                lane.work.is_some() || !lane.tools.is_empty() || is_answered
            }
        };
        let numbers = 0..self.lanes.len();
        numbers
            .filter(|number| is_ready(&self.lanes[*number]))
            .collect()
    }

    /// Performs everything, the newest lane first.
    pub(super) fn drain(&mut self) {
        while let Some(lane) = self.ready_lanes().pop() {
            self.advance(lane, 0);
        }
    }

    /// Performs the next effect of a lane, or completes the one in progress. Of several running tools, `pick` selects
    /// the one that continues, counted from the last.
    pub(super) fn advance(&mut self, number: usize, pick: usize) {
        let lane = &mut self.lanes[number];
        if let Some(effect) = lane.effects.pop_front() {
            let inputs = self.triggered_inputs(&effect);
            self.begin(number, effect);
            for input in inputs {
                self.submit(input);
            }
        } else if let Some(work) = lane.work.take() {
            self.complete(number, work);
        } else {
            let answered = lane.asked.iter().position(|id| self.resolved.contains(id));
            match answered {
                Some(place) if lane.tools.is_empty() || pick.is_multiple_of(2) => {
                    let id = lane.asked.remove(place);
                    self.resolved.remove(&id);
                    self.feed(number, Outcome::Answered(id));
                }
                _ => {
                    let place = lane.tools.len() - 1 - pick % lane.tools.len();
                    self.advance_tool(number, place);
                }
            }
        }
    }

    /// Answers everything that waits for approval, and performs what follows.
    pub(super) fn allow_all(&mut self) {
        self.drain();
        while let Some(request) = self.machine.pending_requests().into_iter().next() {
            self.submit(Input::Answer {
                request: request.id,
                answer: pi_protocol::Answer::Allow,
            });
            self.drain();
        }
    }

    fn triggered_inputs(&mut self, effect: &Effect) -> Vec<Input> {
        let number = self.performed;
        self.performed += 1;
        let is_due = |trigger: &mut Trigger| match &trigger.point {
            TriggerPoint::When(matches) => matches(effect),
            TriggerPoint::Number(place) => *place == number,
        };
        let fired = self.triggers.extract_if(.., is_due);
        fired.flat_map(|trigger| trigger.inputs).collect()
    }

    /// Returns the number of effects performed so far.
    pub(super) fn performed(&self) -> usize {
        self.performed
    }

    pub(super) fn stored(&self) -> Vec<String> {
        self.store.iter().map(log::describe).collect()
    }

    /// Returns the log with the start and end of a message in one line.
    pub(super) fn summary(&self) -> Vec<String> {
        let lines = self.log.iter().filter(|line| !line.starts_with("start "));
        lines
            .map(|line| line.strip_prefix("end ").unwrap_or(line).to_owned())
            .collect()
    }

    /// Returns the first reply to the last request.
    pub(super) fn last_reply(&self) -> Option<&Reply> {
        self.lanes.last().and_then(|lane| lane.replies.first())
    }

    fn step(&mut self, lane: usize, input: Input) {
        self.steps += 1;
        assert!(self.steps < MAX_STEPS, "the session does not settle");
        for effect in self.machine.step(input) {
            match effect {
                Effect::Cancel(scope) => {
                    self.canceled.insert(scope);
                    self.was_interrupted = true;
                }
                Effect::AppendNow(message) => self.store.push(Arc::new(message)),
                Effect::Resolve(id) => {
                    self.resolved.insert(id);
                }
                Effect::EndRun => {
                    self.resolved.clear();
                    self.lanes[lane].effects.push_back(Effect::EndRun);
                }
                effect => self.lanes[lane].effects.push_back(effect),
            }
        }
        self.forget_cancellations();
        (self.inspect)(self);
    }

    /// Forgets cancellations of work that has ended, as the driver does.
    fn forget_cancellations(&mut self) {
        let machine = &self.machine;
        self.canceled.retain(|scope| match scope {
            CancelScope::Run | CancelScope::Navigation => true,
            CancelScope::Retry => machine.is_retrying(),
            CancelScope::Compaction => machine.is_compacting(),
        });
    }

    pub(super) fn feed(&mut self, lane: usize, outcome: Outcome) {
        self.step(lane, Input::Outcome(outcome));
    }

    pub(super) fn is_canceled(&self, scope: CancelScope) -> bool {
        self.canceled.contains(&scope) || self.canceled.contains(&CancelScope::Run)
    }

    fn begin(&mut self, number: usize, effect: Effect) {
        match effect {
            Effect::Emit(event) | Effect::Publish(event) => self.log.push(log::line(&event)),
            Effect::PublishQueue => {
                let QueuedTexts {
                    steering,
                    follow_up,
                } = self.machine.queue().texts();
                self.log.push(log::line(&SessionEvent::QueueUpdate {
                    steering,
                    follow_up,
                }));
            }
            Effect::Reply(reply) => self.reply(number, reply),
            Effect::AwaitSettled(input) => self.step(number, *input),
            Effect::EndCompaction(job) => {
                let retry = if job.will_retry { " retry" } else { "" };
                let reason = job.reason.as_str();
                self.log.push(format!("compaction_end {reason}{retry}"));
            }
            Effect::FailRecovery(failure) => self.log.push(format!("recovery_failed {failure:?}")),
            Effect::ConfirmSettled => {}
            Effect::Reload => self.log.push("reload".to_owned()),
            Effect::Report(failure) => self.log.push(format!("report {failure:?}")),
            Effect::EndRun => {
                self.canceled.remove(&CancelScope::Run);
            }
            Effect::Stream => {
                let response = self.script.responses.pop_front();
                let response = response.unwrap_or_else(ScriptedResponse::text);
                let parts = self.parts_of(&response);
                self.lanes[number].work = Some(Work::Stream { response, parts });
            }
            Effect::Ask(request) => {
                self.log.push(format!("asked {}", request.id));
                self.lanes[number].asked.push(request.id);
            }
            Effect::Execute { index, call, .. } => self.lanes[number].tools.push(RunningTool {
                index,
                updated: !call.name.starts_with("slow"),
                call,
            }),
            waiting => self.lanes[number].work = Some(Work::Effect(waiting)),
        }
    }

    fn parts_of(&self, response: &ScriptedResponse) -> VecDeque<AssistantMessageEvent> {
        let model = self.machine.selection().model.clone();
        let (ScriptedResponse::Message { streams: true, .. }, Some(model)) = (response, model)
        else {
            return VecDeque::new();
        };
        let mut builder = MessageBuilder::new(&model, 0);
        let content_index = builder.open_text();
        let start = AssistantMessageEvent::Start {
            message: builder.live(),
        };
        let delta = "text".to_owned();
        [
            start,
            AssistantMessageEvent::TextDelta {
                content_index,
                delta,
            },
        ]
        .into()
    }

    fn reply(&mut self, number: usize, reply: Reply) {
        let lane = &mut self.lanes[number];
        if lane.is_navigation && reply == Reply::Started && lane.replies.is_empty() {
            lane.work = Some(Work::Navigation);
        }
        if let Some(label) = lane.resubmitted.take()
            && matches!(reply, Reply::Rejected(_))
        {
            self.dropped.push(label);
        }
        lane.replies.push(reply);
    }
}

fn deferred_label(deferred: &Deferred) -> Option<String> {
    match deferred {
        Deferred::Prompt(prompt) => Some(prompt.text.clone()),
        Deferred::Message(message) => label(message),
    }
}
