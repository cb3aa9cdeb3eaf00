//! Detects prompt cache misses: prompts that were cached and re-sent uncached. It compares the
//! usage reported by responses with the previous request. How a miss is presented is up to the
//! caller.

use std::time::Duration;

use pi_protocol::{AgentMessage, AssistantMessage, Entry, EntryBody, Usage};

/// Cache granularity in tokens; smaller differences are not counted as misses.
const MIN_MISS_TOKENS: u64 = 1024;

/// The kind of usage entries that kept a cache warm.
const CACHE_WARM_KIND: &str = "cache_warm";

/// Tokens that were cached by the previous request and re-sent uncached.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CacheMiss {
    pub tokens: u64,
    /// Extra cost compared to a cache read, in US dollars.
    pub cost: f64,
    /// Time since the previous request.
    pub idle: Duration,
    /// Whether the model changed; each model has a separate cache.
    pub model_changed: bool,
}

/// The previous request, as far as it is needed for the comparison.
#[derive(Debug, Clone, PartialEq)]
struct LastRequest {
    prompt_tokens: u64,
    model: (String, String),
    timestamp: i64,
    /// Whether the provider has ever reported cache usage.
    reports_cache: bool,
}

/// Tracks the requests of a conversation.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CacheMissDetector {
    last: Option<LastRequest>,
}

impl CacheMissDetector {
    /// Processes the next entry and returns the cache miss of its request, if any. `read_rate`
    /// returns the price of a million cached tokens by provider and model.
    pub fn observe_entry(
        &mut self,
        entry: &Entry,
        read_rate: impl Fn(&str, &str) -> f64,
    ) -> Option<CacheMiss> {
        match &entry.body {
            EntryBody::Message(AgentMessage::Assistant(response)) => {
                self.observe_response(response, read_rate)
            }
            EntryBody::Compaction(_) | EntryBody::BranchSummary(_) => {
                self.context_changed();
                None
            }
            EntryBody::Usage(usage) if usage.kind == CACHE_WARM_KIND => {
                let prompt_tokens = usage.usage.prompt_tokens();
                if prompt_tokens > 0 {
                    self.last = Some(LastRequest {
                        prompt_tokens,
                        model: (usage.provider.clone(), usage.model.clone()),
                        timestamp: entry.timestamp_ms().unwrap_or_default(),
                        reports_cache: true,
                    });
                }
                None
            }
            _ => None,
        }
    }

    /// Processes the next response and returns the cache miss of its request, if any.
    pub fn observe_response(
        &mut self,
        response: &AssistantMessage,
        read_rate: impl Fn(&str, &str) -> f64,
    ) -> Option<CacheMiss> {
        let usage = &response.usage;
        let prompt_tokens = usage.prompt_tokens();
        if prompt_tokens == 0 {
            return None;
        }
        let model = (response.provider.clone(), response.model.clone());
        let has_cache = usage.cache_read > 0 || usage.cache_write > 0;
        let previous = self.last.take();
        let reports_cache = previous
            .as_ref()
            .is_some_and(|previous| previous.reports_cache)
            || has_cache;
        let miss = previous.filter(|_| reports_cache).and_then(|previous| {
            let expected = previous.prompt_tokens.min(prompt_tokens);
            let tokens = expected.saturating_sub(usage.cache_read);
            (tokens > MIN_MISS_TOKENS).then(|| CacheMiss {
                tokens,
                cost: extra_cost(tokens, usage, || read_rate(&model.0, &model.1)),
                idle: elapsed(previous.timestamp, response.timestamp),
                model_changed: previous.model != model,
            })
        });
        self.last = Some(LastRequest {
            prompt_tokens,
            model,
            timestamp: response.timestamp,
            reports_cache,
        });
        miss
    }

    /// Resets the comparison because the next prompt is expected to differ, such as after a
    /// compaction.
    pub fn context_changed(&mut self) {
        self.last = None;
    }
}

/// Returns the cost of tokens at the rate paid, minus the cache read rate.
#[expect(
    clippy::cast_precision_loss,
    reason = "token counts stay far below 2^53"
)]
fn extra_cost(tokens: u64, usage: &Usage, read_rate: impl Fn() -> f64) -> f64 {
    let per_token = |cost: f64, tokens: u64| (tokens > 0).then(|| cost / tokens as f64);
    let paid = per_token(
        usage.cost.input + usage.cost.cache_write,
        usage.input.saturating_add(usage.cache_write),
    );
    let read = per_token(usage.cost.cache_read, usage.cache_read);
    let read = read.unwrap_or_else(|| read_rate() / 1e6);
    tokens as f64 * (paid.unwrap_or_default() - read).max(0.0)
}

fn elapsed(from: i64, to: i64) -> Duration {
    Duration::from_millis(u64::try_from(to.saturating_sub(from)).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use pi_session::testing::{TestPath, compaction, response, user};
    use pretty_assertions::assert_eq;
    use serde_json::{Value, json};

    use super::*;

    /// A response whose request had this much uncached input and read and wrote this many cached
    /// tokens.
    fn request(input: u64, read: u64, write: u64) -> Value {
        let mut response = response("a");
        response["usage"] = json!({"input": input, "output": 1, "cacheRead": read, "cacheWrite": write,
            "cost": {"input": 0.0, "cacheWrite": 0.2, "cacheRead": 0.01}});
        response
    }

    /// A name, the entries, and the expected misses: tokens and whether the model changed.
    type Case = (&'static str, Vec<Value>, Vec<(u64, bool)>);

    fn misses(entries: impl IntoIterator<Item = Value>) -> Vec<(u64, bool)> {
        let path = TestPath::of(entries);
        let mut cache = CacheMissDetector::default();
        let followed = path
            .entries
            .iter()
            .map(|entry| cache.observe_entry(entry, |_, _| 1.0));
        let misses = followed.flatten();
        misses
            .map(|miss| (miss.tokens, miss.model_changed))
            .collect()
    }

    #[test]
    fn a_cached_prompt_that_is_resent_uncached_is_a_miss() {
        let first = || request(10, 0, 50_000);
        let mut other_model = request(0, 0, 60_000);
        other_model["model"] = json!("beta");
        let warmed = json!({"type": "usage", "kind": "cache_warm", "provider": "mock", "model": "alpha",
            "usage": {"input": 0, "cacheRead": 30_000}});
        let cases: [Case; 8] = [
            ("the first", vec![first()], vec![]),
            (
                "a hit",
                vec![first(), user("x"), request(5, 50_000, 300)],
                vec![],
            ),
            (
                "a miss",
                vec![first(), request(0, 2_000, 60_000)],
                vec![(48_010, false)],
            ),
            ("noise", vec![first(), request(0, 49_500, 1_000)], vec![]),
            (
                "another model",
                vec![first(), other_model],
                vec![(50_010, true)],
            ),
            (
                "compacted",
                vec![first(), compaction("s", "e0"), request(0, 0, 9_000)],
                vec![],
            ),
            (
                "no cache",
                vec![request(9_000, 0, 0), request(9_500, 0, 0)],
                vec![],
            ),
            (
                "after warming",
                vec![first(), warmed, request(0, 0, 40_000)],
                vec![(30_000, false)],
            ),
        ];
        for (name, entries, expected) in cases {
            assert_eq!(misses(entries), expected, "{name}");
        }
    }

    #[test]
    fn a_miss_reports_extra_cost_and_idle_time() {
        let mut late = request(0, 0, 40_000);
        let path = TestPath::of([request(0, 0, 40_000)]);
        late["timestamp"] = json!(pi_session::testing::START_MS + 600_000);
        let late = TestPath::of([late]);
        let mut cache = CacheMissDetector::default();
        assert_eq!(cache.observe_entry(&path.entries[0], |_, _| 1.0), None);
        let miss = cache.observe_entry(&late.entries[0], |_, _| 1.0).unwrap();
        assert_eq!(miss.idle, Duration::from_mins(10));
        // 0.20 dollars were paid instead of 0.04.
        assert!((miss.cost - 0.16).abs() < 1e-9, "{}", miss.cost);
    }
}
