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

#[tokio::test]
async fn flags_that_name_nothing_are_reported() {
    for (flags, expected) in [
        (["--tools", "reed,bsh"], "no tool is named reed or bsh"),
        (["--exclude-tools", "writ"], "did you mean write?"),
        (
            ["--skill", "/nonexist"],
            "--skill: /nonexist does not exist",
        ),
        (["--theme", "nonexist"], "--theme: nonexist does not exist"),
        (
            ["--prompt-template", "~/nonexist"],
            "--prompt-template: ~/nonexist does not exist",
        ),
    ] {
        for mode in ["text", "json"] {
            let context = TestContext::new([text_reply("Done.")]).await;
            let [flag, value] = flags;
            let output = context
                .run(&["--mode", mode, flag, value, "-p", "go"])
                .await;
            assert_eq!(output.code, Some(0), "{}", output.stderr);
            assert!(output.stderr.contains(expected), "{}", output.stderr);
            assert!(!output.stdout.contains(expected));
        }
    }
    let context = TestContext::new([text_reply("Done.")]).await;
    let flags = ["--tools", "read,bogus", "--exclude-tools", "ls", "-p", "go"];
    let output = context.run(&flags).await;
    assert_eq!(output.stderr, "");
    let output = context
        .run(&["--mcp-config", "/nonexist", "-p", "go"])
        .await;
    assert_eq!(output.code, Some(1));
    assert!(output.stderr.contains("/nonexist"), "{}", output.stderr);
}

#[tokio::test]
async fn parallel_runs_with_one_new_id_share_one_session() {
    const RUNS: usize = 5;
    let context = TestContext::new((0..RUNS).map(|_| text_reply("ok"))).await;
    let prompts: Vec<String> = (0..RUNS).map(|run| format!("prompt {run}")).collect();
    let runs = prompts.iter().map(|prompt| async {
        let arguments = [
            "--model",
            "mock/alpha",
            "--session-id",
            "job-1",
            "-p",
            prompt,
        ];
        context.run(&arguments).await
    });
    let runs = futures_util::future::join_all(runs).await;
    let finished = runs.iter().filter(|run| run.code == Some(0)).count();
    assert!(finished > 0, "{runs:?}");
    for run in runs.iter().filter(|run| run.code != Some(0)) {
        assert!(
            run.stderr.contains("session ID `job-1` is already used")
                || run
                    .stderr
                    .contains("another pi process has this session open"),
            "{run:?}"
        );
    }
    let records = context.session_records();
    assert_eq!(records[0]["id"], "job-1");
    let stored = records
        .iter()
        .filter(|record| record["message"]["role"] == "user");
    assert_eq!(stored.count(), finished);
}
