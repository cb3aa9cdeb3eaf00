//! Composition of a provider's layers, and removal of layers.

use pi_protocol::Modality;
use pretty_assertions::assert_eq;

use super::*;
use crate::catalog::builtin_models;

#[test]
fn built_in_models_are_unchanged_by_default() {
    let models = models_with_env(&[]);
    assert_eq!(models.providers().len(), 42);
    assert_eq!(models.all().len(), 1592);
    assert!(Arc::ptr_eq(
        &models.models("openai"),
        &builtin_models("openai")
    ));
    assert!(models.model("openai", "gpt-5.5").is_some());
    assert!(models.model("openai", "gpt-0").is_none());
    assert!(models.models("unknown").is_empty());
}

#[test]
fn base_url_override_keeps_the_models_and_can_be_removed() {
    let models = models_with_env(&[]);
    let proxy = json!({"baseUrl": "https://proxy.test", "headers": {"x-team": "blue"}});
    models.register("anthropic", file(proxy)).unwrap();
    let changed = models.models("anthropic");
    assert_eq!(changed.len(), builtin_models("anthropic").len());
    assert!(
        changed
            .iter()
            .all(|model| model.base_url == "https://proxy.test")
    );
    assert!(
        Arc::ptr_eq(&changed, &models.models("anthropic")),
        "composed once"
    );

    models.unregister("anthropic", ProviderLayer::ModelsFile);
    assert!(Arc::ptr_eq(
        &models.models("anthropic"),
        &builtin_models("anthropic")
    ));
}

#[test]
fn configured_model_replaces_its_id_and_others_are_appended() {
    let models = models_with_env(&[]);
    let before = models.models("openai");
    let listed = json!({"models": [{"id": "gpt-5.5"}, {"id": "own", "name": "Own", "api": "openai-completions",
        "reasoning": true, "input": ["text", "image"], "contextWindow": 5000.0, "maxTokens": 10,
        "thinkingLevelMap": {"low": "a bit", "off": null, "galactic": "x"},
        "compat": {"supportsStore": false}}], "compat": {"maxTokensField": "max_tokens"}});
    models.register("openai", file(listed)).unwrap();
    let after = models.models("openai");
    assert_eq!(after.len(), before.len() + 1);

    // Of the old model, only the unset API and base URL are kept.
    let replaced = models.model("openai", "gpt-5.5").unwrap();
    let old = before.iter().find(|model| model.id == "gpt-5.5").unwrap();
    let expected = Model {
        name: "gpt-5.5".to_owned(),
        reasoning: false,
        thinking_level_map: None,
        input: vec![Modality::Text],
        input_limits: None,
        cost: pi_protocol::ModelCost::default(),
        prompt_cache: None,
        context_window: 128_000,
        max_tokens: 16_384,
        compat: Some(
            json!({"maxTokensField": "max_tokens"})
                .as_object()
                .unwrap()
                .clone(),
        ),
        kind: None,
        ..Model::clone(old)
    };
    assert_eq!(*replaced, expected);

    let own = after.last().unwrap();
    assert_eq!(
        serde_json::to_value(own.as_ref()).unwrap(),
        json!({"id": "own", "name": "Own", "api": "openai-completions", "provider": "openai",
            "baseUrl": "https://api.openai.com/v1", "reasoning": true,
            "thinkingLevelMap": {"off": null, "low": "a bit"}, "input": ["text", "image"],
            "cost": {"input": 0.0, "output": 0.0, "cacheRead": 0.0, "cacheWrite": 0.0},
            "contextWindow": 5000, "maxTokens": 10,
            "compat": {"maxTokensField": "max_tokens", "supportsStore": false}})
    );
}

#[test]
fn override_merges_set_fields_and_keeps_the_rest() {
    let models = models_with_env(&[]);
    let listed = json!({
        "baseUrl": "https://local.test", "api": "openai-completions", "apiKey": "k",
        "models": [{"id": "one", "cost": {"input": 1, "output": 2, "cacheRead": 3, "cacheWrite": 4},
            "thinkingLevelMap": {"low": "l", "high": "h"}, "samplingParams": {"top_p": 1, "seed": 2},
            "inputLimits": {"maxRequestBytes": 9, "images": {"resize": {"maxWidth": 1, "maxHeight": 2}, "maxPerMessage": 3}},
            "promptCache": {"short": 5},
            "compat": {"supportsStore": true, "openRouterRouting": {"only": ["a"], "zdr": true}, "chatTemplateKwargs": {"a": 1}}}],
        "modelOverrides": {
            "one": {"name": "Uno", "cost": {"output": 20}, "thinkingLevelMap": {"low": null},
                "samplingParams": {"seed": 3}, "contextWindow": 7, "promptCache": {"long": 6},
                "inputLimits": {"images": {"resize": {"maxHeight": 20}}},
                "compat": {"supportsDeveloperRole": false, "openRouterRouting": {"only": ["b"]}}},
            "unknown": {"name": "ignored"},
        },
    });
    models.register("local", file(listed)).unwrap();
    let one = models.model("local", "one").unwrap();
    assert_eq!(
        pi_protocol::json::to_string(one.as_ref()).unwrap(),
        json!({"id": "one", "name": "Uno", "api": "openai-completions", "provider": "local",
            "baseUrl": "https://local.test", "reasoning": false,
            "thinkingLevelMap": {"low": null, "high": "h"}, "input": ["text"],
            "inputLimits": {"maxRequestBytes": 9, "images":
                {"resize": {"maxWidth": 1, "maxHeight": 20}, "maxPerMessage": 3}},
            "cost": {"input": 1, "output": 20, "cacheRead": 3, "cacheWrite": 4},
            "promptCache": {"short": 5, "long": 6}, "contextWindow": 7, "maxTokens": 16384,
            "samplingParams": {"top_p": 1, "seed": 3},
            "compat": {"supportsStore": true, "openRouterRouting": {"only": ["b"], "zdr": true},
                "chatTemplateKwargs": {"a": 1}, "supportsDeveloperRole": false}})
        .to_string()
    );
    assert_eq!(models.models("local").len(), 1);
    assert_eq!(models.provider("local").unwrap().name(), "local");
}

#[test]
fn override_of_a_built_in_model_keeps_its_headers_and_other_models() {
    let models = models_with_env(&[]);
    let before = models.models("nvidia");
    let id = "nvidia/nemotron-3.5-super-vl-120b-a12b";
    let changes = json!({"modelOverrides": {id: {"maxTokens": 1}}});
    models.register("nvidia", file(changes)).unwrap();
    let after = models.models("nvidia");
    let smaller = models.model("nvidia", id).unwrap();
    assert_eq!(smaller.max_tokens, 1);
    assert!(smaller.headers.is_some());
    let kept = before
        .iter()
        .zip(after.iter())
        .filter(|(old, new)| Arc::ptr_eq(old, new));
    assert_eq!(kept.count(), before.len() - 1);
}

#[test]
fn invalid_configuration_error_names_the_field() {
    for (value, message) in [
        (
            json!({}),
            "providers.local has no effect: set baseUrl, apiKey, headers, compat, models or modelOverrides",
        ),
        (
            json!({"name": "Local"}),
            "providers.local has no effect: set baseUrl, apiKey, headers, compat, models or modelOverrides",
        ),
        (
            json!({"oauth": "radius"}),
            "providers.local.oauth requires providers.local.baseUrl",
        ),
        (
            json!({"models": [{"id": " "}]}),
            "providers.local.models has an entry without an id",
        ),
        (
            json!({"models": [{"id": "a", "api": "pi-messages"}]}),
            "providers.local.models: \"a\" has no baseUrl; set it on the model or the provider",
        ),
        (
            json!({"baseUrl": "https://l", "models": [{"id": "a", "api": "pi-messages", "maxTokens": -4}]}),
            "providers.local.models: maxTokens of \"a\" must be a positive number",
        ),
        (
            json!({"baseUrl": "https://l", "models": [{"id": "a"}]}),
            "providers.local.models: \"a\" has no api; set it on the model or the provider to one of anthropic-messages, openai-completions, openai-responses, azure-openai-responses, openai-codex-responses, google-generative-ai, google-vertex, mistral-conversations, bedrock-converse-stream, pi-messages",
        ),
    ] {
        let models = models_with_env(&[]);
        let error = models.register("local", file(value)).unwrap_err();
        assert_eq!(error.to_string(), message);
        assert!(models.provider("local").is_none());
    }
    let nameless = models_with_env(&[]).register(" ", file(json!({"baseUrl": "https://l"})));
    assert_eq!(nameless, Err(ConfigError::NoId));
}

#[test]
fn invalid_file_entry_leaves_the_built_in_provider() {
    let models = models_with_env(&[]);
    let good = json!({"baseUrl": "https://proxy.test"});
    models.register("openai", file(good)).unwrap();
    let bad = json!({"models": [{"id": ""}]});
    assert!(models.register("openai", file(bad)).is_err());
    assert!(Arc::ptr_eq(
        &models.models("openai"),
        &builtin_models("openai")
    ));
}

#[test]
fn extension_replaces_the_list_and_user_overrides_apply_last() {
    let models = models_with_env(&[]);
    let overrides = json!({"modelOverrides": {"two": {"name": "Zwei"}}});
    models.register("openai", file(overrides)).unwrap();
    let listed = json!({"api": "openai-completions", "models": [
        {"id": "one", "baseUrl": "https://own.test"}, {"id": "two"}]});
    models.register("openai", extension(listed)).unwrap();
    let list = models.models("openai");
    assert_eq!(ids(&list), ["one", "two"]);
    assert_eq!(list[0].base_url, "https://own.test");
    assert_eq!(list[1].base_url, "https://api.openai.com/v1");
    assert_eq!(list[1].name, "Zwei");

    // A second registration is merged over the first.
    models
        .register("openai", extension(json!({"name": "Ours"})))
        .unwrap();
    assert_eq!(ids(&models.models("openai")), ["one", "two"]);
    assert_eq!(models.provider("openai").unwrap().name(), "Ours");

    // An invalid registration has no effect.
    let bad = extension(json!({"models": [{"id": ""}]}));
    assert!(models.register("openai", bad).is_err());
    assert_eq!(ids(&models.models("openai")), ["one", "two"]);

    models.unregister("openai", ProviderLayer::Extension);
    assert_eq!(
        models.models("openai").len(),
        builtin_models("openai").len()
    );
    assert_eq!(models.provider("openai").unwrap().name(), "OpenAI");
}

#[test]
fn registered_provider_replaces_the_built_in_until_removed() {
    let models = models_with_env(&[]);
    models
        .register("acme", Registration::Provider(Arc::new(Acme::default())))
        .unwrap();
    assert_eq!(models.providers().last().unwrap().id(), "acme");
    assert_eq!(ids(&models.models("acme")), ["one"]);
    let more = json!({"models": [{"id": "two", "api": "openai-completions"}]});
    models.register("acme", file(more)).unwrap();
    assert_eq!(ids(&models.models("acme")), ["one", "two"]);

    models.unregister("acme", ProviderLayer::ModelsFile);
    models.unregister("acme", ProviderLayer::Provider);
    assert!(models.provider("acme").is_none());
    assert_eq!(models.providers().len(), 42);
}

#[test]
fn failing_provider_has_no_models() {
    let models = models_with_env(&[]);
    let broken = Acme {
        is_broken: true,
        ..Acme::default()
    };
    models
        .register("acme", Registration::Provider(Arc::new(broken)))
        .unwrap();
    assert!(models.models("acme").is_empty());
    assert_eq!(models.all().len(), 1592);
}
