//! Every API's conversation, continued on every other API.
//!
//! The answers come from each API's own recorded stream, read by its own decoder, so ids and
//! signatures are the real ones. What the target makes of them is judged by [`rules`].

mod rules;

use secrecy::SecretString;
use serde_json::{Value, json};

use self::rules::Verdict;
use super::anthropic_messages::AnthropicMessages;
use super::azure_responses::AzureResponses;
use super::bedrock_converse::BedrockConverse;
use super::codex_responses::CodexHttp;
use super::google_generative::GoogleGenerative;
use super::google_vertex::GoogleVertex;
use super::mistral::MistralConversations;
use super::openai_completions::OpenAiCompletions;
use super::openai_responses::OpenAiResponses;
use super::pi_messages::PiMessages;
use super::testing::{self, NOW, PNG};
use super::{Decoder, HttpProtocol, Progress};
use crate::google_credentials::GoogleCredentials;
use crate::live_message::MessageBuilder;
use crate::message::{AssistantMessage, Message};
use crate::model::{Model, api};
use crate::options::{ModelRequest, StreamOptions};
use crate::stop_reason::StopReason;
use crate::transport::HttpClient;

/// One API, a model that speaks it, and what its service demands.
#[derive(Clone, Copy)]
struct Party {
    api: &'static str,
    provider: &'static str,
    model: &'static str,
    /// Folder and name of recorded answers.
    recordings: &'static [(&'static str, &'static str)],
    rules: fn(&Value) -> Verdict,
}

const RESPONSES_RECORDINGS: &[(&str, &str)] = &[
    ("openai-responses", "thinking.sse"),
    ("openai-responses", "parallel.sse"),
];

const GOOGLE_RECORDINGS: &[(&str, &str)] = &[
    ("google-generative-ai", "thinking.sse"),
    ("google-generative-ai", "parallel_tools.sse"),
];

const PARTIES: [Party; 10] = [
    Party {
        api: api::ANTHROPIC_MESSAGES,
        provider: "anthropic",
        model: "claude-opus-4-8",
        recordings: &[
            ("anthropic-messages", "thinking.sse"),
            ("anthropic-messages", "tools.sse"),
        ],
        rules: rules::anthropic,
    },
    Party {
        api: api::OPENAI_COMPLETIONS,
        provider: "openai",
        model: "gpt-4.1",
        recordings: &[
            ("openai-completions", "reasoning_details.sse"),
            ("openai-completions", "parallel_tools.sse"),
        ],
        rules: rules::completions,
    },
    Party {
        api: api::OPENAI_RESPONSES,
        provider: "openai",
        model: "gpt-5.4",
        recordings: RESPONSES_RECORDINGS,
        rules: rules::responses,
    },
    Party {
        api: api::AZURE_OPENAI_RESPONSES,
        provider: "azure-openai-responses",
        model: "gpt-5.4",
        recordings: RESPONSES_RECORDINGS,
        rules: rules::responses,
    },
    Party {
        api: api::OPENAI_CODEX_RESPONSES,
        provider: "openai-codex",
        model: "gpt-5.5",
        recordings: &[("openai-codex-responses", "tools.sse")],
        rules: rules::responses,
    },
    Party {
        api: api::GOOGLE_GENERATIVE_AI,
        provider: "google",
        model: "gemini-3-pro-preview",
        recordings: GOOGLE_RECORDINGS,
        rules: rules::google,
    },
    Party {
        api: api::GOOGLE_VERTEX,
        provider: "google-vertex",
        model: "gemini-3-pro-preview",
        recordings: GOOGLE_RECORDINGS,
        rules: rules::google,
    },
    Party {
        api: api::MISTRAL_CONVERSATIONS,
        provider: "mistral",
        model: "devstral-medium-latest",
        recordings: &[
            ("mistral-conversations", "thinking.sse"),
            ("mistral-conversations", "parallel_tools.sse"),
        ],
        rules: rules::mistral,
    },
    Party {
        api: api::BEDROCK_CONVERSE_STREAM,
        provider: "amazon-bedrock",
        model: "us.anthropic.claude-opus-4-6-v1",
        recordings: &[
            ("bedrock-converse-stream", "thinking.frames"),
            ("bedrock-converse-stream", "tools.frames"),
        ],
        rules: rules::bedrock,
    },
    Party {
        api: api::PI_MESSAGES,
        provider: "radius",
        model: "balanced",
        recordings: &[("pi-messages", "text.sse"), ("pi-messages", "tools.sse")],
        rules: rules::pi,
    },
];

/// What a tool found out; it must reach the target.
const RESULT: &str = "forty-two files";

/// Whether the target model sees images.
#[derive(Debug, Clone, Copy)]
enum Sight {
    Images,
    TextOnly,
}

impl Party {
    fn model(self, sight: Sight) -> Model {
        let input = match sight {
            Sight::Images => json!(["text", "image"]),
            Sight::TextOnly => json!(["text"]),
        };
        let fields = json!({"provider": self.provider, "id": self.model, "input": input,
            "baseUrl": "https://service.invalid/v1"});
        testing::model(self.api, fields)
    }

    fn request(self, sight: Sight, messages: Value) -> ModelRequest {
        let options = StreamOptions {
            api_key: Some(SecretString::from("key")),
            provider_options: serde_json::from_value(json!({"accountId": "account"})).unwrap(),
            ..StreamOptions::default()
        };
        testing::request(self.model(sight), messages, options)
    }

    fn decoder(self, request: &ModelRequest) -> Box<dyn Decoder> {
        match self.api {
            api::ANTHROPIC_MESSAGES => AnthropicMessages.decoder(request),
            api::OPENAI_COMPLETIONS => OpenAiCompletions.decoder(request),
            api::OPENAI_RESPONSES => OpenAiResponses.decoder(request),
            api::AZURE_OPENAI_RESPONSES => AzureResponses.decoder(request),
            api::OPENAI_CODEX_RESPONSES => CodexHttp::new(request).decoder(request),
            api::GOOGLE_GENERATIVE_AI => GoogleGenerative.decoder(request),
            api::GOOGLE_VERTEX => vertex().decoder(request),
            api::MISTRAL_CONVERSATIONS => MistralConversations.decoder(request),
            api::BEDROCK_CONVERSE_STREAM => BedrockConverse::default().decoder(request),
            api::PI_MESSAGES => PiMessages.decoder(request),
            other => panic!("no such API: {other}"),
        }
    }

    async fn body(self, request: &ModelRequest) -> Value {
        match self.api {
            api::ANTHROPIC_MESSAGES => body_of(AnthropicMessages, request).await,
            api::OPENAI_COMPLETIONS => body_of(OpenAiCompletions, request).await,
            api::OPENAI_RESPONSES => body_of(OpenAiResponses, request).await,
            api::AZURE_OPENAI_RESPONSES => body_of(AzureResponses, request).await,
            api::OPENAI_CODEX_RESPONSES => body_of(CodexHttp::new(request), request).await,
            api::GOOGLE_GENERATIVE_AI => body_of(GoogleGenerative, request).await,
            api::GOOGLE_VERTEX => body_of(vertex(), request).await,
            api::MISTRAL_CONVERSATIONS => body_of(MistralConversations, request).await,
            api::BEDROCK_CONVERSE_STREAM => body_of(BedrockConverse::default(), request).await,
            api::PI_MESSAGES => body_of(PiMessages, request).await,
            other => panic!("no such API: {other}"),
        }
    }

    /// Reads a recorded answer as this party's model would have given it.
    fn answer(self, recording: (&str, &str)) -> AssistantMessage {
        let request = self.request(Sight::Images, declared_tools());
        let mut builder = MessageBuilder::new(&request.model, NOW);
        let mut decoder = self.decoder(&request);
        let read = decoder
            .push(&recorded(recording), &mut builder)
            .and_then(|progress| match progress {
                Progress::More => decoder.finish(&mut builder),
                Progress::Complete => Ok(()),
            });
        assert_eq!(read, Ok(()), "{} reads {recording:?}", self.api);
        builder.complete();
        let message = builder.live().snapshot();
        assert!(
            !message.stop_reason.is_failure(),
            "{recording:?}: {message:?}"
        );
        message
    }
}

fn vertex() -> GoogleVertex {
    GoogleVertex::new(GoogleCredentials::new(HttpClient::new()))
}

async fn body_of<P: HttpProtocol>(protocol: P, request: &ModelRequest) -> Value {
    protocol.prepare(request).await.unwrap().body.into_tree()
}

fn recorded((folder, name): (&str, &str)) -> Vec<u8> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(folder)
        .join(name);
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    match name.strip_suffix(".frames") {
        Some(_) => framed(std::str::from_utf8(&bytes).unwrap()),
        None => bytes,
    }
}

/// Encodes lines of `event-type payload` as AWS frames.
fn framed(lines: &str) -> Vec<u8> {
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

/// A conversation in which the source gave every recorded answer, continued by the user.
fn conversation(source: Party) -> (Value, Vec<AssistantMessage>) {
    let mut messages = declared_tools();
    let list = messages.as_array_mut().unwrap();
    let image = json!({"type": "image", "data": PNG, "mimeType": "image/png"});
    let mut answers = Vec::new();
    for recording in source.recordings {
        list.push(json!({"role": "user", "timestamp": NOW,
            "content": [{"type": "text", "text": "Look."}, image]}));
        let answer = source.answer(*recording);
        list.push(serde_json::to_value(Message::from(answer.clone())).unwrap());
        for (index, call) in answer.tool_calls().enumerate() {
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
        answers.push(answer);
    }
    list.push(json!({"role": "user", "content": "Go on.", "timestamp": NOW}));
    (messages, answers)
}

/// Everything in an answer that only its own model may see again.
fn signatures(answers: &[AssistantMessage]) -> Vec<String> {
    let keys = ["thinkingSignature", "textSignature", "thoughtSignature"];
    let mut found = Vec::new();
    for answer in answers {
        let content = serde_json::to_value(&answer.content).unwrap();
        for block in content.as_array().unwrap() {
            let signed = keys.iter().filter_map(|key| block.get(*key)?.as_str());
            // Chat Completions stores the name of a field there, which is no secret of a model.
            found.extend(
                signed
                    .filter(|signature| !signature.starts_with("reasoning"))
                    .map(str::to_owned),
            );
        }
    }
    found
}

/// Returns whether a body holds a signature, as a text or unpacked as the JSON it is.
fn carries(body: &Value, signature: &str) -> bool {
    let is_text = body.as_str() == Some(signature);
    let is_unpacked = (body.is_object() || body.is_array())
        && serde_json::from_str::<Value>(signature).is_ok_and(|unpacked| unpacked == *body);
    let held = match body {
        Value::Array(items) => items.iter().any(|item| carries(item, signature)),
        Value::Object(members) => members.values().any(|member| carries(member, signature)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    };
    is_text || is_unpacked || held
}

#[tokio::test]
async fn a_conversation_goes_on_with_any_other_model() {
    assert_eq!(PARTIES.map(|party| party.api), api::ALL);
    let mut breaches = Vec::new();
    for source in PARTIES {
        let (messages, answers) = conversation(source);
        let signatures = signatures(&answers);
        for target in PARTIES {
            for sight in [Sight::Images, Sight::TextOnly] {
                let request = target.request(sight, messages.clone());
                let body = target.body(&request).await;
                let route = format!("{} -> {} ({sight:?})", source.api, target.api);
                if let Err(breach) = (target.rules)(&body) {
                    breaches.push(format!("{route}: {breach}"));
                }
                let stays_home = source.api == target.api || target.api == api::PI_MESSAGES;
                for signature in signatures.iter().filter(|_| !stays_home) {
                    if carries(&body, signature) {
                        breaches.push(format!(
                            "{route}: the signature {signature} leaves its model"
                        ));
                    }
                }
                if !body.to_string().contains(RESULT) {
                    breaches.push(format!("{route}: a result is lost"));
                }
                if matches!(sight, Sight::TextOnly)
                    && target.api != api::PI_MESSAGES
                    && body.to_string().contains(PNG)
                {
                    breaches.push(format!("{route}: a text model gets an image"));
                }
            }
        }
    }
    assert!(breaches.is_empty(), "{}", breaches.join("\n"));
}

/// The recordings must hold what the matrix is about, or it proves nothing.
#[test]
fn the_recordings_hold_calls_and_signatures() {
    for party in PARTIES {
        let (_, answers) = conversation(party);
        let calls = answers
            .iter()
            .flat_map(AssistantMessage::tool_calls)
            .count();
        assert!(calls > 0, "{} makes no call", party.api);
        assert!(
            answers
                .iter()
                .all(|answer| answer.stop_reason != StopReason::Pending)
        );
    }
    let signed = PARTIES
        .into_iter()
        .filter(|party| !signatures(&conversation(*party).1).is_empty())
        .count();
    assert!(signed >= 7, "only {signed} APIs sign anything");
}

#[tokio::test]
async fn turns_alternate_for_bedrock() {
    let target = PARTIES
        .into_iter()
        .find(|party| party.api == api::BEDROCK_CONVERSE_STREAM)
        .unwrap();
    for source in PARTIES {
        let (messages, _) = conversation(source);
        let body = target.body(&target.request(Sight::Images, messages)).await;
        assert_eq!(rules::bedrock_turns(&body), Ok(()), "from {}", source.api);
    }
}
