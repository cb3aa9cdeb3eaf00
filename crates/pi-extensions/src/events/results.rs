//! Results of events, as combined by JavaScript.
//!
//! Handlers may return anything: an invalid member is treated as absent.

use pi_http::HeaderOverrides;
use pi_protocol::json::JsonObject;
use pi_protocol::{AgentMessage, ImageContent, InputBlock, Usage};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::{EventResult, parse};
use crate::prompt_options::ChangedOptions;
use crate::send_message::DraftData;

/// Deserializes a member; an invalid one is absent.
pub(super) fn lenient<'de, Data: DeserializeOwned, Source: Deserializer<'de>>(
    source: Source,
) -> Result<Option<Data>, Source::Error> {
    let value = Value::deserialize(source)?;
    Ok(parse(&value))
}

/// Results that are deserialized as a whole.
macro_rules! deserialized {
    ($($result:ty),* $(,)?) => {
        $(
            impl EventResult for $result {
                fn from_json(value: Value) -> Option<Self> {
                    parse(&value)
                }
            }
        )*
    };
}

deserialized!(
    CancelResult,
    ChangedResult,
    DiscoveredResources,
    DraftedEntries,
    HeadersResult,
    InputAction,
    MessageResult,
    StartResult,
    ToolCallResult,
    TrustResult,
    UserBashResult,
);

/// Whether a handler canceled the operation.
#[derive(Deserialize)]
pub struct CancelResult {
    #[serde(default, deserialize_with = "lenient")]
    pub cancel: Option<bool>,
}

#[derive(Deserialize)]
pub struct TrustResult {
    #[serde(default, deserialize_with = "lenient")]
    pub trusted: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub remember: Option<bool>,
}

/// Paths of resources that extensions named.
#[derive(Deserialize, Default)]
#[serde(default)]
pub struct DiscoveredResources {
    #[serde(rename = "skillPaths")]
    pub skills: Vec<DiscoveredPath>,
    #[serde(rename = "promptPaths")]
    pub prompts: Vec<DiscoveredPath>,
    #[serde(rename = "themePaths")]
    pub themes: Vec<DiscoveredPath>,
}

#[derive(Deserialize)]
pub struct DiscoveredPath {
    #[serde(default, deserialize_with = "lenient")]
    pub path: Option<String>,
    /// The file of the extension that returned the path.
    #[serde(default, deserialize_with = "lenient")]
    pub extension: Option<String>,
}

/// What handlers did with the user's input.
#[derive(Deserialize)]
pub struct InputAction {
    #[serde(default, deserialize_with = "lenient")]
    pub action: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub text: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub images: Option<Vec<ImageContent>>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct StartResult {
    pub messages: Vec<DraftData>,
    pub system_prompt: Option<String>,
    pub options: Option<ChangedOptions>,
}

/// Entries to append at the end of a turn or before settling.
#[derive(Deserialize)]
pub struct DraftedEntries {
    /// Parsed by the hook, which reports invalid entries.
    pub entries: Option<Value>,
    #[serde(default, deserialize_with = "lenient")]
    pub r#continue: Option<bool>,
}

#[derive(Deserialize)]
pub struct MessageResult {
    #[serde(default, deserialize_with = "lenient")]
    pub message: Option<AgentMessage>,
}

#[derive(Deserialize)]
pub struct HeadersResult {
    #[serde(default, deserialize_with = "lenient")]
    pub headers: Option<HeaderOverrides>,
}

/// The verdict about a tool call.
#[derive(Deserialize)]
pub struct ToolCallResult {
    /// The error of a handler, which blocks the call.
    #[serde(default, deserialize_with = "lenient")]
    pub failure: Option<String>,
    /// Present if a handler blocked the call.
    pub block: Option<Value>,
    #[serde(default, deserialize_with = "lenient")]
    pub reason: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub terminate: Option<bool>,
    /// The arguments, as changed by handlers.
    #[serde(default, deserialize_with = "lenient")]
    pub input: Option<JsonObject>,
}

/// Changes of a tool's result. One invalid member discards all.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct ChangedResult {
    pub content: Option<Vec<InputBlock>>,
    pub details: Option<Value>,
    pub structured_content: Option<Value>,
    pub is_error: Option<bool>,
    pub usage: Option<Usage>,
}

/// What handlers did with a user's shell command.
#[derive(Deserialize)]
pub struct UserBashResult {
    /// The error of a handler, which prevents the command from running.
    #[serde(default, deserialize_with = "lenient")]
    pub failure: Option<String>,
    /// The number of the operations to run it with.
    #[serde(default, deserialize_with = "lenient")]
    pub operations: Option<u64>,
    /// The result of the command. Parsed by the hook, which rejects an invalid one.
    pub result: Option<Value>,
}

/// The messages of a request. Large, so its value is moved instead of deserialized.
pub struct ContextResult {
    pub messages: Value,
}

impl EventResult for ContextResult {
    fn from_json(mut value: Value) -> Option<Self> {
        let messages = value.get_mut("messages")?.take();
        Some(Self { messages })
    }
}

/// The payload of a request. Large, so its value is moved instead of deserialized.
pub struct PayloadResult {
    pub payload: Value,
}

impl EventResult for PayloadResult {
    fn from_json(mut value: Value) -> Option<Self> {
        let payload = value.get_mut("payload")?.take();
        Some(Self { payload })
    }
}
