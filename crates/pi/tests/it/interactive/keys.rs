//! Keyboard shortcuts.

use crate::harness::{TestContext, text_reply};
use crate::terminal::Terminal;

#[tokio::test(flavor = "multi_thread")]
async fn shortcuts_at_the_prompt_run_their_actions() {
    let context = TestContext::new([text_reply("Copy me.")]).await;
    let terminal = Terminal::start(&context, &[]);
    terminal.wait("alpha");
    let press = |name: &str, bytes: &str, shown: &str| {
        terminal.send(bytes);
        terminal.wait_until(name, |screen| screen.contains(shown));
    };
    press("ctrl+x", "\x18", "No response to copy");
    terminal.submit("answer something");
    terminal.wait("Copy me.");
    terminal.wait_gone("to stop");
    for (name, bytes, shown) in [
        ("ctrl+x", "\x18", "Copied the last response"),
        ("ctrl+t", "\x14", "Thinking hidden"),
        ("ctrl+o", "\x0f", "Tool output expanded"),
        ("shift+tab", "\x1b[Z", "Thinking: high"),
        ("ctrl+p", "\x10", "Model: beta"),
        ("shift+ctrl+p", "\x1b[112;6u", "Model: alpha"),
        ("alt+up", "\x1b[1;3A", "No queued messages"),
        ("ctrl+v", "\x16", "the clipboard"),
        ("shift+ctrl+d", "\x1b[100;6u", "Debug dump written to"),
    ] {
        press(name, bytes, shown);
    }
    assert!(context.home.path().join("agent/pi-debug.log").exists());
    press("ctrl+l", "\x0c", "escape c");
    terminal.send("\x1b");
    terminal.wait_gone("escape c");
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn actions_without_a_default_key_can_be_bound() {
    let context = TestContext::new([text_reply("Remember me.")]).await;
    context.home.write(
        "agent/keybindings.json",
        r#"{"app.session.new": "f5", "app.session.tree": "f6", "app.session.fork": "f7",
            "app.session.resume": "f8", "tui.editor.historyPrevious": "f9", "tui.editor.historyNext": "f10"}"#,
    );
    let terminal = Terminal::start(&context, &[]);
    terminal.wait("alpha");
    terminal.submit("a prompt to recall");
    terminal.wait("Remember me.");
    terminal.wait_gone("to stop");
    for (key, shown) in [
        ("\x1b[17~", "tree"),
        ("\x1b[18~", "Fork"),
        ("\x1b[19~", "Sessions"),
    ] {
        terminal.send(key);
        terminal.wait("escape c");
        let expected = shown.to_lowercase();
        terminal.wait_until(shown, |screen| screen.to_lowercase().contains(&expected));
        terminal.send("\x1b");
        terminal.wait_gone("escape c");
    }
    terminal.send("\x1b[20~");
    terminal.wait_until("the recalled prompt", |screen| {
        screen.matches("a prompt to recall").count() == 2
    });
    terminal.send("\x1b[21~");
    terminal.wait_until("the empty draft", |screen| {
        screen.matches("a prompt to recall").count() == 1
    });
    terminal.send("\x1b[15~");
    terminal.wait_gone("Remember me.");
    terminal.quit();
}
