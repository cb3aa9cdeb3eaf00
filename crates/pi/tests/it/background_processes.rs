//! The built-in extension `process`: commands in the background, their reports, `/ps`, and their end.

use std::time::Duration;

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::harness::{TEST_TIMEOUT, TestContext, text_reply, tool_call_reply};
use crate::mcp_packages::processes_with;
use crate::terminal::Terminal;

fn tool_names(request: &Value) -> Vec<String> {
    let tools = request["tools"].as_array().unwrap().iter();
    let names = tools.map(|tool| tool["function"]["name"].as_str().unwrap().to_owned());
    names.collect()
}

#[tokio::test]
async fn the_tool_exists_only_on_request() {
    for (arguments, exists) in [
        (&["-p", "go"][..], false),
        (&["-e", "builtin:process", "-p", "go"], true),
    ] {
        let context = TestContext::new([text_reply("done")]).await;
        context.run(arguments).await;
        let names = tool_names(&context.server.requests()[0].json());
        assert_eq!(names.contains(&"process".to_owned()), exists, "{names:?}");
    }
    let context = TestContext::new([text_reply("done")]).await;
    let settings = json!({"extensions": ["builtin:process"]}).to_string();
    context.home.write("agent/settings.json", settings);
    context.run(&["-p", "go"]).await;
    let names = tool_names(&context.server.requests()[0].json());
    assert!(names.contains(&"process".to_owned()), "{names:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn processes_are_listed_reported_and_end_with_the_session() {
    let start = |name: &str, command: &str, notify: bool| {
        let arguments =
            json!({"action": "start", "name": name, "command": command, "notify": notify});
        tool_call_reply("process", &arguments)
    };
    let replies = [
        start(
            "build",
            "until [ -e stop ]; do sleep 0.05; done; echo broken; exit 3",
            true,
        ),
        start("log", "touch log; tail -f log", true),
        text_reply("Both started."),
        text_reply("The build failed."),
    ];
    let context = TestContext::new(replies).await;
    let terminal = Terminal::start(&context, &["-e", "builtin:process"]);
    terminal.wait("alpha");
    terminal.submit("go");
    terminal.wait("Both started.");
    terminal.submit("/ps");
    terminal.wait("choose one to stop it");
    terminal.wait("tail -f log");
    terminal.send("\x1b");
    terminal.wait_gone("choose one to stop it");

    std::fs::File::create(context.project_dir().join("stop")).unwrap();
    terminal.wait("The build failed.");
    let request = context.server.requests()[3].json().to_string();
    let report = "The process build exited with code 3.\\n\\nbroken";
    assert!(request.contains(report), "{request}");

    let mark = context.home.path().to_str().unwrap();
    assert!(!processes_with(mark).is_empty());
    terminal.quit();
    let ending = async {
        while !processes_with(mark).is_empty() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let ended = tokio::time::timeout(TEST_TIMEOUT, ending).await;
    assert!(ended.is_ok(), "{:?}", processes_with(mark));
}

#[tokio::test(flavor = "multi_thread")]
async fn processes_survive_a_reload_in_the_same_sandbox() {
    let start = |name: &str, command: &str, notify: bool| {
        let arguments =
            json!({"action": "start", "name": name, "command": command, "notify": notify});
        tool_call_reply("process", &arguments)
    };
    let read = json!({"action": "read", "name": "log"});
    let replies = [
        start(
            "log",
            "echo before; until [ -e go ]; do sleep 0.05; done; echo after; tail -f log",
            false,
        ),
        start(
            "build",
            "until [ -e stop ]; do sleep 0.05; done; exit 3",
            true,
        ),
        text_reply("Both started."),
        text_reply("The build failed."),
        tool_call_reply("process", &read),
        text_reply("It was read."),
    ];
    let context = TestContext::new(replies).await;
    std::fs::File::create(context.project_dir().join("log")).unwrap();
    let settings = |extensions: &[&str]| {
        let settings = json!({"extensions": extensions}).to_string();
        context.home.write("agent/settings.json", settings);
    };
    settings(&["builtin:process"]);
    let terminal = Terminal::start(&context, &[]);
    terminal.wait("alpha");
    terminal.submit("go");
    terminal.wait("Both started.");
    terminal.submit("/reload");
    terminal.wait("Reloaded");

    // The reloaded session is notified, and reads the same output.
    std::fs::File::create(context.project_dir().join("go")).unwrap();
    std::fs::File::create(context.project_dir().join("stop")).unwrap();
    terminal.wait("The build failed.");
    terminal.submit("read it");
    terminal.wait("It was read.");
    let request = context.server.requests()[5].json().to_string();
    assert!(request.contains("before\\nafter"), "{request}");
    terminal.submit("/ps");
    terminal.wait("choose one to stop it");
    terminal.wait("log is running");
    terminal.send("\x1b");
    terminal.wait_gone("choose one to stop it");

    // Nothing is left when the reloaded session has no background processes.
    settings(&[]);
    terminal.submit("/reload");
    wait_until_no_process_is_left(&context, "tail -f log").await;
    terminal.quit();
}

async fn wait_until_no_process_is_left(context: &TestContext, command: &str) {
    let mark = context.home.path().to_str().unwrap();
    let left = || {
        let running = processes_with(mark).into_iter();
        let lines =
            running.map(|id| std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default());
        let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
        lines
            .filter(|line| line.contains(command))
            .collect::<Vec<_>>()
    };
    let ending = async {
        while !left().is_empty() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let ended = tokio::time::timeout(TEST_TIMEOUT, ending).await;
    assert!(ended.is_ok(), "{:?}", left());
}
