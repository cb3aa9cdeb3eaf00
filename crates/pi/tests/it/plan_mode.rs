//! The built-in extension `plan`: the model only reads until the user agrees to its plan.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::harness::{TestContext, text_reply, tool_call_reply};
use crate::terminal::Terminal;

fn tool_names(request: &Value) -> Vec<&str> {
    let tools = request["tools"].as_array().unwrap().iter();
    let names = tools.map(|tool| tool["function"]["name"].as_str().unwrap());
    names.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_is_made_without_changes_and_then_carried_out() {
    let write = || {
        let arguments = json!({"path": "new.txt", "content": "text"});
        tool_call_reply("write", &arguments)
    };
    let replies = [
        write(),
        text_reply("Plan: write new.txt."),
        write(),
        text_reply("Written."),
    ];
    let context = TestContext::new(replies).await;
    let file = context.project_dir().join("new.txt");
    let terminal = Terminal::start(&context, &["-e", "builtin:plan"]);
    terminal.wait("alpha");
    terminal.submit("/plan go");
    terminal.wait("Plan mode is off");
    terminal.submit("/plan Create a file");
    terminal.wait("Plan: write new.txt.");
    terminal.wait("plan mode");
    // The run has ended.
    terminal.wait_gone("to stop");
    assert!(!file.exists());

    terminal.submit("/plan go but quickly");
    terminal.wait("Written.");
    terminal.wait_gone("plan mode");
    assert!(file.exists());
    terminal.quit();

    let requests: Vec<Value> = context
        .server
        .requests()
        .iter()
        .map(pi_test_support::RecordedRequest::json)
        .collect();
    let planned = &requests[1];
    assert_eq!(tool_names(planned), ["read", "grep", "find", "ls"]);
    assert!(
        planned.to_string().contains("Plan mode is on."),
        "{planned}"
    );
    let carried_out = &requests[2];
    assert!(tool_names(carried_out).contains(&"write"), "{carried_out}");
    let prompt = "Carry out the plan. but quickly";
    assert!(carried_out.to_string().contains(prompt), "{carried_out}");

    let records = context.session_records();
    let labels: Vec<&Value> = records
        .iter()
        .filter(|record| record["type"] == "label")
        .collect();
    assert_eq!(labels.len(), 1, "{records:#?}");
    assert_eq!(labels[0]["label"], "plan");
    let labeled = records.iter().find(|it| it["id"] == labels[0]["targetId"]);
    let text = labeled.unwrap()["message"].to_string();
    assert!(text.contains("Plan: write new.txt."), "{text}");
}
