//! Questions to the user: dialogs of extensions, and trust.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::client::AcpClient;
use crate::harness::{TestContext, bash_reply, text_reply, tool_call_reply};

const ASKING: &str = r#"
export default function (pi) {
  pi.registerCommand("ask", {
    description: "Asks",
    handler: async (args, ctx) => {
      const answers = [
        await ctx.ui.select("Pick", ["a", "b"]),
        await ctx.ui.confirm("Sure", "Really?"),
        await ctx.ui.input("Name", "type here"),
      ];
      ctx.ui.notify("answers " + JSON.stringify(answers), "info");
    },
  });
  pi.on("tool_call", async (event, ctx) => {
    if (event.toolName !== "bash") return;
    const ok = await ctx.ui.confirm("Run " + event.input.command, "");
    if (!ok) return { block: true, reason: "not allowed" };
  });
}
"#;

async fn context_with_extension(replies: Vec<pi_test_support::ScriptedReply>) -> TestContext {
    let context = TestContext::new(replies).await;
    context.home.write("agent/extensions/asking.js", ASKING);
    context
}

#[tokio::test]
async fn dialogs_are_forms_where_the_client_has_forms() {
    let context = context_with_extension(Vec::new()).await;
    let capabilities = json!({"elicitation": {"form": {}}, "session": {"notices": {}}});
    let mut client = AcpClient::start(&context, capabilities).await;
    let session = client.open(&context).await;
    let prompt = client.prompt(&session, "/ask").await;
    let question = client.question().await;
    assert_eq!(question["method"], json!("elicitation/create"));
    let property = &question["params"]["requestedSchema"]["properties"]["value"];
    assert_eq!(property["oneOf"][1], json!({"const": "b", "title": "b"}));
    client
        .answer(
            &question,
            json!({"action": "accept", "content": {"value": "b"}}),
        )
        .await;
    let question = client.question().await;
    assert_eq!(question["params"]["message"], json!("Sure\n\nReally?"));
    client.answer(&question, json!({"action": "decline"})).await;
    let question = client.question().await;
    client
        .answer(
            &question,
            json!({"action": "accept", "content": {"value": "x"}}),
        )
        .await;
    client.response(prompt).await.unwrap();
    let notice = client.wait_for_update("notice").await;
    assert_eq!(notice["title"], json!("answers [\"b\",false,\"x\"]"));
}

#[tokio::test]
async fn dialogs_are_permission_requests_without_forms() {
    let context = context_with_extension(Vec::new()).await;
    let mut client = AcpClient::start(&context, json!({})).await;
    let session = client.open(&context).await;
    let prompt = client.prompt(&session, "/ask").await;
    let selected = |id: &str| json!({"outcome": {"outcome": "selected", "optionId": id}});
    let question = client.question().await;
    assert_eq!(question["method"], json!("session/request_permission"));
    assert_eq!(question["params"]["toolCall"]["title"], json!("Pick"));
    client.answer(&question, selected("1")).await;
    let question = client.question().await;
    client.answer(&question, selected("allow")).await;
    // A text cannot be asked for, which is reported.
    client.response(prompt).await.unwrap();
    let text = client.text("agent_message_chunk");
    assert!(text.contains("answers [\"b\",true,null]"), "{text}");
}

#[tokio::test]
async fn a_canceled_turn_withdraws_its_question() {
    let replies = vec![
        bash_reply("echo no"),
        bash_reply("echo yes"),
        text_reply("ok"),
    ];
    let context = context_with_extension(replies).await;
    let mut client = AcpClient::start(&context, json!({})).await;
    let session = client.open(&context).await;
    let prompt = client.prompt(&session, "Run").await;
    let question = client.question().await;
    assert_eq!(
        question["params"]["toolCall"]["title"],
        json!("Run echo no")
    );
    // The client never answers.
    client
        .notify("session/cancel", json!({"sessionId": session}))
        .await;
    let stopped = client.response(prompt).await.unwrap();
    assert_eq!(stopped["stopReason"], json!("cancelled"));
    let id = question["id"].clone();
    let is_withdrawn = move |message: &Value| {
        message["method"] == "$/cancel_request" && message["params"]["requestId"] == id
    };
    client.wait_for(is_withdrawn).await;
    let prompt = client.prompt(&session, "Again").await;
    let question = client.question().await;
    let allowed = json!({"outcome": {"outcome": "selected", "optionId": "allow"}});
    client.answer(&question, allowed).await;
    client.response(prompt).await.unwrap();
    assert!(
        context.server.requests()[2]
            .json()
            .to_string()
            .contains("yes")
    );
}

#[tokio::test]
async fn the_user_decides_about_a_project() {
    let context = TestContext::new([]).await;
    context
        .home
        .write("project/.pi/prompts/local.md", "Local prompt");
    let has_prompt = |client: &AcpClient| {
        let updates = client.updates("available_commands_update");
        updates
            .iter()
            .any(|update| update.to_string().contains("\"local\""))
    };
    let mut silent = AcpClient::start(&context, json!({"session": {"notices": {}}})).await;
    silent.open(&context).await;
    let notice = silent.wait_for_update("notice").await;
    assert!(
        notice["title"].as_str().unwrap().contains("not trusted"),
        "{notice}"
    );
    assert!(!has_prompt(&silent));

    let mut client = AcpClient::start(&context, json!({"elicitation": {"form": {}}})).await;
    let params = json!({"cwd": context.project_dir(), "mcpServers": []});
    let opening = client.request("session/new", params).await;
    let question = client.question().await;
    assert_eq!(question["params"]["requestId"], json!(opening));
    client
        .answer(
            &question,
            json!({"action": "accept", "content": {"value": "Trust this directory"}}),
        )
        .await;
    client.response(opening).await.unwrap();
    client.wait_for_update("available_commands_update").await;
    assert!(has_prompt(&client));
}

#[tokio::test]
async fn unsaved_text_of_the_editor_is_read() {
    let read = |path: &str| tool_call_reply("read", &json!({ "path": path }));
    let replies = [read("a.txt"), read("b.txt"), text_reply("ok")];
    let context = TestContext::new(replies).await;
    context.home.write("project/a.txt", "saved");
    context.home.write("project/b.txt", "on disk");
    let mut client = AcpClient::start(&context, json!({"fs": {"readTextFile": true}})).await;
    let session = client.open(&context).await;
    let prompt = client.prompt(&session, "Read").await;
    let question = client.question().await;
    assert_eq!(question["method"], json!("fs/read_text_file"));
    let path = context.project_dir().join("a.txt");
    assert_eq!(question["params"]["path"], json!(path));
    client
        .answer(&question, json!({"content": "unsaved"}))
        .await;
    // A client without the file: the one on disk is used.
    let question = client.question().await;
    let error = json!({"code": -32002, "message": "not found"});
    let id = &question["id"];
    client
        .send(&json!({"jsonrpc": "2.0", "id": id, "error": error}))
        .await;
    client.response(prompt).await.unwrap();
    let request = context.server.requests()[2].json().to_string();
    assert!(
        request.contains("unsaved") && request.contains("on disk"),
        "{request}"
    );
    assert!(!request.contains("\"saved"), "{request}");
}
