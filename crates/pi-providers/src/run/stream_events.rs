//! Parses the events of a response for hooks that want them as the provider sent them.

use pi_http::SseParser;
use pi_protocol::{Model, ProviderError};
use serde_json::Value;

use crate::options::RequestHooks;

/// Reports server-sent events with JSON data. Parsing them twice is cheaper than carrying them through every decoder,
/// since hardly any session has such hooks.
pub(super) struct StreamEventReporter<'a> {
    hooks: &'a dyn RequestHooks,
    model: &'a Model,
    parser: SseParser,
}

impl<'a> StreamEventReporter<'a> {
    /// Returns `None` if no hook wants the events.
    pub(super) fn new(hooks: Option<&'a dyn RequestHooks>, model: &'a Model) -> Option<Self> {
        let hooks = hooks.filter(|hooks| hooks.wants_stream_events())?;
        Some(Self {
            hooks,
            model,
            parser: SseParser::new(),
        })
    }

    pub(super) async fn push(&mut self, bytes: &[u8]) -> Result<(), ProviderError> {
        let mut events: Vec<Value> = Vec::new();
        self.parser.push(bytes, |event| {
            // Other data, such as the end mark of some APIs, is no event.
            events.extend(serde_json::from_str(event.data));
            Ok(())
        })?;
        for event in events {
            self.hooks.on_stream_event(event, self.model).await;
        }
        Ok(())
    }
}
