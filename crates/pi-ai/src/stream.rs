//! The stream type of all providers.
//!
//! A stream exists before the connection does: it owns the future that connects, reads and
//! decodes, and drives it when it is polled. So there is no detached task, back-pressure reaches
//! the socket, and dropping the stream closes the connection. It never yields an `Err`: it ends
//! with exactly one `done` or `error` event.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::{Stream, StreamExt};
use tokio::sync::{mpsc, watch};

use crate::error::ProviderError;
use crate::event::AssistantMessageEvent;
use crate::live_message::{LiveMessage, MessageBuilder};
use crate::message::AssistantMessage;
use crate::model::Model;

/// One batch waits while the consumer works on another: enough to overlap the two, small enough
/// that a slow consumer slows the socket down.
const BATCHES_IN_FLIGHT: usize = 1;

/// What a waiting request is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum StreamPhase {
    /// Credentials and the request body are being prepared.
    #[default]
    Preparing,
    /// The connection is being made.
    Connecting,
    /// The request is sent, nothing has come back.
    Waiting,
    Receiving,
    /// The service refused for the moment; another attempt follows.
    Retrying {
        /// The number of the coming attempt, the first retry being 1.
        attempt: u32,
        /// The wait before it.
        delay: Duration,
    },
    /// The stream has ended.
    Ended,
}

/// An answer as it arrives: a [`Stream`] of events that can also be awaited for its final message.
pub struct AssistantStream {
    ready: VecDeque<AssistantMessageEvent>,
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
    /// Creates a stream whose events the given producer writes.
    ///
    /// The producer gets a [`StreamWriter`] and must end the message through it; if it returns
    /// without doing so, the stream ends with an error of its own.
    pub fn produce<Producer, Running>(model: &Model, timestamp: i64, producer: Producer) -> Self
    where
        Producer: FnOnce(StreamWriter) -> Running,
        Running: Future<Output = ()> + Send + 'static,
    {
        let builder = MessageBuilder::new(model, timestamp);
        let live = builder.live();
        let (sender, batches) = mpsc::channel(BATCHES_IN_FLIGHT);
        let (phase_sender, phase) = watch::channel(StreamPhase::default());
        let writer = StreamWriter {
            builder,
            sender,
            phase: phase_sender,
        };
        Self {
            ready: VecDeque::new(),
            batches,
            producer: Some(Box::pin(producer(writer))),
            live,
            fallback: Some(MessageBuilder::new(model, timestamp)),
            phase,
            ended: false,
        }
    }

    /// Creates a stream that has already failed.
    pub fn failed(model: &Model, timestamp: i64, cause: ProviderError) -> Self {
        Self::produce(model, timestamp, |mut writer| async move {
            writer.message().fail(cause);
            writer.flush().await;
        })
    }

    /// Returns the message as it grows.
    pub fn live(&self) -> LiveMessage {
        self.live.clone()
    }

    /// Returns what the request is doing, as a value that can be watched.
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

    /// Waits for the next events and returns all that are there; none when the stream has ended.
    async fn next_batch(&mut self) -> Vec<AssistantMessageEvent> {
        let mut events: Vec<_> = self.next().await.into_iter().collect();
        while let Some(event) = self.take_ready() {
            events.push(event);
        }
        events
    }

    fn take_ready(&mut self) -> Option<AssistantMessageEvent> {
        let event = self.ready.pop_front()?;
        if event.final_message().is_some() {
            self.ended = true;
            self.producer = None;
            self.ready.clear();
        }
        Some(event)
    }

    fn poll_batch(&mut self, context: &mut Context<'_>) -> bool {
        match self.batches.poll_recv(context) {
            Poll::Ready(Some(batch)) => {
                self.ready.extend(batch);
                true
            }
            Poll::Ready(None) | Poll::Pending => false,
        }
    }
}

impl Stream for AssistantStream {
    type Item = AssistantMessageEvent;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if self.ended {
                return Poll::Ready(None);
            }
            if let Some(event) = self.take_ready() {
                return Poll::Ready(Some(event));
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
                            self.ready.extend(builder.take_events());
                        }
                        None => self.ended = true,
                    }
                }
            }
        }
    }
}

/// The writing end of an [`AssistantStream`].
#[derive(Debug)]
pub struct StreamWriter {
    builder: MessageBuilder,
    sender: mpsc::Sender<Vec<AssistantMessageEvent>>,
    phase: watch::Sender<StreamPhase>,
}

impl StreamWriter {
    /// Returns the message to write to; its events reach the consumer with the next `flush`.
    pub fn message(&mut self) -> &mut MessageBuilder {
        &mut self.builder
    }

    /// Tells what the request is doing.
    pub fn set_phase(&self, phase: StreamPhase) {
        self.phase.send_replace(phase);
    }

    /// Hands the collected events over, waiting while the consumer is behind.
    ///
    /// Nothing is lost when the wait is cancelled: the events stay collected.
    pub async fn flush(&mut self) {
        if !self.builder.has_events() {
            return;
        }
        let Ok(place) = self.sender.reserve().await else {
            // The consumer polls this very future, so a closed channel means it is being dropped.
            tracing::trace!("stream consumer is gone");
            return;
        };
        let events = self.builder.take_events();
        if events.iter().any(|event| event.final_message().is_some()) {
            self.phase.send_replace(StreamPhase::Ended);
        }
        place.send(events);
    }

    /// Lets another stream write the rest: its events and phases become ours, and readers of our
    /// message read its message from now on.
    pub async fn forward(self, mut stream: AssistantStream) {
        self.builder.live().follow(stream.live());
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

    /// Ends the message as complete.
    pub async fn complete(mut self) {
        self.builder.complete();
        self.flush().await;
    }

    /// Ends the message with an error.
    pub async fn fail(mut self, cause: ProviderError) {
        self.builder.fail(cause);
        self.flush().await;
    }
}
