//! The prompt: paste, history, completion, external editor.

use crate::harness::{TestContext, text_reply};
use crate::terminal::Terminal;

#[tokio::test(flavor = "multi_thread")]
async fn a_large_paste_is_shown_as_a_marker_and_sent_in_full() {
    let context = TestContext::new([text_reply("Read it.")]).await;
    let terminal = Terminal::start(&context, &[]);
    terminal.wait("alpha");
    let text = format!("{}\n", "x".repeat(99)).repeat(10_000);
    terminal.paste(&text);
    terminal.wait("[paste #1");
    terminal.send("\r");
    terminal.wait("Read it.");
    let body = context.server.requests()[0].json().to_string();
    assert!(body.len() > 1_000_000, "{}", body.len());
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn up_recalls_the_previous_prompt() {
    let context = TestContext::new([text_reply("First.")]).await;
    let terminal = Terminal::start(&context, &[]);
    terminal.wait("alpha");
    terminal.submit("the first prompt");
    terminal.wait("First.");
    terminal.wait_gone("to stop");
    terminal.send("\x1b[A");
    terminal.wait_until("the prompt twice", |screen| {
        screen.matches("the first prompt").count() == 2
    });
    terminal.send("\x03");
    terminal.wait_until("the prompt once", |screen| {
        screen.matches("the first prompt").count() == 1
    });
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_and_files_are_completed() {
    let context = TestContext::new([]).await;
    context.home.write("project/greenhouse.rs", "x");
    let terminal = Terminal::start(&context, &[]);
    terminal.wait("alpha");
    terminal.send("/hot");
    terminal.wait("Show keyboard shortcuts");
    terminal.send("\x1b\x7f\x7f\x7f\x7f");
    terminal.wait_gone("Show keyboard shortcuts");
    terminal.send("read @gre");
    terminal.wait("greenhouse.rs");
    terminal.send("\t");
    terminal.wait("read @greenhouse.rs");
    terminal.send("\x03");
    terminal.wait_gone("greenhouse.rs");
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn completion_shows_the_argument_hint_of_a_template() {
    let context = TestContext::new([]).await;
    let template =
        "---\ndescription: Review a change\nargument-hint: \"[branch]\"\n---\nReview $1.";
    context.home.write("agent/prompts/review.md", template);
    let terminal = Terminal::start(&context, &[]);
    terminal.wait("alpha");
    terminal.send("/rev");
    terminal.wait("[branch] — Review a change");
    terminal.send("\x15");
    terminal.wait_gone("[branch]");
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_external_editor_changes_the_prompt() {
    let context = TestContext::new([]).await;
    let script = context.home.write(
        "editor.sh",
        "#!/bin/sh\nprintf 'edited externally' > \"$1\"\n",
    );
    let command = format!("sh {}", script.display());
    let terminal = Terminal::start_with(&context, &[], &[("EDITOR", &command)]);
    terminal.wait("alpha");
    terminal.send("draft");
    terminal.wait("draft");
    terminal.send("\x07");
    terminal.wait("edited externally");
    terminal.send("\x03");
    terminal.wait_gone("edited externally");
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_theme_change_is_reported() {
    let context = TestContext::new([]).await;
    let dark = include_str!("../../../../pi-views/themes/dark.json");
    let custom = dark.replace("\"name\": \"dark\"", "\"name\": \"custom\"");
    context.home.write("agent/themes/custom.json", &custom);
    context
        .home
        .write("agent/settings.json", "{\"theme\": \"custom\"}");
    let terminal = Terminal::start_with(&context, &[], &[("COLORTERM", "truecolor")]);
    terminal.wait("alpha");
    context.home.write("agent/themes/custom.json", "{");
    terminal.wait("cannot load theme \"custom\"");
    context.home.write("agent/themes/custom.json", &custom);
    terminal.quit();
}
