//! Permission rules: denied and approved calls in every mode, and `pi permissions`.

use pi_protocol::{Answer, Command, RequestId};
use pi_rpc::{RpcClient, RpcClientOptions};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::harness::{
    TEST_TIMEOUT, TestContext, bash_reply, pi_binary, text_reply, tool_call_reply,
};
use crate::terminal::Terminal;

fn write_rules(context: &TestContext, permissions: &Value) {
    let settings = json!({ "permissions": permissions });
    context
        .home
        .write("agent/settings.json", settings.to_string());
}

/// The results that the model received in its last request.
fn results(context: &TestContext) -> String {
    let requests = context.server.requests();
    let body = requests.last().unwrap().json();
    let messages = body["messages"].as_array().unwrap();
    let results = messages.iter().filter(|message| message["role"] == "tool");
    let texts = results.map(|message| message["content"].to_string());
    texts.collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn denied_calls_do_not_run_and_the_model_learns_why() {
    let write = json!({"path": "secret.env", "content": "x"});
    let context = TestContext::new([
        bash_reply("touch allowed && touch denied.txt"),
        tool_call_reply("write", &write),
        bash_reply("make release"),
        text_reply("done"),
    ])
    .await;
    let rules = json!({
        "deny": ["bash(touch denied*)", "write(**/*.env)"],
        "ask": ["bash(make *)"],
    });
    write_rules(&context, &rules);
    let run = context.run(&["-p", "go"]).await;
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "done\n"));
    let results = results(&context);
    for expected in [
        "Denied by the permission settings: the rule bash(touch denied*).",
        "Denied by the permission settings: the rule write(**/*.env).",
        "require approval (the rule bash(make *)), and there is no user to ask",
    ] {
        assert!(results.contains(expected), "{results}");
    }
    for file in ["allowed", "denied.txt", "secret.env"] {
        assert!(!context.project_dir().join(file).exists(), "{file}");
    }
}

#[tokio::test]
async fn a_call_approved_for_the_session_is_asked_about_once() {
    let context = TestContext::new([
        bash_reply("echo one >> log"),
        bash_reply("echo one >> log"),
        bash_reply("echo two >> log"),
        text_reply("done"),
    ])
    .await;
    write_rules(&context, &json!({"allow": ["bash(ls *)"]}));
    let mut options = RpcClientOptions::new(pi_binary());
    options.arguments = vec!["--model".into(), "mock/alpha".into()];
    options.cwd = Some(context.project_dir());
    let environment = context.environment().into_iter();
    options.environment = environment
        .map(|(name, value)| (name.into(), value.into()))
        .collect();
    let client = RpcClient::start(&options).unwrap();
    let (asked, mut requests) = tokio::sync::mpsc::unbounded_channel();
    let _subscription = client.subscribe(move |event| {
        if event.kind() == "approval_requested" {
            asked.send(event.json()["request"].clone()).unwrap();
        }
    });
    let idle = client.wait_for_idle(TEST_TIMEOUT);
    client.prompt("go", Vec::new()).await.unwrap();
    for (command, answer) in [
        ("echo one >> log", Answer::AllowForSession),
        (
            "echo two >> log",
            Answer::Deny {
                reason: Some("enough".to_owned()),
            },
        ),
    ] {
        let request = tokio::time::timeout(TEST_TIMEOUT, requests.recv()).await;
        let request = request.expect("a request").unwrap();
        assert_eq!(request["args"]["command"], command);
        assert_eq!(
            request["reason"],
            "Approval is required: no allow rule matches."
        );
        let id = RequestId(request["id"].as_str().unwrap().to_owned());
        let command = Command::Answer {
            request: id,
            answer,
        };
        client.request(&command).await.unwrap();
    }
    idle.await.unwrap();
    let log = std::fs::read_to_string(context.project_dir().join("log")).unwrap();
    assert_eq!(log, "one\none\n");
    assert!(results(&context).contains("enough"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_terminal_shows_the_command_and_its_hidden_characters() {
    let context = TestContext::new([bash_reply("touch made\u{202e}x"), text_reply("done")]).await;
    write_rules(&context, &json!({"ask": ["bash(touch *)"]}));
    let terminal = Terminal::start(&context, &[]);
    terminal.wait("alpha");
    terminal.submit("go");
    terminal.wait("Allow bash?");
    terminal.wait("the rule bash(touch *)");
    terminal.wait_until("the hidden character", |screen| {
        screen.contains("touch made") && !screen.contains('\u{202e}')
    });
    // Keys typed before the question appeared do not answer it.
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    terminal.send("\x1b[B");
    terminal.wait("→ Allow once");
    // Faster keys are those of a paste.
    tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    terminal.send("\r");
    terminal.wait("done");
    assert!(context.project_dir().join("made\u{202e}x").exists());
    terminal.quit();
}

#[tokio::test]
async fn rules_are_listed_and_tested() {
    let context = TestContext::new([]).await;
    let none = context.run(&["permissions"]).await;
    assert!(none.stdout.starts_with("No permission rules"), "{none:?}");
    let rules = json!({
        "deny": ["bash(git push --force *)", "write(/etc/**)"],
        "ask": [{"rule": "bash(git push *)", "matches": ["git push x"]}],
        "allow": ["bash(git *)"],
    });
    write_rules(&context, &rules);
    let list = context.run(&["permissions"]).await;
    assert_eq!(
        list.stdout,
        "deny  bash(git push --force *)\ndeny  write(/etc/**)\nask   bash(git push *)\nallow bash(git *)\n"
    );
    for (arguments, code, line) in [
        (vec!["git status"], 0, "allow: the rule bash(git *)"),
        (vec!["git push"], 1, "ask: the rule bash(git push *)"),
        (
            vec!["git push --force x"],
            3,
            "deny: the rule bash(git push --force *)",
        ),
        (vec!["make"], 1, "ask: no allow rule matches"),
        (
            vec!["--tool", "edit", "/etc/x"],
            3,
            "deny: the rule write(/etc/**)",
        ),
        (vec!["--tool", "codemode"], 0, "allow: no rule applies"),
    ] {
        let arguments: Vec<&str> = ["permissions", "test"]
            .into_iter()
            .chain(arguments)
            .collect();
        let test = context.run(&arguments).await;
        assert_eq!(
            (test.code, test.stdout.trim_end()),
            (Some(code), line),
            "{arguments:?}"
        );
    }
    let unquoted = context.run(&["permissions", "test", "git", "push"]).await;
    assert_eq!(unquoted.code, Some(2));
    assert!(unquoted.stderr.contains("in quotes"), "{unquoted:?}");
}

#[tokio::test]
async fn a_session_with_an_invalid_rule_does_not_start() {
    let context = TestContext::new([text_reply("done")]).await;
    write_rules(&context, &json!({"deny": ["bash(rm *"]}));
    let run = context.run(&["-p", "go"]).await;
    assert_eq!(run.code, Some(1));
    assert!(
        run.stderr.contains("the rule bash(rm * in the setting `permissions` is not valid: the closing parenthesis is missing"),
        "{run:?}"
    );
    assert!(context.server.requests().is_empty());
}

#[tokio::test]
async fn a_project_can_only_restrict() {
    let context = TestContext::new([]).await;
    write_rules(&context, &json!({"ask": ["bash(git *)"]}));
    let project = json!({"permissions": {"deny": ["bash(rm *)"], "allow": ["bash(git *)"]}});
    context
        .home
        .write("project/.pi/settings.json", project.to_string());
    let decide = async |command: &str| {
        let test = context.run(&["permissions", "test", command]).await;
        test.stdout
    };
    assert_eq!(decide("rm x").await, "allow: no rule applies\n");
    let directory = context.project_dir();
    let trust = json!({ directory.to_str().unwrap(): true });
    context.home.write("agent/trust.json", trust.to_string());
    assert_eq!(decide("rm x").await, "deny: the rule bash(rm *)\n");
    assert_eq!(decide("git log").await, "ask: the rule bash(git *)\n");
    assert_eq!(decide("ls").await, "allow: no rule applies\n");
}

#[tokio::test]
async fn rules_of_the_environment_are_tested_and_listed() {
    let context = TestContext::new([]).await;
    let rules = r#"{"permissions": {"deny": ["bash(echo *)"]}}"#;
    for (arguments, expected) in [
        (&["permissions", "test", "echo x"][..], "deny: "),
        (&["permissions"], "deny  bash(echo *)"),
    ] {
        let mut command = context.command(arguments);
        let output = command.env("PI_SETTINGS", rules).output().await.unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.starts_with(expected), "{text}");
    }
}
