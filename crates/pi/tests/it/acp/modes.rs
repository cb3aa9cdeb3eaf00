//! The option `mode`: the sandbox and plan mode in an editor.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::client::AcpClient;
use crate::harness::{TestContext, bash_reply, text_reply, tool_call_reply};

/// Returns the current mode and the modes on offer.
fn modes(opened: &Value) -> (String, Vec<String>) {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let options = opened["configOptions"].as_array().unwrap();
    let mode = options.iter().find(|option| option["id"] == "mode");
    let mode = mode.expect("the option `mode`");
    assert_eq!(mode["category"], "mode");
    let values = mode["options"].as_array().unwrap().iter();
    let values = values.map(|value| text(&value["value"])).collect();
    (text(&mode["currentValue"]), values)
}

fn selection(session: &str, mode: &str) -> Value {
    json!({"sessionId": session, "configId": "mode", "value": mode})
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_mode_confines_the_session_and_its_copies() {
    let write = || tool_call_reply("write", &json!({"path": "new.txt", "content": "text"}));
    let context = TestContext::new([
        bash_reply("echo text > by-bash.txt"),
        write(),
        text_reply("Could not."),
        write(),
        text_reply("Could not either."),
        write(),
        text_reply("Written."),
    ])
    .await;
    let (file, by_bash) = (
        context.project_dir().join("new.txt"),
        context.project_dir().join("by-bash.txt"),
    );
    let mut client = AcpClient::start(&context, json!({})).await;
    let params = json!({"cwd": context.project_dir(), "mcpServers": []});
    let opened = client.call("session/new", params.clone()).await.unwrap();
    let session = opened["sessionId"].as_str().unwrap().to_owned();
    assert_eq!(modes(&opened).0, "off");
    let set = "session/set_config_option";
    let changed = client.call(set, selection(&session, "read-only")).await;
    let changed = match changed {
        Ok(changed) => changed,
        // A system without a sandbox: the session stays as it is.
        Err(error) => {
            assert_eq!(error["code"], json!(-32600), "{error}");
            return;
        }
    };
    assert_eq!(modes(&changed).0, "read-only");
    assert_eq!(client.ask(&session, "write").await, "end_turn");
    assert!(!file.exists() && !by_bash.exists());

    let mut fork = params;
    fork["sessionId"] = json!(session);
    let copy = client.call("session/fork", fork).await.unwrap();
    assert_eq!(modes(&copy).0, "read-only");
    let copy = copy["sessionId"].as_str().unwrap().to_owned();
    assert_eq!(client.ask(&copy, "write").await, "end_turn");
    assert!(!file.exists());

    let changed = client.call(set, selection(&session, "off")).await.unwrap();
    assert_eq!(modes(&changed).0, "off");
    assert_eq!(client.ask(&session, "write").await, "end_turn");
    assert!(file.exists());
}

#[tokio::test]
async fn the_mode_of_the_settings_is_the_least() {
    let context = TestContext::new([]).await;
    let mut client = AcpClient::spawn(&context, &["--sandbox", "read-only"]);
    let params = json!({"protocolVersion": 1, "clientCapabilities": {}});
    client.call("initialize", params).await.unwrap();
    let params = json!({"cwd": context.project_dir(), "mcpServers": []});
    // A system without a sandbox opens no session.
    let Ok(opened) = client.call("session/new", params).await else {
        return;
    };
    let options = opened["configOptions"].to_string();
    assert!(!options.contains(r#""id":"mode""#), "{options}");
    let session = opened["sessionId"].as_str().unwrap();
    let set = "session/set_config_option";
    let refused = client.call(set, selection(session, "off")).await;
    assert_eq!(refused.unwrap_err()["data"]["field"], "value");
}

#[tokio::test]
async fn plan_mode_is_a_mode() {
    let write = || tool_call_reply("write", &json!({"path": "new.txt", "content": "text"}));
    let replies = [
        write(),
        text_reply("The plan."),
        write(),
        text_reply("Written."),
    ];
    let context = TestContext::new(replies).await;
    let file = context.project_dir().join("new.txt");
    let mut client = AcpClient::spawn(&context, &["-e", "builtin:plan"]);
    let params = json!({"protocolVersion": 1, "clientCapabilities": {}});
    client.call("initialize", params).await.unwrap();
    let params = json!({"cwd": context.project_dir(), "mcpServers": []});
    let opened = client.call("session/new", params).await.unwrap();
    let session = opened["sessionId"].as_str().unwrap().to_owned();
    let (current, offered) = modes(&opened);
    assert_eq!(
        (current.as_str(), offered.contains(&"plan".to_owned())),
        ("off", true)
    );
    let set = "session/set_config_option";
    let changed = client.call(set, selection(&session, "plan")).await.unwrap();
    assert_eq!(modes(&changed).0, "plan");
    assert_eq!(client.ask(&session, "plan it").await, "end_turn");
    assert!(!file.exists());
    // A command of the user is shown by the option, too.
    let changed = client.call(set, selection(&session, "off")).await.unwrap();
    assert_eq!(modes(&changed).0, "off");
    assert_eq!(client.ask(&session, "now write").await, "end_turn");
    assert!(file.exists());
    assert_eq!(client.ask(&session, "/plan").await, "end_turn");
    loop {
        let update = client.wait_for_update("config_option_update").await;
        if modes(&update).0 == "plan" {
            break;
        }
    }
}
