//! Parses the events of a response for hooks that want them as the provider sent them.

use pi_http::SseParser;
use pi_protocol::{Model, ProviderError};
use serde_json::Value;

use crate::options::RequestHooks;
use crate::wire::StreamEventParser;

/// Reports the events of a response. Parsing them twice is cheaper than carrying them through every decoder, since
/// hardly any session has such hooks.
pub(super) struct StreamEventReporter<'a> {
    hooks: &'a dyn RequestHooks,
    model: &'a Model,
    parser: Box<dyn StreamEventParser>,
}

impl<'a> StreamEventReporter<'a> {
    /// Returns `None` if no hook wants the events.
    pub(super) fn new(
        hooks: Option<&'a dyn RequestHooks>,
        model: &'a Model,
        parser: impl FnOnce() -> Box<dyn StreamEventParser>,
    ) -> Option<Self> {
        let hooks = hooks.filter(|hooks| hooks.wants_stream_events())?;
        Some(Self {
            hooks,
            model,
            parser: parser(),
        })
    }

    pub(super) async fn push(&mut self, bytes: &[u8]) -> Result<(), ProviderError> {
        for event in self.parser.parse(bytes)? {
            self.hooks.on_stream_event(event, self.model).await;
        }
        Ok(())
    }
}

/// Server-sent events with JSON data. Other data, such as the end mark of some APIs, is no event.
impl StreamEventParser for SseParser {
    fn parse(&mut self, bytes: &[u8]) -> Result<Vec<Value>, ProviderError> {
        let mut events = Vec::new();
        self.push(bytes, |event| {
            events.extend(serde_json::from_str::<Value>(event.data));
            Ok(())
        })?;
        Ok(events)
    }
}
