//! One request from preparation to terminal event: hooks, headers, retries, timers, cancellation.
//!
//! Everything happens inside the future that the stream polls. Cancelling drops what is under way
//! and ends the message as `aborted`, with what had arrived.

use std::pin::pin;
use std::time::Duration;

use bytes::Bytes;
use reqwest::{Response, Url};
use tokio::sync::watch;

use super::connect::{self, Link};
use super::failure::{self, Route, Wait};
use super::http::{HttpClient, user_agent};
use super::{headers, retry};
use crate::env::Env;
use crate::error::ProviderError;
use crate::options::{HeaderOverrides, ModelRequest, RequestHooks, ResponseHead};
use crate::stream::{AssistantStream, StreamPhase, StreamWriter};
use crate::wire::{
    BodyEncoding, HttpExchange, HttpProtocol, OutgoingRequest, Progress, RetrySupport,
};

/// As much of an error answer as anybody reads.
const LARGEST_ERROR_BODY: usize = 64 * 1024;
/// How long the body of an error answer is waited for; what has arrived by then must do.
const ERROR_BODY_WAIT: Duration = Duration::from_secs(10);
/// How long the end of a body is waited for once the answer is complete, so that the connection
/// can serve the next request.
const BODY_END_WAIT: Duration = Duration::from_millis(20);

/// Runs a request through a protocol; the stream exists before the connection does.
pub(crate) fn stream(
    protocol: impl HttpProtocol,
    request: ModelRequest,
    http: HttpClient,
) -> AssistantStream {
    let model = request.model.clone();
    let timestamp = request.env.now_ms();
    AssistantStream::produce(&model, timestamp, |writer| {
        drive(Box::new(protocol), request, http, writer)
    })
}

/// Runs a request through a protocol into a stream that exists already, and ends it.
pub(crate) async fn drive(
    protocol: Box<dyn HttpProtocol>,
    request: ModelRequest,
    http: HttpClient,
    mut writer: StreamWriter,
) {
    let cancel = request.options.cancel.clone();
    let mut run = Run {
        protocol: &*protocol,
        request: &request,
        http: &http,
        env: request.environment(),
        answer: None,
    };
    let outcome = cancel.run_until_cancelled(run.exchange(&mut writer)).await;
    match outcome {
        Some(Ok(())) => writer.complete().await,
        Some(Err(cause)) => {
            run.diagnose(&mut writer);
            writer.fail(cause).await;
        }
        None => writer.fail(ProviderError::aborted()).await,
    }
}

/// A request under way.
struct Run<'run> {
    protocol: &'run dyn HttpProtocol,
    request: &'run ModelRequest,
    http: &'run HttpClient,
    env: Env,
    /// What the service answered last.
    answer: Option<Answer>,
}

/// What is remembered of an answer for the record of a failure.
struct Answer {
    head: ResponseHead,
    error_body: Option<String>,
}

/// Where a request is sent and how.
struct Dispatch {
    client: reqwest::Client,
    target: Url,
    route: Route,
    outgoing: OutgoingRequest,
}

/// An attempt that did not lead to an answer.
struct Refusal {
    error: ProviderError,
    /// Status and headers of the refusal, where there was one.
    head: Option<ResponseHead>,
    may_retry: bool,
}

impl Refusal {
    fn final_one(error: ProviderError) -> Self {
        Self {
            error,
            head: None,
            may_retry: false,
        }
    }
}

impl Run<'_> {
    async fn exchange(&mut self, writer: &mut StreamWriter) -> Result<(), ProviderError> {
        let prepared = self.protocol.prepare(self.request).await?;
        let dispatch = self.dispatch(prepared).await?;
        let response = self.send(&dispatch, writer).await?;
        self.receive(response, &dispatch.route, writer).await
    }

    fn hooks(&self) -> Option<&dyn RequestHooks> {
        self.request.options.hooks.as_deref()
    }

    async fn dispatch(&self, prepared: HttpExchange) -> Result<Dispatch, ProviderError> {
        let target = Url::parse(&prepared.url)
            .ok()
            .filter(|url| matches!(url.scheme(), "http" | "https"))
            .ok_or_else(|| {
                ProviderError::invalid("The base URL of the model is not an http or https address")
            })?;
        let mut body = prepared.body;
        let mut all_headers = self.layered_headers(prepared.headers, prepared.encoding);
        if let Some(hooks) = self.hooks() {
            let changed = hooks.on_headers(all_headers, &self.request.model).await;
            all_headers = HeaderOverrides::new();
            headers::lay_over(&mut all_headers, changed);
            let payload = hooks.on_payload(body.into_tree(), &self.request.model);
            body = payload.await.into();
        }
        let (client, route) = self.http.client_and_route(&target, &self.env)?;
        Ok(Dispatch {
            client,
            route,
            target,
            outgoing: OutgoingRequest {
                url: prepared.url,
                headers: headers::to_header_map(&all_headers)?,
                body: encode(body.into_bytes(), prepared.encoding)?,
            },
        })
    }

    fn layered_headers(
        &self,
        protocol_headers: HeaderOverrides,
        encoding: BodyEncoding,
    ) -> HeaderOverrides {
        let mut all = HeaderOverrides::new();
        let mut own = |name: &str, value: String| all.insert(name.to_owned(), Some(value));
        own("user-agent", user_agent());
        own("content-type", "application/json".to_owned());
        if encoding == BodyEncoding::Zstd {
            own("content-encoding", "zstd".to_owned());
        }
        headers::lay_over(&mut all, protocol_headers);
        if let Some(model_headers) = &self.request.model.headers {
            let model_headers = model_headers.iter();
            let model_headers =
                model_headers.map(|(name, value)| (name.clone(), Some(value.clone())));
            headers::lay_over(&mut all, model_headers.collect());
        }
        headers::lay_over(&mut all, self.request.options.headers.clone());
        all
    }

    /// Sends the request until it is answered or there is no use in sending it again.
    async fn send(
        &mut self,
        dispatch: &Dispatch,
        writer: &StreamWriter,
    ) -> Result<Response, ProviderError> {
        let options = &self.request.options;
        let most_retries = match self.protocol.retries() {
            RetrySupport::Never => 0,
            RetrySupport::Heeding | RetrySupport::Unheeding => {
                options.max_retries.max(self.protocol.least_retries())
            }
        };
        let mut retries = 0;
        loop {
            let refusal = match self.attempt(dispatch, writer).await {
                Ok(response) => return Ok(response),
                Err(refusal) => refusal,
            };
            if !refusal.may_retry || retries >= most_retries {
                return Err(refusal.error);
            }
            let delay = self.delay(retries, &refusal)?;
            retries += 1;
            writer.set_phase(StreamPhase::Retrying {
                attempt: retries,
                delay,
            });
            tokio::time::sleep(delay).await;
        }
    }

    fn delay(&self, retry: u32, refusal: &Refusal) -> Result<Duration, ProviderError> {
        let requested = match (self.protocol.retries(), &refusal.head) {
            (RetrySupport::Heeding, Some(head)) => retry::requested_delay(head, self.env.now_ms()),
            _ => None,
        };
        match requested {
            Some(delay) => {
                retry::allow_delay(delay, self.request.options.max_retry_delay, &refusal.error)
            }
            None => Ok(retry::backoff(retry, rand::random())),
        }
    }

    async fn attempt(
        &mut self,
        dispatch: &Dispatch,
        writer: &StreamWriter,
    ) -> Result<Response, Refusal> {
        self.answer = None;
        let mut outgoing = dispatch.outgoing.clone();
        self.protocol
            .sign(self.request, &mut outgoing, self.http)
            .await
            .map_err(Refusal::final_one)?;
        let response = self
            .await_head(dispatch, outgoing, writer)
            .await
            .map_err(|error| Refusal {
                may_retry: error.class == crate::error::ErrorClass::Network,
                error,
                head: None,
            })?;
        let head = headers::response_head(response.status().as_u16(), response.headers());
        if let Some(hooks) = self.hooks() {
            hooks.on_response(&head, &self.request.model).await;
        }
        self.answer = Some(Answer {
            head: head.clone(),
            error_body: None,
        });
        if response.status().is_success() {
            return Ok(response);
        }
        if response.status().is_redirection() {
            return Err(Refusal::final_one(redirected(&response, &dispatch.target)));
        }
        let body = read_error_body(response).await;
        let refusal = Refusal {
            error: self.protocol.error(&head, &body),
            may_retry: self.protocol.may_retry(&head, &body),
            head: Some(head.clone()),
        };
        self.answer = Some(Answer {
            head,
            error_body: Some(body),
        });
        Err(refusal)
    }

    /// Connects, sends and waits for the response headers, each wait with its own timer.
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
        let (report, mut link) = watch::channel(Link::default());
        let mut sending = pin!(connect::reporting(report, sending));
        writer.set_phase(StreamPhase::Connecting);
        let mut first_look = true;
        loop {
            let (wait, limit) = match *link.borrow_and_update() {
                Link::Connecting => (Wait::Connection, timeouts.connect),
                Link::Unasked | Link::Connected => (Wait::Answer, timeouts.first_byte),
            };
            match wait {
                Wait::Connection => writer.set_phase(StreamPhase::Connecting),
                // Until the client was polled once it is open whether it connects anew.
                _ if first_look => {}
                _ => writer.set_phase(StreamPhase::Waiting),
            }
            let step = async {
                tokio::select! {
                    biased;
                    response = &mut sending => Some(response),
                    // The sender lives in `sending`, so this branch never fails.
                    Ok(()) = link.changed() => None,
                    () = std::future::ready(()), if first_look => None,
                }
            };
            let step = wait.at_most(limit, route, step).await?;
            first_look = false;
            if let Some(response) = step {
                return response.map_err(|error| failure::unanswered(error, route));
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
        let mut decoder = self.protocol.decoder(self.request);
        loop {
            let chunk = Wait::NextPiece
                .at_most(idle, route, response.chunk())
                .await?;
            let Some(chunk) = chunk.map_err(|error| failure::broken(error, route))? else {
                return decoder.finish(writer.message());
            };
            let progress = decoder.push(&chunk, writer.message())?;
            writer.flush().await;
            if progress == Progress::Complete {
                await_body_end(response).await;
                return Ok(());
            }
        }
    }

    fn diagnose(&self, writer: &mut StreamWriter) {
        let Some(Answer { head, error_body }) = &self.answer else {
            return;
        };
        let diagnostic = self
            .protocol
            .diagnose(self.request, head, error_body.as_deref());
        if let Some(diagnostic) = diagnostic {
            writer.message().update(|message| {
                message
                    .diagnostics
                    .get_or_insert_with(Vec::new)
                    .push(diagnostic);
            });
        }
    }
}

fn encode(body: Vec<u8>, encoding: BodyEncoding) -> Result<Bytes, ProviderError> {
    match encoding {
        BodyEncoding::Json => Ok(Bytes::from(body)),
        BodyEncoding::Zstd => zstd::encode_all(body.as_slice(), zstd::DEFAULT_COMPRESSION_LEVEL)
            .map(Bytes::from)
            .map_err(|error| {
                ProviderError::invalid(format!("The request could not be compressed: {error}"))
            }),
    }
}

/// Words a redirect that was not followed: the next host must not see the credentials.
fn redirected(response: &Response, from: &Url) -> ProviderError {
    let status = response.status().as_u16();
    let location = response
        .headers()
        .get(http::header::LOCATION)
        .and_then(|location| location.to_str().ok())
        .and_then(|location| from.join(location).ok());
    let place = match &location {
        Some(url) => Route::new(url, None).to_string(),
        None => "an unknown place".to_owned(),
    };
    ProviderError::invalid(format!(
        "{status} The service redirects to {place}; credentials are not sent there, so set the \
         base URL to the new address if it is right"
    ))
    .with_status(status)
}

/// Reads the body of an error answer as far as it is useful; a broken one is better than none.
async fn read_error_body(mut response: Response) -> String {
    let mut body = Vec::new();
    let reading = async {
        while let Ok(Some(chunk)) = response.chunk().await {
            let room = LARGEST_ERROR_BODY.saturating_sub(body.len());
            body.extend(chunk.iter().take(room));
            if chunk.len() >= room {
                break;
            }
        }
    };
    if tokio::time::timeout(ERROR_BODY_WAIT, reading)
        .await
        .is_err()
    {
        tracing::debug!("the body of an error answer did not end in time");
    }
    String::from_utf8_lossy(&body).into_owned()
}

/// Reads the end of a body whose answer is complete; a body that goes on is left alone.
async fn await_body_end(mut response: Response) {
    let reading = async { while let Ok(Some(_)) = response.chunk().await {} };
    if tokio::time::timeout(BODY_END_WAIT, reading).await.is_err() {
        tracing::trace!("the connection is closed: its body goes on after the answer");
    }
}

#[cfg(test)]
mod tests;
