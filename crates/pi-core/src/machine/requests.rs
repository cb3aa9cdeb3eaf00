//! Requests of clients that add work.

use pi_protocol::{AgentMessage, Answer, BashExecutionMessage, Delivery, RequestId};

use super::Machine;
use super::activity::Activity;
use super::compaction::ContextCompaction;
use super::context::Deferred;
use super::effect::{AnswerError, Effect, Rejection, Reply};
use super::input::{CustomDelivery, CustomInput, Input, PromptInput};
use super::preparation::Preparation;
use crate::prompt::Prompt;

impl Machine {
    pub(super) fn prompt(&mut self, prompt: PromptInput) {
        match &self.activity {
            Activity::Settling | Activity::Resubmitting if prompt.is_in_hook => {
                self.defer_prompt(Prompt {
                    text: prompt.text,
                    images: prompt.images,
                    streaming_behavior: prompt.delivery,
                    expand: false,
                    source: prompt.source,
                });
            }
            Activity::Settling => {
                let input = Box::new(Input::Prompt(prompt));
                self.context.push(Effect::AwaitSettled(input));
            }
            Activity::Compacting(_) | Activity::Navigating => {
                self.context.reject(Rejection::Compacting);
            }
            Activity::Preparing(_) | Activity::Resubmitting | Activity::Running(_) => {
                match prompt.delivery {
                    Some(delivery) => self.enqueue(prompt.message, prompt.text, delivery),
                    None => self.context.reject(Rejection::Busy),
                }
            }
            Activity::Idle => {
                let preparation =
                    Preparation::of_prompt(prompt.text, prompt.images, &mut self.context);
                self.activity = Activity::Preparing(preparation);
            }
        }
    }

    pub(super) fn defer_prompt(&mut self, prompt: Prompt) {
        let deferred = &mut self.context.waiting.deferred;
        deferred.push_back(Deferred::Prompt(prompt));
        self.context.reply(Reply::Queued);
        self.start_deferred();
    }

    pub(super) fn enqueue(&mut self, message: AgentMessage, text: String, delivery: Delivery) {
        self.context.enqueue(message, text, delivery);
        if let Activity::Preparing(preparation) = &mut self.activity {
            preparation.note_queued();
        }
    }

    pub(super) fn send_custom(&mut self, custom: CustomInput) {
        let CustomInput { message, options } = custom;
        let cx = &mut self.context;
        if options.deliver_as == Some(CustomDelivery::NextTurn) {
            cx.waiting.next_turn.push(message);
            return cx.reply(Reply::Queued);
        }
        let delivery = match options.deliver_as {
            Some(CustomDelivery::FollowUp) => Delivery::FollowUp,
            _ => Delivery::Steer,
        };
        match (&mut self.activity, options.trigger_turn) {
            (Activity::Running(_), Some(false)) => cx.waiting.custom.push_back(message),
            (Activity::Running(_), _) => {
                cx.queue.push(message, None, delivery);
            }
            (Activity::Preparing(preparation), Some(true)) => {
                cx.queue.push(message, None, delivery);
                preparation.note_queued();
            }
            (Activity::Idle, Some(true)) => {
                cx.reply(Reply::Started);
                self.activity = Activity::Preparing(Preparation::of_custom(message, cx));
                return;
            }
            (_, Some(true)) => cx.waiting.deferred.push_back(Deferred::Message(message)),
            _ => {
                cx.push(Effect::AppendNow(message));
                return cx.reply(Reply::Done);
            }
        }
        cx.reply(Reply::Queued);
    }

    pub(super) fn bash_finished(&mut self, message: BashExecutionMessage) {
        if matches!(self.activity, Activity::Running(_)) {
            self.context.waiting.bash.push_back(message);
        } else {
            let message = AgentMessage::BashExecution(message);
            self.context.push(Effect::AppendNow(message));
        }
    }

    pub(super) fn begin_compaction(&mut self) {
        if matches!(self.activity, Activity::Idle) {
            let compaction = ContextCompaction::manual(&mut self.context);
            self.activity = Activity::Compacting(compaction);
        } else {
            self.context.reject(Rejection::Busy);
        }
    }

    pub(super) fn begin_navigation(&mut self) {
        match &self.activity {
            Activity::Idle => {
                self.activity = Activity::Navigating;
                self.context.reply(Reply::Started);
            }
            Activity::Compacting(_) | Activity::Navigating => {
                self.context.reject(Rejection::Compacting);
            }
            Activity::Preparing(_)
            | Activity::Running(_)
            | Activity::Settling
            | Activity::Resubmitting => self.context.reject(Rejection::Busy),
        }
    }

    /// Accepts the first answer to a request. The call it belongs to continues in the lane of the run.
    pub(super) fn answer(&mut self, request: RequestId, answer: Answer) {
        let accepted = match &mut self.activity {
            Activity::Running(run) => run.answer(&request, answer),
            _ => Err(AnswerError::Unknown),
        };
        match accepted {
            Ok(()) => {
                self.context.push(Effect::Resolve(request));
                self.context.reply(Reply::Done);
            }
            Err(error) => self.context.reply(Reply::AnswerRejected(error)),
        }
    }

    /// Fulfills the next deferred request, if the session is idle.
    pub(super) fn start_deferred(&mut self) {
        if !matches!(self.activity, Activity::Idle) {
            return;
        }
        let cx = &mut self.context;
        match cx.waiting.deferred.pop_front() {
            Some(Deferred::Message(message)) => {
                self.activity = Activity::Preparing(Preparation::of_custom(message, cx));
            }
            Some(Deferred::Prompt(prompt)) => {
                self.activity = Activity::Resubmitting;
                cx.push(Effect::SubmitDeferred(Box::new(prompt)));
            }
            None => {}
        }
    }
}
