//! Model calls of extensions: 18 forms of options over four APIs. `extension_model_calls/requests.json` has the request
//! bodies of the TypeScript pi.

use pi_test_support::ScriptedReply;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::harness::{TestContext, text_reply};

const REQUESTS: &str = include_str!("extension_model_calls/requests.json");
const APIS: [(&str, &str); 4] = [
    ("anthropic-messages", ""),
    ("openai-completions", "/v1"),
    ("openai-responses", "/v1"),
    ("google-generative-ai", "/v1beta"),
];
const FORMS: usize = 18;

#[tokio::test]
async fn a_call_sends_what_the_extension_asked_for() {
    // The body of the response does not matter, except for the last call.
    let rejected = || {
        let body = r#"{"error": {"message": "rejected"}}"#;
        ScriptedReply::full(400, &[("content-type", "application/json")], body)
    };
    let replies = (0..FORMS * APIS.len()).map(|_| rejected());
    let context = TestContext::new(replies.chain([text_reply("answer")])).await;
    let providers = APIS.map(|(api, path)| {
        let base = format!("{}{path}", context.server.url());
        let model = json!({"id": "think", "reasoning": true, "contextWindow": 200_000, "maxTokens": 32_000});
        (api.to_owned(), json!({"baseUrl": base, "api": api, "apiKey": "k", "models": [model]}))
    });
    let providers: serde_json::Map<String, Value> = providers.into_iter().collect();
    let models = json!({ "providers": providers });
    context.home.write("agent/models.json", models.to_string());
    let extension = context
        .home
        .write("calls.ts", include_str!("extension_model_calls/calls.ts"));
    let extension = extension.to_string_lossy();
    let model = ["--model", "openai-completions/think"];
    let run = context
        .run(&[model[0], model[1], "-e", &extension, "-p", "/calls"])
        .await;
    let results = std::fs::read(context.project_dir().join("results.json"));
    let results = results.unwrap_or_else(|error| panic!("{error}: {run:?}"));
    let results: Value = serde_json::from_slice(&results).unwrap();
    let requests = context.server.requests();
    let expected: Value = serde_json::from_str(REQUESTS).unwrap();
    let names: Vec<&str> = results["forms"]
        .as_array()
        .unwrap()
        .iter()
        .map(|name| name.as_str().unwrap())
        .collect();
    assert_eq!(
        (names.len(), requests.len()),
        (FORMS, FORMS * APIS.len() + 1)
    );
    let calls = APIS
        .iter()
        .flat_map(|(api, _)| names.iter().map(move |name| (*api, *name)));
    for ((api, name), request) in calls.zip(&requests) {
        assert_eq!(request.json(), expected[api][name], "{api} {name}");
    }
    assert_eq!(requests.last().unwrap().json()["temperature"], 0.25);
    assert_eq!(
        results["seen"],
        json!(["think", [200, "text/event-stream"], "answer"])
    );
}
