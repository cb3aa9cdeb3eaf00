//! Deviations of Responses-compatible services, from a model's `compat` record.
//!
//! This file only parses the flags; those missing from the record have the default of their
//! API.

use pi_protocol::Model;
use pi_protocol::transcript::InPlaceTools;
use serde_json::Value;

use crate::wire::openrouter;

/// The capabilities of a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ResponsesCompat {
    /// Instructions use the `developer` role if the model supports reasoning, else `system`.
    pub developer_role: bool,
    /// System messages are allowed within the conversation.
    pub later_system_messages: bool,
    pub session_affinity: SessionAffinity,
    /// Prompts can be cached for longer than minutes.
    pub long_cache_retention: bool,
    pub strict_tools: bool,
    /// Grammar tools are sent as custom tools.
    pub grammar_tools: bool,
    /// Tools may be added within the conversation with `additional_tools`.
    pub additional_tools: bool,
    /// Tools may be added within the conversation as the result of a tool search.
    pub tool_search: bool,
    /// The cache is controlled by `prompt_cache_options`.
    pub explicit_prompt_cache: bool,
    pub max_output_tokens: bool,
    /// The effort may change between turns, and the history records it.
    pub effort_in_history: bool,
}

/// Headers that identify the session of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SessionAffinity {
    /// `session_id` and `x-client-request-id`.
    SessionAndRequest,
    /// `x-client-request-id` alone.
    Request,
    /// `x-session-id`.
    ExtendedSession,
}

/// Whether function tools may be strict if the model's record does not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StrictByDefault {
    Yes,
    No,
}

impl ResponsesCompat {
    /// Parses the record of a model.
    pub(crate) fn for_model(model: &Model, strict: StrictByDefault) -> Self {
        let flag = |name: &str, default: bool| {
            model
                .compat_value(name)
                .and_then(Value::as_bool)
                .unwrap_or(default)
        };
        Self {
            developer_role: flag("supportsDeveloperRole", true),
            later_system_messages: flag("supportsMidConvoSystemMessages", false),
            session_affinity: SessionAffinity::for_model(model),
            long_cache_retention: flag("supportsLongCacheRetention", true),
            strict_tools: flag("supportsStrictMode", strict == StrictByDefault::Yes),
            grammar_tools: flag("supportsOpenAIGrammarTools", false),
            additional_tools: flag("supportsAdditionalTools", false),
            tool_search: flag("supportsToolSearch", false),
            explicit_prompt_cache: flag("supportsExplicitPromptCacheMode", false),
            max_output_tokens: flag("supportsMaxOutputTokens", true),
            effort_in_history: flag("supportsMidConvoEffort", false),
        }
    }

    /// Returns what later system messages can do to tools.
    pub(crate) fn in_place_tools(&self) -> InPlaceTools {
        match self {
            Self {
                later_system_messages: false,
                ..
            } => InPlaceTools::Unsupported,
            Self {
                additional_tools: true,
                ..
            } => InPlaceTools::Changes,
            Self {
                tool_search: true, ..
            } => InPlaceTools::Additions,
            _ => InPlaceTools::Unsupported,
        }
    }
}

impl SessionAffinity {
    fn for_model(model: &Model) -> Self {
        match model
            .compat_value("sessionAffinityFormat")
            .and_then(Value::as_str)
        {
            Some("openai") => Self::SessionAndRequest,
            Some("openrouter") => Self::ExtendedSession,
            Some(_) => Self::Request,
            None if openrouter::is_openrouter(model) => Self::ExtendedSession,
            None => Self::SessionAndRequest,
        }
    }
}
