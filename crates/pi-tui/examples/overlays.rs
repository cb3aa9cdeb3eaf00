//! Overlays at every edge: the digits 1 to 9 show and hide one each, Escape closes the last one.
//!
//! Run with `cargo run -p pi-tui --example overlays [full]`; Ctrl+C leaves.

use std::collections::BTreeMap;

use pi_tui::{
    Anchor, Boxed, InputEvent, Key, KeyId, Leave, Margin, Markdown, MarkdownTheme, Modifiers,
    OverlayId, OverlayOptions, Runner, RunnerEvent, RunnerOptions, ScreenMode, Style, Text, Tui,
    TuiOptions, Width,
};

/// Paragraphs to lay something over.
fn ground() -> Markdown {
    let lines: Vec<String> = (1..=40)
        .map(|number| format!("{number}\\. **lorem** ipsum `漢字` dolor sit amet, consectetur"))
        .collect();
    let text = lines.join("\n");
    Markdown::new(&text, MarkdownTheme::default())
}

/// A card with a name on it.
fn card(name: &str) -> Boxed {
    let mut card = Boxed::new().background(Style::plain().inverse());
    card.children().push(Text::new(name).padding(0, 0));
    card
}

pub(crate) const ANCHORS: [(char, Anchor); 9] = [
    ('1', Anchor::TopLeft),
    ('2', Anchor::TopCenter),
    ('3', Anchor::TopRight),
    ('4', Anchor::LeftCenter),
    ('5', Anchor::Center),
    ('6', Anchor::RightCenter),
    ('7', Anchor::BottomLeft),
    ('8', Anchor::BottomCenter),
    ('9', Anchor::BottomRight),
];

/// The UI before anything was pressed.
pub(crate) fn ui(mode: ScreenMode) -> Tui {
    let mut tui = Tui::new(TuiOptions {
        mode,
        ..TuiOptions::default()
    });
    tui.transcript_mut().push(ground());
    tui
}

/// Shows a card at an anchor.
pub(crate) fn show(tui: &mut Tui, anchor: Anchor) -> OverlayId {
    let options = OverlayOptions {
        width: Width::Percent(30.0),
        anchor,
        margin: Margin::all(1),
        ..OverlayOptions::default()
    };
    tui.show_overlay(card(&format!("{anchor:?}")), options)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mode = match std::env::args().nth(1).as_deref() {
        Some("full") => ScreenMode::Full,
        _ => ScreenMode::Main,
    };
    let tui = ui(mode);
    let mut runner = Runner::start(tui, RunnerOptions::default())?;
    let mut shown: BTreeMap<char, OverlayId> = BTreeMap::new();
    loop {
        match runner.next().await? {
            RunnerEvent::Terminated => break,
            RunnerEvent::Input {
                event: InputEvent::Key(key),
                ..
            } => {
                if key.is(KeyId::new(Key::Char('c')).with(Modifiers::CTRL)) {
                    break;
                }
                let tui = runner.tui();
                if key.is(KeyId::new(Key::Escape)) {
                    tui.remove_last_overlay();
                }
                for (digit, anchor) in ANCHORS {
                    if key.text() != Some(digit) {
                        continue;
                    }
                    if let Some(id) = shown.remove(&digit)
                        && tui.remove_overlay(id).is_some()
                    {
                        continue;
                    }
                    shown.insert(digit, show(tui, anchor));
                }
            }
            RunnerEvent::Input { .. }
            | RunnerEvent::OpenUrl(_)
            | RunnerEvent::ColorScheme(_)
            | RunnerEvent::Resized => {}
        }
    }
    runner.stop(Leave::AsItWas)?;
    Ok(())
}
