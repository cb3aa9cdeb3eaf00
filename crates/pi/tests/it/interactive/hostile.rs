//! Text from outside is text: it moves no cursor, sets no title, clears no screen.

use crate::process::{World, answer, shell_call};
use crate::terminal::Terminal;

/// Clears the screen, sets the title, hides the cursor, writes elsewhere.
const ATTACK: &str = "before\x1b[2J\x1b]0;owned\x07\x1b[?25l\x1b[1;1Hafter\u{9b}2J";

#[tokio::test(flavor = "multi_thread")]
async fn sequences_in_answers_and_output_have_no_effect() {
    let world = World::new([
        shell_call("printf 'tool\\033[2J\\033]0;owned\\007\\033[1;1Houtput\\n'"),
        answer(ATTACK),
    ])
    .await;
    let terminal = Terminal::start(&world, &[]);
    terminal.wait("alpha");
    terminal.submit("be careful");
    terminal.wait("before");
    terminal.wait("after");
    terminal.wait_gone("to stop");
    let screen = terminal.screen();
    assert!(
        screen.contains("be careful"),
        "the screen was cleared:\n{screen}"
    );
    assert!(screen.contains("output"), "{screen}");
    let first = screen.lines().next().unwrap_or_default();
    assert!(
        !first.contains("after") && !first.contains("output"),
        "{screen}"
    );
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn sequences_in_names_have_no_effect() {
    let world = World::new([]).await;
    world.home.write(
        "project/.git/HEAD",
        "ref: refs/heads/evil\x1b[2J\x1b]0;owned\x07branch\n",
    );
    world.home.write("project/evil\x1b[2J.txt", "x");
    let terminal = Terminal::start(&world, &["--name", "na\x1b[2Jme"]);
    terminal.wait("alpha");
    terminal.wait("branch");
    terminal.send("@evil");
    terminal.wait("@evil");
    let screen = terminal.screen();
    assert!(screen.contains("pi v"), "the screen was cleared:\n{screen}");
    terminal.send("\x03");
    terminal.wait_gone("@evil");
    terminal.quit();
}
