//! One row for every known service and every compat flag.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::super::compat::{
    CacheControlFormat, CompletionsCompat, MaxTokensField, SessionAffinityFormat,
};
use super::super::thinking::ThinkingFormat;
use super::model;

fn plain() -> CompletionsCompat {
    CompletionsCompat::for_model(&model(json!({})))
}

fn basic() -> CompletionsCompat {
    CompletionsCompat {
        supports_store: false,
        supports_developer_role: false,
        ..plain()
    }
}

/// The group that also requires `max_tokens`, and supports neither an effort nor long caching.
fn restricted() -> CompletionsCompat {
    CompletionsCompat {
        max_tokens_field: MaxTokensField::MaxTokens,
        supports_reasoning_effort: false,
        supports_long_cache_retention: false,
        ..basic()
    }
}

fn open_router(developer: bool) -> CompletionsCompat {
    CompletionsCompat {
        supports_developer_role: developer,
        thinking_format: ThinkingFormat::Openrouter,
        sends_session_affinity: true,
        session_affinity_format: SessionAffinityFormat::Openrouter,
        ..plain()
    }
}

#[test]
fn an_unknown_service_is_treated_as_openai() {
    insta::assert_debug_snapshot!(plain(), @"
    CompletionsCompat {
        supports_store: true,
        supports_developer_role: true,
        supports_reasoning_effort: true,
        supports_usage_in_streaming: true,
        supports_finish_reason: true,
        max_tokens_field: MaxCompletionTokens,
        requires_tool_result_name: false,
        requires_assistant_after_tool_result: false,
        requires_thinking_as_text: false,
        requires_reasoning_content: false,
        thinking_format: Openai,
        chat_template_kwargs: {},
        chat_template_args: {},
        thinking_token_budget_field: None,
        open_router_routing: None,
        vercel_gateway_routing: None,
        zai_tool_stream: false,
        supports_strict_mode: false,
        supports_grammar_tools: false,
        supports_later_system_messages: false,
        supports_later_tools: false,
        cache_control_format: None,
        sends_session_affinity: false,
        session_affinity_format: Openai,
        supports_long_cache_retention: true,
        vllm_priority: None,
    }
    ");
}

#[test]
fn services_are_detected_by_provider_and_url() {
    let deepseek = CompletionsCompat {
        max_tokens_field: MaxTokensField::MaxTokens,
        requires_reasoning_content: true,
        thinking_format: ThinkingFormat::Deepseek,
        ..basic()
    };
    let zai = CompletionsCompat {
        max_tokens_field: MaxTokensField::MaxTokens,
        supports_reasoning_effort: false,
        thinking_format: ThinkingFormat::Zai,
        ..basic()
    };
    let together = CompletionsCompat {
        thinking_format: ThinkingFormat::Together,
        ..restricted()
    };
    let ant_ling = CompletionsCompat {
        thinking_format: ThinkingFormat::AntLing,
        ..restricted()
    };
    let moonshot = CompletionsCompat {
        max_tokens_field: MaxTokensField::MaxTokens,
        supports_reasoning_effort: false,
        ..basic()
    };
    let workers = CompletionsCompat {
        supports_long_cache_retention: false,
        ..basic()
    };
    let xai = CompletionsCompat {
        supports_reasoning_effort: false,
        ..basic()
    };
    let chutes = CompletionsCompat {
        max_tokens_field: MaxTokensField::MaxTokens,
        ..basic()
    };
    let rows: Vec<(&[&str], &[&str], CompletionsCompat)> = vec![
        (&["openai", "groq"], &["https://api.openai.com/v1"], plain()),
        (&["deepseek"], &["https://API.DeepSeek.com"], deepseek),
        (
            &["zai", "zai-coding-cn"],
            &[
                "https://api.z.ai/api/coding/paas/v4",
                "https://open.bigmodel.cn/api",
            ],
            zai,
        ),
        (
            &["together"],
            &["https://api.together.ai/v1", "https://api.together.xyz/v1"],
            together,
        ),
        (&["ant-ling"], &["https://api.ant-ling.com/v1"], ant_ling),
        (
            &["moonshotai", "moonshotai-cn"],
            &["https://api.moonshot.ai/v1", "https://api.moonshot.cn/v1"],
            moonshot,
        ),
        (
            &["cloudflare-workers-ai"],
            &["https://api.cloudflare.com/client/v4/accounts/a/ai/v1"],
            workers,
        ),
        (
            &["cloudflare-ai-gateway"],
            &["https://gateway.ai.cloudflare.com/v1/a/b/compat"],
            restricted(),
        ),
        (
            &["nvidia"],
            &["https://integrate.api.nvidia.com/v1"],
            restricted(),
        ),
        (&["cerebras"], &["https://api.cerebras.ai/v1"], basic()),
        (&["xai"], &["https://api.x.ai/v1"], xai),
        (&[], &["https://llm.chutes.ai/v1"], chutes),
        (&["opencode"], &["https://opencode.ai/zen/go/v1"], basic()),
        (
            &["openrouter"],
            &["https://openrouter.ai/api/v1"],
            open_router(false),
        ),
    ];
    for (providers, addresses, expected) in rows {
        let by_provider = providers
            .iter()
            .map(|provider| json!({"provider": provider}));
        let by_address = addresses.iter().map(|address| json!({"baseUrl": address}));
        for fields in by_provider.chain(by_address) {
            let resolved = CompletionsCompat::for_model(&model(fields.clone()));
            assert_eq!(resolved, expected, "{fields}");
        }
    }
}

#[test]
fn open_router_supports_the_developer_role_and_cache_markers_for_some_models() {
    let claude = json!({"provider": "openrouter", "id": "anthropic/claude"});
    let marked = CompletionsCompat {
        cache_control_format: Some(CacheControlFormat::Anthropic),
        ..open_router(true)
    };
    assert_eq!(CompletionsCompat::for_model(&model(claude)), marked);
    let gpt = json!({"provider": "openrouter", "id": "openai/gpt"});
    assert_eq!(CompletionsCompat::for_model(&model(gpt)), open_router(true));
    let proxied = json!({"baseUrl": "https://openrouter.ai/api/v1", "id": "anthropic/claude"});
    assert_eq!(
        CompletionsCompat::for_model(&model(proxied)),
        open_router(true)
    );
}

#[test]
fn every_flag_of_the_model_overrides_the_service() {
    type CompatChange = fn(&mut CompletionsCompat);
    let object = |value: Value| value.as_object().unwrap().clone();
    let rows: [(&str, Value, CompatChange); 25] = [
        ("supportsStore", json!(false), |compat| {
            compat.supports_store = false;
        }),
        ("supportsDeveloperRole", json!(false), |compat| {
            compat.supports_developer_role = false;
        }),
        ("supportsReasoningEffort", json!(false), |compat| {
            compat.supports_reasoning_effort = false;
        }),
        ("supportsUsageInStreaming", json!(false), |compat| {
            compat.supports_usage_in_streaming = false;
        }),
        ("supportsFinishReason", json!(false), |compat| {
            compat.supports_finish_reason = false;
        }),
        ("maxTokensField", json!("max_tokens"), |compat| {
            compat.max_tokens_field = MaxTokensField::MaxTokens;
        }),
        ("requiresToolResultName", json!(true), |compat| {
            compat.requires_tool_result_name = true;
        }),
        ("requiresAssistantAfterToolResult", json!(true), |compat| {
            compat.requires_assistant_after_tool_result = true;
        }),
        ("requiresThinkingAsText", json!(true), |compat| {
            compat.requires_thinking_as_text = true;
        }),
        (
            "requiresReasoningContentOnAssistantMessages",
            json!(true),
            |compat| compat.requires_reasoning_content = true,
        ),
        ("thinkingFormat", json!("qwen-chat-template"), |compat| {
            compat.thinking_format = ThinkingFormat::QwenChatTemplate;
        }),
        ("thinkingTokenBudgetField", json!("cap"), |compat| {
            compat.thinking_token_budget_field = Some("cap".into());
        }),
        ("supportsThinkingTokenBudget", json!(true), |compat| {
            compat.thinking_token_budget_field = Some("thinking_token_budget".into());
        }),
        ("zaiToolStream", json!(true), |compat| {
            compat.zai_tool_stream = true;
        }),
        ("supportsStrictMode", json!(true), |compat| {
            compat.supports_strict_mode = true;
        }),
        ("supportsOpenAIGrammarTools", json!(true), |compat| {
            compat.supports_grammar_tools = true;
        }),
        ("supportsMidConvoSystemMessages", json!(true), |compat| {
            compat.supports_later_system_messages = true;
        }),
        ("supportsMidConvoToolAdditions", json!(true), |compat| {
            compat.supports_later_tools = true;
        }),
        ("cacheControlFormat", json!("anthropic"), |compat| {
            compat.cache_control_format = Some(CacheControlFormat::Anthropic);
        }),
        ("sendSessionAffinityHeaders", json!(true), |compat| {
            compat.sends_session_affinity = true;
        }),
        (
            "sessionAffinityFormat",
            json!("openai-nosession"),
            |compat| {
                compat.session_affinity_format = SessionAffinityFormat::OpenaiNosession;
            },
        ),
        ("supportsLongCacheRetention", json!(false), |compat| {
            compat.supports_long_cache_retention = false;
        }),
        ("vllmPriority", json!(3), |compat| {
            compat.vllm_priority = Some(3.into());
        }),
        // A value of the wrong type is ignored.
        ("supportsStore", json!("no"), |_| {}),
        ("thinkingFormat", json!("unheard of"), |_| {}),
    ];
    for (name, value, change) in rows {
        let mut expected = plain();
        change(&mut expected);
        let resolved = CompletionsCompat::for_model(&model(json!({"compat": {name: value}})));
        assert_eq!(resolved, expected, "{name}");
    }
    let routes = json!({"only": ["x"]});
    let resolved = CompletionsCompat::for_model(&model(json!({"compat": {
        "openRouterRouting": routes, "vercelGatewayRouting": routes,
        "chatTemplateKwargs": routes, "chatTemplateArgs": routes}})));
    let expected = CompletionsCompat {
        open_router_routing: Some(object(routes.clone())),
        vercel_gateway_routing: Some(object(routes.clone())),
        chat_template_kwargs: object(routes.clone()),
        chat_template_args: object(routes),
        ..plain()
    };
    assert_eq!(resolved, expected);
}
