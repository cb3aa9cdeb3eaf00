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

/// A client that never answers: other sessions work, and the agent ends with its client.
#[tokio::test]
async fn an_unanswered_question_stops_nothing_else() {
    let replies = vec![bash_reply("echo no"), text_reply("other")];
    let context = context_with_extension(replies).await;
    let mut client = AcpClient::start(&context, json!({})).await;
    let session = client.open(&context).await;
    client.prompt(&session, "Run").await;
    client.question().await;
    let second = client.open(&context).await;
    assert_eq!(client.ask(&second, "Hello").await, "end_turn");
    assert_eq!(client.close().await, Some(0));
    assert_eq!(context.server.requests().len(), 2);
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

#[tokio::test]
async fn the_decision_about_a_project_is_changed_by_a_command() {
    let context = TestContext::new([]).await;
    context
        .home
        .write("project/.pi/prompts/local.md", "Local prompt");
    let mut client = AcpClient::start(&context, json!({})).await;
    let session = client.open(&context).await;
    let prompt = client.prompt(&session, "/trust").await;
    let question = client.question().await;
    let title = question["params"]["toolCall"]["title"].as_str().unwrap();
    assert_eq!(
        title,
        "No saved decision for this directory. Project files are ignored in this session."
    );
    let options = question["params"]["options"].as_array().unwrap();
    let wanted = options
        .iter()
        .find(|option| option["name"] == "Trust this directory");
    let id = &wanted.unwrap()["optionId"];
    let selected = json!({"outcome": {"outcome": "selected", "optionId": id}});
    client.answer(&question, selected).await;
    client.response(prompt).await.unwrap();
    assert!(client.text("agent_message_chunk").contains("Use /reload"));
    client.ask(&session, "/reload").await;
    client
        .wait_for(|message| {
            message["params"]["update"]
                .to_string()
                .contains("\"local\"")
        })
        .await;
    // A closed dialog changes nothing.
    let prompt = client.prompt(&session, "/trust").await;
    let question = client.question().await;
    let title = question["params"]["toolCall"]["title"].as_str().unwrap();
    assert!(
        title.contains("is trusted. Project files are used"),
        "{title}"
    );
    let canceled = json!({"outcome": {"outcome": "cancelled"}});
    client.answer(&question, canceled).await;
    client.response(prompt).await.unwrap();
    assert!(client.text("agent_message_chunk").contains("Canceled."));
}

/// A provider with a sign-in that asks for a code and a region.
const PROVIDER: &str = r#"export default (pi) => pi.registerProvider("corp", {
  name: "Corp", baseUrl: "http://127.0.0.1:9", api: "openai-completions",
  models: [{ id: "m", name: "M", reasoning: false, input: ["text"], cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }, contextWindow: 1000, maxTokens: 100 }],
  oauth: {
    name: "Corporate",
    async login(callbacks) {
      callbacks.onAuth({ url: "https://corp.example/login" });
      const typed = await callbacks.onPrompt({ message: "Code?" });
      const region = await callbacks.onSelect({ message: "Where?", options: [{ id: "e", label: "Europe" }, { id: "a", label: "Asia" }] });
      return { access: typed + region, refresh: "r", expires: Date.now() + 1e9 };
    },
    refreshToken: async (credentials) => credentials,
    getApiKey: (credentials) => credentials.access,
  },
});"#;

#[tokio::test]
async fn a_command_signs_in() {
    let context = TestContext::new([]).await;
    context.home.write("agent/extensions/corp.js", PROVIDER);
    let mut client = AcpClient::start(&context, json!({"elicitation": {"form": {}}})).await;
    let session = client.open(&context).await;
    client.ask(&session, "/login").await;
    let listed = client.text("agent_message_chunk");
    assert!(listed.contains("- `corp`: Corporate"), "{listed}");
    let prompt = client.prompt(&session, "/login nowhere").await;
    let error = client.response(prompt).await.unwrap_err();
    assert!(
        error["message"].as_str().unwrap().contains("nowhere"),
        "{error}"
    );
    let prompt = client.prompt(&session, "/login corp").await;
    for (message, value) in [("Code?", "xyz"), ("Where?", "Asia")] {
        let question = client.question().await;
        assert_eq!(question["params"]["message"], message);
        let answer = json!({"action": "accept", "content": {"value": value}});
        client.answer(&question, answer).await;
    }
    client.response(prompt).await.unwrap();
    let text = client.text("agent_message_chunk");
    assert!(text.contains("<https://corp.example/login>"), "{text}");
    assert!(text.contains("Signed in to corp."), "{text}");
    let stored = context.home.path().join("agent/auth.json");
    let stored = std::fs::read_to_string(stored).unwrap();
    assert!(stored.contains("xyza"), "{stored}");
    // The models of the provider can be selected.
    let options = client.wait_for_update("config_option_update").await;
    assert!(options.to_string().contains("corp/m"), "{options}");
}
