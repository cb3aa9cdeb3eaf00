//! The extension UI in the terminal: widgets, dialogs, components, and failing ones.

use pi_test_support::ScriptedReply;
use serde_json::json;

use crate::harness::{TestContext, text_reply, tool_call_reply};
use crate::terminal::Terminal;

/// Starts pi with an extension from the fixtures.
async fn start(
    extension: &str,
    replies: impl IntoIterator<Item = ScriptedReply>,
) -> (TestContext, Terminal) {
    start_with(extension, replies, &[]).await
}

fn fixture(extension: &str) -> String {
    let crate_dir = env!("CARGO_MANIFEST_DIR");
    format!("{crate_dir}/tests/fixtures/extensions/{extension}.ts")
}

async fn start_with(
    extension: &str,
    replies: impl IntoIterator<Item = ScriptedReply>,
    variables: &[(&str, &str)],
) -> (TestContext, Terminal) {
    let context = TestContext::new(replies).await;
    let path = fixture(extension);
    let terminal = Terminal::start_with(&context, &["-e", &path], variables);
    terminal.wait("alpha");
    (context, terminal)
}

/// Runs a command once it is on the screen, so that completion does not replace it.
fn run_command(terminal: &Terminal, command: &str) {
    terminal.send(command);
    terminal.wait(command);
    terminal.send("\r");
}

#[tokio::test(flavor = "multi_thread")]
async fn extensions_set_widgets_status_header_and_footer() {
    let (_context, terminal) = start("widgets", []).await;
    terminal.wait("first-status second-status");
    terminal.wait("started-by-startup");
    run_command(&terminal, "/show");
    terminal.wait("widget-100-ticking");
    terminal.wait("custom-header");
    terminal.wait("custom-footer 2 null");
    terminal.wait_gone("first-status");
    terminal.wait_gone("pi v");
    run_command(&terminal, "/hide");
    terminal.wait("pi v");
    terminal.wait("second-status");
    terminal.wait_gone("widget-100");
    terminal.wait_gone("started-by");
    terminal.wait_gone("custom-header");
    run_command(&terminal, "/reload");
    terminal.wait("started-by-reload");
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn extension_commands_complete_arguments_and_set_the_prompt() {
    let (_context, terminal) = start("widgets", []).await;
    terminal.wait("started-by-startup");
    terminal.send("/fill mari");
    terminal.wait("marigold");
    terminal.send("\t");
    terminal.wait("/fill marigold");
    terminal.send("\r");
    terminal.wait("now-filled-marigold");
    terminal.wait_until("the text at the prompt", |screen| {
        screen.lines().any(|line| line.trim() == "filled-marigold")
    });
    // Ctrl+D exits only if the prompt is empty.
    terminal.send("\x15");
    terminal.wait_gone("\nfilled-marigold");
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn extension_dialogs_return_responses() {
    let (_context, terminal) = start("dialogs", []).await;
    run_command(&terminal, "/ask");
    terminal.wait("Which bed?");
    terminal.send("\x1b[B\r");
    terminal.wait("It cannot be undone");
    terminal.send("\r");
    terminal.wait("in spades");
    terminal.send("three\r");
    terminal.wait("Describe it");
    terminal.send(" and edited\r");
    terminal.wait("responses south/true/three/draft and edited");
    run_command(&terminal, "/timeout");
    terminal.wait("Quick!");
    terminal.wait("timeout-false");
    terminal.wait_gone("Quick!");
    run_command(&terminal, "/abort");
    // The second dialog is shown above the first, which is withdrawn below it.
    terminal.wait("The next question");
    terminal.wait_gone("Never mind");
    terminal.send("\x1b");
    terminal.wait("aborted-undefined-undefined");
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dialog_can_be_shown_at_session_start() {
    let (_context, terminal) = start_with("dialogs", [], &[("ASK_AT_START", "yes")]).await;
    terminal.wait("Continue?");
    terminal.send("\r");
    terminal.wait("confirmed-true");
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn components_receive_and_release_focus() {
    let (_context, terminal) = start("components", []).await;
    terminal.wait("tui.input.copy");
    terminal.send("an unfinished draft");
    terminal.wait("an unfinished draft");
    terminal.send("\x15");
    run_command(&terminal, "/custom");
    terminal.wait("custom focused []");
    terminal.wait("prompt-custom");
    terminal.send("ab\x1b[Ac");
    terminal.wait("custom focused [ab");
    terminal.send("\r");
    terminal.wait("typed-ab");
    terminal.wait_gone("custom focused");
    terminal.wait("after-custom");
    run_command(&terminal, "/overlay");
    terminal.wait("overlay focused []");
    terminal.wait("row-1");
    terminal.send("xyz");
    terminal.wait("overlay focused [xyz]");
    terminal.resize(50, 30);
    // The model name is at the right edge, so it reappears after a full redraw.
    terminal.wait("alpha");
    terminal.wait_gone("overlay focused");
    terminal.resize(100, 30);
    terminal.wait("overlay focused [xyz]");
    terminal.send("\r");
    terminal.wait("overlay-xyz");
    terminal.wait_gone("overlay focused");
    terminal.send("\x1b[120;6u");
    terminal.wait("shortcut-ran");
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn reloaded_extensions_see_current_keybindings() {
    let (context, terminal) = start("components", []).await;
    run_command(&terminal, "/bound");
    terminal.wait("bound-to-shift+tab");
    let keys = json!({"app.thinking.cycle": "alt+t"}).to_string();
    context.home.write("agent/keybindings.json", keys);
    run_command(&terminal, "/reload");
    terminal.wait("Reloaded keys");
    run_command(&terminal, "/bound");
    terminal.wait("bound-to-alt+t");
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn components_receive_mouse_events_in_fullscreen_mode() {
    let context = TestContext::new([]).await;
    let settings = json!({"tuiMode": "fullscreen"}).to_string();
    context.home.write("agent/settings.json", settings);
    let path = fixture("components");
    let terminal = Terminal::start(&context, &["-e", &path]);
    terminal.wait("alpha");
    run_command(&terminal, "/mouse");
    terminal.wait("click here");
    let screen = terminal.screen();
    let row = screen.lines().position(|it| it.contains("click here"));
    // Clicks the fourth column of the component's second line; terminal coordinates are 1-based.
    let position = format!("4;{}", row.unwrap() + 2);
    terminal.send(format!("\x1b[<0;{position}M\x1b[<0;{position}m"));
    terminal.wait("events press:left:3,1 release:left:3,1 click:left:3,1");
    terminal.send("x");
    terminal.wait_gone("click here");
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_extension_can_replace_the_editor() {
    let (context, terminal) = start("components", [text_reply("Received.")]).await;
    run_command(&terminal, "/editor");
    terminal.wait("custom-editor>");
    terminal.send("send it");
    terminal.wait("custom-editor> SEND IT");
    terminal.send("\r");
    terminal.wait("Received.");
    terminal.wait_gone("SEND IT");
    let request = context.server.wait_for_request(0).await;
    let body = String::from_utf8(request.body).unwrap();
    assert!(body.contains("\"send it\""), "{body}");
    terminal.send("/editor off");
    terminal.wait("/EDITOR OFF");
    terminal.send("\r");
    terminal.wait_gone("custom-editor>");
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn extensions_intercept_input_and_add_completions() {
    let (_context, terminal) = start("components", []).await;
    run_command(&terminal, "/intercept");
    terminal.wait("listening");
    terminal.send("xax");
    terminal.wait("xbx");
    terminal.send("q");
    terminal.send("a");
    terminal.wait("xbxa");
    terminal.send("\x15");
    run_command(&terminal, "/complete");
    terminal.wait("completing");
    terminal.send("in the %gar");
    terminal.wait("where things grow");
    terminal.send("\t");
    terminal.wait("in the %garden");
    terminal.send("\x15");
    terminal.wait_gone("in the");
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn misbehaving_components_are_reported_and_contained() {
    let (_context, terminal) = start("misbehaving", [text_reply("Still here.")]).await;
    run_command(&terminal, "/wide");
    terminal.wait("wide-xxx");
    terminal.wait("truncated");
    run_command(&terminal, "/escapes");
    terminal.wait("harmless-text");
    run_command(&terminal, "/throwing");
    terminal.wait("render-failed");
    run_command(&terminal, "/endless");
    terminal.wait("before-the-loop");
    terminal.resize(90, 30);
    terminal.wait("took longer than");
    terminal.wait("before-the-loop");
    terminal.submit("are you there");
    terminal.wait("Still here.");
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failing_renderer_falls_back_to_the_default() {
    let replies = [
        tool_call_reply("dig", &json!({"depth": 7})),
        text_reply("Dug with a spade."),
    ];
    let (_context, terminal) = start("misbehaving", replies).await;
    terminal.submit("take the spade");
    terminal.wait("Dug with a assistant-shovel.");
    terminal.wait("take the user-shovel");
    terminal.wait("rendered-call true");
    terminal.wait("plain-result");
    terminal.wait("result-render-failed");
    run_command(&terminal, "/notes");
    terminal.wait("note:text short");
    terminal.wait("mark:data");
    terminal.send("\x0f");
    terminal.wait("note:text long");
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn renderers_know_durations_keys_and_stored_messages() {
    let replies = [
        tool_call_reply("dig", &json!({})),
        text_reply("Dug."),
        text_reply("More."),
    ];
    let (context, terminal) = start("renderers", replies).await;
    terminal.submit("dig a hole");
    terminal.wait("dig a hole live-undefined");
    terminal.wait("Dug. live-undefined");
    terminal.wait("took-number ctrl+o more");
    run_command(&terminal, "/messages");
    terminal.wait("seen-id-time-40");
    terminal.quit();
    let path = fixture("renderers");
    let terminal = Terminal::start(&context, &["--continue", "-e", &path]);
    terminal.wait("dig a hole from-the-file");
    terminal.wait("Dug. from-the-file");
    terminal.wait("took-number");
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_component_reports_what_it_waits_for() {
    let (_context, terminal) = start_with("renderers", [], &[("PI_PROGRAM_STATUS", "1")]).await;
    run_command(&terminal, "/permit");
    terminal.wait("press-a-key");
    // "Dig here?" in Base64.
    terminal.wait_written("state=blocked:app=pi:kind=permission:msg=RGlnIGhlcmU/");
    terminal.send("x");
    terminal.wait("answer-permitted");
    terminal.wait_written("state=idle:app=pi");
    terminal.quit();
}
