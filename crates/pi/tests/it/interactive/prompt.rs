//! The prompt: pastes, history, completion, the user's own editor.

use crate::process::{World, answer};
use crate::terminal::Terminal;

#[tokio::test(flavor = "multi_thread")]
async fn a_paste_of_a_megabyte_is_a_marker_and_is_sent_whole() {
    let world = World::new([answer("Read it.")]).await;
    let terminal = Terminal::start(&world, &[]);
    terminal.wait("alpha");
    let text = format!("{}\n", "x".repeat(99)).repeat(10_000);
    terminal.paste(&text);
    terminal.wait("[paste #1");
    terminal.send("\r");
    terminal.wait("Read it.");
    let body = world.server.requests()[0].json().to_string();
    assert!(body.len() > 1_000_000, "{}", body.len());
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn up_brings_back_what_was_sent() {
    let world = World::new([answer("First.")]).await;
    let terminal = Terminal::start(&world, &[]);
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
    let world = World::new([]).await;
    world.home.write("project/greenhouse.rs", "x");
    let terminal = Terminal::start(&world, &[]);
    terminal.wait("alpha");
    terminal.send("/hot");
    terminal.wait("Show the keys");
    terminal.send("\x1b\x7f\x7f\x7f\x7f");
    terminal.wait_gone("Show the keys");
    terminal.send("look at @gre");
    terminal.wait("greenhouse.rs");
    terminal.send("\t");
    terminal.wait("look at @greenhouse.rs");
    terminal.send("\x03");
    terminal.wait_gone("greenhouse.rs");
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_menu_shows_what_a_template_takes() {
    let world = World::new([]).await;
    let template =
        "---\ndescription: Review a change\nargument-hint: \"[branch]\"\n---\nReview $1.";
    world.home.write("agent/prompts/review.md", template);
    let terminal = Terminal::start(&world, &[]);
    terminal.wait("alpha");
    terminal.send("/rev");
    terminal.wait("[branch] — Review a change");
    terminal.send("\x15");
    terminal.wait_gone("[branch]");
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_users_editor_changes_the_prompt() {
    let world = World::new([]).await;
    let script = world.home.write(
        "editor.sh",
        "#!/bin/sh\nprintf 'edited elsewhere' > \"$1\"\n",
    );
    let command = format!("sh {}", script.display());
    let terminal = Terminal::start_with(&world, &[], &[("EDITOR", &command)]);
    terminal.wait("alpha");
    terminal.send("draft");
    terminal.wait("draft");
    terminal.send("\x07");
    terminal.wait("edited elsewhere");
    terminal.send("\x03");
    terminal.wait_gone("edited elsewhere");
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_theme_file_takes_effect_while_it_is_written() {
    let world = World::new([]).await;
    let dark = include_str!("../../../../pi-interactive/themes/dark.json");
    let own = dark.replace("\"name\": \"dark\"", "\"name\": \"own\"");
    world.home.write("agent/themes/own.json", &own);
    world
        .home
        .write("agent/settings.json", "{\"theme\": \"own\"}");
    let terminal = Terminal::start_with(&world, &[], &[("COLORTERM", "truecolor")]);
    terminal.wait("alpha");
    world.home.write("agent/themes/own.json", "{");
    terminal.wait("the theme \"own\" cannot be used");
    world.home.write("agent/themes/own.json", &own);
    terminal.quit();
}
