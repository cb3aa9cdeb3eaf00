//! Shared test support for all wire protocols: runs decoders over bodies split and truncated in
//! every way, and provides conversations to build requests from.

use std::sync::Arc;

use pi_auth::GoogleCredentials;
use pi_env::Env;
use pi_http::HttpClient;
use pi_protocol::{AssistantMessageEvent, Message, MessageBuilder, Model, api};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

use super::anthropic_messages::AnthropicMessages;
use super::azure_responses::AzureResponses;
use super::codex_responses::CodexHttp;
use super::google_generative::GoogleGenerative;
use super::google_vertex::GoogleVertex;
use super::mistral::MistralConversations;
use super::openai_completions::OpenAiCompletions;
use super::openai_responses::OpenAiResponses;
use super::pi_messages::PiMessages;
use super::{DecodeStatus, Decoder, HttpProtocol};
use crate::options::{ModelRequest, StreamOptions};

/// The fixed time of messages in tests.
pub const NOW: i64 = 1_700_000_000_000;

/// Creates a model from the given fields; the rest has defaults.
pub fn model(api: &str, fields: Value) -> Model {
    let mut record = json!({
        "id": "alpha", "name": "Alpha", "api": api, "provider": "mock",
        "baseUrl": "http://127.0.0.1:9", "reasoning": true, "input": ["text", "image"],
        "cost": {"input": 3, "output": 15, "cacheRead": 0.3, "cacheWrite": 3.75},
        "contextWindow": 200_000, "maxTokens": 8192
    });
    let (Value::Object(record_fields), Value::Object(fields)) = (&mut record, fields) else {
        panic!("fields are an object");
    };
    record_fields.extend(fields);
    serde_json::from_value(record).unwrap()
}

/// Creates a request with an empty environment and a fixed clock.
pub fn request(model: Model, messages: Value, options: StreamOptions) -> ModelRequest {
    let messages: Vec<Message> = serde_json::from_value(messages).unwrap();
    ModelRequest {
        model: Arc::new(model),
        messages: messages.into(),
        options,
        env: Env::fixed::<&str, &str>([]).with_clock(|| NOW),
    }
}

/// Returns the protocol of a request, for the APIs of this crate.
pub fn protocol(request: &ModelRequest) -> Option<Box<dyn HttpProtocol>> {
    Some(match request.model.api.as_str() {
        api::ANTHROPIC_MESSAGES => Box::new(AnthropicMessages::default()),
        api::OPENAI_COMPLETIONS => Box::new(OpenAiCompletions),
        api::OPENAI_RESPONSES => Box::new(OpenAiResponses),
        api::AZURE_OPENAI_RESPONSES => Box::new(AzureResponses),
        api::OPENAI_CODEX_RESPONSES => Box::new(CodexHttp::new(request)),
        api::GOOGLE_GENERATIVE_AI => Box::new(GoogleGenerative),
        api::GOOGLE_VERTEX => {
            Box::new(GoogleVertex::new(GoogleCredentials::new(HttpClient::new())))
        }
        api::MISTRAL_CONVERSATIONS => Box::new(MistralConversations),
        api::PI_MESSAGES => Box::new(PiMessages),
        _ => return None,
    })
}

/// Runs a decoder over the chunks of a body and returns all events, the terminal one last.
///
/// Events have their public JSON form; `start` is emitted first, as with most APIs.
pub fn decode<'a>(
    mut decoder: Box<dyn Decoder>,
    model: &Model,
    chunks: impl IntoIterator<Item = &'a [u8]>,
) -> Vec<Value> {
    let mut message = MessageBuilder::new(model, NOW);
    message.start();
    let mut outcome = Ok(DecodeStatus::More);
    for chunk in chunks {
        outcome = decoder.push(chunk, &mut message);
        if !matches!(outcome, Ok(DecodeStatus::More)) {
            break;
        }
    }
    let result = match outcome {
        Ok(DecodeStatus::More) => decoder.finish(&mut message),
        Ok(DecodeStatus::Complete) => Ok(()),
        Err(error) => Err(error),
    };
    match result {
        Ok(()) => message.complete(),
        Err(error) => message.fail(error),
    }
    message.take_events().iter().map(event_json).collect()
}

fn event_json(event: &AssistantMessageEvent) -> Value {
    serde_json::to_value(event).unwrap()
}

/// Formats events one per line, for snapshots.
pub fn lines(events: &[Value]) -> String {
    events
        .iter()
        .map(pi_protocol::json::value_to_string)
        .collect::<Vec<_>>()
        .join("\n")
}

/// Formats a request body for snapshots: one line per field, and per element of a list.
pub fn outline(body: &Value) -> String {
    let mut lines = Vec::new();
    for (name, value) in body.as_object().unwrap() {
        match value {
            Value::Array(elements) => {
                lines.push(format!("{name}:"));
                lines.extend(
                    elements.iter().map(|element| {
                        format!("  {}", pi_protocol::json::value_to_string(element))
                    }),
                );
            }
            _ => lines.push(format!(
                "{name}: {}",
                pi_protocol::json::value_to_string(value)
            )),
        }
    }
    lines.join("\n").replace(PNG, "PNG")
}

/// Splits the body at random and after every byte; the events must not change.
pub fn assert_same_events_for_any_split(
    new_decoder: impl Fn() -> Box<dyn Decoder>,
    model: &Model,
    body: &[u8],
) {
    let complete = decode(new_decoder(), model, [body]);
    let single_bytes = decode(new_decoder(), model, body.chunks(1));
    assert_eq!(lines(&complete), lines(&single_bytes), "one byte at a time");
    let mut runner = TestRunner::new(Config {
        cases: 64,
        failure_persistence: None,
        ..Config::default()
    });
    let cuts = proptest::collection::vec(0..=body.len(), 0..12);
    runner
        .run(&cuts, |mut cuts| {
            cuts.sort_unstable();
            let mut chunks = Vec::new();
            let mut from = 0;
            for cut in cuts.into_iter().chain([body.len()]) {
                chunks.push(&body[from..cut]);
                from = cut;
            }
            prop_assert_eq!(
                lines(&complete),
                lines(&decode(new_decoder(), model, chunks))
            );
            Ok(())
        })
        .unwrap();
}

/// Truncates the body after every byte. Each prefix must end in a well-formed `error`, or, once the
/// response was complete, in the same `done` as the complete body.
pub fn assert_truncation_is_an_error(
    new_decoder: impl Fn() -> Box<dyn Decoder>,
    model: &Model,
    body: &[u8],
) {
    let complete = decode(new_decoder(), model, [body]);
    let done = complete.last().unwrap();
    assert_eq!(done["type"], "done", "the body is not a complete response");
    for length in 0..body.len() {
        let events = decode(new_decoder(), model, [&body[..length]]);
        let last = events.last().unwrap();
        if last["type"] == "done" {
            assert_eq!(
                last["message"]["content"], done["message"]["content"],
                "cut at {length}"
            );
            continue;
        }
        assert_eq!(last["type"], "error", "cut at {length}");
        assert_eq!(last["reason"], "error", "cut at {length}");
        assert_eq!(last["error"]["stopReason"], "error", "cut at {length}");
        assert!(
            last["error"]["errorMessage"]
                .as_str()
                .is_some_and(|text| !text.is_empty())
        );
        serde_json::from_value::<Message>(last["error"].clone().with_role()).unwrap();
    }
}

trait WithRole {
    fn with_role(self) -> Self;
}

impl WithRole for Value {
    fn with_role(mut self) -> Self {
        self["role"] = "assistant".into();
        self
    }
}

/// A small PNG, base64-encoded.
pub const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// A conversation that uses every feature of a request. Its assistant turns claim to come from
/// `(provider, api, model)`, so it serves as the model's own history and as a hand-off.
pub fn full_conversation(provider: &str, api: &str, model: &str) -> Value {
    let assistant = |content: Value, stop_reason: &str| {
        json!({"role": "assistant", "content": content, "api": api, "provider": provider,
            "model": model, "usage": {"input": 10, "output": 5, "cacheRead": 0, "cacheWrite": 0,
            "totalTokens": 15, "cost": {}}, "stopReason": stop_reason, "timestamp": NOW})
    };
    json!([
        {"role": "system", "content": "You are precise.", "sections": {"cwd": "<cwd>/tmp</cwd>"},
            "toolsAdded": [
                {"name": "read", "description": "Reads a file.", "parameters": {"type": "object",
                    "properties": {"path": {"type": "string"}, "limit": {"type": "number"}},
                    "required": ["path"]},
                    "constrainedSampling": {"type": "json_schema", "strict": "prefer"}},
                {"name": "patch", "description": "Applies a patch.", "parameters": {"type": "object",
                    "properties": {"input": {"type": "string"}}, "required": ["input"]},
                    "constrainedSampling": {"type": "grammar", "variants": {"openai_lark": "start: /.+/"}}}
            ], "timestamp": NOW},
        {"role": "user", "content": [{"type": "text", "text": "look at this"},
            {"type": "image", "data": PNG, "mimeType": "image/png"}], "timestamp": NOW},
        assistant(json!([
            {"type": "thinking", "thinking": "two reads", "thinkingSignature": "c2lnbmF0dXJl"},
            {"type": "text", "text": "Reading."},
            {"type": "toolCall", "id": "call_1|fc_1", "name": "read", "arguments": {"path": "a"}},
            {"type": "toolCall", "id": "call_2|fc_2", "name": "read",
                "arguments": {"path": "b", "limit": 2}}
        ]), "toolUse"),
        {"role": "toolResult", "toolCallId": "call_1|fc_1", "toolName": "read",
            "content": [{"type": "text", "text": "A"},
                {"type": "image", "data": PNG, "mimeType": "image/png"}],
            "isError": false, "timestamp": NOW},
        {"role": "toolResult", "toolCallId": "call_2|fc_2", "toolName": "read",
            "content": [{"type": "text", "text": "no such file"}], "isError": true, "timestamp": NOW},
        {"role": "system", "content": "Be brief from here.", "sections": {"cwd": "<cwd>/home</cwd>"},
            "toolsAdded": [{"name": "write", "description": "Writes a file.",
                "parameters": {"type": "object", "properties": {}}}], "timestamp": NOW},
        {"role": "user", "content": "and now?", "timestamp": NOW},
        assistant(json!([{"type": "text", "text": "half an ans"}]), "aborted"),
        {"role": "user", "content": "go on", "timestamp": NOW},
        assistant(json!([
            {"type": "toolCall", "id": "call_3|fc_3", "name": "read", "arguments": {"path": "c"}}
        ]), "toolUse"),
        {"role": "user", "content": "never mind the file", "timestamp": NOW}
    ])
}
