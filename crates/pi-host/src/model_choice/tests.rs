//! Order of precedence of the model choice.

use pi_env::Env;
use pi_protocol::{ModelChangeEntry, SessionInfoEntry, ThinkingLevelChangeEntry};
use pi_providers::{
    FauxModel, FauxProvider, InMemoryModelsStore, ModelsOptions, ProviderConfig, Registration,
};
use pi_session::NewSession;
use pi_test_support::{ScriptedReply, ScriptedServer};
use pretty_assertions::assert_eq;
use serde_json::json;

use super::*;

fn faux(id: &str, models: &[(&str, bool)]) -> Registration {
    let models = models.iter().map(|&(id, reasoning)| FauxModel {
        reasoning,
        ..FauxModel::new(id)
    });
    Registration::Provider(Arc::new(
        FauxProvider::new().with_id(id).with_models(models),
    ))
}

/// Two providers that need no key, and one whose key is not set.
async fn models() -> Models {
    let models = Models::new(ModelsOptions {
        env: Env::fixed::<&str, &str>([]),
        store: Arc::new(InMemoryModelsStore::default()),
        ..ModelsOptions::default()
    });
    let register = |id: &str, registration| models.register(id, registration).unwrap();
    register("one", faux("one", &[("a-think", true), ("b-plain", false)]));
    register("two", faux("two", &[("c-think", true)]));
    let locked: ProviderConfig = serde_json::from_value(json!({
        "baseUrl": "http://127.0.0.1:1", "api": "openai-completions", "apiKey": "$NOT_SET",
        "models": [{"id": "locked-model"}]}))
    .unwrap();
    register("locked", Registration::ModelsFile(locked));
    models.refresh(RefreshOptions::default()).await;
    models
}

fn named(pattern: &str) -> ModelFlags {
    ModelFlags {
        model: Some(pattern.to_owned()),
        ..ModelFlags::default()
    }
}

fn settings(value: serde_json::Value) -> Settings {
    serde_json::from_value(value).unwrap()
}

fn prior_choice(provider: &str, model: &str, thinking_level: Option<ThinkingLevel>) -> PriorChoice {
    let model = Some(ContextModel {
        provider: provider.to_owned(),
        model_id: model.to_owned(),
    });
    PriorChoice {
        selected: model.clone(),
        model,
        thinking_level,
    }
}

/// Never chooses a model.
struct NoRouter;

impl pi_providers::ModelRouter for NoRouter {
    fn route(
        &self,
        _request: pi_protocol::RouteRequest,
        _cancel: CancellationToken,
    ) -> futures_util::future::BoxFuture<'_, Result<pi_protocol::ModelRoute, String>> {
        Box::pin(std::future::ready(Err("no route".to_owned())))
    }
}

#[tokio::test]
async fn a_virtual_model_is_restored_while_it_is_registered() {
    let models = models().await;
    let prior = PriorChoice {
        selected: Some(ContextModel {
            provider: "router".to_owned(),
            model_id: "auto".to_owned(),
        }),
        ..prior_choice("one", "a-think", None)
    };
    let model = Model {
        id: "auto".to_owned(),
        provider: "router".to_owned(),
        api: pi_protocol::api::PI_VIRTUAL.to_owned(),
        ..Model::unknown()
    };
    let virtual_model = pi_providers::VirtualModel {
        model: Arc::new(model),
        router: Arc::new(NoRouter),
    };
    let registration = pi_providers::Registration::Virtual(virtual_model);
    models.register("router", registration).unwrap();
    for expected in ["auto", "a-think"] {
        let flags = ModelFlags::default();
        let chosen = choose_model(&models, &Settings::default(), &flags, Some(&prior)).await;
        assert_eq!(chosen.unwrap().model.unwrap().id, expected);
        models.unregister_virtual("router", "auto");
    }
}

async fn outcome(
    settings: &Settings,
    flags: &ModelFlags,
    prior: Option<&PriorChoice>,
) -> (String, &'static str) {
    let chosen = choose_model(&models().await, settings, flags, prior)
        .await
        .unwrap();
    let model = chosen.model.map_or_else(String::new, |model| {
        format!("{}/{}", model.provider, model.id)
    });
    (model, chosen.thinking_level.as_str())
}

#[tokio::test]
async fn a_new_session_follows_flags_scope_settings_and_providers() {
    let nothing = settings(json!({}));
    let defaults = settings(json!({"defaultProvider": "two", "defaultModel": "c-think",
        "defaultThinkingLevel": "low", "modelThinkingLevels": {"one/a-think": "high"}}));
    let scoped = |patterns: &[&str]| ModelFlags {
        models: Some(patterns.iter().map(|&it| it.to_owned()).collect()),
        ..ModelFlags::default()
    };
    let enabled = settings(json!({"enabledModels": ["one/*:minimal"]}));
    let thinking = ModelFlags {
        thinking: Some(ThinkingLevel::Max),
        ..named("a-think:low")
    };
    for (settings, flags, expected) in [
        (&nothing, ModelFlags::default(), ("one/a-think", "medium")),
        (&defaults, ModelFlags::default(), ("two/c-think", "low")),
        (&defaults, named("a-think"), ("one/a-think", "high")),
        (&defaults, named("one/b-plain"), ("one/b-plain", "off")),
        (
            &defaults,
            named("a-think:minimal"),
            ("one/a-think", "minimal"),
        ),
        (&defaults, thinking, ("one/a-think", "high")),
        (
            &defaults,
            scoped(&["one/*:minimal"]),
            ("one/a-think", "minimal"),
        ),
        (
            &defaults,
            scoped(&["b-*", "c-think:high"]),
            ("two/c-think", "high"),
        ),
        (&defaults, scoped(&["zzz"]), ("two/c-think", "low")),
        (&enabled, ModelFlags::default(), ("one/a-think", "minimal")),
    ] {
        let outcome = outcome(settings, &flags, None).await;
        assert_eq!((outcome.0.as_str(), outcome.1), expected, "{flags:?}");
    }
}

#[tokio::test]
async fn an_old_session_keeps_its_model_and_level() {
    let defaults = settings(json!({"defaultProvider": "two", "defaultModel": "c-think",
        "defaultThinkingLevel": "low", "modelThinkingLevels": {"one/a-think": "high"}}));
    let flags = ModelFlags {
        models: Some(vec!["b-plain".to_owned()]),
        ..ModelFlags::default()
    };
    for (prior, flags, expected) in [
        (
            prior_choice("one", "a-think", Some(ThinkingLevel::Minimal)),
            ModelFlags::default(),
            ("one/a-think", "minimal"),
        ),
        // The level belongs to the session; only the general default replaces a missing one.
        (
            prior_choice("one", "a-think", None),
            flags,
            ("one/a-think", "low"),
        ),
        (
            prior_choice("one", "a-think", Some(ThinkingLevel::Off)),
            named("two/c-think"),
            ("two/c-think", "off"),
        ),
        (
            prior_choice("ghost", "gone", Some(ThinkingLevel::High)),
            ModelFlags::default(),
            ("two/c-think", "high"),
        ),
        (
            prior_choice("locked", "locked-model", None),
            ModelFlags::default(),
            ("two/c-think", "low"),
        ),
    ] {
        let outcome = outcome(&defaults, &flags, Some(&prior)).await;
        assert_eq!((outcome.0.as_str(), outcome.1), expected, "{prior:?}");
    }
}

#[tokio::test]
async fn a_missing_model_is_reported_with_its_replacement() {
    let prior = prior_choice("ghost", "gone", None);
    let flags = ModelFlags::default();
    let settings = Settings::default();
    let chosen = choose_model(&models().await, &settings, &flags, Some(&prior))
        .await
        .unwrap();
    let fallback = chosen.fallback.unwrap();
    assert!(fallback.contains("ghost/gone"), "{fallback}");
    assert!(fallback.contains("one/a-think"), "{fallback}");
}

#[tokio::test]
async fn an_unknown_model_is_an_error_and_an_unmatched_scope_a_warning() {
    let models = models().await;
    let settings = Settings::default();
    let unknown = choose_model(&models, &settings, &named("nothing-like-it"), None).await;
    assert!(matches!(
        unknown,
        Err(ModelChoiceError::Query(ModelQueryError::NotFound(_)))
    ));
    let provider_alone = ModelFlags {
        provider: Some("one".to_owned()),
        ..ModelFlags::default()
    };
    let refused = choose_model(&models, &settings, &provider_alone, None).await;
    assert_eq!(refused, Err(ModelChoiceError::ProviderWithoutModel));
    let key = ModelFlags {
        api_key: Some("k".into()),
        ..ModelFlags::default()
    };
    let homeless = choose_model(&models, &settings, &key, None).await;
    assert_eq!(homeless, Err(ModelChoiceError::KeyWithoutModel));
    let scope = ModelFlags {
        models: Some(vec!["zzz".to_owned()]),
        ..ModelFlags::default()
    };
    let chosen = choose_model(&models, &settings, &scope, None)
        .await
        .unwrap();
    assert_eq!(chosen.diagnostics.len(), 1);
    assert!(chosen.diagnostics[0].message.contains("zzz"));
    assert!(chosen.scoped_models.is_empty());
}

#[tokio::test]
async fn without_credentials_there_is_no_model() {
    let models = Models::new(ModelsOptions {
        env: Env::fixed::<&str, &str>([]),
        ..ModelsOptions::default()
    });
    models.refresh(RefreshOptions::default()).await;
    let (settings, flags) = (Settings::default(), ModelFlags::default());
    let chosen = choose_model(&models, &settings, &flags, None)
        .await
        .unwrap();
    assert_eq!(chosen, ModelChoice::default());
}

#[tokio::test]
async fn a_local_server_needs_only_one_variable() {
    let list = || {
        let body = json!({"data": [{"id": "local-model"}]}).to_string();
        ScriptedReply::full(200, &[("content-type", "application/json")], body)
    };
    let server = ScriptedServer::start([list(), list()]).await;
    for flags in [ModelFlags::default(), named("local-model")] {
        let models = Models::new(ModelsOptions {
            env: Env::fixed([("LLAMA_BASE_URL", server.url())]),
            ..ModelsOptions::default()
        });
        models.refresh(RefreshOptions::default()).await;
        let settings = Settings::default();
        let chosen = choose_model(&models, &settings, &flags, None)
            .await
            .unwrap();
        let model = chosen.model.unwrap();
        assert_eq!(
            (model.provider.as_str(), model.id.as_str()),
            ("llama.cpp", "local-model")
        );
    }
}

#[tokio::test]
async fn an_unreachable_server_is_reported() {
    let models = Models::new(ModelsOptions {
        env: Env::fixed([("LLAMA_BASE_URL", "http://127.0.0.1:1")]),
        ..ModelsOptions::default()
    });
    models.refresh(RefreshOptions::default()).await;
    let (settings, flags) = (Settings::default(), ModelFlags::default());
    let chosen = choose_model(&models, &settings, &flags, None)
        .await
        .unwrap();
    assert_eq!(chosen.model, None);
    assert!(chosen.diagnostics[0].message.contains("127.0.0.1:1"));
}

#[tokio::test]
async fn a_server_without_models_is_reported() {
    let headers = [("content-type", "application/json")];
    let empty = ScriptedReply::full(200, &headers, json!({"data": []}).to_string());
    let server = ScriptedServer::start([empty]).await;
    let models = Models::new(ModelsOptions {
        env: Env::fixed([("LLAMA_BASE_URL", server.url())]),
        ..ModelsOptions::default()
    });
    models.refresh(RefreshOptions::default()).await;
    let (settings, flags) = (Settings::default(), ModelFlags::default());
    let chosen = choose_model(&models, &settings, &flags, None)
        .await
        .unwrap();
    assert_eq!(chosen.model, None);
    assert!(chosen.diagnostics[0].message.contains("LLAMA_BASE_URL"));
}

#[test]
fn prior_choices_are_read_from_the_current_branch() {
    let mut session = Session::in_memory("/p".as_ref(), NewSession::default()).unwrap();
    let add = |session: &mut Session, level: &str| {
        let thinking_level = level.to_owned();
        session
            .append(ThinkingLevelChangeEntry { thinking_level })
            .unwrap();
    };
    session
        .append(SessionInfoEntry {
            name: Some("name".to_owned()),
        })
        .unwrap();
    session
        .append(ModelChangeEntry {
            provider: "one".to_owned(),
            model_id: "a-think".to_owned(),
        })
        .unwrap();
    assert_eq!(PriorChoice::from_session(&session).unwrap(), None);

    session
        .append_message(pi_protocol::AgentMessage::from(
            pi_protocol::UserMessage::default(),
        ))
        .unwrap();
    let prior = PriorChoice::from_session(&session).unwrap().unwrap();
    assert_eq!(prior, prior_choice("one", "a-think", None));
    add(&mut session, "off");
    let prior = PriorChoice::from_session(&session).unwrap().unwrap();
    assert_eq!(prior.thinking_level, Some(ThinkingLevel::Off));
    add(&mut session, "beyond-us");
    let prior = PriorChoice::from_session(&session).unwrap().unwrap();
    assert_eq!(prior.thinking_level, None);
}
