//! Long, resumed and replaced sessions in interactive mode.

use std::fmt::Write as _;
use std::time::Instant;

use serde_json::json;

use crate::harness::{TestContext, text_reply};
use crate::terminal::Terminal;

/// Writes a session with this number of messages and returns its ID.
fn write_long_session(context: &TestContext, entries: usize) -> String {
    let id = "0199a000-0000-7000-8000-000000000001".to_owned();
    let cwd = context.project_dir();
    let mut text = json!({
        "type": "session", "version": 3, "id": id, "timestamp": "2026-01-02T10:00:00.000Z", "cwd": cwd,
    })
    .to_string();
    text.push('\n');
    let mut parent = serde_json::Value::Null;
    for number in 0..entries {
        let entry = format!("{number:08x}");
        let message = if number % 2 == 0 {
            json!({"role": "user", "content": format!("question {number}"), "timestamp": 0})
        } else {
            json!({
                "role": "assistant", "content": [{"type": "text", "text": format!("reply {number}")}],
                "api": "openai-completions", "provider": "mock", "model": "alpha", "stopReason": "stop",
                "usage": {"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 2,
                          "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}},
                "timestamp": 0,
            })
        };
        let line = json!({
            "type": "message", "id": entry, "parentId": parent,
            "timestamp": "2026-01-02T10:01:00.000Z", "message": message,
        });
        writeln!(text, "{line}").unwrap();
        parent = json!(entry);
    }
    context.home.write(&format!("long-{id}.jsonl"), text);
    id
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_with_ten_thousand_entries_opens_quickly() {
    let context = TestContext::new([text_reply("The next reply.")]).await;
    let id = write_long_session(&context, 10_000);
    let file = context.home.path().join(format!("long-{id}.jsonl"));
    let start = Instant::now();
    let terminal = Terminal::start(&context, &["--session", file.to_str().unwrap()]);
    terminal.wait("reply 9999");
    let elapsed = start.elapsed();
    assert!(elapsed.as_secs() < 10, "{elapsed:?}");
    terminal.submit("continue");
    terminal.wait("The next reply.");
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn new_clears_the_screen_and_resume_restores_the_old_session() {
    let context = TestContext::new([
        text_reply("In the first session."),
        text_reply("In the second."),
    ])
    .await;
    let terminal = Terminal::start(&context, &[]);
    terminal.wait("alpha");
    terminal.submit("remember the first");
    terminal.wait("In the first session.");
    terminal.wait_gone("to stop");
    terminal.submit("/new");
    terminal.wait_gone("In the first session.");
    terminal.submit("and now");
    terminal.wait("In the second.");
    terminal.wait_gone("to stop");
    terminal.submit("/resume");
    terminal.wait("remember the first");
    terminal.send("\x1b[B\r");
    terminal.wait("In the first session.");
    terminal.wait_gone("In the second.");
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn page_up_shows_earlier_messages_and_escape_returns() {
    let context = TestContext::new([text_reply("The next reply.")]).await;
    let id = write_long_session(&context, 4_000);
    let file = context.home.path().join(format!("long-{id}.jsonl"));
    let session = file.to_str().unwrap();
    let terminal = Terminal::start(&context, &["--tui-mode", "regular", "--session", session]);
    terminal.wait("reply 3999");
    assert!(!terminal.is_alternate());
    terminal.send("\x1b[5~");
    terminal.wait_until("the alternate screen", |screen| {
        !screen.contains("reply 3999")
    });
    assert!(terminal.is_alternate());
    // Each jump to the top loads an earlier part.
    for _ in 0..6 {
        terminal.send("\x1b[1;5H");
    }
    terminal.wait_until("the first entry", |screen| screen.contains("question 0 "));
    terminal.send("\x1b");
    terminal.wait("reply 3999");
    assert!(!terminal.is_alternate());
    terminal.submit("continue");
    terminal.wait("The next reply.");
    let screen = terminal.screen();
    assert_eq!(screen.matches("reply 3999").count(), 1, "{screen}");
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn full_screen_scrolls_to_the_first_message_and_prints_the_end_on_exit() {
    let context = TestContext::new([]).await;
    let id = write_long_session(&context, 400);
    let file = context.home.path().join(format!("long-{id}.jsonl"));
    let terminal = Terminal::start(&context, &["--session", file.to_str().unwrap()]);
    terminal.wait("reply 399");
    assert!(terminal.is_alternate());
    for _ in 0..6 {
        terminal.send("\x1b[1;5H");
    }
    terminal.wait_until("the first entry", |screen| screen.contains("question 0 "));
    // Home moves in the editor.
    terminal.send("right\x1b[Hleft ");
    terminal.wait("left right");
    terminal.wait("question 0 ");
    terminal.send("\x1b[1;5F");
    terminal.wait("reply 399");
    terminal.send("\x03");
    terminal.wait_gone("left right");
    let mut terminal = terminal;
    terminal.send("\x04");
    assert_eq!(terminal.exit_code(), 0);
    terminal.assert_restored();
    assert!(!terminal.is_alternate());
    assert!(
        terminal.screen().contains("reply 399"),
        "{}",
        terminal.screen()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_terminal_loses_nothing_it_showed() {
    let context = TestContext::new([crate::harness::partial_reply("working").gate("g")]).await;
    let terminal = Terminal::start(&context, &[]);
    terminal.wait("alpha");
    terminal.submit("/name kept name");
    terminal.wait("kept name");
    // The exit code is shown when the output is stored.
    terminal.submit("!echo before-$((1+1)); exit 3");
    terminal.wait("(exit 3)");
    terminal.kill();

    let terminal = Terminal::start(&context, &["--continue"]);
    terminal.wait("kept name");
    terminal.wait("before-2");
    terminal.submit("go");
    context.server.wait_for_gate("g").await;
    terminal.submit("!echo during-$((1+1)); exit 4");
    terminal.wait("(exit 4)");
    terminal.kill();

    let terminal = Terminal::start(&context, &["--continue"]);
    terminal.wait("kept name");
    terminal.wait("during-2");
    terminal.quit();
}
