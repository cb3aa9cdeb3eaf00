//! How long requests and tools take, on the monotonic clock.

use std::sync::Arc;
use std::time::Duration;

use pi_protocol::{AssistantMessage, AssistantMessageEvent, ThinkingLevel};
use pi_stream::AssistantStream;
use tokio::time::Instant;

const HALF_A_MILLISECOND: Duration = Duration::from_micros(500);

/// Returns the time since the start, in whole milliseconds.
pub(crate) fn elapsed_ms(started: Instant) -> u64 {
    let rounded = started.elapsed() + HALF_A_MILLISECOND;
    u64::try_from(rounded.as_millis()).unwrap_or(u64::MAX)
}

/// What is known about a request when it starts, and belongs to its response.
pub(super) struct RequestStart {
    started: Instant,
    thinking_level: ThinkingLevel,
}

impl RequestStart {
    pub(super) fn now(thinking_level: ThinkingLevel) -> Self {
        Self {
            started: Instant::now(),
            thinking_level,
        }
    }

    /// Returns what completes the response of the stream.
    pub(super) fn of_stream(self, stream: &AssistantStream) -> ResponseCompletion {
        ResponseCompletion {
            request: self,
            created_at: stream.live().read(|message| message.timestamp),
        }
    }
}

/// Adds the duration and the thinking level of a request to its response.
pub(super) struct ResponseCompletion {
    request: RequestStart,
    /// Timestamp of the stream; an older response was not made for this request.
    created_at: i64,
}

impl ResponseCompletion {
    /// Completes the message of a terminal event.
    pub(super) fn complete(&self, event: &mut AssistantMessageEvent) {
        if let AssistantMessageEvent::Done { message, .. }
        | AssistantMessageEvent::Error { error: message, .. } = event
        {
            self.complete_message(Arc::make_mut(message));
        }
    }

    fn complete_message(&self, message: &mut AssistantMessage) {
        if message.duration_ms.is_none() && message.timestamp >= self.created_at {
            message.duration_ms = Some(elapsed_ms(self.request.started));
        }
        let level = self.request.thinking_level.as_str();
        message.thinking_level = Some(level.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use pi_protocol::{ProviderError, StopReason};
    use pretty_assertions::assert_eq;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_response_gets_the_duration_and_the_level_of_its_request() {
        let model = serde_json::from_value(serde_json::json!({"id": "m", "name": "m", "api": "a",
            "provider": "p", "baseUrl": "", "reasoning": true, "input": ["text"], "cost": {},
            "contextWindow": 1000, "maxTokens": 100}))
        .unwrap();
        for (timestamp, duration) in [(5, Some(1235)), (4, None)] {
            let request = RequestStart::now(ThinkingLevel::High);
            let stream = AssistantStream::failed(&model, 5, ProviderError::protocol("unused"));
            let completion = request.of_stream(&stream);
            tokio::time::advance(Duration::from_micros(1_234_500)).await;
            let message = Arc::new(AssistantMessage {
                timestamp,
                ..AssistantMessage::default()
            });
            let reason = StopReason::Stop;
            let mut event = AssistantMessageEvent::Done { reason, message };
            completion.complete(&mut event);
            let message = event.final_message().unwrap();
            assert_eq!(message.duration_ms, duration, "{timestamp}");
            assert_eq!(message.thinking_level.as_deref(), Some("high"));
        }
    }
}
