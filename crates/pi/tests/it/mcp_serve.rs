//! `pi mcp serve`: tools, prompts, and questions to the user of the client.
#![cfg(unix)]

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::harness::{TEST_TIMEOUT, TestContext, bash_reply, text_reply, tool_call_reply};
use crate::mcp::Client;

/// Returns the body of a request of the model.
fn request(context: &TestContext, index: usize) -> String {
    let requests = context.server.requests();
    String::from_utf8_lossy(&requests[index].body).into_owned()
}

/// Configures pi itself as an MCP server.
fn serve_pi(context: &TestContext) {
    let entry = json!({
        "command": crate::harness::pi_binary().to_string_lossy(),
        "args": ["mcp", "serve"],
        "exposure": "direct",
    });
    let config = json!({"mcpServers": {"agent": entry}});
    context.home.write("agent/mcp.json", config.to_string());
}

#[tokio::test]
async fn pi_is_a_server_whose_sessions_are_continued() {
    let outer =
        |tool: &str, arguments: Value| tool_call_reply(&format!("mcp__agent__{tool}"), &arguments);
    let replies = [
        outer(
            "pi",
            json!({"prompt": "write a file", "model": "mock/alpha", "tools": ["write"]}),
        ),
        tool_call_reply("write", &json!({"path": "made.txt", "content": "x"})),
        text_reply("The file exists."),
        text_reply("Done."),
    ];
    let context = TestContext::new(replies).await;
    serve_pi(&context);
    let run = context.run(&["--model", "mock/alpha", "-p", "go"]).await;
    assert_eq!((run.code, run.stdout.trim()), (Some(0), "Done."), "{run:?}");
    assert!(context.project_dir().join("made.txt").exists());
    let inner = request(&context, 1);
    assert!(inner.contains("write a file"), "{inner}");
    assert!(!inner.contains("mcp__agent__pi"), "{inner}");
    let last = request(&context, 3);
    assert!(last.contains("The file exists."), "{last}");
}

/// A client of `pi mcp serve` that writes and reads lines.
struct LineClient {
    child: tokio::process::Child,
    input: tokio::process::ChildStdin,
    output: tokio::io::Lines<tokio::io::BufReader<tokio::process::ChildStdout>>,
}

impl LineClient {
    fn start(context: &TestContext) -> Self {
        Self::start_with(context, &[])
    }

    fn start_with(context: &TestContext, flags: &[&str]) -> Self {
        let mut command = context.command(&[&["mcp", "serve"], flags].concat());
        let mut child = command.stdin(std::process::Stdio::piped()).spawn().unwrap();
        let output = tokio::io::BufReader::new(child.stdout.take().unwrap());
        Self {
            input: child.stdin.take().unwrap(),
            output: tokio::io::AsyncBufReadExt::lines(output),
            child,
        }
    }

    async fn write(&mut self, line: &str) {
        use tokio::io::AsyncWriteExt as _;
        self.input.write_all(line.as_bytes()).await.unwrap();
        self.input.write_all(b"\n").await.unwrap();
    }

    async fn read(&mut self) -> Value {
        let line = tokio::time::timeout(TEST_TIMEOUT, self.output.next_line());
        let line = line.await.unwrap().unwrap().expect("pi ended");
        serde_json::from_str(&line).unwrap()
    }

    /// Reads until a message has this ID; returns it and the messages before it.
    async fn read_answer(&mut self, id: u64) -> (Value, Vec<Value>) {
        let mut before = Vec::new();
        loop {
            let message = self.read().await;
            if message["id"] == id && message["method"].is_null() {
                return (message, before);
            }
            before.push(message);
        }
    }

    async fn send(&mut self, id: u64, method: &str, params: Value) {
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.write(&message.to_string()).await;
    }

    async fn request(&mut self, id: u64, method: &str, params: Value) -> (Value, Vec<Value>) {
        self.send(id, method, params).await;
        self.read_answer(id).await
    }

    /// Reads until the server asks something.
    async fn question(&mut self) -> Value {
        loop {
            let message = self.read().await;
            if message["method"] == "elicitation/create" {
                return message;
            }
        }
    }

    async fn answer(&mut self, question: &Value, result: Value) {
        let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": result});
        self.write(&answer.to_string()).await;
    }

    /// Disconnects; the server must end.
    async fn end(self) {
        let Self {
            mut child, input, ..
        } = self;
        drop(input);
        let ended = tokio::time::timeout(TEST_TIMEOUT, child.wait()).await;
        assert_eq!(ended.unwrap().unwrap().code(), Some(0));
    }

    async fn call(&mut self, id: u64, tool: &str, arguments: Value) -> Value {
        let params = json!({"name": tool, "arguments": arguments, "_meta": {"progressToken": "p"}});
        let (answer, before) = self.request(id, "tools/call", params).await;
        assert!(
            before
                .iter()
                .all(|it| it["method"] == "notifications/progress"),
            "{before:?}"
        );
        answer["result"].clone()
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn sessions_are_confined_on_request() {
    let write = bash_reply("echo in > by-bash.txt; echo out > ../by-bash.txt");
    let context = TestContext::new([write, text_reply("Done.")]).await;
    let mut client = LineClient::start_with(&context, &["--sandbox", "--no-network"]);
    let version = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    client.request(1, "initialize", version).await;
    let arguments = json!({"prompt": "write", "model": "mock/alpha"});
    let result = client.call(2, "pi", arguments).await;
    client.end().await;
    if result.to_string().contains("user namespaces") {
        return;
    }
    assert_eq!(result["structuredContent"]["text"], "Done.", "{result}");
    assert!(context.project_dir().join("by-bash.txt").exists());
    assert!(!context.home.path().join("by-bash.txt").exists());
}

#[tokio::test]
async fn other_flags_are_refused() {
    let context = TestContext::new([]).await;
    for arguments in [
        &["mcp", "serve", "--model", "x"][..],
        &["mcp", "serve", "--sandbox=strict"],
    ] {
        let run = context.run(arguments).await;
        assert_eq!(run.code, Some(1), "{run:?}");
        assert!(run.stderr.contains("sandbox"), "{run:?}");
    }
}

#[tokio::test]
async fn a_client_uses_the_tools_of_the_server() {
    let replies = [
        tool_call_reply("write", &json!({"path": "made.txt", "content": "x"})),
        text_reply("First."),
        text_reply("Second."),
    ];
    let context = TestContext::new(replies).await;
    let mut client = LineClient::start(&context);
    let version = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let (answer, _) = client.request(1, "initialize", version).await;
    assert_eq!(answer["result"]["protocolVersion"], "2025-06-18");
    client
        .write(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
        .await;
    let (answer, _) = client.request(2, "tools/list", json!({})).await;
    let tools = answer["result"]["tools"].as_array().unwrap().clone();
    let names: Vec<_> = tools.iter().map(|tool| tool["name"].clone()).collect();
    assert_eq!(names, ["pi", "pi-reply", "pi-sessions", "pi-read"]);

    let arguments = json!({"prompt": "hello", "model": "mock/alpha"});
    let result = client.call(3, "pi", arguments).await;
    let structured = &result["structuredContent"];
    assert_eq!(structured["text"], "First.", "{result}");
    assert_eq!(structured["changedFiles"], json!(["made.txt"]));
    let id = structured["sessionId"].clone();
    let arguments = json!({"sessionId": id, "prompt": "more"});
    let result = client.call(4, "pi-reply", arguments).await;
    assert_eq!(result["structuredContent"]["text"], "Second.", "{result}");
    assert_eq!(result["structuredContent"]["sessionId"], id);
    let result = client.call(5, "pi-sessions", json!({})).await;
    assert_eq!(result["structuredContent"]["sessions"][0]["sessionId"], id);
    let result = client.call(6, "pi-read", json!({ "sessionId": id })).await;
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("Second."), "{text}");
    let uri = format!("pi://session/{}", id.as_str().unwrap());
    let (answer, _) = client
        .request(7, "resources/read", json!({ "uri": uri }))
        .await;
    assert_eq!(answer["result"]["contents"][0]["text"], text);

    // What is wrong is reported, and the server continues.
    let result = client
        .call(8, "pi", json!({"prompt": "x", "cwd": "nowhere"}))
        .await;
    assert_eq!(result["isError"], true, "{result}");
    for (id, method, params, code) in [
        (9, "tools/call", json!({"name": "other"}), -32602),
        (
            10,
            "tools/call",
            json!({"name": "pi", "arguments": {}}),
            -32602,
        ),
        (
            11,
            "resources/read",
            json!({"uri": "file:///etc/passwd"}),
            -32002,
        ),
        (12, "server/unknown", json!({}), -32601),
        (
            13,
            "tools/list",
            json!({"_meta": {"io.modelcontextprotocol/protocolVersion": "2030-01-01"}}),
            -32022,
        ),
    ] {
        let (answer, _) = client.request(id, method, params).await;
        assert_eq!(answer["error"]["code"], code, "{answer}");
    }
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28"});
    let (answer, _) = client
        .request(14, "server/discover", json!({"_meta": meta.clone()}))
        .await;
    assert_eq!(answer["result"]["supportedVersions"], json!(["2026-07-28"]));
    let (answer, _) = client
        .request(15, "tools/list", json!({ "_meta": meta }))
        .await;
    assert_eq!(answer["result"]["resultType"], "complete");
    assert_eq!(answer["result"]["tools"].as_array().unwrap().len(), 4);
    client.write("nonsense").await;
    assert_eq!(client.read().await["error"]["code"], -32700);
    client.end().await;
}

#[tokio::test]
async fn a_canceled_call_of_the_server_interrupts_the_agent() {
    let replies = [
        crate::harness::partial_reply("thinking").stall(),
        text_reply("Later."),
    ];
    let context = TestContext::new(replies).await;
    let mut client = LineClient::start(&context);
    let version = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    client.request(1, "initialize", version).await;
    let arguments = json!({"prompt": "hello", "model": "mock/alpha"});
    let params = json!({"name": "pi", "arguments": arguments});
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params});
    client.write(&call.to_string()).await;
    context.server.wait_for_request(0).await;
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2, "reason": "enough"}});
    client.write(&cancel.to_string()).await;
    // The model is no longer waited for, the canceled call gets no answer, and the server continues.
    let disconnected = context.server.wait_for_disconnect(0);
    let timeout = TEST_TIMEOUT;
    tokio::time::timeout(timeout, disconnected).await.unwrap();
    let result = client.call(3, "pi", arguments).await;
    assert_eq!(result["structuredContent"]["text"], "Later.", "{result}");
    let (answer, before) = client.request(4, "ping", json!({})).await;
    assert_eq!(answer["result"], json!({}));
    assert!(before.iter().all(|it| it["id"] != 2), "{before:?}");
    client.end().await;
}

/// Parameters of a request without a handshake.
fn modern(mut params: Value, capabilities: &Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    });
    params
}

fn initialize(capabilities: &Value) -> Value {
    json!({"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": {"name": "t", "version": "1"}})
}

fn call_pi(prompt: &str) -> Value {
    json!({"name": "pi", "arguments": {"prompt": prompt, "model": "mock/alpha"}})
}

/// A template of the user, one of an untrusted project, and an MCP server with a prompt.
async fn context_with_templates() -> TestContext {
    let context = TestContext::new([]).await;
    let review = "---\ndescription: Review a file\nargument-hint: <file> [focus]\n---\nReview $1 for ${2:-bugs}.";
    context.home.write("agent/prompts/review.md", review);
    context.home.write("agent/prompts/plain.md", "Say $@ now");
    context
        .home
        .write("project/.pi/prompts/hidden.md", "secret");
    serve_pi(&context);
    context
}

#[tokio::test]
async fn templates_are_prompts_in_both_lifecycles() {
    let context = context_with_templates().await;
    let mut client = LineClient::start(&context);
    let (answer, _) = client
        .request(1, "initialize", initialize(&json!({})))
        .await;
    assert_eq!(answer["result"]["capabilities"]["prompts"], json!({}));
    let discover = modern(json!({}), &json!({}));
    let (answer, _) = client.request(2, "server/discover", discover).await;
    assert_eq!(answer["result"]["capabilities"]["prompts"], json!({}));
    let expected = json!([
        {"name": "plain", "description": "Say $@ now", "arguments": [{"name": "arguments", "required": false}]},
        {"name": "review", "description": "Review a file", "arguments": [
            {"name": "file", "required": true},
            {"name": "focus", "required": false},
        ]},
    ]);
    let get = |name: &str, arguments: Value| json!({"name": name, "arguments": arguments});
    for (id, is_modern) in [(10, false), (20, true)] {
        let params = |params: Value| {
            if is_modern {
                modern(params, &json!({}))
            } else {
                params
            }
        };
        let (answer, _) = client.request(id, "prompts/list", params(json!({}))).await;
        let mut prompts = answer["result"]["prompts"].as_array().unwrap().clone();
        prompts.sort_by_key(|prompt| prompt["name"].to_string());
        assert_eq!(json!(prompts), expected);
        let wanted = params(get("review", json!({"file": "a b.rs"})));
        let (answer, _) = client.request(id + 1, "prompts/get", wanted).await;
        assert_eq!(
            answer["result"]["messages"],
            json!([{"role": "user", "content": {"type": "text", "text": "Review a b.rs for bugs."}}])
        );
        let is_complete = answer["result"]["resultType"] == "complete";
        assert_eq!(is_complete, is_modern, "{answer}");
        let wanted = params(json!({"name": "plain"}));
        let (answer, _) = client.request(id + 2, "prompts/get", wanted).await;
        let text = &answer["result"]["messages"][0]["content"]["text"];
        assert_eq!(text, "Say  now");
    }
    for (id, params, message) in [
        (30, json!({}), "name must be a string"),
        (31, json!({"name": "hidden"}), "name is unknown: hidden"),
        (32, json!({"name": "review"}), "file is required"),
        (
            33,
            get("review", json!({"file": 7})),
            "file must be a string",
        ),
        (
            34,
            get("plain", json!({"x": "y"})),
            "x is not an argument of this prompt",
        ),
        (35, get("plain", json!([])), "arguments must be an object"),
    ] {
        let (answer, _) = client.request(id, "prompts/get", params).await;
        let error = &answer["error"];
        assert_eq!(
            (&error["code"], &error["message"]),
            (&json!(-32602), &json!(message))
        );
    }
    client.end().await;
}

/// Asks in every way before a command runs, and reports the answers as its output.
const ASKING: &str = r#"
export default function (pi) {
  pi.on("tool_call", async (event, ctx) => {
    if (event.toolName !== "bash") return;
    if (event.input.command === "quick") {
      const answer = await ctx.ui.confirm("Quick?", "", { timeout: 1 });
      return { block: true, reason: "answer " + answer };
    }
    const answers = [
      await ctx.ui.select("Pick", ["a", "b"]),
      await ctx.ui.confirm("Sure", "Really?"),
      await ctx.ui.input("Name", "type here"),
      await ctx.ui.editor("Text", "old"),
    ];
    return { block: true, reason: "answers " + JSON.stringify(answers) };
  });
}
"#;

fn accept(value: &Value) -> Value {
    json!({"action": "accept", "content": {"value": value}})
}

#[tokio::test]
async fn the_user_of_a_client_answers_dialogs() {
    let replies = [bash_reply("slow"), text_reply("Done.")];
    let context = TestContext::new(replies).await;
    context.home.write("agent/extensions/asking.js", ASKING);
    let mut client = LineClient::start(&context);
    let capabilities = json!({"elicitation": {}});
    client
        .request(1, "initialize", initialize(&capabilities))
        .await;
    client.send(7, "tools/call", call_pi("go")).await;
    let schema =
        |question: &Value| question["params"]["requestedSchema"]["properties"]["value"].clone();
    let question = client.question().await;
    assert_eq!(question["params"]["message"], "Pick");
    assert_eq!(schema(&question)["enum"], json!(["a", "b"]));
    // A response to something else answers nothing.
    for id in [json!(99), json!("1"), json!(null)] {
        let stray = json!({"jsonrpc": "2.0", "id": id, "result": accept(&json!("a"))});
        client.write(&stray.to_string()).await;
    }
    client.answer(&question, accept(&json!("b"))).await;
    let question = client.question().await;
    assert_eq!(question["params"]["message"], "Sure\n\nReally?");
    assert_eq!(schema(&question)["type"], "boolean");
    client.answer(&question, json!({"action": "decline"})).await;
    let question = client.question().await;
    assert_eq!(schema(&question)["description"], "type here");
    client.answer(&question, json!({"action": "cancel"})).await;
    let question = client.question().await;
    assert_eq!(schema(&question)["default"], "old");
    client.answer(&question, accept(&json!("new\ntext"))).await;
    let (answer, _) = client.read_answer(7).await;
    assert_eq!(answer["result"]["structuredContent"]["text"], "Done.");
    let body = context.server.requests()[1].json();
    let result = body["messages"].as_array().unwrap().last().unwrap().clone();
    // An input that is closed has no value.
    let expected = r#"answers ["b",false,null,"new\ntext"]"#;
    assert_eq!(result["content"], expected, "{result}");
    client.end().await;
}

#[tokio::test]
async fn a_question_that_is_no_longer_asked_is_withdrawn() {
    let replies = [
        bash_reply("quick"),
        text_reply("Done."),
        bash_reply("slow"),
        text_reply("Later."),
    ];
    let context = TestContext::new(replies).await;
    context.home.write("agent/extensions/asking.js", ASKING);
    let mut client = LineClient::start(&context);
    let capabilities = json!({"elicitation": {"form": {}}});
    client
        .request(1, "initialize", initialize(&capabilities))
        .await;
    client.send(2, "tools/call", call_pi("go")).await;
    let (answer, before) = client.read_answer(2).await;
    assert_eq!(answer["result"]["structuredContent"]["text"], "Done.");
    // The dialog may end before it is shown.
    for asked in before
        .iter()
        .filter(|it| it["method"] == "elicitation/create")
    {
        let withdrawn = before
            .iter()
            .find(|it| it["method"] == "notifications/cancelled");
        assert_eq!(withdrawn.unwrap()["params"]["requestId"], asked["id"]);
    }
    // A client that does not answer can cancel.
    client.send(3, "tools/call", call_pi("go")).await;
    let question = client.question().await;
    let cancel =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 3}});
    client.write(&cancel.to_string()).await;
    let withdrawn = client.read().await;
    assert_eq!(withdrawn["method"], "notifications/cancelled");
    assert_eq!(withdrawn["params"]["requestId"], question["id"]);
    let (answer, _) = client.request(4, "ping", json!({})).await;
    assert_eq!(answer["result"], json!({}));
    let arguments = json!({"prompt": "again", "model": "mock/alpha"});
    let result = client.call(5, "pi", arguments).await;
    assert_eq!(result["structuredContent"]["text"], "Later.", "{result}");
    client.end().await;
}

fn context_rules(context: &TestContext) {
    let settings = json!({"permissions": {"ask": ["write"]}});
    context
        .home
        .write("agent/settings.json", settings.to_string());
}

fn write_reply() -> pi_test_support::ScriptedReply {
    tool_call_reply("write", &json!({"path": "made.txt", "content": "x"}))
}

#[tokio::test]
async fn without_forms_nothing_is_asked() {
    let replies = [
        write_reply(),
        bash_reply("slow"),
        text_reply("Done."),
        write_reply(),
        text_reply("Done."),
    ];
    let context = TestContext::new(replies).await;
    context_rules(&context);
    context.home.write("agent/extensions/asking.js", ASKING);
    let mut client = LineClient::start(&context);
    client
        .request(
            1,
            "initialize",
            initialize(&json!({"elicitation": {"url": {}}})),
        )
        .await;
    let arguments = json!({"prompt": "go", "model": "mock/alpha"});
    let result = client.call(2, "pi", arguments).await;
    assert_eq!(result["structuredContent"]["text"], "Done.", "{result}");
    let body = request(&context, 2);
    assert!(body.contains("there is no user to ask"), "{body}");
    assert!(body.contains("answers [null,false,null,null]"), "{body}");
    let params = modern(call_pi("go"), &json!({}));
    let (answer, _) = client.request(3, "tools/call", params).await;
    assert_eq!(answer["result"]["resultType"], "complete", "{answer}");
    assert!(!context.project_dir().join("made.txt").exists());
    client.end().await;
}

#[tokio::test]
async fn a_call_without_a_handshake_is_sent_again_with_the_answers() {
    let replies = [
        write_reply(),
        text_reply("Done."),
        write_reply(),
        crate::harness::partial_reply("more").stall(),
    ];
    let context = TestContext::new(replies).await;
    context_rules(&context);
    let mut client = LineClient::start(&context);
    let capabilities = json!({"elicitation": {"form": {}}});
    let params = modern(call_pi("go"), &capabilities);
    let (asked, _) = client.request(1, "tools/call", params.clone()).await;
    let asked = &asked["result"];
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let questions = asked["inputRequests"].as_object().unwrap();
    let (key, question) = questions.iter().next().unwrap();
    assert_eq!(question["method"], "elicitation/create");
    let message = question["params"]["message"].as_str().unwrap();
    assert!(message.starts_with("Allow write?"), "{message}");
    let mut retried = params.clone();
    retried["requestState"] = asked["requestState"].clone();
    // Without the answer, the question stays open.
    let (again, _) = client.request(2, "tools/call", retried.clone()).await;
    assert_eq!(again["result"]["inputRequests"], asked["inputRequests"]);
    let (unknown, _) = client.request(3, "tools/call", retried.clone()).await;
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
    retried["requestState"] = again["result"]["requestState"].clone();
    retried["inputResponses"] = json!({ key: accept(&json!("Allow")) });
    retried["_meta"]["progressToken"] = json!("p");
    let (answer, before) = client.request(4, "tools/call", retried).await;
    assert_eq!(answer["result"]["resultType"], "complete", "{answer}");
    assert_eq!(answer["result"]["structuredContent"]["text"], "Done.");
    assert!(
        before
            .iter()
            .all(|it| it["method"] == "notifications/progress"),
        "{before:?}"
    );
    assert!(context.project_dir().join("made.txt").exists());
    // A call that waits for its user ends with the client.
    let (asked, _) = client.request(5, "tools/call", params).await;
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    client.end().await;
}

/// Uses pi as a server of another pi, whose user is asked whether a file may be written.
async fn ask_through_pi(context: &TestContext, entry: Value) {
    let config = json!({"mcpServers": {"agent": entry}});
    context.home.write("agent/mcp.json", config.to_string());
    context_rules(context);
    let mut client = Client::start(context);
    client
        .request(json!({"type": "hello", "elicitation": true}))
        .await;
    client
        .send(json!({"type": "prompt", "message": "go"}))
        .await;
    let is_dialog = |it: &Value| it["type"] == "extension_ui_request" && it["title"].is_string();
    for (expected, choice) in [("asks: Allow write?", "Answer"), ("value", "Allow")] {
        let dialog = client.read_until(is_dialog).await;
        let title = dialog["title"].as_str().unwrap();
        assert!(title.contains(expected), "{title}");
        let answer = json!({"type": "extension_ui_response", "id": dialog["id"], "value": choice});
        client.send(answer).await;
    }
    client.read_until(|it| it["type"] == "agent_settled").await;
    let last = request(context, 3);
    assert!(last.contains("The file exists."), "{last}");
    assert!(context.project_dir().join("made.txt").exists());
}

fn nested_replies() -> [pi_test_support::ScriptedReply; 4] {
    let arguments = json!({"prompt": "write a file", "model": "mock/alpha", "tools": ["write"]});
    [
        tool_call_reply("mcp__agent__pi", &arguments),
        write_reply(),
        text_reply("The file exists."),
        text_reply("Done."),
    ]
}

#[tokio::test]
async fn questions_pass_through_a_child_process_in_both_lifecycles() {
    for protocol in ["legacy", "2026-07-28"] {
        let context = TestContext::new(nested_replies()).await;
        let entry = json!({
            "command": crate::harness::pi_binary().to_string_lossy(),
            "args": ["mcp", "serve"],
            "exposure": "direct",
            "protocol": protocol,
        });
        ask_through_pi(&context, entry).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn questions_pass_through_http_in_both_lifecycles() {
    for protocol in ["legacy", "2026-07-28"] {
        let context = TestContext::new(nested_replies()).await;
        let served = crate::web_ui::serve(&context).await;
        let url = format!("http://{}/mcp", crate::serve::address(&served));
        let token = crate::serve::token(&context);
        let entry = json!({
            "url": url,
            "headers": {"Authorization": format!("Bearer {token}")},
            "exposure": "direct",
            "protocol": protocol,
        });
        ask_through_pi(&context, entry).await;
    }
}
