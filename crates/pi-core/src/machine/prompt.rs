//! From a prompt to the run that answers it, and the other ways a message enters a session.

use pi_context::{CompactionDecision, CompactionReason};
use pi_protocol::{AgentMessage, BashExecutionMessage};

use super::activity::{Activity, Preparation, PreparationStep, Run};
use super::effect::{CompactionJob, ContextCheck, Effect, Rejection, Reply};
use super::input::{CustomDelivery, CustomInput, Input, PromptInput};
use super::recovery::RecoveryStart;
use super::{Deferred, Machine};
use crate::prompt::Prompt;
use crate::queue::Delivery;
use crate::session_event::SessionEvent;

impl Machine {
    pub(super) fn prompt(&mut self, prompt: PromptInput, effects: &mut Vec<Effect>) {
        if self.is_closed {
            return reject(Rejection::Closed, effects);
        }
        match &self.activity {
            Activity::Settling | Activity::Resubmitting if prompt.is_in_hook => {
                let deferred = Prompt {
                    text: prompt.text,
                    images: prompt.images,
                    streaming_behavior: prompt.delivery,
                    expand: false,
                    source: prompt.source,
                };
                self.defer_prompt(deferred, effects);
            }
            Activity::Settling => {
                effects.push(Effect::AwaitSettled(Box::new(Input::Prompt(prompt))));
            }
            Activity::Compacting(_) | Activity::Navigating => {
                reject(Rejection::Compacting, effects);
            }
            Activity::Preparing(_) | Activity::Resubmitting | Activity::Running(_) => {
                match prompt.delivery {
                    Some(delivery) => {
                        self.enqueue(prompt.message, prompt.text, delivery, effects);
                    }
                    None => reject(Rejection::Busy, effects),
                }
            }
            Activity::Idle => {
                let preparation = Preparation::of_prompt(prompt.text, prompt.images);
                self.activity = Activity::Preparing(preparation);
                effects.push(Effect::CheckPrompt);
            }
        }
    }

    pub(super) fn defer_prompt(&mut self, prompt: Prompt, effects: &mut Vec<Effect>) {
        if self.is_closed {
            return reject(Rejection::Closed, effects);
        }
        self.deferred.push_back(Deferred::Prompt(prompt));
        effects.push(Effect::Reply(Reply::Queued));
        self.start_deferred(effects);
    }

    /// Queues a message.
    pub(super) fn enqueue(
        &mut self,
        message: AgentMessage,
        text: String,
        delivery: Delivery,
        effects: &mut Vec<Effect>,
    ) {
        if self.is_closed {
            return reject(Rejection::Closed, effects);
        }
        self.push_queued(message, Some(text), delivery);
        effects.push(Effect::PublishQueue);
        effects.push(Effect::Reply(Reply::Queued));
    }

    fn push_queued(&mut self, message: AgentMessage, text: Option<String>, delivery: Delivery) {
        self.queue.push(message, text, delivery);
        if let Activity::Preparing(preparation) = &mut self.activity {
            preparation.has_queued = true;
        }
    }

    pub(super) fn send_custom(&mut self, custom: CustomInput, effects: &mut Vec<Effect>) {
        let CustomInput { message, options } = custom;
        if self.is_closed {
            return reject(Rejection::Closed, effects);
        }
        if options.deliver_as == Some(CustomDelivery::NextTurn) {
            self.next_turn.push(message);
            return effects.push(Effect::Reply(Reply::Queued));
        }
        let delivery = match options.deliver_as {
            Some(CustomDelivery::FollowUp) => Delivery::FollowUp,
            _ => Delivery::Steer,
        };
        match (&self.activity, options.trigger_turn) {
            (Activity::Running(_), Some(false)) => {
                self.waiting.custom.push_back(message);
                effects.push(Effect::Reply(Reply::Queued));
            }
            (Activity::Running(_), _) | (Activity::Preparing(_), Some(true)) => {
                self.push_queued(message, None, delivery);
                effects.push(Effect::Reply(Reply::Queued));
            }
            (Activity::Idle, Some(true)) => {
                effects.push(Effect::Reply(Reply::Started));
                self.start_run_with(message, effects);
            }
            (_, Some(true)) => {
                self.deferred.push_back(Deferred::Message(message));
                effects.push(Effect::Reply(Reply::Queued));
            }
            _ => {
                effects.push(Effect::AppendNow(message));
                effects.push(Effect::Reply(Reply::Done));
            }
        }
    }

    pub(super) fn bash_finished(
        &mut self,
        message: BashExecutionMessage,
        effects: &mut Vec<Effect>,
    ) {
        if self.is_closed {
            return reject(Rejection::Closed, effects);
        }
        if matches!(self.activity, Activity::Running(_)) {
            self.waiting.bash.push_back(message);
        } else {
            effects.push(Effect::AppendNow(AgentMessage::BashExecution(message)));
        }
    }

    pub(super) fn prompt_checked(&mut self, passed: bool, effects: &mut Vec<Effect>) {
        if self.preparation_step() != Some(PreparationStep::Checking) {
            return;
        }
        if !passed {
            return self.abandon_preparation(Rejection::CheckFailed, effects);
        }
        if self.is_preparation_aborted() {
            return self.abandon_preparation(Rejection::Canceled, effects);
        }
        if matches!(&self.activity, Activity::Preparing(preparation) if preparation.is_for_queue) {
            return self.deliver_queued(effects);
        }
        self.set_preparation_step(PreparationStep::CheckingContext);
        effects.push(Effect::CheckContext(ContextCheck::BeforePrompt {
            recovery: self.recovery,
        }));
    }

    /// Acts on the context check before a prompt. There is nothing to resume: the prompt continues from here.
    pub(super) fn context_checked_before_prompt(
        &mut self,
        decision: CompactionDecision,
        effects: &mut Vec<Effect>,
    ) {
        match decision {
            CompactionDecision::Skip => self.prepare_run(effects),
            CompactionDecision::Failed(failure) => {
                effects.push(Effect::FailRecovery(failure));
                self.prepare_run(effects);
            }
            CompactionDecision::Compact {
                reason,
                omit,
                retry,
            } => {
                let job = CompactionJob {
                    reason,
                    will_retry: retry,
                };
                let step = self.begin_recovery(job, omit, effects);
                self.set_preparation_step(match step {
                    RecoveryStart::Omitting => PreparationStep::Omitting(job),
                    RecoveryStart::Planning => PreparationStep::Planning(job),
                });
            }
        }
    }

    pub(super) fn omitted_before_prompt(
        &mut self,
        job: CompactionJob,
        done: bool,
        effects: &mut Vec<Effect>,
    ) {
        if !done {
            return self.prepare_run(effects);
        }
        self.set_preparation_step(PreparationStep::Planning(job));
        effects.push(Effect::PlanCompaction);
    }

    pub(super) fn planned_before_prompt(
        &mut self,
        job: CompactionJob,
        possible: bool,
        effects: &mut Vec<Effect>,
    ) {
        if !possible {
            return self.prepare_run(effects);
        }
        self.set_preparation_step(PreparationStep::Compacting(job));
        start_compaction(job, effects);
    }

    pub(super) fn compacted_before_prompt(
        &mut self,
        job: CompactionJob,
        effects: &mut Vec<Effect>,
    ) {
        effects.push(Effect::EndCompaction(job));
        self.prepare_run(effects);
    }

    fn prepare_run(&mut self, effects: &mut Vec<Effect>) {
        if self.is_preparation_aborted() {
            return self.abandon_preparation(Rejection::Canceled, effects);
        }
        let Activity::Preparing(preparation) = &mut self.activity else {
            return;
        };
        preparation.step = PreparationStep::Starting;
        effects.push(Effect::PrepareRun {
            text: preparation.text.clone(),
            images: std::mem::take(&mut preparation.images),
        });
    }

    pub(super) fn run_prepared(
        &mut self,
        prompt: AgentMessage,
        added: Vec<AgentMessage>,
        effects: &mut Vec<Effect>,
    ) {
        if self.preparation_step() != Some(PreparationStep::Starting) {
            return;
        }
        if self.is_preparation_aborted() {
            return self.abandon_preparation(Rejection::Canceled, effects);
        }
        let Activity::Preparing(preparation) = &mut self.activity else {
            return;
        };
        let text = std::mem::take(&mut preparation.text);
        let next_turn = std::mem::take(&mut self.next_turn);
        let next_turn = next_turn.into_iter().map(|message| (message, None));
        let first = std::iter::once((prompt, Some(text))).chain(next_turn);
        effects.push(Effect::Reply(Reply::Started));
        self.start_run(first.collect(), added, effects);
    }

    /// Starts a run with one message.
    pub(super) fn start_run_with(&mut self, message: AgentMessage, effects: &mut Vec<Effect>) {
        self.start_run(vec![(message, None)], Vec::new(), effects);
    }

    /// Starts a run with messages of clients, which return to the queue if they cannot be stored, and messages that
    /// hooks add to it. The caller has checked that no run is in progress.
    fn start_run(
        &mut self,
        first: Vec<(AgentMessage, Option<String>)>,
        added: Vec<AgentMessage>,
        effects: &mut Vec<Effect>,
    ) {
        self.activity = Activity::Running(Run::new());
        self.begin_loop(first, added, effects);
    }

    /// Starts a run with queued messages, unless they were cleared.
    fn deliver_queued(&mut self, effects: &mut Vec<Effect>) {
        self.queue.take_steering();
        let has_steering = self.queue.has_taken();
        self.queue.take_follow_ups();
        if !self.queue.has_taken() {
            return self.abandon_preparation(Rejection::Canceled, effects);
        }
        self.activity = Activity::Running(Run::new());
        self.begin_loop_with_queued(!has_steering, effects);
    }

    /// Ends a preparation. The next one begins after hooks' changes and a cancellation of this one are forgotten.
    pub(super) fn abandon_preparation(&mut self, rejection: Rejection, effects: &mut Vec<Effect>) {
        self.set_preparation_step(PreparationStep::Abandoning(rejection));
        effects.push(Effect::EndRun);
        effects.push(Effect::Continue);
    }

    pub(super) fn preparation_abandoned(
        &mut self,
        rejection: Rejection,
        effects: &mut Vec<Effect>,
    ) {
        let Activity::Preparing(preparation) = &self.activity else {
            return;
        };
        let is_canceled = rejection == Rejection::Canceled;
        let has_queued = preparation.has_queued && self.queue.has_waiting();
        // No caller waits for the preparation of queued messages, so a cancellation is not reported.
        if !(preparation.is_for_queue && is_canceled) {
            reject(rejection, effects);
        }
        if has_queued && !is_canceled && !self.is_closed {
            self.activity = Activity::Preparing(Preparation::of_queue());
            effects.push(Effect::CheckPrompt);
        } else {
            self.activity = Activity::Idle;
            self.start_deferred(effects);
        }
    }

    pub(super) fn preparation_step(&self) -> Option<PreparationStep> {
        match &self.activity {
            Activity::Preparing(preparation) => Some(preparation.step),
            _ => None,
        }
    }

    fn set_preparation_step(&mut self, step: PreparationStep) {
        if let Activity::Preparing(preparation) = &mut self.activity {
            preparation.step = step;
        }
    }

    fn is_preparation_aborted(&self) -> bool {
        matches!(&self.activity, Activity::Preparing(preparation) if preparation.aborted)
    }
}

pub(super) fn reject(rejection: Rejection, effects: &mut Vec<Effect>) {
    effects.push(Effect::Reply(Reply::Rejected(rejection)));
}

pub(super) fn start_compaction(job: CompactionJob, effects: &mut Vec<Effect>) {
    let reason: CompactionReason = job.reason;
    effects.push(Effect::Publish(SessionEvent::CompactionStart { reason }));
    effects.push(Effect::Compact(job));
}
