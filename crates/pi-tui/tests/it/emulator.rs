//! Independent terminal emulators behind a common interface.

use std::num::NonZeroU16;

use pi_tui::{
    Component, InputContext, InputEvent, InputOutcome, Lines, RenderOptions, ShrinkPolicy, Size,
    Tui, TuiOptions, WidthPolicy, wrap_text,
};

/// A cell: its character and all of its attributes.
pub(crate) type CellText = String;

/// Rows of cells, without trailing blank cells.
pub(crate) type Rows = Vec<Vec<CellText>>;

pub(crate) trait Emulator {
    fn new(size: Size) -> Self;
    fn feed(&mut self, bytes: &str);
    fn resize(&mut self, size: Size);
    /// Returns the rows of the scrollback, then those of the screen.
    fn rows(&mut self) -> (Rows, Rows);
    /// Returns the cursor's column and row.
    fn cursor(&self) -> (usize, usize);
}

/// Reflows on resize and keeps scrollback, like most terminals.
pub(crate) struct Avt(avt::Terminal);

impl Emulator for Avt {
    fn new(size: Size) -> Self {
        Self(avt::Terminal::with_scrollback(size.columns, size.rows, None).unwrap())
    }

    fn feed(&mut self, bytes: &str) {
        self.0.feed(bytes);
    }

    fn resize(&mut self, size: Size) {
        self.0.resize(size.columns, size.rows);
    }

    fn rows(&mut self) -> (Rows, Rows) {
        let mut all: Rows = self
            .0
            .screen()
            .all_lines()
            .map(|line| {
                trim(
                    line.cells()
                        .iter()
                        .map(|cell| {
                            let plain = *cell.pen() == avt::Pen::default();
                            match (cell.char(), plain) {
                                (' ', true) => String::new(),
                                (character, true) => character.to_string(),
                                (character, false) => format!("{character}{:?}", cell.pen()),
                            }
                        })
                        .collect(),
                )
            })
            .collect();
        let screen = all.split_off(all.len() - self.0.size().1);
        (all, screen)
    }

    fn cursor(&self) -> (usize, usize) {
        let position = self.0.cursor_position();
        (position.col, position.row.try_into().unwrap())
    }
}

/// Does not reflow on resize, like xterm.
pub(crate) struct Vt100(vt100::Parser);

impl Emulator for Vt100 {
    fn new(size: Size) -> Self {
        let (rows, columns) = cells(size);
        Self(vt100::Parser::new(rows, columns, 1_000_000))
    }

    fn feed(&mut self, bytes: &str) {
        self.0.process(bytes.as_bytes());
    }

    fn resize(&mut self, size: Size) {
        let (rows, columns) = cells(size);
        self.0.set_size(rows, columns);
    }

    fn rows(&mut self) -> (Rows, Rows) {
        let count = self.0.screen().scrollback_len();
        let height = usize::from(self.0.screen().size().0.get());
        let mut scrollback = Rows::new();
        for offset in (1..=count).rev() {
            self.0.screen_mut().set_scrollback(offset);
            scrollback.push(self.visible_row(0));
        }
        self.0.screen_mut().set_scrollback(0);
        let screen = (0..height).map(|row| self.visible_row(row)).collect();
        (scrollback, screen)
    }

    fn cursor(&self) -> (usize, usize) {
        let (row, column) = self.0.screen().cursor_position();
        (usize::from(column), usize::from(row))
    }
}

impl Vt100 {
    fn visible_row(&self, row: usize) -> Vec<CellText> {
        let screen = self.0.screen();
        let columns = screen.size().1.get();
        let row = u16::try_from(row).unwrap();
        trim(
            (0..columns)
                .filter_map(|column| screen.cell(row, column))
                .map(|cell| {
                    let attributes = format!(
                        "{:?}{:?}{}{}{}{}",
                        cell.fgcolor(),
                        cell.bgcolor(),
                        cell.bold(),
                        cell.italic(),
                        cell.underline(),
                        cell.inverse()
                    );
                    let plain = attributes == "DefaultDefaultfalsefalsefalsefalse";
                    match (cell.contents(), plain) {
                        ("" | " ", true) => String::new(),
                        (text, true) => text.to_owned(),
                        (text, false) => format!("{text}{attributes}"),
                    }
                })
                .collect(),
        )
    }
}

fn cells(size: Size) -> (NonZeroU16, NonZeroU16) {
    let cell = |count: usize| NonZeroU16::new(u16::try_from(count).unwrap()).unwrap();
    (cell(size.rows), cell(size.columns))
}

fn trim(mut cells: Vec<CellText>) -> Vec<CellText> {
    while cells.last().is_some_and(String::is_empty) {
        cells.pop();
    }
    cells
}

/// Returns the rows as text, without attributes.
pub(crate) fn text(rows: &Rows) -> Vec<String> {
    rows.iter()
        .map(|row| {
            row.iter()
                .map(|cell| cell.chars().next().unwrap_or(' '))
                .collect::<String>()
        })
        .collect()
}

pub(crate) const BEGIN: &str = "\x1b[?2026h";
pub(crate) const END: &str = "\x1b[?2026l";

/// Asserts that all bytes are between the markers of one synchronized frame.
pub(crate) fn assert_synchronized(frame: &str) {
    if frame.is_empty() {
        return;
    }
    assert!(
        frame.starts_with(BEGIN) && frame.ends_with(END),
        "{frame:?}"
    );
    assert_eq!(frame.matches(BEGIN).count(), 1, "{frame:?}");
    assert_eq!(frame.matches(END).count(), 1, "{frame:?}");
}

/// A UI connected to an emulator.
pub(crate) struct EmulatedTui<E> {
    pub(crate) tui: Tui,
    pub(crate) emulator: E,
    pub(crate) last_frame: String,
}

pub(crate) fn strict(shrink: ShrinkPolicy) -> TuiOptions {
    TuiOptions {
        render: RenderOptions {
            width_policy: WidthPolicy::Strict,
            shrink,
            ..RenderOptions::default()
        },
        ..TuiOptions::default()
    }
}

impl<E: Emulator> EmulatedTui<E> {
    pub(crate) fn new(size: Size, options: TuiOptions) -> Self {
        let mut tui = Tui::new(options);
        tui.set_size(size);
        let mut emulator = E::new(size);
        emulator.feed(&tui.start());
        Self {
            tui,
            emulator,
            last_frame: String::new(),
        }
    }

    pub(crate) fn frame(&mut self) {
        let frame = self.tui.frame().unwrap();
        assert_synchronized(&frame);
        self.emulator.feed(&frame);
        self.last_frame = frame;
    }

    pub(crate) fn resize(&mut self, size: Size) {
        self.emulator.resize(size);
        self.tui.set_size(size);
    }

    pub(crate) fn screen(&mut self) -> Vec<String> {
        text(&self.emulator.rows().1)
    }

    pub(crate) fn scrollback(&mut self) -> Vec<String> {
        text(&self.emulator.rows().0)
    }
}

/// A block of text, wrapped to the width.
pub(crate) struct Paragraph(pub(crate) String);

impl Component for Paragraph {
    fn render(&mut self, width: usize) -> Lines {
        wrap_text(&self.0, width).into_iter().collect()
    }
}

/// Fixed lines that count how often they are rendered.
#[derive(Default)]
pub(crate) struct FixedLines {
    pub(crate) lines: Vec<String>,
    pub(crate) renders: usize,
    pub(crate) typed: String,
    pub(crate) focused: bool,
}

impl FixedLines {
    pub(crate) fn new(lines: &[&str]) -> Self {
        Self {
            lines: lines.iter().map(|line| (*line).to_owned()).collect(),
            ..Self::default()
        }
    }

    pub(crate) fn numbered(range: std::ops::Range<usize>) -> Self {
        Self {
            lines: range.map(|number| format!("line {number}")).collect(),
            ..Self::default()
        }
    }
}

impl Component for FixedLines {
    fn render(&mut self, _width: usize) -> Lines {
        self.renders += 1;
        self.lines.iter().map(String::as_str).collect()
    }

    fn handle_input(&mut self, event: &InputEvent, _context: &InputContext<'_>) -> InputOutcome {
        let InputEvent::Key(key) = event else {
            return InputOutcome::Ignored;
        };
        self.typed.extend(key.text());
        InputOutcome::Consumed
    }

    fn set_focused(&mut self, focused: bool) {
        self.focused = focused;
    }
}
