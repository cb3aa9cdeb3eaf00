//! Runs one request from preparation to terminal event: hooks, headers, retries, timeouts, cancellation.
//!
//! Everything happens inside the future that the stream polls. Canceling drops it and ends the
//! message as `aborted`, with the content that had arrived.

mod stream_events;

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use pi_env::Env;
use pi_http::{
    ConnectState, HeaderOverrides, HttpClient, KnownSecrets, ResponseHead, Route, TimeoutKind,
    merge_headers, read_error, response_head, retry, send_error, to_header_map, user_agent,
    with_connect_reporting,
};
use pi_protocol::{Diagnostic, ProviderError, StreamPhase};
use reqwest::{Response, Url};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::options::{ModelRequest, RequestHooks};
use crate::request_secrets::{header_secrets, redact_errors, request_secrets};
use crate::response_budget::TransportBudget;
use crate::wire::{
    BodyEncoding, DecodeStatus, HttpExchange, HttpProtocol, OutgoingRequest, TransportRetry,
};
use pi_stream::{AssistantStream, StreamWriter};

use stream_events::StreamEventReporter;

/// Limit for the part of an error response that is read.
const MAX_ERROR_BODY: usize = 64 * 1024;
/// How long to wait for the body of an error response; whatever has arrived by then is used.
const ERROR_BODY_TIMEOUT: Duration = Duration::from_secs(10);
/// How long to wait for the end of a body once the response is complete, so that the connection
/// can be reused.
const BODY_END_TIMEOUT: Duration = Duration::from_millis(20);
/// How long a response is read after an abort. Text may have arrived that the connection has not
/// passed on yet.
const ARRIVED_TEXT_TIME: Duration = Duration::from_millis(10);

/// Sends a request through a protocol. The returned stream connects when it is polled.
pub(crate) fn stream(
    protocol: impl HttpProtocol,
    request: ModelRequest,
    http: HttpClient,
) -> AssistantStream {
    stream_shared(Arc::new(protocol), request, http)
}

/// Sends a request through a protocol that other requests use as well.
pub(crate) fn stream_shared(
    protocol: Arc<dyn HttpProtocol>,
    request: ModelRequest,
    http: HttpClient,
) -> AssistantStream {
    let model = request.model.clone();
    let timestamp = request.env.now_ms();
    AssistantStream::produce(&model, timestamp, |writer| {
        drive(protocol, request, http, writer)
    })
}

/// Sends a request through a protocol into an existing stream, and ends that stream.
pub(crate) async fn drive(
    protocol: Arc<dyn HttpProtocol>,
    request: ModelRequest,
    http: HttpClient,
    mut writer: StreamWriter,
) {
    let cancel = request.options.cancel.clone();
    let secrets = request_secrets(&request);
    redact_errors(&mut writer, &secrets);
    let mut driver = RequestDriver {
        protocol: &*protocol,
        env: request.environment(),
        request: Arc::new(request),
        http: &http,
        secrets,
        last_response: None,
    };
    let phase = writer.phase();
    let outcome = tokio::select! {
        biased;
        outcome = driver.exchange(&mut writer), if !cancel.is_cancelled() => outcome,
        () = after_arrived_text(&cancel, &phase) => Err(ProviderError::aborted()),
    };
    match outcome {
        _ if cancel.is_cancelled() => writer.fail(ProviderError::aborted()).await,
        Ok(()) => writer.complete().await,
        Err(cause) => {
            driver.diagnose(&mut writer);
            writer.fail(cause).await;
        }
    }
}

/// A request in progress.
struct RequestDriver<'a> {
    protocol: &'a dyn HttpProtocol,
    request: Arc<ModelRequest>,
    http: &'a HttpClient,
    env: Env,
    secrets: KnownSecrets,
    /// The last response received.
    last_response: Option<LastResponse>,
}

/// The parts of a response that the diagnostic of a failure records.
struct LastResponse {
    head: ResponseHead,
    error_body: Option<String>,
}

/// A prepared request with its client and target.
struct Dispatch {
    client: reqwest::Client,
    target: Url,
    route: Route,
    outgoing: OutgoingRequest,
}

/// An attempt without a successful response.
struct FailedAttempt {
    error: ProviderError,
    /// Status and headers, if the service responded.
    head: Option<ResponseHead>,
    may_retry: bool,
}

impl FailedAttempt {
    fn permanent(error: ProviderError) -> Self {
        Self {
            error,
            head: None,
            may_retry: false,
        }
    }
}

impl RequestDriver<'_> {
    async fn exchange(&mut self, writer: &mut StreamWriter) -> Result<(), ProviderError> {
        let (response, route) = self.open_or_fall_back(writer).await?;
        self.receive(response, &route, writer).await
    }

    /// Opens the response, of a changed request if the service rejects the first one.
    async fn open_or_fall_back(
        &mut self,
        writer: &mut StreamWriter,
    ) -> Result<(Response, Route), ProviderError> {
        let rejected = match self.open(writer).await {
            Ok(opened) => return Ok(opened),
            Err(error) => error,
        };
        let Some((request, diagnostic)) = self.fallback() else {
            return Err(rejected);
        };
        tracing::debug!(error = %rejected.message, "sending a fallback request");
        self.request = Arc::new(request);
        record(writer, diagnostic);
        self.open(writer).await
    }

    /// Prepares the request and sends it until a response begins.
    async fn open(
        &mut self,
        writer: &mut StreamWriter,
    ) -> Result<(Response, Route), ProviderError> {
        let request = Arc::clone(&self.request);
        let prepared = self.protocol.prepare(&request).await?;
        // The protocol may have fetched a token for this request.
        self.secrets.extend(header_secrets(&prepared.headers));
        redact_errors(writer, &self.secrets);
        let dispatch = self.dispatch(prepared).await?;
        let response = self.send(&dispatch, writer).await?;
        Ok((response, dispatch.route))
    }

    fn fallback(&self) -> Option<(ModelRequest, Diagnostic)> {
        let LastResponse { head, error_body } = self.last_response.as_ref()?;
        let body = error_body.as_deref()?;
        self.protocol.fallback(&self.request, head, body)
    }

    fn hooks(&self) -> Option<&dyn RequestHooks> {
        self.request.options.hooks.as_deref()
    }

    async fn dispatch(&self, prepared: HttpExchange) -> Result<Dispatch, ProviderError> {
        let target = Url::parse(&prepared.url)
            .ok()
            .filter(|url| matches!(url.scheme(), "http" | "https"))
            .ok_or_else(|| {
                ProviderError::invalid("The model's base URL is not an http or https URL")
            })?;
        let mut body = prepared.body;
        let mut all_headers = self.layered_headers(prepared.headers, prepared.encoding);
        if let Some(hooks) = self.hooks() {
            let changed = hooks.on_headers(all_headers, &self.request.model).await;
            all_headers = HeaderOverrides::new();
            merge_headers(&mut all_headers, changed);
            let payload = hooks.on_payload(body.into_value(), &self.request.model);
            body = payload.await.into();
        }
        let (client, route) = self.http.client_and_route(&target, &self.env)?;
        Ok(Dispatch {
            client,
            route,
            target,
            outgoing: OutgoingRequest {
                url: prepared.url,
                headers: to_header_map(&all_headers)?,
                body: encode(body.into_bytes(), prepared.encoding),
            },
        })
    }

    fn layered_headers(
        &self,
        protocol_headers: HeaderOverrides,
        encoding: BodyEncoding,
    ) -> HeaderOverrides {
        let mut all = HeaderOverrides::new();
        let mut set = |name: &str, value: String| all.insert(name.to_owned(), Some(value));
        set("user-agent", user_agent());
        set("content-type", "application/json".to_owned());
        if encoding == BodyEncoding::Zstd {
            set("content-encoding", "zstd".to_owned());
        }
        merge_headers(&mut all, protocol_headers);
        if let Some(model_headers) = &self.request.model.headers {
            let model_headers = model_headers.iter();
            let model_headers =
                model_headers.map(|(name, value)| (name.clone(), Some(value.clone())));
            merge_headers(&mut all, model_headers.collect());
        }
        merge_headers(&mut all, self.request.options.headers.clone());
        all
    }

    /// Sends the request until it succeeds or must not be retried.
    async fn send(
        &mut self,
        dispatch: &Dispatch,
        writer: &StreamWriter,
    ) -> Result<Response, ProviderError> {
        let request = Arc::clone(&self.request);
        let options = &request.options;
        let max_retries = match self.protocol.transport_retry() {
            TransportRetry::Never => 0,
            TransportRetry::HonorRetryAfter | TransportRetry::IgnoreRetryAfter => {
                options.max_retries.max(self.protocol.min_retries())
            }
        };
        let mut retries = 0;
        loop {
            let failed = match self.attempt(dispatch, writer).await {
                Ok(response) => return Ok(response),
                Err(failed) => failed,
            };
            if !failed.may_retry || retries >= max_retries {
                return Err(failed.error);
            }
            let delay = self.delay(retries, &failed)?;
            retries += 1;
            writer.set_phase(StreamPhase::Retrying {
                attempt: retries,
                delay,
            });
            tokio::time::sleep(delay).await;
        }
    }

    fn delay(&self, retry: u32, failed: &FailedAttempt) -> Result<Duration, ProviderError> {
        let requested = match (self.protocol.transport_retry(), &failed.head) {
            (TransportRetry::HonorRetryAfter, Some(head)) => {
                retry::requested_delay(head, self.env.now_ms())
            }
            _ => None,
        };
        match requested {
            Some(delay) => {
                retry::allow_delay(delay, self.request.options.max_retry_delay, &failed.error)
            }
            None => Ok(retry::backoff(retry, rand::random())),
        }
    }

    async fn attempt(
        &mut self,
        dispatch: &Dispatch,
        writer: &StreamWriter,
    ) -> Result<Response, FailedAttempt> {
        if self.request.options.cancel.is_cancelled() {
            return Err(FailedAttempt::permanent(ProviderError::aborted()));
        }
        self.last_response = None;
        let mut outgoing = dispatch.outgoing.clone();
        self.protocol
            .sign(&self.request, &mut outgoing, self.http)
            .await
            .map_err(FailedAttempt::permanent)?;
        let response = self
            .await_head(dispatch, outgoing, writer)
            .await
            .map_err(|error| FailedAttempt {
                may_retry: error.class == pi_protocol::ErrorClass::Network,
                error,
                head: None,
            })?;
        let head = response_head(response.status().as_u16(), response.headers());
        if let Some(hooks) = self.hooks() {
            hooks.on_response(&head, &self.request.model).await;
        }
        self.last_response = Some(LastResponse {
            head: head.clone(),
            error_body: None,
        });
        if response.status().is_success() {
            return Ok(response);
        }
        if response.status().is_redirection() {
            return Err(FailedAttempt::permanent(redirected(
                &response,
                &dispatch.target,
            )));
        }
        let body = self.secrets.redact(read_error_body(response).await);
        let failed = FailedAttempt {
            error: self.protocol.error(&head, &body),
            may_retry: self.protocol.may_retry(&head, &body),
            head: Some(head.clone()),
        };
        self.last_response = Some(LastResponse {
            head,
            error_body: Some(body),
        });
        Err(failed)
    }

    /// Connects, sends and waits for the response headers, each wait with its own timeout.
    async fn await_head(
        &self,
        dispatch: &Dispatch,
        outgoing: OutgoingRequest,
        writer: &StreamWriter,
    ) -> Result<Response, ProviderError> {
        let route = &dispatch.route;
        let timeouts = self.request.options.timeouts;
        let sending = dispatch
            .client
            .post(outgoing.url)
            .headers(outgoing.headers)
            .body(outgoing.body)
            .send();
        let (report, mut connect_state) = watch::channel(ConnectState::default());
        let mut sending = pin!(with_connect_reporting(report, sending));
        writer.set_phase(StreamPhase::Connecting);
        let mut first_poll = true;
        loop {
            let (wait, limit) = match *connect_state.borrow_and_update() {
                ConnectState::Connecting => (TimeoutKind::Connect, timeouts.connect),
                ConnectState::NotRequested | ConnectState::Connected => {
                    (TimeoutKind::FirstByte, timeouts.first_byte)
                }
            };
            match wait {
                TimeoutKind::Connect => writer.set_phase(StreamPhase::Connecting),
                // Only after the first poll is it known whether the client opens a new connection.
                _ if first_poll => {}
                _ => writer.set_phase(StreamPhase::Waiting),
            }
            let next = async {
                tokio::select! {
                    biased;
                    response = &mut sending => Some(response),
                    // The sender lives in `sending`, so this branch never fails.
                    Ok(()) = connect_state.changed() => None,
                    () = std::future::ready(()), if first_poll => None,
                }
            };
            let response = wait.enforce(limit, route, next).await?;
            first_poll = false;
            if let Some(response) = response {
                return response.map_err(|error| send_error(error, route));
            }
        }
    }

    async fn receive(
        &self,
        mut response: Response,
        route: &Route,
        writer: &mut StreamWriter,
    ) -> Result<(), ProviderError> {
        writer.set_phase(StreamPhase::Receiving);
        if self.protocol.starts_with_headers() {
            writer.message().start();
            writer.flush().await;
        }
        let idle = self.request.options.timeouts.idle;
        let mut budget = TransportBudget::new(idle);
        let mut decoder = self.protocol.decoder(&self.request);
        let mut reporter = {
            let parser = || self.protocol.stream_event_parser();
            StreamEventReporter::new(self.hooks(), &self.request.model, parser)
        };
        loop {
            let chunk = TimeoutKind::Idle
                .enforce(idle, route, response.chunk())
                .await?;
            let Some(chunk) = chunk.map_err(|error| read_error(error, route))? else {
                return decoder.finish(writer.message());
            };
            budget.receive(chunk.len())?;
            if let Some(reporter) = &mut reporter {
                reporter.push(&chunk).await?;
            }
            let progress = decoder.push(&chunk, writer.message())?;
            let has_content = writer.message().has_events();
            writer.flush().await;
            writer.check_budget()?;
            budget.check_time(has_content)?;
            if progress == DecodeStatus::Complete {
                await_body_end(response).await;
                return Ok(());
            }
        }
    }

    fn diagnose(&self, writer: &mut StreamWriter) {
        let Some(LastResponse { head, error_body }) = &self.last_response else {
            return;
        };
        let diagnostic = self
            .protocol
            .diagnose(&self.request, head, error_body.as_deref());
        if let Some(diagnostic) = diagnostic {
            record(writer, diagnostic);
        }
    }
}

fn record(writer: &mut StreamWriter, diagnostic: Diagnostic) {
    writer.message().update(|message| {
        message
            .diagnostics
            .get_or_insert_with(Vec::new)
            .push(diagnostic);
    });
}

fn encode(body: Vec<u8>, encoding: BodyEncoding) -> Bytes {
    match encoding {
        BodyEncoding::Json => Bytes::from(body),
        BodyEncoding::Zstd => {
            let compressed = compress_to_vec(body.as_slice(), CompressionLevel::Fastest);
            Bytes::from(compressed)
        }
    }
}

/// Error for a redirect we refuse to follow, so credentials never reach another host.
fn redirected(response: &Response, from: &Url) -> ProviderError {
    let status = response.status().as_u16();
    let location = response
        .headers()
        .get(http::header::LOCATION)
        .and_then(|location| location.to_str().ok())
        .and_then(|location| from.join(location).ok());
    let destination = match &location {
        Some(url) => Route::new(url, None).to_string(),
        None => "an unknown address".to_owned(),
    };
    ProviderError::invalid(format!(
        "{status} The service redirects to {destination}. Credentials are not sent to another host; \
                 if the address is correct, set it as the base URL"
    ))
    .with_status(status)
}

/// Reads the body of an error response up to the limit; a truncated body is better than none.
/// Waits for an abort, and then until text that had arrived before it is read.
async fn after_arrived_text(cancel: &CancellationToken, phase: &watch::Receiver<StreamPhase>) {
    cancel.cancelled().await;
    let phase = *phase.borrow();
    if matches!(phase, StreamPhase::Waiting | StreamPhase::Receiving) {
        tokio::time::sleep(ARRIVED_TEXT_TIME).await;
    }
}

async fn read_error_body(mut response: Response) -> String {
    let mut body = Vec::new();
    let reading = async {
        while let Ok(Some(chunk)) = response.chunk().await {
            let remaining = MAX_ERROR_BODY.saturating_sub(body.len());
            body.extend(chunk.iter().take(remaining));
            if chunk.len() >= remaining {
                break;
            }
        }
    };
    if tokio::time::timeout(ERROR_BODY_TIMEOUT, reading)
        .await
        .is_err()
    {
        tracing::debug!("timed out reading the body of an error response");
    }
    String::from_utf8_lossy(&body).into_owned()
}

/// Drains the rest of a body whose response is complete; stops at a timeout if the body continues.
async fn await_body_end(mut response: Response) {
    let reading = async { while let Ok(Some(_)) = response.chunk().await {} };
    if tokio::time::timeout(BODY_END_TIMEOUT, reading)
        .await
        .is_err()
    {
        tracing::trace!("closing the connection: its body continues after the end of the response");
    }
}

#[cfg(test)]
mod tests;
