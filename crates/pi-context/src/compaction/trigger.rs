//! Decides when to compact automatically and whether to retry afterwards. The context is checked
//! before the next response of a run, before a new prompt, and after a run. The loop skips the
//! first check if the run ends with its batch of tools and nothing is queued.

use pi_protocol::overflow::{is_context_overflow, is_recoverable_length};
use pi_protocol::{
    AgentMessage, AssistantMessage, CompactionDecision, CompactionReason, EntryBody, EntryId,
    Model, RecoveryFailure, RecoveryState, StopReason,
};
use pi_session::Projection;

use super::settings::CompactionSettings;
use crate::estimate::{context_tokens, context_tokens_despite_changes, last_report};

/// When a check takes place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompactionPhase {
    AfterRun,
    BeforePrompt,
}

/// Checks the context after a response.
#[derive(Debug, Clone, Copy)]
pub struct CompactionCheck<'check> {
    pub phase: CompactionPhase,
    /// The context, including the response.
    pub projection: &'check Projection,
    pub response: &'check AssistantMessage,
    /// The entry of the response, if it was appended.
    pub response_id: Option<&'check EntryId>,
    /// Entries of its tool results.
    pub result_ids: &'check [EntryId],
    pub model: &'check Model,
    pub settings: &'check CompactionSettings,
    pub recovery: RecoveryState,
}

/// Returns whether a compaction is needed before the next response of a run.
pub fn needs_compaction(
    projection: &Projection,
    model: &Model,
    settings: &CompactionSettings,
) -> bool {
    settings.enabled
        && exceeds_threshold(
            context_tokens(projection).tokens,
            model.context_window,
            settings,
        )
}

impl CompactionCheck<'_> {
    pub fn decide(&self) -> CompactionDecision {
        let is_cancelled = self.response.stop_reason == StopReason::Aborted;
        if !self.settings.enabled
            || (is_cancelled && self.phase == CompactionPhase::AfterRun)
            || self.precedes_compaction(self.response, self.position())
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
        // A completed response is kept: there is nothing to retry.
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

    /// Returns whether the response is from before the latest compaction and does not describe the
    /// current context. The order on the path decides, since a retry may start in the millisecond
    /// of the compaction; the time decides only for a response outside of the projection.
    fn precedes_compaction(&self, response: &AssistantMessage, position: Option<usize>) -> bool {
        let Some((compaction, _)) = self.projection.compaction() else {
            return false;
        };
        match position {
            Some(index) => self.projection.path_position(index) < self.projection.path_position(0),
            None => compaction
                .timestamp_ms()
                .is_some_and(|time| response.timestamp <= time),
        }
    }

    fn has_overflowed(&self) -> bool {
        let refused =
            self.response.stop_reason == StopReason::Error && is_context_overflow(self.response, 0);
        let describes_context = self.is_shown() && !self.is_followed_by_edit();
        (refused && self.is_retained())
            || (describes_context && is_context_overflow(self.response, self.model.context_window))
    }

    /// Returns the index of the response in the projection.
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
        self.edits_after_response().next().is_some()
    }

    /// Returns whether the response has not been omitted since.
    fn is_retained(&self) -> bool {
        let Some(id) = self.response_id else {
            return true;
        };
        let last_edit = self
            .edits_after_response()
            .filter(|edit| edit.target_id == *id)
            .last();
        let is_omitted = last_edit.is_some_and(|edit| edit.replacement.is_none());
        self.position().is_some() && !is_omitted
    }

    fn edits_after_response(&self) -> impl Iterator<Item = &pi_protocol::ContextEditEntry> {
        let first = self.position().map_or(usize::MAX, |position| position + 1);
        let entries = self.projection.entries().iter().skip(first);
        entries.filter_map(|entry| match &entry.entry().body {
            EntryBody::ContextEdit(edit) => Some(edit),
            _ => None,
        })
    }

    /// Returns the context size; `None` if the only known size is from before the compaction.
    fn tokens(&self) -> Option<u64> {
        let mut entries = self.projection.entries().iter();
        if entries.any(|entry| matches!(entry.entry().body, EntryBody::ContextEdit(_))) {
            return Some(context_tokens(self.projection).tokens);
        }
        let reported = self.response.usage.context_tokens();
        if self.response.stop_reason != StopReason::Error && reported > 0 {
            return Some(reported);
        }
        // Failed responses report no usage. Use the last report unless it describes the context
        // before the compaction.
        let last = last_report(self.projection);
        if last.is_some_and(|report| {
            self.precedes_compaction(report.response, Some(report.entry_index))
        }) {
            return None;
        }
        Some(context_tokens_despite_changes(self.projection).tokens)
    }
}

/// Returns whether a context of this size leaves less than the reserve in the context window.
///
/// A window of zero is unknown and never exceeded.
pub fn exceeds_threshold(tokens: u64, context_window: u64, settings: &CompactionSettings) -> bool {
    settings.enabled
        && context_window > 0
        && tokens.saturating_add(settings.reserve_tokens) > context_window
}

#[cfg(test)]
mod tests;
