//! What each OpenAI-compatible service deviates in: one table of known services, and the model's
//! own `compat` settings laid over it.
//!
//! The rest of the protocol asks the resolved [`CompletionsCompat`] and never looks at a provider's
//! name or address itself.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Number;

use super::thinking::ThinkingFormat;
use crate::json::JsonObject;
use crate::model::Model;

/// The settings of one model, all resolved.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CompletionsCompat {
    /// The service knows `store`; it is told not to store.
    pub supports_store: bool,
    /// Instructions of reasoning models go under the `developer` role.
    pub supports_developer_role: bool,
    /// The service knows `reasoning_effort`.
    pub supports_reasoning_effort: bool,
    /// The service knows `stream_options.include_usage`.
    pub supports_usage_in_streaming: bool,
    /// Answers say why they ended.
    pub supports_finish_reason: bool,
    /// The name of the output limit.
    pub max_tokens_field: MaxTokensField,
    /// Tool results name their tool.
    pub requires_tool_result_name: bool,
    /// No user message may follow a tool result directly, and content is never null.
    pub requires_assistant_after_tool_result: bool,
    /// Thinking is replayed as text.
    pub requires_thinking_as_text: bool,
    /// Replayed answers carry `reasoning_content`, be it empty.
    pub requires_reasoning_content: bool,
    /// How thinking is asked for.
    pub thinking_format: ThinkingFormat,
    /// Template variables of [`ThinkingFormat::ChatTemplate`].
    pub chat_template_kwargs: JsonObject,
    /// Template variables of [`ThinkingFormat::Baseten`].
    pub chat_template_args: JsonObject,
    /// The field that caps thinking, where the service has one.
    pub thinking_token_budget_field: Option<String>,
    /// OpenRouter's routing preferences, sent as they are.
    pub open_router_routing: Option<JsonObject>,
    pub vercel_gateway_routing: Option<JsonObject>,
    /// Tool calls are streamed only when asked for.
    pub zai_tool_stream: bool,
    /// Tools may carry `strict`.
    pub supports_strict_mode: bool,
    /// Tools may be constrained by a grammar.
    pub supports_grammar_tools: bool,
    /// System messages may stand in mid-conversation.
    pub supports_later_system_messages: bool,
    /// System messages in mid-conversation may bring tools.
    pub supports_later_tools: bool,
    /// How the prompt cache is marked.
    pub cache_control_format: Option<CacheControlFormat>,
    /// Requests tell which session they belong to.
    pub sends_session_affinity: bool,
    /// The headers that tell it.
    pub session_affinity_format: SessionAffinityFormat,
    /// The prompt can be kept for longer than minutes.
    pub supports_long_cache_retention: bool,
    pub vllm_priority: Option<Number>,
}

/// The name of the output limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum MaxTokensField {
    MaxCompletionTokens,
    /// The one before it, which many services kept.
    MaxTokens,
}

impl MaxTokensField {
    /// Returns the JSON name.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::MaxCompletionTokens => "max_completion_tokens",
            Self::MaxTokens => "max_tokens",
        }
    }
}

/// How the prompt cache is marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum CacheControlFormat {
    /// `cache_control` on content parts and tools.
    Anthropic,
}

/// Which headers tell a request's session.
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
    /// Resolves the settings of a model: its own, else those of the service it is reached through.
    pub(super) fn of(model: &Model) -> Self {
        let service = Service::of(model);
        let own = Own(model);
        Self {
            supports_store: own.or("supportsStore", !service.is_basic),
            supports_developer_role: own.or("supportsDeveloperRole", service.takes_developer_role),
            supports_reasoning_effort: own.or("supportsReasoningEffort", !service.lacks_effort),
            supports_usage_in_streaming: own.or("supportsUsageInStreaming", true),
            supports_finish_reason: own.or("supportsFinishReason", true),
            max_tokens_field: own.or("maxTokensField", service.max_tokens_field()),
            requires_tool_result_name: own.or("requiresToolResultName", false),
            requires_assistant_after_tool_result: own.or("requiresAssistantAfterToolResult", false),
            requires_thinking_as_text: own.or("requiresThinkingAsText", false),
            requires_reasoning_content: own.or(
                "requiresReasoningContentOnAssistantMessages",
                service.wants_reasoning_content,
            ),
            thinking_format: own.or("thinkingFormat", service.thinking_format),
            chat_template_kwargs: own.get("chatTemplateKwargs").unwrap_or_default(),
            chat_template_args: own.get("chatTemplateArgs").unwrap_or_default(),
            thinking_token_budget_field: own.thinking_token_budget_field(),
            open_router_routing: own.get("openRouterRouting"),
            vercel_gateway_routing: own.get("vercelGatewayRouting"),
            zai_tool_stream: own.or("zaiToolStream", false),
            supports_strict_mode: own.or("supportsStrictMode", false),
            supports_grammar_tools: own.or("supportsOpenAIGrammarTools", false),
            supports_later_system_messages: own.or("supportsMidConvoSystemMessages", false),
            supports_later_tools: own.or("supportsMidConvoToolAdditions", false),
            cache_control_format: own
                .get("cacheControlFormat")
                .or(service.cache_control_format),
            sends_session_affinity: own.or("sendSessionAffinityHeaders", service.is_open_router),
            session_affinity_format: own.or("sessionAffinityFormat", service.affinity_format()),
            supports_long_cache_retention: own
                .or("supportsLongCacheRetention", !service.lacks_long_cache),
            vllm_priority: own.get("vllmPriority"),
        }
    }

    /// Returns whether tools may be added where a later system message declares them.
    pub(super) fn takes_tools_in_place(&self) -> bool {
        self.supports_later_system_messages && self.supports_later_tools
    }
}

/// The model's own settings. A value of the wrong type counts as absent: one bad flag must not make
/// the model unusable.
struct Own<'model>(&'model Model);

impl Own<'_> {
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

/// What is known of the service behind a provider id or an address.
struct Service {
    is_open_router: bool,
    is_basic: bool,
    takes_developer_role: bool,
    takes_max_tokens: bool,
    lacks_effort: bool,
    lacks_long_cache: bool,
    wants_reasoning_content: bool,
    thinking_format: ThinkingFormat,
    cache_control_format: Option<CacheControlFormat>,
}

impl Service {
    fn of(model: &Model) -> Self {
        let address = model.base_url.to_ascii_lowercase();
        let rows: Vec<&ServiceRow> = SERVICES
            .iter()
            .filter(|row| row.serves(&model.provider, &address))
            .collect();
        let shows =
            |deviation: Deviation| rows.iter().any(|row| row.deviations.contains(&deviation));
        let is_open_router = shows(Deviation::OpenRouter);
        let is_basic = shows(Deviation::Basic);
        let is_claude = model.id.starts_with("anthropic/");
        let takes_developer_role = if is_open_router {
            is_claude || model.id.starts_with("openai/")
        } else {
            !is_basic
        };
        Self {
            is_open_router,
            is_basic,
            takes_developer_role,
            takes_max_tokens: shows(Deviation::MaxTokens),
            lacks_effort: shows(Deviation::NoEffort),
            lacks_long_cache: shows(Deviation::NoLongCache),
            wants_reasoning_content: shows(Deviation::ReasoningContent),
            thinking_format: rows
                .iter()
                .find_map(|row| row.thinking)
                .unwrap_or(ThinkingFormat::Openai),
            // By address alone it could be a proxy that hides what is behind it.
            cache_control_format: (model.provider == OPEN_ROUTER && is_claude)
                .then_some(CacheControlFormat::Anthropic),
        }
    }

    fn max_tokens_field(&self) -> MaxTokensField {
        if self.takes_max_tokens {
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

/// One known service.
struct ServiceRow {
    /// Provider ids.
    providers: &'static [&'static str],
    /// Parts of an address, in lower case.
    addresses: &'static [&'static str],
    deviations: &'static [Deviation],
    thinking: Option<ThinkingFormat>,
}

impl ServiceRow {
    fn serves(&self, provider: &str, address: &str) -> bool {
        self.providers.contains(&provider)
            || self.addresses.iter().any(|part| address.contains(part))
    }
}

/// A deviation that several services share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Deviation {
    /// Neither `store` nor the `developer` role.
    Basic,
    /// `max_tokens` instead of `max_completion_tokens`.
    MaxTokens,
    /// No `reasoning_effort`.
    NoEffort,
    /// No long cache retention.
    NoLongCache,
    /// `reasoning_content` on every replayed answer.
    ReasoningContent,
    /// OpenRouter's own headers and role rule.
    OpenRouter,
}

use Deviation::{Basic, MaxTokens, NoEffort, NoLongCache, OpenRouter, ReasoningContent};

/// The known services. A model may match several rows: their deviations add up, and the first one that
/// names a thinking format decides it.
const SERVICES: [ServiceRow; 13] = [
    ServiceRow {
        providers: &["deepseek"],
        addresses: &["deepseek.com"],
        deviations: &[Basic, MaxTokens, ReasoningContent],
        thinking: Some(ThinkingFormat::Deepseek),
    },
    ServiceRow {
        providers: &["zai", "zai-coding-cn"],
        addresses: &["api.z.ai", "open.bigmodel.cn"],
        deviations: &[Basic, MaxTokens, NoEffort],
        thinking: Some(ThinkingFormat::Zai),
    },
    ServiceRow {
        providers: &["together"],
        addresses: &["api.together.ai", "api.together.xyz"],
        deviations: &[Basic, MaxTokens, NoEffort, NoLongCache],
        thinking: Some(ThinkingFormat::Together),
    },
    ServiceRow {
        providers: &["ant-ling"],
        addresses: &["api.ant-ling.com"],
        deviations: &[Basic, MaxTokens, NoEffort, NoLongCache],
        thinking: Some(ThinkingFormat::AntLing),
    },
    ServiceRow {
        providers: &[OPEN_ROUTER],
        addresses: &["openrouter.ai"],
        deviations: &[OpenRouter],
        thinking: Some(ThinkingFormat::Openrouter),
    },
    ServiceRow {
        providers: &["moonshotai", "moonshotai-cn"],
        addresses: &["api.moonshot."],
        deviations: &[Basic, MaxTokens, NoEffort],
        thinking: None,
    },
    ServiceRow {
        providers: &["cloudflare-workers-ai"],
        addresses: &["api.cloudflare.com"],
        deviations: &[Basic, NoLongCache],
        thinking: None,
    },
    ServiceRow {
        providers: &["cloudflare-ai-gateway"],
        addresses: &["gateway.ai.cloudflare.com"],
        deviations: &[Basic, MaxTokens, NoEffort, NoLongCache],
        thinking: None,
    },
    ServiceRow {
        providers: &["nvidia"],
        addresses: &["integrate.api.nvidia.com"],
        deviations: &[Basic, MaxTokens, NoEffort, NoLongCache],
        thinking: None,
    },
    ServiceRow {
        providers: &["cerebras"],
        addresses: &["cerebras.ai"],
        deviations: &[Basic],
        thinking: None,
    },
    ServiceRow {
        providers: &["xai"],
        addresses: &["api.x.ai"],
        deviations: &[Basic, NoEffort],
        thinking: None,
    },
    ServiceRow {
        providers: &[],
        addresses: &["chutes.ai"],
        deviations: &[Basic, MaxTokens],
        thinking: None,
    },
    ServiceRow {
        providers: &["opencode"],
        addresses: &["opencode.ai"],
        deviations: &[Basic],
        thinking: None,
    },
];
