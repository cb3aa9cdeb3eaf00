//! Print mode: the answer on standard output, everything else on standard error.

use pi_test_support::ScriptedReply;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::process::{World, answer, shell_call};

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
async fn the_answer_is_all_there_is_on_standard_output() {
    let world = World::new([answer("Hello there")]).await;
    let run = world.run(&["--model", "mock/alpha", "-p", "hi"]).await;
    assert_eq!(
        (run.code, run.stdout.as_str(), run.stderr.as_str()),
        (Some(0), "Hello there\n", "")
    );
    let body = world.server.requests()[0].json();
    assert_eq!(body["model"], "alpha");
    assert_eq!(last_user_text(&body), "hi");
}

#[tokio::test]
async fn every_message_is_a_prompt_and_the_last_answer_is_printed() {
    let world = World::new([answer("one"), answer("two")]).await;
    let run = world.run(&["--model", "mock/alpha", "-p", "a", "b"]).await;
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (Some(0), "two\n"),
        "{run:?}"
    );
    let second = world.server.requests()[1].json();
    let said: Vec<_> = second["messages"]
        .as_array()
        .unwrap()
        .iter()
        .skip(1)
        .collect();
    assert_eq!(said.len(), 3, "question, answer, question");
}

#[tokio::test]
async fn pipe_files_and_message_are_one_prompt() {
    let world = World::new([answer("ok")]).await;
    world.home.write("project/a.txt", "alpha\n");
    let arguments = ["--model", "mock/alpha", "-p", "@a.txt", "say"];
    let run = world.run_with_input(&arguments, "  piped\n").await;
    assert_eq!(run.code, Some(0), "{run:?}");
    let text = last_user_text(&world.server.requests()[0].json());
    assert!(text.starts_with("piped<file"), "{text}");
    assert!(text.contains("alpha"), "{text}");
    assert!(text.ends_with("say"), "{text}");
}

#[tokio::test]
async fn nothing_to_say_is_no_error() {
    let world = World::new([]).await;
    let run = world.run(&["--model", "mock/alpha", "-p"]).await;
    assert_eq!(
        (run.code, run.stdout.as_str(), run.stderr.as_str()),
        (Some(0), "", "")
    );
    assert!(world.server.requests().is_empty());
}

#[tokio::test]
async fn a_failed_request_is_told_on_standard_error() {
    let body = json!({"error": {"message": "bad field", "type": "invalid_request_error"}});
    let refusal = ScriptedReply::full(
        400,
        &[("content-type", "application/json")],
        body.to_string(),
    );
    let world = World::new([refusal]).await;
    let run = world.run(&["--model", "mock/alpha", "-p", "hi"]).await;
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""));
    assert!(run.stderr.contains("bad field"), "{}", run.stderr);
}

#[tokio::test]
async fn tools_run_in_the_project() {
    let world = World::new([shell_call("pwd > where.txt"), answer("done")]).await;
    let run = world.run(&["--model", "mock/alpha", "-p", "where?"]).await;
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (Some(0), "done\n"),
        "{run:?}"
    );
    let place = world.home.read("project/where.txt");
    assert_eq!(
        std::fs::canonicalize(place.trim()).unwrap(),
        std::fs::canonicalize(world.project()).unwrap()
    );
}

#[tokio::test]
async fn without_any_model_the_user_learns_how_to_get_one() {
    let world = World::new([]).await;
    world.home.write("agent/models.json", "{\"providers\": {}}");
    let run = world.run(&["-p", "hi"]).await;
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""));
    assert!(run.stderr.contains("--demo"), "{}", run.stderr);
}

#[tokio::test]
async fn where_one_extension_cannot_be_loaded_the_others_do_not_begin() {
    let world = World::new([answer("never")]).await;
    let witness = r#"
        import { writeFileSync } from "node:fs";
        export default (pi) => {
            for (const event of ["session_start", "session_shutdown"]) pi.on(event, () => writeFileSync(event, ""));
        };
    "#;
    world.home.write("agent/extensions/a.js", witness);
    world
        .home
        .write("agent/extensions/b.js", "throw new Error('out of order');");
    let run = world.run(&["-p", "--model", "mock/alpha", "hello"]).await;
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("out of order"), "{}", run.stderr);
    for event in ["session_start", "session_shutdown"] {
        assert!(!world.project().join(event).exists(), "{event} was told");
    }
}
