//! Messages of an ACP client. The first byte is the chunk length.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use pi_acp::{AcpOptions, AcpOutcome, AcpTrustPrompt, serve};
use pi_host::{COMMAND_LINE_LIMIT, LineDecoder, LineFrame, SessionChoice, SessionOptions};
use pi_protocol::settings::AcpSettings;
use pi_protocol::{JsonRpcError, JsonRpcMessage};
use pretty_assertions::assert_eq;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream};
use tokio_util::sync::CancellationToken;

use crate::chunks::split_input;
use crate::hosts::echo_host;
use crate::temp_files;

/// Timeout for all responses, generous for a busy machine.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Room for everything that is sent, so that nothing has to be read meanwhile.
const STREAM_BYTES: usize = 1 << 16;

/// Checks that every request, and every line that is no message, gets exactly one response.
pub fn acp_messages(data: &[u8]) {
    let Some((length, bytes)) = split_input(data) else {
        return;
    };
    let mut decoder = LineDecoder::new(COMMAND_LINE_LIMIT);
    decoder.push(bytes);
    let frames = std::iter::from_fn(|| decoder.next_frame()).collect::<Vec<_>>();
    let frames = frames.into_iter().chain(decoder.finish());
    let lines = frames.filter_map(|frame| match frame {
        LineFrame::Line(line) => Some(line).filter(|line| !line.trim().is_empty()),
        LineFrame::TooLong => None,
    });
    let mut expected = Vec::new();
    for line in lines {
        match JsonRpcMessage::read(line.as_bytes()) {
            Ok(JsonRpcMessage::Request { id, method, params }) => {
                if !is_harmless(&method, &params) {
                    return;
                }
                expected.push(id.to_string());
            }
            Ok(_) => {}
            Err(invalid) => expected.push(invalid.id.to_string()),
        }
    }
    let mut responses = responses(bytes, length, expected.len());
    expected.sort_unstable();
    responses.sort_unstable();
    assert_eq!(responses, expected);
}

/// Whether a request neither starts a program, nor runs a command, nor names a file, which random input must not.
fn is_harmless(method: &str, params: &Value) -> bool {
    let servers = params.get("mcpServers").and_then(Value::as_array);
    let starts_servers = servers.is_some_and(|servers| !servers.is_empty());
    let prompt = params.get("prompt").map(Value::to_string);
    let is_command = prompt.is_some_and(|prompt| prompt.contains(['/', '!', '@']));
    !(starts_servers || method == "session/prompt" && is_command)
}

/// Sends the bytes in chunks and returns the IDs of the responses.
fn responses(bytes: &[u8], length: usize, expected: usize) -> Vec<String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let session = async {
        let (ours, theirs) = tokio::io::duplex(STREAM_BYTES);
        let (reader, writer) = tokio::io::split(theirs);
        let serving = serve(options(), Box::new(reader), Box::new(writer));
        let client = exchange(ours, bytes, length, expected);
        tokio::join!(serving, client)
    };
    let (outcome, responses) = runtime
        .block_on(async { tokio::time::timeout(TIMEOUT, session).await })
        .unwrap();
    assert_eq!(outcome, AcpOutcome::InputEnded);
    responses
}

fn options() -> AcpOptions {
    let opened = AtomicUsize::new(0);
    AcpOptions {
        host: echo_host(),
        // The IDs are known to the corpus.
        sessions: Box::new(move |_cwd: &Path| {
            let number = opened.fetch_add(1, Ordering::Relaxed) + 1;
            let id = Some(format!("session-{number}"));
            Ok(SessionOptions {
                session: SessionChoice::InMemory { id },
                ..SessionOptions::new(temp_files::dir())
            })
        }),
        trust: AcpTrustPrompt::default(),
        session_dir: Some(temp_files::dir().join("no-sessions").display().to_string()),
        settings: AcpSettings::default(),
        cwd: temp_files::dir(),
        version: "1".to_owned(),
        stop: CancellationToken::new(),
    }
}

/// Sends everything, waits for the responses, then closes the stream and collects the remaining ones. Requests of the
/// server fail.
async fn exchange(
    mut stream: DuplexStream,
    bytes: &[u8],
    length: usize,
    expected: usize,
) -> Vec<String> {
    for chunk in bytes.chunks(length) {
        stream.write_all(chunk).await.unwrap();
        tokio::task::yield_now().await;
    }
    stream.write_all(b"\n").await.unwrap();
    let (reader, mut writer) = tokio::io::split(stream);
    let mut lines = BufReader::new(reader).lines();
    let mut responses = Vec::new();
    let mut is_open = true;
    loop {
        if is_open && responses.len() >= expected {
            writer.shutdown().await.unwrap();
            is_open = false;
        }
        let Some(line) = lines.next_line().await.unwrap() else {
            return responses;
        };
        match JsonRpcMessage::read(line.as_bytes()).map_err(|invalid| invalid.id) {
            Ok(JsonRpcMessage::Request { id, method, .. }) if is_open => {
                let error = JsonRpcError::unknown_method(&method);
                let failed = JsonRpcMessage::response(&id, Err(error));
                writer
                    .write_all(format!("{failed}\n").as_bytes())
                    .await
                    .unwrap();
            }
            // The response to a line without an ID has none.
            Ok(JsonRpcMessage::Response { id, .. }) | Err(id) => responses.push(id.to_string()),
            Ok(_) => {}
        }
    }
}
