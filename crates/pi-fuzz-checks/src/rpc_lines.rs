//! Lines of an RPC client. The first byte is the chunk length.

use std::time::Duration;

use pi_host::{
    COMMAND_LINE_LIMIT, LineDecoder, LineFrame, SessionChoice, SessionOptions, SessionRuntime,
};
use pi_protocol::Command;
use pi_rpc::{ClientLine, LineWriter, ServeOptions, serve};
use pretty_assertions::assert_eq;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream};

use crate::chunks::{chunkings, split_input};
use crate::hosts::echo_host;
use crate::temp_files;

/// A small line limit, to test the line decoder separately.
const SMALL_LINE_LIMIT: usize = 64;

/// Timeout for all responses, generous for a busy machine.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Checks that lines do not depend on chunk boundaries, and that a server responds to each of them once.
pub fn rpc_lines(data: &[u8]) {
    let Some((length, bytes)) = split_input(data) else {
        return;
    };
    for limit in [SMALL_LINE_LIMIT, COMMAND_LINE_LIMIT] {
        let [complete, chunks, halves] = chunkings(bytes, length);
        let expected = frames(&complete, limit);
        assert_eq!(frames(&chunks, limit), expected);
        assert_eq!(frames(&halves, limit), expected);
    }
    let lines: Vec<ClientLine> = frames(&[bytes], COMMAND_LINE_LIMIT)
        .iter()
        .filter_map(|frame| match frame {
            LineFrame::Line(line) => Some(ClientLine::parse(line)),
            LineFrame::TooLong => None,
        })
        .collect();
    if lines.iter().all(is_harmless) {
        let mut expected: Vec<Value> = lines.iter().filter_map(expected_response).collect();
        let mut responses = responses(bytes, expected.len());
        expected.sort_by_key(Value::to_string);
        responses.sort_by_key(Value::to_string);
        assert_eq!(responses, expected);
    }
}

fn frames(pieces: &[&[u8]], limit: usize) -> Vec<LineFrame> {
    let mut decoder = LineDecoder::new(limit);
    let mut frames = Vec::new();
    for piece in pieces {
        decoder.push(piece);
        frames.extend(std::iter::from_fn(|| decoder.next_frame()));
    }
    frames.extend(decoder.finish());
    frames
}

/// Returns whether a line neither runs a command nor names a file, which random input must not.
fn is_harmless(line: &ClientLine) -> bool {
    let ClientLine::Request(request) = line else {
        return true;
    };
    !matches!(
        request.command,
        Command::Bash { .. }
            | Command::ExportHtml { .. }
            | Command::SwitchSession { .. }
            | Command::NewSession { .. }
    )
}

/// Returns the ID and command of the expected response to a line.
fn expected_response(line: &ClientLine) -> Option<Value> {
    let (id, command) = match line {
        ClientLine::Request(request) => (request.id.clone(), Some(request.kind.clone())),
        ClientLine::Rejected(rejected) => (rejected.id.clone(), rejected.command.clone()),
        ClientLine::ExtensionUi(_) => return None,
    };
    // Responses format numbers as JavaScript does: `1.0` becomes `1`.
    let response = pi_protocol::json::value_to_string(&serde_json::json!([id, command]));
    serde_json::from_str(&response).ok()
}

/// Sends the bytes to a server with a scripted model and returns its responses.
fn responses(bytes: &[u8], expected: usize) -> Vec<Value> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let session = async {
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let (reader, writer) = tokio::io::split(theirs);
        let serving = serve(
            start().await,
            reader,
            LineWriter::start(writer),
            ServeOptions::default(),
        );
        let client = exchange(ours, bytes.to_vec(), expected);
        tokio::join!(serving, client).1
    };
    runtime
        .block_on(async { tokio::time::timeout(TIMEOUT, session).await })
        .unwrap()
}

async fn start() -> SessionRuntime {
    let started = echo_host().start(SessionOptions {
        session: SessionChoice::InMemory { id: None },
        ..SessionOptions::new(temp_files::dir())
    });
    started.await.unwrap()
}

/// Sends everything, waits for the responses, then closes the stream and collects the remaining output.
async fn exchange(stream: DuplexStream, mut bytes: Vec<u8>, expected: usize) -> Vec<Value> {
    if !bytes.is_empty() && !bytes.ends_with(b"\n") {
        bytes.push(b'\n');
    }
    let (reader, mut writer) = tokio::io::split(stream);
    let mut lines = BufReader::new(reader).lines();
    let mut responses = Vec::new();
    let sending = async {
        writer.write_all(&bytes).await.unwrap();
        writer
    };
    let receiving = async {
        while responses.len() < expected {
            let line = lines.next_line().await.unwrap();
            responses.extend(line.as_deref().and_then(response));
        }
    };
    let (mut writer, ()) = tokio::join!(sending, receiving);
    writer.shutdown().await.unwrap();
    while let Some(line) = lines.next_line().await.unwrap() {
        responses.extend(response(&line));
    }
    responses
}

/// Returns the ID and command of a response line; `None` for other lines.
fn response(line: &str) -> Option<Value> {
    let value: Value = serde_json::from_str(line).unwrap();
    let is_response = value.get("type") == Some(&Value::from("response"));
    is_response.then(|| serde_json::json!([value.get("id"), value.get("command")]))
}
