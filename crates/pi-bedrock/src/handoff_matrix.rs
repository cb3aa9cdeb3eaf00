//! Tests that every API's conversation can be continued on every other API.
//!
//! The responses come from each API's recorded streams through its own decoder, so IDs and
//! signatures are real. [`rules`] checks the requests that the target builds from them.

mod rules;

use pi_protocol::{AssistantMessage, Message, MessageBuilder, Model, StopReason, api};
use pi_providers::wire::testing::{self, NOW, PNG};
use pi_providers::wire::{DecodeStatus, HttpProtocol};
use pi_providers::{ModelRequest, StreamOptions};
use secrecy::SecretString;
use serde_json::{Value, json};

use self::rules::RuleResult;
use crate::BedrockConverse;

/// An API, one of its models, and the constraints of its service.
#[derive(Clone, Copy)]
struct ApiProfile {
    api: &'static str,
    provider: &'static str,
    model: &'static str,
    /// Directory and file name of recorded responses.
    recordings: &'static [(&'static str, &'static str)],
    rules: fn(&Value) -> RuleResult,
}

const RESPONSES_RECORDINGS: &[(&str, &str)] = &[
    ("openai-responses", "thinking.sse"),
    ("openai-responses", "parallel.sse"),
];

const GOOGLE_RECORDINGS: &[(&str, &str)] = &[
    ("google-generative-ai", "thinking.sse"),
    ("google-generative-ai", "parallel_tools.sse"),
];

const API_PROFILES: [ApiProfile; 10] = [
    ApiProfile {
        api: api::ANTHROPIC_MESSAGES,
        provider: "anthropic",
        model: "claude-opus-4-8",
        recordings: &[
            ("anthropic-messages", "thinking.sse"),
            ("anthropic-messages", "tools.sse"),
        ],
        rules: rules::anthropic,
    },
    ApiProfile {
        api: api::OPENAI_COMPLETIONS,
        provider: "openai",
        model: "gpt-4.1",
        recordings: &[
            ("openai-completions", "reasoning_details.sse"),
            ("openai-completions", "parallel_tools.sse"),
        ],
        rules: rules::completions,
    },
    ApiProfile {
        api: api::OPENAI_RESPONSES,
        provider: "openai",
        model: "gpt-5.4",
        recordings: RESPONSES_RECORDINGS,
        rules: rules::responses,
    },
    ApiProfile {
        api: api::AZURE_OPENAI_RESPONSES,
        provider: "azure",
        model: "gpt-5.4",
        recordings: RESPONSES_RECORDINGS,
        rules: rules::responses,
    },
    ApiProfile {
        api: api::OPENAI_CODEX_RESPONSES,
        provider: "openai-codex",
        model: "gpt-5.5",
        recordings: &[("openai-codex-responses", "tools.sse")],
        rules: rules::responses,
    },
    ApiProfile {
        api: api::GOOGLE_GENERATIVE_AI,
        provider: "google",
        model: "gemini-3-pro-preview",
        recordings: GOOGLE_RECORDINGS,
        rules: rules::google,
    },
    ApiProfile {
        api: api::GOOGLE_VERTEX,
        provider: "google-vertex",
        model: "gemini-3-pro-preview",
        recordings: GOOGLE_RECORDINGS,
        rules: rules::google,
    },
    ApiProfile {
        api: api::MISTRAL_CONVERSATIONS,
        provider: "mistral",
        model: "devstral-medium-latest",
        recordings: &[
            ("mistral-conversations", "thinking.sse"),
            ("mistral-conversations", "parallel_tools.sse"),
        ],
        rules: rules::mistral,
    },
    ApiProfile {
        api: api::BEDROCK_CONVERSE_STREAM,
        provider: "amazon-bedrock",
        model: "us.anthropic.claude-opus-4-6-v1",
        recordings: &[
            ("bedrock-converse-stream", "thinking.frames"),
            ("bedrock-converse-stream", "tools.frames"),
        ],
        rules: rules::bedrock,
    },
    ApiProfile {
        api: api::PI_MESSAGES,
        provider: "radius",
        model: "balanced",
        recordings: &[("pi-messages", "text.sse"), ("pi-messages", "tools.sse")],
        rules: rules::pi,
    },
];

/// The text of a tool result, which must reach the target.
const RESULT: &str = "forty-two files";

#[derive(Debug, Clone, Copy)]
enum Vision {
    Images,
    TextOnly,
}

impl ApiProfile {
    fn model(self, vision: Vision) -> Model {
        let input = match vision {
            Vision::Images => json!(["text", "image"]),
            Vision::TextOnly => json!(["text"]),
        };
        let fields = json!({"provider": self.provider, "id": self.model, "input": input,
            "baseUrl": "https://service.invalid/v1"});
        testing::model(self.api, fields)
    }

    fn request(self, vision: Vision, messages: Value) -> ModelRequest {
        let options = StreamOptions {
            api_key: Some(SecretString::from("key")),
            provider_options: serde_json::from_value(json!({"accountId": "account"})).unwrap(),
            ..StreamOptions::default()
        };
        testing::request(self.model(vision), messages, options)
    }

    fn protocol(request: &ModelRequest) -> Box<dyn HttpProtocol> {
        testing::protocol(request).unwrap_or_else(|| Box::new(BedrockConverse::default()))
    }

    async fn body(self, request: &ModelRequest) -> Value {
        let exchange = Self::protocol(request).prepare(request).await.unwrap();
        exchange.body.into_value()
    }

    /// Decodes a recorded response as one of this API's model.
    fn recorded_response(self, recording: (&str, &str)) -> AssistantMessage {
        let request = self.request(Vision::Images, declared_tools());
        let mut builder = MessageBuilder::new(&request.model, NOW);
        let mut decoder = Self::protocol(&request).decoder(&request);
        let result = decoder
            .push(&read_recording(recording), &mut builder)
            .and_then(|status| match status {
                DecodeStatus::More => decoder.finish(&mut builder),
                DecodeStatus::Complete => Ok(()),
            });
        assert_eq!(result, Ok(()), "{} decodes {recording:?}", self.api);
        builder.complete();
        let message = builder.live().snapshot();
        assert!(
            !message.stop_reason.is_failure(),
            "{recording:?}: {message:?}"
        );
        message
    }
}

fn read_recording((directory, name): (&str, &str)) -> Vec<u8> {
    let crates = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let (owner, is_frames) = match name.strip_suffix(".frames") {
        Some(_) => ("pi-bedrock", true),
        None => ("pi-providers", false),
    };
    let path = crates
        .join(owner)
        .join("tests/fixtures")
        .join(directory)
        .join(name);
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    if is_frames {
        encode_frames(std::str::from_utf8(&bytes).unwrap())
    } else {
        bytes
    }
}

/// Encodes lines of `event-type payload` as AWS frames.
fn encode_frames(lines: &str) -> Vec<u8> {
    use aws_smithy_types::event_stream::{Header, HeaderValue, Message};
    let mut bytes = Vec::new();
    for line in lines.lines() {
        let (event, payload) = line.split_once(' ').unwrap();
        let header = |name: &'static str, value: &str| {
            Header::new(name, HeaderValue::String(value.to_owned().into()))
        };
        let message = Message::new(payload.as_bytes().to_vec())
            .add_header(header(":message-type", "event"))
            .add_header(header(":event-type", event));
        aws_smithy_eventstream::frame::write_message_to(&message, &mut bytes).unwrap();
    }
    bytes
}

fn declared_tools() -> Value {
    let tool = |name: &str| {
        json!({"name": name, "description": "Does it.", "parameters": {"type": "object",
            "properties": {"path": {"type": "string"}}}})
    };
    json!([{"role": "system", "content": "You are precise.", "timestamp": NOW,
        "toolsAdded": [tool("read"), tool("ls"), tool("bash"), tool("now")]}])
}

/// A conversation with every recorded response of the source, continued by the user.
fn conversation(source: ApiProfile) -> (Value, Vec<AssistantMessage>) {
    let mut messages = declared_tools();
    let list = messages.as_array_mut().unwrap();
    let image = json!({"type": "image", "data": PNG, "mimeType": "image/png"});
    let mut responses = Vec::new();
    for recording in source.recordings {
        list.push(json!({"role": "user", "timestamp": NOW,
            "content": [{"type": "text", "text": "See this."}, image]}));
        let response = source.recorded_response(*recording);
        list.push(serde_json::to_value(Message::from(response.clone())).unwrap());
        for (index, call) in response.tool_calls().enumerate() {
            let content = match index {
                0 => json!([{"type": "text", "text": RESULT}, image]),
                1 => json!([image]),
                _ => json!([]),
            };
            list.push(
                json!({"role": "toolResult", "toolCallId": call.id, "toolName": call.name,
                "content": content, "isError": index == 1, "timestamp": NOW}),
            );
        }
        responses.push(response);
    }
    list.push(json!({"role": "user", "content": "Continue.", "timestamp": NOW}));
    (messages, responses)
}

/// Collects all signatures, which only the model that issued them may receive.
fn signatures(responses: &[AssistantMessage]) -> Vec<String> {
    let keys = ["thinkingSignature", "textSignature", "thoughtSignature"];
    let mut signatures = Vec::new();
    for response in responses {
        let content = serde_json::to_value(&response.content).unwrap();
        for block in content.as_array().unwrap() {
            let signed = keys.iter().filter_map(|key| block.get(*key)?.as_str());
            // Chat Completions stores a field name there, which is not a signature.
            signatures.extend(
                signed
                    .filter(|signature| !signature.starts_with("reasoning"))
                    .map(str::to_owned),
            );
        }
    }
    signatures
}

/// Whether a body contains a signature, as a string or as the JSON that the string encodes.
fn contains_signature(body: &Value, signature: &str) -> bool {
    let is_text = body.as_str() == Some(signature);
    let is_parsed = (body.is_object() || body.is_array())
        && serde_json::from_str::<Value>(signature).is_ok_and(|parsed| parsed == *body);
    let nested = match body {
        Value::Array(items) => items.iter().any(|item| contains_signature(item, signature)),
        Value::Object(members) => members
            .values()
            .any(|member| contains_signature(member, signature)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    };
    is_text || is_parsed || nested
}

#[tokio::test]
async fn a_conversation_continues_on_every_other_model() {
    assert_eq!(API_PROFILES.map(|profile| profile.api), api::ALL);
    let mut violations = Vec::new();
    for source in API_PROFILES {
        let (messages, responses) = conversation(source);
        let signatures = signatures(&responses);
        for target in API_PROFILES {
            for vision in [Vision::Images, Vision::TextOnly] {
                let request = target.request(vision, messages.clone());
                let body = target.body(&request).await;
                let route = format!("{} -> {} ({vision:?})", source.api, target.api);
                if let Err(violation) = (target.rules)(&body) {
                    violations.push(format!("{route}: {violation}"));
                }
                let same_api = source.api == target.api || target.api == api::PI_MESSAGES;
                for signature in signatures.iter().filter(|_| !same_api) {
                    if contains_signature(&body, signature) {
                        violations.push(format!(
                            "{route}: the signature {signature} reaches another model"
                        ));
                    }
                }
                if !body.to_string().contains(RESULT) {
                    violations.push(format!("{route}: a tool result is missing"));
                }
                if matches!(vision, Vision::TextOnly)
                    && target.api != api::PI_MESSAGES
                    && body.to_string().contains(PNG)
                {
                    violations.push(format!("{route}: a text-only model receives an image"));
                }
            }
        }
    }
    assert!(violations.is_empty(), "{}", violations.join("\n"));
}

/// The recordings must contain calls and signatures, or the matrix tests nothing.
#[test]
fn the_recordings_contain_calls_and_signatures() {
    for profile in API_PROFILES {
        let (_, responses) = conversation(profile);
        let calls = responses
            .iter()
            .flat_map(AssistantMessage::tool_calls)
            .count();
        assert!(calls > 0, "{} has no tool call", profile.api);
        assert!(
            responses
                .iter()
                .all(|response| response.stop_reason != StopReason::Pending)
        );
    }
    let signed = API_PROFILES
        .into_iter()
        .filter(|profile| !signatures(&conversation(*profile).1).is_empty())
        .count();
    assert!(signed >= 7, "only {signed} APIs have signatures");
}

#[tokio::test]
async fn turns_alternate_for_bedrock() {
    let target = API_PROFILES
        .into_iter()
        .find(|profile| profile.api == api::BEDROCK_CONVERSE_STREAM)
        .unwrap();
    for source in API_PROFILES {
        let (messages, _) = conversation(source);
        let body = target.body(&target.request(Vision::Images, messages)).await;
        assert_eq!(rules::bedrock_turns(&body), Ok(()), "from {}", source.api);
    }
}
