//! The log file: which session, turn, request and tool a line belongs to, and filters by them.

use crate::harness::{PiOutput, TEST_TIMEOUT, TestContext, bash_reply, text_reply};

/// Prompts a session with a log file and returns the lines logged so far.
async fn logged_run(context: &TestContext, session: &str, filter: &str) -> Vec<String> {
    let log = context.home.path().join("pi.log");
    let arguments = ["--model", "mock/alpha", "--session-id", session, "-p", "hi"];
    let mut command = context.command(&arguments);
    command.env("PI_LOG", &log).env("PI_LOG_LEVEL", filter);
    let output = tokio::time::timeout(TEST_TIMEOUT, command.output()).await;
    let output = PiOutput::new(output.expect("pi timed out").unwrap());
    assert_eq!(output.code, Some(0), "{output:?}");
    let log = std::fs::read_to_string(log).unwrap();
    log.lines().map(str::to_owned).collect()
}

fn find<'a>(lines: &'a [String], event: &str) -> &'a str {
    lines
        .iter()
        .find(|line| line.ends_with(event))
        .unwrap_or_else(|| panic!("no {event:?} in {lines:#?}"))
}

#[tokio::test]
async fn lines_name_the_session_turn_request_and_tool() {
    let context = TestContext::new([bash_reply("echo hi"), text_reply("done")]).await;
    let lines = logged_run(&context, "first-session", "debug").await;
    let turn = find(&lines, "turn started");
    assert!(
        turn.contains(" session{id=first-session}:turn{id=1}: "),
        "{turn}"
    );
    let request = find(&lines, "request started");
    let span = "turn{id=1}:request{id=1 provider=mock model=alpha}: ";
    assert!(request.contains(span), "{request}");
    let tool = find(&lines, "tool started");
    assert!(
        tool.contains("session{id=first-session}:turn{id=1}:tool{id=call_1 name=bash}: "),
        "{tool}"
    );
    assert!(
        lines
            .iter()
            .any(|line| line.contains("turn{id=2}:request{id=2 "))
    );
}

#[tokio::test]
async fn a_filter_selects_one_session() {
    let context = TestContext::new([text_reply("one"), text_reply("two")]).await;
    let filter = "[session{id=first-session}]=debug";
    let first = logged_run(&context, "first-session", filter).await;
    find(&first, "request started");
    let both = logged_run(&context, "second-session", filter).await;
    assert_eq!(both, first, "only the first session is logged");
}

#[tokio::test]
async fn levels_apply_per_crate() {
    let context = TestContext::new([text_reply("one")]).await;
    let lines = logged_run(&context, "first-session", "error,pi_core=debug").await;
    find(&lines, "turn started");
    assert!(
        !lines.iter().any(|line| line.ends_with("request started")),
        "{lines:#?}"
    );
}

#[tokio::test]
async fn an_invalid_filter_is_reported() {
    let context = TestContext::new([text_reply("one")]).await;
    let mut command = context.command(&["--model", "mock/alpha", "-p", "hi"]);
    command
        .env("PI_LOG", context.home.path().join("pi.log"))
        .env("PI_LOG_LEVEL", "pi_core=loud");
    let output = tokio::time::timeout(TEST_TIMEOUT, command.output()).await;
    let output = PiOutput::new(output.expect("pi timed out").unwrap());
    assert_eq!(output.code, Some(0), "{output:?}");
    assert!(
        output.stderr.contains("PI_LOG_LEVEL is ignored"),
        "{output:?}"
    );
}
