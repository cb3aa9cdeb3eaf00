//! Model lists from several kinds of servers.

use std::sync::Arc;

use pi_env::Env;
use pi_protocol::Modality;
use pi_test_support::{ScriptedReply, ScriptedServer};
use pretty_assertions::assert_eq;

use super::*;
use crate::registry::{
    InMemoryModelsStore, Models, ModelsOptions, ModelsStore as _, NetworkAccess, RefreshOptions,
    RefreshReport,
};

fn models(address: &str, store: &Arc<InMemoryModelsStore>) -> Models {
    Models::new(ModelsOptions {
        env: Env::fixed([(env_vars::LLAMA_BASE_URL, address)]),
        store: Arc::clone(store) as _,
        ..ModelsOptions::default()
    })
}

async fn refresh(models: &Models, network: NetworkAccess) -> RefreshReport {
    let options = RefreshOptions {
        network,
        providers: Some(vec![PROVIDER.to_owned()]),
        ..RefreshOptions::default()
    };
    models.refresh(options).await
}

fn reply(body: &serde_json::Value) -> ScriptedReply {
    ScriptedReply::full(
        200,
        &[("content-type", "application/json")],
        body.to_string(),
    )
}

#[tokio::test]
async fn router_reports_usable_models() {
    let list = json!({"data": [
        {"id": "thinker", "status": {"value": "loaded"}, "meta": {"n_ctx": 4096},
            "architecture": {"input_modalities": ["text", "image"]}},
        {"id": "asleep", "status": {"value": "sleeping"}, "meta": {"n_ctx": 0, "n_ctx_train": 8192}},
        {"id": "preset", "source": "preset", "status": {"value": "unloaded"}},
        {"id": "broken", "source": "preset", "status": {"value": "unloaded", "failed": true}},
        {"id": "file", "source": "dir", "status": {"value": "unloaded"}},
    ]});
    let server = ScriptedServer::start([
        reply(&list),
        reply(&json!({"models_autoload": true})),
        reply(&json!({"chat_template": "{% if enable_thinking %}"})),
    ])
    .await;
    let store = Arc::new(InMemoryModelsStore::default());
    let models = models(&format!("{}/v1/", server.url()), &store);
    let report = refresh(&models, NetworkAccess::Allowed).await;
    assert!(report.errors.is_empty(), "{:?}", report.errors);

    let found = models.models(PROVIDER);
    let ids: Vec<&str> = found.iter().map(|model| model.id.as_str()).collect();
    assert_eq!(ids, ["thinker", "asleep", "preset"]);
    let thinker = models.model(PROVIDER, "thinker").unwrap();
    assert_eq!(thinker.base_url, format!("{}/v1", server.url()));
    assert_eq!(thinker.context_window, 4096);
    assert!(thinker.reasoning);
    assert_eq!(thinker.input, [Modality::Text, Modality::Image]);
    let asleep = models.model(PROVIDER, "asleep").unwrap();
    assert_eq!((asleep.context_window, asleep.reasoning), (8192, false));
    assert!(models.is_authenticated(PROVIDER));

    let paths: Vec<String> = server
        .requests()
        .iter()
        .map(|it| it.target.clone())
        .collect();
    assert_eq!(
        paths,
        ["/models", "/props", "/props?model=thinker&autoload=false"]
    );
    assert_eq!(store.read(PROVIDER).await.unwrap().unwrap().models.len(), 3);
}

#[tokio::test]
async fn openai_compatible_server_is_supported() {
    let server = ScriptedServer::start([
        ScriptedReply::full(404, &[], "no such page"),
        reply(&json!({"object": "list", "data": [{"id": "qwen", "max_model_len": 32768}]})),
    ])
    .await;
    let store = Arc::new(InMemoryModelsStore::default());
    let models = models(server.url().trim_start_matches("http://"), &store);
    let report = refresh(&models, NetworkAccess::Allowed).await;
    assert!(report.errors.is_empty(), "{:?}", report.errors);
    let model = models.model(PROVIDER, "qwen").unwrap();
    assert_eq!(model.context_window, 32_768);
    assert_eq!(models.available().len(), 1);
}

#[tokio::test]
async fn listed_models_are_known_without_the_network() {
    let server = ScriptedServer::start([reply(&json!({"data": [{"id": "one"}]}))]).await;
    let store = Arc::new(InMemoryModelsStore::default());
    refresh(&models(&server.url(), &store), NetworkAccess::Allowed).await;
    let later = models("http://127.0.0.1:1", &store);
    refresh(&later, NetworkAccess::None).await;
    assert_eq!(later.models(PROVIDER).len(), 1);
}

#[tokio::test]
async fn errors_are_reported_and_a_missing_url_is_not_an_error() {
    let store = Arc::new(InMemoryModelsStore::default());
    let unreachable = models("ftp://127.0.0.1", &store);
    let report = refresh(&unreachable, NetworkAccess::Allowed).await;
    assert!(
        report.errors[PROVIDER]
            .to_string()
            .contains("LLAMA_BASE_URL")
    );

    let none = Models::new(ModelsOptions {
        env: Env::fixed::<&str, &str>([]),
        ..ModelsOptions::default()
    });
    let report = refresh(&none, NetworkAccess::Allowed).await;
    assert!(report.errors.is_empty());
    assert!(!none.is_authenticated(PROVIDER));
}

#[test]
fn server_urls_are_normalized() {
    for (written, address) in [
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
        (" http://127.0.0.1:8080/v1/ ", "http://127.0.0.1:8080"),
        ("localhost:11434", "http://localhost:11434"),
        ("https://host/llm/v1?x=1#y", "https://host/llm"),
        ("https://host/", "https://host"),
    ] {
        assert_eq!(parse_server_url(written).unwrap(), address, "{written}");
    }
    assert!(parse_server_url("file:///etc/passwd").is_err());
    assert!(parse_server_url("").is_err());
}

#[tokio::test]
async fn the_context_window_survives_unloading() {
    let list = |status: serde_json::Value, meta: serde_json::Value| {
        let preset = json!({"id": "preset", "source": "preset", "status": status, "meta": meta});
        let decides = json!({"id": "judge", "status": {"value": "loaded"},
            "architecture": {"output_modalities": ["decisions"]}});
        reply(&json!({"data": [preset, decides]}))
    };
    let unloaded = json!({"value": "unloaded"});
    let trained = json!({"n_ctx_train": 32768});
    let autoload = || reply(&json!({"models_autoload": true}));
    let server = ScriptedServer::start([
        list(
            json!({"value": "loaded"}),
            json!({"n_ctx": 4096, "n_ctx_train": 32768}),
        ),
        reply(&json!({})),
        list(unloaded.clone(), trained.clone()),
        autoload(),
        list(
            json!({"value": "unloaded", "args": ["-m", "x", "-c", "8192"]}),
            trained,
        ),
        autoload(),
        list(unloaded, json!({"n_ctx_train": 32768})),
        autoload(),
    ])
    .await;
    let store = Arc::new(InMemoryModelsStore::default());
    let models = models(&server.url(), &store);
    for expected in [4096, 4096, 8192, 8192] {
        refresh(&models, NetworkAccess::Allowed).await;
        let found = models.models(PROVIDER);
        let found: Vec<_> = found
            .iter()
            .map(|it| (it.id.as_str(), it.context_window))
            .collect();
        assert_eq!(found, [("preset", expected)]);
    }
}
