//! Examples of the TypeScript pi that are nothing without a terminal: games by keyboard, a draft that is edited, a
//! question before the project is trusted. Skips where the package is not installed.

use pi_test_support::ScriptedReply;

use crate::example_extensions::folder;
use crate::process::{World, answer};
use crate::terminal::Terminal;

/// A terminal with the program and one of the examples; none where the examples are not installed.
#[expect(clippy::print_stdout, reason = "whoever reads the output shall know")]
async fn start(
    example: &str,
    replies: impl IntoIterator<Item = ScriptedReply>,
) -> Option<(World, Terminal)> {
    let Some(path) = folder().map(|folder| folder.join(example)) else {
        println!("skipped: the examples of the TypeScript pi are not installed");
        return None;
    };
    let world = World::new(replies).await;
    let terminal = Terminal::start(&world, &["-e", &path.to_string_lossy()]);
    terminal.wait("alpha");
    Some((world, terminal))
}

fn run(terminal: &Terminal, command: &str) {
    terminal.send(command);
    terminal.wait(command);
    terminal.send("\r");
}

/// Returns the column of the first line with this sign in it.
fn column_of(screen: &str, sign: char) -> Option<usize> {
    let mut lines = screen.lines();
    lines.find_map(|line| line.chars().position(|it| it == sign))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_snake_is_steered_paused_and_found_again() {
    let Some((_world, terminal)) = start("snake.ts", []).await else {
        return;
    };
    run(&terminal, "/snake");
    terminal.wait("SNAKE");
    // Left alone it meets the wall at the right; the key sends it to the one at the top.
    terminal.send("\x1b[A");
    terminal.wait("GAME OVER!");
    let screen = terminal.screen();
    let rows: Vec<&str> = screen.lines().skip_while(|it| !it.contains('├')).collect();
    assert!(rows[1].contains("██"), "{screen}");
    terminal.send("r");
    terminal.wait_gone("GAME OVER!");
    terminal.send("\x1b");
    terminal.wait_gone("SNAKE");
    run(&terminal, "/snake");
    terminal.wait("PAUSED");
    terminal.send("s");
    terminal.wait_gone("PAUSED");
    terminal.send("q");
    terminal.wait_gone("SNAKE");
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_ship_goes_while_a_key_is_held_and_shoots() {
    let Some((_world, terminal)) = start("space-invaders.ts", []).await else {
        return;
    };
    // The whole game is on the screen, its score included.
    terminal.resize(100, 40);
    run(&terminal, "/invaders");
    terminal.wait("SPACE INVADERS");
    terminal.wait("▲");
    let begin = column_of(&terminal.screen(), '▲').unwrap();
    let ship_is = |wanted: fn(usize, usize) -> bool| {
        move |screen: &str| column_of(screen, '▲').is_some_and(|now| wanted(now, begin))
    };
    let (left, left_released, right) = ("\x1b[1;1:1D", "\x1b[1;1:3D", "\x1b[1;1:1C");
    terminal.send(left);
    terminal.wait_until("the ship at the left", ship_is(|now, begin| now < begin));
    // With both keys held the ship would stand still.
    terminal.send(left_released);
    terminal.send(right);
    terminal.wait_until("the ship at the right", ship_is(|now, begin| now > begin));
    terminal.send("f");
    terminal.wait_until("a hit", |screen| {
        screen.contains("Score: ") && !screen.contains("Score: 0 ")
    });
    terminal.send("q");
    terminal.wait_gone("SPACE INVADERS");
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn doom_says_that_it_needs_web_assembly() {
    let Some((world, terminal)) = start("doom-overlay", []).await else {
        return;
    };
    world.home.write("project/game.wad", "IWAD");
    run(&terminal, "/doom-overlay game.wad");
    terminal.wait("Failed to load DOOM");
    terminal.wait("WebAssembly");
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_is_handed_off_to_another_session() {
    let replies = [
        answer("We chose the blue spade."),
        answer("Dig with the blue spade."),
    ];
    let Some((world, terminal)) = start("handoff.ts", replies).await else {
        return;
    };
    terminal.submit("which spade");
    terminal.wait("We chose the blue spade.");
    run(&terminal, "/handoff dig a hole");
    terminal.wait("Edit handoff prompt");
    terminal.wait("Dig with the blue spade.");
    terminal.send(" Deeply.\r");
    terminal.wait("Handoff ready.");
    terminal.wait_gone("We chose the blue spade.");
    terminal.wait("Dig with the blue spade. Deeply.");
    let request = world.server.wait_for_request(1).await;
    let body = String::from_utf8(request.body).unwrap();
    assert!(body.contains("We chose the blue spade."), "{body}");
    assert!(body.contains("dig a hole"), "{body}");
    terminal.send("\x15");
    terminal.wait_gone("Deeply.");
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_extension_asks_about_trust_before_there_is_a_screen() {
    let Some(path) = folder().map(|folder| folder.join("project-trust.ts")) else {
        println!("skipped: the examples of the TypeScript pi are not installed");
        return;
    };
    let world = World::new([]).await;
    world.home.write("project/.pi/prompts/plant.md", "Plant it");
    let terminal = Terminal::start(&world, &["-e", &path.to_string_lossy()]);
    terminal.wait("Project trust for:");
    terminal.send("\x1b[B\x1b[B\r");
    terminal.wait("loaded after trust resolution");
    terminal.wait("/plant");
    terminal.quit();
}
