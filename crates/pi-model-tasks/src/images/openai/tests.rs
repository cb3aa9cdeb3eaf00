use std::path::PathBuf;

use pi_env::Env;
use pi_protocol::{ModelKind, StopReason};
use pi_providers::{Models, ModelsOptions, ProviderConfig, Registration};
use pi_test_support::{ScriptedReply, ScriptedServer, TempHome};
use pretty_assertions::assert_eq;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::{TaskOptions, find_task_model, generate_images, image_definition_problem, task_models};

const PNG: &str = "iVBORw0KGgo=";
const JSON: [(&str, &str); 1] = [("content-type", "application/json")];

fn models(file: Option<PathBuf>) -> Models {
    Models::new(ModelsOptions {
        env: Env::fixed::<&str, &str>([]),
        image_models_file: file,
        ..ModelsOptions::default()
    })
}

/// Models with a provider `local` at a server, and a definition of `draw`.
fn local(home: &TempHome, server: &ScriptedServer) -> Models {
    let definitions = json!({"providers": {"local": {"models": [
        {"id": "draw", "parameters": {"size": "512x512"}, "costPerImage": 0.25, "input": ["text", "image"]},
    ]}}});
    let models = models(Some(
        home.write("image-models.json", definitions.to_string()),
    ));
    let config = json!({"baseUrl": format!("{}/v1", server.url()), "apiKey": "secret-key"});
    let config: ProviderConfig = serde_json::from_value(config).unwrap();
    models
        .register("local", Registration::ModelsFile(config))
        .unwrap();
    models
}

fn context(input: &Value) -> ImageContext {
    serde_json::from_value(json!({"input": input})).unwrap()
}

fn text_context() -> ImageContext {
    context(&json!([{"type": "text", "text": "a fox"}]))
}

async fn drawn(
    replies: Vec<ScriptedReply>,
    context: ImageContext,
) -> (GeneratedImages, ScriptedServer) {
    let home = TempHome::new();
    let server = ScriptedServer::start(replies).await;
    let models = local(&home, &server);
    let model = find_task_model(&models, ModelKind::Image, "local", "draw").unwrap();
    let drawn = generate_images(&models, &model, &context, &TaskOptions::default()).await;
    (drawn, server)
}

fn reply(body: &Value) -> ScriptedReply {
    ScriptedReply::full(200, &JSON, body.to_string())
}

#[tokio::test]
async fn a_picture_is_generated_with_its_cost() {
    let body = json!({"created": 1, "data": [{"b64_json": PNG}], "usage": {"input_tokens": 10, "output_tokens": 200, "input_tokens_details": {"cached_tokens": 4}}});
    let (drawn, server) = drawn(vec![reply(&body)], text_context()).await;
    assert_eq!(drawn.error_message, None);
    assert_eq!(
        json!(drawn.output),
        json!([{"type": "image", "mimeType": "image/png", "data": PNG}])
    );
    let usage = drawn.usage.unwrap();
    assert_eq!(
        (
            usage.input,
            usage.cache_read,
            usage.output,
            usage.total_tokens
        ),
        (6, 4, 200, 210)
    );
    assert_eq!(usage.cost.total, 0.25);
    let request = &server.requests()[0];
    assert_eq!(request.target, "/v1/images/generations");
    assert_eq!(request.header("authorization"), Some("Bearer secret-key"));
    assert_eq!(
        request.json(),
        json!({"model": "draw", "prompt": "a fox", "n": 1, "size": "512x512"})
    );
}

#[tokio::test]
async fn input_images_are_edited() {
    let input = json!([
        {"type": "text", "text": "make it"}, {"type": "image", "mimeType": "image/png", "data": PNG}, {"type": "text", "text": "blue"},
    ]);
    let (drawn, server) = drawn(
        vec![reply(&json!({"data": [{"b64_json": PNG}]}))],
        context(&input),
    )
    .await;
    assert_eq!(drawn.error_message, None);
    let request = &server.requests()[0];
    assert_eq!(request.target, "/v1/images/edits");
    let kind = request.header("content-type").unwrap();
    let boundary = kind.strip_prefix("multipart/form-data; boundary=").unwrap();
    let body = String::from_utf8_lossy(&request.body).replace(boundary, "B");
    let expected = "--B\r\ncontent-disposition: form-data; name=\"model\"\r\n\r\ndraw\r\n\
        --B\r\ncontent-disposition: form-data; name=\"prompt\"\r\n\r\nmake it\nblue\r\n\
        --B\r\ncontent-disposition: form-data; name=\"n\"\r\n\r\n1\r\n\
        --B\r\ncontent-disposition: form-data; name=\"size\"\r\n\r\n512x512\r\n\
        --B\r\ncontent-disposition: form-data; name=\"image[]\"; filename=\"image-1.png\"\r\ncontent-type: image/png\r\n\r\n\u{fffd}PNG\r\n\u{1a}\n\r\n--B--\r\n";
    assert_eq!(body, expected);
}

#[tokio::test]
async fn urls_of_the_server_are_downloaded_without_the_key() {
    let body = json!({"data": [{"url": "/files/a.png"}]});
    let picture = ScriptedReply::full(
        200,
        &[("content-type", "text/html")],
        &b"\x89PNG\r\n\x1a\n"[..],
    );
    let (drawn, server) = drawn(vec![reply(&body), picture], text_context()).await;
    assert_eq!(drawn.error_message, None);
    assert_eq!(drawn.output.len(), 1);
    let request = &server.requests()[1];
    assert_eq!(
        (request.target.as_str(), request.header("authorization")),
        ("/files/a.png", None)
    );
}

#[test]
fn urls_of_this_network_are_refused() {
    let base = "http://127.0.0.1:9/v1";
    for url in [
        "http://127.0.0.1:8/a.png",
        "http://169.254.169.254/latest",
        "https://10.0.0.1/a",
        "https://[::1]/a",
        "https://localhost/a",
        "https://printer.local/a",
        "https://intranet/a",
        "http://example.com/a.png",
        "file:///etc/passwd",
        "https://user@example.com/a",
        "https://2130706433/a",
        "https://a.localhost./",
    ] {
        assert!(picture_url(base, url).is_err(), "{url}");
    }
    for url in [
        "https://cdn.example.com/a.png",
        "http://127.0.0.1:9/files/a.png",
        "a.png",
    ] {
        assert!(picture_url(base, url).is_ok(), "{url}");
    }
}

#[tokio::test]
async fn hostile_responses_are_errors() {
    let long = "A".repeat(50 * 1024 * 1024);
    let bomb = ScriptedReply::full(
        200,
        &JSON,
        format!("{{\"data\":[{{\"b64_json\":\"{long}\"}}]}}"),
    );
    let html = BASE64_STANDARD.encode("<html>");
    for (replies, expected) in [
        (vec![bomb], "is longer than 32 MiB"),
        (
            vec![reply(&json!({"data": [{"b64_json": html}]}))],
            "not PNG, JPEG, WebP or GIF",
        ),
        (
            vec![reply(&json!({"data": [{"b64_json": "%%%"}]}))],
            "not valid base64",
        ),
        (
            vec![reply(
                &json!({"data": [{"url": "http://169.254.169.254/"}]}),
            )],
            "URL that is not allowed",
        ),
        (
            vec![ScriptedReply::full(200, &JSON, "no")],
            "not valid JSON",
        ),
        (
            vec![ScriptedReply::full(
                400,
                &JSON,
                json!({"error": {"message": "refused by moderation secret-key"}}).to_string(),
            )],
            "refused by moderation",
        ),
    ] {
        let (drawn, _server) = drawn(replies, text_context()).await;
        assert_eq!(drawn.stop_reason, StopReason::Error);
        let message = drawn.error_message.unwrap();
        assert!(message.contains(expected), "{message}");
        assert!(!message.contains("secret-key"), "{message}");
        assert_eq!(drawn.output, []);
    }
    let (none, _server) = drawn(
        vec![reply(&json!({"data": "x", "usage": {"output_tokens": -1}}))],
        text_context(),
    )
    .await;
    assert_eq!((none.stop_reason, none.output.len()), (StopReason::Stop, 0));
    let (empty, server) = drawn(
        Vec::new(),
        context(&json!([{"type": "image", "mimeType": "image/png", "data": PNG}])),
    )
    .await;
    assert!(empty.error_message.unwrap().contains("needs a text"));
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn an_abort_ends_the_request() {
    let home = TempHome::new();
    let server = ScriptedServer::start([ScriptedReply::new().gate("never")]).await;
    let models = local(&home, &server);
    let model = find_task_model(&models, ModelKind::Image, "local", "draw").unwrap();
    let options = TaskOptions {
        cancel: CancellationToken::new(),
        ..TaskOptions::default()
    };
    let context = text_context();
    let drawing = generate_images(&models, &model, &context, &options);
    let abort = async {
        server.wait_for_request(0).await;
        options.cancel.cancel();
    };
    let (drawn, ()) = tokio::join!(drawing, abort);
    assert_eq!(drawn.stop_reason, StopReason::Aborted);
    server.wait_for_disconnect(0).await;
}

#[test]
fn definitions_replace_models_of_the_catalog() {
    let home = TempHome::new();
    let file = home.write(
        "image-models.json",
        "{\n  // mine\n  \"providers\": {\"openrouter\": {\"baseUrl\": \"http://127.0.0.1:1\", \"models\": [{\"id\": \"google/gemini-2.5-flash-image\", \"name\": \"Own\"}, {\"id\": \"new\"}]}},\n}",
    );
    let models = models(Some(file));
    let listed = task_models(&models, ModelKind::Image, Some("openrouter"));
    assert_eq!(listed.len(), 65);
    let own = listed
        .iter()
        .find(|model| model.id == "google/gemini-2.5-flash-image")
        .unwrap();
    assert_eq!(
        (own.name.as_str(), own.api.as_str()),
        ("Own", OPENAI_IMAGES_API)
    );
    assert_eq!(
        task_models(&models, ModelKind::Classifier, None)
            .iter()
            .filter(|it| it.name == "Own")
            .count(),
        0
    );
}

const OPENAI_IMAGES_API: &str = "openai-images";

#[test]
fn problems_of_definitions_are_reported() {
    let home = TempHome::new();
    for (text, expected) in [
        ("{", "Unterminated object"),
        ("[]", "expected struct Definitions"),
        (
            "{\"providers\": {\"nope\": {\"models\": [{\"id\": \"a\"}]}}}",
            "providers.nope.models: \"a\" has no baseUrl",
        ),
        (
            "{\"providers\": {\"openai\": {\"models\": [{}]}}}",
            "an entry has no id",
        ),
        (
            "{\"providers\": {\"openai\": {\"models\": [{\"id\": \"a\", \"input\": 7}]}}}",
            "\"a\": invalid type",
        ),
    ] {
        let models = models(Some(home.write("image-models.json", text)));
        let problem = image_definition_problem(&models).unwrap();
        assert!(problem.contains(expected), "{problem}");
        assert_eq!(
            task_models(&models, ModelKind::Image, Some("openrouter")).len(),
            64
        );
    }
    let models = models(Some(home.path().join("none.json")));
    assert_eq!(image_definition_problem(&models), None);
    // The base URL is that of the provider's chat models.
    let file = home.write(
        "image-models.json",
        "{\"providers\": {\"openai\": {\"models\": [{\"id\": \"gpt-image-1\"}]}}}",
    );
    let models = self::models(Some(file));
    let model = find_task_model(&models, ModelKind::Image, "openai", "gpt-image-1").unwrap();
    assert_eq!(model.base_url, "https://api.openai.com/v1");
}
