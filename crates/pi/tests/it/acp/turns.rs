//! Turns: text, thinking, tools, images, steering, cancellation and errors.

use pi_test_support::ScriptedReply;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::client::AcpClient;
use crate::harness::{
    TestContext, bash_reply, finish_reply, partial_reply, partial_reply_with, text_reply,
    tool_call_reply,
};
use crate::images::{PIXEL, define_image_model, image_call, image_reply};

#[tokio::test]
async fn text_thinking_usage_and_title_are_sent() {
    let thinking = partial_reply_with(&json!({"role": "assistant", "reasoning_content": "Hm"}));
    let reply = thinking.chunk(crate::harness::text_delta("Hello"));
    let context = TestContext::new([finish_reply(reply, "stop")]).await;
    let mut client = AcpClient::start(&context, json!({})).await;
    let session = client.open(&context).await;
    assert_eq!(client.ask(&session, "Say\nhello").await, "end_turn");
    assert_eq!(client.text("agent_thought_chunk"), "Hm");
    assert_eq!(client.text("agent_message_chunk"), "Hello");
    assert_eq!(
        client.updates("session_info_update")[0]["title"],
        json!("Say")
    );
    assert_eq!(client.updates("usage_update")[0]["size"], json!(200_000));
    // The client shows its own message.
    assert_eq!(client.text("user_message_chunk"), "");
}

#[tokio::test]
async fn tool_calls_have_diffs_locations_and_output() {
    let replies = [
        tool_call_reply("write", &json!({"path": "a.txt", "content": "one\ntwo\n"})),
        tool_call_reply(
            "edit",
            &json!({"path": "a.txt", "edits": [{"oldText": "two", "newText": "2"}]}),
        ),
        bash_reply("printf 'x\\033[31my\\n'"),
        text_reply("Done"),
    ];
    let context = TestContext::new(replies).await;
    let mut client = AcpClient::start(&context, json!({})).await;
    let session = client.open(&context).await;
    assert_eq!(client.ask(&session, "Work").await, "end_turn");
    let file = context.project_dir().join("a.txt");
    let ended: Vec<Value> = client
        .updates("tool_call_update")
        .into_iter()
        .filter(|update| update["status"] == "completed")
        .collect();
    let diff = |before: Value, after: &str| json!([{"type": "diff", "path": file, "oldText": before, "newText": after}]);
    assert_eq!(ended[0]["content"], diff(Value::Null, "one\ntwo\n"));
    assert_eq!(ended[1]["content"], diff(json!("one\ntwo\n"), "one\n2\n"));
    assert_eq!(ended[1]["locations"], json!([{"path": file, "line": 2}]));
    let output = ended[2]["content"][0]["content"]["text"].as_str().unwrap();
    assert!(output.starts_with("```\nx"), "{output}");
    let started = client.updates("tool_call");
    let kinds: Vec<&Value> = started.iter().map(|call| &call["kind"]).collect();
    assert_eq!(kinds, [&json!("edit"), &json!("edit"), &json!("execute")]);
}

#[tokio::test]
async fn output_of_commands_is_a_terminal_where_the_client_shows_one() {
    let replies = [bash_reply("echo out; exit 3"), text_reply("Done")];
    let context = TestContext::new(replies).await;
    let capabilities = json!({"_meta": {"terminal_output": true}});
    let mut client = AcpClient::start(&context, capabilities).await;
    let session = client.open(&context).await;
    client.ask(&session, "Run").await;
    let updates = client.updates("tool_call_update");
    let shown = updates
        .iter()
        .find(|update| !update["content"].is_null())
        .unwrap();
    assert_eq!(shown["content"][0]["type"], json!("terminal"));
    let data: String = updates
        .iter()
        .filter_map(|update| update["_meta"]["terminal_output"]["data"].as_str())
        .collect();
    assert!(data.starts_with("out\n"), "{data}");
    let last = updates.last().unwrap();
    assert_eq!(last["_meta"]["terminal_exit"]["exit_code"], json!(3));
}

#[tokio::test]
async fn images_and_files_of_a_prompt_reach_the_model() {
    let context = TestContext::new([text_reply("ok")]).await;
    let mut client = AcpClient::start(&context, json!({})).await;
    let session = client.open(&context).await;
    let pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    let params = json!({"sessionId": session, "prompt": [
        {"type": "text", "text": "Compare"},
        {"type": "image", "data": pixel, "mimeType": "image/png"},
        {"type": "resource", "resource": {"uri": "file:///p/a.rs", "text": "fn a() {}"}},
        {"type": "resource_link", "name": "passwd", "uri": "file:///etc/passwd"},
    ]});
    client.call("session/prompt", params).await.unwrap();
    let request = context.server.requests()[0].json().to_string();
    assert!(
        request.contains("fn a() {}") && request.contains("data:image/"),
        "{request}"
    );
    assert!(
        request.contains("/etc/passwd") && !request.contains("root:"),
        "links are not read"
    );
}

#[tokio::test]
async fn a_prompt_during_a_run_steers_it() {
    let first = ScriptedReply::event_stream()
        .gate("go")
        .chunk(crate::harness::delta_event(
            &json!({"role": "assistant", "content": "first"}),
            None,
        ));
    let replies = [finish_reply(first, "stop"), text_reply(" second")];
    let context = TestContext::new(replies).await;
    let mut client = AcpClient::start(&context, json!({})).await;
    let session = client.open(&context).await;
    let one = client.prompt(&session, "One").await;
    while context.server.requests().is_empty() {
        tokio::task::yield_now().await;
    }
    let two = client.prompt(&session, "Two").await;
    // The next request is handled after the prompt was queued.
    client.call("session/list", json!({})).await.unwrap();
    context.server.open_gate("go");
    assert_eq!(
        client.response(one).await.unwrap()["stopReason"],
        json!("end_turn")
    );
    assert_eq!(
        client.response(two).await.unwrap()["stopReason"],
        json!("end_turn")
    );
    assert_eq!(client.text("agent_message_chunk"), "first second");
    assert_eq!(client.text("user_message_chunk"), "");
}

#[tokio::test]
async fn a_run_is_canceled_in_each_state() {
    let replies = [
        ScriptedReply::new().stall(),
        partial_reply("par").stall(),
        bash_reply("sleep 600"),
        text_reply("after"),
    ];
    let context = TestContext::new(replies).await;
    let mut client = AcpClient::start(&context, json!({})).await;
    let session = client.open(&context).await;
    for state in ["waiting", "streaming", "tool"] {
        let prompt = client.prompt(&session, state).await;
        match state {
            "waiting" => {
                while context.server.requests().is_empty() {
                    tokio::task::yield_now().await;
                }
            }
            "streaming" => drop(client.wait_for_update("agent_message_chunk").await),
            _ => {
                let is_running = |message: &Value| {
                    message["params"]["update"]["status"].as_str() == Some("in_progress")
                };
                client.wait_for(is_running).await;
            }
        }
        client
            .notify("session/cancel", json!({"sessionId": session}))
            .await;
        let stopped = client.response(prompt).await.unwrap();
        assert_eq!(stopped["stopReason"], json!("cancelled"), "{state}");
    }
    assert_eq!(client.ask(&session, "And now").await, "end_turn");
    // A cancellation directly after the prompt is not lost.
    let prompt = client.prompt(&session, "Late").await;
    client
        .notify("session/cancel", json!({"sessionId": session}))
        .await;
    let stopped = client.response(prompt).await.unwrap();
    assert_eq!(stopped["stopReason"], json!("cancelled"));
}

#[tokio::test]
async fn errors_of_a_provider_fail_the_prompt() {
    let reply = ScriptedReply::full(400, &[], r#"{"error": {"message": "bad request: x"}}"#);
    let length = finish_reply(partial_reply("cut"), "length");
    let context = TestContext::new([reply, length]).await;
    let mut client = AcpClient::start(&context, json!({})).await;
    let session = client.open(&context).await;
    let prompt = client.prompt(&session, "Hello").await;
    let error = client.response(prompt).await.unwrap_err();
    assert_eq!(error["code"], json!(-32603));
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("bad request: x"),
        "{error}"
    );
    assert_eq!(client.ask(&session, "Again").await, "max_tokens");
}

#[tokio::test]
async fn a_missing_credential_asks_for_sign_in() {
    let context = TestContext::new([]).await;
    context.home.write("agent/models.json", "{}");
    let mut client = AcpClient::start(&context, json!({})).await;
    let session = client.open(&context).await;
    let prompt = client.prompt(&session, "Hello").await;
    let error = client.response(prompt).await.unwrap_err();
    assert_eq!(error["code"], json!(-32000), "{error}");
}

#[tokio::test]
async fn built_in_commands_answer_with_text() {
    let context = TestContext::new([text_reply("hi"), text_reply("A summary")]).await;
    let mut client = AcpClient::start(&context, json!({})).await;
    let session = client.open(&context).await;
    client.ask(&session, "Hello").await;
    for (command, expected) in [
        ("/name Tests", "Named this session Tests."),
        ("/session", "Messages: "),
        ("/model beta", "Model: mock/beta"),
        ("/thinking", "Thinking: "),
        ("/export out.html", "Exported to "),
        ("/reload", "Reloaded"),
        ("/clone", "This thread continues in session"),
    ] {
        client.notifications.clear();
        assert_eq!(client.ask(&session, command).await, "end_turn", "{command}");
        let text = client.text("agent_message_chunk");
        assert!(text.contains(expected), "{command}: {text}");
    }
    assert!(context.project_dir().join("out.html").exists());
    let prompt = client.prompt(&session, "/model nothing-like-it").await;
    let error = client.response(prompt).await.unwrap_err();
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("no model matches"),
        "{error}"
    );
}

#[tokio::test]
async fn generated_images_reach_the_editor() {
    let replies = [
        image_call(&json!({"prompt": "a fox"})),
        image_reply(PIXEL),
        text_reply("ok"),
    ];
    let context = TestContext::new(replies).await;
    define_image_model(&context);
    let settings = json!({"extensions": ["builtin:image"]});
    context
        .home
        .write("agent/settings.json", settings.to_string());
    let mut client = AcpClient::start(&context, json!({})).await;
    let session = client.open(&context).await;
    assert_eq!(client.ask(&session, "draw").await, "end_turn");
    let updates = client.updates("tool_call_update");
    let ended = updates.iter().find(|it| it["status"] == "completed");
    let parts = &ended.unwrap()["content"];
    let text = parts[0]["content"]["text"].as_str().unwrap();
    assert!(text.contains("Wrote image-1.png"), "{parts}");
    assert_eq!(parts[1]["content"]["type"], json!("image"));
}
