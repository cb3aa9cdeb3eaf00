//! Overlays at every edge: the digits 1 to 9 show and hide one each, Escape closes the last one.
//!
//! Run with `cargo run -p pi-tui --example overlays [full]`; Ctrl+C leaves.

use std::collections::BTreeMap;

use pi_tui::{
    Anchor, Component, InputEvent, Key, KeyId, Leave, Line, Lines, Margin, Modifiers, OverlayId,
    OverlayOptions, Runner, RunnerEvent, RunnerOptions, ScreenMode, Style, Tui, TuiOptions, Width,
    pad_to_width, truncate_to_width,
};

/// Text with a frame around it.
struct Card(String);

impl Component for Card {
    fn render(&mut self, width: usize) -> Lines {
        let inner = width.saturating_sub(2);
        let edge = "─".repeat(inner);
        let text = truncate_to_width(&self.0, inner, pi_tui::Truncation::default()).into_owned();
        let paint = |line: String| {
            Line::from(
                Style::plain()
                    .inverse()
                    .apply(&pi_tui::slice_columns(&line, 0..width, pi_tui::Edge::Drop).text),
            )
        };
        Lines::from(vec![
            paint(format!("╭{edge}╮")),
            paint(format!("│{}│", pad_to_width(&text, inner))),
            paint(format!("╰{edge}╯")),
        ])
    }
}

/// Numbered lines to lay something over.
struct Ground;

impl Component for Ground {
    fn render(&mut self, width: usize) -> Lines {
        (1..=40)
            .map(|number| {
                let line = format!("{number:>3} {}", "lorem ipsum 漢字 ".repeat(20));
                pi_tui::slice_columns(&line, 0..width, pi_tui::Edge::Drop).text
            })
            .collect()
    }
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
    tui.transcript_mut().push(Ground);
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
    tui.show_overlay(Card(format!("{anchor:?}")), options)
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
