//! Events of a session as lines of JSON, for RPC and for JSON mode.

use std::sync::{Mutex, PoisonError};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use pi_agent::AgentEvent;
use pi_ai::{AssistantMessageEvent, LiveMessage, Usage};
use pi_runtime::{SessionEvent, SessionListener, UpdateFormat};
use tokio_util::sync::CancellationToken;

use crate::line_sink::LineSink;

/// Writes every event it hears as a line. The session waits until the line is taken, which holds
/// it back while the reader is slow.
#[derive(Debug)]
pub struct JsonEventWriter {
    sink: LineSink,
    format: UpdateFormat,
    muted: CancellationToken,
    usage: Mutex<UsageCache>,
}

/// The usage that was told last. Every piece of an answer tells it, and it changes a few times in an
/// answer.
#[derive(Debug, Default)]
struct UsageCache {
    usage: Usage,
    json: String,
}

impl UsageCache {
    /// Spells the usage of an answer.
    fn of(&mut self, message: &LiveMessage) -> serde_json::Result<&str> {
        message.read(|message| {
            if self.json.is_empty() || self.usage != message.usage {
                self.json = pi_ai::json::to_string(&message.usage)?;
                self.usage = message.usage.clone();
            }
            Ok(())
        })?;
        Ok(&self.json)
    }
}

impl JsonEventWriter {
    /// Writes to this sink.
    pub fn new(sink: LineSink, format: UpdateFormat) -> Self {
        Self {
            sink,
            format,
            muted: CancellationToken::new(),
            usage: Mutex::default(),
        }
    }

    fn line(&self, event: &SessionEvent) -> serde_json::Result<String> {
        match (event, self.format) {
            (
                SessionEvent::Agent(AgentEvent::MessageUpdate {
                    message,
                    assistant_message_event,
                }),
                UpdateFormat::Delta,
            ) => self.update_line(message, assistant_message_event),
            _ => event.to_json(self.format),
        }
    }

    /// Spells what [`SessionEvent::to_json`] would, for the event that comes a thousand times as often as
    /// all others.
    fn update_line(
        &self,
        message: &LiveMessage,
        event: &AssistantMessageEvent,
    ) -> serde_json::Result<String> {
        let mut usage = self.usage.lock().unwrap_or_else(PoisonError::into_inner);
        let usage = usage.of(message)?;
        let event = pi_ai::json::to_string(event)?;
        Ok([
            r#"{"type":"message_update","usage":"#,
            usage,
            r#","assistantMessageEvent":"#,
            &event,
            "}",
        ]
        .concat())
    }

    /// Writes nothing more, and lets go of a session that waits for the reader.
    pub fn mute(&self) {
        self.muted.cancel();
    }
}

impl SessionListener for JsonEventWriter {
    fn on_event<'a>(&'a self, event: &'a SessionEvent) -> BoxFuture<'a, ()> {
        if self.muted.is_cancelled() {
            return std::future::ready(()).boxed();
        }
        let line = match self.line(event) {
            Ok(line) => line,
            Err(error) => {
                tracing::error!(%error, "an event cannot be spelled");
                return std::future::ready(()).boxed();
            }
        };
        if self.sink.try_send(&line) == Ok(true) {
            return std::future::ready(()).boxed();
        }
        async move {
            let sent = self.muted.run_until_cancelled(self.sink.send(line)).await;
            if let Some(Err(error)) = sent {
                tracing::debug!(%error, "an event has no reader");
            }
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use tokio::task::unconstrained;

    use pi_ai::{FauxProvider, MessageBuilder};
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::line_sink::LineWriter;

    #[tokio::test]
    async fn an_update_is_spelled_as_any_event_and_tells_the_usage_of_its_moment() {
        let writer = LineWriter::start(tokio::io::sink());
        let events = JsonEventWriter::new(writer.sink(), UpdateFormat::Delta);
        let mut builder = MessageBuilder::new(&FauxProvider::new().model(), 7);
        for output in [0, 0, 5, 5, 9] {
            builder.set_usage(Usage {
                output,
                ..Usage::default()
            });
            let event = SessionEvent::Agent(AgentEvent::MessageUpdate {
                message: builder.live(),
                assistant_message_event: AssistantMessageEvent::TextDelta {
                    content_index: 0,
                    delta: "a \"word\"".to_owned(),
                },
            });
            let line = events.line(&event).unwrap();
            assert_eq!(line, event.to_json(UpdateFormat::Delta).unwrap());
        }
    }

    #[tokio::test]
    async fn a_session_waits_for_the_reader_until_it_is_let_go() {
        let (near, _far) = tokio::io::duplex(1);
        let writer = LineWriter::start(near);
        let events = JsonEventWriter::new(writer.sink(), UpdateFormat::Delta);
        let event = SessionEvent::AgentSettled;
        let mut taken = 0;
        let mut waiting = loop {
            let mut hearing = events.on_event(&event);
            if unconstrained(&mut hearing).now_or_never().is_none() {
                break hearing;
            }
            taken += 1;
            tokio::task::yield_now().await;
            assert!(taken < 10_000, "nothing holds the session back");
        };
        events.mute();
        assert!((&mut waiting).now_or_never().is_some());
        assert!(events.on_event(&event).now_or_never().is_some());
    }
}
