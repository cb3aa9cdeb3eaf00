//! Work over ACP leaves the same session file as over RPC, except for IDs and times.

use pi_protocol::ThinkingLevel;
use pi_rpc::{RpcClient, RpcClientOptions};
use pi_test_support::ScriptedReply;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::client::AcpClient;
use crate::harness::{
    TEST_TIMEOUT, TestContext, bash_reply, pi_binary, text_reply, tool_call_reply, tool_calls_reply,
};

enum Step {
    Prompt(&'static str),
    Thinking(ThinkingLevel),
}

use Step::{Prompt, Thinking};

/// Name, replies of the model, and what the client does.
type Scenario = (&'static str, fn() -> Vec<ScriptedReply>, &'static [Step]);

const SCENARIOS: [Scenario; 6] = [
    ("text", || vec![text_reply("Hello")], &[Prompt("Hi")]),
    (
        "two turns",
        || vec![text_reply("One"), text_reply("Two")],
        &[Prompt("First"), Prompt("Second\nline")],
    ),
    (
        "files",
        || {
            let edits = json!([{"oldText": "two", "newText": "2"}]);
            vec![
                tool_call_reply("write", &json!({"path": "a.txt", "content": "one\ntwo\n"})),
                tool_call_reply("edit", &json!({"path": "a.txt", "edits": edits})),
                tool_call_reply("read", &json!({"path": "a.txt"})),
                text_reply("Done"),
            ]
        },
        &[Prompt("Work")],
    ),
    (
        "failures",
        || {
            vec![
                bash_reply("exit 3"),
                tool_call_reply("read", &json!({"path": "missing.txt"})),
                tool_call_reply("no_such_tool", &json!({})),
                text_reply("Sorry"),
            ]
        },
        &[Prompt("Try")],
    ),
    (
        "parallel calls",
        || {
            let (one, two) = (json!({"command": "echo 1"}), json!({"path": "."}));
            vec![
                tool_calls_reply(&[("bash", &one), ("ls", &two)]),
                text_reply("Both"),
            ]
        },
        &[Prompt("Both")],
    ),
    (
        "thinking level",
        || vec![text_reply("One"), text_reply("Two")],
        &[
            Prompt("First"),
            Thinking(ThinkingLevel::High),
            Prompt("Second"),
        ],
    ),
];

async fn over_rpc(context: &TestContext, steps: &[Step]) {
    let mut options = RpcClientOptions::new(pi_binary());
    options.model = Some("mock/alpha".to_owned());
    options.cwd = Some(context.project_dir());
    let environment = context.environment().into_iter();
    options.environment = environment
        .map(|(name, value)| (name.into(), value.into()))
        .collect();
    let client = RpcClient::start(&options).unwrap();
    for step in steps {
        match step {
            Prompt(text) => {
                let prompting = client.prompt_and_wait(*text, Vec::new(), TEST_TIMEOUT);
                prompting.await.unwrap();
            }
            Thinking(level) => {
                let models = client.models();
                models.set_thinking_level(*level).await.unwrap();
            }
        }
    }
    client.stop().await.unwrap();
}

async fn over_acp(context: &TestContext, steps: &[Step]) {
    let mut client = AcpClient::spawn(context, &["--model", "mock/alpha"]);
    let params = json!({"protocolVersion": 1, "clientCapabilities": {}});
    client.call("initialize", params).await.unwrap();
    let session = client.open(context).await;
    for step in steps {
        match step {
            Prompt(text) => assert_eq!(client.ask(&session, text).await, "end_turn"),
            Thinking(level) => {
                let params =
                    json!({"sessionId": session, "configId": "thinking", "value": level.as_str()});
                let setting = client.call("session/set_config_option", params);
                setting.await.unwrap();
            }
        }
    }
    client
        .call("session/close", json!({"sessionId": session}))
        .await
        .unwrap();
}

/// Returns the entries of the only session, without IDs, times and paths of the test.
fn stored_entries(context: &TestContext) -> Vec<Value> {
    let home = context.home.path();
    let text = std::fs::read_to_string(context.session_file()).unwrap();
    let text = text.replace(home.to_str().unwrap(), "HOME");
    let mut ids = Vec::new();
    let records = text.lines().map(|line| {
        let mut record: Value = serde_json::from_str(line).unwrap();
        normalize(&mut record, &mut ids);
        record
    });
    records.collect()
}

/// Replaces IDs by their order, and removes times.
fn normalize(value: &mut Value, ids: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for name in ["timestamp", "durationMs"] {
                fields.remove(name);
            }
            for (name, value) in fields.iter_mut() {
                match value {
                    Value::String(id) if name == "id" || name == "parentId" => {
                        let known = ids.iter().position(|it| it == id);
                        let at = known.unwrap_or_else(|| {
                            ids.push(id.clone());
                            ids.len() - 1
                        });
                        *value = json!(format!("ID {at}"));
                    }
                    other => normalize(other, ids),
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| normalize(value, ids)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[tokio::test]
async fn sessions_over_acp_and_rpc_are_stored_alike() {
    for (name, replies, steps) in SCENARIOS {
        let rpc = TestContext::new(replies()).await;
        over_rpc(&rpc, steps).await;
        let acp = TestContext::new(replies()).await;
        over_acp(&acp, steps).await;
        let expected = stored_entries(&rpc);
        assert!(expected.len() > 4, "{name}: {expected:?}");
        assert_eq!(stored_entries(&acp), expected, "{name}");
    }
}
