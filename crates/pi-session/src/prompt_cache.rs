//! How well a provider's prompt cache serves a conversation: prompts that were paid for again.
//!
//! Nothing is asked of anybody; what answers report about their usage is compared with the request
//! before. What a miss means to the user is left to whoever shows it.

use std::time::Duration;

use pi_ai::{AgentMessage, AssistantMessage, Usage};

use crate::entry::{Entry, EntryBody};

/// Caches work in steps of about this many tokens; less is no miss.
const GRANULARITY: u64 = 1024;

/// What entries of usage are called that kept a cache warm.
const WARMING: &str = "cache_warm";

/// Tokens that the request before had in the cache and that were paid for again.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CacheMiss {
    pub tokens: u64,
    /// What they cost beyond a read from the cache, in US dollars.
    pub cost: f64,
    /// The time since the request before.
    pub idle: Duration,
    /// Whether another model was asked, which has a cache of its own.
    pub model_changed: bool,
}

/// The last request, as far as the next one can be compared with it.
#[derive(Debug, Clone, PartialEq)]
struct Request {
    prompt_tokens: u64,
    model: (String, String),
    timestamp: i64,
    /// The provider has told of a cache at some time.
    reports_cache: bool,
}

/// Follows the requests of a conversation.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CacheMissDetector {
    last: Option<Request>,
}

impl CacheMissDetector {
    /// Takes the next entry and returns the miss its request was; `read_rate` tells what a million
    /// tokens from the cache cost, by provider and model.
    pub fn observe_entry(
        &mut self,
        entry: &Entry,
        read_rate: impl Fn(&str, &str) -> f64,
    ) -> Option<CacheMiss> {
        match &entry.body {
            EntryBody::Message(AgentMessage::Assistant(answer)) => self.observe_response(answer, read_rate),
            EntryBody::Compaction(_) | EntryBody::BranchSummary(_) => {
                self.context_changed();
                None
            }
            EntryBody::Usage(usage) if usage.kind == WARMING => {
                let prompt_tokens = usage.usage.prompt_tokens();
                if prompt_tokens > 0 {
                    self.last = Some(Request {
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

    /// Takes the next answer and returns the miss its request was.
    pub fn observe_response(
        &mut self,
        answer: &AssistantMessage,
        read_rate: impl Fn(&str, &str) -> f64,
    ) -> Option<CacheMiss> {
        let usage = &answer.usage;
        let prompt_tokens = usage.prompt_tokens();
        if prompt_tokens == 0 {
            return None;
        }
        let model = (answer.provider.clone(), answer.model.clone());
        let has_cache = usage.cache_read > 0 || usage.cache_write > 0;
        let before = self.last.take();
        let reports_cache = before.as_ref().is_some_and(|before| before.reports_cache) || has_cache;
        let miss = before.filter(|_| reports_cache).and_then(|before| {
            let expected = before.prompt_tokens.min(prompt_tokens);
            let tokens = expected.saturating_sub(usage.cache_read);
            (tokens > GRANULARITY).then(|| CacheMiss {
                tokens,
                cost: extra_cost(tokens, usage, || read_rate(&model.0, &model.1)),
                idle: elapsed(before.timestamp, answer.timestamp),
                model_changed: before.model != model,
            })
        });
        self.last = Some(Request {
            prompt_tokens,
            model,
            timestamp: answer.timestamp,
            reports_cache,
        });
        miss
    }

    /// Tells that the next prompt is another one for good reason, such as a compaction.
    pub fn context_changed(&mut self) {
        self.last = None;
    }
}

/// Returns what tokens cost at the rate that was paid, beyond the rate of the cache.
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
    use pretty_assertions::assert_eq;
    use serde_json::{Value, json};

    use super::*;
    use crate::testing::{Path, answer, compaction, user};

    /// An answer whose request read and wrote so many tokens of the cache, beside its input.
    fn request(input: u64, read: u64, write: u64) -> Value {
        let mut answer = answer("a");
        answer["usage"] = json!({"input": input, "output": 1, "cacheRead": read, "cacheWrite": write,
            "cost": {"input": 0.0, "cacheWrite": 0.2, "cacheRead": 0.01}});
        answer
    }

    /// What happened, the entries, and the misses: their tokens, and whether the model changed.
    type Case = (&'static str, Vec<Value>, Vec<(u64, bool)>);

    fn misses(entries: impl IntoIterator<Item = Value>) -> Vec<(u64, bool)> {
        let path = Path::of(entries);
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
    fn a_prompt_that_was_cached_and_is_paid_again_is_a_miss() {
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
                "no cache at all",
                vec![request(9_000, 0, 0), request(9_500, 0, 0)],
                vec![],
            ),
            (
                "after warming",
                vec![first(), warmed, request(0, 0, 40_000)],
                vec![(30_000, false)],
            ),
        ];
        for (name, entries, wanted) in cases {
            assert_eq!(misses(entries), wanted, "{name}");
        }
    }

    #[test]
    fn a_miss_knows_what_it_cost_and_how_long_nothing_was_asked() {
        let mut late = request(0, 0, 40_000);
        let path = Path::of([request(0, 0, 40_000)]);
        late["timestamp"] = json!(crate::testing::START_MS + 600_000);
        let late = Path::of([late]);
        let mut cache = CacheMissDetector::default();
        assert_eq!(cache.observe_entry(&path.entries[0], |_, _| 1.0), None);
        let miss = cache.observe_entry(&late.entries[0], |_, _| 1.0).unwrap();
        assert_eq!(miss.idle, Duration::from_mins(10));
        // 0.2 dollars were paid, 0.04 would have been.
        assert!((miss.cost - 0.16).abs() < 1e-9, "{}", miss.cost);
    }
}
