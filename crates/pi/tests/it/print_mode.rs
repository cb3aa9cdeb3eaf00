//! Print mode: the answer on stdout, everything else on stderr.

use pi_test_support::ScriptedReply;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::harness::{TestContext, bash_reply, text_reply};

fn last_user_text(body: &Value) -> String {
    let messages = body["messages"].as_array().unwrap();
    let user = messages
        .iter()
        .rev()
        .find(|message| message["role"] == "user")
        .unwrap();
    match &user["content"] {
        Value::String(text) => text.clone(),
        blocks => blocks[0]["text"].as_str().unwrap().to_owned(),
    }
}

#[tokio::test]
async fn stdout_contains_only_the_answer() {
    let context = TestContext::new([text_reply("Hello there")]).await;
    let run = context.run(&["--model", "mock/alpha", "-p", "hi"]).await;
    assert_eq!(
        (run.code, run.stdout.as_str(), run.stderr.as_str()),
        (Some(0), "Hello there\n", "")
    );
    let body = context.server.requests()[0].json();
    assert_eq!(body["model"], "alpha");
    assert_eq!(last_user_text(&body), "hi");
}

#[tokio::test]
async fn every_message_is_a_prompt_and_the_last_answer_is_printed() {
    let context = TestContext::new([text_reply("one"), text_reply("two")]).await;
    let run = context
        .run(&["--model", "mock/alpha", "-p", "a", "b"])
        .await;
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (Some(0), "two\n"),
        "{run:?}"
    );
    let second = context.server.requests()[1].json();
    let messages: Vec<_> = second["messages"]
        .as_array()
        .unwrap()
        .iter()
        .skip(1)
        .collect();
    assert_eq!(messages.len(), 3, "prompt, answer, prompt");
}

#[tokio::test]
async fn stdin_files_and_message_form_one_prompt() {
    let context = TestContext::new([text_reply("ok")]).await;
    context.home.write("project/a.txt", "alpha\n");
    let arguments = ["--model", "mock/alpha", "-p", "@a.txt", "summarize"];
    let run = context.run_with_input(&arguments, "  piped\n").await;
    assert_eq!(run.code, Some(0), "{run:?}");
    let text = last_user_text(&context.server.requests()[0].json());
    assert!(text.starts_with("piped<file"), "{text}");
    assert!(text.contains("alpha"), "{text}");
    assert!(text.ends_with("summarize"), "{text}");
}

#[tokio::test]
async fn an_empty_prompt_is_not_an_error() {
    let context = TestContext::new([]).await;
    let run = context.run(&["--model", "mock/alpha", "-p"]).await;
    assert_eq!(
        (run.code, run.stdout.as_str(), run.stderr.as_str()),
        (Some(0), "", "")
    );
    assert!(context.server.requests().is_empty());
}

#[tokio::test]
async fn a_failed_request_is_reported_on_stderr() {
    let body = json!({"error": {"message": "bad field", "type": "invalid_request_error"}});
    let rejection = ScriptedReply::full(
        400,
        &[("content-type", "application/json")],
        body.to_string(),
    );
    let context = TestContext::new([rejection]).await;
    let run = context.run(&["--model", "mock/alpha", "-p", "hi"]).await;
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""));
    assert!(run.stderr.contains("bad field"), "{}", run.stderr);
}

#[tokio::test]
async fn tools_run_in_the_project_directory() {
    let context = TestContext::new([bash_reply("pwd > cwd.txt"), text_reply("done")]).await;
    let run = context
        .run(&["--model", "mock/alpha", "-p", "where?"])
        .await;
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (Some(0), "done\n"),
        "{run:?}"
    );
    let cwd = context.home.read("project/cwd.txt");
    assert_eq!(
        std::fs::canonicalize(cwd.trim()).unwrap(),
        std::fs::canonicalize(context.project_dir()).unwrap()
    );
}

#[tokio::test]
async fn without_a_model_the_error_suggests_next_steps() {
    let context = TestContext::new([]).await;
    context
        .home
        .write("agent/models.json", "{\"providers\": {}}");
    let run = context.run(&["-p", "hi"]).await;
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""));
    assert!(run.stderr.contains("--demo"), "{}", run.stderr);
}

#[tokio::test]
async fn no_extension_starts_if_one_fails_to_load() {
    let context = TestContext::new([text_reply("never")]).await;
    let recorder = r#"
        import { writeFileSync } from "node:fs";
        export default (pi) => {
            for (const event of ["session_start", "session_shutdown"]) pi.on(event, () => writeFileSync(event, ""));
        };
    "#;
    context.home.write("agent/extensions/a.js", recorder);
    context
        .home
        .write("agent/extensions/b.js", "throw new Error('load failed');");
    let run = context.run(&["-p", "--model", "mock/alpha", "hello"]).await;
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("load failed"), "{}", run.stderr);
    for event in ["session_start", "session_shutdown"] {
        assert!(
            !context.project_dir().join(event).exists(),
            "{event} was emitted"
        );
    }
}
