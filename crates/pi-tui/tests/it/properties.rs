//! Property tests: after any sequence of steps, screen and scrollback equal those of a full paint.

use pi_tui::{
    BlockId, CURSOR_MARKER, Component, Liveness, OverlayAnchor, OverlayOptions, OverlayWidth,
    ScreenMode, ShrinkPolicy, Size, TuiOptions, wrap_text,
};
use proptest::prelude::*;

use crate::emulator::{Avt, EmulatedTui, Emulator, FixedLines, Paragraph, Rows, Vt100, strict};

/// An operation between frames.
#[derive(Clone, Debug)]
enum ScreenStep {
    Append(String),
    AppendLive(String),
    /// Replaces the text of a block, counted from the end.
    Replace(usize, String),
    Remove(usize),
    Dock(String),
    Height(usize),
    Width(usize),
    Overlay,
    Repaint,
}

const PIECES: [&str; 12] = [
    "word ",
    "another",
    "\n",
    "漢字",
    "\x1b[31m",
    "\x1b[1;44m",
    "\x1b[0m",
    "\x1b]8;;http://x\x1b\\",
    "é",
    "😀",
    "\n\n",
    "a much longer run of words that has to be wrapped ",
];

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(PIECES.as_slice()), 0..8)
        .prop_map(|pieces| pieces.concat())
}

fn any_step() -> impl Strategy<Value = ScreenStep> {
    prop_oneof![
        4 => text().prop_map(ScreenStep::Append),
        1 => text().prop_map(ScreenStep::AppendLive),
        2 => (0_usize..4, text()).prop_map(|(index, text)| ScreenStep::Replace(index, text)),
        1 => (0_usize..4).prop_map(ScreenStep::Remove),
        3 => text().prop_map(ScreenStep::Dock),
        2 => (1_usize..30).prop_map(ScreenStep::Height),
        1 => (1_usize..300).prop_map(ScreenStep::Width),
        1 => Just(ScreenStep::Overlay),
        1 => Just(ScreenStep::Repaint),
    ]
}

/// The expected content as plain data, next to the UI that shows it.
struct ModelTui<E> {
    ui: EmulatedTui<E>,
    size: Size,
    blocks: Vec<(BlockId, String)>,
    dock: (BlockId, String),
    overlay: Option<pi_tui::OverlayId>,
}

impl<E: Emulator> ModelTui<E> {
    fn new(size: Size, options: TuiOptions) -> Self {
        let mut ui = EmulatedTui::new(size, options);
        let dock = ui.tui.dock_mut().push(Paragraph(String::new()));
        Self {
            ui,
            size,
            blocks: Vec::new(),
            dock: (dock, String::new()),
            overlay: None,
        }
    }

    fn apply_step(&mut self, step: &ScreenStep) {
        let tui = &mut self.ui.tui;
        match step {
            ScreenStep::Append(text) | ScreenStep::AppendLive(text) => {
                let liveness = match step {
                    ScreenStep::AppendLive(_) => Liveness::Live,
                    _ => Liveness::Settled,
                };
                let block = Box::new(Paragraph(text.clone()));
                let id = tui.transcript_mut().push_boxed(block, liveness);
                self.blocks.push((id, text.clone()));
            }
            ScreenStep::Replace(index, text) => {
                if let Some((id, old)) = self.blocks.iter_mut().rev().nth(*index) {
                    old.clone_from(text);
                    set_text(tui.transcript_mut().get_mut(*id).unwrap(), text);
                }
            }
            ScreenStep::Remove(index) => {
                if *index < self.blocks.len() {
                    let (id, _) = self.blocks.remove(self.blocks.len() - 1 - index);
                    assert!(tui.transcript_mut().remove(id).is_some());
                }
            }
            ScreenStep::Dock(text) => {
                // The cursor is somewhere in the dock, as in an editor.
                let text = format!("> {CURSOR_MARKER}{text}");
                set_text(tui.dock_mut().get_mut(self.dock.0).unwrap(), &text);
                self.dock.1 = text;
            }
            ScreenStep::Height(rows) => {
                self.size.rows = *rows;
                self.ui.resize(self.size);
            }
            ScreenStep::Width(columns) => {
                self.size.columns = *columns;
                self.ui.resize(self.size);
            }
            ScreenStep::Overlay => match self.overlay.take() {
                Some(id) => {
                    tui.scene_mut().remove_overlay(id);
                }
                None => {
                    let options = OverlayOptions {
                        width: OverlayWidth::Columns(4),
                        anchor: OverlayAnchor::TopRight,
                        ..OverlayOptions::default()
                    };
                    let overlay = FixedLines::new(&["over", "\x1b[7mlay"]);
                    self.overlay = Some(tui.scene_mut().show_overlay(overlay, options));
                }
            },
            ScreenStep::Repaint => tui.repaint(),
        }
    }

    /// Returns the lines of all content, without incremental painting.
    fn lines(&self) -> Vec<String> {
        self.blocks
            .iter()
            .map(|(_, text)| text)
            .chain([&self.dock.1])
            .flat_map(|text| wrap_text(text, self.size.columns))
            .map(|line| line.replace(CURSOR_MARKER, ""))
            .collect()
    }

    /// Returns what an emulator shows after the content was printed in full.
    fn full_paint(&self, lines: &[String]) -> (Rows, Rows) {
        let mut emulator = E::new(self.size);
        for (index, line) in lines.iter().enumerate() {
            emulator.feed(if index > 0 { "\r\n" } else { "" });
            emulator.feed(line);
            emulator.feed("\x1b[0m\x1b]8;;\x1b\\");
        }
        emulator.rows()
    }
}

fn set_text(component: &mut dyn Component, text: &str) {
    let component: &mut dyn std::any::Any = component;
    text.clone_into(&mut component.downcast_mut::<Paragraph>().unwrap().0);
}

/// Runs steps and compares the screen with a full paint after each.
///
/// A terminal that reflows may push rows out although there is room below them, and pull them back
/// when it gets taller. Such rows are above the content, like those of the shell.
fn check_screen<E: Emulator>(
    size: Size,
    steps: &[ScreenStep],
    reflows: bool,
) -> Result<(), TestCaseError> {
    let mut model = ModelTui::<E>::new(size, strict(ShrinkPolicy::PullBack));
    let mut as_fixed_lines = (size, Rows::new());
    let mut reflowed = false;
    for step in steps {
        model.apply_step(step);
        model.ui.frame();
        let (scrollback, screen) = model.ui.emulator.rows();
        if model.overlay.is_none() {
            reflowed |= reflows && size.columns != model.size.columns;
            let (_, mut expected) = model.full_paint(&model.lines());
            let mut shown = screen;
            if reflowed {
                trim_blank(&mut shown);
                trim_blank(&mut expected);
                shown.drain(..shown.len().saturating_sub(expected.len()));
            }
            prop_assert_eq!(&shown, &expected, "screen after {:?}", step);
        }
        // Scrollback only ever grows while the size is unchanged.
        if as_fixed_lines.0 == model.size {
            let kept = scrollback.get(..as_fixed_lines.1.len());
            prop_assert_eq!(
                kept,
                Some(as_fixed_lines.1.as_slice()),
                "scrollback after {:?}",
                step
            );
        }
        as_fixed_lines = (model.size, scrollback);
        let idle = model.ui.tui.frame().unwrap();
        prop_assert_eq!(idle, "", "an idle frame is empty");
    }
    Ok(())
}

/// Steps that neither shrink the content nor change lines that have left the screen.
#[derive(Clone, Debug)]
enum GrowthStep {
    Append(String),
    /// Changes the last line's text, but not the line count.
    Dock(usize),
    Height(usize),
    Overlay,
}

fn growth() -> impl Strategy<Value = GrowthStep> {
    prop_oneof![
        4 => text().prop_map(GrowthStep::Append),
        2 => (0_usize..1000).prop_map(GrowthStep::Dock),
        2 => (1_usize..30).prop_map(GrowthStep::Height),
        1 => Just(GrowthStep::Overlay),
    ]
}

/// Runs steps and compares screen and scrollback with a full paint after each.
fn check_scrollback<E: Emulator>(
    size: Size,
    shrink: ShrinkPolicy,
    steps: &[GrowthStep],
) -> Result<(), TestCaseError> {
    let mut model = ModelTui::<E>::new(size, strict(shrink));
    // A single line in the dock is never in the scrollback, whatever the height.
    model.apply_step(&ScreenStep::Dock(String::new()));
    model.ui.frame();
    for step in steps {
        if let (GrowthStep::Height(_), Some(_)) = (step, model.overlay) {
            // A terminal that gets shorter pushes out what it shows, overlays included.
            model.apply_step(&ScreenStep::Overlay);
            model.ui.frame();
        }
        model.apply_step(&match step {
            GrowthStep::Append(text) => ScreenStep::Append(text.clone()),
            GrowthStep::Dock(number) => ScreenStep::Dock(number.to_string()),
            GrowthStep::Height(rows) => ScreenStep::Height(*rows),
            GrowthStep::Overlay => ScreenStep::Overlay,
        });
        model.ui.frame();
        if model.overlay.is_none() {
            let lines = model.lines();
            let (mut all, screen) = model.ui.emulator.rows();
            all.extend(screen);
            let (mut expected, screen) = model.full_paint(&lines);
            expected.extend(screen);
            // Rows claimed by an overlay stay below the content.
            trim_blank(&mut all);
            trim_blank(&mut expected);
            prop_assert_eq!(&all, &expected, "after {:?}", step);
        }
    }
    Ok(())
}

fn trim_blank(rows: &mut Rows) {
    while rows.last().is_some_and(Vec::is_empty) {
        rows.pop();
    }
}

fn size() -> impl Strategy<Value = Size> {
    (8_usize..60, 2_usize..20).prop_map(|(columns, rows)| Size { columns, rows })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn screen_equals_a_full_paint_where_resizing_reflows(
        size in size(), steps in prop::collection::vec(any_step(), 1..30),
    ) {
        check_screen::<Avt>(size, &steps, true)?;
    }

    #[test]
    fn screen_equals_a_full_paint_where_resizing_truncates(
        size in size(), steps in prop::collection::vec(any_step(), 1..30),
    ) {
        check_screen::<Vt100>(size, &steps, false)?;
    }

    #[test]
    fn scrollback_equals_a_full_paint(
        size in size(),
        pull_back in any::<bool>(),
        steps in prop::collection::vec(growth(), 1..40),
    ) {
        let shrink = if pull_back { ShrinkPolicy::PullBack } else { ShrinkPolicy::LeaveEmpty };
        check_scrollback::<Avt>(size, shrink, &steps)?;
        check_scrollback::<Vt100>(size, shrink, &steps)?;
    }

    #[test]
    fn full_screen_shows_transcript_and_dock(
        size in size(), steps in prop::collection::vec(any_step(), 1..30),
    ) {
        let options = TuiOptions { mode: ScreenMode::Full, ..strict(ShrinkPolicy::LeaveEmpty) };
        let mut model = ModelTui::<Avt>::new(size, options);
        for step in &steps {
            model.apply_step(step);
            model.ui.frame();
            if model.overlay.is_some() {
                continue;
            }
            let wrap = |text: &str| wrap_text(&text.replace(CURSOR_MARKER, ""), model.size.columns);
            let dock = wrap(&model.dock.1);
            let dock = &dock[dock.len().saturating_sub(model.size.rows)..];
            let transcript: Vec<String> =
                model.blocks.iter().flat_map(|(_, text)| wrap(text)).collect();
            let height = model.size.rows - dock.len();
            let mut lines = transcript[transcript.len().saturating_sub(height)..].to_vec();
            lines.resize(height, String::new());
            lines.extend(dock.iter().cloned());
            let (_, expected) = model.full_paint(&lines);
            let (_, screen) = model.ui.emulator.rows();
            prop_assert_eq!(&screen, &expected, "after {:?}", step);
        }
    }
}

#[test]
fn a_full_row_keeps_its_last_column_when_only_its_styles_change() {
    let size = Size {
        columns: 1,
        rows: 8,
    };
    let dock = |text: &str| ScreenStep::Dock(text.to_owned());
    check_screen::<Avt>(size, &[dock("word "), dock(""), dock("x"), dock("")], false).unwrap();
}
