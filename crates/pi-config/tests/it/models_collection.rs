//! A model collection that reads `models.json` and caches fetched catalogs.

use std::sync::Arc;

use pi_config::{ModelsStoreFile, read_models_file};
use pi_env::Env;
use pi_protocol::Model;
use pi_providers::{
    Models, ModelsOptions, ProviderConfig, RefreshOptions, Registration, StoredModels,
    builtin_model,
};
use pi_test_support::TempHome;
use pretty_assertions::assert_eq;
use serde_json::json;

#[test]
fn models_json_with_comments_changes_the_collection() {
    let home = TempHome::new();
    let path = home.write(
        "models.json",
        r#"{
          "providers": {
            // A server on this machine.
            "ollama": {
              "baseUrl": "http://localhost:11434/v1", "api": "openai-completions", "apiKey": "ollama",
              "models": [{"id": "qwen2.5-coder:7b", "contextWindow": 32000,}],
            },
            "anthropic": {"modelOverrides": {"claude-opus-4-8": {"name": "Our Opus"}}},
          }
        }"#,
    );
    let models = Models::new(ModelsOptions::default());
    let providers: Vec<(String, ProviderConfig)> = read_models_file(&path).unwrap();
    for (id, config) in providers {
        models
            .register(&id, Registration::ModelsFile(config))
            .unwrap();
    }
    let local = models.model("ollama", "qwen2.5-coder:7b").unwrap();
    assert_eq!((local.context_window, local.max_tokens), (32_000, 16_384));
    let opus = models.model("anthropic", "claude-opus-4-8").unwrap();
    assert_eq!(opus.name, "Our Opus");
}

#[tokio::test]
async fn catalog_cached_by_another_program_is_used() {
    let home = TempHome::new();
    let store = ModelsStoreFile::new(home.path().join("models-store.json"));
    let known = builtin_model("groq", "openai/gpt-oss-120b").unwrap();
    let newer = Model {
        id: "openai/gpt-oss-240b".to_owned(),
        ..Model::clone(&known)
    };
    let entry = StoredModels {
        models: vec![newer],
        last_modified: Some(4_000_000_000_000),
        ..StoredModels::default()
    };
    store.write("groq", &entry).await.unwrap();
    store
        .write("cerebras", &json!({"models": "?"}))
        .await
        .unwrap();

    let models = Models::new(ModelsOptions {
        env: Env::fixed::<&str, &str>([]),
        store: Arc::new(store),
        ..ModelsOptions::default()
    });
    let report = models.refresh(RefreshOptions::default()).await;
    assert!(report.errors.is_empty(), "{:?}", report.errors);
    let added = models.model("groq", "openai/gpt-oss-240b").unwrap();
    assert_eq!(added.cost, known.cost);
}
