//! Hooks for requests and responses on the wire.

use futures_util::future::BoxFuture;
use pi_extensions::SessionExtensions;
use pi_extensions::events::{
    AfterProviderResponse, BeforeProviderHeaders, BeforeProviderRequest, ProviderStreamEvent,
};
use pi_http::{HeaderOverrides, ResponseHead};
use pi_protocol::Model;
use pi_providers::RequestHooks;
use serde_json::Value;

pub(super) struct WireHooks(pub(super) SessionExtensions);

impl RequestHooks for WireHooks {
    fn on_payload<'a>(&'a self, payload: Value, _model: &'a Model) -> BoxFuture<'a, Value> {
        Box::pin(async move {
            let event = || BeforeProviderRequest { payload: &payload };
            let result = self.0.emit(None, event).await;
            result.map_or(payload, |result| result.payload)
        })
    }

    fn on_headers<'a>(
        &'a self,
        headers: HeaderOverrides,
        _model: &'a Model,
    ) -> BoxFuture<'a, HeaderOverrides> {
        Box::pin(async move {
            let event = || BeforeProviderHeaders { headers: &headers };
            let result = self.0.emit(None, event).await;
            result.and_then(|result| result.headers).unwrap_or(headers)
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
            let event = || AfterProviderResponse {
                status: response.status,
                headers: &response.headers,
            };
            self.0.emit(None, event).await;
        })
    }

    fn wants_stream_events(&self) -> bool {
        self.0.has_handler::<ProviderStreamEvent<'_>>()
    }

    fn on_stream_event<'a>(&'a self, data: Value, model: &'a Model) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let event = || ProviderStreamEvent {
                provider: &model.provider,
                api: &model.api,
                model: &model.id,
                data: &data,
            };
            self.0.emit(None, event).await;
        })
    }
}
