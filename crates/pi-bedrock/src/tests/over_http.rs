use pi_env::Env;
use pi_http::HttpClient;
use pi_protocol::{AssistantMessage, StopReason};
use pi_providers::wire::testing::{self, NOW};
use pi_providers::{ModelRequest, StreamOptions};
use pi_test_support::{ScriptedReply, ScriptedServer};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::responses::body;

fn request(server: &ScriptedServer) -> ModelRequest {
    let fields = json!({"id": "vendor.model-v1:0", "baseUrl": server.url()});
    let model = testing::model("bedrock-converse-stream", fields);
    let mut request = testing::request(
        model,
        json!([{"role": "user", "content": "hi", "timestamp": NOW}]),
        StreamOptions {
            headers: [("x-amz-date".to_owned(), Some("forged".to_owned()))].into(),
            ..StreamOptions::default()
        },
    );
    request.env = Env::fixed([
        ("AWS_ACCESS_KEY_ID", "AKID"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
    ])
    .with_clock(|| NOW);
    request
}

async fn run_request(server: &ScriptedServer) -> std::sync::Arc<AssistantMessage> {
    crate::wire_api()
        .stream(request(server), HttpClient::new())
        .result()
        .await
}

fn busy() -> ScriptedReply {
    let headers = [
        ("x-amzn-errortype", "ServiceUnavailableException"),
        ("x-amzn-requestid", "req-1"),
        ("retry-after-ms", "1"),
    ];
    ScriptedReply::full(503, &headers, r#"{"message":"busy"}"#)
}

#[tokio::test]
async fn a_busy_service_is_retried_regardless_of_the_options() {
    let framed = [("content-type", "application/vnd.amazon.eventstream")];
    let whole = ScriptedReply::full(200, &framed, body("text"));
    let server = ScriptedServer::start([busy(), busy(), whole]).await;
    let message = run_request(&server).await;
    assert_eq!(message.stop_reason, StopReason::Stop);
    assert_eq!(message.text(), "Grüße aus 東京 😀");
    let requests = server.requests();
    assert_eq!(requests.len(), 3);
    for request in requests {
        assert_eq!(request.target, "/model/vendor.model-v1%3A0/converse-stream");
        assert_eq!(request.header("x-amz-date"), Some("20231114T221320Z"));
        let authorization = request.header("authorization").unwrap();
        assert!(authorization.contains("Credential=AKID/20231114/us-east-1/bedrock/"));
        assert_eq!(request.json()["messages"][0]["content"][0]["text"], "hi");
    }
}

#[tokio::test]
async fn a_final_failure_records_the_request_id() {
    let server = ScriptedServer::start([busy(), busy(), busy()]).await;
    let message = run_request(&server).await;
    assert_eq!(
        message.error_message.as_deref(),
        Some("Service unavailable: busy")
    );
    let diagnostics = serde_json::to_value(&message.diagnostics).unwrap();
    assert_eq!(
        diagnostics[0]["details"],
        json!({"status": 503, "errorCode": "ServiceUnavailableException", "requestId": "req-1"})
    );
    assert_eq!(diagnostics.as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn a_failure_in_the_stream_keeps_the_text_and_the_request_id() {
    let framed = [
        ("content-type", "application/vnd.amazon.eventstream"),
        ("x-amzn-requestid", "req-2"),
    ];
    let server =
        ScriptedServer::start([ScriptedReply::full(200, &framed, body("exception"))]).await;
    let message = run_request(&server).await;
    assert_eq!(message.text(), "par");
    assert_eq!(message.stop_reason, StopReason::Error);
    let diagnostics: Value = serde_json::to_value(&message.diagnostics).unwrap();
    assert_eq!(diagnostics[0]["details"], json!({"requestId": "req-2"}));
}
