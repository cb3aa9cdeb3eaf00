//! Components of the owner's extensions in an attached terminal.

use crate::attach::wait_for_socket;
use crate::harness::{TestContext, text_reply};
use crate::terminal::Terminal;

fn fixture(extension: &str) -> String {
    let crate_dir = env!("CARGO_MANIFEST_DIR");
    format!("{crate_dir}/tests/fixtures/extensions/{extension}.ts")
}

/// Runs a command once it is on the screen, so that completion does not replace it.
fn run_command(terminal: &Terminal, command: &str) {
    terminal.send(command);
    terminal.wait(command);
    terminal.send("\r");
}

/// Starts a terminal with extensions whose session can be attached to; returns it with the ID of the session.
fn owner(context: &TestContext) -> (Terminal, String) {
    let (widgets, components) = (fixture("widgets"), fixture("components"));
    let words = ["-e", &widgets, "-e", &components];
    let owner = Terminal::start_sized(context, &words, (100, 30));
    owner.wait("started-by-startup");
    owner.submit("begin");
    owner.wait("Ready.");
    (owner, wait_for_socket(context))
}

#[tokio::test(flavor = "multi_thread")]
async fn widgets_footers_dialogs_and_overlays_appear_and_receive_keys() {
    let context = TestContext::new([text_reply("Ready.")]).await;
    let (owner, id) = owner(&context);
    let guest = Terminal::start_sized(&context, &["attach", &id], (70, 24));
    // What was shown before.
    guest.wait("started-by-startup");
    guest.wait("first-status second-status");

    run_command(&owner, "/show");
    for text in ["widget-100-ticking", "custom-header", "custom-footer 2"] {
        owner.wait(text);
        guest.wait(text);
    }

    run_command(&owner, "/custom");
    guest.wait("custom focused []");
    guest.send("ab");
    owner.wait("custom focused [ab]");
    owner.send("c");
    guest.wait("custom focused [abc]");
    guest.send("\r");
    owner.wait("typed-abc");
    guest.wait("typed-abc");
    guest.wait_gone("custom focused");

    // A command of the attached terminal.
    run_command(&guest, "/overlay");
    owner.wait("overlay focused []");
    guest.wait("overlay focused []");
    guest.send("xy");
    owner.wait("overlay focused [xy]");
    // A terminal that attaches now finds it open.
    let late = Terminal::start_sized(&context, &["attach", &id], (90, 28));
    late.wait("overlay focused [xy]");
    late.wait("custom-footer");
    late.send("z\r");
    for terminal in [&owner, &guest, &late] {
        terminal.wait("overlay-xyz");
        terminal.wait_gone("overlay focused");
    }

    // The prompt stays that of the attached terminal.
    run_command(&owner, "/editor");
    owner.wait("custom-editor>");
    guest.send("my own prompt");
    guest.wait("my own prompt");
    assert!(!guest.screen().contains("custom-editor>"));
    guest.send("\x15");

    run_command(&guest, "/hide");
    guest.wait_gone("widget-100");
    guest.wait_gone("custom-header");
    guest.wait_gone("custom-footer");
    late.quit();
    guest.quit();
    owner.kill();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_sees_components_and_keeps_its_keys() {
    let context = TestContext::new([text_reply("Ready.")]).await;
    let (owner, id) = owner(&context);
    let reader = Terminal::start(&context, &["attach", "--read-only", &id]);
    reader.wait("started-by-startup");
    run_command(&owner, "/custom");
    reader.wait("custom focused []");
    owner.send("ab");
    reader.wait("custom focused [ab]");
    reader.send("mine");
    reader.wait("mine");
    owner.send("c");
    reader.wait("custom focused [abc]");
    reader.send("\x15");
    reader.wait_gone("mine");
    reader.quit();
    owner.kill();
}

#[tokio::test(flavor = "multi_thread")]
async fn components_end_with_the_process_that_draws_them() {
    let context = TestContext::new([text_reply("Ready.")]).await;
    let (owner, id) = owner(&context);
    let guest = Terminal::start(&context, &["attach", &id]);
    guest.wait("started-by-startup");
    run_command(&owner, "/show");
    run_command(&owner, "/custom");
    guest.wait("custom-footer");
    guest.wait("custom focused []");
    owner.kill();
    guest.wait("The pi that ran this session has ended");
    guest.wait_gone("custom focused");
    guest.wait_gone("custom-footer");
    guest.wait_gone("started-by-startup");
    guest.kill();
}
