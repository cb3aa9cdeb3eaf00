//! RPC mode over pipes, with raw lines and with the Rust client.

use std::process::Stdio;

use pi_rpc::{RpcClient, RpcClientError, RpcClientOptions};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::harness::{TEST_TIMEOUT, TestContext, bash_reply, partial_reply, text_reply};

fn start_client(context: &TestContext) -> RpcClient {
    let mut options = RpcClientOptions::new(env!("CARGO_BIN_EXE_pi"));
    options.model = Some("mock/alpha".to_owned());
    options.cwd = Some(context.project_dir());
    let environment = context.environment().into_iter();
    options.environment = environment
        .map(|(name, value)| (name.into(), value.into()))
        .collect();
    RpcClient::start(&options).unwrap()
}

#[tokio::test]
async fn every_line_gets_a_response_and_the_process_keeps_running() {
    let context = TestContext::new([]).await;
    let input = "null\n42\n\"x\"\n[]\n{}\n\nnot json\r\n{\"type\":\"frobnicate\",\"id\":7}\n\
                 {\"type\":\"prompt\",\"id\":\"p\"}\n{\"type\":\"get_last_assistant_text\",\"id\":\"last\"}";
    let run = context
        .run_with_input(&["--model", "mock/alpha", "--mode", "rpc"], input)
        .await;
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:?}");
    let responses: Vec<(Value, Value, Value)> = run
        .records()
        .into_iter()
        .map(|mut record| {
            assert_eq!(record["type"], "response");
            (
                record["id"].take(),
                record["command"].take(),
                record["success"].take(),
            )
        })
        .collect();
    let failed = |id: Value, command: Value| (id, command, json!(false));
    assert_eq!(
        responses,
        [
            failed(Value::Null, Value::Null),
            failed(Value::Null, Value::Null),
            failed(Value::Null, Value::Null),
            failed(Value::Null, Value::Null),
            failed(Value::Null, Value::Null),
            failed(Value::Null, json!("parse")),
            failed(Value::Null, json!("parse")),
            failed(json!(7), json!("frobnicate")),
            failed(json!("p"), json!("prompt")),
            (json!("last"), json!("get_last_assistant_text"), json!(true)),
        ]
    );
}

#[tokio::test]
async fn the_rust_client_drives_a_conversation() {
    let context = TestContext::new([text_reply("first"), text_reply("second")]).await;
    let client = start_client(&context);
    let state = client.state().await.unwrap();
    assert_eq!(state.model.unwrap().id, "alpha");
    assert!(!state.is_streaming);
    let idle = client.wait_for_idle(TEST_TIMEOUT);
    let events = client
        .prompt_and_wait("one", Vec::new(), TEST_TIMEOUT)
        .await
        .unwrap();
    // Events received before the future is polled are taken into account.
    idle.await.unwrap();
    let types: Vec<_> = events.iter().map(|event| event.kind().to_owned()).collect();
    assert_eq!(types.first().map(String::as_str), Some("agent_start"));
    assert_eq!(types.last().map(String::as_str), Some("agent_settled"));
    assert_eq!(
        client.last_assistant_text().await.unwrap().as_deref(),
        Some("first")
    );

    client.set_session_name("a name").await.unwrap();
    let bash = client.bash("echo out; exit 3").await.unwrap();
    assert_eq!((bash.output.as_str(), bash.exit_code), ("out\n", Some(3)));
    let totals = client.session_stats().await.unwrap();
    assert_eq!((totals.user_messages, totals.assistant_messages), (1, 1));
    let entries = client.entries(None).await.unwrap();
    let messages = client.fork_messages().await.unwrap();
    assert_eq!(messages[0].text, "one");
    assert!(
        entries
            .entries
            .iter()
            .any(|entry| entry["id"] == messages[0].entry_id.as_str())
    );

    let file = client.state().await.unwrap().session_file.unwrap();
    let forked = client.fork(&messages[0].entry_id).await.unwrap();
    assert_eq!(
        (forked.text.as_deref(), forked.cancelled),
        (Some("one"), false)
    );
    client
        .prompt_and_wait("again", Vec::new(), TEST_TIMEOUT)
        .await
        .unwrap();
    assert_eq!(
        client.last_assistant_text().await.unwrap().as_deref(),
        Some("second")
    );
    client.switch_session(&file).await.unwrap();
    assert_eq!(
        client.last_assistant_text().await.unwrap().as_deref(),
        Some("first")
    );
    assert_eq!(
        client.state().await.unwrap().session_name.as_deref(),
        Some("a name")
    );

    let refused = client.models().select("unknown", "x").await.unwrap_err();
    assert!(
        matches!(refused, RpcClientError::Rejected { .. }),
        "{refused}"
    );
    client.stop().await.unwrap();
    assert!(matches!(
        client.state().await,
        Err(RpcClientError::Exited { .. })
    ));
}

#[tokio::test]
async fn messages_are_equal_in_the_live_session_and_after_loading() {
    let call = bash_reply("echo \"out\u{2028}put\"");
    let context = TestContext::new([call, text_reply("quoted \"ä\"\n")]).await;
    let first = start_client(&context);
    assert_eq!(first.messages().await.unwrap(), []);
    first
        .prompt_and_wait("one", Vec::new(), TEST_TIMEOUT)
        .await
        .unwrap();
    let live = pi_protocol::json::to_string(&first.messages().await.unwrap()).unwrap();
    let live: Value = serde_json::from_str(&live).unwrap();
    let roles = live.as_array().unwrap().iter();
    assert_eq!(
        roles.map(|message| &message["role"]).collect::<Vec<_>>(),
        ["system", "user", "assistant", "toolResult", "assistant"]
    );
    first.stop().await.unwrap();

    // The session file has not been read yet when the first command arrives.
    let input = "{\"type\":\"get_messages\",\"id\":\"m\"}\n";
    let arguments = ["--model", "mock/alpha", "--mode", "rpc", "--continue"];
    let run = context.run_with_input(&arguments, input).await;
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:?}");
    let mut responses = run.records();
    let data = responses[0]["data"].take();
    assert_eq!(
        responses,
        [
            json!({"id": "m", "type": "response", "command": "get_messages",
            "success": true, "data": null})
        ]
    );
    assert_eq!(data, json!({ "messages": live }));
}

#[tokio::test]
async fn commands_are_handled_while_a_response_streams() {
    let context = TestContext::new([partial_reply("start").gate("g")]).await;
    let client = start_client(&context);
    client.prompt("one", Vec::new()).await.unwrap();
    context.server.wait_for_gate("g").await;
    assert!(client.state().await.unwrap().is_streaming);
    let refused = client.prompt("two", Vec::new()).await.unwrap_err();
    assert!(
        matches!(refused, RpcClientError::Rejected { .. }),
        "{refused}"
    );
    client.steer("later", Vec::new()).await.unwrap();
    assert_eq!(client.clear_queue().await.unwrap().steering, ["later"]);
    client.abort().await.unwrap();
    assert!(!client.state().await.unwrap().is_streaming);
}

#[tokio::test]
async fn a_failed_start_reports_stderr() {
    let context = TestContext::new([]).await;
    let mut options = RpcClientOptions::new(env!("CARGO_BIN_EXE_pi"));
    options.arguments = vec!["--frobnicate".into()];
    options.cwd = Some(context.project_dir());
    let environment = context.environment().into_iter();
    options.environment = environment
        .map(|(name, value)| (name.into(), value.into()))
        .collect();
    let client = RpcClient::start(&options).unwrap();
    let error = client.state().await.unwrap_err();
    assert!(matches!(error, RpcClientError::Exited { .. }), "{error}");
    assert!(client.stderr().contains("--frobnicate"));
}

#[tokio::test]
async fn end_of_input_ends_the_process() {
    let context = TestContext::new([partial_reply("start").gate("g")]).await;
    let arguments = ["--model", "mock/alpha", "--mode", "rpc"];
    let mut child = context
        .command(&arguments)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    tokio::io::AsyncWriteExt::write_all(&mut stdin, b"{\"type\":\"prompt\",\"message\":\"x\"}\n")
        .await
        .unwrap();
    context.server.wait_for_gate("g").await;
    drop(stdin);
    let output = tokio::time::timeout(TEST_TIMEOUT, child.wait_with_output())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(output.status.code(), Some(0));
}

#[tokio::test]
async fn queries_work_without_a_model() {
    let context = TestContext::new([]).await;
    context
        .home
        .write("agent/models.json", "{\"providers\": {}}");
    let input = "{\"type\":\"get_available_models\"}\n{\"type\":\"prompt\",\"message\":\"x\"}\n";
    let run = context.run_with_input(&["--mode", "rpc"], input).await;
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:?}");
    let records = run.records();
    assert_eq!(records[0]["data"]["models"], json!([]));
    assert_eq!(records[1]["success"], json!(false));
}
