//! Hooks for requests and responses on the wire.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_http::{HeaderOverrides, ResponseHead};
use pi_protocol::Model;
use pi_providers::RequestHooks;
use serde_json::{Value, json};

use super::{ExtensionsInner, typed};

pub(super) struct WireHooks(pub(super) Arc<ExtensionsInner>);

impl WireHooks {
    async fn emit(&self, name: &str, event: impl FnOnce() -> Value) -> Option<Value> {
        if !self.0.bridge.has_handler(name) {
            return None;
        }
        self.0.emit(typed(name, event()), None).await
    }
}

impl RequestHooks for WireHooks {
    fn on_payload<'a>(&'a self, payload: Value, _model: &'a Model) -> BoxFuture<'a, Value> {
        Box::pin(async move {
            let event = || json!({ "payload": payload });
            let result = self.emit("before_provider_request", event).await;
            let replacement = result.and_then(|result| result.get("payload").cloned());
            replacement.unwrap_or(payload)
        })
    }

    fn on_headers<'a>(
        &'a self,
        headers: HeaderOverrides,
        _model: &'a Model,
    ) -> BoxFuture<'a, HeaderOverrides> {
        Box::pin(async move {
            let event = || json!({ "headers": headers });
            let result = self.emit("before_provider_headers", event).await;
            let changed = result
                .and_then(|result| serde_json::from_value(result.get("headers")?.clone()).ok());
            changed.unwrap_or(headers)
        })
    }

    fn on_response<'a>(
        &'a self,
        response: &'a ResponseHead,
        _model: &'a Model,
    ) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            // An HTTP error is an error of the request, not a response for hooks.
            if response.status >= 400 {
                return;
            }
            let event = || json!({ "status": response.status, "headers": response.headers });
            self.emit("after_provider_response", event).await;
        })
    }
}
