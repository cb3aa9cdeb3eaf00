//! Leaving the terminal for a while, or for good without meaning to.

use crate::process::{World, answer};
use crate::terminal::Terminal;

#[tokio::test(flavor = "multi_thread")]
async fn the_shell_gets_the_terminal_back_and_the_program_goes_on() {
    let world = World::new([answer("After the break.")]).await;
    let script = "\"$PI\"; echo shell-has-it; read -r line; fg; echo status-$?";
    let mut terminal = Terminal::start_shell(&world, script);
    terminal.wait("alpha");
    terminal.send("a draft");
    terminal.wait("a draft");
    terminal.send("\x1a");
    terminal.wait("shell-has-it");
    terminal.assert_restored();
    terminal.send("\n");
    // The draft is painted anew below what the shell wrote.
    terminal.wait_until("the draft again", |screen| {
        let after = screen.split("shell-has-it").last().unwrap_or_default();
        after.contains("a draft")
    });
    terminal.send("\x03");
    terminal.wait_until("an empty prompt", |screen| {
        let after = screen.split("shell-has-it").last().unwrap_or_default();
        !after.contains("a draft")
    });
    terminal.submit("go on");
    terminal.wait("After the break.");
    terminal.wait_gone("to stop");
    terminal.send("\x04");
    terminal.wait("status-0");
    assert_eq!(terminal.exit_code(), 0);
    terminal.assert_restored();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crash_gives_the_terminal_back_keeps_the_session_and_is_mentioned() {
    let world = World::new([answer("Kept for later.")]).await;
    let mut terminal = Terminal::start(&world, &[]);
    terminal.wait("alpha");
    terminal.submit("say it");
    terminal.wait("Kept for later.");
    terminal.wait_gone("to stop");
    terminal.submit("/debug crash");
    assert_eq!(terminal.exit_code(), 101);
    terminal.assert_restored();
    terminal.wait("`pi --continue` goes on with it");
    let terminal = Terminal::start(&world, &["--continue"]);
    terminal.wait("Kept for later.");
    terminal.wait("ended unexpectedly the last time");
    terminal.quit();
    let terminal = Terminal::start(&world, &["--continue"]);
    terminal.wait("Kept for later.");
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn terminals_without_color_or_abilities_get_plain_text() {
    for variables in [("NO_COLOR", "1"), ("TERM", "dumb")] {
        let world = World::new([answer("Plain enough.")]).await;
        let terminal = Terminal::start_with(&world, &[], &[variables]);
        terminal.wait("alpha");
        terminal.submit("hello");
        terminal.wait("Plain enough.");
        if variables.0 == "NO_COLOR" {
            terminal.assert_never_wrote(b"\x1b[38;");
            terminal.assert_never_wrote(b"\x1b[48;");
        }
        terminal.quit();
    }
}
