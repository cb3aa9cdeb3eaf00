//! Test harness: shows a dialog on a terminal emulator, with keys sent as bytes.

use std::time::{Duration, Instant};

use pi_tui::{
    BlockId, FocusTarget, InputDecoder, InputTiming, KeyEvent, KeyboardMode, Size, Tui, TuiOptions,
};

use crate::dialogs::dialog::{Dialog, DialogUpdate};
use crate::dialogs::intent::Intent;
use crate::theme::ui_theme::UiTheme;

pub(super) struct DialogTester<D> {
    tui: Tui,
    block: BlockId,
    emulator: vt100::Parser,
    size: Size,
    /// How far the clock of the input is ahead.
    ahead: Duration,
    dialog: std::marker::PhantomData<D>,
}

impl<D: Dialog> DialogTester<D> {
    /// Shows a dialog on a terminal with 80 columns.
    pub(super) fn new(ui: &UiTheme, dialog: D) -> Self {
        Self::sized(ui, dialog, 80, 30)
    }

    pub(super) fn sized(ui: &UiTheme, mut dialog: D, columns: u16, rows: u16) -> Self {
        let size = Size {
            columns: columns.into(),
            rows: rows.into(),
        };
        dialog.set_rows(size.rows);
        let mut tui = Tui::new(TuiOptions {
            keybindings: (*ui.context().keys).clone(),
            ..TuiOptions::default()
        });
        tui.set_size(size);
        let block = tui.dock_mut().push_live(dialog);
        tui.scene_mut().set_focus(Some(FocusTarget::Dock(block)));
        let mut emulator =
            vt100::Parser::new(rows.try_into().unwrap(), columns.try_into().unwrap(), 0);
        emulator.process(tui.start().as_bytes());
        Self {
            tui,
            block,
            emulator,
            size,
            ahead: Duration::ZERO,
            dialog: std::marker::PhantomData,
        }
    }

    pub(super) fn dialog(&mut self) -> &mut D {
        let component = self.tui.dock_mut().get_mut(self.block).unwrap();
        (component as &mut dyn std::any::Any)
            .downcast_mut()
            .unwrap()
    }

    /// Presses keys by name, separated by spaces; a word after `'` is typed as text.
    pub(super) fn press(&mut self, keys: &str) -> &mut Self {
        for name in keys.split(' ') {
            if let Some(text) = name.strip_prefix('\'') {
                self.type_text(text);
            } else {
                let key = KeyEvent::press(name.parse().unwrap());
                let now = self.now();
                self.tui.handle(&pi_tui::InputEvent::Key(key), now);
            }
        }
        self
    }

    pub(super) fn type_text(&mut self, text: &str) -> &mut Self {
        let mut decoder = InputDecoder::new(InputTiming::default(), KeyboardMode::default());
        for event in decoder.push(text.as_bytes(), Instant::now()) {
            let now = self.now();
            self.tui.handle(&event, now);
        }
        self
    }

    /// Lets time pass before the next input.
    pub(super) fn pass(&mut self, time: Duration) -> &mut Self {
        self.ahead += time;
        self
    }

    fn now(&self) -> Instant {
        Instant::now() + self.ahead
    }

    pub(super) fn on_update(&mut self, update: DialogUpdate) -> &mut Self {
        self.dialog().on_update(update);
        self
    }

    /// Returns the screen text without trailing whitespace.
    pub(super) fn screen(&mut self) -> String {
        let frame = self.tui.frame().unwrap();
        self.emulator.process(frame.as_bytes());
        let rows: Vec<String> = self
            .emulator
            .screen()
            .rows(0, self.size.columns.try_into().unwrap())
            .map(|row| row.trim_end().to_owned())
            .collect();
        rows.join("\n").trim_end().to_owned()
    }

    /// Whether the first occurrence of an ASCII text on the screen is bold.
    pub(super) fn is_bold(&mut self, text: &str) -> bool {
        let screen = self.screen();
        let mut rows = screen.lines().enumerate();
        let (row, column) = rows
            .find_map(|(row, line)| Some((row, line.split_once(text)?.0.chars().count())))
            .unwrap();
        let cell = (row.try_into().unwrap(), column.try_into().unwrap());
        self.emulator.screen().cell(cell.0, cell.1).unwrap().bold()
    }

    /// Clicks the first row that contains a text, in the dialog's coordinates.
    pub(super) fn click(&mut self, text: &str) -> &mut Self {
        self.click_at(text, 4)
    }

    /// Clicks a column of the first row that contains a text.
    pub(super) fn click_at(&mut self, text: &str, column: usize) -> &mut Self {
        use pi_tui::{InputContext, Modifiers, MouseButton, MouseEvent, MouseEventKind};
        let width = self.size.columns;
        let rows = self.size.rows;
        let keybindings = self.tui.keybindings().clone();
        let context = InputContext {
            keybindings: &keybindings,
            now: self.now(),
            rows,
        };
        let dialog = self.dialog();
        let row = dialog
            .render(width)
            .iter()
            .position(|line| pi_tui::strip_ansi(line).contains(text))
            .unwrap();
        for kind in [MouseEventKind::Press, MouseEventKind::Click { count: 1 }] {
            let event = MouseEvent {
                kind,
                button: MouseButton::Left,
                modifiers: Modifiers::NONE,
                column,
                row,
                screen_column: column,
                screen_row: row,
                width,
                height: rows,
            };
            dialog.handle_mouse(&event, &context);
            dialog.render(width);
        }
        self
    }

    pub(super) fn intents(&mut self) -> Vec<Intent> {
        self.dialog().take_intents()
    }

    pub(super) fn is_done(&mut self) -> bool {
        self.dialog().is_done()
    }
}

/// Renders a dialog at many sizes; a line that is too wide is a failure.
pub(super) fn fits_every_size<D: Dialog>(mut dialog: D) {
    for rows in [0, 1, 3, 5, 8, 13, 24, 60] {
        dialog.set_rows(rows);
        for width in [1, 2, 3, 5, 8, 13, 20, 40, 80, 200] {
            let lines = dialog.render(width);
            assert!(
                lines.len() <= rows.max(6),
                "{} lines in {rows} rows",
                lines.len()
            );
            for line in &lines {
                let line_width = pi_tui::visible_width(line);
                assert!(line_width <= width, "{line_width} > {width}: {line:?}");
            }
        }
    }
}

/// Untrusted text with every kind of attack.
pub(super) const HOSTILE: &str =
    "a\x1b[2J\x1b]0;owned\x07b\r\nc\u{9b}31md\u{202e}e\x1bPq\x1b\\\x00f\tg\u{200b}";

/// Every key a dialog uses, and some it does not.
const KEYS: &[&str] = &[
    "up",
    "down",
    "left",
    "right",
    "pageUp",
    "pageDown",
    "home",
    "end",
    "enter",
    "tab",
    "space",
    "backspace",
    "delete",
    "escape",
    "ctrl+a",
    "ctrl+c",
    "ctrl+d",
    "ctrl+g",
    "ctrl+k",
    "ctrl+l",
    "ctrl+n",
    "ctrl+o",
    "ctrl+p",
    "ctrl+r",
    "ctrl+s",
    "ctrl+t",
    "ctrl+u",
    "ctrl+w",
    "ctrl+x",
    "ctrl+y",
    "ctrl+left",
    "ctrl+right",
    "alt+up",
    "alt+down",
    "shift+l",
    "shift+t",
    "shift+tab",
    "shift+ctrl+o",
    "ctrl+backspace",
    "ctrl+j",
    "f5",
    "a",
    "j",
    "k",
    "1",
];

/// Presses random keys and clicks, each round on a new dialog: it must not panic, lines must fit, and a
/// finished dialog must stay finished.
pub(super) fn survives_random_input<D: Dialog>(ui: &UiTheme, open: impl Fn() -> D) {
    use pi_tui::{InputContext, InputEvent, Modifiers, MouseButton, MouseEvent, MouseEventKind};
    let keybindings = ui.context().keys.clone();
    let mut state = 0x2545_f491_u32;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        usize::try_from(state).unwrap() % below
    };
    for _ in 0..12 {
        let mut dialog = open();
        dialog.set_rows(random(40));
        let width = 1 + random(90);
        for _ in 0..40 {
            for line in &dialog.render(width) {
                assert!(pi_tui::visible_width(line) <= width, "{width}: {line:?}");
            }
            let rows = random(40);
            let context = InputContext {
                keybindings: &keybindings,
                now: Instant::now(),
                rows,
            };
            let was_done = dialog.is_done();
            match random(8) {
                0 => {
                    let kinds = [
                        MouseEventKind::Press,
                        MouseEventKind::Click { count: 1 },
                        MouseEventKind::Wheel { lines: 3 },
                        MouseEventKind::Wheel { lines: -1 },
                    ];
                    let (column, row) = (random(100), random(40));
                    let event = MouseEvent {
                        kind: kinds[random(kinds.len())],
                        button: MouseButton::Left,
                        modifiers: Modifiers::NONE,
                        column,
                        row,
                        screen_column: column,
                        screen_row: row,
                        width,
                        height: rows,
                    };
                    dialog.handle_mouse(&event, &context);
                }
                1 => {
                    let text = HOSTILE.to_owned();
                    let paste = InputEvent::Paste(pi_tui::Paste { text });
                    dialog.handle_input(&paste, &context);
                }
                2 => {
                    let typed = ['x', 'é', '日', '"', ':', '/'];
                    let key = KeyEvent::typed(typed[random(typed.len())]);
                    dialog.handle_input(&InputEvent::Key(key), &context);
                }
                _ => {
                    let key = KEYS[random(KEYS.len())].parse().unwrap();
                    let key = InputEvent::Key(KeyEvent::press(key));
                    dialog.handle_input(&key, &context);
                }
            }
            assert!(dialog.is_done() || !was_done);
            if was_done {
                assert_eq!(dialog.take_intents(), []);
            }
            dialog.take_intents();
        }
    }
}
