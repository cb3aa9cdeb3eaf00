//! A request against loopback servers, through a protocol as small as can be.

mod cancelling;
mod exchanges;
mod retries;
mod routes;
mod timers;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::Poll;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::{Stream, StreamExt};
use pi_test_support::ScriptedServer;
use serde_json::json;

use super::*;
use crate::error::ErrorClass;
use crate::event::AssistantMessageEvent;
use crate::live_message::MessageBuilder;
use crate::message::{AssistantMessage, Diagnostic};
use crate::options::StreamOptions;
use crate::stop_reason::StopReason;
use crate::transport::classify_status;
use crate::transport::sse::SseParser;
use crate::wire::Decoder;
use crate::wire::testing::{model, request};

/// A protocol that streams text: each event's data is a delta, `[DONE]` ends the answer.
#[derive(Clone, Default)]
struct Parrot {
    support: RetrySupport,
    least_retries: u32,
    encoding: BodyEncoding,
    never_prepared: bool,
    signed: Arc<AtomicU32>,
}

impl HttpProtocol for Parrot {
    fn prepare<'a>(
        &'a self,
        request: &'a ModelRequest,
    ) -> BoxFuture<'a, Result<HttpExchange, ProviderError>> {
        Box::pin(async move {
            if self.never_prepared {
                std::future::pending::<()>().await;
            }
            let own_headers = [("x-parrot", "own"), ("x-layer", "protocol")];
            Ok(HttpExchange {
                url: format!("{}/say", request.model.base_url),
                headers: own_headers
                    .map(|(name, value)| (name.to_owned(), Some(value.to_owned())))
                    .into(),
                body: json!({"say": "hello"}).into(),
                encoding: self.encoding,
            })
        })
    }

    fn decoder(&self, _request: &ModelRequest) -> Box<dyn Decoder> {
        Box::new(ParrotDecoder::default())
    }

    fn error(&self, head: &ResponseHead, body: &str) -> ProviderError {
        let class = classify_status(head, body);
        ProviderError::new(class, format!("{} {body}", head.status)).with_status(head.status)
    }

    fn retries(&self) -> RetrySupport {
        self.support
    }

    fn least_retries(&self) -> u32 {
        self.least_retries
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
        serde_json::from_value(json!({"type": "parrot", "timestamp": 1, "details": details})).ok()
    }
}

#[derive(Default)]
struct ParrotDecoder {
    parser: SseParser,
    block: Option<usize>,
    done: bool,
}

impl Decoder for ParrotDecoder {
    fn push(
        &mut self,
        bytes: &[u8],
        message: &mut MessageBuilder,
    ) -> Result<Progress, ProviderError> {
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
            Progress::Complete
        } else {
            Progress::More
        })
    }

    fn finish(&mut self, _message: &mut MessageBuilder) -> Result<(), ProviderError> {
        Err(ProviderError::network(
            "The stream ended without a final event",
        ))
    }
}

fn ask(url: &str, options: StreamOptions) -> ModelRequest {
    request(model("parrot", json!({"baseUrl": url})), json!([]), options)
}

/// Runs the parrot against a server.
fn talk(server: &ScriptedServer, options: StreamOptions) -> AssistantStream {
    stream(
        Parrot::default(),
        ask(&server.url(), options),
        HttpClient::new(),
    )
}

/// What a finished stream left behind.
struct Finished {
    text: String,
    deltas: String,
    message: Arc<AssistantMessage>,
    cause: Option<ProviderError>,
}

impl Finished {
    fn cause(&self) -> &ProviderError {
        self.cause.as_ref().expect("the stream failed")
    }

    #[track_caller]
    fn assert_failed(&self, class: ErrorClass, words: &[&str]) {
        assert_eq!(self.cause().class, class, "{:?}", self.cause());
        let expected = match class {
            ErrorClass::Aborted => StopReason::Aborted,
            _ => StopReason::Error,
        };
        assert_eq!(self.message.stop_reason, expected);
        let text = self.message.error_message.as_deref().unwrap_or_default();
        for word in words {
            assert!(text.contains(word), "{word:?} is not in {text:?}");
        }
    }
}

/// Reads a stream to its end and checks what holds for all: one terminal event, and it is the last.
async fn finish(mut stream: AssistantStream) -> Finished {
    let phase = stream.phase();
    let mut deltas = String::new();
    let mut last = None;
    while let Some(event) = stream.next().await {
        assert!(last.is_none(), "nothing follows the terminal event");
        match event {
            AssistantMessageEvent::TextDelta { delta, .. } => deltas.push_str(&delta),
            AssistantMessageEvent::Done { message, .. } => last = Some((message, None)),
            AssistantMessageEvent::Error { error, cause, .. } => last = Some((error, Some(cause))),
            _ => {}
        }
    }
    assert_eq!(*phase.borrow(), StreamPhase::Ended);
    let (message, cause) = last.expect("a stream ends with a terminal event");
    let text = message.text();
    assert_eq!(text, deltas, "the deltas add up to the text of the message");
    Finished {
        text,
        deltas,
        message,
        cause,
    }
}

/// Lets the clock run ahead whenever the request waits for its next attempt, and only then: a
/// paused clock would also jump over the time that loopback connections need.
async fn without_retry_waits<F: Future>(
    stream: AssistantStream,
    run: impl FnOnce(AssistantStream) -> F,
) -> F::Output {
    let mut phase = stream.phase();
    let skipping = async move {
        let waits = |phase: &StreamPhase| matches!(phase, StreamPhase::Retrying { .. });
        loop {
            if phase.wait_for(waits).await.is_err() {
                break;
            }
            tokio::time::pause();
            let left = phase.wait_for(|phase| !waits(phase)).await.is_ok();
            tokio::time::resume();
            if !left {
                break;
            }
        }
        std::future::pending::<()>().await;
    };
    tokio::select! {
        output = run(stream) => output,
        () = skipping => unreachable!("the skipping never ends"),
    }
}

/// Lets everything that loopback sockets hold reach its reader: the runtime looks at sockets once
/// in some dozens of turns.
async fn settle() {
    for _ in 0..10_000 {
        tokio::task::yield_now().await;
    }
}

/// Polls a stream for its next event once.
async fn poll_once(stream: &mut AssistantStream) -> Poll<Option<AssistantMessageEvent>> {
    std::future::poll_fn(|context| Poll::Ready(Pin::new(&mut *stream).poll_next(context))).await
}
