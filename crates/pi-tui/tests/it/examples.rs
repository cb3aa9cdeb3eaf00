//! What the examples show, as somebody who runs them sees it.

use pi_tui::{
    Capabilities, FocusTarget, ImageProtocol, InputEvent, KeyEvent, ScreenMode, Size, Tui,
};

use crate::emulator::{Avt, Emulator as _, assert_synchronized, text};

#[expect(dead_code, reason = "the program around the UI is not run here")]
#[path = "../../examples/chat.rs"]
mod chat;
#[expect(dead_code, reason = "the program around the UI is not run here")]
#[path = "../../examples/images.rs"]
mod images;
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
}

#[test]
fn chat() {
    let (tui, prompt) = chat::ui(ScreenMode::Main);
    let mut show = Show::new(tui);
    assert_eq!(show.tui.focused(), Some(FocusTarget::Dock(prompt)));
    for question in ["first", "second"] {
        for character in question.chars() {
            let key = InputEvent::Key(KeyEvent::typed(character));
            show.tui.handle(&key, std::time::Instant::now());
            show.frame();
        }
        let typed = chat::take_prompt(&mut show.tui, prompt).unwrap();
        let mut answer = Some(chat::send(&mut show.tui, typed));
        while answer.is_some() {
            chat::stream_word(&mut show.tui, &mut answer);
            show.frame();
        }
    }
    insta::assert_snapshot!(show.picture());
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
    let ui = |capabilities| {
        images::ui(
            "sample.png".to_owned(),
            images::SAMPLE.to_owned(),
            capabilities,
        )
    };
    let mut show = Show::new(ui(Capabilities::default()));
    insta::assert_snapshot!("images_as_text", show.picture());
    let kitty = Capabilities {
        images: Some(ImageProtocol::Kitty),
        ..Capabilities::default()
    };
    let mut tui = ui(kitty);
    tui.set_size(SIZE);
    let frame = tui
        .frame()
        .unwrap()
        .replace('\x1b', "ESC")
        .replace('\r', "CR");
    insta::assert_snapshot!("images_as_bytes", frame);
}
