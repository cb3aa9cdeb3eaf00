//! Lines of a client of RPC mode: the first byte is a length of pieces.

use std::sync::Arc;
use std::time::Duration;

use pi_ai::{Env, FauxProvider, Models, ModelsOptions, Registration};
use pi_config::{AgentDir, Settings, SettingsStore};
use pi_rpc::{COMMAND_LINE_LIMIT, ClientLine, Frame, LineDecoder, RpcCommand, ServeOptions, serve};
use pi_runtime::{RuntimeOptions, SessionChoice, SessionRuntime};
use pretty_assertions::assert_eq;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream};

use crate::pieces::{cuts, split_input};
use crate::temp_files;

/// A line that is longer is skipped by the splitter that is looked at alone.
const SHORT_LINES: usize = 64;

/// How long a server may take for all answers, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// Checks that lines do not depend on how their bytes arrive, and that a server answers each of them once.
pub fn rpc_lines(data: &[u8]) {
    let Some((length, bytes)) = split_input(data) else {
        return;
    };
    for limit in [SHORT_LINES, COMMAND_LINE_LIMIT] {
        let [whole, pieces, halves] = cuts(bytes, length);
        let expected = frames(&whole, limit);
        assert_eq!(frames(&pieces, limit), expected);
        assert_eq!(frames(&halves, limit), expected);
    }
    let lines: Vec<ClientLine> = frames(&[bytes], COMMAND_LINE_LIMIT)
        .iter()
        .filter_map(|frame| match frame {
            Frame::Line(line) => Some(ClientLine::parse(line)),
            Frame::TooLong => None,
        })
        .collect();
    if lines.iter().all(is_harmless) {
        let mut expected: Vec<Value> = lines.iter().filter_map(answer_of).collect();
        let mut answers = answers(bytes, expected.len());
        expected.sort_by_key(Value::to_string);
        answers.sort_by_key(Value::to_string);
        assert_eq!(answers, expected);
    }
}

fn frames(pieces: &[&[u8]], limit: usize) -> Vec<Frame> {
    let mut decoder = LineDecoder::new(limit);
    let mut frames = Vec::new();
    for piece in pieces {
        decoder.push(piece);
        frames.extend(std::iter::from_fn(|| decoder.next_frame()));
    }
    frames.extend(decoder.finish());
    frames
}

/// Returns whether a line neither runs a command nor names a file, which a made-up one must not.
fn is_harmless(line: &ClientLine) -> bool {
    let ClientLine::Request(request) = line else {
        return true;
    };
    !matches!(
        request.command,
        RpcCommand::Bash { .. }
            | RpcCommand::ExportHtml { .. }
            | RpcCommand::SwitchSession { .. }
            | RpcCommand::NewSession { .. }
    )
}

/// Returns what must be said in answer to a line: its id and its command.
fn answer_of(line: &ClientLine) -> Option<Value> {
    let (id, command) = match line {
        ClientLine::Request(request) => (request.id.clone(), Some(request.kind.clone())),
        ClientLine::Rejected(rejected) => (rejected.id.clone(), rejected.command.clone()),
        ClientLine::ExtensionUi(_) => return None,
    };
    // An answer spells numbers as JavaScript does: `1.0` comes back as `1`.
    let answer = pi_ai::json::value_to_string(&serde_json::json!([id, command]));
    serde_json::from_str(&answer).ok()
}

/// Sends the bytes to a server with a scripted model and returns its answers.
fn answers(bytes: &[u8], wanted: usize) -> Vec<Value> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let talk = async {
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let (reader, writer) = tokio::io::split(theirs);
        let serving = serve(start().await, reader, writer, ServeOptions::default());
        let talking = talk(ours, bytes.to_vec(), wanted);
        tokio::join!(serving, talking).1
    };
    runtime
        .block_on(async { tokio::time::timeout(PATIENCE, talk).await })
        .unwrap()
}

async fn start() -> SessionRuntime {
    let env = Env::fixed::<&str, &str>([]);
    let models = Models::new(ModelsOptions {
        env: env.clone(),
        ..ModelsOptions::default()
    });
    let provider = Registration::Provider(Arc::new(FauxProvider::echo()));
    models.register("faux", provider).unwrap();
    let agent = AgentDir::at(temp_files::dir().join("no-agent"));
    let started = SessionRuntime::start(RuntimeOptions {
        session: SessionChoice::InMemory { id: None },
        settings: Some(SettingsStore::in_memory(Settings::default())),
        model_collection: Some(models),
        offline: true,
        ..RuntimeOptions::new(agent, temp_files::dir(), env)
    });
    started.await.unwrap()
}

/// Sends everything, waits for the answers, then hangs up and takes what is still said.
async fn talk(stream: DuplexStream, mut bytes: Vec<u8>, wanted: usize) -> Vec<Value> {
    if !bytes.is_empty() && !bytes.ends_with(b"\n") {
        bytes.push(b'\n');
    }
    let (reader, mut writer) = tokio::io::split(stream);
    let mut lines = BufReader::new(reader).lines();
    let mut answers = Vec::new();
    let sending = async {
        writer.write_all(&bytes).await.unwrap();
        writer
    };
    let receiving = async {
        while answers.len() < wanted {
            let line = lines.next_line().await.unwrap();
            answers.extend(line.as_deref().and_then(answer));
        }
    };
    let (mut writer, ()) = tokio::join!(sending, receiving);
    writer.shutdown().await.unwrap();
    while let Some(line) = lines.next_line().await.unwrap() {
        answers.extend(answer(&line));
    }
    answers
}

/// Returns the id and the command of a line that is an answer.
fn answer(line: &str) -> Option<Value> {
    let value: Value = serde_json::from_str(line).unwrap();
    let is_answer = value.get("type") == Some(&Value::from("response"));
    is_answer.then(|| serde_json::json!([value.get("id"), value.get("command")]))
}
