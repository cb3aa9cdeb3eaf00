//! Snapshots of the examples' output.

use std::time::Instant;

use pi_tui::{
    FocusTarget, ImageProtocol, InputEvent, Key, KeyEvent, KeyId, ScreenMode, Size,
    TerminalCapabilities, Tui,
};

use crate::emulator::{Avt, Emulator as _, assert_synchronized, text};

#[expect(dead_code, reason = "the example's main function is not run here")]
#[path = "../../examples/chat.rs"]
mod chat;
#[expect(dead_code, reason = "the example's main function is not run here")]
#[path = "../../examples/editor.rs"]
mod editor;
#[expect(dead_code, reason = "the example's main function is not run here")]
#[path = "../../examples/images.rs"]
mod images;
#[expect(dead_code, reason = "the example's main function is not run here")]
#[path = "../../examples/overlays.rs"]
mod overlays;

const SIZE: Size = Size {
    columns: 60,
    rows: 16,
};

struct ExampleRun {
    tui: Tui,
    emulator: Avt,
}

impl ExampleRun {
    fn new(mut tui: Tui) -> Self {
        tui.set_size(SIZE);
        let mut emulator = Avt::new(SIZE);
        emulator.feed(&tui.start());
        let mut run = Self { tui, emulator };
        run.frame();
        run
    }

    fn frame(&mut self) -> String {
        let frame = self.tui.frame().unwrap();
        assert_synchronized(&frame);
        self.emulator.feed(&frame);
        frame
    }

    /// Returns the scrollback, a separator, and the screen.
    fn screenshot(&mut self) -> String {
        let (scrollback, screen) = self.emulator.rows();
        let mut rows = text(&scrollback);
        rows.push("~".repeat(SIZE.columns));
        rows.extend(text(&screen));
        rows.join("\n")
    }

    fn type_in(&mut self, text: &str) {
        for character in text.chars() {
            let key = match character {
                '\n' => KeyEvent::press(KeyId::new(Key::Enter)),
                character => KeyEvent::typed(character),
            };
            self.tui.handle(&InputEvent::Key(key), Instant::now());
            self.frame();
        }
    }
}

#[test]
fn chat() {
    let (tui, prompt, sent) = chat::ui(ScreenMode::Main);
    let mut run = ExampleRun::new(tui);
    assert_eq!(run.tui.scene().focused(), Some(FocusTarget::Dock(prompt)));
    for prompt in ["first\n", "second\n"] {
        run.type_in(prompt);
        let mut response = Some(chat::send(&mut run.tui, &sent.try_recv().unwrap()));
        while response.is_some() {
            chat::stream_word(&mut run.tui, &mut response);
            run.frame();
        }
    }
    insta::assert_snapshot!(run.screenshot());
}

#[test]
fn editor() {
    let (tui, id, sent) = editor::ui();
    let mut run = ExampleRun::new(tui);
    run.type_in("a prompt that is too long for one line of this terminal, sent\n");
    editor::add_submitted(&mut run.tui, id, &sent.try_recv().unwrap());
    run.type_in("and another one");
    insta::assert_snapshot!(run.screenshot());
}

#[test]
fn overlays() {
    let mut run = ExampleRun::new(overlays::ui(ScreenMode::Full));
    for (_, anchor) in overlays::ANCHORS {
        overlays::show(&mut run.tui, anchor);
        run.frame();
    }
    insta::assert_snapshot!(run.screenshot());
}

#[test]
fn images() {
    let ui = |capabilities| images::ui("sample.png", images::SAMPLE, capabilities);
    let mut run = ExampleRun::new(ui(TerminalCapabilities::default()));
    insta::assert_snapshot!("images_as_text", run.screenshot());
    let kitty = TerminalCapabilities {
        images: Some(ImageProtocol::Kitty),
        ..TerminalCapabilities::default()
    };
    let mut tui = ui(kitty);
    tui.set_size(SIZE);
    let frame = tui
        .frame()
        .unwrap()
        .replace('\x1b', "ESC")
        .replace('\r', "CR");
    // Image IDs are derived from the process ID.
    let (before, id) = frame.split_once("i=").unwrap();
    let after = id.trim_start_matches(|character: char| character.is_ascii_digit());
    insta::assert_snapshot!("images_as_bytes", format!("{before}i=ID{after}"));
}
