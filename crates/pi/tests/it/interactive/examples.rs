//! Example extensions of the TypeScript pi that need a terminal: games, an editor dialog, a trust prompt. Skipped if
//! the package is not installed.

use pi_test_support::ScriptedReply;

use crate::example_extensions::examples_dir;
use crate::harness::{TestContext, text_reply};
use crate::terminal::Terminal;

/// Starts pi with an example extension. Returns `None` if the examples are not installed.
#[expect(clippy::print_stdout, reason = "reports the skipped test")]
async fn start(
    example: &str,
    replies: impl IntoIterator<Item = ScriptedReply>,
) -> Option<(TestContext, Terminal)> {
    let Some(path) = examples_dir().map(|directory| directory.join(example)) else {
        println!("skipped: the examples of the TypeScript pi are not installed");
        return None;
    };
    let context = TestContext::new(replies).await;
    let terminal = Terminal::start(&context, &["-e", &path.to_string_lossy()]);
    terminal.wait("alpha");
    Some((context, terminal))
}

/// Runs a command after its text is on the screen.
fn run_command(terminal: &Terminal, command: &str) {
    terminal.send(command);
    terminal.wait(command);
    terminal.send("\r");
}

/// Returns the column of the first occurrence of a character.
fn column_of(screen: &str, character: char) -> Option<usize> {
    let mut lines = screen.lines();
    lines.find_map(|line| line.chars().position(|it| it == character))
}

#[tokio::test(flavor = "multi_thread")]
async fn snake_is_steered_paused_and_resumed() {
    let Some((_context, terminal)) = start("snake.ts", []).await else {
        return;
    };
    run_command(&terminal, "/snake");
    terminal.wait("SNAKE");
    // Without a key the snake hits the right wall; with it, the top wall.
    terminal.send("\x1b[A");
    terminal.wait("GAME OVER!");
    let screen = terminal.screen();
    let rows: Vec<&str> = screen.lines().skip_while(|it| !it.contains('├')).collect();
    assert!(rows[1].contains("██"), "{screen}");
    terminal.send("r");
    terminal.wait_gone("GAME OVER!");
    terminal.send("\x1b");
    terminal.wait_gone("SNAKE");
    run_command(&terminal, "/snake");
    terminal.wait("PAUSED");
    terminal.send("s");
    terminal.wait_gone("PAUSED");
    terminal.send("q");
    terminal.wait_gone("SNAKE");
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn space_invaders_handles_held_and_released_keys() {
    let Some((_context, terminal)) = start("space-invaders.ts", []).await else {
        return;
    };
    // Tall enough to show the complete game including the score.
    terminal.resize(100, 40);
    run_command(&terminal, "/invaders");
    terminal.wait("SPACE INVADERS");
    terminal.wait("▲");
    let start = column_of(&terminal.screen(), '▲').unwrap();
    let ship_is = |condition: fn(usize, usize) -> bool| {
        move |screen: &str| column_of(screen, '▲').is_some_and(|now| condition(now, start))
    };
    let (left, left_released, right) = ("\x1b[1;1:1D", "\x1b[1;1:3D", "\x1b[1;1:1C");
    terminal.send(left);
    terminal.wait_until("the ship at the left", ship_is(|now, start| now < start));
    // With both keys held, the ship would not move.
    terminal.send(left_released);
    terminal.send(right);
    terminal.wait_until("the ship at the right", ship_is(|now, start| now > start));
    terminal.send("f");
    terminal.wait_until("a hit", |screen| {
        screen.contains("Score: ") && !screen.contains("Score: 0 ")
    });
    terminal.send("q");
    terminal.wait_gone("SPACE INVADERS");
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn doom_reports_missing_webassembly() {
    let Some((context, terminal)) = start("doom-overlay", []).await else {
        return;
    };
    context.home.write("project/game.wad", "IWAD");
    run_command(&terminal, "/doom-overlay game.wad");
    terminal.wait("Failed to load DOOM");
    terminal.wait("WebAssembly");
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn handoff_starts_a_new_session_with_an_edited_prompt() {
    let replies = [
        text_reply("We chose the blue spade."),
        text_reply("Dig with the blue spade."),
    ];
    let Some((context, terminal)) = start("handoff.ts", replies).await else {
        return;
    };
    terminal.submit("which spade");
    terminal.wait("We chose the blue spade.");
    run_command(&terminal, "/handoff dig a hole");
    terminal.wait("Edit handoff prompt");
    terminal.wait("Dig with the blue spade.");
    terminal.send(" Deeply.\r");
    terminal.wait("Handoff ready.");
    terminal.wait_gone("We chose the blue spade.");
    terminal.wait("Dig with the blue spade. Deeply.");
    let request = context.server.wait_for_request(1).await;
    let body = String::from_utf8(request.body).unwrap();
    assert!(body.contains("We chose the blue spade."), "{body}");
    assert!(body.contains("dig a hole"), "{body}");
    terminal.send("\x15");
    terminal.wait_gone("Deeply.");
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_extension_can_prompt_for_trust_at_startup() {
    let Some(path) = examples_dir().map(|directory| directory.join("project-trust.ts")) else {
        println!("skipped: the examples of the TypeScript pi are not installed");
        return;
    };
    let context = TestContext::new([]).await;
    context
        .home
        .write("project/.pi/prompts/plant.md", "Plant it");
    let terminal = Terminal::start(&context, &["-e", &path.to_string_lossy()]);
    terminal.wait("Project trust for:");
    terminal.send("\x1b[B\x1b[B\r");
    terminal.wait("loaded after trust resolution");
    terminal.wait("/plant");
    terminal.quit();
}
