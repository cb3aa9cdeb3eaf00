//! What a refresh finds out, whom it asks, and what it keeps.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use pi_test_support::{ScriptedServer, ScriptedReply};
use pretty_assertions::assert_eq;

use super::*;
use crate::credentials::Credential;

const HOUR: i64 = 3_600_000;
const NEWER: &str = "Fri, 01 Jan 2027 00:00:00 GMT";
const OLDER: &str = "Mon, 01 Jan 2024 00:00:00 GMT";

struct World {
    models: Models,
    store: Arc<InMemoryModels>,
    clock: Arc<AtomicI64>,
}

fn world(server: &ScriptedServer, variables: &[(&str, &str)]) -> World {
    let clock = Arc::new(AtomicI64::new(1_800_000_000_000));
    let now = Arc::clone(&clock);
    let store = Arc::new(InMemoryModels::default());
    let models = Models::new(ModelsOptions {
        env: Env::fixed(variables.iter().copied()).with_clock(move || now.load(Ordering::Relaxed)),
        store: Arc::clone(&store) as _,
        catalog_server: server.url(),
        ..ModelsOptions::default()
    });
    World {
        models,
        store,
        clock,
    }
}

impl World {
    async fn ask(&self, provider: &str) -> RefreshReport {
        let options = RefreshOptions {
            network: NetworkUse::Allowed,
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
async fn a_newer_catalog_is_laid_over_ours_and_asked_for_again_after_hours() {
    let told = json!({"models": [record("openai/gpt-oss-120b", "Changed"), record("brand-new", "New"), {"id": 5}, "junk"]});
    let server = ScriptedServer::start([catalog(&told, NEWER), ScriptedReply::full(304, &[], "")]).await;
    let world = world(&server, &[("GROQ_API_KEY", "k")]);
    let before = world.models.models("groq").len();

    let report = world.ask("groq").await;
    assert!(report.errors.is_empty(), "{:?}", report.errors);
    let models = world.models.models("groq");
    assert_eq!(models.len(), before + 1);
    assert_eq!(
        world
            .models
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
    assert_eq!(request.target, "/api/models/providers/groq");
    assert!(request.header("user-agent").unwrap().starts_with("pi/"));
    assert_eq!(request.header("if-none-match"), None);
    let stored = world.stored("groq").await;
    assert_eq!(stored.etag.as_deref(), Some("\"v1\""));
    assert_eq!(stored.checked_at, Some(1_800_000_000_000));

    world.clock.fetch_add(3 * HOUR, Ordering::Relaxed);
    world.ask("groq").await;
    assert_eq!(server.requests().len(), 1, "asked too soon");

    world.clock.fetch_add(2 * HOUR, Ordering::Relaxed);
    let report = world.ask("groq").await;
    assert!(report.errors.is_empty(), "{:?}", report.errors);
    assert_eq!(
        server.wait_for_request(1).await.header("if-none-match"),
        Some("\"v1\"")
    );
    assert_eq!(world.models.models("groq").len(), before + 1);
    assert_eq!(
        world.stored("groq").await.checked_at,
        Some(1_800_000_000_000 + 5 * HOUR)
    );
}

#[tokio::test]
async fn an_older_catalog_is_kept_but_not_used() {
    let told = json!([record("brand-new", "New")]);
    let server = ScriptedServer::start([catalog(&told, OLDER)]).await;
    let world = world(&server, &[("GROQ_API_KEY", "k")]);
    world.ask("groq").await;
    assert!(world.models.model("groq", "brand-new").is_none());
    assert_eq!(world.stored("groq").await.models.len(), 1);
}

#[tokio::test]
async fn what_was_stored_shows_without_the_network() {
    let server = ScriptedServer::start([]).await;
    let world = world(&server, &[("GROQ_API_KEY", "k"), ("PI_OFFLINE", "1")]);
    let mut entry: StoredModels = serde_json::from_value(json!({
        "models": [record("brand-new", "New"), {"broken": true}], "lastModified": 1_900_000_000_000_i64}))
    .unwrap_or_default();
    // Records lack their provider only on the wire.
    assert!(entry.models.is_empty());
    let mut model = record("brand-new", "New");
    model["provider"] = "groq".into();
    entry.models = vec![serde_json::from_value(model).unwrap()];
    world.store.write("groq", entry).await.unwrap();
    // Offline wins over what the caller allows.
    let report = world.ask("groq").await;
    assert!(report.errors.is_empty(), "{:?}", report.errors);
    assert!(world.models.model("groq", "brand-new").is_some());
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn a_provider_without_a_credential_is_not_asked() {
    let server = ScriptedServer::start([]).await;
    let world = world(&server, &[]);
    world.ask("groq").await;
    assert!(server.requests().is_empty());
    assert!(!world.models.is_authenticated("groq"));
}

#[tokio::test]
async fn a_catalog_nobody_serves_is_not_an_error() {
    let server = ScriptedServer::start([ScriptedReply::full(404, &[], "")]).await;
    let world = world(&server, &[("GROQ_API_KEY", "k")]);
    let report = world.ask("groq").await;
    assert!(report.errors.is_empty(), "{:?}", report.errors);
    assert_eq!(world.stored("groq").await.last_modified, Some(0));
}

#[tokio::test]
async fn a_failing_server_is_tried_again_then_reported() {
    let down = || ScriptedReply::full(503, &[], "busy");
    let server = ScriptedServer::start([down(), down(), down()]).await;
    let world = world(&server, &[("GROQ_API_KEY", "k")]);
    let before = world.models.models("groq").len();
    let report = world.ask("groq").await;
    assert_eq!(
        report.errors["groq"].message,
        "The model catalog of groq could not be fetched: status 503"
    );
    assert_eq!(server.requests().len(), 3);
    assert_eq!(world.models.models("groq").len(), before);
}

#[tokio::test]
async fn a_refresh_can_be_cancelled() {
    let server = ScriptedServer::start([ScriptedReply::new()]).await;
    let world = world(&server, &[("GROQ_API_KEY", "k")]);
    let options = RefreshOptions {
        network: NetworkUse::Allowed,
        providers: Some(vec!["groq".to_owned()]),
        ..RefreshOptions::default()
    };
    let cancel = options.cancel.clone();
    let cancelling = async {
        server.wait_for_request(0).await;
        cancel.cancel();
    };
    let (report, ()) = tokio::join!(world.models.refresh(options), cancelling);
    assert!(report.aborted);
    assert!(report.errors.is_empty());
}

#[tokio::test]
async fn two_refreshes_at_once_ask_once() {
    let server = ScriptedServer::start([catalog(&json!([]), NEWER)]).await;
    let world = world(&server, &[("GROQ_API_KEY", "k")]);
    tokio::join!(world.ask("groq"), world.ask("groq"));
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn one_provider_s_trouble_is_its_own() {
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
    assert_eq!(models.all().len(), 1496);
}

#[tokio::test]
async fn a_gateway_tells_its_models() {
    let told = json!({"baseUrl": "https://gate.test/v1", "models": [
        {"id": "quick", "name": "Quick", "reasoning": false, "input": ["text"], "contextWindow": 1,
            "maxTokens": 1, "cost": {"input": 0, "output": 0}, "lab": "L"},
        {"id": "no more than an id"},
    ]});
    let server = ScriptedServer::start([
        ScriptedReply::full(200, &[], told.to_string()),
        ScriptedReply::full(401, &[], "no"),
    ])
    .await;
    let world = world(&server, &[]);
    let gateway = json!({"oauth": "radius", "baseUrl": format!("{}/v1/", server.url()), "apiKey": "gate-key"});
    world.models.register("office", file(gateway)).unwrap();
    assert!(world.models.models("office").is_empty());

    let report = world.ask("office").await;
    assert!(report.errors.is_empty(), "{:?}", report.errors);
    let request = server.wait_for_request(0).await;
    assert_eq!(request.target, "/v1/config");
    assert_eq!(request.header("authorization"), Some("Bearer gate-key"));
    let models = world.models.models("office");
    assert_eq!(ids(&models), ["quick"]);
    assert_eq!(models[0].api, "pi-messages");
    assert_eq!(models[0].provider, "office");
    assert_eq!(models[0].base_url, "https://gate.test/v1");
    assert_eq!(models[0].extra["lab"], "L");
    assert_eq!(world.stored("office").await.models.len(), 1);

    let report = world.ask("office").await;
    let told = &report.errors["office"].message;
    assert!(
        told.ends_with("did not tell its models: status 401"),
        "{told}"
    );
    assert_eq!(ids(&world.models.models("office")), ["quick"]);
}

#[tokio::test]
async fn a_sign_in_opens_the_models_it_lists() {
    let models = collection(&[("OPENAI_API_KEY", "k")]);
    let signed_in = json!({"type": "oauth", "access": "a", "refresh": "r", "expires": 9_999_999_999_999_i64,
        "availableModelIds": ["gpt-5.4", "not-ours"]});
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
    let of = |provider: &str| {
        available
            .iter()
            .filter(|model| model.provider == provider)
            .count()
    };
    assert_eq!(of("github-copilot"), 1);
    assert_eq!(of("openai"), models.models("openai").len());
    assert_eq!(available.len(), 1 + of("openai"));
    let status = models.auth_status("openai").unwrap();
    assert_eq!(status.source.to_string(), "OPENAI_API_KEY");
    assert!(models.is_authenticated("github-copilot"));

    store.delete("github-copilot").await.unwrap();
    models.refresh(RefreshOptions::default()).await;
    assert!(!models.is_authenticated("github-copilot"));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_answers_is_given_up() {
    let server = ScriptedServer::start([ScriptedReply::new(), ScriptedReply::new(), ScriptedReply::new()]).await;
    let world = world(&server, &[("GROQ_API_KEY", "k")]);
    let report = tokio::time::timeout(Duration::from_mins(1), world.ask("groq"))
        .await
        .unwrap();
    let told = &report.errors["groq"].message;
    assert!(told.ends_with("did not answer within 4 s"), "{told}");
}

#[tokio::test]
async fn a_refresh_of_all_reads_every_store_once() {
    #[derive(Default)]
    struct Counting {
        store: InMemoryModels,
        reads: AtomicI64,
    }

    impl ModelsStore for Counting {
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

    let store = Arc::new(Counting::default());
    let credential = ("groq".to_owned(), Credential::api_key("k"));
    let models = Models::new(ModelsOptions {
        env: Env::fixed::<&str, &str>([]),
        credentials: Arc::new(InMemoryCredentials::new([credential])),
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
