//! What is made of the lists of several kinds of servers.

use std::sync::Arc;

use pi_test_support::{ScriptedServer, ScriptedReply};
use pretty_assertions::assert_eq;

use super::*;
use crate::env::Env;
use crate::model::Modality;
use crate::registry::{
    InMemoryModels, Models, ModelsOptions, ModelsStore as _, NetworkUse, RefreshOptions,
    RefreshReport,
};

fn models(address: &str, store: &Arc<InMemoryModels>) -> Models {
    Models::new(ModelsOptions {
        env: Env::fixed([(env_vars::LLAMA_BASE_URL, address)]),
        store: Arc::clone(store) as _,
        ..ModelsOptions::default()
    })
}

async fn ask(models: &Models, network: NetworkUse) -> RefreshReport {
    let options = RefreshOptions {
        network,
        providers: Some(vec![PROVIDER.to_owned()]),
        ..RefreshOptions::default()
    };
    models.refresh(options).await
}

fn answer(body: &serde_json::Value) -> ScriptedReply {
    ScriptedReply::full(
        200,
        &[("content-type", "application/json")],
        body.to_string(),
    )
}

#[tokio::test]
async fn a_router_tells_which_models_can_be_used() {
    let list = json!({"data": [
        {"id": "thinker", "status": {"value": "loaded"}, "meta": {"n_ctx": 4096},
            "architecture": {"input_modalities": ["text", "image"]}},
        {"id": "asleep", "status": {"value": "sleeping"}, "meta": {"n_ctx": 0, "n_ctx_train": 8192}},
        {"id": "preset", "source": "preset", "status": {"value": "unloaded"}},
        {"id": "broken", "source": "preset", "status": {"value": "unloaded", "failed": true}},
        {"id": "file", "source": "dir", "status": {"value": "unloaded"}},
    ]});
    let server = ScriptedServer::start([
        answer(&list),
        answer(&json!({"models_autoload": true})),
        answer(&json!({"chat_template": "{% if enable_thinking %}"})),
    ])
    .await;
    let store = Arc::new(InMemoryModels::default());
    let models = models(&format!("{}/v1/", server.url()), &store);
    let report = ask(&models, NetworkUse::Allowed).await;
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
async fn a_server_that_only_speaks_openai_is_understood() {
    let server = ScriptedServer::start([
        ScriptedReply::full(404, &[], "no such page"),
        answer(&json!({"object": "list", "data": [{"id": "qwen", "max_model_len": 32768}]})),
    ])
    .await;
    let store = Arc::new(InMemoryModels::default());
    let models = models(server.url().trim_start_matches("http://"), &store);
    let report = ask(&models, NetworkUse::Allowed).await;
    assert!(report.errors.is_empty(), "{:?}", report.errors);
    let model = models.model(PROVIDER, "qwen").unwrap();
    assert_eq!(model.context_window, 32_768);
    assert_eq!(models.available().len(), 1);
}

#[tokio::test]
async fn what_was_listed_is_known_without_the_network() {
    let server = ScriptedServer::start([answer(&json!({"data": [{"id": "one"}]}))]).await;
    let store = Arc::new(InMemoryModels::default());
    ask(&models(&server.url(), &store), NetworkUse::Allowed).await;
    let later = models("http://127.0.0.1:1", &store);
    ask(&later, NetworkUse::None).await;
    assert_eq!(later.models(PROVIDER).len(), 1);
}

#[tokio::test]
async fn trouble_is_reported_and_no_address_is_no_trouble() {
    let store = Arc::new(InMemoryModels::default());
    let nobody = models("ftp://127.0.0.1", &store);
    let report = ask(&nobody, NetworkUse::Allowed).await;
    assert!(
        report.errors[PROVIDER]
            .to_string()
            .contains("LLAMA_BASE_URL")
    );

    let none = Models::new(ModelsOptions {
        env: Env::fixed::<&str, &str>([]),
        ..ModelsOptions::default()
    });
    let report = ask(&none, NetworkUse::Allowed).await;
    assert!(report.errors.is_empty());
    assert!(!none.is_authenticated(PROVIDER));
}

#[test]
fn addresses_are_brought_into_one_form() {
    for (written, address) in [
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
        (" http://127.0.0.1:8080/v1/ ", "http://127.0.0.1:8080"),
        ("localhost:11434", "http://localhost:11434"),
        ("https://host/llm/v1?x=1#y", "https://host/llm"),
        ("https://host/", "https://host"),
    ] {
        assert_eq!(server_address(written).unwrap(), address, "{written}");
    }
    assert!(server_address("file:///etc/passwd").is_err());
    assert!(server_address("").is_err());
}
