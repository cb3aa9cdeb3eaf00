//! The request body: model, limits, prompt, tools and thinking.
//!
//! [`super::conversation`] converts the conversation itself.

use pi_protocol::json::serialize_text;
use pi_protocol::{CacheRetention, ProviderError, ThinkingLevel, Tool, ToolChoice, transcript};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::compat::MessagesCompat;
use super::conversation::{self, ConversationConverter, WireMessage};
use crate::constrained_sampling::strict_parameters;
use crate::options::ModelRequest;
use crate::token_limits;
use crate::wire::RequestBody;

/// The default effort of models whose effort is part of the history.
const DEFAULT_EFFORT: &str = "high";

/// The effort of the request itself if the history has the actual ones. It is part of the cached
/// prompt, so it never changes; it is the lowest, because an organization may reject higher ones.
const BASELINE_EFFORT: &str = "low";

/// A tool declared from the first request on if tools may change later. Once any tool is
/// deferred, the service adds hidden text to the prompt; with this tool always present, that text is
/// part of the cached prefix before the first real change.
const DEFERRED_PLACEHOLDER: &str = "__pi_deferred_placeholder__";

/// A marker that ends a cached prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct CacheControl {
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    ttl: Option<&'static str>,
}

impl CacheControl {
    fn for_request(request: &ModelRequest, compat: &MessagesCompat) -> Option<Self> {
        let ttl = match request.cache_retention() {
            CacheRetention::None => return None,
            CacheRetention::Short => None,
            CacheRetention::Long => compat.long_cache.then_some("1h"),
        };
        Some(Self {
            kind: "ephemeral",
            ttl,
        })
    }
}

#[derive(Debug, Serialize)]
struct MessagesBody<'request> {
    model: &'request str,
    messages: Vec<WireMessage<'request>>,
    max_tokens: u64,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    system: Option<[SystemBlock; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<WireTool<'request>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<WireThinking<'request>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<OutputConfig<'request>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fallbacks: Vec<FallbackModel<'request>>,
}

#[derive(Debug, Serialize)]
struct SystemBlock {
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(serialize_with = "serialize_text")]
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

#[derive(Debug, Serialize)]
pub(super) struct WireTool<'request> {
    name: &'request str,
    #[serde(serialize_with = "serialize_text")]
    description: &'request str,
    #[serde(skip_serializing_if = "Option::is_none")]
    eager_input_streaming: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    strict: Option<bool>,
    input_schema: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
    #[serde(skip_serializing_if = "Option::is_none")]
    defer_loading: Option<bool>,
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum WireThinking<'request> {
    Disabled,
    Enabled {
        budget_tokens: u64,
        display: &'request str,
    },
    Adaptive {
        display: &'request str,
        #[serde(skip_serializing_if = "Option::is_none")]
        block_binding: Option<Value>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct OutputConfig<'request> {
    pub effort: &'request str,
}

#[derive(Debug, Serialize)]
struct FallbackModel<'request> {
    model: &'request str,
}

/// Thinking configuration, as far as the rest of the request depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MessagesThinking<'request> {
    /// The model does not support thinking, or the field must be omitted.
    Omitted,
    Off,
    /// With a token budget.
    Budget,
    /// Adaptive, controlled by an effort.
    Adaptive(&'request str),
}

impl<'request> MessagesThinking<'request> {
    pub(super) fn for_request(request: &'request ModelRequest, compat: &MessagesCompat) -> Self {
        let level = request.options.reasoning;
        let turns_off = level == ThinkingLevel::Off
            && request.model.reasoning
            && request.model.mapped_thinking_level(level) != Some(None);
        // The effort cannot change between turns while thinking is off.
        if compat.effort_in_history && !turns_off {
            return Self::Adaptive(effort(request, level).unwrap_or(DEFAULT_EFFORT));
        }
        if !request.model.reasoning {
            return Self::Omitted;
        }
        match effort(request, level) {
            None if request.model.mapped_thinking_level(level) == Some(None) => Self::Omitted,
            None => Self::Off,
            Some(effort) if compat.adaptive_thinking => Self::Adaptive(effort),
            Some(_) => Self::Budget,
        }
    }
}

/// Returns the service's effort for a level; `off` has none.
fn effort(request: &ModelRequest, level: ThinkingLevel) -> Option<&str> {
    let requested = request
        .options
        .provider_option("effort")
        .and_then(Value::as_str);
    let mapped = request.model.mapped_thinking_level(level).flatten();
    match level {
        ThinkingLevel::Off => None,
        ThinkingLevel::Minimal | ThinkingLevel::Low => requested.or(mapped).or(Some("low")),
        ThinkingLevel::Medium => requested.or(mapped).or(Some("medium")),
        ThinkingLevel::High | ThinkingLevel::Xhigh | ThinkingLevel::Max => {
            requested.or(mapped).or(Some("high"))
        }
    }
}

/// Whether tool changes are sent at their system message.
///
/// The service requires at least one tool that is not deferred.
pub(super) fn changes_tools_in_place(request: &ModelRequest, compat: &MessagesCompat) -> bool {
    let declares_tools = transcript::leading_system_message(&request.messages)
        .and_then(|message| message.tools_added.as_ref())
        .is_some_and(|tools| !tools.is_empty());
    compat.later_tool_changes && declares_tools
}

pub(super) fn body(
    request: &ModelRequest,
    compat: &MessagesCompat,
) -> Result<RequestBody, ProviderError> {
    let cache = CacheControl::for_request(request, compat);
    let thinking = MessagesThinking::for_request(request, compat);
    let messages = transcript::resolve(&request.messages, compat.later_system_messages);
    let prompt = messages
        .first()
        .and_then(|message| message.as_system())
        .map(transcript::system_text)
        .filter(|text| !text.is_empty());
    let messages = conversation::hand_off(messages, request);
    let current_effort = match thinking {
        MessagesThinking::Adaptive(effort) if compat.effort_in_history => Some(effort),
        _ => None,
    };
    let conversation = ConversationConverter {
        provider: &request.model.provider,
        cache,
        empty_signature: compat.empty_signature,
        tool_changes: changes_tools_in_place(request, compat).then_some(compat),
        current_effort,
    };
    let declared = DeclaredTools::for_request(request, compat);
    let tools = declared.convert(compat, cache)?;
    let body = MessagesBody {
        model: &request.model.id,
        messages: conversation.convert(&messages)?,
        max_tokens: max_tokens(request, thinking),
        stream: true,
        system: prompt.map(|text| {
            [SystemBlock {
                kind: "text",
                text,
                cache_control: cache,
            }]
        }),
        temperature: temperature(request, compat, thinking),
        // The service rejects a tool choice without tools.
        tool_choice: tool_choice(request).filter(|_| !tools.is_empty()),
        tools,
        thinking: wire_thinking(request, thinking, current_effort.is_some()),
        output_config: output_config(thinking, current_effort.is_some()),
        metadata: metadata(request),
        fallbacks: compat
            .fallbacks
            .iter()
            .map(|fallback| FallbackModel {
                model: &fallback.model,
            })
            .collect(),
    };
    RequestBody::write(&body)
}

fn max_tokens(request: &ModelRequest, thinking: MessagesThinking<'_>) -> u64 {
    match thinking {
        MessagesThinking::Budget => token_limits::thinking_allowance(request).max_tokens,
        MessagesThinking::Omitted | MessagesThinking::Off | MessagesThinking::Adaptive(_) => {
            token_limits::output_limit(request)
        }
    }
}

/// The service rejects a temperature combined with thinking.
fn temperature(
    request: &ModelRequest,
    compat: &MessagesCompat,
    thinking: MessagesThinking<'_>,
) -> Option<f64> {
    let thinking_enabled = matches!(
        thinking,
        MessagesThinking::Budget | MessagesThinking::Adaptive(_)
    );
    request
        .options
        .temperature
        .filter(|_| compat.temperature && !thinking_enabled)
}

fn wire_thinking<'request>(
    request: &'request ModelRequest,
    thinking: MessagesThinking<'request>,
    effort_in_history: bool,
) -> Option<WireThinking<'request>> {
    // Newer models omit thinking text by default.
    let display = request
        .options
        .provider_option("thinkingDisplay")
        .and_then(Value::as_str)
        .unwrap_or("summarized");
    match thinking {
        MessagesThinking::Omitted => None,
        MessagesThinking::Off => Some(WireThinking::Disabled),
        MessagesThinking::Budget => Some(WireThinking::Enabled {
            budget_tokens: thinking_budget(request),
            display,
        }),
        MessagesThinking::Adaptive(_) => Some(WireThinking::Adaptive {
            display,
            // Drop thinking bound to another prefix instead of failing every later turn.
            block_binding: effort_in_history
                .then(|| json!({"prefix_mismatch_behavior": "drop_block"})),
        }),
    }
}

fn thinking_budget(request: &ModelRequest) -> u64 {
    /// The minimum that the service accepts.
    const MIN_BUDGET: u64 = 1024;
    let requested = request
        .options
        .provider_option("thinkingBudgetTokens")
        .and_then(Value::as_u64);
    match requested.unwrap_or_else(|| token_limits::thinking_allowance(request).budget) {
        0 => MIN_BUDGET,
        budget => budget,
    }
}

/// With the effort in the history, the request's own effort is the baseline that the history changes.
fn output_config(
    thinking: MessagesThinking<'_>,
    effort_in_history: bool,
) -> Option<OutputConfig<'_>> {
    match thinking {
        MessagesThinking::Adaptive(_) if effort_in_history => Some(OutputConfig {
            effort: BASELINE_EFFORT,
        }),
        MessagesThinking::Adaptive(effort) => Some(OutputConfig { effort }),
        MessagesThinking::Omitted | MessagesThinking::Off | MessagesThinking::Budget => None,
    }
}

fn metadata(request: &ModelRequest) -> Option<Value> {
    let user_id = request
        .options
        .metadata
        .as_ref()?
        .get("user_id")?
        .as_str()?;
    Some(json!({"user_id": user_id}))
}

fn tool_choice(request: &ModelRequest) -> Option<Value> {
    match request.options.provider_option("toolChoice") {
        Some(Value::String(kind)) => return Some(json!({"type": kind})),
        Some(choice @ Value::Object(_)) => return Some(choice.clone()),
        Some(_) | None => {}
    }
    request.options.tool_choice.map(|choice| match choice {
        ToolChoice::Auto => json!({"type": "auto"}),
        ToolChoice::None => json!({"type": "none"}),
    })
}

/// The tool list of a request. With in-place changes, it has the initial tools and a placeholder, and
/// never changes.
struct DeclaredTools {
    tools: Vec<Tool>,
    has_placeholder: bool,
}

impl DeclaredTools {
    fn for_request(request: &ModelRequest, compat: &MessagesCompat) -> Self {
        if !changes_tools_in_place(request, compat) {
            return Self {
                tools: transcript::current_tools(&request.messages),
                has_placeholder: false,
            };
        }
        Self {
            tools: transcript::leading_system_message(&request.messages)
                .and_then(|message| message.tools_added.clone())
                .unwrap_or_default(),
            has_placeholder: true,
        }
    }

    fn convert(
        &self,
        compat: &MessagesCompat,
        cache: Option<CacheControl>,
    ) -> Result<Vec<WireTool<'_>>, ProviderError> {
        let mut tools = self
            .tools
            .iter()
            .map(|tool| wire_tool(tool, compat))
            .collect::<Result<Vec<_>, _>>()?;
        if let Some(last) = tools.last_mut().filter(|_| compat.cache_on_tools) {
            last.cache_control = cache;
        }
        if self.has_placeholder {
            tools.push(WireTool {
                name: DEFERRED_PLACEHOLDER,
                description: "Placeholder that is never available. Do not call it.",
                eager_input_streaming: None,
                strict: None,
                input_schema: json!({"type": "object", "properties": {}, "required": []}),
                cache_control: None,
                defer_loading: Some(true),
            });
        }
        Ok(tools)
    }
}

pub(super) fn wire_tool<'request>(
    tool: &'request Tool,
    compat: &MessagesCompat,
) -> Result<WireTool<'request>, ProviderError> {
    let strict = strict_parameters(
        tool,
        compat.strict_tools && accepts_strict(&tool.parameters),
    )?;
    Ok(WireTool {
        name: &tool.name,
        description: &tool.description,
        eager_input_streaming: compat.eager_tool_input.then_some(true),
        strict: strict.is_some().then_some(true),
        input_schema: match &strict {
            Some(schema) => object_schema(schema, SchemaKeys::All),
            None => object_schema(&tool.parameters, SchemaKeys::Essential),
        },
        cache_control: None,
        defer_loading: None,
    })
}

/// Keywords that make the service reject a request with strict tools.
const NON_STRICT_KEYWORDS: [&str; 11] = [
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "maxItems",
    "uniqueItems",
    "minContains",
    "maxContains",
    "minProperties",
    "maxProperties",
];

/// String formats that the service accepts in strict tools.
const STRICT_FORMATS: [&str; 10] = [
    "date-time",
    "time",
    "date",
    "duration",
    "email",
    "hostname",
    "uri",
    "ipv4",
    "ipv6",
    "uuid",
];

/// Returns whether the service accepts a schema in strict mode. Only schemas are visited: the name
/// of a property may equal a keyword.
fn accepts_strict(schema: &Value) -> bool {
    let Value::Object(schema) = schema else {
        return true;
    };
    schema.iter().all(|(key, value)| match key.as_str() {
        "properties" => value
            .as_object()
            .is_none_or(|properties| properties.values().all(accepts_strict)),
        "items" => accepts_strict(value),
        "anyOf" => value
            .as_array()
            .is_none_or(|alternatives| alternatives.iter().all(accepts_strict)),
        "minItems" => matches!(value.as_u64(), Some(0 | 1)),
        "format" => value
            .as_str()
            .is_some_and(|format| STRICT_FORMATS.contains(&format)),
        keyword => !NON_STRICT_KEYWORDS.contains(&keyword),
    })
}

/// Which keywords of a schema are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SchemaKeys {
    /// All of them; a strict schema is validated as a whole.
    All,
    /// Only those that describe the arguments, and definitions: some compatible services fail on
    /// other keywords.
    Essential,
}

fn object_schema(parameters: &Value, keys: SchemaKeys) -> Value {
    let mut schema = Map::new();
    schema.insert("type".to_owned(), "object".into());
    schema.insert("properties".to_owned(), json!({}));
    schema.insert("required".to_owned(), json!([]));
    for (key, value) in parameters.as_object().into_iter().flatten() {
        let keep = match key.as_str() {
            "type" => false,
            "properties" | "required" | "$defs" | "definitions" => true,
            _ => keys == SchemaKeys::All,
        };
        if keep && !value.is_null() {
            schema.insert(key.clone(), value.clone());
        }
    }
    Value::Object(schema)
}
