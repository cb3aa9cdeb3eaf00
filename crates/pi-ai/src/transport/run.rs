//! One request from preparation to terminal event: connect, decode, cancel.

use bytes::Bytes;
use futures_util::StreamExt;

use super::http::HttpClient;
use crate::error::ProviderError;
use crate::options::{ModelRequest, ResponseHead};
use crate::stream::{AssistantStream, StreamPhase, StreamWriter};
use crate::wire::{BodyEncoding, HttpProtocol, Progress};

/// Runs a request through a protocol; the stream exists before the connection does.
pub(crate) fn stream<P: HttpProtocol>(
    protocol: P,
    request: ModelRequest,
    http: HttpClient,
) -> AssistantStream {
    let model = request.model.clone();
    let timestamp = request.env.now_ms();
    AssistantStream::produce(&model, timestamp, |mut writer| async move {
        let cancel = request.options.cancel.clone();
        let outcome = cancel
            .run_until_cancelled(exchange(&protocol, &request, &http, &mut writer))
            .await;
        match outcome {
            Some(Ok(())) => writer.complete().await,
            Some(Err(cause)) => writer.fail(cause).await,
            None => writer.fail(ProviderError::aborted()).await,
        }
    })
}

async fn exchange<P: HttpProtocol>(
    protocol: &P,
    request: &ModelRequest,
    http: &HttpClient,
    writer: &mut StreamWriter,
) -> Result<(), ProviderError> {
    let prepared = protocol.prepare(request).await?;
    let hooks = request.options.hooks.as_deref();
    let body = match hooks {
        Some(hooks) => hooks.on_payload(prepared.body, &request.model).await,
        None => prepared.body,
    };
    let mut headers = prepared.headers;
    headers.extend(
        request
            .options
            .headers
            .iter()
            .map(|(name, value)| (name.clone(), value.clone())),
    );
    if let Some(hooks) = hooks {
        headers = hooks.on_headers(headers, &request.model).await;
    }
    let text = crate::json::value_to_string(&body);
    let mut builder = http
        .client()?
        .post(&prepared.url)
        .header("content-type", "application/json");
    for (name, value) in headers {
        if let Some(value) = value {
            builder = builder.header(name, value);
        }
    }
    let builder = match prepared.encoding {
        BodyEncoding::Json => builder.body(text),
        BodyEncoding::Zstd => builder
            .header("content-encoding", "zstd")
            .body(zstd::encode_all(text.as_bytes(), 0).map_err(network)?),
    };
    writer.set_phase(StreamPhase::Connecting);
    let response = builder.send().await.map_err(network)?;
    writer.set_phase(StreamPhase::Receiving);
    let head = ResponseHead {
        status: response.status().as_u16(),
        headers: response
            .headers()
            .iter()
            .map(|(name, value)| {
                let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
                (name.as_str().to_owned(), value)
            })
            .collect(),
    };
    if let Some(hooks) = hooks {
        hooks.on_response(&head, &request.model).await;
    }
    if !response.status().is_success() {
        let body = response.bytes().await.map_err(network)?;
        return Err(protocol.error(&head, &String::from_utf8_lossy(&body)));
    }
    if protocol.starts_with_headers() {
        writer.message().start();
        writer.flush().await;
    }
    let mut decoder = protocol.decoder(request);
    let mut chunks = response.bytes_stream();
    while let Some(chunk) = chunks.next().await {
        let chunk: Bytes = chunk.map_err(network)?;
        let progress = decoder.push(&chunk, writer.message());
        writer.flush().await;
        if progress? == Progress::Complete {
            return Ok(());
        }
    }
    decoder.finish(writer.message())
}

fn network(error: impl std::fmt::Display) -> ProviderError {
    ProviderError::network(format!("Connection error: {error}"))
}
