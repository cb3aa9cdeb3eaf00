//! Request fields shared by OpenAI, Azure and Codex.
//!
//! Each service builds its body from these; nothing here depends on the service.

use pi_http::HeaderOverrides;
use pi_protocol::json::JsonObject;
use pi_protocol::transcript::RequestTools;
use pi_protocol::{CacheRetention, ProviderError, ThinkingLevel};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};

use super::compat::{ResponsesCompat, SessionAffinity};
use super::input::{InputBuilder, LeadingPrompt};
use super::tools::{DeclaredIn, DefaultStrict, GrammarProperties, ToolDialect, grammar_properties};
use crate::options::ModelRequest;
use crate::token_limits;

/// The service rejects smaller output limits.
const MIN_OUTPUT_TOKENS: u64 = 16;

/// The service rejects longer cache keys.
const MAX_CACHE_KEY_CHARACTERS: usize = 64;

/// Requests reasoning in a form that can be replayed.
const ENCRYPTED_REASONING: &str = "reasoning.encrypted_content";

/// The reasoning configuration of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ReasoningConfig {
    /// The field is omitted.
    Omitted,
    /// Disabled, with the model's name for that effort.
    Off(String),
    On {
        /// The model's name for the effort.
        effort: String,
        /// Which summary to return.
        summary: String,
    },
}

/// The encoded transcript: its input items and the tools of the request's own list.
#[derive(Debug)]
pub(crate) struct EncodedConversation {
    pub input: Vec<Value>,
    pub tools: Vec<Value>,
}

/// Differences between the three services.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ServiceRules {
    /// The value of `strict` for a tool that does not request it.
    pub default_strict: DefaultStrict,
    pub leading_prompt: LeadingPrompt,
}

impl EncodedConversation {
    pub(crate) fn for_request(
        request: &ModelRequest,
        compat: &ResponsesCompat,
        rules: ServiceRules,
    ) -> Result<Self, ProviderError> {
        Self::with_effort_updates(request, compat, rules, None)
    }

    /// Like [`Self::for_request`], with the effort of the request as an item of the input.
    pub(crate) fn with_effort_updates(
        request: &ModelRequest,
        compat: &ResponsesCompat,
        rules: ServiceRules,
        effort_updates: Option<&str>,
    ) -> Result<Self, ProviderError> {
        let request_tools = RequestTools::resolve(&request.messages, compat.in_place_tools());
        let properties = grammar_properties(&request.messages, compat)?;
        let builder = InputBuilder {
            covered_system_messages: request_tools.covered_system_messages,
            effort_updates,
            ..input_builder(request, compat, rules, &properties)
        };
        Ok(Self {
            tools: builder
                .tools
                .declare(&request_tools.tools, DeclaredIn::List)?,
            input: builder.items(&request.messages, request.env.now_ms())?,
        })
    }

    /// Adds the tools to a body; the field is omitted if there are none.
    pub(crate) fn add_tools(tools: Vec<Value>, body: &mut JsonObject) {
        if !tools.is_empty() {
            body.insert("tools".into(), tools.into());
        }
    }
}

pub(crate) fn input_builder<'request>(
    request: &'request ModelRequest,
    compat: &'request ResponsesCompat,
    rules: ServiceRules,
    grammar_properties: &'request GrammarProperties,
) -> InputBuilder<'request> {
    InputBuilder {
        model: &request.model,
        compat,
        tools: ToolDialect::new(compat, rules.default_strict),
        grammar_properties,
        leading_prompt: rules.leading_prompt,
        covered_system_messages: usize::MAX,
        effort_updates: None,
    }
}

impl ReasoningConfig {
    pub(crate) fn for_request(request: &ModelRequest) -> Self {
        let model = &request.model;
        if !model.reasoning {
            return Self::Omitted;
        }
        let summary = request.options.text_option("reasoningSummary");
        match (effort(request), summary) {
            (Some(effort), summary) => Self::On {
                effort,
                summary: summary.unwrap_or("auto").to_owned(),
            },
            (None, Some(summary)) => Self::On {
                effort: "medium".to_owned(),
                summary: summary.to_owned(),
            },
            (None, None) => match model.mapped_thinking_level(ThinkingLevel::Off) {
                Some(None) => Self::Omitted,
                Some(Some(name)) => Self::Off(name.to_owned()),
                None => Self::Off("none".to_owned()),
            },
        }
    }

    pub(crate) fn add_to(&self, body: &mut JsonObject) {
        let value = match self {
            Self::Omitted => return,
            Self::Off(effort) => json!({"effort": effort}),
            Self::On { effort, summary } => json!({"effort": effort, "summary": summary}),
        };
        body.insert("reasoning".into(), value);
    }
}

/// Returns the model's name for the requested effort, `None` if reasoning is off.
pub(crate) fn effort(request: &ModelRequest) -> Option<String> {
    let model = &request.model;
    let level = match request.options.text_option("reasoningEffort") {
        Some("none") => return None,
        Some(name) => match ThinkingLevel::from_name(name) {
            Some(level) => level,
            None => return Some(name.to_owned()),
        },
        None => match request.options.reasoning {
            // Reasoning was not requested: a model that cannot disable it uses its default.
            ThinkingLevel::Off => return None,
            level => model.clamp_thinking_level(level),
        },
    };
    if level == ThinkingLevel::Off {
        return None;
    }
    let mapped = model.mapped_thinking_level(level).flatten();
    Some(mapped.unwrap_or(level.as_str()).to_owned())
}

/// Requests reasoning in a form that can be replayed.
pub(crate) fn include_encrypted_reasoning(body: &mut JsonObject) {
    body.insert("include".into(), json!([ENCRYPTED_REASONING]));
}

pub(crate) fn add_output_limit(request: &ModelRequest, body: &mut JsonObject) {
    let limit = token_limits::output_limit(request).max(MIN_OUTPUT_TOKENS);
    body.insert("max_output_tokens".into(), limit.into());
}

pub(crate) fn add_temperature(request: &ModelRequest, body: &mut JsonObject) {
    if let Some(temperature) = request.options.temperature {
        body.insert("temperature".into(), json!(temperature));
    }
}

pub(crate) fn add_service_tier(request: &ModelRequest, body: &mut JsonObject) {
    if let Some(tier) = request.options.text_option("serviceTier") {
        body.insert("service_tier".into(), tier.into());
    }
}

/// Merges sampling parameters last, so that they override everything else.
pub(crate) fn merge_sampling_params(request: &ModelRequest, body: &mut JsonObject) {
    body.extend(request.sampling_params());
}

/// Returns the session ID unless caching is off.
pub(crate) fn cached_session_id(request: &ModelRequest) -> Option<String> {
    match request.cache_retention() {
        CacheRetention::None => None,
        CacheRetention::Short | CacheRetention::Long => {
            let session_id = request.options.session_id.clone();
            session_id.filter(|session_id| !session_id.is_empty())
        }
    }
}

pub(crate) fn add_cache_key(request: &ModelRequest, body: &mut JsonObject) {
    if let Some(session_id) = cached_session_id(request) {
        body.insert("prompt_cache_key".into(), cache_key(&session_id).into());
    }
}

/// Truncates a session ID to the length limit of cache keys.
pub(crate) fn cache_key(session_id: &str) -> String {
    session_id.chars().take(MAX_CACHE_KEY_CHARACTERS).collect()
}

pub(crate) fn add_cache_retention(
    request: &ModelRequest,
    compat: &ResponsesCompat,
    body: &mut JsonObject,
) {
    let retention = request.cache_retention();
    let long = retention == CacheRetention::Long && compat.long_cache_retention;
    if !compat.explicit_prompt_cache {
        if long {
            body.insert("prompt_cache_retention".into(), "24h".into());
        }
        return;
    }
    if retention == CacheRetention::None {
        body.insert("prompt_cache_options".into(), json!({"mode": "explicit"}));
    } else if long {
        body.insert("prompt_cache_options".into(), json!({"ttl": "30m"}));
    }
}

/// Returns the headers that identify the session of a request.
pub(crate) fn affinity_headers(
    request: &ModelRequest,
    affinity: SessionAffinity,
) -> HeaderOverrides {
    let Some(session_id) = cached_session_id(request) else {
        return HeaderOverrides::new();
    };
    let names: &[&str] = match affinity {
        SessionAffinity::SessionAndRequest => &["session_id", "x-client-request-id"],
        SessionAffinity::Request => &["x-client-request-id"],
        SessionAffinity::ExtendedSession => &["x-session-id"],
    };
    names
        .iter()
        .map(|name| ((*name).to_owned(), Some(session_id.clone())))
        .collect()
}

/// Returns the API key unless it is empty.
pub(crate) fn api_key(request: &ModelRequest) -> Option<&SecretString> {
    let key = request.options.api_key.as_ref();
    key.filter(|key| !key.expose_secret().is_empty())
}
