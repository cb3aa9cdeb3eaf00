//! Sessions that another process runs: both clients see the same session and can change it.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::client::AcpClient;
use crate::harness::{TestContext, finish_reply, partial_reply, text_delta, text_reply};

fn load_params(context: &TestContext, session: &str) -> Value {
    json!({"sessionId": session, "cwd": context.project_dir(), "mcpServers": []})
}

/// Waits until an agent has sent this text in messages.
async fn wait_for_text(client: &mut AcpClient, text: &str) {
    while !client.text("agent_message_chunk").contains(text) {
        assert!(client.receive().await, "the agent has ended");
    }
}

#[tokio::test]
async fn two_editors_share_a_session() {
    let replies = [
        text_reply("First."),
        text_reply("Second."),
        partial_reply("Third").stall(),
        text_reply("Fourth."),
        text_reply("Fifth."),
    ];
    let context = TestContext::new(replies).await;
    let mut owner = AcpClient::start(&context, json!({})).await;
    let session = owner.open(&context).await;
    assert_eq!(owner.ask(&session, "One").await, "end_turn");

    let mut guest = AcpClient::start(&context, json!({"session": {"notices": {}}})).await;
    let params = load_params(&context, &session);
    let loaded = guest.call("session/load", params.clone()).await.unwrap();
    assert!(loaded["configOptions"].is_array(), "{loaded}");
    assert_eq!(guest.text("user_message_chunk"), "One");
    assert_eq!(guest.text("agent_message_chunk"), "First.");

    // A prompt of either is seen by both.
    owner.notifications.clear();
    guest.notifications.clear();
    assert_eq!(guest.ask(&session, "Two").await, "end_turn");
    assert_eq!(guest.text("agent_message_chunk"), "Second.");
    assert_eq!(guest.text("user_message_chunk"), "");
    wait_for_text(&mut owner, "Second.").await;
    assert_eq!(owner.text("user_message_chunk"), "Two");

    // The guest cancels.
    let prompt = guest.prompt(&session, "Three").await;
    wait_for_text(&mut guest, "Third").await;
    wait_for_text(&mut owner, "Third").await;
    guest
        .notify("session/cancel", json!({"sessionId": session}))
        .await;
    let stopped = guest.response(prompt).await.unwrap();
    assert_eq!(stopped["stopReason"], json!("cancelled"));

    // The guest changes the session, but cannot replace what the owner runs.
    let option = json!({"sessionId": session, "configId": "thinking", "value": "high"});
    guest
        .call("session/set_config_option", option)
        .await
        .unwrap();
    let has_high = |message: &Value| {
        let update = &message["params"]["update"];
        update["sessionUpdate"] == "config_option_update" && update.to_string().contains("\"high\"")
    };
    owner.wait_for(has_high).await;
    assert_eq!(guest.ask(&session, "/name Shared").await, "end_turn");
    let is_named =
        |message: &Value| message["params"]["update"]["title"].as_str() == Some("Shared");
    owner.wait_for(is_named).await;
    let prompt = guest.prompt(&session, "/reload").await;
    let error = guest.response(prompt).await.unwrap_err();
    assert_eq!(error["code"], json!(-32600), "{error}");

    // A guest that leaves ends nothing.
    guest
        .call("session/close", json!({"sessionId": session}))
        .await
        .unwrap();
    assert_eq!(owner.ask(&session, "Four").await, "end_turn");
    guest.notifications.clear();
    guest.call("session/resume", params.clone()).await.unwrap();
    assert_eq!(guest.text("agent_message_chunk"), "");

    // When the owner leaves, the guest is notified and can continue.
    assert_eq!(owner.close().await, Some(0));
    let is_notice =
        |message: &Value| message["params"]["update"]["severity"].as_str() == Some("warning");
    guest.wait_for(is_notice).await;
    guest.call("session/load", params).await.unwrap();
    guest.notifications.clear();
    assert_eq!(guest.ask(&session, "Five").await, "end_turn");
    assert_eq!(guest.text("agent_message_chunk"), "Fifth.");
    assert_eq!(context.server.requests().len(), 5);
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_observes_the_session_of_an_editor() {
    let streamed = partial_reply("From the editor,").gate("end");
    let streamed = finish_reply(streamed.chunk(text_delta(" to the end.")), "stop");
    let replies = [text_reply("Ready."), streamed, text_reply("Both saw it.")];
    let context = TestContext::new(replies).await;
    let mut editor = AcpClient::start(&context, json!({})).await;
    let session = editor.open(&context).await;
    editor.ask(&session, "Begin").await;
    let terminal = crate::terminal::Terminal::start(&context, &["attach", &session]);
    terminal.wait("Ready.");
    let prompt = editor.prompt(&session, "Go on").await;
    wait_for_text(&mut editor, "From the editor,").await;
    terminal.wait("From the editor,");
    context.server.open_gate("end");
    editor.response(prompt).await.unwrap();
    terminal.wait("to the end.");
    editor.notifications.clear();
    terminal.submit("typed in the terminal");
    wait_for_text(&mut editor, "Both saw it.").await;
    assert_eq!(editor.text("user_message_chunk"), "typed in the terminal");
    terminal.wait("Both saw it.");
}

#[tokio::test]
async fn a_session_of_another_process_is_not_deleted() {
    let context = TestContext::new([text_reply("First."), text_reply("Second.")]).await;
    let mut owner = AcpClient::start(&context, json!({})).await;
    let session = owner.open(&context).await;
    assert_eq!(owner.ask(&session, "One").await, "end_turn");

    let mut other = AcpClient::start(&context, json!({})).await;
    let params = json!({"sessionId": session});
    let error = other
        .call("session/delete", params.clone())
        .await
        .unwrap_err();
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("a pi process has it open"), "{message}");
    assert_eq!(owner.ask(&session, "Two").await, "end_turn");

    // Its owner may.
    let deleted = owner.call("session/delete", params).await;
    assert_eq!(deleted, Ok(json!({})));
    assert_eq!(owner.close().await, Some(0));
    assert_eq!(other.close().await, Some(0));
}

#[tokio::test]
async fn a_prompt_fails_when_the_process_that_runs_it_is_killed() {
    let replies = [
        text_reply("First."),
        partial_reply("Second").stall(),
        text_reply("Third."),
    ];
    let context = TestContext::new(replies).await;
    let mut owner = AcpClient::start(&context, json!({})).await;
    let session = owner.open(&context).await;
    assert_eq!(owner.ask(&session, "One").await, "end_turn");
    let mut guest = AcpClient::start(&context, json!({})).await;
    let params = load_params(&context, &session);
    guest.call("session/load", params.clone()).await.unwrap();
    let prompt = guest.prompt(&session, "Two").await;
    wait_for_text(&mut guest, "Second").await;
    owner.kill().await;
    let error = guest.response(prompt).await.unwrap_err();
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("load the session again"), "{message}");
    guest.call("session/load", params).await.unwrap();
    assert_eq!(guest.ask(&session, "Three").await, "end_turn");
}

#[tokio::test]
async fn a_session_that_is_loaded_right_after_its_process_ended_continues_here() {
    let context = TestContext::new([text_reply("First."), text_reply("Second.")]).await;
    let mut owner = AcpClient::start(&context, json!({})).await;
    let session = owner.open(&context).await;
    assert_eq!(owner.ask(&session, "One").await, "end_turn");
    let mut guest = AcpClient::start(&context, json!({})).await;
    let params = load_params(&context, &session);
    guest.call("session/load", params.clone()).await.unwrap();
    owner.kill().await;
    guest.call("session/load", params).await.unwrap();
    assert_eq!(guest.ask(&session, "Two").await, "end_turn");
    assert!(guest.text("agent_message_chunk").ends_with("Second."));
}
