use pretty_assertions::assert_eq;
use serde_json::json;

use super::*;

/// Models by `provider/id` or `provider/id (name)`, and the providers with a credential.
struct TestPool {
    models: Vec<Arc<Model>>,
    authenticated: Vec<&'static str>,
}

impl ModelPool for TestPool {
    fn provider_ids(&self) -> Vec<String> {
        let mut ids: Vec<String> = Vec::new();
        for model in &self.models {
            if !ids.contains(&model.provider) {
                ids.push(model.provider.clone());
            }
        }
        ids
    }

    fn provider_models(&self, provider: &str) -> Vec<Arc<Model>> {
        let models = self.models.iter();
        models
            .filter(|model| model.provider == provider)
            .cloned()
            .collect()
    }

    fn is_authenticated(&self, provider: &str) -> bool {
        self.authenticated.contains(&provider)
    }
}

fn model(reference: &str) -> Arc<Model> {
    let (reference, name) = match reference.split_once(" (") {
        Some((reference, name)) => (reference, name.trim_end_matches(')')),
        None => (reference, ""),
    };
    let (provider, id) = reference.split_once('/').unwrap();
    let name = if name.is_empty() { id } else { name };
    let record = json!({
        "id": id, "name": name, "api": "openai-completions", "provider": provider,
        "baseUrl": "http://127.0.0.1:9", "reasoning": false, "input": ["text"],
        "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0},
        "contextWindow": 200_000, "maxTokens": 8192
    });
    Arc::new(serde_json::from_value(record).unwrap())
}

fn pool(authenticated: &[&'static str]) -> TestPool {
    let models = [
        "anthropic/claude-sonnet-4-5 (Claude Sonnet 4.5 (latest))",
        "anthropic/claude-sonnet-4-5-20250929 (Claude Sonnet 4.5)",
        "anthropic/claude-opus-4-1-20250805 (Claude Opus 4.1)",
        "anthropic/claude-opus-4-8 (Claude Opus 4.8)",
        "openai/gpt-5.5",
        "openai/gpt-5.5-mini",
        "openai/o1-20240101",
        "openai/o1-20250101",
        "github-copilot/gpt-5.5",
        "openrouter/openai/gpt-4o:extended",
        "openrouter/qwen/qwen3-coder:exacto",
        "openrouter/zai/glm-5",
        "openrouter/anthropic/claude-sonnet-4.5",
        "zai/glm-5",
        "zai/glm-5.3",
        "acme/[draft]-one",
        "azure/gpt-5.4",
    ];
    TestPool {
        models: models.into_iter().map(model).collect(),
        authenticated: authenticated.to_vec(),
    }
}

fn describe(result: Result<ResolvedModel, ModelQueryError>) -> String {
    match result {
        Ok(found) => {
            let level = found
                .thinking
                .map_or(String::new(), |level| format!(" :{}", level.as_str()));
            let warning = found
                .warning
                .map_or(String::new(), |warning| format!(" ! {warning}"));
            format!("{}{level}{warning}", full_id(&found.model))
        }
        Err(error) => error.to_string(),
    }
}

#[test]
fn command_line_resolves_to_a_model() {
    let cases: &[(&str, Option<&str>, &[&'static str], &str)] = &[
        // Exact, ignoring case.
        (
            "anthropic/claude-opus-4-8",
            None,
            &[],
            "anthropic/claude-opus-4-8",
        ),
        (
            "Anthropic/Claude-Opus-4-8",
            None,
            &[],
            "anthropic/claude-opus-4-8",
        ),
        ("gpt-5.5-mini", None, &[], "openai/gpt-5.5-mini"),
        ("gpt-5.5-mini", Some("OpenAI"), &[], "openai/gpt-5.5-mini"),
        (
            "openai/gpt-5.5-mini",
            Some("openai"),
            &[],
            "openai/gpt-5.5-mini",
        ),
        // An ambiguous ID resolves to the provider with a credential.
        (
            "gpt-5.5",
            None,
            &["github-copilot"],
            "github-copilot/gpt-5.5",
        ),
        (
            "gpt-5.5",
            None,
            &[],
            "\"gpt-5.5\" is ambiguous: github-copilot/gpt-5.5, openai/gpt-5.5. None of these providers \
             has a credential. Use --provider or provider/model to choose one",
        ),
        (
            "GPT-5.5",
            None,
            &["openai", "github-copilot"],
            "\"GPT-5.5\" is ambiguous: github-copilot/gpt-5.5, openai/gpt-5.5. Several of these \
             providers have credentials. Use --provider or provider/model to choose one",
        ),
        // Partial names: aliases before dated versions, then the highest ID.
        ("sonnet-4-5", None, &[], "anthropic/claude-sonnet-4-5"),
        ("opus 4.1", None, &[], "anthropic/claude-opus-4-1-20250805"),
        ("opus", None, &[], "anthropic/claude-opus-4-8"),
        ("o1-", None, &[], "openai/o1-20250101"),
        ("anthropic/sonnet", None, &[], "anthropic/claude-sonnet-4-5"),
        // Levels, and colons that are part of an ID.
        ("opus:high", None, &[], "anthropic/claude-opus-4-8 :high"),
        ("openai/gpt-5.5:max", None, &[], "openai/gpt-5.5 :max"),
        (
            "openai/gpt-4o:extended",
            None,
            &[],
            "openrouter/openai/gpt-4o:extended",
        ),
        (
            "openai/gpt-4o:extended:low",
            None,
            &[],
            "openrouter/openai/gpt-4o:extended :low",
        ),
        (
            "qwen3-coder:exacto:off",
            None,
            &[],
            "openrouter/qwen/qwen3-coder:exacto :off",
        ),
        (
            "opus:enormous",
            None,
            &[],
            "No model matches \"opus:enormous\"; run `pi --list-models` to list available models",
        ),
        // A provider before the slash takes precedence, unless only the other is usable.
        ("zai/glm-5", None, &[], "zai/glm-5"),
        ("zai/glm-5", None, &["zai", "openrouter"], "zai/glm-5"),
        ("zai/glm-5", None, &["openrouter"], "openrouter/zai/glm-5"),
        ("openrouter/zai/glm-5", None, &[], "openrouter/zai/glm-5"),
        (
            "anthropic/claude-sonnet-4.5",
            None,
            &["openrouter"],
            "openrouter/anthropic/claude-sonnet-4.5",
        ),
        // With several providers, only those with credentials match by part; the same ID at
        // several of them is ambiguous.
        ("glm", None, &["zai"], "zai/glm-5.3"),
        (
            "gpt-5.",
            None,
            &["github-copilot"],
            "github-copilot/gpt-5.5",
        ),
        ("T-5.5", None, &["openai"], "openai/gpt-5.5-mini"),
        // A former provider ID.
        ("azure-openai-responses/gpt-5.4", None, &[], "azure/gpt-5.4"),
        (
            "gpt-5.4",
            Some("azure-openai-responses"),
            &[],
            "azure/gpt-5.4",
        ),
        // An unlisted model.
        (
            "zai/glm-9",
            None,
            &[],
            "zai/glm-9 ! zai does not list a model \"glm-9\"; using the ID as given",
        ),
        (
            "glm-9:high",
            Some("zai"),
            &[],
            "zai/glm-9 :high ! zai does not list a model \"glm-9\"; using the ID as given",
        ),
        (
            "glm-9:huge",
            Some("zai"),
            &[],
            "zai/glm-9:huge ! zai does not list a model \"glm-9:huge\"; using the ID as given",
        ),
        (
            "nothing-like-it",
            None,
            &[],
            "No model matches \"nothing-like-it\"; run `pi --list-models` to list available models",
        ),
        (
            "gpt-5.5",
            Some("nowhere"),
            &[],
            "Unknown provider \"nowhere\"; run `pi docs providers` for a list",
        ),
    ];
    for (pattern, provider, authenticated, expected) in cases {
        let query = ModelQuery {
            provider: *provider,
            pattern,
            ..ModelQuery::default()
        };
        let result = resolve_model(query, &pool(authenticated));
        assert_eq!(describe(result), *expected, "{provider:?} {pattern}");
    }
}

#[test]
fn unlisted_model_is_based_on_the_default_model() {
    let query = |pattern, thinking| ModelQuery {
        provider: Some("zai"),
        pattern,
        thinking,
        ..ModelQuery::default()
    };
    let mut pool = pool(&[]);
    let default_model = Model {
        context_window: 77,
        ..Model::clone(&model("zai/glm-5.3"))
    };
    pool.models.retain(|model| model.id != "glm-5.3");
    pool.models.push(Arc::new(default_model));
    let found = resolve_model(query("glm-9", None), &pool).unwrap();
    let expected = Model {
        id: "glm-9".to_owned(),
        name: "glm-9".to_owned(),
        context_window: 77,
        ..Model::clone(&model("zai/glm-5.3"))
    };
    assert_eq!(*found.model, expected);
    // Requesting a thinking level marks the model as a reasoning model; "off" does not.
    for (pattern, thinking, id, reasoning) in [
        ("glm-9:high", None, "glm-9", true),
        ("glm-9:off", None, "glm-9", false),
        ("glm-9", Some(ThinkingLevel::Low), "glm-9", true),
        ("glm-9:high", Some(ThinkingLevel::Off), "glm-9:high", false),
    ] {
        let found = resolve_model(query(pattern, thinking), &pool).unwrap();
        assert_eq!(
            (found.model.id.as_str(), found.model.reasoning),
            (id, reasoning)
        );
    }
}

#[test]
fn inline_key_does_not_choose_a_provider() {
    let query = |pattern| ModelQuery {
        pattern,
        has_inline_key: true,
        ..ModelQuery::default()
    };
    let pool = pool(&["openai", "openrouter"]);
    assert_eq!(
        describe(resolve_model(query("gpt-5.5"), &pool)),
        "\"gpt-5.5\" is ambiguous: github-copilot/gpt-5.5, openai/gpt-5.5. None of these providers \
         has a credential. Use --provider or provider/model to choose one"
    );
    assert_eq!(
        describe(resolve_model(query("zai/glm-5"), &pool)),
        "zai/glm-5"
    );
}

#[test]
fn unlisted_models_can_be_rejected() {
    let query = ModelQuery {
        pattern: "zai/glm-9",
        unlisted: UnlistedModels::Rejected,
        ..ModelQuery::default()
    };
    assert_eq!(
        resolve_model(query, &pool(&[])),
        Err(ModelQueryError::NotFound("zai/glm-9".to_owned()))
    );
}

#[test]
fn empty_pool_is_an_error() {
    let empty = TestPool {
        models: Vec::new(),
        authenticated: Vec::new(),
    };
    let query = ModelQuery {
        pattern: "x",
        ..ModelQuery::default()
    };
    assert_eq!(resolve_model(query, &empty), Err(ModelQueryError::NoModels));
}

fn scoped(patterns: &[&str]) -> (Vec<String>, Vec<String>) {
    let scope = resolve_scope(patterns.iter().copied(), &pool(&[]).models);
    let models = scope.models.iter().map(|scoped| {
        let level = scoped
            .thinking
            .map_or(String::new(), |level| format!(" :{}", level.as_str()));
        format!("{}{level}", full_id(&scoped.model))
    });
    let warnings = scope.warnings.iter().map(ToString::to_string);
    (models.collect(), warnings.collect())
}

#[test]
fn scope_resolves_a_list_of_patterns() {
    let cases: &[(&[&str], &[&str], &[&str])] = &[
        (
            &["zai/*"],
            &["openrouter/zai/glm-5", "zai/glm-5", "zai/glm-5.3"],
            &[],
        ),
        (&["*GLM-5"], &["zai/glm-5"], &[]),
        (&["**/glm-5"], &["openrouter/zai/glm-5", "zai/glm-5"], &[]),
        (
            &["gpt-5.?:low", "opus:high", "openai/*"],
            &[
                "openai/gpt-5.5 :low",
                "github-copilot/gpt-5.5 :low",
                "azure/gpt-5.4 :low",
                "anthropic/claude-opus-4-8 :high",
                "openai/gpt-5.5-mini",
                "openai/o1-20240101",
                "openai/o1-20250101",
                "openrouter/openai/gpt-4o:extended",
            ],
            &[],
        ),
        (
            &["o1-202[45]*", "{opus,gpt}*mini"],
            &[
                "openai/o1-20240101",
                "openai/o1-20250101",
                "openai/gpt-5.5-mini",
            ],
            &[],
        ),
        // A model of several providers, and empty entries.
        (
            &["gpt-5.5", "", " "],
            &["openai/gpt-5.5", "github-copilot/gpt-5.5"],
            &[
                "\"gpt-5.5\" matches several providers: github-copilot, openai. Use provider/model to choose one",
            ],
        ),
        (&["azure-openai-responses/gpt-5.4"], &["azure/gpt-5.4"], &[]),
        // Brackets that are part of an ID.
        (&["[draft]-one:low"], &["acme/[draft]-one :low"], &[]),
        (
            &["opus:huge"],
            &["anthropic/claude-opus-4-8"],
            &["\"huge\" in \"opus:huge\" is not a thinking level; using the default"],
        ),
        (
            &["opus:huge:low"],
            &["anthropic/claude-opus-4-8"],
            &["\"huge\" in \"opus:huge\" is not a thinking level; using the default"],
        ),
        (
            &["nope", "nope/*:low"],
            &[],
            &[
                "No model matches \"nope\"",
                "No model matches \"nope/*:low\"",
            ],
        ),
    ];
    for (patterns, models, warnings) in cases {
        let expected = (
            models.iter().map(ToString::to_string).collect(),
            warnings.iter().map(ToString::to_string).collect(),
        );
        assert_eq!(scoped(patterns), expected, "{patterns:?}");
    }
}

#[test]
fn ids_are_in_natural_order() {
    let mut ids = [
        "gpt-5",
        "GPT-5",
        "gpt-4o",
        "gpt_5",
        "gpt-5.5",
        "gpt-50",
        "gpt-5-mini",
        "gpt-5:x",
    ];
    ids.sort_by(|left, right| compare_ids(left, right));
    assert_eq!(
        ids,
        [
            "gpt_5",
            "gpt-4o",
            "gpt-5",
            "GPT-5",
            "gpt-5-mini",
            "gpt-5:x",
            "gpt-5.5",
            "gpt-50"
        ]
    );
}

#[test]
fn a_long_pattern_matches_nothing() {
    let (models, warnings) = scoped(&[&":".repeat(100_000)]);
    assert_eq!((models.len(), warnings.len()), (0, 1));
}
