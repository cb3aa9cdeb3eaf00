//! The stream events of the Messages API.

use std::borrow::Cow;

use pi_protocol::json::{JsonObject, lenient_optional_u64};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
pub(super) struct MessageStart {
    pub(super) message: StartedMessage,
    #[serde(default)]
    pub(super) input_transformations: Option<Vec<Transformation>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct StartedMessage {
    #[serde(default)]
    pub(super) id: Option<String>,
    #[serde(default)]
    pub(super) model: Option<String>,
    #[serde(default)]
    pub(super) usage: Option<WireUsage>,
    #[serde(default)]
    pub(super) input_transformations: Option<Vec<Transformation>>,
}

/// A change that the service made to the request.
#[derive(Debug, Deserialize)]
pub(super) struct Transformation {
    #[serde(rename = "type", default)]
    pub(super) kind: Option<String>,
    #[serde(default)]
    pub(super) path: Option<String>,
    #[serde(default)]
    pub(super) reason: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct WireUsage {
    #[serde(deserialize_with = "lenient_optional_u64")]
    pub(super) input_tokens: Option<u64>,
    #[serde(deserialize_with = "lenient_optional_u64")]
    pub(super) output_tokens: Option<u64>,
    #[serde(deserialize_with = "lenient_optional_u64")]
    pub(super) cache_read_input_tokens: Option<u64>,
    #[serde(deserialize_with = "lenient_optional_u64")]
    pub(super) cache_creation_input_tokens: Option<u64>,
    pub(super) cache_creation: Option<CacheCreation>,
    pub(super) output_tokens_details: Option<OutputDetails>,
    #[serde(flatten)]
    pub(super) other_fields: JsonObject,
}

#[derive(Debug, Deserialize)]
pub(super) struct CacheCreation {
    #[serde(default, deserialize_with = "lenient_optional_u64")]
    pub(super) ephemeral_1h_input_tokens: Option<u64>,
}

#[derive(Debug, Deserialize)]
pub(super) struct OutputDetails {
    #[serde(default, deserialize_with = "lenient_optional_u64")]
    pub(super) thinking_tokens: Option<u64>,
}

#[derive(Debug, Deserialize)]
pub(super) struct BlockStart {
    pub(super) index: u64,
    pub(super) content_block: StartedBlock,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum StartedBlock {
    Text {
        #[serde(default)]
        text: Option<String>,
    },
    Thinking {
        #[serde(default)]
        thinking: Option<String>,
        #[serde(default)]
        signature: Option<String>,
    },
    RedactedThinking {
        #[serde(default)]
        data: String,
    },
    ToolUse {
        #[serde(default)]
        id: String,
        #[serde(default)]
        name: String,
        #[serde(default)]
        input: Option<JsonObject>,
    },
    /// Another model responds instead of the requested one.
    Fallback,
    /// Blocks of server-side tools, and unknown ones.
    #[serde(other)]
    Other,
}

#[derive(Debug, Deserialize)]
pub(super) struct BlockDelta<'event> {
    pub(super) index: u64,
    #[serde(borrow)]
    pub(super) delta: ContentDelta<'event>,
}

/// A flat struct for all kinds of delta, since a tagged enum would copy each of them once more.
#[derive(Debug, Deserialize)]
pub(super) struct ContentDelta<'event> {
    #[serde(rename = "type", borrow)]
    pub(super) kind: Cow<'event, str>,
    #[serde(default, borrow)]
    pub(super) text: Cow<'event, str>,
    #[serde(default, borrow)]
    pub(super) thinking: Cow<'event, str>,
    #[serde(default, borrow)]
    pub(super) partial_json: Cow<'event, str>,
    #[serde(default, borrow)]
    pub(super) signature: Cow<'event, str>,
}

#[derive(Debug, Deserialize)]
pub(super) struct BlockStop {
    pub(super) index: u64,
}

#[derive(Debug, Deserialize)]
pub(super) struct MessageDelta {
    pub(super) delta: StopDelta,
    #[serde(default)]
    pub(super) usage: Option<WireUsage>,
    #[serde(default)]
    pub(super) input_transformations: Option<Vec<Transformation>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct StopDelta {
    #[serde(default)]
    pub(super) stop_reason: Option<String>,
    #[serde(default)]
    pub(super) stop_details: Option<StopDetails>,
}

#[derive(Debug, Deserialize)]
pub(super) struct StopDetails {
    #[serde(default)]
    pub(super) explanation: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct EventType<'event> {
    #[serde(rename = "type", borrow)]
    pub(super) kind: Cow<'event, str>,
}
