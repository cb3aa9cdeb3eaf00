//! The stream of a response: what providers write and sessions read.
//!
//! A stream exists before the connection does: it owns the future that connects, reads and
//! decodes, and drives it when it is polled. So there is no detached task, back-pressure reaches
//! the socket, and dropping the stream closes the connection. It never yields an `Err`: it ends
//! with exactly one `done` or `error` event.

mod content_budget;

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::vec;

use futures_util::{Stream, StreamExt};
use pi_protocol::{
    AssistantMessage, AssistantMessageEvent, LiveMessage, MessageBuilder, Model, ProviderError,
    StreamPhase,
};
use tokio::sync::{mpsc, watch};

use content_budget::ContentBudget;
pub use content_budget::response_too_large;

/// One batch is queued while the consumer handles another: enough to overlap the two, small enough
/// that a slow consumer applies back-pressure to the socket.
const BATCHES_IN_FLIGHT: usize = 1;

/// A streaming response: a [`Stream`] of events that can also be awaited for its final message.
pub struct AssistantStream {
    ready: vec::IntoIter<AssistantMessageEvent>,
    batches: mpsc::Receiver<Vec<AssistantMessageEvent>>,
    producer: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    live: LiveMessage,
    fallback: Option<MessageBuilder>,
    phase: watch::Receiver<StreamPhase>,
    ended: bool,
}

impl std::fmt::Debug for AssistantStream {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("AssistantStream")
            .field("live", &self.live)
            .finish_non_exhaustive()
    }
}

impl AssistantStream {
    /// Creates a stream whose events are written by the given producer.
    ///
    /// The producer gets a [`StreamWriter`] and must end the message through it; if it returns
    /// without doing so, the stream ends with a protocol error.
    pub fn produce<Producer, ProducerFuture>(
        model: &Model,
        timestamp: i64,
        producer: Producer,
    ) -> Self
    where
        Producer: FnOnce(StreamWriter) -> ProducerFuture,
        ProducerFuture: Future<Output = ()> + Send + 'static,
    {
        let builder = MessageBuilder::new(model, timestamp);
        let live = builder.live();
        let (sender, batches) = mpsc::channel(BATCHES_IN_FLIGHT);
        let (phase_sender, phase) = watch::channel(StreamPhase::default());
        let writer = StreamWriter {
            builder,
            sender,
            phase: phase_sender,
            budget: ContentBudget::default(),
            redact: None,
        };
        Self {
            ready: vec::IntoIter::default(),
            batches,
            producer: Some(Box::pin(producer(writer))),
            live,
            fallback: Some(MessageBuilder::new(model, timestamp)),
            phase,
            ended: false,
        }
    }

    pub fn failed(model: &Model, timestamp: i64, cause: ProviderError) -> Self {
        Self::produce(model, timestamp, |mut writer| async move {
            writer.message().fail(cause);
            writer.flush().await;
        })
    }

    /// Returns a handle to the message as it streams.
    pub fn live(&self) -> LiveMessage {
        self.live.clone()
    }

    /// Returns a watch on the current phase of the request.
    pub fn phase(&self) -> watch::Receiver<StreamPhase> {
        self.phase.clone()
    }

    /// Runs the stream to its end and returns the final message.
    pub async fn result(mut self) -> Arc<AssistantMessage> {
        loop {
            match self.next().await {
                Some(event) => {
                    if let Some(message) = event.final_message() {
                        return Arc::clone(message);
                    }
                }
                // Only reachable after the terminal event was taken by an earlier poll.
                None => return Arc::new(self.live.snapshot()),
            }
        }
    }

    /// Waits for the next events and returns all that are ready; empty when the stream has ended.
    async fn next_batch(&mut self) -> Vec<AssistantMessageEvent> {
        let is_ready = poll_fn(|context| self.poll_ready(context)).await;
        if !is_ready {
            return Vec::new();
        }
        let mut events: Vec<_> = std::mem::take(&mut self.ready).collect();
        let end = events
            .iter()
            .position(|event| event.final_message().is_some());
        if let Some(end) = end {
            events.truncate(end + 1);
            self.end();
        }
        events
    }

    fn take_ready(&mut self) -> Option<AssistantMessageEvent> {
        let event = self.ready.next()?;
        if event.final_message().is_some() {
            self.end();
        }
        Some(event)
    }

    fn end(&mut self) {
        self.ended = true;
        self.producer = None;
        self.ready = vec::IntoIter::default();
    }

    fn poll_batch(&mut self, context: &mut Context<'_>) -> bool {
        match self.batches.poll_recv(context) {
            Poll::Ready(Some(batch)) => {
                self.ready = batch.into_iter();
                true
            }
            Poll::Ready(None) | Poll::Pending => false,
        }
    }
}

impl AssistantStream {
    /// Waits for events; returns `false` when the stream has ended.
    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<bool> {
        loop {
            if self.ended {
                return Poll::Ready(false);
            }
            if self.ready.len() > 0 {
                return Poll::Ready(true);
            }
            if self.poll_batch(context) {
                continue;
            }
            match &mut self.producer {
                Some(producer) => match producer.as_mut().poll(context) {
                    Poll::Ready(()) => self.producer = None,
                    Poll::Pending => {
                        if !self.poll_batch(context) {
                            return Poll::Pending;
                        }
                    }
                },
                None => {
                    if self.poll_batch(context) {
                        continue;
                    }
                    match self.fallback.take() {
                        Some(mut builder) => {
                            builder.fail(ProviderError::protocol(
                                "The stream ended without a final event",
                            ));
                            self.ready = builder.take_events().into_iter();
                        }
                        None => self.ended = true,
                    }
                }
            }
        }
    }
}

impl Stream for AssistantStream {
    type Item = AssistantMessageEvent;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_ready(context).map(|_| self.take_ready())
    }
}

/// Removes secrets from a text.
type Redact = Box<dyn Fn(String) -> String + Send + Sync>;

/// The producer's end of a stream.
pub struct StreamWriter {
    builder: MessageBuilder,
    sender: mpsc::Sender<Vec<AssistantMessageEvent>>,
    phase: watch::Sender<StreamPhase>,
    budget: ContentBudget,
    /// Removes credentials from errors, which may repeat the request.
    redact: Option<Redact>,
}

impl StreamWriter {
    /// Returns the message to write to; its events reach the consumer with the next `flush`.
    pub fn message(&mut self) -> &mut MessageBuilder {
        &mut self.builder
    }

    /// Returns a watch on the current phase of the request.
    pub fn phase(&self) -> watch::Receiver<StreamPhase> {
        self.phase.subscribe()
    }

    pub fn set_phase(&self, phase: StreamPhase) {
        self.phase.send_replace(phase);
    }

    /// Sends the collected events, waiting while the consumer is behind.
    ///
    /// Cancel-safe: the events stay collected if the wait is canceled.
    pub async fn flush(&mut self) {
        if !self.builder.has_events() {
            return;
        }
        let Ok(permit) = self.sender.reserve().await else {
            // The consumer polls this future, so a closed channel means that it is being dropped.
            tracing::trace!("stream consumer was dropped");
            return;
        };
        let events = self.builder.take_events();
        self.budget.count(&events);
        if events.iter().any(|event| event.final_message().is_some()) {
            self.phase.send_replace(StreamPhase::Ended);
        }
        permit.send(events);
    }

    /// Fails if the message has more content or tool calls than a response may have. A producer that
    /// reads from a service checks this after each `flush`.
    pub fn check_budget(&self) -> Result<(), ProviderError> {
        self.budget.check()
    }

    /// Forwards another stream: its events and phases become ours, and readers of our message read
    /// its message from then on.
    pub async fn forward(self, mut stream: AssistantStream) {
        self.builder.live().redirect_to(stream.live());
        let mut phase = stream.phase();
        loop {
            let events = tokio::select! {
                biased;
                events = stream.next_batch() => Some(events),
                Ok(()) = phase.changed() => None,
            };
            self.set_phase(*phase.borrow_and_update());
            let Some(events) = events else { continue };
            if events.is_empty() || self.sender.send(events).await.is_err() {
                return;
            }
        }
    }

    pub async fn complete(mut self) {
        self.builder.complete();
        self.flush().await;
    }

    /// Lets `redact` remove the credentials of a request from the error that the stream may end with.
    pub fn redact_errors(&mut self, redact: impl Fn(String) -> String + Send + Sync + 'static) {
        self.redact = Some(Box::new(redact));
    }

    pub async fn fail(mut self, mut cause: ProviderError) {
        if let Some(redact) = &self.redact {
            cause.message = redact(cause.message);
        }
        self.builder.fail(cause);
        self.flush().await;
    }
}

impl std::fmt::Debug for StreamWriter {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("StreamWriter")
            .field("builder", &self.builder)
            .finish_non_exhaustive()
    }
}
