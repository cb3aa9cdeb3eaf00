//! Sessions of a client: open, list, load, resume, fork, close and delete.

use std::time::Duration;

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::client::AcpClient;
use crate::harness::{TEST_TIMEOUT, TestContext, bash_reply, text_reply, tool_call_reply};

#[tokio::test]
async fn a_new_session_has_options_and_commands() {
    let context = TestContext::new([]).await;
    context.home.write(
        "agent/prompts/review.md",
        "---\ndescription: Review a change\n---\nReview $1",
    );
    let mut client = AcpClient::spawn(&context, &["--model", "mock/beta"]);
    let params = json!({"protocolVersion": 99, "clientCapabilities": {}});
    let initialized = client.call("initialize", params).await.unwrap();
    assert_eq!(initialized["protocolVersion"], json!(1));
    assert_eq!(initialized["agentInfo"]["name"], json!("pi"));
    assert!(!initialized["authMethods"].as_array().unwrap().is_empty());
    let params = json!({"cwd": context.project_dir(), "mcpServers": []});
    let opened = client.call("session/new", params).await.unwrap();
    let model = &opened["configOptions"][0];
    assert_eq!(
        (&model["id"], &model["currentValue"]),
        (&json!("model"), &json!("mock/beta"))
    );
    let models = model["options"][0]["options"].as_array().unwrap();
    assert_eq!(models.len(), 2, "{model}");
    let commands = client.wait_for_update("available_commands_update").await;
    let commands = commands["availableCommands"].as_array().unwrap().clone();
    let description = |name: &str| {
        let found = commands.iter().find(|command| command["name"] == name);
        found.map(|command| command["description"].clone())
    };
    assert_eq!(description("review"), Some(json!("Review a change")));
    assert!(description("compact").is_some());
    assert_eq!(client.close().await, Some(0));
}

#[tokio::test]
async fn options_change_the_session() {
    let context = TestContext::new([text_reply("hi")]).await;
    let mut client = AcpClient::start(&context, json!({})).await;
    let session = client.open(&context).await;
    let set = |id: &str, value: &str| json!({"sessionId": session, "configId": id, "value": value});
    let changed = client
        .call("session/set_config_option", set("thinking", "high"))
        .await
        .unwrap();
    assert_eq!(changed["configOptions"][1]["currentValue"], json!("high"));
    let changed = client
        .call("session/set_config_option", set("model", "mock/beta"))
        .await
        .unwrap();
    assert_eq!(
        changed["configOptions"][0]["currentValue"],
        json!("mock/beta")
    );
    let update = client.wait_for_update("config_option_update").await;
    assert!(update["configOptions"].is_array());
    assert_eq!(client.ask(&session, "Hello").await, "end_turn");
    assert_eq!(context.server.requests()[0].json()["model"], json!("beta"));
    for (id, value, field) in [
        ("model", "beta", "value"),
        ("thinking", "extreme", "value"),
        ("color", "red", "configId"),
    ] {
        let error = client
            .call("session/set_config_option", set(id, value))
            .await
            .unwrap_err();
        assert_eq!(error["code"], json!(-32602), "{id}");
        assert_eq!(error["data"]["field"], json!(field), "{id}");
    }
}

#[tokio::test]
async fn a_stored_session_is_listed_loaded_resumed_and_deleted() {
    let replies = [
        tool_call_reply("write", &json!({"path": "a.txt", "content": "one\n"})),
        bash_reply("echo out; exit 3"),
        text_reply("All done"),
        text_reply("Again"),
    ];
    let context = TestContext::new(replies).await;
    let mut client = AcpClient::start(&context, json!({})).await;
    let session = client.open(&context).await;
    assert_eq!(client.ask(&session, "Write a file").await, "end_turn");
    assert_eq!(client.close().await, Some(0));

    let mut client = AcpClient::start(&context, json!({})).await;
    let listed = client
        .call("session/list", json!({"cwd": context.project_dir()}))
        .await
        .unwrap();
    assert_eq!(listed["sessions"][0]["sessionId"], json!(session));
    assert_eq!(listed["sessions"][0]["title"], json!("Write a file"));
    let all = client.call("session/list", json!({})).await.unwrap();
    assert_eq!(all, listed);

    let params = json!({"sessionId": session, "cwd": context.project_dir(), "mcpServers": []});
    let loaded = client.call("session/load", params.clone()).await.unwrap();
    assert_eq!(loaded.get("sessionId"), None);
    assert_eq!(
        loaded["configOptions"][0]["currentValue"],
        json!("mock/alpha")
    );
    assert_eq!(client.text("user_message_chunk"), "Write a file");
    assert_eq!(client.text("agent_message_chunk"), "All done");
    let calls = client.updates("tool_call");
    assert_eq!(calls.len(), 2);
    assert_eq!(calls[0]["content"][0]["newText"], json!("one\n"));
    let results: Vec<Value> = client.updates("tool_call_update");
    let states: Vec<&Value> = results.iter().map(|result| &result["status"]).collect();
    assert_eq!(states, [&json!("completed"), &json!("failed")]);
    assert_eq!(client.ask(&session, "Once more").await, "end_turn");
    assert!(client.text("agent_message_chunk").ends_with("Again"));

    // Resuming sends no conversation.
    client
        .call("session/close", json!({"sessionId": session}))
        .await
        .unwrap();
    client.notifications.clear();
    client.call("session/resume", params).await.unwrap();
    assert_eq!(client.text("user_message_chunk"), "");

    for _ in 0..2 {
        let deleted = client
            .call("session/delete", json!({"sessionId": session}))
            .await;
        assert_eq!(deleted, Ok(json!({})));
    }
    let listed = client.call("session/list", json!({})).await.unwrap();
    assert_eq!(listed["sessions"], json!([]));
    assert_eq!(client.close().await, Some(0));
}

#[tokio::test]
async fn a_closed_session_is_released() {
    let context = TestContext::new([text_reply("Done")]).await;
    let mut client = AcpClient::start(&context, json!({})).await;
    let session = client.open(&context).await;
    assert_eq!(client.ask(&session, "Work").await, "end_turn");
    let file = std::fs::File::open(context.session_file()).unwrap();
    assert!(file.try_lock().is_err(), "an open session is not locked");

    client
        .call("session/close", json!({"sessionId": session}))
        .await
        .unwrap();
    let released = async {
        while file.try_lock().is_err() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(TEST_TIMEOUT, released)
        .await
        .expect("the closed session is still locked");
    drop(file);
    let params = json!({"sessionId": session, "cwd": context.project_dir(), "mcpServers": []});
    client.call("session/resume", params).await.unwrap();
    assert_eq!(client.close().await, Some(0));
}

#[tokio::test]
async fn sessions_of_a_process_are_independent() {
    let replies = [text_reply("first").gate("go"), text_reply("second")];
    let context = TestContext::new(replies).await;
    let mut client = AcpClient::start(&context, json!({})).await;
    let (one, other) = (client.open(&context).await, client.open(&context).await);
    assert_ne!(one, other);
    let waiting = client.prompt(&one, "One").await;
    while context.server.requests().is_empty() {
        tokio::task::yield_now().await;
    }
    assert_eq!(client.ask(&other, "Other").await, "end_turn");
    context.server.open_gate("go");
    client.response(waiting).await.unwrap();
    let of = |id: &str| {
        let updates = client
            .notifications
            .iter()
            .map(|message| &message["params"]);
        let updates = updates.filter(|params| {
            params["sessionId"] == id && params["update"]["sessionUpdate"] == "agent_message_chunk"
        });
        let texts = updates.filter_map(|params| params["update"]["content"]["text"].as_str());
        texts.collect::<String>()
    };
    assert_eq!(
        (of(&one), of(&other)),
        ("first".to_owned(), "second".to_owned())
    );
}

#[tokio::test]
async fn a_fork_continues_the_conversation_in_another_session() {
    let context = TestContext::new([text_reply("base"), text_reply("more")]).await;
    let mut client = AcpClient::start(&context, json!({})).await;
    let session = client.open(&context).await;
    let params = json!({"sessionId": session, "cwd": context.project_dir()});
    let error = client
        .call("session/fork", params.clone())
        .await
        .unwrap_err();
    assert_eq!(error["code"], json!(-32600), "nothing is stored yet");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("has no messages"), "{message}");
    client.ask(&session, "Begin").await;
    let forked = client.call("session/fork", params).await.unwrap();
    let copy = forked["sessionId"].as_str().unwrap().to_owned();
    assert_ne!(copy, session);
    client.ask(&copy, "Go on").await;
    let request = context.server.requests()[1].json().to_string();
    assert!(
        request.contains("Begin") && request.contains("base"),
        "{request}"
    );
}

#[tokio::test]
async fn a_session_without_a_file_cannot_be_forked() {
    let context = TestContext::new([text_reply("base")]).await;
    let mut client = AcpClient::spawn(&context, &["--model", "mock/alpha", "--no-session"]);
    let params = json!({"protocolVersion": 1, "clientCapabilities": {}});
    client.call("initialize", params).await.unwrap();
    let session = client.open(&context).await;
    client.ask(&session, "Begin").await;
    let params = json!({"sessionId": session, "cwd": context.project_dir()});
    let error = client.call("session/fork", params).await.unwrap_err();
    assert_eq!(error["code"], json!(-32600));
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("--no-session"), "{message}");
}

#[tokio::test]
async fn mistakes_of_a_client_are_named() {
    let context = TestContext::new([]).await;
    let mut client = AcpClient::start(&context, json!({})).await;
    let session = client.open(&context).await;
    for (method, params, code) in [
        ("session/unknown", json!({}), -32601),
        ("session/new", json!({"mcpServers": []}), -32602),
        (
            "session/new",
            json!({"cwd": "relative", "mcpServers": []}),
            -32602,
        ),
        (
            "session/prompt",
            json!({"sessionId": "none", "prompt": []}),
            -32002,
        ),
        (
            "session/prompt",
            json!({"sessionId": session, "prompt": []}),
            -32602,
        ),
        (
            "session/prompt",
            json!({"sessionId": session, "prompt": [{"type": "x"}]}),
            -32602,
        ),
        (
            "session/set_mode",
            json!({"sessionId": session, "modeId": "ask"}),
            -32602,
        ),
        (
            "session/load",
            json!({"sessionId": "none", "cwd": "/", "mcpServers": []}),
            -32002,
        ),
        ("session/close", json!({"sessionId": "none"}), -32002),
        ("authenticate", json!({"methodId": "other"}), -32602),
    ] {
        let error = client.call(method, params.clone()).await.unwrap_err();
        assert_eq!(error["code"], json!(code), "{method} {params}: {error}");
    }
    assert_eq!(client.close().await, Some(0));
}

#[tokio::test]
async fn servers_and_directories_of_the_client_belong_to_its_session() {
    let context = TestContext::new([text_reply("ok")]).await;
    let mut client = AcpClient::start(&context, json!({})).await;
    let other = context.home.path().join("other");
    let params = json!({
        "cwd": context.project_dir(),
        "additionalDirectories": [other],
        "mcpServers": [{"name": "tiny", "command": "/no/such/server", "args": [], "env": []}],
    });
    let opened = client.call("session/new", params).await.unwrap();
    let session = opened["sessionId"].as_str().unwrap().to_owned();
    client.ask(&session, "Hello").await;
    let request = context.server.requests()[0].json().to_string();
    assert!(request.contains(&*other.to_string_lossy()), "{request}");
}
