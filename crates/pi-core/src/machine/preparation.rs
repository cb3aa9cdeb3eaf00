//! From a prompt to the run that answers it.

use pi_protocol::{AgentMessage, ImageContent};

use super::compaction::ContextCompaction;
use super::context::Context;
use super::effect::{ContextCheck, Effect, Rejection, Reply, RunTrigger};
use super::input::{ConversationTail, Outcome};
use super::run::Run;
use crate::barrier::OpenTurn;

/// A prompt or message that is checked and prepared before its run starts.
#[derive(Debug)]
pub(super) struct Preparation {
    /// What starts the run; `None` for queued messages.
    trigger: Option<RunTrigger>,
    step: PreparationStep,
    /// What the run continues, with or without queued messages.
    resumption: Option<Resumption>,
    is_aborted: bool,
    /// Whether messages were queued for the run it prepares.
    has_queued: bool,
}

/// What a run continues that was paused or whose process was killed.
#[derive(Debug)]
pub(super) enum Resumption {
    /// It answers the last message.
    LastMessage,
    /// It continues the last turn; the calls with these IDs have started before.
    LastTurn { begun: Vec<String> },
}

#[derive(Debug)]
enum PreparationStep {
    Checking,
    ReadingTail,
    CheckingContext(ContextCompaction),
    Starting,
    /// What belongs to the canceled or rejected prompt is being forgotten.
    Abandoning(Rejection),
    Rejected(Rejection),
    Started(Box<Run>),
}

impl PreparationStep {
    fn check_context(cx: &mut Context) -> Self {
        let check = ContextCheck::BeforePrompt {
            recovery: cx.recovery,
        };
        Self::CheckingContext(ContextCompaction::check(check, cx))
    }
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
        let trigger = RunTrigger::Prompt { text, images };
        Self::new(Some(trigger), PreparationStep::Checking)
    }

    /// Begins to prepare the run that a message of an extension starts. The caller has its reply.
    pub(super) fn of_message(message: AgentMessage, cx: &mut Context) -> Self {
        let step = PreparationStep::check_context(cx);
        Self::new(Some(RunTrigger::Message(message)), step)
    }

    /// Begins to prepare a run that continues the conversation. The caller has its reply.
    pub(super) fn of_tail(resumption: Resumption, cx: &mut Context) -> Self {
        Self {
            resumption: Some(resumption),
            ..Self::of_queue(cx)
        }
    }

    /// Begins to prepare a run for queued messages.
    pub(super) fn of_queue(cx: &mut Context) -> Self {
        cx.push(Effect::CheckPrompt);
        Self::new(None, PreparationStep::Checking)
    }

    fn new(trigger: Option<RunTrigger>, step: PreparationStep) -> Self {
        Self {
            trigger,
            step,
            resumption: None,
            is_aborted: false,
            has_queued: false,
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
            (PreparationStep::ReadingTail, Outcome::TailRead(tail)) => self.tail_read(tail, cx),
            (PreparationStep::ReadingTail, Outcome::OpenTurnRead(turn)) => {
                self.open_turn_read(turn, cx);
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
        if self.trigger.is_some() {
            self.step = PreparationStep::check_context(cx);
            return;
        }
        match self.resumption.take() {
            Some(Resumption::LastMessage) => self.read_tail(cx),
            Some(Resumption::LastTurn { begun }) => {
                self.step = PreparationStep::ReadingTail;
                cx.push(Effect::ReadOpenTurn { begun });
            }
            None => self.start_with(Run::start_with_queued(cx), cx),
        }
    }

    fn read_tail(&mut self, cx: &mut Context) {
        self.step = PreparationStep::ReadingTail;
        cx.push(Effect::ReadTail);
    }

    /// Starts a run that continues the last turn, or that answers the last message.
    fn open_turn_read(&mut self, turn: Option<OpenTurn>, cx: &mut Context) {
        match turn {
            Some(_) if self.is_aborted => self.abandon(Rejection::Canceled, cx),
            Some(turn) if !turn.calls.is_empty() || !turn.has_results => {
                self.start_with(Some(Run::resume(turn, cx)), cx);
            }
            Some(_) | None => self.read_tail(cx),
        }
    }

    /// Starts a run that answers the last message. After a response, only queued messages start one.
    fn tail_read(&mut self, tail: ConversationTail, cx: &mut Context) {
        if self.is_aborted {
            return self.abandon(Rejection::Canceled, cx);
        }
        let run = match tail {
            ConversationTail::Pending => Some(Run::start(Vec::new(), Vec::new(), cx)),
            ConversationTail::Response | ConversationTail::Empty => Run::start_with_queued(cx),
        };
        self.start_with(run, cx);
    }

    fn start_with(&mut self, run: Option<Run>, cx: &mut Context) {
        match run {
            Some(run) => self.step = PreparationStep::Started(Box::new(run)),
            None => self.abandon(Rejection::Canceled, cx),
        }
    }

    fn prepare(&mut self, cx: &mut Context) {
        if self.is_aborted {
            return self.abandon(Rejection::Canceled, cx);
        }
        if let Some(trigger) = &self.trigger {
            self.step = PreparationStep::Starting;
            cx.push(Effect::PrepareRun(trigger.clone()));
        }
    }

    fn prepared(&mut self, prompt: AgentMessage, added: Vec<AgentMessage>, cx: &mut Context) {
        if self.is_aborted {
            return self.abandon(Rejection::Canceled, cx);
        }
        let text = match self.trigger.take() {
            Some(RunTrigger::Prompt { text, .. }) => {
                cx.reply(Reply::Started);
                Some(text)
            }
            Some(RunTrigger::Message(_)) | None => None,
        };
        let next_turn = std::mem::take(&mut cx.waiting.next_turn);
        let next_turn = next_turn.into_iter().map(|message| (message, None));
        let first = std::iter::once((prompt, text)).chain(next_turn);
        let run = Run::start(first.collect(), added, cx);
        self.step = PreparationStep::Started(Box::new(run));
    }

    /// Ends the preparation. The next one begins after hooks' changes and a cancellation of this one are forgotten.
    fn abandon(&mut self, rejection: Rejection, cx: &mut Context) {
        // The sender was notified that the message is accepted, so it is kept without a run.
        if let Some(RunTrigger::Message(message)) = &self.trigger {
            cx.push(Effect::AppendNow(message.clone()));
        }
        self.step = PreparationStep::Abandoning(rejection);
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
        // Only the caller of a prompt waits for it, so no other cancellation is reported.
        let is_prompt = matches!(self.trigger, Some(RunTrigger::Prompt { .. }));
        if is_prompt || !is_canceled {
            cx.reject(rejection);
        }
        if self.has_queued && !is_canceled && cx.queue.has_waiting() {
            PreparationEnd::DeliverQueued
        } else {
            PreparationEnd::Idle
        }
    }
}
