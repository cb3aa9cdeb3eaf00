//! From a prompt to the run that answers it.

use pi_protocol::{AgentMessage, ImageContent};

use super::compaction::ContextCompaction;
use super::context::Context;
use super::effect::{ContextCheck, Effect, Rejection, Reply, RunStart};
use super::input::Outcome;
use super::run::Run;

/// A prompt that is checked and prepared before its run starts.
#[derive(Debug)]
pub(super) struct Preparation {
    text: String,
    images: Vec<ImageContent>,
    /// The message of an extension that starts the run instead of a prompt. Its sender does not wait for the run.
    custom: Option<AgentMessage>,
    step: PreparationStep,
    is_aborted: bool,
    /// Whether no caller waits for it, since it prepares a run for queued messages instead of a prompt.
    is_for_queue: bool,
    /// Whether messages were queued for the run it prepares.
    has_queued: bool,
}

#[derive(Debug)]
enum PreparationStep {
    Checking,
    CheckingContext(ContextCompaction),
    Starting,
    /// What belongs to the canceled or rejected prompt is being forgotten.
    Abandoning(Rejection),
    Rejected(Rejection),
    Started(Box<Run>),
}

/// What follows a preparation.
#[derive(Debug)]
pub(super) enum PreparationEnd {
    Run(Box<Run>),
    /// The prompt was rejected; other messages were queued for its run.
    DeliverQueued,
    Idle,
}

impl Preparation {
    /// Begins to prepare a prompt.
    pub(super) fn of_prompt(text: String, images: Vec<ImageContent>, cx: &mut Context) -> Self {
        cx.push(Effect::CheckPrompt);
        Self {
            text,
            images,
            custom: None,
            step: PreparationStep::Checking,
            is_aborted: false,
            is_for_queue: false,
            has_queued: false,
        }
    }

    /// Begins to prepare a run that a message of an extension starts.
    pub(super) fn of_custom(message: AgentMessage, cx: &mut Context) -> Self {
        cx.push(Effect::PrepareRun(RunStart::Custom(Box::new(
            message.clone(),
        ))));
        Self {
            text: String::new(),
            images: Vec::new(),
            custom: Some(message),
            step: PreparationStep::Starting,
            is_aborted: false,
            is_for_queue: false,
            has_queued: false,
        }
    }

    /// Begins to prepare a run for queued messages.
    pub(super) fn of_queue(cx: &mut Context) -> Self {
        Self {
            is_for_queue: true,
            ..Self::of_prompt(String::new(), Vec::new(), cx)
        }
    }

    /// Notes that a message was queued for the run that is prepared.
    pub(super) fn note_queued(&mut self) {
        self.has_queued = true;
    }

    /// Cancels the prompt, unless its end is already decided. Returns whether it did.
    pub(super) fn abort(&mut self) -> bool {
        let is_ending = matches!(self.step, PreparationStep::Abandoning(_));
        self.is_aborted |= !is_ending;
        !is_ending
    }

    /// Whether a summary is being written.
    pub(super) fn is_compacting(&self) -> bool {
        matches!(&self.step, PreparationStep::CheckingContext(compaction)
            if compaction.is_in_progress())
    }

    pub(super) fn outcome(&mut self, outcome: Outcome, cx: &mut Context) {
        match (&mut self.step, outcome) {
            (PreparationStep::Checking, Outcome::PromptChecked(passed)) => {
                self.checked(passed, cx);
            }
            (PreparationStep::Starting, Outcome::RunPrepared { prompt, added }) => {
                self.prepared(prompt, added, cx);
            }
            (PreparationStep::Abandoning(rejection), Outcome::Continued | Outcome::Panicked(_)) => {
                self.step = PreparationStep::Rejected(*rejection);
            }
            (PreparationStep::CheckingContext(compaction), Outcome::Panicked(_)) => {
                compaction.panicked(cx);
                self.abandon(Rejection::Crashed, cx);
            }
            (_, Outcome::Panicked(_)) => self.abandon(Rejection::Crashed, cx),
            // There is nothing to resume after a compaction: the prompt continues from here.
            (PreparationStep::CheckingContext(compaction), outcome) => {
                let ended = compaction.outcome(outcome, cx);
                if ended.is_some() {
                    self.prepare(cx);
                }
            }
            _ => {}
        }
    }

    fn checked(&mut self, passed: bool, cx: &mut Context) {
        if !passed {
            return self.abandon(Rejection::CheckFailed, cx);
        }
        if self.is_aborted {
            return self.abandon(Rejection::Canceled, cx);
        }
        if !self.is_for_queue {
            let recovery = cx.recovery;
            let check = ContextCheck::BeforePrompt { recovery };
            self.step = PreparationStep::CheckingContext(ContextCompaction::check(check, cx));
            return;
        }
        match Run::start_with_queued(cx) {
            Some(run) => self.step = PreparationStep::Started(Box::new(run)),
            None => self.abandon(Rejection::Canceled, cx),
        }
    }

    fn prepare(&mut self, cx: &mut Context) {
        if self.is_aborted {
            return self.abandon(Rejection::Canceled, cx);
        }
        self.step = PreparationStep::Starting;
        cx.push(Effect::PrepareRun(RunStart::Prompt {
            text: self.text.clone(),
            images: std::mem::take(&mut self.images),
        }));
    }

    fn prepared(&mut self, prompt: AgentMessage, added: Vec<AgentMessage>, cx: &mut Context) {
        if self.is_aborted {
            return self.abandon(Rejection::Canceled, cx);
        }
        let is_custom = self.custom.take().is_some();
        let text = (!is_custom).then(|| std::mem::take(&mut self.text));
        let next_turn = std::mem::take(&mut cx.waiting.next_turn);
        let next_turn = next_turn.into_iter().map(|message| (message, None));
        let first = std::iter::once((prompt, text)).chain(next_turn);
        if !is_custom {
            cx.reply(Reply::Started);
        }
        let run = Run::start(first.collect(), added, cx);
        self.step = PreparationStep::Started(Box::new(run));
    }

    /// Ends the preparation. The next one begins after hooks' changes and a cancellation of this one are forgotten.
    fn abandon(&mut self, rejection: Rejection, cx: &mut Context) {
        self.step = PreparationStep::Abandoning(rejection);
        // The sender was notified that the message is accepted, so it is kept without a run.
        if let Some(message) = self.custom.take() {
            self.is_for_queue = true;
            cx.push(Effect::AppendNow(message));
        }
        cx.push(Effect::EndRun);
        cx.push(Effect::Continue);
    }

    pub(super) fn is_over(&self) -> bool {
        matches!(
            self.step,
            PreparationStep::Rejected(_) | PreparationStep::Started(_)
        )
    }

    /// Returns what follows a preparation that is over.
    pub(super) fn into_end(self, cx: &mut Context) -> PreparationEnd {
        let rejection = match self.step {
            PreparationStep::Started(run) => return PreparationEnd::Run(run),
            PreparationStep::Rejected(rejection) => rejection,
            _ => return PreparationEnd::Idle,
        };
        let is_canceled = rejection == Rejection::Canceled;
        // No caller waits for the preparation of queued messages, so a cancellation is not reported.
        if !(self.is_for_queue && is_canceled) {
            cx.reject(rejection);
        }
        if self.has_queued && !is_canceled && cx.queue.has_waiting() {
            PreparationEnd::DeliverQueued
        } else {
            PreparationEnd::Idle
        }
    }
}
