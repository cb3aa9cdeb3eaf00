//! Tests of suspension, the external editor and the scrollback.

use pretty_assertions::assert_eq;

use super::*;
use crate::app::command::listed;
use crate::app::context::TestContext;

#[derive(Default)]
struct TerminalTester {
    terminal: TerminalController,
    app: TestContext,
}

impl TerminalTester {
    fn send(&mut self, message: TerminalMsg) -> Vec<String> {
        listed(&self.terminal.update(message, &self.app.context()))
    }

    fn edit(&mut self, target: EditTarget) {
        let text = "draft".to_owned();
        let commands = self.send(TerminalMsg::Edit { text, target });
        assert_eq!(commands, ["ReleaseTerminal"]);
        assert!(!self.terminal.is_released(), "not before it is released");
        let commands = self.send(TerminalMsg::Released(Ok(())));
        assert_eq!(commands, ["EditExternally(\"draft\")"]);
        assert!(self.terminal.is_released());
    }
}

#[cfg(unix)]
#[test]
fn suspension_is_requested_once() {
    let mut tester = TerminalTester::default();
    assert!(!tester.terminal.take_suspension());
    assert!(tester.send(TerminalMsg::Suspend).is_empty());
    assert!(tester.terminal.take_suspension());
    assert!(!tester.terminal.take_suspension());
}

#[test]
fn the_editor_has_the_terminal_until_it_is_closed() {
    let mut tester = TerminalTester::default();
    tester.edit(EditTarget::Prompt);
    let closed = Ok(Some("edited".to_owned()));
    let commands = tester.send(TerminalMsg::EditorClosed(closed));
    assert_eq!(commands, ["ReclaimTerminal"]);
    assert!(tester.terminal.is_released(), "not before it is reclaimed");
    let commands = tester.send(TerminalMsg::Reclaimed(Ok(())));
    assert_eq!(commands, ["Prompt(SetText(\"edited\"))"]);
    assert!(!tester.terminal.is_released());
}

#[test]
fn edited_text_of_a_dialog_returns_to_it() {
    let mut tester = TerminalTester::default();
    tester.edit(EditTarget::Dialog);
    tester.send(TerminalMsg::EditorClosed(Ok(Some("edited".to_owned()))));
    let commands = tester.send(TerminalMsg::Reclaimed(Ok(())));
    assert_eq!(commands, ["UpdateDialog(Edited(\"edited\"))"]);
}

#[test]
fn an_unchanged_text_and_a_failed_editor_are_reported() {
    let mut tester = TerminalTester::default();
    for (closed, shown) in [
        (Ok(None), "Status: No changes from the editor"),
        (Err("not found".to_owned()), "Error: not found"),
    ] {
        tester.edit(EditTarget::Prompt);
        tester.send(TerminalMsg::EditorClosed(closed));
        assert_eq!(tester.send(TerminalMsg::Reclaimed(Ok(()))), [shown]);
    }
}

#[test]
fn a_clicked_file_opens_the_editor_once_it_is_found() {
    let mut tester = TerminalTester::default();
    let commands = tester.send(TerminalMsg::OpenUrl("pi-file:3:0:src/a.rs".to_owned()));
    assert!(commands[0].starts_with("EditFile("), "{commands:?}");
    let command = |setting: &str| {
        let file = std::path::Path::new("/p/a.rs");
        EditorCommand::new(setting, file, None).unwrap()
    };
    let commands = tester.send(TerminalMsg::OpenEditor(command("code -w")));
    assert_eq!(commands, ["run start the editor"]);
    assert!(!tester.terminal.is_released());
    let commands = tester.send(TerminalMsg::OpenEditor(command("vim")));
    assert_eq!(commands, ["ReleaseTerminal"]);
    let commands = tester.send(TerminalMsg::Released(Ok(())));
    assert_eq!(commands, ["run run the editor"]);
    tester.send(TerminalMsg::EditorClosed(Ok(None)));
    assert!(tester.send(TerminalMsg::Reclaimed(Ok(()))).is_empty());
}

#[test]
fn a_terminal_that_cannot_be_released_stays_in_use() {
    let mut tester = TerminalTester::default();
    let text = "draft".to_owned();
    let target = EditTarget::Prompt;
    tester.send(TerminalMsg::Edit { text, target });
    let commands = tester.send(TerminalMsg::Released(Err("broken".to_owned())));
    assert_eq!(commands, ["Error: broken"]);
    assert!(!tester.terminal.is_released());
}

#[test]
fn a_terminal_that_cannot_be_reclaimed_ends_the_application() {
    let mut tester = TerminalTester::default();
    tester.edit(EditTarget::Prompt);
    tester.send(TerminalMsg::EditorClosed(Ok(None)));
    let commands = tester.send(TerminalMsg::Reclaimed(Err("gone".to_owned())));
    assert_eq!(commands, ["Quit(Terminated)"]);
}

#[test]
fn interrupting_leaves_the_scrollback_first() {
    let mut tester = TerminalTester::default();
    let entered = tester.send(TerminalMsg::EnterScrollback);
    assert_eq!(entered[0], "ViewScrollback");
    assert_eq!(tester.send(TerminalMsg::Interrupt), ["LeaveScrollback"]);
    assert_eq!(tester.send(TerminalMsg::Interrupt), ["Prompt(Interrupt)"]);
    assert!(tester.send(TerminalMsg::LeaveScrollback).is_empty());
}

#[test]
fn another_screen_mode_ends_the_scrollback() {
    let mut tester = TerminalTester::default();
    tester.send(TerminalMsg::EnterScrollback);
    tester.send(TerminalMsg::ModeChanged);
    assert!(tester.send(TerminalMsg::LeaveScrollback).is_empty());
}

#[test]
fn the_selection_is_copied_before_the_last_response() {
    let mut tester = TerminalTester::default();
    let selected = Some("part".to_owned());
    let commands = tester.send(TerminalMsg::CopyAnswer { selected });
    assert!(commands[0].contains("Copied the selection"), "{commands:?}");
    let commands = tester.send(TerminalMsg::CopyAnswer { selected: None });
    assert_eq!(commands, ["session ReadLastResponse"]);
    let commands = tester.send(TerminalMsg::LastResponse(Ok(None)));
    assert_eq!(commands, ["Status: No response to copy"]);
}

#[test]
fn only_web_addresses_are_opened() {
    let mut tester = TerminalTester::default();
    let url = "file:///etc/passwd".to_owned();
    let commands = tester.send(TerminalMsg::OpenUrl(url));
    assert_eq!(
        commands,
        ["Warning: Not a web URL, not opened: file:///etc/passwd"]
    );
    let url = "https://example.com".to_owned();
    assert_eq!(tester.send(TerminalMsg::OpenUrl(url)), ["run open"]);
}

#[test]
fn a_pasted_image_is_inserted_as_its_path() {
    let mut tester = TerminalTester::default();
    let image = ClipboardContents::Image(PathBuf::from("/tmp/a.png"));
    let commands = tester.send(TerminalMsg::Pasted(Ok(image)));
    assert_eq!(commands, ["Prompt(Insert(\"/tmp/a.png\"))"]);
    let commands = tester.send(TerminalMsg::Pasted(Ok(ClipboardContents::Nothing)));
    assert_eq!(commands, ["Status: The clipboard is empty"]);
}

#[test]
fn copied_text_reaches_the_terminal_and_the_clipboard() {
    let mut tester = TerminalTester::default();
    let copy = TerminalMsg::Copy {
        text: "part".to_owned(),
        done: "Copied",
    };
    assert_eq!(
        tester.send(copy),
        ["CopyToTerminal(\"part\")", "run write the clipboard"]
    );
    assert_eq!(
        tester.send(TerminalMsg::Copied { done: "Copied" }),
        ["Status: Copied"]
    );
}

#[test]
fn a_file_that_cannot_be_opened_is_named() {
    let mut tester = TerminalTester::default();
    let file = TerminalMsg::OpenFile(PathBuf::from("page.html"));
    assert_eq!(tester.send(file), ["run open"]);
    let failed = TerminalMsg::OpenFailed {
        what: "page.html".to_owned(),
    };
    assert_eq!(
        tester.send(failed),
        ["Warning: No application could be started. Open it yourself: page.html"]
    );
}

#[test]
fn the_scrollback_is_part_of_the_full_screen() {
    let mut tester = TerminalTester::default();
    let ctx = AppContext {
        screen_mode: ScreenMode::Full,
        ..tester.app.context()
    };
    let commands = tester.terminal.update(TerminalMsg::EnterScrollback, &ctx);
    assert!(commands.is_empty());
}

#[test]
fn files_of_the_clipboard_are_inserted_as_paths() {
    let mut tester = TerminalTester::default();
    let files = || {
        let files = ["/tmp/a.txt", "/tmp/it's here"].map(Into::into).to_vec();
        TerminalMsg::Pasted(Ok(ClipboardContents::Files(files)))
    };
    let commands = tester.send(files());
    assert_eq!(commands, [r#"Prompt(Insert("/tmp/a.txt /tmp/it's here"))"#]);
    tester.app.prompt = "!cat ".to_owned();
    let commands = tester.send(files());
    assert_eq!(
        commands,
        [r#"Prompt(Insert("/tmp/a.txt '/tmp/it'\\''s here'"))"#]
    );
}
