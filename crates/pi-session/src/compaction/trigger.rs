//! When a session is compacted without being asked, and whether it asks the model again afterwards.
//!
//! There are three check points: before the next response of a run, before a new prompt, and after a
//! run. The loop skips the first when the run ends with its batch of tools and nothing is queued.

use pi_ai::overflow::{is_context_overflow, is_recoverable_length};
use pi_ai::{AgentMessage, AssistantMessage, Model, StopReason};
use thiserror::Error;

use super::estimate::exceeds_threshold;
use super::settings::CompactionSettings;
use crate::context::Projection;
use crate::entry::{EntryBody, EntryId};

/// Why a session is compacted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompactionReason {
    /// The user asked for it.
    Manual,
    /// The context leaves too little room.
    Threshold,
    /// The context was too large for the model.
    Overflow,
}

impl CompactionReason {
    /// Returns the reason as events spell it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Manual => "manual",
            Self::Threshold => "threshold",
            Self::Overflow => "overflow",
        }
    }
}

/// What a check phase asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CompactionDecision {
    Skip,
    Compact {
        reason: CompactionReason,
        /// Entries to leave out of the context first, with a context edit each: the attempt that
        /// failed and the results of its calls.
        omit: Vec<EntryId>,
        /// Whether to ask the model again afterwards.
        retry: bool,
    },
    /// Nothing more: compacting has not helped.
    Failed(RecoveryFailure),
}

/// The context was compacted for an response that failed, and it failed again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum RecoveryFailure {
    /// It is still too large.
    #[error(
        "the context was compacted once and is still too large for the model; shorten the request or \
        switch to a model with a larger window"
    )]
    Overflow,
    /// The response is still cut off.
    #[error(
        "the context was compacted once and the response is still cut off before the model's limit"
    )]
    Length,
}

/// Whether the response to the last user message has been recovered by a compaction before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecoveryState {
    NotAttempted,
    Attempted,
}

/// Where a check takes place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompactionPhase {
    AfterRun,
    /// Before a new prompt.
    BeforePrompt,
}

/// An response to check the context by.
#[derive(Debug, Clone, Copy)]
pub struct CompactionCheck<'check> {
    /// Where the check takes place.
    pub phase: CompactionPhase,
    /// The context, the response included.
    pub projection: &'check Projection,
    pub response: &'check AssistantMessage,
    /// Its entry, if it has one.
    pub response_id: Option<&'check EntryId>,
    /// The entries of its tool results.
    pub result_ids: &'check [EntryId],
    /// The model of the session.
    pub model: &'check Model,
    /// The settings for that model.
    pub settings: &'check CompactionSettings,
    /// Whether recovery was tried.
    pub recovery: RecoveryState,
}

/// Returns whether the next response of a run needs a compaction first.
pub fn needs_compaction(projection: &Projection, model: &Model, settings: &CompactionSettings) -> bool {
    settings.enabled
        && exceeds_threshold(projection.estimate().tokens, model.context_window, settings)
}

impl CompactionCheck<'_> {
    /// Decides what the response asks for.
    pub fn decide(&self) -> CompactionDecision {
        let is_cancelled = self.response.stop_reason == StopReason::Aborted;
        if !self.settings.enabled
            || (is_cancelled && self.phase == CompactionPhase::AfterRun)
            || self.precedes_compaction(self.response)
        {
            return CompactionDecision::Skip;
        }
        if self.is_same_model() {
            if self.has_overflowed() {
                return self.recover(RecoveryFailure::Overflow);
            }
            if self.is_shown() && is_recoverable_length(self.response, self.model) {
                return self.recover(RecoveryFailure::Length);
            }
        }
        match self.tokens() {
            Some(tokens) if exceeds_threshold(tokens, self.model.context_window, self.settings) => {
                CompactionDecision::Compact {
                    reason: CompactionReason::Threshold,
                    omit: Vec::new(),
                    retry: false,
                }
            }
            Some(_) | None => CompactionDecision::Skip,
        }
    }

    fn recover(&self, failure: RecoveryFailure) -> CompactionDecision {
        let reason = CompactionReason::Overflow;
        // A finished response stands: there is nothing to ask again.
        if self.response.stop_reason == StopReason::Stop {
            return CompactionDecision::Compact {
                reason,
                omit: Vec::new(),
                retry: false,
            };
        }
        match self.recovery {
            RecoveryState::Attempted => CompactionDecision::Failed(failure),
            RecoveryState::NotAttempted => CompactionDecision::Compact {
                reason,
                omit: self
                    .response_id
                    .into_iter()
                    .chain(self.result_ids)
                    .cloned()
                    .collect(),
                retry: true,
            },
        }
    }

    fn is_same_model(&self) -> bool {
        self.response.provider == self.model.provider && self.response.model == self.model.id
    }

    /// An response that was given before the latest compaction says nothing about the context now.
    fn precedes_compaction(&self, response: &AssistantMessage) -> bool {
        let compaction = self.projection.compaction();
        let compacted_at = compaction.and_then(|(entry, _)| entry.timestamp_ms());
        compacted_at.is_some_and(|moment| response.timestamp <= moment)
    }

    fn has_overflowed(&self) -> bool {
        let refused =
            self.response.stop_reason == StopReason::Error && is_context_overflow(self.response, 0);
        let describes_context = self.is_shown() && !self.is_followed_by_edit();
        (refused && self.is_retained())
            || (describes_context && is_context_overflow(self.response, self.model.context_window))
    }

    /// Returns the index of the response's entry in the projection.
    fn position(&self) -> Option<usize> {
        let id = self.response_id?;
        let entries = self.projection.entries();
        entries.iter().position(|entry| entry.entry().id == *id)
    }

    /// Returns whether the response is part of the context.
    fn is_shown(&self) -> bool {
        let Some(position) = self.position() else {
            return self.response_id.is_none();
        };
        let entry = self.projection.entries().get(position);
        entry.is_some_and(|entry| {
            let mut messages = entry.messages().iter();
            messages.any(|message| matches!(message, AgentMessage::Assistant(_)))
        })
    }

    fn is_followed_by_edit(&self) -> bool {
        self.edits_after_answer().next().is_some()
    }

    /// Returns whether nobody has left the response out since.
    fn is_retained(&self) -> bool {
        let Some(id) = self.response_id else {
            return true;
        };
        let last_edit = self
            .edits_after_answer()
            .filter(|edit| edit.target_id == *id)
            .last();
        let is_omitted = last_edit.is_some_and(|edit| edit.replacement.is_none());
        self.position().is_some() && !is_omitted
    }

    fn edits_after_answer(&self) -> impl Iterator<Item = &crate::entry::ContextEditEntry> {
        let first = self.position().map_or(usize::MAX, |position| position + 1);
        let entries = self.projection.entries().iter().skip(first);
        entries.filter_map(|entry| match &entry.entry().body {
            EntryBody::ContextEdit(edit) => Some(edit),
            _ => None,
        })
    }

    /// Returns the size of the context; none where all that is known describes an older one.
    fn tokens(&self) -> Option<u64> {
        let mut entries = self.projection.entries().iter();
        if entries.any(|entry| matches!(entry.entry().body, EntryBody::ContextEdit(_))) {
            return Some(self.projection.estimate().tokens);
        }
        let reported = self.response.usage.context_tokens();
        if self.response.stop_reason != StopReason::Error && reported > 0 {
            return Some(reported);
        }
        // A service in trouble counts nothing: go by the last response that did, if it has seen this
        // context and not the one before the compaction.
        let last = self.projection.last_report();
        if last.is_some_and(|report| self.precedes_compaction(report.response)) {
            return None;
        }
        Some(self.projection.estimate_despite_changes().tokens)
    }
}

#[cfg(test)]
mod tests;
