//! Whatever happens, the screen and the scrollback are those of a full paint.

use pi_tui::{
    OverlayAnchor, BlockId, CURSOR_MARKER, Component, Liveness, OverlayOptions, ScreenMode, ShrinkPolicy,
    Size, TuiOptions, OverlayWidth, wrap_text,
};
use proptest::prelude::*;

use crate::emulator::{Avt, Emulator, Fixed, Paragraph, Rows, Stage, Vt100, strict};

/// Something that happens between frames.
#[derive(Clone, Debug)]
enum Step {
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

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => text().prop_map(Step::Append),
        1 => text().prop_map(Step::AppendLive),
        2 => (0_usize..4, text()).prop_map(|(index, text)| Step::Replace(index, text)),
        1 => (0_usize..4).prop_map(Step::Remove),
        3 => text().prop_map(Step::Dock),
        2 => (1_usize..30).prop_map(Step::Height),
        1 => (1_usize..300).prop_map(Step::Width),
        1 => Just(Step::Overlay),
        1 => Just(Step::Repaint),
    ]
}

/// The content as plain data, beside the UI that shows it.
struct Model<E> {
    stage: Stage<E>,
    size: Size,
    blocks: Vec<(BlockId, String)>,
    dock: (BlockId, String),
    overlay: Option<pi_tui::OverlayId>,
}

impl<E: Emulator> Model<E> {
    fn new(size: Size, options: TuiOptions) -> Self {
        let mut stage = Stage::new(size, options);
        let dock = stage.tui.dock_mut().push(Paragraph(String::new()));
        Self {
            stage,
            size,
            blocks: Vec::new(),
            dock: (dock, String::new()),
            overlay: None,
        }
    }

    fn perform(&mut self, step: &Step) {
        let tui = &mut self.stage.tui;
        match step {
            Step::Append(text) | Step::AppendLive(text) => {
                let liveness = match step {
                    Step::AppendLive(_) => Liveness::Live,
                    _ => Liveness::Settled,
                };
                let block = Box::new(Paragraph(text.clone()));
                let id = tui.transcript_mut().push_boxed(block, liveness);
                self.blocks.push((id, text.clone()));
            }
            Step::Replace(index, text) => {
                if let Some((id, old)) = self.blocks.iter_mut().rev().nth(*index) {
                    old.clone_from(text);
                    set_text(tui.transcript_mut().get_mut(*id).unwrap(), text);
                }
            }
            Step::Remove(index) => {
                if *index < self.blocks.len() {
                    let (id, _) = self.blocks.remove(self.blocks.len() - 1 - index);
                    assert!(tui.transcript_mut().remove(id).is_some());
                }
            }
            Step::Dock(text) => {
                // The cursor is somewhere in the dock, as an editor's is.
                let text = format!("> {CURSOR_MARKER}{text}");
                set_text(tui.dock_mut().get_mut(self.dock.0).unwrap(), &text);
                self.dock.1 = text;
            }
            Step::Height(rows) => {
                self.size.rows = *rows;
                self.stage.resize(self.size);
            }
            Step::Width(columns) => {
                self.size.columns = *columns;
                self.stage.resize(self.size);
            }
            Step::Overlay => match self.overlay.take() {
                Some(id) => {
                    tui.remove_overlay(id);
                }
                None => {
                    let options = OverlayOptions {
                        width: OverlayWidth::Columns(4),
                        anchor: OverlayAnchor::TopRight,
                        ..OverlayOptions::default()
                    };
                    let overlay = Fixed::new(&["over", "\x1b[7mlay"]);
                    self.overlay = Some(tui.show_overlay(overlay, options));
                }
            },
            Step::Repaint => tui.repaint(),
        }
    }

    /// Returns the lines of the whole content, as plain paint.
    fn lines(&self) -> Vec<String> {
        self.blocks
            .iter()
            .map(|(_, text)| text)
            .chain([&self.dock.1])
            .flat_map(|text| wrap_text(text, self.size.columns))
            .map(|line| line.replace(CURSOR_MARKER, ""))
            .collect()
    }

    /// Returns what an emulator shows after the content was simply printed.
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
/// A terminal that reflows may push rows although there is room below them, and pull them back when it
/// gets taller. Such rows stand above the content like those of the shell.
fn check_screen<E: Emulator>(
    size: Size,
    steps: &[Step],
    reflows: bool,
) -> Result<(), TestCaseError> {
    let mut model = Model::<E>::new(size, strict(ShrinkPolicy::PullBack));
    let mut fixed = (size, Rows::new());
    let mut reflowed = false;
    for step in steps {
        model.perform(step);
        model.stage.frame();
        let (scrollback, screen) = model.stage.emulator.rows();
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
        // Scrollback only ever grows while the size stays.
        if fixed.0 == model.size {
            let kept = scrollback.get(..fixed.1.len());
            prop_assert_eq!(
                kept,
                Some(fixed.1.as_slice()),
                "scrollback after {:?}",
                step
            );
        }
        fixed = (model.size, scrollback);
        let idle = model.stage.tui.frame().unwrap();
        prop_assert_eq!(idle, "", "an idle frame is empty");
    }
    Ok(())
}

/// Steps that neither shrink the content nor change what has left the screen.
#[derive(Clone, Debug)]
enum Growth {
    Append(String),
    /// Changes the last line's text, not its count.
    Dock(usize),
    Height(usize),
    Overlay,
}

fn growth() -> impl Strategy<Value = Growth> {
    prop_oneof![
        4 => text().prop_map(Growth::Append),
        2 => (0_usize..1000).prop_map(Growth::Dock),
        2 => (1_usize..30).prop_map(Growth::Height),
        1 => Just(Growth::Overlay),
    ]
}

/// Runs steps and compares screen and scrollback with a full paint after each.
fn check_scrollback<E: Emulator>(
    size: Size,
    shrink: ShrinkPolicy,
    steps: &[Growth],
) -> Result<(), TestCaseError> {
    let mut model = Model::<E>::new(size, strict(shrink));
    // A single line in the dock is never in the scrollback, whatever the height.
    model.perform(&Step::Dock(String::new()));
    model.stage.frame();
    for step in steps {
        if let (Growth::Height(_), Some(_)) = (step, model.overlay) {
            // A terminal that gets shorter pushes what it shows, overlays included.
            model.perform(&Step::Overlay);
            model.stage.frame();
        }
        model.perform(&match step {
            Growth::Append(text) => Step::Append(text.clone()),
            Growth::Dock(number) => Step::Dock(number.to_string()),
            Growth::Height(rows) => Step::Height(*rows),
            Growth::Overlay => Step::Overlay,
        });
        model.stage.frame();
        if model.overlay.is_none() {
            let lines = model.lines();
            let (mut all, screen) = model.stage.emulator.rows();
            all.extend(screen);
            let (mut expected, screen) = model.full_paint(&lines);
            expected.extend(screen);
            // Rows that an overlay claimed stay below the content.
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
    fn the_screen_is_that_of_a_full_paint_where_resizing_reflows(
        size in size(), steps in prop::collection::vec(any_step(), 1..30),
    ) {
        check_screen::<Avt>(size, &steps, true)?;
    }

    #[test]
    fn the_screen_is_that_of_a_full_paint_where_resizing_cuts(
        size in size(), steps in prop::collection::vec(any_step(), 1..30),
    ) {
        check_screen::<Vt100>(size, &steps, false)?;
    }

    #[test]
    fn the_scrollback_is_that_of_a_full_paint(
        size in size(),
        pull_back in any::<bool>(),
        steps in prop::collection::vec(growth(), 1..40),
    ) {
        let shrink = if pull_back { ShrinkPolicy::PullBack } else { ShrinkPolicy::LeaveEmpty };
        check_scrollback::<Avt>(size, shrink, &steps)?;
        check_scrollback::<Vt100>(size, shrink, &steps)?;
    }

    #[test]
    fn the_full_screen_shows_transcript_and_dock(
        size in size(), steps in prop::collection::vec(any_step(), 1..30),
    ) {
        let options = TuiOptions { mode: ScreenMode::Full, ..strict(ShrinkPolicy::LeaveEmpty) };
        let mut model = Model::<Avt>::new(size, options);
        for step in &steps {
            model.perform(step);
            model.stage.frame();
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
            let (_, screen) = model.stage.emulator.rows();
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
    let dock = |text: &str| Step::Dock(text.to_owned());
    check_screen::<Avt>(size, &[dock("word "), dock(""), dock("x"), dock("")], false).unwrap();
}
