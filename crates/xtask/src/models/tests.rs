use pretty_assertions::assert_eq;
use serde_json::json;
use tempfile::TempDir;

use super::*;

fn write(directory: &Path, name: &str, value: &Value) {
    write_file(&directory.join(name), &value.to_string()).unwrap();
}

fn record(id: &str, api: &str, fields: Value) -> Value {
    let mut record = json!({
        "provider": "acme", "type": "chat", "id": id, "name": id, "api": api, "baseUrl": "https://acme.test/v1",
        "reasoning": false, "input": ["text"], "contextWindow": 1000, "maxTokens": 100,
        "cost": {"input": 0.30, "output": 2.0, "cacheRead": 0, "cacheWrite": 0},
    });
    let (Value::Object(all), Value::Object(fields)) = (&mut record, fields) else {
        panic!("fields are an object");
    };
    all.extend(fields);
    record
}

fn provider_files() -> TempDir {
    let folder = TempDir::new().unwrap();
    let client = json!({"User-Agent": "OtherClient/1", "Editor-Version": "other/1"});
    let poll = json!({"editor-plugin-version": "x", "X-Poll": "3600"});
    write(
        folder.path(),
        "acme.json",
        &json!({
            "openai-completions": {
                "chat:zeta": record("zeta", "openai-completions", json!({
                    "headers": client,
                    "compat": {"supportsStore": false, "maxTokensField": "max_tokens"},
                    "thinkingLevelMap": {"off": null, "high": "strong"},
                })),
                "chat:beta": record("beta", "openai-completions", json!({
                    "headers": poll, "compat": {"supportsStore": false},
                })),
            },
            "anthropic-messages": {
                "chat:omega": record("omega", "anthropic-messages", json!({})),
            },
            "acme-images": {
                "image:zeta": {"provider": "acme", "type": "image", "id": "zeta", "api": "acme-images",
                    "output": ["image"]},
            },
        }),
    );
    write(
        folder.path(),
        ".manifest.json",
        &json!({"generatedAt": "2026-01-02T03:04:05.678Z"}),
    );
    folder
}

fn options(from: &Path, generated_at: Option<&str>) -> ModelsOptions {
    ModelsOptions {
        from: from.to_owned(),
        generated_at: generated_at.map(str::to_owned),
    }
}

#[test]
fn provider_files_become_sorted_lines_without_vendor_identity() {
    let (source, data) = (provider_files(), TempDir::new().unwrap());
    let report = generate(&options(source.path(), None), data.path()).unwrap();
    assert_eq!(
        report,
        "3 chat models of 1 providers, 1 image models of 1 providers, as of 2026-01-02T03:04:05.678Z"
    );
    let text = fs::read_to_string(data.path().join("models/acme.json")).unwrap();
    assert_eq!(
        text,
        r#"[
{"api":"anthropic-messages","baseUrl":"https://acme.test/v1","contextWindow":1000,"cost":{"cacheRead":0,"cacheWrite":0,"input":0.3,"output":2},"id":"omega","input":["text"],"maxTokens":100,"name":"omega","reasoning":false},
{"api":"openai-completions","baseUrl":"https://acme.test/v1","compat":{"supportsStore":false},"contextWindow":1000,"cost":{"cacheRead":0,"cacheWrite":0,"input":0.3,"output":2},"headers":{"X-Poll":"3600"},"id":"beta","input":["text"],"maxTokens":100,"name":"beta","reasoning":false},
{"api":"openai-completions","baseUrl":"https://acme.test/v1","compat":{"maxTokensField":"max_tokens","supportsStore":false},"contextWindow":1000,"cost":{"cacheRead":0,"cacheWrite":0,"input":0.3,"output":2},"id":"zeta","input":["text"],"maxTokens":100,"name":"zeta","reasoning":false,"thinkingLevelMap":{"high":"strong","off":null}}
]
"#
    );
    let images = fs::read_to_string(data.path().join("image-models/acme.json")).unwrap();
    assert_eq!(
        images,
        "[\n{\"api\":\"acme-images\",\"id\":\"zeta\",\"output\":[\"image\"]}\n]\n"
    );
    let about = fs::read_to_string(data.path().join("catalog.json")).unwrap();
    assert_eq!(about, "{\"generatedAt\":\"2026-01-02T03:04:05.678Z\"}\n");
}

#[test]
fn a_models_dev_update_keeps_fields_missing_from_the_document() {
    let (source, data) = (provider_files(), TempDir::new().unwrap());
    generate(&options(source.path(), None), data.path()).unwrap();
    let document = json!({
        "acme": {"id": "acme", "name": "Acme", "npm": "@ai-sdk/openai-compatible", "models": {
            "zeta": {"id": "zeta", "name": "Zeta", "tool_call": true, "reasoning": true,
                "modalities": {"input": ["text", "image", "pdf"]},
                "cost": {"input": 1, "output": 4, "cache_read": 0.1,
                    "context_over_200k": {"input": 2, "output": 8}},
                "limit": {"context": 400_000, "output": 64_000}},
            "new": {"id": "new", "tool_call": true, "limit": {"context": 8192, "output": 0}},
            "chatty": {"id": "chatty", "tool_call": false},
            "old": {"id": "old", "tool_call": true, "status": "deprecated"},
        }},
        "elsewhere": {"id": "elsewhere", "models": {}},
    });
    write(source.path(), "document", &document);
    let path = source.path().join("document");

    let undated = generate(&options(&path, None), data.path()).unwrap_err();
    assert!(undated.to_string().contains("--generated-at"), "{undated}");

    generate(&options(&path, Some("2026-02-01T00:00:00Z")), data.path()).unwrap();
    let records = read_json(&data.path().join("models/acme.json")).unwrap();
    assert_eq!(
        records,
        json!([
            {"id": "new", "name": "new", "api": "openai-completions",
                "baseUrl": "https://acme.test/v1", "compat": {"supportsStore": false},
                "reasoning": false, "input": ["text"], "contextWindow": 8192, "maxTokens": 4096,
                "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}},
            {"id": "zeta", "name": "Zeta", "api": "openai-completions",
                "baseUrl": "https://acme.test/v1",
                "compat": {"supportsStore": false, "maxTokensField": "max_tokens"},
                "thinkingLevelMap": {"off": null, "high": "strong"},
                "reasoning": true, "input": ["text", "image"],
                "contextWindow": 400_000, "maxTokens": 64_000,
                "cost": {"input": 1, "output": 4, "cacheRead": 0.1, "cacheWrite": 0, "tiers": [
                    {"inputTokensAbove": 200_000, "input": 2, "output": 8,
                        "cacheRead": 0, "cacheWrite": 0},
                ]}},
        ])
    );
}

#[test]
fn invalid_sources_are_rejected() {
    let folder = TempDir::new().unwrap();
    let data = TempDir::new().unwrap();
    let message = |value: &Value| {
        write(folder.path(), "acme.json", value);
        let dated = options(folder.path(), Some("2026-01-01T00:00:00Z"));
        format!("{:#}", generate(&dated, data.path()).unwrap_err())
    };
    let unknown_api = record("alpha", "telepathy", json!({}));
    let text = message(&json!({"telepathy": {"chat:alpha": unknown_api}}));
    assert!(
        text.contains("acme/alpha: unknown API `telepathy`"),
        "{text}"
    );
    let local = record(
        "alpha",
        "openai-completions",
        json!({"baseUrl": "file:///tmp"}),
    );
    let text = message(&json!({"openai-completions": {"chat:alpha": local}}));
    assert!(text.contains("`file:///tmp` is not a base URL"), "{text}");
    let text =
        message(&json!({"openai-completions": {"chat:other": record("alpha", "x", json!({}))}}));
    assert!(text.contains("does not match its key"), "{text}");
    assert!(!data.path().join("models").exists());
}

#[test]
fn invalid_arguments_are_explained() {
    assert_eq!(
        ModelsOptions::parse(&["--from", "directory"]).unwrap(),
        options(Path::new("directory"), None)
    );
    for (arguments, message) in [
        (&[][..], "`models` needs `--from PATH`"),
        (&["--from"][..], "`--from` needs a value"),
        (&["--form", "x"][..], "`models` has no option `--form`"),
    ] {
        assert_eq!(
            ModelsOptions::parse(arguments).unwrap_err().to_string(),
            message
        );
    }
}

#[test]
fn the_embedded_catalog_is_generator_output() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../pi-providers/data");
    let catalog = read_catalog(&data.join("models")).unwrap();
    assert_eq!(catalog.len(), pi_providers::builtin_providers().len());
    for (provider, records) in &catalog {
        let path = data.join(format!("models/{provider}.json"));
        let text = fs::read_to_string(path).unwrap();
        assert!(
            text == record::render(ModelKind::Chat, provider, records).unwrap(),
            "{provider}"
        );
        assert!(
            records.is_sorted_by_key(ModelRecord::sort_key),
            "{provider}"
        );
    }
}
