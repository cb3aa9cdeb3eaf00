//! Tracks the conversation state that the service keeps for an open connection.
//!
//! A connection remembers its last response. If the next request continues from there, only the
//! new items are sent; otherwise the complete request is. Nothing here does I/O.

use pi_protocol::json::JsonObject;
use serde_json::Value;

/// The last exchange of a connection.
#[derive(Debug, Default)]
pub(super) struct ContinuationCache(Option<LastExchange>);

#[derive(Debug)]
struct LastExchange {
    /// The body without its input.
    settings: JsonObject,
    /// The input and the response items.
    items: Vec<Value>,
    response_id: String,
}

impl ContinuationCache {
    /// Returns the request to send for `body`.
    ///
    /// A body that does not continue the last exchange is sent completely, and the exchange is
    /// cleared.
    pub(super) fn request_for(&mut self, body: &JsonObject) -> JsonObject {
        let Some((new_items, response_id)) = self.new_items(body) else {
            self.clear();
            return body.clone();
        };
        let mut request = settings_of(body);
        request.insert("previous_response_id".into(), response_id.into());
        request.insert("input".into(), new_items.into());
        request
    }

    /// Stores an exchange: the complete request body and the response items.
    pub(super) fn store(
        &mut self,
        body: &JsonObject,
        response_id: &str,
        response_items: Vec<Value>,
    ) {
        let mut items = input_of(body).to_vec();
        items.extend(response_items);
        self.0 = Some(LastExchange {
            settings: settings_of(body),
            items,
            response_id: response_id.to_owned(),
        });
    }

    pub(super) fn clear(&mut self) {
        self.0 = None;
    }

    fn new_items(&self, body: &JsonObject) -> Option<(Vec<Value>, String)> {
        let last = self.0.as_ref()?;
        let new_items = input_of(body).strip_prefix(last.items.as_slice())?;
        (settings_of(body) == last.settings).then(|| (new_items.to_vec(), last.response_id.clone()))
    }
}

fn settings_of(body: &JsonObject) -> JsonObject {
    let settings = body
        .iter()
        .filter(|(name, _)| !matches!(name.as_str(), "input" | "previous_response_id"));
    settings
        .map(|(name, value)| (name.clone(), value.clone()))
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

    fn cache_after_one_exchange() -> ContinuationCache {
        let mut cache = ContinuationCache::default();
        assert_eq!(cache.request_for(&body("low", &["a"])), body("low", &["a"]));
        cache.store(&body("low", &["a"]), "resp_1", vec![json!("b")]);
        cache
    }

    #[test]
    fn a_continuation_sends_only_the_new_items() {
        let mut cache = cache_after_one_exchange();
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
            "a repeated request has no new items"
        );
    }

    #[test]
    fn anything_else_is_sent_completely() {
        let others = [
            body("high", &["a", "b", "c"]),
            body("low", &["a", "x", "c"]),
            body("low", &["a"]),
            body("low", &[]),
        ];
        for other in others {
            let mut cache = cache_after_one_exchange();
            assert_eq!(cache.request_for(&other), other);
            let next = body("low", &["a", "b", "c"]);
            assert_eq!(cache.request_for(&next), next, "the exchange is cleared");
        }
        let mut cache = cache_after_one_exchange();
        cache.clear();
        let next = body("low", &["a", "b", "c"]);
        assert_eq!(cache.request_for(&next), next);
    }
}
