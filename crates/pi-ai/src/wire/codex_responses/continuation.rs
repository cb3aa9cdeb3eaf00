//! What of a conversation the service still knows on an open connection.
//!
//! A connection remembers its last response. As long as the next request only goes on from there,
//! the new items are enough; everything else is sent whole. Nothing here does I/O.

use serde_json::Value;

use crate::json::JsonObject;

/// The last exchange of a connection.
#[derive(Debug, Default)]
pub(super) struct ContinuationCache(Option<Exchange>);

#[derive(Debug)]
struct Exchange {
    /// The body without its input.
    settings: JsonObject,
    /// The input and what came back.
    items: Vec<Value>,
    response_id: String,
}

impl ContinuationCache {
    /// Returns what to send so that the service ends up with `body`.
    ///
    /// A body that does not go on from the last exchange is sent whole, and the exchange is
    /// forgotten.
    pub(super) fn request_for(&mut self, body: &JsonObject) -> JsonObject {
        let Some((new_items, response_id)) = self.new_items(body) else {
            self.forget();
            return body.clone();
        };
        let mut request = settings_of(body);
        request.insert("previous_response_id".into(), response_id.into());
        request.insert("input".into(), new_items.into());
        request
    }

    /// Remembers an exchange: what the service was asked in whole, and what it answered.
    pub(super) fn remember(&mut self, body: &JsonObject, response_id: &str, answer: Vec<Value>) {
        let mut items = input_of(body).to_vec();
        items.extend(answer);
        self.0 = Some(Exchange {
            settings: settings_of(body),
            items,
            response_id: response_id.to_owned(),
        });
    }

    /// Forgets the exchange.
    pub(super) fn forget(&mut self) {
        self.0 = None;
    }

    fn new_items(&self, body: &JsonObject) -> Option<(Vec<Value>, String)> {
        let known = self.0.as_ref()?;
        let new_items = input_of(body).strip_prefix(known.items.as_slice())?;
        (settings_of(body) == known.settings)
            .then(|| (new_items.to_vec(), known.response_id.clone()))
    }
}

fn settings_of(body: &JsonObject) -> JsonObject {
    let kept = body
        .iter()
        .filter(|(name, _)| !matches!(name.as_str(), "input" | "previous_response_id"));
    kept.map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

fn input_of(body: &JsonObject) -> &[Value] {
    body.get("input")
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    fn body(settings: &str, input: &[&str]) -> JsonObject {
        let body = json!({"model": "alpha", "reasoning": settings, "input": input});
        body.as_object().unwrap().clone()
    }

    fn after_one_exchange() -> ContinuationCache {
        let mut cache = ContinuationCache::default();
        assert_eq!(cache.request_for(&body("low", &["a"])), body("low", &["a"]));
        cache.remember(&body("low", &["a"]), "resp_1", vec![json!("b")]);
        cache
    }

    #[test]
    fn what_goes_on_from_the_last_exchange_is_sent_alone() {
        let mut cache = after_one_exchange();
        let sent = cache.request_for(&body("low", &["a", "b", "c"]));
        assert_eq!(
            Value::Object(sent),
            json!({"model": "alpha", "reasoning": "low",
                "previous_response_id": "resp_1", "input": ["c"]})
        );
        let sent = cache.request_for(&body("low", &["a", "b"]));
        assert_eq!(
            sent["input"],
            json!([]),
            "asking again without anything new"
        );
    }

    #[test]
    fn anything_else_is_sent_whole() {
        let others = [
            body("high", &["a", "b", "c"]),
            body("low", &["a", "x", "c"]),
            body("low", &["a"]),
            body("low", &[]),
        ];
        for other in others {
            let mut cache = after_one_exchange();
            assert_eq!(cache.request_for(&other), other);
            let next = body("low", &["a", "b", "c"]);
            assert_eq!(cache.request_for(&next), next, "the exchange is forgotten");
        }
        let mut cache = after_one_exchange();
        cache.forget();
        let next = body("low", &["a", "b", "c"]);
        assert_eq!(cache.request_for(&next), next);
    }
}
