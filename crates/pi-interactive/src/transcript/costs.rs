//! Cost notices: cache misses, summaries, cache warming, thinking dropped by a provider.

use pi_host::{CacheMiss, CacheReporter, Models};
use pi_protocol::{AgentMessage, AssistantMessage, CacheMissCause, Entry, Usage, UsageEntry};
use pi_tui::ColorToken;

use crate::blocks::{CostNotice, Summarized};
use crate::screen::footer::short_count;

/// Misses below both thresholds are not reported.
const MIN_REPORTED_TOKENS: u64 = 20_000;
const MIN_REPORTED_DOLLARS: f64 = 0.1;
/// Smaller amounts are not mentioned.
const MIN_DOLLARS: f64 = 0.01;
/// Usage kind of cache warming.
const WARMING: &str = "cache_warm";
/// Diagnostic type of changed requests, and the change that costs.
const TRANSFORMATIONS: &str = "anthropic_input_transformations";
const DROPPED: &str = "thinking_dropped";

/// Tracks the cost of requests.
#[derive(Clone, Debug, Default)]
pub(super) struct CostTracker {
    models: Option<Models>,
    cache: CacheReporter,
    /// Dropped thinking blocks reported with the previous message.
    dropped: usize,
}

impl CostTracker {
    /// Starts with an empty conversation.
    pub(super) fn with_prices(models: &Models) -> Self {
        Self {
            models: Some(models.clone()),
            ..Self::default()
        }
    }

    /// Starts over with the same prices.
    pub(super) fn with_same_prices(&self) -> Self {
        Self {
            models: self.models.clone(),
            ..Self::default()
        }
    }

    /// Records a message of the conversation.
    pub(super) fn on_message(&mut self, message: &AgentMessage) -> Vec<CostNotice> {
        let models = self.models.as_ref();
        let read_rate = |provider: &str, model: &str| {
            let model = models.and_then(|models| models.model(provider, model));
            model.map_or(0.0, |model| model.cost.rates.cache_read)
        };
        let miss = self.cache.observe_message(message, read_rate);
        let AgentMessage::Assistant(answer) = message else {
            return Vec::new();
        };
        let before = std::mem::replace(&mut self.dropped, dropped_thinking(answer));
        let dropped = (self.dropped > before).then(|| {
            let thoughts = match self.dropped {
                1 => "1 earlier thinking block".to_owned(),
                count => format!("{count} earlier thinking blocks"),
            };
            format!("The provider dropped {thoughts}")
        });
        let texts = miss.and_then(miss_notice).into_iter().chain(dropped);
        texts.map(warning).collect()
    }

    /// Records a summary, which replaces the messages before it.
    pub(super) fn on_summary(
        &mut self,
        what: Summarized,
        usage: Option<&Usage>,
    ) -> Option<CostNotice> {
        self.cache.summarized();
        let usage = usage?;
        let what = match what {
            Summarized::Compaction { .. } => "Compaction",
            Summarized::Branch => "Branch summary",
        };
        let tokens = usage.prompt_tokens().saturating_add(usage.output);
        let amount = amount(usage.cost.total);
        Some(warning(format!(
            "{what} used {} tokens{amount}",
            short_count(tokens)
        )))
    }

    /// Records an entry that may change later requests, such as an edit of the context.
    pub(super) fn on_entry(&mut self, entry: &Entry) {
        self.cache.observe_on_branch(entry, |_, _| 0.0);
    }

    /// Records the thinking level of the requests that follow.
    pub(super) fn on_thinking(&mut self, level: &str) {
        self.cache.observe_thinking(level);
    }

    /// Records an automatic cache-warming request.
    pub(super) fn on_cache_warm(
        &mut self,
        entry: &Entry,
        usage: &UsageEntry,
    ) -> Option<CostNotice> {
        self.on_entry(entry);
        if usage.kind != WARMING {
            return None;
        }
        let note = usage
            .note
            .as_ref()
            .map_or(String::new(), |note| format!(" ({note})"));
        Some(CostNotice {
            token: ColorToken::Dim,
            text: format!("Prompt cache warmed{note}: ${:.4}", usage.usage.cost.total),
        })
    }
}

fn warning(text: String) -> CostNotice {
    CostNotice {
        token: ColorToken::Warning,
        text,
    }
}

/// Returns the notice for a miss, if it is worth reporting.
fn miss_notice((miss, causes): (CacheMiss, Vec<CacheMissCause>)) -> Option<String> {
    if miss.tokens < MIN_REPORTED_TOKENS && miss.cost < MIN_REPORTED_DOLLARS {
        return None;
    }
    let tokens = short_count(miss.tokens);
    let amount = amount(miss.cost);
    let cause = causes.first().map(|cause| format!(": {cause}"));
    let cause = cause.unwrap_or_default();
    Some(format!(
        "Cache miss: {tokens} tokens re-sent uncached{amount}{cause}"
    ))
}

fn amount(dollars: f64) -> String {
    if dollars < MIN_DOLLARS {
        return String::new();
    }
    format!(" (~${dollars:.2})")
}

fn dropped_thinking(answer: &AssistantMessage) -> usize {
    let reports = answer.diagnostics.iter().flatten();
    let changes = reports
        .filter(|report| report.kind == TRANSFORMATIONS)
        .filter_map(|report| report.details.as_ref()?.get("transformations")?.as_array());
    changes
        .flatten()
        .filter(|change| change.get("type").and_then(|kind| kind.as_str()) == Some(DROPPED))
        .count()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    fn answer(model: &str, read: u32, write: u32, at_minute: i64) -> AssistantMessage {
        serde_json::from_value(json!({
            "content": [], "api": "a", "provider": "p", "model": model, "stopReason": "stop",
            "usage": {"input": 0, "output": 1, "cacheRead": read, "cacheWrite": write,
                "cost": {"cacheWrite": f64::from(write) * 4e-6, "cacheRead": 0}},
            "timestamp": at_minute * 60_000,
        }))
        .unwrap()
    }

    /// The notices of an answer.
    fn answered(costs: &mut CostTracker, answer: AssistantMessage) -> Vec<String> {
        texts(costs.on_message(&AgentMessage::Assistant(answer.into())))
    }

    fn texts(notices: Vec<CostNotice>) -> Vec<String> {
        notices.into_iter().map(|notice| notice.text).collect()
    }

    #[test]
    fn a_miss_shows_tokens_and_cause() {
        let mut costs = CostTracker::default();
        let none = [""; 0];
        assert_eq!(answered(&mut costs, answer("m", 0, 100_000, 0)), none);
        assert_eq!(
            answered(&mut costs, answer("m", 0, 100_000, 1)),
            ["Cache miss: 100k tokens re-sent uncached (~$0.40)"]
        );
        assert_eq!(
            answered(&mut costs, answer("m", 0, 100_000, 13)),
            [
                "Cache miss: 100k tokens re-sent uncached (~$0.40): the cache expired: no request for 12 minutes"
            ]
        );
        assert_eq!(
            answered(&mut costs, answer("n", 0, 100_000, 13)),
            ["Cache miss: 100k tokens re-sent uncached (~$0.40): model changed from p/m to p/n"]
        );
        costs.on_thinking("low");
        costs.on_thinking("high");
        assert_eq!(
            answered(&mut costs, answer("n", 0, 100_000, 13)),
            [
                "Cache miss: 100k tokens re-sent uncached (~$0.40): thinking level changed from low to high"
            ]
        );
        let below = answered(&mut costs, answer("n", 95_000, 10_000, 13));
        assert_eq!(below, none, "below the threshold");
    }

    #[test]
    fn a_miss_names_a_changed_section() {
        let mut costs = CostTracker::default();
        let prompt = |date: &str| {
            let prompt = json!({"role": "system", "content": "", "sections": {"project_context": date}, "timestamp": 0});
            serde_json::from_value::<AgentMessage>(prompt).unwrap()
        };
        costs.on_message(&prompt("Monday"));
        answered(&mut costs, answer("m", 0, 100_000, 0));
        costs.on_message(&prompt("Tuesday"));
        assert_eq!(
            answered(&mut costs, answer("m", 0, 100_000, 1)),
            [
                "Cache miss: 100k tokens re-sent uncached (~$0.40): AGENTS.md or another context file changed"
            ]
        );
    }

    #[test]
    fn a_summary_shows_its_tokens_and_resets_the_cache() {
        let mut costs = CostTracker::default();
        let first = answer("m", 0, 100_000, 0);
        answered(&mut costs, first.clone());
        let notice = costs.on_summary(Summarized::Branch, Some(&first.usage));
        assert_eq!(
            notice.map(|notice| notice.text),
            Some("Branch summary used 100k tokens".to_owned())
        );
        assert_eq!(answered(&mut costs, answer("m", 0, 30_000, 1)), [""; 0]);
    }

    #[test]
    fn dropped_thinking_is_reported_once() {
        let mut costs = CostTracker::default();
        let mut answer = answer("m", 0, 0, 0);
        answer.diagnostics = serde_json::from_value(json!([{
            "type": TRANSFORMATIONS,
            "details": {"transformations": [{"type": DROPPED}, {"type": "other"}, {"type": DROPPED}]},
        }]))
        .unwrap();
        assert_eq!(
            answered(&mut costs, answer.clone()),
            ["The provider dropped 2 earlier thinking blocks"]
        );
        assert_eq!(answered(&mut costs, answer), [""; 0]);
    }
}
