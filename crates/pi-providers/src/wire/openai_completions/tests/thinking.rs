//! Every thinking format, off and on, with levels that the model renames or does not support.

use pi_protocol::ThinkingLevel;
use pi_protocol::json::JsonObject;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::{body, model, options};
use crate::options::StreamOptions;

const TEMPLATE: &str = r#"{
    "on": {"$var": "thinking.enabled"},
    "how": {"$var": "thinking.effort"},
    "cap": {"$var": "thinking.budget"},
    "quiet": {"$var": "thinking.enabled", "omitWhenOff": true},
    "odd": {"$var": "thinking.unheard"},
    "fixed": 1
}"#;

/// The fields that thinking adds to the body.
fn thinking_fields(format: &str, map: &Value, level: ThinkingLevel) -> Value {
    let template: Value = serde_json::from_str(TEMPLATE).unwrap();
    let model = model(json!({
        "thinkingLevelMap": map,
        "compat": {"thinkingFormat": format, "chatTemplateKwargs": template,
            "chatTemplateArgs": {"enable_thinking": {"$var": "thinking.enabled"}}}
    }));
    let options = StreamOptions {
        reasoning: level,
        ..options()
    };
    fields_beyond_plain(body(model, options))
}

fn fields_beyond_plain(body: Value) -> Value {
    let Value::Object(mut fields) = body else {
        panic!("the body is not an object");
    };
    for plain in [
        "model",
        "messages",
        "stream",
        "stream_options",
        "store",
        "max_completion_tokens",
        "tools",
    ] {
        fields.shift_remove(plain);
    }
    Value::Object(fields)
}

struct FormatCase {
    format: &'static str,
    /// Thinking is off, and the model's map does not contain it.
    off: Value,
    /// Off is mapped to `nil`.
    off_mapped: Value,
    /// The model cannot disable thinking.
    off_null: Value,
    low: Value,
    high: Value,
    /// Low is mapped to `little`.
    low_mapped: Value,
}

fn format_cases() -> Vec<FormatCase> {
    let empty = || json!({});
    vec![
        FormatCase {
            format: "openai",
            off: empty(),
            off_mapped: json!({"reasoning_effort": "nil"}),
            off_null: empty(),
            low: json!({"reasoning_effort": "low"}),
            high: json!({"reasoning_effort": "high"}),
            low_mapped: json!({"reasoning_effort": "little"}),
        },
        FormatCase {
            format: "openrouter",
            off: json!({"reasoning": {"effort": "none"}}),
            off_mapped: json!({"reasoning": {"effort": "nil"}}),
            off_null: empty(),
            low: json!({"reasoning": {"effort": "low"}}),
            high: json!({"reasoning": {"effort": "high"}}),
            low_mapped: json!({"reasoning": {"effort": "little"}}),
        },
        FormatCase {
            format: "deepseek",
            off: json!({"thinking": {"type": "disabled"}}),
            off_mapped: json!({"thinking": {"type": "disabled"}}),
            off_null: empty(),
            low: json!({"thinking": {"type": "enabled"}, "reasoning_effort": "low"}),
            high: json!({"thinking": {"type": "enabled"}, "reasoning_effort": "high"}),
            low_mapped: json!({"thinking": {"type": "enabled"}, "reasoning_effort": "little"}),
        },
        FormatCase {
            format: "zai",
            off: json!({"thinking": {"type": "disabled"}}),
            off_mapped: json!({"thinking": {"type": "disabled"}}),
            off_null: json!({"thinking": {"type": "disabled"}}),
            low: json!({"thinking": {"type": "enabled", "clear_thinking": false},
                "reasoning_effort": "low"}),
            high: json!({"thinking": {"type": "enabled", "clear_thinking": false},
                "reasoning_effort": "high"}),
            low_mapped: json!({"thinking": {"type": "enabled", "clear_thinking": false},
                "reasoning_effort": "little"}),
        },
        FormatCase {
            format: "together",
            off: json!({"reasoning": {"enabled": false}}),
            off_mapped: json!({"reasoning": {"enabled": false}}),
            off_null: json!({"reasoning": {"enabled": false}}),
            low: json!({"reasoning": {"enabled": true}, "reasoning_effort": "low"}),
            high: json!({"reasoning": {"enabled": true}, "reasoning_effort": "high"}),
            low_mapped: json!({"reasoning": {"enabled": true}, "reasoning_effort": "little"}),
        },
        FormatCase {
            format: "baseten",
            off: json!({"chat_template_args": {"enable_thinking": false}}),
            off_mapped: json!({"chat_template_args": {"enable_thinking": false},
                "reasoning_effort": "nil"}),
            off_null: json!({"chat_template_args": {"enable_thinking": false}}),
            low: json!({"chat_template_args": {"enable_thinking": true},
                "reasoning_effort": "low"}),
            high: json!({"chat_template_args": {"enable_thinking": true},
                "reasoning_effort": "high"}),
            low_mapped: json!({"chat_template_args": {"enable_thinking": true},
                "reasoning_effort": "little"}),
        },
        FormatCase {
            format: "qwen",
            off: json!({"enable_thinking": false}),
            off_mapped: json!({"enable_thinking": false}),
            off_null: json!({"enable_thinking": false}),
            low: json!({"enable_thinking": true, "reasoning_effort": "low"}),
            high: json!({"enable_thinking": true, "reasoning_effort": "high"}),
            low_mapped: json!({"enable_thinking": true, "reasoning_effort": "little"}),
        },
        qwen_template_row(),
        template_row(),
        FormatCase {
            format: "string-thinking",
            off: json!({"thinking": "none"}),
            off_mapped: json!({"thinking": "nil"}),
            off_null: empty(),
            low: json!({"thinking": "low"}),
            high: json!({"thinking": "high"}),
            low_mapped: json!({"thinking": "little"}),
        },
        FormatCase {
            format: "ant-ling",
            off: empty(),
            off_mapped: empty(),
            off_null: empty(),
            low: empty(),
            high: empty(),
            low_mapped: json!({"reasoning": {"effort": "little"}}),
        },
    ]
}

fn qwen_template_row() -> FormatCase {
    let values = |on: bool| json!({"chat_template_kwargs": {"enable_thinking": on, "preserve_thinking": true}});
    FormatCase {
        format: "qwen-chat-template",
        off: values(false),
        off_mapped: values(false),
        off_null: values(false),
        low: values(true),
        high: values(true),
        low_mapped: values(true),
    }
}

fn template_row() -> FormatCase {
    let off = || json!({"chat_template_kwargs": {"on": false, "fixed": 1}});
    let on = |how: &str, cap: u64| {
        json!({"chat_template_kwargs":
            {"on": true, "how": how, "cap": cap, "quiet": true, "fixed": 1}})
    };
    FormatCase {
        format: "chat-template",
        off: off(),
        off_mapped: json!({"chat_template_kwargs": {"on": false, "how": "nil", "fixed": 1}}),
        off_null: off(),
        low: on("low", 2048),
        // The output limit reserves 1024 of its 8192 tokens for the response.
        high: on("high", 7168),
        low_mapped: on("little", 2048),
    }
}

#[test]
fn every_format_has_its_own_fields() {
    use ThinkingLevel::{High, Low, Off};
    for row in format_cases() {
        let format = row.format;
        let cases = [
            ("off", row.off, json!({}), Off),
            ("off mapped", row.off_mapped, json!({"off": "nil"}), Off),
            ("off null", row.off_null, json!({"off": null}), Off),
            ("low", row.low.clone(), json!({}), Low),
            ("high", row.high.clone(), json!({}), High),
            ("low mapped", row.low_mapped, json!({"low": "little"}), Low),
            // A level the model does not support is replaced by the next higher one.
            (
                "low null",
                row.high,
                json!({"low": null, "medium": null}),
                Low,
            ),
        ];
        for (name, expected, map, level) in cases {
            let fields = thinking_fields(format, &map, level);
            assert_eq!(sorted(fields), sorted(expected), "{format}, {name}");
        }
    }
}

fn sorted(value: Value) -> Value {
    let Value::Object(fields) = value else {
        return value;
    };
    let mut fields: Vec<(String, Value)> = fields
        .into_iter()
        .map(|(name, value)| (name, sorted(value)))
        .collect();
    fields.sort_by(|left, right| left.0.cmp(&right.0));
    Value::Object(JsonObject::from_iter(fields))
}

#[test]
fn a_model_without_thinking_gets_no_thinking_fields() {
    for row in format_cases() {
        let model = model(json!({"reasoning": false,
            "compat": {"thinkingFormat": row.format, "thinkingTokenBudgetField": "cap"}}));
        let options = StreamOptions {
            reasoning: ThinkingLevel::High,
            ..options()
        };
        let fields = fields_beyond_plain(body(model, options));
        assert_eq!(fields, json!({}), "{}", row.format);
    }
}

#[test]
fn services_without_effort_support_get_none() {
    for (format, expected) in [
        ("openai", json!({})),
        ("deepseek", json!({"thinking": {"type": "enabled"}})),
        (
            "zai",
            json!({"thinking": {"type": "enabled", "clear_thinking": false}}),
        ),
        ("together", json!({"reasoning": {"enabled": true}})),
        ("qwen", json!({"enable_thinking": true})),
        ("baseten", json!({})),
    ] {
        let model = model(json!({"compat":
            {"thinkingFormat": format, "supportsReasoningEffort": false}}));
        let options = StreamOptions {
            reasoning: ThinkingLevel::Low,
            ..options()
        };
        assert_eq!(
            fields_beyond_plain(body(model, options)),
            expected,
            "{format}"
        );
    }
}

#[test]
fn thinking_is_limited_by_the_budget_field() {
    let cases = [
        (
            json!({"thinkingTokenBudgetField": "thinking_budget"}),
            "thinking_budget",
            8192,
            Some(2048),
        ),
        (
            json!({"supportsThinkingTokenBudget": true}),
            "thinking_token_budget",
            8192,
            Some(2048),
        ),
        (
            json!({"supportsThinkingTokenBudget": true}),
            "thinking_token_budget",
            1500,
            Some(476),
        ),
        (
            json!({"supportsThinkingTokenBudget": true}),
            "thinking_token_budget",
            1000,
            None,
        ),
        (json!({}), "thinking_token_budget", 8192, None),
    ];
    for (compat, field, max_tokens, expected) in cases {
        let model = model(json!({"compat": compat}));
        let options = StreamOptions {
            reasoning: ThinkingLevel::Low,
            max_tokens: Some(max_tokens),
            ..options()
        };
        let sent = body(model, options)
            .get(field)
            .map(|value| value.as_u64().unwrap());
        assert_eq!(sent, expected, "{field} within {max_tokens}");
    }
}

#[test]
fn the_effort_option_of_the_api_wins() {
    let mut options = StreamOptions {
        reasoning: ThinkingLevel::Low,
        ..options()
    };
    options
        .provider_options
        .insert("reasoningEffort".into(), "xhigh".into());
    let body = body(model(json!({})), options);
    assert_eq!(body["reasoning_effort"], "xhigh");
}
