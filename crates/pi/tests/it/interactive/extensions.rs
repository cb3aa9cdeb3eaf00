//! What extensions show and ask in the terminal, and what they cannot do to it.

use pi_test_support::ScriptedReply;
use serde_json::json;

use crate::process::{World, answer, tool_call};
use crate::terminal::Terminal;

/// Starts the program with one of our extensions.
async fn start(
    extension: &str,
    replies: impl IntoIterator<Item = ScriptedReply>,
) -> (World, Terminal) {
    start_with(extension, replies, &[]).await
}

/// Returns the file of one of our extensions.
fn fixture(extension: &str) -> String {
    let folder = env!("CARGO_MANIFEST_DIR");
    format!("{folder}/tests/fixtures/extensions/{extension}.ts")
}

async fn start_with(
    extension: &str,
    replies: impl IntoIterator<Item = ScriptedReply>,
    variables: &[(&str, &str)],
) -> (World, Terminal) {
    let world = World::new(replies).await;
    let path = fixture(extension);
    let terminal = Terminal::start_with(&world, &["-e", &path], variables);
    terminal.wait("alpha");
    (world, terminal)
}

/// Runs a command whose completion must not get in the way.
fn run(terminal: &Terminal, command: &str) {
    terminal.send(command);
    terminal.wait(command);
    terminal.send("\r");
}

#[tokio::test(flavor = "multi_thread")]
async fn extensions_have_a_say_around_the_conversation() {
    let (_world, terminal) = start("surroundings", []).await;
    terminal.wait("first-status second-status");
    terminal.wait("started-by-startup");
    run(&terminal, "/around");
    terminal.wait("widget-100-ticking");
    terminal.wait("own-header");
    terminal.wait("own-footer 2 null");
    terminal.wait_gone("first-status");
    terminal.wait_gone("pi v");
    run(&terminal, "/plain");
    terminal.wait("pi v");
    terminal.wait("second-status");
    terminal.wait_gone("widget-100");
    terminal.wait_gone("started-by");
    terminal.wait_gone("own-header");
    run(&terminal, "/reload");
    terminal.wait("started-by-reload");
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_of_extensions_complete_and_write_at_the_prompt() {
    let (_world, terminal) = start("surroundings", []).await;
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
    // The prompt is not empty, so that the key that leaves does nothing.
    terminal.send("\x15");
    terminal.wait_gone("\nfilled-marigold");
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn extensions_ask_and_are_answered() {
    let (_world, terminal) = start("dialogs", []).await;
    run(&terminal, "/ask");
    terminal.wait("Which bed?");
    terminal.send("\x1b[B\r");
    terminal.wait("It cannot be undone");
    terminal.send("\r");
    terminal.wait("in spades");
    terminal.send("three\r");
    terminal.wait("Describe it");
    terminal.send(" and ended\r");
    terminal.wait("asked south/true/three/begun and ended");
    run(&terminal, "/late");
    terminal.wait("Quick!");
    terminal.wait("late-false");
    terminal.wait_gone("Quick!");
    run(&terminal, "/withdrawn");
    terminal.wait("Never mind");
    terminal.wait("The next question");
    terminal.wait_gone("Never mind");
    terminal.send("\x1b");
    terminal.wait("withdrawn-undefined-undefined");
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_extension_may_ask_when_the_session_starts() {
    let (_world, terminal) = start_with("dialogs", [], &[("ASK_AT_START", "yes")]).await;
    terminal.wait("Shall we?");
    terminal.send("\r");
    terminal.wait("greeted-true");
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn components_take_the_keyboard_and_give_it_back() {
    let (_world, terminal) = start("components", []).await;
    terminal.wait("tui.input.copy");
    terminal.send("half a thought");
    terminal.wait("half a thought");
    terminal.send("\x15");
    run(&terminal, "/place");
    terminal.wait("custom focused []");
    terminal.wait("prompt-custom");
    terminal.send("ab\x1b[Ac");
    terminal.wait("custom focused [ab");
    terminal.send("\r");
    terminal.wait("typed-ab");
    terminal.wait_gone("custom focused");
    terminal.wait("after-custom");
    run(&terminal, "/over");
    terminal.wait("overlay focused []");
    terminal.wait("row-1");
    terminal.send("xyz");
    terminal.wait("overlay focused [xyz]");
    terminal.resize(50, 30);
    // The model stands at the right edge: it is there again once everything is painted anew.
    terminal.wait("alpha");
    terminal.wait_gone("overlay focused");
    terminal.resize(100, 30);
    terminal.wait("overlay focused [xyz]");
    terminal.send("\r");
    terminal.wait("over-xyz");
    terminal.wait_gone("overlay focused");
    terminal.send("\x1b[120;6u");
    terminal.wait("shortcut-ran");
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn extensions_that_are_loaded_anew_know_the_keys_of_that_time() {
    let (world, terminal) = start("components", []).await;
    run(&terminal, "/bound");
    terminal.wait("bound-to-shift+tab");
    let keys = json!({"app.thinking.cycle": "alt+t"}).to_string();
    world.home.write("agent/keybindings.json", keys);
    run(&terminal, "/reload");
    terminal.wait("read again");
    run(&terminal, "/bound");
    terminal.wait("bound-to-alt+t");
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn components_hear_of_the_mouse_on_a_full_screen() {
    let world = World::new([]).await;
    let settings = json!({"tuiMode": "fullscreen"}).to_string();
    world.home.write("agent/settings.json", settings);
    let path = fixture("components");
    let terminal = Terminal::start(&world, &["-e", &path]);
    terminal.wait("alpha");
    run(&terminal, "/point");
    terminal.wait("point here");
    let screen = terminal.screen();
    let row = screen.lines().position(|it| it.contains("point here"));
    // Terminals count from 1; the second line of the component is clicked, in its fourth column.
    let place = format!("4;{}", row.unwrap() + 2);
    terminal.send(format!("\x1b[<0;{place}M\x1b[<0;{place}m"));
    terminal.wait("heard press:left:3,1 release:left:3,1 click:left:3,1");
    terminal.send("x");
    terminal.wait_gone("point here");
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_extension_can_be_the_prompt() {
    let (world, terminal) = start("components", [answer("Heard.")]).await;
    run(&terminal, "/editor");
    terminal.wait("own-editor>");
    terminal.send("say it");
    terminal.wait("own-editor> SAY IT");
    terminal.send("\r");
    terminal.wait("Heard.");
    terminal.wait_gone("SAY IT");
    let request = world.server.wait_for_request(0).await;
    let body = String::from_utf8(request.body).unwrap();
    assert!(body.contains("\"say it\""), "{body}");
    terminal.send("/editor off");
    terminal.wait("/EDITOR OFF");
    terminal.send("\r");
    terminal.wait_gone("own-editor>");
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn extensions_see_keys_first_and_complete_more() {
    let (_world, terminal) = start("components", []).await;
    run(&terminal, "/raw");
    terminal.wait("listening");
    terminal.send("xax");
    terminal.wait("xbx");
    terminal.send("q");
    terminal.send("a");
    terminal.wait("xbxa");
    terminal.send("\x15");
    run(&terminal, "/complete");
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
async fn a_component_that_misbehaves_is_reported_and_the_program_goes_on() {
    let (_world, terminal) = start("misbehaving", [answer("Still here.")]).await;
    run(&terminal, "/wide");
    terminal.wait("wide-xxx");
    terminal.wait("they are cut");
    run(&terminal, "/steering");
    terminal.wait("harmless-text");
    run(&terminal, "/throwing");
    terminal.wait("cannot-draw");
    run(&terminal, "/endless");
    terminal.wait("before-the-loop");
    terminal.resize(90, 30);
    terminal.wait("takes longer than");
    terminal.wait("before-the-loop");
    terminal.submit("are you there");
    terminal.wait("Still here.");
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn renderers_draw_rows_and_one_that_throws_falls_back() {
    let replies = [
        tool_call("dig", &json!({"depth": 7})),
        answer("Dug with a spade."),
    ];
    let (_world, terminal) = start("misbehaving", replies).await;
    terminal.submit("take the spade");
    terminal.wait("Dug with a assistant-shovel.");
    terminal.wait("take the user-shovel");
    terminal.wait("drawn-call true");
    terminal.wait("dug-as-usual");
    terminal.wait("cannot-draw-results");
    run(&terminal, "/notes");
    terminal.wait("note:kept short");
    terminal.wait("mark:left");
    terminal.send("\x0f");
    terminal.wait("note:kept long");
    terminal.quit();
}
