//! Describes a plan without executing it.

use pi_protocol::{CompactionPreview, Model};
use pi_session::Projection;

use super::CompactionPlan;
use super::request::Summarizer;
use crate::estimate::message_tokens;

/// What a summary usually has.
const USUAL_SUMMARY_TOKENS: u64 = 1500;

impl CompactionPlan {
    /// Returns what the plan summarizes and keeps, and what its requests would cost. `projection` is the one that was
    /// planned.
    pub fn preview(
        &self,
        projection: &Projection,
        summarizer: &Summarizer<'_>,
        focus: Option<&str>,
    ) -> CompactionPreview {
        let messages = self.history_messages().chain(self.turn_prefix_messages());
        let (summarized_messages, summarized_tokens) = messages
            .fold((0, 0), |(count, tokens), message| {
                (count + 1, tokens + message_tokens(message))
            });
        let kept = projection
            .entries()
            .iter()
            .skip_while(|entry| entry.entry().id != self.first_kept_entry_id)
            .flat_map(pi_session::ProjectedEntry::messages);
        let (kept_messages, kept_tokens) = kept.fold((0, 0), |(count, tokens), message| {
            (count + 1, tokens + message_tokens(message))
        });
        let system = projection
            .system_message()
            .map_or(0, |system| message_tokens(&system.into()));
        let requests = self.requests(summarizer, focus);
        let request_tokens = requests
            .iter()
            .flat_map(|request| request.messages.iter().cloned())
            .map(|message| message_tokens(&message.into()))
            .sum();
        // A summary is shorter than what it summarizes.
        let usual = USUAL_SUMMARY_TOKENS.saturating_mul(requests.len() as u64);
        let summaries = usual.min(summarized_tokens);
        let files = self.files.lists();
        CompactionPreview {
            first_kept_entry_id: self.first_kept_entry_id.clone(),
            tokens_before: self.tokens_before,
            estimated_tokens_after: system + kept_tokens + summaries,
            summarized_messages,
            summarized_tokens,
            kept_messages,
            kept_tokens,
            splits_turn: self.is_split_turn(),
            updates_summary: self.previous_summary.is_some(),
            read_files: files.read,
            modified_files: files.modified,
            model: format!("{}/{}", summarizer.model.provider, summarizer.model.id),
            request_tokens,
            estimated_cost: cost(summarizer.model, request_tokens, summaries),
        }
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "token counts stay far below 2^53"
)]
fn cost(model: &Model, input: u64, output: u64) -> f64 {
    let rates = &model.cost.rates;
    (input as f64 * rates.input + output as f64 * rates.output) / 1e6
}
