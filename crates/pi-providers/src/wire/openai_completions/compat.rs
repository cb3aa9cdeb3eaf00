//! Deviations of OpenAI-compatible services: a table of known services, overridden by the model's
//! `compat` settings.
//!
//! The rest of the protocol uses the resolved [`CompletionsCompat`] and never checks a provider's
//! name or URL itself.

use pi_protocol::Model;
use pi_protocol::json::JsonObject;
use pi_protocol::transcript::InPlaceTools;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Number;

use super::thinking::ThinkingFormat;

/// The resolved settings of one model.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CompletionsCompat {
    /// The service accepts `store`, which is then sent as `false`.
    pub supports_store: bool,
    /// Instructions of reasoning models use the `developer` role.
    pub supports_developer_role: bool,
    pub supports_reasoning_effort: bool,
    /// The service accepts `stream_options.include_usage`.
    pub supports_usage_in_streaming: bool,
    /// Responses include a finish reason.
    pub supports_finish_reason: bool,
    pub max_tokens_field: MaxTokensField,
    /// Tool results include the name of their tool.
    pub requires_tool_result_name: bool,
    /// No user message may directly follow a tool result, and content is never null.
    pub requires_assistant_after_tool_result: bool,
    /// Thinking is replayed as text.
    pub requires_thinking_as_text: bool,
    /// Replayed assistant messages include `reasoning_content`, even if it is empty.
    pub requires_reasoning_content: bool,
    pub thinking_format: ThinkingFormat,
    /// Template variables of [`ThinkingFormat::ChatTemplate`].
    pub chat_template_kwargs: JsonObject,
    /// Template variables of [`ThinkingFormat::Baseten`].
    pub chat_template_args: JsonObject,
    /// The field that limits thinking tokens, if the service has one.
    pub thinking_token_budget_field: Option<String>,
    /// OpenRouter's routing preferences, sent unchanged.
    pub open_router_routing: Option<JsonObject>,
    pub vercel_gateway_routing: Option<JsonObject>,
    /// Tool calls are streamed only on request.
    pub zai_tool_stream: bool,
    pub supports_strict_mode: bool,
    pub supports_grammar_tools: bool,
    /// System messages are allowed within the conversation.
    pub supports_later_system_messages: bool,
    /// System messages within the conversation may add tools.
    pub supports_later_tools: bool,
    pub cache_control_format: Option<CacheControlFormat>,
    /// Requests include headers that identify their session.
    pub sends_session_affinity: bool,
    pub session_affinity_format: SessionAffinityFormat,
    /// The prompt can be cached for longer than minutes.
    pub supports_long_cache_retention: bool,
    pub vllm_priority: Option<Number>,
}

/// The name of the output limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum MaxTokensField {
    MaxCompletionTokens,
    /// The older name, which many services kept.
    MaxTokens,
}

impl MaxTokensField {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::MaxCompletionTokens => "max_completion_tokens",
            Self::MaxTokens => "max_tokens",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum CacheControlFormat {
    /// `cache_control` on content parts and tools.
    Anthropic,
}

/// Headers that identify the session of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum SessionAffinityFormat {
    /// `session_id`, `x-client-request-id` and `x-session-affinity`.
    Openai,
    /// The same without `session_id`.
    OpenaiNosession,
    /// `x-session-id`.
    Openrouter,
}

impl CompletionsCompat {
    /// Resolves the settings of a model: its own, else those of the service it uses.
    pub(super) fn for_model(model: &Model) -> Self {
        let service = DetectedService::detect(model);
        let settings = CompatSettings(model);
        Self {
            supports_store: settings.or("supportsStore", !service.is_basic),
            supports_developer_role: settings
                .or("supportsDeveloperRole", service.supports_developer_role),
            supports_reasoning_effort: settings
                .or("supportsReasoningEffort", !service.lacks_effort),
            supports_usage_in_streaming: settings.or("supportsUsageInStreaming", true),
            supports_finish_reason: settings.or("supportsFinishReason", true),
            max_tokens_field: settings.or("maxTokensField", service.max_tokens_field()),
            requires_tool_result_name: settings.or("requiresToolResultName", false),
            requires_assistant_after_tool_result: settings
                .or("requiresAssistantAfterToolResult", false),
            requires_thinking_as_text: settings.or("requiresThinkingAsText", false),
            requires_reasoning_content: settings.or(
                "requiresReasoningContentOnAssistantMessages",
                service.requires_reasoning_content,
            ),
            thinking_format: settings.or("thinkingFormat", service.thinking_format),
            chat_template_kwargs: settings.get("chatTemplateKwargs").unwrap_or_default(),
            chat_template_args: settings.get("chatTemplateArgs").unwrap_or_default(),
            thinking_token_budget_field: settings.thinking_token_budget_field(),
            open_router_routing: settings.get("openRouterRouting"),
            vercel_gateway_routing: settings.get("vercelGatewayRouting"),
            zai_tool_stream: settings.or("zaiToolStream", false),
            supports_strict_mode: settings.or("supportsStrictMode", false),
            supports_grammar_tools: settings.or("supportsOpenAIGrammarTools", false),
            supports_later_system_messages: settings.or("supportsMidConvoSystemMessages", false),
            supports_later_tools: settings.or("supportsMidConvoToolAdditions", false),
            cache_control_format: settings
                .get("cacheControlFormat")
                .or(service.cache_control_format),
            sends_session_affinity: settings
                .or("sendSessionAffinityHeaders", service.is_open_router),
            session_affinity_format: settings
                .or("sessionAffinityFormat", service.affinity_format()),
            supports_long_cache_retention: settings
                .or("supportsLongCacheRetention", !service.lacks_long_cache),
            vllm_priority: settings.get("vllmPriority"),
        }
    }

    /// Returns what later system messages can do to tools.
    pub(super) fn in_place_tools(&self) -> InPlaceTools {
        if self.supports_later_system_messages && self.supports_later_tools {
            InPlaceTools::Additions
        } else {
            InPlaceTools::Unsupported
        }
    }
}

/// The model's own settings. A value of the wrong type is ignored: one bad flag must not make the
/// model unusable.
struct CompatSettings<'model>(&'model Model);

impl CompatSettings<'_> {
    fn get<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        T::deserialize(self.0.compat_value(name)?).ok()
    }

    fn or<T: DeserializeOwned>(&self, name: &str, detected: T) -> T {
        self.get(name).unwrap_or(detected)
    }

    fn thinking_token_budget_field(&self) -> Option<String> {
        let named: Option<String> = self.get("thinkingTokenBudgetField");
        named.filter(|name| !name.is_empty()).or_else(|| {
            self.or("supportsThinkingTokenBudget", false)
                .then(|| "thinking_token_budget".to_owned())
        })
    }
}

/// Known properties of the service behind a provider ID or base URL.
struct DetectedService {
    is_open_router: bool,
    is_basic: bool,
    supports_developer_role: bool,
    uses_max_tokens: bool,
    lacks_effort: bool,
    lacks_long_cache: bool,
    requires_reasoning_content: bool,
    thinking_format: ThinkingFormat,
    cache_control_format: Option<CacheControlFormat>,
}

impl DetectedService {
    fn detect(model: &Model) -> Self {
        let base_url = model.base_url.to_ascii_lowercase();
        let rows: Vec<&ServiceRow> = SERVICES
            .iter()
            .filter(|row| row.matches(&model.provider, &base_url))
            .collect();
        let has = |deviation: Deviation| rows.iter().any(|row| row.deviations.contains(&deviation));
        let is_open_router = has(Deviation::OpenRouter);
        let is_basic = has(Deviation::Basic);
        let is_claude = model.id.starts_with("anthropic/");
        let supports_developer_role = if is_open_router {
            is_claude || model.id.starts_with("openai/")
        } else {
            !is_basic
        };
        Self {
            is_open_router,
            is_basic,
            supports_developer_role,
            uses_max_tokens: has(Deviation::MaxTokens),
            lacks_effort: has(Deviation::NoEffort),
            lacks_long_cache: has(Deviation::NoLongCache),
            requires_reasoning_content: has(Deviation::ReasoningContent),
            thinking_format: rows
                .iter()
                .find_map(|row| row.thinking)
                .unwrap_or(ThinkingFormat::Openai),
            // A URL alone could be a proxy that hides the actual service.
            cache_control_format: (model.provider == OPEN_ROUTER && is_claude)
                .then_some(CacheControlFormat::Anthropic),
        }
    }

    fn max_tokens_field(&self) -> MaxTokensField {
        if self.uses_max_tokens {
            MaxTokensField::MaxTokens
        } else {
            MaxTokensField::MaxCompletionTokens
        }
    }

    fn affinity_format(&self) -> SessionAffinityFormat {
        if self.is_open_router {
            SessionAffinityFormat::Openrouter
        } else {
            SessionAffinityFormat::Openai
        }
    }
}

const OPEN_ROUTER: &str = "openrouter";

struct ServiceRow {
    /// Provider IDs.
    providers: &'static [&'static str],
    /// Substrings of a base URL, in lower case.
    url_parts: &'static [&'static str],
    deviations: &'static [Deviation],
    thinking: Option<ThinkingFormat>,
}

impl ServiceRow {
    fn matches(&self, provider: &str, base_url: &str) -> bool {
        self.providers.contains(&provider)
            || self.url_parts.iter().any(|part| base_url.contains(part))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Deviation {
    /// No `store` and no `developer` role.
    Basic,
    /// `max_tokens` instead of `max_completion_tokens`.
    MaxTokens,
    /// No `reasoning_effort`.
    NoEffort,
    /// No long cache retention.
    NoLongCache,
    /// `reasoning_content` on every replayed assistant message.
    ReasoningContent,
    /// OpenRouter's headers and role rule.
    OpenRouter,
}

use Deviation::{Basic, MaxTokens, NoEffort, NoLongCache, OpenRouter, ReasoningContent};

/// The known services. A model may match several rows: their deviations are combined, and the first one with
/// a thinking format decides it.
const SERVICES: [ServiceRow; 13] = [
    ServiceRow {
        providers: &["deepseek"],
        url_parts: &["deepseek.com"],
        deviations: &[Basic, MaxTokens, ReasoningContent],
        thinking: Some(ThinkingFormat::Deepseek),
    },
    ServiceRow {
        providers: &["zai", "zai-coding-cn"],
        url_parts: &["api.z.ai", "open.bigmodel.cn"],
        deviations: &[Basic, MaxTokens, NoEffort],
        thinking: Some(ThinkingFormat::Zai),
    },
    ServiceRow {
        providers: &["together"],
        url_parts: &["api.together.ai", "api.together.xyz"],
        deviations: &[Basic, MaxTokens, NoEffort, NoLongCache],
        thinking: Some(ThinkingFormat::Together),
    },
    ServiceRow {
        providers: &["ant-ling"],
        url_parts: &["api.ant-ling.com"],
        deviations: &[Basic, MaxTokens, NoEffort, NoLongCache],
        thinking: Some(ThinkingFormat::AntLing),
    },
    ServiceRow {
        providers: &[OPEN_ROUTER],
        url_parts: &["openrouter.ai"],
        deviations: &[OpenRouter],
        thinking: Some(ThinkingFormat::Openrouter),
    },
    ServiceRow {
        providers: &["moonshotai", "moonshotai-cn"],
        url_parts: &["api.moonshot."],
        deviations: &[Basic, MaxTokens, NoEffort],
        thinking: None,
    },
    ServiceRow {
        providers: &["cloudflare-workers-ai"],
        url_parts: &["api.cloudflare.com"],
        deviations: &[Basic, NoLongCache],
        thinking: None,
    },
    ServiceRow {
        providers: &["cloudflare-ai-gateway"],
        url_parts: &["gateway.ai.cloudflare.com"],
        deviations: &[Basic, MaxTokens, NoEffort, NoLongCache],
        thinking: None,
    },
    ServiceRow {
        providers: &["nvidia"],
        url_parts: &["integrate.api.nvidia.com"],
        deviations: &[Basic, MaxTokens, NoEffort, NoLongCache],
        thinking: None,
    },
    ServiceRow {
        providers: &["cerebras"],
        url_parts: &["cerebras.ai"],
        deviations: &[Basic],
        thinking: None,
    },
    ServiceRow {
        providers: &["xai"],
        url_parts: &["api.x.ai"],
        deviations: &[Basic, NoEffort],
        thinking: None,
    },
    ServiceRow {
        providers: &[],
        url_parts: &["chutes.ai"],
        deviations: &[Basic, MaxTokens],
        thinking: None,
    },
    ServiceRow {
        providers: &["opencode"],
        url_parts: &["opencode.ai"],
        deviations: &[Basic],
        thinking: None,
    },
];
