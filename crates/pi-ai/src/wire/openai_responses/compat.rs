//! Deviations of Responses-compatible services, read from a model's `compat` record.
//!
//! Each flag is read here and given a meaning elsewhere; what a record leaves out has the default of
//! its API.

use serde_json::Value;

use crate::model::Model;

/// What a service takes and what it wants differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ResponsesCompat {
    /// Instructions go in the `developer` role when the model reasons, else in `system`.
    pub developer_role: bool,
    /// System messages may stand after the conversation has begun.
    pub later_system_messages: bool,
    /// Which headers tie the requests of a session together.
    pub session_affinity: SessionAffinity,
    /// Prompts can be cached for longer than minutes.
    pub long_cache_retention: bool,
    /// Function tools may be strict.
    pub strict_tools: bool,
    /// Grammar tools are sent as custom tools.
    pub grammar_tools: bool,
    /// Tools may be added in place with `additional_tools`.
    pub additional_tools: bool,
    /// Tools may be added in place as the result of a tool search.
    pub tool_search: bool,
    /// The cache is controlled by `prompt_cache_options`.
    pub explicit_prompt_cache: bool,
    /// `max_output_tokens` is accepted.
    pub max_output_tokens: bool,
}

/// Which headers tie the requests of a session together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SessionAffinity {
    /// `session_id` and `x-client-request-id`.
    SessionAndRequest,
    /// `x-client-request-id` alone.
    Request,
    /// `x-session-id`.
    ExtendedSession,
}

/// Whether function tools may be strict where the model's record does not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StrictByDefault {
    Yes,
    No,
}

impl ResponsesCompat {
    /// Reads the record of a model; what it does not name has the API's default.
    pub(crate) fn of(model: &Model, strict: StrictByDefault) -> Self {
        let flag = |name: &str, default: bool| {
            model
                .compat_value(name)
                .and_then(Value::as_bool)
                .unwrap_or(default)
        };
        Self {
            developer_role: flag("supportsDeveloperRole", true),
            later_system_messages: flag("supportsMidConvoSystemMessages", false),
            session_affinity: SessionAffinity::of(model),
            long_cache_retention: flag("supportsLongCacheRetention", true),
            strict_tools: flag("supportsStrictMode", strict == StrictByDefault::Yes),
            grammar_tools: flag("supportsOpenAIGrammarTools", false),
            additional_tools: flag("supportsAdditionalTools", false),
            tool_search: flag("supportsToolSearch", false),
            explicit_prompt_cache: flag("supportsExplicitPromptCacheMode", false),
            max_output_tokens: flag("supportsMaxOutputTokens", true),
        }
    }

    /// Returns whether tools declared by a later system message can be sent in place.
    pub(crate) fn adds_tools_in_place(&self) -> bool {
        self.later_system_messages && (self.additional_tools || self.tool_search)
    }
}

impl SessionAffinity {
    fn of(model: &Model) -> Self {
        match model
            .compat_value("sessionAffinityFormat")
            .and_then(Value::as_str)
        {
            Some("openai") => Self::SessionAndRequest,
            Some("openrouter") => Self::ExtendedSession,
            Some(_) => Self::Request,
            None if model.provider == "openrouter" || model.base_url.contains("openrouter.ai") => {
                Self::ExtendedSession
            }
            None => Self::SessionAndRequest,
        }
    }
}
