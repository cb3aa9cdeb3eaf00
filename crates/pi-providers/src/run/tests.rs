//! Runs requests against loopback servers, through a minimal protocol.

mod cancellation;
mod exchanges;
mod retries;
mod routes;
mod timeouts;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::Poll;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::{Stream, StreamExt};
use pi_http::{SseParser, classify_status};
use pi_protocol::{
    AssistantMessage, AssistantMessageEvent, Diagnostic, ErrorClass, MessageBuilder, StopReason,
};
use pi_test_support::ScriptedServer;
use serde_json::json;

use super::*;
use crate::options::StreamOptions;
use crate::wire::Decoder;
use crate::wire::testing::{model, request};

/// A protocol that streams text: each event's data is a delta, `[DONE]` ends the response.
#[derive(Clone, Default)]
struct EchoProtocol {
    retry: TransportRetry,
    min_retries: u32,
    encoding: BodyEncoding,
    never_prepared: bool,
    signed: Arc<AtomicU32>,
}

impl HttpProtocol for EchoProtocol {
    fn prepare<'a>(
        &'a self,
        request: &'a ModelRequest,
    ) -> BoxFuture<'a, Result<HttpExchange, ProviderError>> {
        Box::pin(async move {
            if self.never_prepared {
                std::future::pending::<()>().await;
            }
            let own_headers = [("x-echo", "own"), ("x-layer", "protocol")];
            Ok(HttpExchange {
                url: format!("{}/echo", request.model.base_url),
                headers: own_headers
                    .map(|(name, value)| (name.to_owned(), Some(value.to_owned())))
                    .into(),
                body: json!({"input": "hello"}).into(),
                encoding: self.encoding,
            })
        })
    }

    fn decoder(&self, _request: &ModelRequest) -> Box<dyn Decoder> {
        Box::new(EchoDecoder::default())
    }

    fn error(&self, head: &ResponseHead, body: &str) -> ProviderError {
        let class = classify_status(head, body);
        ProviderError::new(class, format!("{} {body}", head.status)).with_status(head.status)
    }

    fn transport_retry(&self) -> TransportRetry {
        self.retry
    }

    fn min_retries(&self) -> u32 {
        self.min_retries
    }

    fn sign<'a>(
        &'a self,
        _request: &'a ModelRequest,
        outgoing: &'a mut OutgoingRequest,
        _http: &'a HttpClient,
    ) -> BoxFuture<'a, Result<(), ProviderError>> {
        Box::pin(async move {
            let count = self.signed.fetch_add(1, Ordering::Relaxed) + 1;
            outgoing.headers.insert("x-signed", count.into());
            Ok(())
        })
    }

    fn diagnose(
        &self,
        _request: &ModelRequest,
        head: &ResponseHead,
        body: Option<&str>,
    ) -> Option<Diagnostic> {
        let details = json!({"status": head.status, "body": body});
        serde_json::from_value(json!({"type": "echo", "timestamp": 1, "details": details})).ok()
    }
}

#[derive(Default)]
struct EchoDecoder {
    parser: SseParser,
    block: Option<usize>,
    done: bool,
}

impl Decoder for EchoDecoder {
    fn push(
        &mut self,
        bytes: &[u8],
        message: &mut MessageBuilder,
    ) -> Result<DecodeStatus, ProviderError> {
        let Self {
            parser,
            block,
            done,
        } = self;
        parser.push(bytes, |event| {
            if event.event == Some("error") {
                return Err(ProviderError::protocol(event.data));
            }
            if event.data == "[DONE]" {
                *done = true;
            } else {
                let index = *block.get_or_insert_with(|| message.open_text());
                message.append_text(index, event.data);
            }
            Ok(())
        })?;
        Ok(if self.done {
            DecodeStatus::Complete
        } else {
            DecodeStatus::More
        })
    }

    fn finish(&mut self, _message: &mut MessageBuilder) -> Result<(), ProviderError> {
        Err(ProviderError::network(
            "The stream ended without a final event",
        ))
    }
}

fn echo_request(url: &str, options: StreamOptions) -> ModelRequest {
    request(model("echo", json!({"baseUrl": url})), json!([]), options)
}

/// Runs the test protocol against a server.
fn run_echo(server: &ScriptedServer, options: StreamOptions) -> AssistantStream {
    stream(
        EchoProtocol::default(),
        echo_request(&server.url(), options),
        HttpClient::new(),
    )
}

/// The result of a finished stream.
struct StreamOutcome {
    text: String,
    deltas: String,
    message: Arc<AssistantMessage>,
    cause: Option<ProviderError>,
}

impl StreamOutcome {
    fn cause(&self) -> &ProviderError {
        self.cause.as_ref().expect("the stream failed")
    }

    #[track_caller]
    fn assert_failed(&self, class: ErrorClass, fragments: &[&str]) {
        assert_eq!(self.cause().class, class, "{:?}", self.cause());
        let expected = match class {
            ErrorClass::Aborted => StopReason::Aborted,
            _ => StopReason::Error,
        };
        assert_eq!(self.message.stop_reason, expected);
        let text = self.message.error_message.as_deref().unwrap_or_default();
        for fragment in fragments {
            assert!(text.contains(fragment), "{fragment:?} is not in {text:?}");
        }
    }
}

/// Reads a stream to its end and checks the common invariants: exactly one terminal event, in last position.
async fn finish(mut stream: AssistantStream) -> StreamOutcome {
    let phase = stream.phase();
    let mut deltas = String::new();
    let mut last = None;
    while let Some(event) = stream.next().await {
        assert!(last.is_none(), "an event follows the terminal event");
        match event {
            AssistantMessageEvent::TextDelta { delta, .. } => deltas.push_str(&delta),
            AssistantMessageEvent::Done { message, .. } => last = Some((message, None)),
            AssistantMessageEvent::Error { error, cause, .. } => last = Some((error, cause)),
            _ => {}
        }
    }
    assert_eq!(*phase.borrow(), StreamPhase::Ended);
    let (message, cause) = last.expect("the stream ended without a terminal event");
    let text = message.text();
    assert_eq!(text, deltas, "the deltas add up to the text of the message");
    StreamOutcome {
        text,
        deltas,
        message,
        cause,
    }
}

/// Advances the clock while the request waits for its next attempt, and only then: a paused
/// clock would also skip the time that loopback connections need.
async fn without_retry_waits<F: Future>(
    stream: AssistantStream,
    run: impl FnOnce(AssistantStream) -> F,
) -> F::Output {
    let mut phase = stream.phase();
    let skipping = async move {
        let is_retrying = |phase: &StreamPhase| matches!(phase, StreamPhase::Retrying { .. });
        loop {
            if phase.wait_for(is_retrying).await.is_err() {
                break;
            }
            tokio::time::pause();
            let left = phase.wait_for(|phase| !is_retrying(phase)).await.is_ok();
            tokio::time::resume();
            if !left {
                break;
            }
        }
        std::future::pending::<()>().await;
    };
    tokio::select! {
        output = run(stream) => output,
        () = skipping => unreachable!("`skipping` never completes"),
    }
}

/// Waits until everything buffered in loopback sockets reaches its reader: the runtime polls sockets
/// only once in some dozens of ticks.
async fn drain_sockets() {
    for _ in 0..10_000 {
        tokio::task::yield_now().await;
    }
}

/// Polls a stream once for its next event.
async fn poll_once(stream: &mut AssistantStream) -> Poll<Option<AssistantMessageEvent>> {
    std::future::poll_fn(|context| Poll::Ready(Pin::new(&mut *stream).poll_next(context))).await
}
