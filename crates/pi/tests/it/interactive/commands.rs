//! Every built-in command and its dialog.

use crate::process::{World, answer};
use crate::terminal::Terminal;

#[tokio::test(flavor = "multi_thread")]
async fn every_dialog_opens_and_escape_closes_it() {
    let world = World::new([answer("Something to look at.")]).await;
    let terminal = Terminal::start(&world, &[]);
    terminal.wait("alpha");
    terminal.submit("say something");
    terminal.wait("Something to look at.");
    terminal.wait_gone("to stop");
    world.home.write("project/x.jsonl", "");
    for (command, part) in [
        ("/settings", "Compact by itself"),
        ("/model", "beta"),
        ("/thinking", "minimal"),
        ("/scoped-models", "beta"),
        ("/fork", "say something"),
        ("/tree", "say something"),
        ("/resume", "say something"),
        ("/trust", "project"),
        ("/login", "API key"),
        ("/hotkeys", "ctrl+o"),
        ("/changelog", "new"),
        ("/import x.jsonl", "x.jsonl"),
    ] {
        terminal.submit(command);
        // The dialog says how it is left; the prompt does not.
        terminal.wait("escape c");
        terminal.wait(part);
        terminal.send("\x1b");
        terminal.wait_until(command, |screen| !screen.contains("escape c"));
    }
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_say_what_they_did() {
    let world = World::new([answer("One.")]).await;
    let terminal = Terminal::start(&world, &[]);
    terminal.wait("alpha");
    terminal.submit("say one");
    terminal.wait("One.");
    terminal.wait_gone("to stop");
    terminal.submit("/name Cornflower");
    terminal.wait("• Cornflower");
    terminal.submit("/session");
    terminal.wait(".jsonl");
    terminal.submit("/export out.html");
    let page = world.project().join("out.html");
    terminal.wait_until("the exported page", |_| page.exists());
    terminal.submit("/export branch.jsonl");
    let branch = world.project().join("branch.jsonl");
    terminal.wait_until("the exported branch", |_| branch.exists());
    terminal.submit("/model beta");
    // Enter has taken the completion.
    terminal.wait("/model mock/beta");
    terminal.send("\r");
    terminal.wait("Model: beta");
    terminal.submit("/thinking nonsense");
    terminal.wait("nonsense");
    terminal.submit("/reload");
    terminal.wait("read again");
    terminal.submit("/clone");
    terminal.wait("copy");
    terminal.submit("/new");
    terminal.wait_gone("One.");
    terminal.submit("/quit");
    let mut terminal = terminal;
    assert_eq!(terminal.exit_code(), 0);
    terminal.assert_restored();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_of_the_user_runs_and_can_be_stopped() {
    let world = World::new([]).await;
    let terminal = Terminal::start(&world, &[]);
    terminal.wait("alpha");
    terminal.submit("!echo shell-$((20+3)); exit 4");
    terminal.wait("shell-23");
    terminal.wait("(exit 4)");
    terminal.submit("!echo be''gun; sleep 600");
    terminal.wait("begun");
    terminal.send("\x1b");
    terminal.wait("(stopped)");
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_setting_takes_the_whole_screen() {
    let world = World::new([]).await;
    world
        .home
        .write("agent/settings.json", "{\"tuiMode\": \"fullscreen\"}");
    let terminal = Terminal::start(&world, &[]);
    terminal.wait("alpha");
    assert!(terminal.is_alternate());
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn flags_of_the_screen_hold_for_the_run_and_are_not_saved() {
    let world = World::new([]).await;
    let settings = "{\"tuiMode\": \"regular\", \"theme\": \"dark\"}";
    world.home.write("agent/settings.json", settings);
    let flags = ["--tui-mode", "fullscreen", "--use-theme", "nowhere"];
    let terminal = Terminal::start(&world, &flags);
    terminal.wait("\"nowhere\"");
    assert!(terminal.is_alternate());
    terminal.submit("/reload");
    terminal.wait("have been read again");
    assert!(terminal.is_alternate());
    terminal.quit();
    assert_eq!(world.home.read("agent/settings.json"), settings);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flag_that_nobody_knows_is_told_before_the_screen() {
    let world = World::new([]).await;
    let mut terminal = Terminal::start(&world, &["--model=alpha"]);
    assert_eq!(terminal.exit_code(), 1);
    assert!(
        terminal
            .screen()
            .contains("--model takes its value as the next word")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_clears_and_leaves_when_pressed_twice() {
    let world = World::new([]).await;
    let mut terminal = Terminal::start(&world, &[]);
    terminal.wait("alpha");
    terminal.send("some words");
    terminal.wait("some words");
    terminal.send("\x03");
    terminal.wait_gone("some words");
    terminal.send("\x03\x03");
    assert_eq!(terminal.exit_code(), 0);
    terminal.assert_restored();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_to_end_restores_the_terminal() {
    let world = World::new([]).await;
    let mut terminal = Terminal::start(&world, &[]);
    terminal.wait("alpha");
    let process = terminal.process_id().to_string();
    let status = std::process::Command::new("kill")
        .args(["-TERM", &process])
        .status();
    assert!(status.unwrap().success());
    assert_eq!(terminal.exit_code(), 143);
    terminal.assert_restored();
}

#[tokio::test(flavor = "multi_thread")]
async fn another_theme_is_previewed_and_kept() {
    let world = World::new([]).await;
    world
        .home
        .write("agent/settings.json", "{\"theme\": \"dark\"}");
    let terminal = Terminal::start_with(&world, &[], &[("COLORTERM", "truecolor")]);
    terminal.wait("alpha");
    terminal.submit("/settings");
    terminal.wait("escape c");
    terminal.send("theme");
    terminal.wait("Colors of everything");
    terminal.send("\r");
    terminal.wait("What you select shows at once.");
    terminal.send("\x1b[B");
    terminal.wait("→   light");
    terminal.send("\r");
    terminal.wait("escape c");
    terminal.send("\x1b");
    terminal.wait_gone("escape c");
    let settings = world.home.read("agent/settings.json");
    assert!(settings.contains("\"theme\": \"light\""), "{settings}");
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_for_what_leaves_and_enters_the_program() {
    let world = World::new([answer("To be exported.")]).await;
    let terminal = Terminal::start(&world, &[]);
    terminal.wait("alpha");
    terminal.submit("/copy");
    terminal.wait("no answer to copy");
    terminal.submit("/fork");
    terminal.wait("no message to fork");
    terminal.submit("/logout");
    terminal.wait("No sign-in or key is stored");
    terminal.submit("export this");
    terminal.wait("To be exported.");
    terminal.wait_gone("to stop");
    terminal.submit("/export kept.jsonl");
    terminal.wait("The session is in");
    terminal.submit("/new");
    terminal.wait_gone("To be exported.");
    terminal.submit("/import nowhere.jsonl");
    // Without a question first.
    terminal.wait("there is no file");
    terminal.submit("/import kept.jsonl");
    terminal.wait("escape c");
    terminal.send("\r");
    terminal.wait("To be exported.");
    terminal.submit("/copy");
    terminal.wait("on the clipboard");
    terminal.submit("/debug");
    terminal.wait("The record is in");
    terminal.quit();
}
