//! Session events: which blocks they add or update.

use std::time::Instant;

use pi_protocol::{
    AgentEvent, AgentMessage, CompactionOutcome, CompactionReason, EntryBody, SessionEvent, Usage,
};
use pi_tui::{Document, Liveness};
use pi_views::text::provider_error::readable_error;

use super::history::HistoryBuilder;
use super::{NoticeLevel, Transcript, extension_rendering};
use crate::blocks::{CostBlock, CostNotice, CustomBlock, Summarized, SummaryBlock, ToolCallBlock};

impl Transcript {
    /// Updates the blocks for a session event.
    pub(super) fn on_event(&mut self, document: &mut Document, event: &SessionEvent, now: Instant) {
        match event {
            SessionEvent::Agent(event) => self.on_agent_event(document, event, now),
            SessionEvent::AgentEnd { .. } => {
                if let Some(unfinished) = self.assistant.take() {
                    document.set_liveness(unfinished, Liveness::Settled);
                }
                self.arriving.clear();
            }
            SessionEvent::EntryAppended { entry } => match &entry.body {
                EntryBody::CustomMessage(custom) if custom.display => {
                    let renderer =
                        extension_rendering::for_message_entry(&self.bridge, entry, custom);
                    let block = CustomBlock::new(&custom.custom_type, &custom.content);
                    self.push(document, block.rendered_by(renderer));
                }
                EntryBody::Custom(custom) => {
                    if let Some(renderer) =
                        extension_rendering::for_entry(&self.bridge, entry, custom)
                    {
                        self.push(document, CustomBlock::drawn(renderer));
                    }
                }
                EntryBody::Compaction(compaction) => {
                    let (summary, usage) = (&compaction.summary, compaction.usage.as_ref());
                    self.add_compaction(document, summary, compaction.tokens_before, usage);
                }
                EntryBody::BranchSummary(branch) => {
                    let notice = self
                        .costs
                        .on_summary(Summarized::Branch, branch.usage.as_ref());
                    self.add_cost_notices(document, notice);
                }
                EntryBody::ContextEdit(_) => self.costs.on_entry(entry),
                _ => {}
            },
            SessionEvent::ThinkingLevelChanged { level } => self.costs.on_thinking(level.as_str()),
            SessionEvent::CompactionEnd {
                reason,
                result,
                aborted,
                error_message,
                ..
            } => {
                let is_manual = *reason == CompactionReason::Manual;
                let outcome = (result.as_deref(), *aborted, error_message.as_deref());
                self.finish_compaction(document, is_manual, outcome);
            }
            SessionEvent::AutoRetryStart {
                attempt,
                error_message,
                ..
            } => {
                self.remove_failed_answer(document);
                let error = readable_error(error_message);
                let reason = error.lines().next().unwrap_or_default();
                let text = format!("Attempt {attempt} failed: {reason}");
                self.push_notice(document, NoticeLevel::Status, text);
            }
            SessionEvent::AutoRetryEnd {
                success: false,
                attempt,
                final_error,
                canceled,
            } => {
                if *canceled {
                    // The line that says why stays.
                    self.status = None;
                    let text = "Retry canceled.".to_owned();
                    self.push_notice(document, NoticeLevel::Status, text);
                    return;
                }
                let error = final_error.as_deref().unwrap_or("unknown");
                let times = if *attempt == 1 { "retry" } else { "retries" };
                let text = format!("Failed after {attempt} {times}: {}", readable_error(error));
                self.remove_failed_answer(document);
                if self.status.is_some() && document.last() == self.status {
                    self.status
                        .take()
                        .and_then(|status| document.remove(status));
                }
                self.push_notice(document, NoticeLevel::Error, text);
            }
            SessionEvent::SummarizationRetryScheduled { error_message, .. } => {
                self.push_notice(document, NoticeLevel::Error, error_message.clone());
            }
            SessionEvent::SessionWarning { message } => {
                self.push_notice(document, NoticeLevel::Warning, message.clone());
            }
            _ => {}
        }
    }

    fn on_agent_event(&mut self, document: &mut Document, event: &AgentEvent, now: Instant) {
        match event {
            AgentEvent::MessageStart { message } => match &**message {
                AgentMessage::Assistant(_) => {
                    self.assistant = None;
                    self.arriving.clear();
                }
                AgentMessage::ToolResult(_) => {}
                other => {
                    let mut history = HistoryBuilder::new(&self.ui, &self.bridge);
                    history.add_message(other);
                    self.push_history(document, history);
                }
            },
            AgentEvent::MessageUpdate {
                live: Some(message),
                assistant_message_event,
                ..
            } => self.assistant_updated(document, message, assistant_message_event),
            AgentEvent::MessageEnd { message } => {
                if let AgentMessage::Assistant(answer) = &**message {
                    self.assistant_finished(document, answer);
                }
                let notices = self.costs.on_message(message);
                self.add_cost_notices(document, notices);
            }
            AgentEvent::ToolExecutionStart {
                tool_call_id,
                tool_name,
                args,
                // Calls that a tool makes itself have no row.
                parent_tool_call_id: None,
            } => {
                let id = self.call(document, tool_call_id, tool_name, args);
                self.update_block::<ToolCallBlock>(document, Some(id), |block| block.begin(now));
            }
            AgentEvent::ToolExecutionUpdate {
                tool_call_id,
                partial_result,
                ..
            } => {
                let id = self.calls.get(tool_call_id).copied();
                self.update_block::<ToolCallBlock>(document, id, |block| {
                    block.update(&partial_result.content, partial_result.details.as_ref());
                });
            }
            AgentEvent::ToolExecutionEnd {
                tool_call_id,
                result,
                is_error,
                duration_ms,
                ..
            } => {
                let id = self.calls.remove(tool_call_id);
                self.update_block::<ToolCallBlock>(document, id, |block| {
                    let details = result.details.as_ref();
                    block.end(&result.content, details, *is_error);
                    block.set_duration(*duration_ms);
                });
            }
            _ => {}
        }
    }

    /// Removes an answer that is only an error: the notice about the retries replaces it.
    fn remove_failed_answer(&mut self, document: &mut Document) {
        if let Some(failed) = self.failed.take() {
            document.remove(failed);
        }
    }

    fn finish_compaction(
        &mut self,
        document: &mut Document,
        is_manual: bool,
        outcome: (Option<&CompactionOutcome>, bool, Option<&str>),
    ) {
        match outcome {
            (Some(result), ..) => {
                let usage = result.usage.as_ref();
                self.add_compaction(document, &result.summary, result.tokens_before, usage);
            }
            // A manual compaction reports its outcome.
            _ if is_manual => {}
            (None, true, _) => {
                let text = "Compaction canceled".to_owned();
                self.push_notice(document, NoticeLevel::Status, text);
            }
            (None, false, Some(error)) => {
                self.push_notice(document, NoticeLevel::Error, error.to_owned());
            }
            (None, false, None) => {}
        }
    }

    fn add_compaction(
        &mut self,
        document: &mut Document,
        summary: &str,
        tokens_before: u64,
        usage: Option<&Usage>,
    ) {
        let summarized = Summarized::Compaction { tokens_before };
        self.push(document, SummaryBlock::new(summarized, summary));
        let notice = self.costs.on_summary(summarized, usage);
        self.add_cost_notices(document, notice);
    }

    fn add_cost_notices(
        &mut self,
        document: &mut Document,
        notices: impl IntoIterator<Item = CostNotice>,
    ) {
        for notice in notices {
            self.push(document, CostBlock::new(notice));
        }
    }
}
