//! Refresh tests: which services are queried, what is stored and what is shown.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use pi_auth::Credential;
use pi_test_support::{ScriptedReply, ScriptedServer};
use pretty_assertions::assert_eq;
use secrecy::ExposeSecret;

use super::*;

const HOUR: i64 = 3_600_000;
const NEWER: &str = "Fri, 01 Jan 2027 00:00:00 GMT";
const OLDER: &str = "Mon, 01 Jan 2024 00:00:00 GMT";

struct CatalogRefreshTest {
    models: Models,
    store: Arc<InMemoryModelsStore>,
    clock: Arc<AtomicI64>,
}

fn refresh_test(server: &ScriptedServer, variables: &[(&str, &str)]) -> CatalogRefreshTest {
    let clock = Arc::new(AtomicI64::new(1_800_000_000_000));
    let now = Arc::clone(&clock);
    let store = Arc::new(InMemoryModelsStore::default());
    let models = Models::new(ModelsOptions {
        env: Env::fixed(variables.iter().copied()).with_clock(move || now.load(Ordering::Relaxed)),
        store: Arc::clone(&store) as _,
        catalog_server: server.url(),
        ..ModelsOptions::default()
    });
    CatalogRefreshTest {
        models,
        store,
        clock,
    }
}

impl CatalogRefreshTest {
    async fn refresh(&self, provider: &str) -> RefreshReport {
        let options = RefreshOptions {
            network: NetworkAccess::Allowed,
            providers: Some(vec![provider.to_owned()]),
            ..RefreshOptions::default()
        };
        self.models.refresh(options).await
    }

    async fn stored(&self, provider: &str) -> StoredModels {
        self.store.read(provider).await.unwrap().unwrap()
    }
}

fn catalog(models: &Value, last_modified: &str) -> ScriptedReply {
    let headers = [
        ("content-type", "application/json"),
        ("last-modified", last_modified),
        ("etag", "\"v1\""),
    ];
    ScriptedReply::full(200, &headers, models.to_string())
}

fn record(id: &str, name: &str) -> Value {
    json!({"id": id, "name": name, "api": "openai-completions", "baseUrl": "https://api.groq.com",
        "reasoning": false, "input": ["text"], "contextWindow": 1, "maxTokens": 1,
        "cost": {"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0},
        "headers": {"User-Agent": "OtherClient/1", "x-kept": "1"}})
}

#[tokio::test]
async fn newer_catalog_is_merged_and_revalidated_after_the_interval() {
    let body = json!({"models": [record("openai/gpt-oss-120b", "Changed"), record("brand-new", "New"), {"id": 5}, "junk"]});
    let server =
        ScriptedServer::start([catalog(&body, NEWER), ScriptedReply::full(304, &[], "")]).await;
    let test = refresh_test(&server, &[("GROQ_API_KEY", "k")]);
    let before = test.models.models("groq").len();

    let report = test.refresh("groq").await;
    assert!(report.errors.is_empty(), "{:?}", report.errors);
    let models = test.models.models("groq");
    assert_eq!(models.len(), before + 1);
    assert_eq!(
        test.models
            .model("groq", "openai/gpt-oss-120b")
            .unwrap()
            .name,
        "Changed"
    );
    let added = models.last().unwrap();
    assert_eq!(added.id, "brand-new");
    assert_eq!(
        added.headers.as_ref().unwrap().keys().collect::<Vec<_>>(),
        ["x-kept"]
    );
    let request = server.wait_for_request(0).await;
    assert_eq!(
        request.target,
        "/api/models/providers/groq?types=chat,image,classifier"
    );
    assert!(request.header("user-agent").unwrap().starts_with("pi/"));
    assert_eq!(request.header("if-none-match"), None);
    let stored = test.stored("groq").await;
    assert_eq!(stored.etag.as_deref(), Some("\"v1\""));
    assert_eq!(stored.checked_at, Some(1_800_000_000_000));

    test.clock.fetch_add(3 * HOUR, Ordering::Relaxed);
    test.refresh("groq").await;
    assert_eq!(server.requests().len(), 1, "refetched too soon");

    test.clock.fetch_add(2 * HOUR, Ordering::Relaxed);
    let report = test.refresh("groq").await;
    assert!(report.errors.is_empty(), "{:?}", report.errors);
    assert_eq!(
        server.wait_for_request(1).await.header("if-none-match"),
        Some("\"v1\"")
    );
    assert_eq!(test.models.models("groq").len(), before + 1);
    assert_eq!(
        test.stored("groq").await.checked_at,
        Some(1_800_000_000_000 + 5 * HOUR)
    );
}

#[tokio::test]
async fn older_catalog_is_stored_but_not_used() {
    let body = json!([record("brand-new", "New")]);
    let server = ScriptedServer::start([catalog(&body, OLDER)]).await;
    let test = refresh_test(&server, &[("GROQ_API_KEY", "k")]);
    test.refresh("groq").await;
    assert!(test.models.model("groq", "brand-new").is_none());
    assert_eq!(test.stored("groq").await.models.len(), 1);
}

#[tokio::test]
async fn stored_models_are_available_offline() {
    let server = ScriptedServer::start([]).await;
    let test = refresh_test(&server, &[("GROQ_API_KEY", "k"), ("PI_OFFLINE", "1")]);
    let mut entry: StoredModels = serde_json::from_value(json!({
        "models": [record("brand-new", "New"), {"broken": true}], "lastModified": 1_900_000_000_000_i64}))
    .unwrap_or_default();
    // On the wire, records have no provider.
    assert!(entry.models.is_empty());
    let mut model = record("brand-new", "New");
    model["provider"] = "groq".into();
    entry.models = vec![serde_json::from_value(model).unwrap()];
    test.store.write("groq", entry).await.unwrap();
    // `PI_OFFLINE` takes precedence over the caller's options.
    let report = test.refresh("groq").await;
    assert!(report.errors.is_empty(), "{:?}", report.errors);
    assert!(test.models.model("groq", "brand-new").is_some());
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn provider_without_a_credential_is_not_queried() {
    let server = ScriptedServer::start([]).await;
    let test = refresh_test(&server, &[]);
    test.refresh("groq").await;
    assert!(server.requests().is_empty());
    assert!(!test.models.is_authenticated("groq"));
}

#[tokio::test]
async fn missing_remote_catalog_is_not_an_error() {
    let server = ScriptedServer::start([ScriptedReply::full(404, &[], "")]).await;
    let test = refresh_test(&server, &[("GROQ_API_KEY", "k")]);
    let report = test.refresh("groq").await;
    assert!(report.errors.is_empty(), "{:?}", report.errors);
    assert_eq!(test.stored("groq").await.last_modified, Some(0));
}

#[tokio::test]
async fn failing_server_is_retried_then_reported() {
    let down = || ScriptedReply::full(503, &[], "busy");
    let server = ScriptedServer::start([down(), down(), down()]).await;
    let test = refresh_test(&server, &[("GROQ_API_KEY", "k")]);
    let before = test.models.models("groq").len();
    let report = test.refresh("groq").await;
    assert_eq!(
        report.errors["groq"].message,
        "cannot fetch the model catalog of groq: HTTP 503"
    );
    assert_eq!(server.requests().len(), 3);
    assert_eq!(test.models.models("groq").len(), before);
}

#[tokio::test]
async fn refresh_can_be_canceled() {
    let server = ScriptedServer::start([ScriptedReply::new()]).await;
    let test = refresh_test(&server, &[("GROQ_API_KEY", "k")]);
    let options = RefreshOptions {
        network: NetworkAccess::Allowed,
        providers: Some(vec!["groq".to_owned()]),
        ..RefreshOptions::default()
    };
    let cancel = options.cancel.clone();
    let cancel_later = async {
        server.wait_for_request(0).await;
        cancel.cancel();
    };
    let (report, ()) = tokio::join!(test.models.refresh(options), cancel_later);
    assert!(report.aborted);
    assert!(report.errors.is_empty());
}

#[tokio::test]
async fn concurrent_refreshes_send_one_request() {
    let server = ScriptedServer::start([catalog(&json!([]), NEWER)]).await;
    let test = refresh_test(&server, &[("GROQ_API_KEY", "k")]);
    tokio::join!(test.refresh("groq"), test.refresh("groq"));
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn a_key_in_the_error_of_a_model_list_is_redacted() {
    struct RepeatingDriver;
    impl ProviderDriver for RepeatingDriver {
        fn stream(&self, _request: ModelRequest) -> Option<AssistantStream> {
            None
        }

        fn refresh<'a>(
            &'a self,
            context: &'a RefreshContext,
        ) -> BoxFuture<'a, Result<Option<Vec<ModelConfig>>, ProviderError>> {
            let key = context.api_key.as_ref().map(ExposeSecret::expose_secret);
            let result = match key {
                Some(key) => Err(ProviderError::invalid(format!("no account for {key}"))),
                None => Ok(None),
            };
            std::future::ready(result).boxed()
        }
    }
    let server = ScriptedServer::start([]).await;
    let test = refresh_test(&server, &[]);
    let provider = ExtensionProvider {
        config: config(
            json!({"baseUrl": "https://o.test", "apiKey": "key-of-the-account",
            "api": "oracle", "models": [{"id": "deep"}]}),
        ),
        driver: Some(Arc::new(RepeatingDriver)),
        ..ExtensionProvider::default()
    };
    let registration = Registration::Extension(provider);
    test.models.register("repeating", registration).unwrap();
    let report = test.refresh("repeating").await;
    assert_eq!(
        report.errors["repeating"].message,
        "no account for [redacted]"
    );
}

#[tokio::test]
async fn failing_provider_does_not_affect_others() {
    let models = Models::new(ModelsOptions {
        env: Env::fixed([("OPENAI_API_KEY", "k")]),
        store: Arc::new(BrokenStore),
        ..ModelsOptions::default()
    });
    let acme = Arc::new(Acme::default());
    models
        .register("acme", Registration::Provider(acme))
        .unwrap();
    let report = models.refresh(RefreshOptions::default()).await;
    assert_eq!(report.errors["openai"].message, "the disk is gone");
    assert!(!report.errors.contains_key("acme"));
    assert!(models.is_authenticated("openai"));
    assert_eq!(models.all().len(), 1593);
}

#[tokio::test]
async fn gateway_lists_its_models() {
    let body = json!({"baseUrl": "https://gate.test/v1", "models": [
        {"id": "quick", "name": "Quick", "reasoning": false, "input": ["text"], "contextWindow": 1,
            "maxTokens": 1, "cost": {"input": 0, "output": 0}, "lab": "L"},
        {"id": "only an id"},
    ]});
    let server = ScriptedServer::start([
        ScriptedReply::full(200, &[], body.to_string()),
        ScriptedReply::full(401, &[], "no"),
    ])
    .await;
    let test = refresh_test(&server, &[]);
    let gateway = json!({"oauth": "radius", "baseUrl": format!("{}/v1/", server.url()), "apiKey": "gate-key"});
    test.models.register("office", file(gateway)).unwrap();
    assert!(test.models.models("office").is_empty());

    let report = test.refresh("office").await;
    assert!(report.errors.is_empty(), "{:?}", report.errors);
    let request = server.wait_for_request(0).await;
    assert_eq!(request.target, "/v1/config");
    assert_eq!(request.header("authorization"), Some("Bearer gate-key"));
    let models = test.models.models("office");
    assert_eq!(ids(&models), ["quick"]);
    assert_eq!(models[0].api, "pi-messages");
    assert_eq!(models[0].provider, "office");
    assert_eq!(models[0].base_url, "https://gate.test/v1");
    assert_eq!(models[0].extra["lab"], "L");
    assert_eq!(test.stored("office").await.models.len(), 1);

    let report = test.refresh("office").await;
    let error = &report.errors["office"].message;
    assert!(error.ends_with("HTTP 401"), "{error}");
    assert_eq!(ids(&test.models.models("office")), ["quick"]);
}

#[tokio::test]
async fn oauth_credential_limits_available_models() {
    let models = models_with_env(&[("OPENAI_API_KEY", "k")]);
    let signed_in = json!({"type": "oauth", "access": "a", "refresh": "r", "expires": 9_999_999_999_999_i64,
        "availableModelIds": ["gpt-6.1-sol", "not-ours"]});
    let store = models.authenticator().store();
    let credential = Credential::from_value(signed_in).unwrap();
    store.put("github-copilot", credential).await.unwrap();
    assert!(
        models.available().is_empty(),
        "nothing is known before a refresh"
    );

    let report = models.refresh(RefreshOptions::default()).await;
    assert!(report.errors.is_empty(), "{:?}", report.errors);
    let available = models.available();
    let count_of = |provider: &str| {
        available
            .iter()
            .filter(|model| model.provider == provider)
            .count()
    };
    assert_eq!(count_of("github-copilot"), 1);
    assert_eq!(count_of("openai"), models.models("openai").len());
    assert_eq!(available.len(), 1 + count_of("openai"));
    let status = models.auth_status("openai").unwrap();
    assert_eq!(status.source.to_string(), "OPENAI_API_KEY");
    assert!(models.is_authenticated("github-copilot"));

    store.delete("github-copilot").await.unwrap();
    models.refresh(RefreshOptions::default()).await;
    assert!(!models.is_authenticated("github-copilot"));
}

#[tokio::test(start_paused = true)]
async fn unresponsive_server_times_out() {
    let server = ScriptedServer::start([
        ScriptedReply::new(),
        ScriptedReply::new(),
        ScriptedReply::new(),
    ])
    .await;
    let test = refresh_test(&server, &[("GROQ_API_KEY", "k")]);
    let report = tokio::time::timeout(Duration::from_mins(1), test.refresh("groq"))
        .await
        .unwrap();
    let error = &report.errors["groq"].message;
    assert!(error.ends_with("did not respond within 4 s"), "{error}");
}

#[tokio::test]
async fn refreshing_all_providers_reads_the_store_once() {
    #[derive(Default)]
    struct CountingStore {
        store: InMemoryModelsStore,
        reads: AtomicI64,
    }

    impl ModelsStore for CountingStore {
        fn read<'a>(
            &'a self,
            provider: &'a str,
        ) -> BoxFuture<'a, Result<Option<StoredModels>, ModelsStoreError>> {
            self.reads.fetch_add(1, Ordering::Relaxed);
            self.store.read(provider)
        }

        fn read_all(&self) -> BoxFuture<'_, Option<BTreeMap<String, StoredModels>>> {
            self.reads.fetch_add(1, Ordering::Relaxed);
            let mut model = record("brand-new", "New");
            model["provider"] = "groq".into();
            let entry = StoredModels {
                models: vec![serde_json::from_value(model).unwrap()],
                last_modified: Some(1_900_000_000_000),
                ..StoredModels::default()
            };
            let entries = BTreeMap::from([("groq".to_owned(), entry)]);
            std::future::ready(Some(entries)).boxed()
        }

        fn write<'a>(
            &'a self,
            provider: &'a str,
            entry: StoredModels,
        ) -> BoxFuture<'a, Result<(), ModelsStoreError>> {
            self.store.write(provider, entry)
        }
    }

    let store = Arc::new(CountingStore::default());
    let credential = ("groq".to_owned(), Credential::api_key("k"));
    let models = Models::new(ModelsOptions {
        env: Env::fixed::<&str, &str>([]),
        credentials: Arc::new(InMemoryCredentialStore::new([credential])),
        store: Arc::clone(&store) as _,
        ..ModelsOptions::default()
    });
    let report = models.refresh(RefreshOptions::default()).await;
    assert!(report.errors.is_empty(), "{:?}", report.errors);
    assert!(models.is_authenticated("groq"));
    assert!(!models.is_authenticated("openai"));
    assert!(models.model("groq", "brand-new").is_some());
    assert_eq!(store.reads.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn openrouter_lists_the_models_of_the_key() {
    let known = "moonshotai/kimi-k2.6";
    let body = json!({"data": [
        {"id": known, "context_length": 1000, "top_provider": {"context_length": 900, "max_completion_tokens": 0},
            "pricing": {"prompt": "0.000002", "completion": "-1", "overrides": [
                {"min_prompt_tokens": 500, "prompt": "0.000004"},
                {"min_prompt_tokens": 700, "utc_start": "1"}]}},
        {"id": "not/in-the-catalog"}, 5,
    ]});
    let server = ScriptedServer::start([
        ScriptedReply::full(404, &[], ""),
        ScriptedReply::full(200, &[], body.to_string()),
        ScriptedReply::full(404, &[], ""),
        ScriptedReply::full(403, &[], ""),
    ])
    .await;
    let test = refresh_test(&server, &[("OPENROUTER_API_KEY", "k")]);
    let base_url = json!({"baseUrl": format!("{}/api/v1/", server.url())});
    test.models.register("openrouter", file(base_url)).unwrap();
    let all = test.models.models("openrouter");
    let before = test.models.model("openrouter", known).unwrap();

    let report = test.refresh("openrouter").await;
    assert!(report.errors.is_empty(), "{:?}", report.errors);
    let request = server.wait_for_request(1).await;
    assert_eq!(request.target, "/api/v1/models/user");
    assert_eq!(request.header("authorization"), Some("Bearer k"));
    let models = test.models.models("openrouter");
    assert_eq!(ids(&models), [known]);
    assert_eq!(models[0].context_window, 900);
    assert_eq!(models[0].max_tokens, before.max_tokens);
    assert_eq!(
        serde_json::to_value(&models[0].cost).unwrap(),
        json!({"input": 2.0, "output": 0.0, "cacheRead": 0.0, "cacheWrite": 0.0, "tiers": [
            {"inputTokensAbove": 500, "input": 4.0, "output": 0.0, "cacheRead": 0.0, "cacheWrite": 0.0}]})
    );
    assert_eq!(test.stored("openrouter").await.models.len(), 1);

    // A key that is rejected gets the whole catalog.
    let report = test.refresh("openrouter").await;
    assert!(report.errors.is_empty(), "{:?}", report.errors);
    assert_eq!(test.models.models("openrouter").len(), all.len());
}

#[test]
fn records_of_other_kinds_stay_in_the_store() {
    let image = json!({"id": "draw", "type": "image", "api": "x", "output": ["image"]});
    let mut chat = record("talk", "Talk");
    chat["provider"] = "groq".into();
    let entry: StoredModels =
        serde_json::from_value(json!({"models": [image, chat], "checkedAt": 5})).unwrap();
    assert_eq!(entry.other_models, std::slice::from_ref(&image));
    let written = serde_json::to_value(&entry).unwrap();
    assert_eq!(written["models"][1], image);
    assert_eq!(written["models"][0]["id"], "talk");
    assert_eq!(written["checkedAt"], 5);
}
