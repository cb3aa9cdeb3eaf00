//! Suspending, crashes, and terminals with limited capabilities.

use crate::harness::{TestContext, text_reply};
use crate::terminal::Terminal;

#[tokio::test(flavor = "multi_thread")]
async fn suspend_returns_to_the_shell_and_resume_restores_the_screen() {
    let context = TestContext::new([text_reply("After the break.")]).await;
    let script = "\"$PI\"; echo back-in-shell; read -r line; fg; echo status-$?";
    let mut terminal = Terminal::start_shell(&context, script);
    terminal.wait("alpha");
    terminal.send("a draft");
    terminal.wait("a draft");
    terminal.send("\x1a");
    terminal.wait("back-in-shell");
    terminal.assert_restored();
    terminal.send("\n");
    // The draft is drawn again below the shell output.
    terminal.wait_until("the draft below the shell output", |screen| {
        let after = screen.split("back-in-shell").last().unwrap_or_default();
        after.contains("a draft")
    });
    terminal.send("\x03");
    terminal.wait_until("an empty prompt", |screen| {
        let after = screen.split("back-in-shell").last().unwrap_or_default();
        !after.contains("a draft")
    });
    terminal.submit("continue");
    terminal.wait("After the break.");
    terminal.wait_gone("to stop");
    terminal.send("\x04");
    terminal.wait("status-0");
    assert_eq!(terminal.exit_code(), 0);
    terminal.assert_restored();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crash_restores_the_terminal_and_keeps_the_session() {
    let context = TestContext::new([text_reply("Saved before the crash.")]).await;
    let mut terminal = Terminal::start(&context, &[]);
    terminal.wait("alpha");
    terminal.submit("hello");
    terminal.wait("Saved before the crash.");
    terminal.wait_gone("to stop");
    terminal.submit("/debug crash");
    assert_eq!(terminal.exit_code(), 101);
    terminal.assert_restored();
    terminal.wait("run `pi --continue` to resume it");
    let terminal = Terminal::start(&context, &["--continue"]);
    terminal.wait("Saved before the crash.");
    terminal.wait("pi crashed in the previous run");
    terminal.quit();
    let terminal = Terminal::start(&context, &["--continue"]);
    terminal.wait("Saved before the crash.");
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn limited_terminals_get_plain_text() {
    for variables in [("NO_COLOR", "1"), ("TERM", "dumb")] {
        let context = TestContext::new([text_reply("A plain answer.")]).await;
        let terminal = Terminal::start_with(&context, &[], &[variables]);
        terminal.wait("alpha");
        terminal.submit("hello");
        terminal.wait("A plain answer.");
        if variables.0 == "NO_COLOR" {
            terminal.assert_never_wrote(b"\x1b[38;");
            terminal.assert_never_wrote(b"\x1b[48;");
        }
        terminal.quit();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_startup_benchmark_ends_after_the_first_frame() {
    let context = TestContext::new([]).await;
    let script = "PI_STARTUP_BENCHMARK=1 PI_TIMING=1 \"$PI\"; echo status-$?; \
                  PI_STARTUP_BENCHMARK=1 \"$PI\" -p hi; echo status-$?";
    let mut terminal = Terminal::start_shell(&context, script);
    terminal.wait("terminal: ");
    terminal.wait("status-0");
    terminal.wait("PI_STARTUP_BENCHMARK applies to the terminal application only");
    terminal.wait("status-1");
    assert_eq!(terminal.exit_code(), 0);
    terminal.assert_restored();
}
