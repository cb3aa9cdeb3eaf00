use pi_env::Env;
use pi_providers::{ModelsOptions, ProviderConfig, Registration};
use pi_test_support::{ScriptedReply, ScriptedServer};
use pretty_assertions::assert_eq;
use serde_json::json;

use super::*;
use crate::find_task_model;

fn reply(status: u16, body: &Value) -> ScriptedReply {
    let headers = [("content-type", "application/json")];
    ScriptedReply::full(status, &headers, body.to_string())
}

fn models_at(provider: &str, base_url: &str) -> Models {
    let models = Models::new(ModelsOptions {
        env: Env::fixed::<&str, &str>([]),
        ..ModelsOptions::default()
    });
    crate::register_providers(&models).unwrap();
    let config: ProviderConfig =
        serde_json::from_value(json!({"baseUrl": base_url, "apiKey": "secret-key"})).unwrap();
    let registration = Registration::ModelsFile(config);
    models.register(provider, registration).unwrap();
    models
}

fn context() -> ClassificationContext {
    serde_json::from_value(json!({
        "state": {"text": "roses"},
        "questions": {
            "kind": {"type": "choice", "instructions": "which", "criteria": {"flower": "a flower", "tree": ""}},
            "size": {"type": "score", "instructions": "how big", "criteria": ["small", "large"]},
            "red": {"type": "bool", "instructions": "red?", "criteria": {"true": "red"}},
        },
    }))
    .unwrap()
}

async fn classified(
    provider: &str,
    id: &str,
    context: &ClassificationContext,
    replies: Vec<ScriptedReply>,
) -> (Classification, Vec<(String, Value)>) {
    let server = ScriptedServer::start(replies).await;
    let models = models_at(provider, &server.url());
    let model = find_task_model(&models, ModelKind::Classifier, provider, id).unwrap();
    let result = classify(&models, &model, context, &TaskOptions::default()).await;
    let requests = server.requests().into_iter().map(|request| {
        assert_eq!(request.header("authorization"), Some("Bearer secret-key"));
        let body = serde_json::from_slice(&request.body).unwrap();
        (request.target, body)
    });
    (result, requests.collect())
}

#[tokio::test]
async fn system_one_answers_every_kind_of_question() {
    let answers = json!({
        "answers": {
            "kind": {"type": "choice", "choice": "flower", "probabilities": {"flower": 0.9, "tree": 0.1}, "confidence": 0.8},
            "size": {"type": "score", "score": 0.25, "confidence": 0.5},
            "red": {"type": "noul", "noul": 0.75},
        },
        "usage": {"input_tokens": 20, "output_tokens": 3},
    });
    let (result, requests) = classified(
        "typesafe",
        "jev-latest",
        &context(),
        vec![reply(200, &answers)],
    )
    .await;
    let (path, body) = &requests[0];
    assert_eq!(path, "/systemone");
    assert_eq!(body["model"], "jev-latest");
    assert_eq!(body["questions"]["red"]["type"], "noul");
    assert_eq!(
        json!(result.answers[0].1),
        json!({"type": "choice", "choice": "flower", "probabilities": {"flower": 0.9, "tree": 0.1}, "confidence": 0.8})
    );
    assert_eq!(
        json!(result.answers[2].1),
        json!({"type": "bool", "probability": 0.75})
    );
    assert_eq!(result.stop_reason, StopReason::Stop);
    assert_eq!(result.usage.unwrap().total_tokens, 23);
}

#[tokio::test]
async fn a_failure_is_part_of_the_result() {
    let body = json!({"error": {"message": "bad question for secret-key"}});
    let (result, _) = classified(
        "typesafe",
        "jev-latest",
        &context(),
        vec![reply(400, &body)],
    )
    .await;
    assert_eq!(result.stop_reason, StopReason::Error);
    let message = result.error_message.unwrap();
    assert!(
        message.contains("bad question") && message.contains("400"),
        "{message}"
    );
    assert!(!message.contains("secret-key"), "{message}");
    assert_eq!(result.answers, []);
    let incomplete = json!({"answers": {"kind": {"type": "score"}}});
    let (result, _) = classified(
        "typesafe",
        "jev-latest",
        &context(),
        vec![reply(200, &incomplete)],
    )
    .await;
    assert!(result.error_message.unwrap().contains("kind"));
}

#[tokio::test]
async fn decisions_have_their_own_questions_and_answers() {
    let answers = json!({"answers": [
        {"name": "kind", "type": "choice", "choice": "tree", "probabilities": [{"value": "tree", "probability": 1}], "confidence": 1},
        {"name": "size", "type": "score", "score": 1, "confidence": 1},
        {"name": "red", "type": "predicate", "probability": 0.5},
    ]});
    let models = Models::new(ModelsOptions::default());
    let listed = crate::task_models(&models, ModelKind::Classifier, Some("openai"));
    let (result, requests) = classified(
        "openai",
        &listed[0].id,
        &context(),
        vec![reply(200, &answers)],
    )
    .await;
    assert_eq!(result.error_message, None);
    let (path, body) = &requests[0];
    assert_eq!(path, "/decisions");
    assert_eq!(body["input"], "{\"text\":\"roses\"}");
    assert_eq!(
        body["questions"][0]["choices"],
        json!([{"value": "flower", "description": "a flower"}, {"value": "tree"}])
    );
    assert_eq!(body["questions"][2]["type"], "predicate");
    assert_eq!(
        json!(result.answers[0].1)["probabilities"],
        json!({"tree": 1.0})
    );
}

#[tokio::test]
async fn a_llama_server_answers_with_the_probabilities_of_labels() {
    let tokens = |ids: &[u64]| reply(200, &json!({"tokens": ids}));
    let mut replies = Vec::new();
    for token in [10, 11] {
        replies.extend([tokens(&[1]), tokens(&[1, token])]);
    }
    replies.push(reply(200, &json!({"prompt": "p<think>"})));
    let logprobs =
        json!([{"id": 10, "logprob": 0.75_f64.ln()}, {"id": 11, "logprob": 0.25_f64.ln()}]);
    replies.push(reply(
        200,
        &json!({"completion_probabilities": [{"top_logprobs": logprobs}]}),
    ));
    let server = ScriptedServer::start(replies).await;
    let models = models_at("llama", &format!("{}/v1", server.url()));
    let model: TaskModel = serde_json::from_value(json!({
        "type": "classifier", "id": "local", "name": "Local", "api": "llama-cpp-classify", "provider": "llama",
        "baseUrl": format!("{}/v1", server.url()), "input": ["text"],
    }))
    .unwrap();
    let mut asked = context();
    asked.questions.retain(|(name, _)| name == "red");
    let result = classify(&models, &model, &asked, &TaskOptions::default()).await;
    assert_eq!(result.error_message, None);
    let ClassifierAnswer::Bool { probability } = result.answers[0].1 else {
        panic!("{:?}", result.answers);
    };
    assert!((probability - 0.75).abs() < 1e-9, "{probability}");
    let completion = server.requests().pop().unwrap();
    assert_eq!(completion.target, "/completion");
    let body: Value = serde_json::from_slice(&completion.body).unwrap();
    assert_eq!(body["prompt"], "p<think></think>");
}

#[test]
fn invalid_questions_are_rejected_by_name() {
    let context = json!({"state": {}, "questions": {"q": {"type": "odd"}}});
    let error = serde_json::from_value::<ClassificationContext>(context).unwrap_err();
    assert!(error.to_string().contains("question q"), "{error}");
}
