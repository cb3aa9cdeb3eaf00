//! Overlays at every edge: the digits 1 to 9 toggle one each, Escape closes the last one.
//!
//! Run with `cargo run -p pi-tui --example overlays [full]`; Ctrl+C exits.

use std::collections::BTreeMap;

use pi_tui::{
    ExitBehavior, InputEvent, Key, KeyId, Modifiers, OverlayAnchor, OverlayId, OverlayMargin,
    OverlayOptions, OverlayWidth, PaddedBox, Runner, RunnerEvent, RunnerOptions, ScreenMode, Style,
    Text, Tui, TuiOptions,
};

/// Paragraphs for the background.
fn background() -> Text {
    let lines: Vec<String> = (1..=40)
        .map(|number| format!("{number}. lorem ipsum 漢字 dolor sit amet, consectetur"))
        .collect();
    Text::new(lines.join("\n")).padding(0, 0)
}

/// A card with a name on it.
fn card(name: &str) -> PaddedBox {
    let mut card = PaddedBox::new().background(Style::plain().inverse());
    card.children().push(Text::new(name).padding(0, 0));
    card
}

pub(crate) const ANCHORS: [(char, OverlayAnchor); 9] = [
    ('1', OverlayAnchor::TopLeft),
    ('2', OverlayAnchor::TopCenter),
    ('3', OverlayAnchor::TopRight),
    ('4', OverlayAnchor::LeftCenter),
    ('5', OverlayAnchor::Center),
    ('6', OverlayAnchor::RightCenter),
    ('7', OverlayAnchor::BottomLeft),
    ('8', OverlayAnchor::BottomCenter),
    ('9', OverlayAnchor::BottomRight),
];

/// Returns the initial UI.
pub(crate) fn ui(mode: ScreenMode) -> Tui {
    let mut tui = Tui::new(TuiOptions {
        mode,
        ..TuiOptions::default()
    });
    tui.transcript_mut().push(background());
    tui
}

/// Shows a card at an anchor.
pub(crate) fn show(tui: &mut Tui, anchor: OverlayAnchor) -> OverlayId {
    let options = OverlayOptions {
        width: OverlayWidth::Percent(30.0),
        anchor,
        margin: OverlayMargin::all(1),
        ..OverlayOptions::default()
    };
    tui.scene_mut()
        .show_overlay(card(&format!("{anchor:?}")), options)
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
                let tui = runner.tui_mut();
                if key.is(KeyId::new(Key::Escape)) {
                    tui.scene_mut().remove_last_overlay();
                }
                for (digit, anchor) in ANCHORS {
                    if key.text() != Some(digit) {
                        continue;
                    }
                    if let Some(id) = shown.remove(&digit)
                        && tui.scene_mut().remove_overlay(id).is_some()
                    {
                        continue;
                    }
                    shown.insert(digit, show(tui, anchor));
                }
            }
            RunnerEvent::Input { .. }
            | RunnerEvent::OpenUrl(_)
            | RunnerEvent::Colors(_)
            | RunnerEvent::ColorScheme(_)
            | RunnerEvent::Resized => {}
        }
    }
    runner.stop(ExitBehavior::RestoreScreen)?;
    Ok(())
}
