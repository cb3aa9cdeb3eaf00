//! Serializes events as lines.

use std::sync::Arc;

use parking_lot::Mutex;
use pi_protocol::{AgentEvent, AssistantMessageEvent, SessionEvent, UpdateFormat, Usage};

/// Serializes the events of one client.
#[derive(Debug, Default)]
pub struct EventLines {
    format: UpdateFormat,
    usage: Mutex<UsageCache>,
}

/// The usage serialized last. Every delta of a response carries it, but it changes only a few times
/// per response.
#[derive(Debug, Default)]
struct UsageCache {
    usage: Arc<Usage>,
    json: String,
}

impl UsageCache {
    /// Returns the usage as JSON.
    fn of(&mut self, usage: &Arc<Usage>) -> serde_json::Result<&str> {
        let is_same = Arc::ptr_eq(&self.usage, usage) || self.usage == *usage;
        if self.json.is_empty() || !is_same {
            self.json = pi_protocol::json::to_string(usage)?;
        }
        self.usage = Arc::clone(usage);
        Ok(&self.json)
    }
}

impl EventLines {
    pub fn new(format: UpdateFormat) -> Self {
        Self {
            format,
            usage: Mutex::default(),
        }
    }

    /// Returns the line of an event for clients of the TypeScript pi; `None` if they do not know it.
    pub fn compatible(&self, event: &SessionEvent) -> serde_json::Result<Option<String>> {
        match (event, self.format) {
            (
                SessionEvent::Agent(AgentEvent::MessageUpdate {
                    usage,
                    assistant_message_event,
                    ..
                }),
                UpdateFormat::Delta,
            ) => self.update_line(usage, assistant_message_event).map(Some),
            _ => event.to_compatible_json(self.format),
        }
    }

    /// Serializes a message update exactly as [`SessionEvent::to_compatible_json`] does, but faster: it is by
    /// far the most frequent event.
    fn update_line(
        &self,
        usage: &Arc<Usage>,
        event: &AssistantMessageEvent,
    ) -> serde_json::Result<String> {
        const AROUND: [&str; 3] = [
            r#"{"type":"message_update","usage":"#,
            r#","assistantMessageEvent":"#,
            "}",
        ];
        /// Enough for a usual delta.
        const EVENT_LENGTH: usize = 128;
        let [start, between, end] = AROUND;
        let mut cached = self.usage.lock();
        let usage = cached.of(usage)?;
        let around = start.len() + between.len() + end.len();
        let mut line = Vec::with_capacity(around + usage.len() + EVENT_LENGTH);
        for part in [start, usage, between] {
            line.extend_from_slice(part.as_bytes());
        }
        pi_protocol::json::write(&mut line, event)?;
        line.extend_from_slice(end.as_bytes());
        String::from_utf8(line).map_err(serde::ser::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use pi_protocol::MessageBuilder;
    use pi_providers::FauxProvider;
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn a_message_update_serializes_like_other_events_with_the_current_usage() {
        let events = EventLines::new(UpdateFormat::Delta);
        let mut builder = MessageBuilder::new(&FauxProvider::new().model(), 7);
        for output in [0, 0, 5, 5, 9] {
            builder.set_usage(Usage {
                output,
                ..Usage::default()
            });
            let event = SessionEvent::Agent(AgentEvent::message_update(
                builder.live(),
                AssistantMessageEvent::TextDelta {
                    content_index: 0,
                    delta: "a \"word\"".to_owned(),
                },
            ));
            let line = events.compatible(&event).unwrap();
            assert_eq!(line, event.to_compatible_json(UpdateFormat::Delta).unwrap());
        }
    }
}
