//! What the examples show, as somebody who runs them sees it.

use std::time::Instant;

use pi_tui::{
    TerminalCapabilities, FocusTarget, ImageProtocol, InputEvent, Key, KeyEvent, KeyId, ScreenMode, Size,
    Tui, TuiOptions,
};

use crate::emulator::{Avt, Emulator as _, assert_synchronized, text};

#[expect(dead_code, reason = "the program around the UI is not run here")]
#[path = "../../examples/chat.rs"]
mod chat;
#[expect(dead_code, reason = "the program around the UI is not run here")]
#[path = "../../examples/editor.rs"]
mod editor;
#[expect(dead_code, reason = "the program around the UI is not run here")]
#[path = "../../examples/images.rs"]
mod images;
#[expect(dead_code, reason = "the program around the UI is not run here")]
#[path = "../../examples/markdown.rs"]
mod markdown;
#[expect(dead_code, reason = "the program around the UI is not run here")]
#[path = "../../examples/overlays.rs"]
mod overlays;

const SIZE: Size = Size {
    columns: 60,
    rows: 16,
};

struct Show {
    tui: Tui,
    emulator: Avt,
}

impl Show {
    fn new(mut tui: Tui) -> Self {
        tui.set_size(SIZE);
        let mut emulator = Avt::new(SIZE);
        emulator.feed(&tui.start());
        let mut show = Self { tui, emulator };
        show.frame();
        show
    }

    fn frame(&mut self) -> String {
        let frame = self.tui.frame().unwrap();
        assert_synchronized(&frame);
        self.emulator.feed(&frame);
        frame
    }

    /// Returns the scrollback, a rule, and the screen.
    fn picture(&mut self) -> String {
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
    let mut show = Show::new(tui);
    assert_eq!(show.tui.focused(), Some(FocusTarget::Dock(prompt)));
    for question in ["first\n", "second\n"] {
        show.type_in(question);
        let mut answer = Some(chat::send(&mut show.tui, &sent.try_recv().unwrap()));
        while answer.is_some() {
            chat::stream_word(&mut show.tui, &mut answer);
            show.frame();
        }
    }
    insta::assert_snapshot!(show.picture());
}

#[test]
fn editor() {
    let (tui, id, sent) = editor::ui();
    let mut show = Show::new(tui);
    show.type_in("a prompt that is too long for one line of this terminal, sent\n");
    editor::take(&mut show.tui, id, &sent.try_recv().unwrap());
    show.type_in("and another one");
    insta::assert_snapshot!(show.picture());
}

#[test]
fn markdown() {
    let mut tui = Tui::new(TuiOptions::default());
    tui.transcript_mut()
        .push(markdown::document(markdown::SAMPLE));
    insta::assert_snapshot!(Show::new(tui).picture());
}

#[test]
fn overlays() {
    let mut show = Show::new(overlays::ui(ScreenMode::Full));
    for (_, anchor) in overlays::ANCHORS {
        overlays::show(&mut show.tui, anchor);
        show.frame();
    }
    insta::assert_snapshot!(show.picture());
}

#[test]
fn images() {
    let ui = |capabilities| images::ui("sample.png", images::SAMPLE, capabilities);
    let mut show = Show::new(ui(TerminalCapabilities::default()));
    insta::assert_snapshot!("images_as_text", show.picture());
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
    // The id of a picture is taken from the process.
    let (before, id) = frame.split_once("i=").unwrap();
    let after = id.trim_start_matches(|character: char| character.is_ascii_digit());
    insta::assert_snapshot!("images_as_bytes", format!("{before}i=ID{after}"));
}
