//! The schema of `models.json`.

use super::shape::Shape::{
    Any, Boolean, Either, Fields, Integer, List, Map, NonEmptyText, Null, Number, OneOf, Positive,
    Text,
};
use super::shape::{Field, Shape, optional, required};

const UNBOUNDED: usize = usize::MAX;

pub(super) const MODELS_FILE: Shape = Fields(&[required("providers", &Map(&PROVIDER))]);

const PROVIDER: Shape = Fields(&[
    optional("name", &NonEmptyText),
    optional("baseUrl", &NonEmptyText),
    optional("apiKey", &NonEmptyText),
    optional("api", &NonEmptyText),
    optional("oauth", &OneOf(&["radius"])),
    optional("headers", &HEADERS),
    optional("compat", &COMPAT),
    optional("authHeader", &Boolean),
    optional("models", &List(&MODEL, UNBOUNDED)),
    optional("modelOverrides", &Map(&OVERRIDE)),
]);

const HEADERS: Shape = Map(&Text);

const MODEL: Shape = Fields(&[
    required("id", &NonEmptyText),
    optional("name", &NonEmptyText),
    optional("api", &NonEmptyText),
    optional("baseUrl", &NonEmptyText),
    optional("reasoning", &Boolean),
    optional("thinkingLevelMap", &THINKING_LEVELS),
    optional("input", &INPUT),
    optional("inputLimits", &INPUT_LIMITS),
    optional("cost", &COST),
    optional("promptCache", &PROMPT_CACHE),
    optional("contextWindow", &Number),
    optional("maxTokens", &Number),
    optional("samplingParams", &Map(&Any)),
    optional("samplingParamsByThinkingLevel", &SAMPLING_LEVELS),
    optional("headers", &HEADERS),
    optional("compat", &COMPAT),
]);

const OVERRIDE: Shape = Fields(&[
    optional("name", &NonEmptyText),
    optional("reasoning", &Boolean),
    optional("thinkingLevelMap", &THINKING_LEVELS),
    optional("input", &INPUT),
    optional("inputLimits", &INPUT_LIMITS),
    optional("cost", &COST_OVERRIDE),
    optional("promptCache", &PROMPT_CACHE),
    optional("contextWindow", &Number),
    optional("maxTokens", &Number),
    optional("samplingParams", &Map(&Any)),
    optional("samplingParamsByThinkingLevel", &SAMPLING_LEVELS),
    optional("headers", &HEADERS),
    optional("compat", &COMPAT),
]);

const INPUT: Shape = List(&OneOf(&["text", "image"]), UNBOUNDED);

const THINKING_VALUE: Shape = Either(&[&Text, &Null]);

const THINKING_LEVELS: Shape = Fields(&[
    optional("off", &THINKING_VALUE),
    optional("minimal", &THINKING_VALUE),
    optional("low", &THINKING_VALUE),
    optional("medium", &THINKING_VALUE),
    optional("high", &THINKING_VALUE),
    optional("xhigh", &THINKING_VALUE),
    optional("max", &THINKING_VALUE),
]);

const SAMPLING_LEVELS: Shape = Fields(&[
    optional("off", &Map(&Any)),
    optional("minimal", &Map(&Any)),
    optional("low", &Map(&Any)),
    optional("medium", &Map(&Any)),
    optional("high", &Map(&Any)),
    optional("xhigh", &Map(&Any)),
    optional("max", &Map(&Any)),
]);

const COUNT: Shape = Integer(1, u64::MAX);

const INPUT_LIMITS: Shape = Fields(&[
    optional("maxRequestBytes", &COUNT),
    optional(
        "images",
        &Fields(&[
            optional(
                "resize",
                &Fields(&[
                    optional("maxWidth", &COUNT),
                    optional("maxHeight", &COUNT),
                    optional("maxBytes", &COUNT),
                    optional("jpegQuality", &Integer(1, 100)),
                ]),
            ),
            optional("maxPerMessage", &COUNT),
            optional("maxPerRequest", &COUNT),
        ]),
    ),
]);

const COST_TIERS: Field = optional(
    "tiers",
    &List(
        &Fields(&[
            required("inputTokensAbove", &Number),
            required("input", &Number),
            required("output", &Number),
            required("cacheRead", &Number),
            required("cacheWrite", &Number),
        ]),
        UNBOUNDED,
    ),
);

const COST: Shape = Fields(&[
    required("input", &Number),
    required("output", &Number),
    required("cacheRead", &Number),
    required("cacheWrite", &Number),
    COST_TIERS,
]);

const COST_OVERRIDE: Shape = Fields(&[
    optional("input", &Number),
    optional("output", &Number),
    optional("cacheRead", &Number),
    optional("cacheWrite", &Number),
    COST_TIERS,
]);

const PROMPT_CACHE: Shape = Fields(&[optional("short", &Positive), optional("long", &Positive)]);

/// A compat object only needs to match one API family, as in the TypeScript pi: which family applies
/// is known only once the provider and its models are combined.
const COMPAT: Shape = Either(&[&COMPLETIONS_COMPAT, &RESPONSES_COMPAT, &ANTHROPIC_COMPAT]);

const AFFINITY: Shape = OneOf(&["openai", "openai-nosession", "openrouter"]);

const TEMPLATE_ARGUMENTS: Shape = Map(&Either(&[
    &Text,
    &Number,
    &Boolean,
    &Null,
    &Fields(&[
        required("$var", &OneOf(&["thinking.enabled", "thinking.effort"])),
        optional("omitWhenOff", &Boolean),
    ]),
]));

const COMPLETIONS_COMPAT: Shape = Fields(&[
    optional("supportsStore", &Boolean),
    optional("supportsDeveloperRole", &Boolean),
    optional("supportsReasoningEffort", &Boolean),
    optional("supportsUsageInStreaming", &Boolean),
    optional("supportsFinishReason", &Boolean),
    optional(
        "maxTokensField",
        &OneOf(&["max_completion_tokens", "max_tokens"]),
    ),
    optional("requiresToolResultName", &Boolean),
    optional("requiresAssistantAfterToolResult", &Boolean),
    optional("requiresThinkingAsText", &Boolean),
    optional("requiresReasoningContentOnAssistantMessages", &Boolean),
    optional(
        "thinkingFormat",
        &OneOf(&[
            "openai",
            "openrouter",
            "together",
            "baseten",
            "deepseek",
            "zai",
            "qwen",
            "chat-template",
            "qwen-chat-template",
            "string-thinking",
            "ant-ling",
        ]),
    ),
    optional("chatTemplateKwargs", &TEMPLATE_ARGUMENTS),
    optional("chatTemplateArgs", &TEMPLATE_ARGUMENTS),
    optional("cacheControlFormat", &OneOf(&["anthropic"])),
    optional("openRouterRouting", &OPENROUTER_ROUTING),
    optional(
        "vercelGatewayRouting",
        &Fields(&[
            optional("only", &List(&Text, UNBOUNDED)),
            optional("order", &List(&Text, UNBOUNDED)),
        ]),
    ),
    optional("supportsOpenAIGrammarTools", &Boolean),
    optional("supportsStrictMode", &Boolean),
    optional("sendSessionAffinityHeaders", &Boolean),
    optional("sessionAffinityFormat", &AFFINITY),
    optional("supportsLongCacheRetention", &Boolean),
    optional("vllmPriority", &Number),
]);

const RESPONSES_COMPAT: Shape = Fields(&[
    optional("supportsDeveloperRole", &Boolean),
    optional("sessionAffinityFormat", &AFFINITY),
    optional("supportsLongCacheRetention", &Boolean),
    optional("supportsStrictMode", &Boolean),
    optional("supportsOpenAIGrammarTools", &Boolean),
    optional("supportsMaxOutputTokens", &Boolean),
]);

const ANTHROPIC_COMPAT: Shape = Fields(&[
    optional("supportsEagerToolInputStreaming", &Boolean),
    optional("supportsLongCacheRetention", &Boolean),
    optional("sendSessionAffinityHeaders", &Boolean),
    optional("supportsCacheControlOnTools", &Boolean),
    optional("supportsTemperature", &Boolean),
    optional("forceAdaptiveThinking", &Boolean),
    optional("allowEmptySignature", &Boolean),
    optional("supportsStrictTools", &Boolean),
    optional("supportsMidConvoEffort", &Boolean),
    optional(
        "allowedFallbackModels",
        &List(
            &Fields(&[
                required("provider", &NonEmptyText),
                required("model", &NonEmptyText),
                required("cost", &COST),
            ]),
            3,
        ),
    ),
]);

const PRICE: Shape = Either(&[&Number, &Text]);

const PERCENTILES: Shape = Either(&[
    &Number,
    &Fields(&[
        optional("p50", &Number),
        optional("p75", &Number),
        optional("p90", &Number),
        optional("p99", &Number),
    ]),
]);

const OPENROUTER_ROUTING: Shape = Fields(&[
    optional("allow_fallbacks", &Boolean),
    optional("require_parameters", &Boolean),
    optional("data_collection", &OneOf(&["deny", "allow"])),
    optional("zdr", &Boolean),
    optional("enforce_distillable_text", &Boolean),
    optional("order", &List(&Text, UNBOUNDED)),
    optional("only", &List(&Text, UNBOUNDED)),
    optional("ignore", &List(&Text, UNBOUNDED)),
    optional("quantizations", &List(&Text, UNBOUNDED)),
    optional(
        "sort",
        &Either(&[
            &Text,
            &Fields(&[
                optional("by", &Text),
                optional("partition", &Either(&[&Text, &Null])),
            ]),
        ]),
    ),
    optional(
        "max_price",
        &Fields(&[
            optional("prompt", &PRICE),
            optional("completion", &PRICE),
            optional("image", &PRICE),
            optional("audio", &PRICE),
            optional("request", &PRICE),
        ]),
    ),
    optional("preferred_min_throughput", &PERCENTILES),
    optional("preferred_max_latency", &PERCENTILES),
]);
