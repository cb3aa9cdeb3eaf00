//! Built-in commands and their dialogs.

use crate::harness::{TestContext, text_reply};
use crate::terminal::Terminal;

#[tokio::test(flavor = "multi_thread")]
async fn every_dialog_opens_and_escape_closes_it() {
    let context = TestContext::new([text_reply("Some answer.")]).await;
    let terminal = Terminal::start(&context, &[]);
    terminal.wait("alpha");
    terminal.submit("answer something");
    terminal.wait("Some answer.");
    terminal.wait_gone("to stop");
    context.home.write("project/x.jsonl", "");
    for (command, part) in [
        ("/settings", "Auto-compact"),
        ("/model", "beta"),
        ("/thinking", "minimal"),
        ("/scoped-models", "beta"),
        ("/fork", "answer something"),
        ("/tree", "answer something"),
        ("/resume", "answer something"),
        ("/trust", "project"),
        ("/login", "API key"),
        ("/hotkeys", "ctrl+o"),
        ("/changelog", "Changelog"),
        ("/import x.jsonl", "x.jsonl"),
    ] {
        terminal.submit(command);
        // The key hint to close a dialog; the prompt does not show it.
        terminal.wait("escape c");
        terminal.wait(part);
        terminal.send("\x1b");
        terminal.wait_until(command, |screen| !screen.contains("escape c"));
    }
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_report_their_results() {
    let context = TestContext::new([text_reply("One.")]).await;
    let terminal = Terminal::start(&context, &[]);
    terminal.wait("alpha");
    terminal.submit("count");
    terminal.wait("One.");
    terminal.wait_gone("to stop");
    terminal.submit("/name Cornflower");
    terminal.wait("• Cornflower");
    terminal.submit("/session");
    terminal.wait(".jsonl");
    terminal.submit("/export out.html");
    let page = context.project_dir().join("out.html");
    terminal.wait_until("the exported page", |_| page.exists());
    terminal.submit("/export branch.jsonl");
    let branch = context.project_dir().join("branch.jsonl");
    terminal.wait_until("the exported branch", |_| branch.exists());
    terminal.submit("/model beta");
    // The first Enter accepts the completion.
    terminal.wait("/model mock/beta");
    terminal.send("\r");
    terminal.wait("Model: beta");
    terminal.submit("/thinking invalid");
    terminal.wait("invalid");
    terminal.submit("/reload");
    terminal.wait("Reloaded keys");
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
async fn shell_commands_run_and_can_be_interrupted() {
    let context = TestContext::new([]).await;
    let terminal = Terminal::start(&context, &[]);
    terminal.wait("alpha");
    terminal.submit("!echo shell-$((20+3)); exit 4");
    terminal.wait("shell-23");
    terminal.wait("(exit 4)");
    terminal.submit("!echo star''ted; sleep 600");
    terminal.wait("started");
    terminal.send("\x1b");
    terminal.wait("(stopped)");
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn full_screen_is_the_default_and_a_setting_turns_it_off() {
    for (settings, is_alternate) in [
        ("{}", true),
        ("{\"tuiMode\": \"fullscreen\"}", true),
        ("{\"tuiMode\": \"regular\"}", false),
    ] {
        let context = TestContext::new([]).await;
        context.home.write("agent/settings.json", settings);
        let terminal = Terminal::start(&context, &[]);
        terminal.wait("alpha");
        assert_eq!(terminal.is_alternate(), is_alternate, "{settings}");
        terminal.quit();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn changed_defaults_are_explained_once_after_an_update() {
    let context = TestContext::new([]).await;
    let settings = "{\"lastChangelogVersion\": \"0.87.1\"}";
    context.home.write("agent/settings.json", settings);
    let terminal = Terminal::start(&context, &[]);
    terminal.wait("pi now starts full screen");
    terminal.quit();
    let saved = context.home.read("agent/settings.json");
    assert!(saved.contains("\"1.5.0\""), "{saved}");
    let terminal = Terminal::start(&context, &[]);
    terminal.wait("alpha");
    assert!(!terminal.screen().contains("pi now starts full screen"));
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn display_options_apply_to_the_run_and_are_not_saved() {
    let context = TestContext::new([]).await;
    let settings = "{\"tuiMode\": \"regular\", \"theme\": \"dark\"}";
    context.home.write("agent/settings.json", settings);
    let flags = ["--tui-mode", "fullscreen", "--use-theme", "missing"];
    let terminal = Terminal::start(&context, &flags);
    terminal.wait("\"missing\"");
    assert!(terminal.is_alternate());
    terminal.submit("/reload");
    terminal.wait("Reloaded keys");
    assert!(terminal.is_alternate());
    terminal.quit();
    assert_eq!(context.home.read("agent/settings.json"), settings);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_option_is_reported_before_the_ui_starts() {
    let context = TestContext::new([]).await;
    let mut terminal = Terminal::start(&context, &["--model=alpha"]);
    assert_eq!(terminal.exit_code(), 1);
    assert!(
        terminal
            .screen()
            .contains("--model takes its value as the next argument")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_clears_the_prompt_and_exits_when_pressed_twice() {
    let context = TestContext::new([]).await;
    let mut terminal = Terminal::start(&context, &[]);
    terminal.wait("alpha");
    terminal.send("some text");
    terminal.wait("some text");
    terminal.send("\x03");
    terminal.wait_gone("some text");
    terminal.send("\x03\x03");
    assert_eq!(terminal.exit_code(), 0);
    terminal.assert_restored();
}

#[tokio::test(flavor = "multi_thread")]
async fn sigterm_restores_the_terminal() {
    let context = TestContext::new([]).await;
    let mut terminal = Terminal::start(&context, &[]);
    terminal.wait("alpha");
    let pid = terminal.process_id().to_string();
    let status = std::process::Command::new("kill")
        .args(["-TERM", &pid])
        .status();
    assert!(status.unwrap().success());
    assert_eq!(terminal.exit_code(), 143);
    terminal.assert_restored();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_selected_theme_is_previewed_and_saved() {
    let context = TestContext::new([]).await;
    context
        .home
        .write("agent/settings.json", "{\"theme\": \"dark\"}");
    let terminal = Terminal::start_with(&context, &[], &[("COLORTERM", "truecolor")]);
    terminal.wait("alpha");
    terminal.submit("/settings");
    terminal.wait("escape c");
    terminal.send("theme");
    terminal.wait("Color theme.");
    terminal.send("\r");
    terminal.wait("The selected theme is previewed.");
    terminal.send("\x1b[B");
    terminal.wait("→   light");
    terminal.send("\r");
    terminal.wait("escape c");
    terminal.send("\x1b");
    terminal.wait_gone("escape c");
    let settings = context.home.read("agent/settings.json");
    assert!(settings.contains("\"theme\": \"light\""), "{settings}");
    terminal.quit();
}

#[tokio::test(flavor = "multi_thread")]
async fn copy_export_and_import() {
    let context = TestContext::new([text_reply("To be exported.")]).await;
    let terminal = Terminal::start(&context, &[]);
    terminal.wait("alpha");
    terminal.submit("/copy");
    terminal.wait("No response to copy");
    terminal.submit("/fork");
    terminal.wait("no messages to fork from");
    terminal.submit("/logout");
    terminal.wait("No stored credentials");
    terminal.submit("export this");
    terminal.wait("To be exported.");
    terminal.wait_gone("to stop");
    terminal.submit("/export exported.jsonl");
    terminal.wait("Session exported to");
    terminal.submit("/new");
    terminal.wait_gone("To be exported.");
    terminal.submit("/import missing.jsonl");
    // No confirmation is shown first.
    terminal.wait("file not found");
    terminal.submit("/import exported.jsonl");
    terminal.wait("escape c");
    terminal.send("\r");
    terminal.wait("To be exported.");
    terminal.submit("/copy");
    terminal.wait("Copied the last response");
    terminal.submit("/debug");
    terminal.wait("Debug dump written to");
    terminal.quit();
}
