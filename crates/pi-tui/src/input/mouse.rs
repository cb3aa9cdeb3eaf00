//! Mouse reports, and the mouse events components receive.

use super::control::ControlSequence;
use super::key::Modifiers;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MouseButton {
    Left,
    Middle,
    Right,
    /// No button: motion, or a release that does not report one.
    None,
}

/// A mouse report from the terminal. Coordinates are in cells from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MouseReport {
    /// The raw button code with modifier and motion bits, as in the SGR protocol.
    pub code: u16,
    pub released: bool,
    pub column: usize,
    pub row: usize,
}

impl MouseReport {
    /// Parses one complete sequence in SGR or X10 form. Returns `None` if it is not a mouse report.
    pub(super) fn parse(raw: &[u8]) -> Option<Self> {
        if let [0x1b, b'[', b'M', code, column, row] = raw {
            let code = u16::from(code.checked_sub(32)?);
            // X10 does not report which button was released.
            let released = code & 0b110_0011 == 3;
            let coordinate = |byte: &u8| usize::from(byte.saturating_sub(33));
            return Some(Self {
                code,
                released,
                column: coordinate(column),
                row: coordinate(row),
            });
        }
        let sequence = ControlSequence::parse(raw)?;
        let (Some(b'<'), [], b'M' | b'm') =
            (sequence.marker, sequence.intermediates, sequence.final_byte)
        else {
            return None;
        };
        let parameters = sequence.parameters;
        let coordinate = |index| usize::try_from(parameters.get(index)?.saturating_sub(1)).ok();
        Some(Self {
            code: u16::try_from(parameters.get(0)?).ok()?,
            released: sequence.final_byte == b'm',
            column: coordinate(1)?,
            row: coordinate(2)?,
        })
    }

    /// Returns the button, ignoring modifiers and motion.
    pub fn button(self) -> MouseButton {
        match (self.is_wheel(), self.code & 3) {
            (true, _) | (false, 3) => MouseButton::None,
            (false, 0) => MouseButton::Left,
            (false, 1) => MouseButton::Middle,
            (false, _) => MouseButton::Right,
        }
    }

    pub fn is_motion(self) -> bool {
        self.code & 32 != 0
    }

    pub fn is_wheel(self) -> bool {
        self.code & 64 != 0
    }

    /// Returns -1 for wheel up, 1 for wheel down, and 0 for horizontal scrolling or no wheel event.
    pub fn wheel_direction(self) -> i32 {
        match (self.is_wheel(), self.code & 3) {
            (true, 0) => -1,
            (true, 1) => 1,
            _ => 0,
        }
    }

    pub fn modifiers(self) -> Modifiers {
        [
            (4, Modifiers::SHIFT),
            (8, Modifiers::ALT),
            (16, Modifiers::CTRL),
        ]
        .into_iter()
        .filter(|(bit, _)| self.code & bit != 0)
        .fold(Modifiers::NONE, |set, (_, modifier)| set.with(modifier))
    }

    /// Encodes the report in SGR form.
    pub fn to_bytes(self) -> Vec<u8> {
        let last = if self.released { 'm' } else { 'M' };
        format!(
            "\x1b[<{};{};{}{last}",
            self.code,
            self.column + 1,
            self.row + 1
        )
        .into_bytes()
    }
}

/// What happened, as derived by the renderer from consecutive reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MouseEventKind {
    Press,
    Release,
    Move,
    Drag,
    /// A button was pressed and released in place.
    Click {
        /// 1 for a single click, 2 for a double click, and so on.
        count: u8,
    },
    /// The wheel scrolled by this many lines; negative is up.
    Wheel {
        lines: i32,
    },
}

/// A mouse event as a component receives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MouseEvent {
    pub kind: MouseEventKind,
    pub button: MouseButton,
    pub modifiers: Modifiers,
    /// Column inside the component, from 0.
    pub column: usize,
    /// Row inside the component, from 0.
    pub row: usize,
    /// Column on the screen, from 0.
    pub screen_column: usize,
    /// Row on the screen, from 0.
    pub screen_row: usize,
    /// Columns of the component's area.
    pub width: usize,
    /// Rows of the component's area.
    pub height: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sgr_and_x10_reports_are_parsed() {
        let press = MouseReport {
            code: 0,
            released: false,
            column: 19,
            row: 4,
        };
        assert_eq!(MouseReport::parse(b"\x1b[<0;20;5M"), Some(press));
        assert_eq!(
            MouseReport::parse(b"\x1b[<0;20;5m"),
            Some(MouseReport {
                released: true,
                ..press
            })
        );
        assert_eq!(MouseReport::parse(b"\x1b[M 4%"), Some(press));
        assert_eq!(
            MouseReport::parse(b"\x1b[M#4%").map(|report| report.released),
            Some(true)
        );
        assert_eq!(press.to_bytes(), b"\x1b[<0;20;5M");
        for other in [&b"\x1b[<0;20M"[..], b"\x1b[0;20;5M", b"\x1b[M\x00\x00\x00"] {
            assert_eq!(MouseReport::parse(other), None);
        }
    }

    #[test]
    fn reports_include_button_wheel_motion_and_modifiers() {
        let report = |code| MouseReport {
            code,
            released: false,
            column: 0,
            row: 0,
        };
        assert_eq!(report(2).button(), MouseButton::Right);
        assert_eq!(report(35).button(), MouseButton::None);
        assert!(report(32).is_motion());
        assert_eq!(report(64).wheel_direction(), -1);
        assert_eq!(report(65).wheel_direction(), 1);
        assert_eq!(report(66).wheel_direction(), 0);
        assert_eq!(
            report(4 | 16).modifiers(),
            Modifiers::SHIFT.with(Modifiers::CTRL)
        );
    }
}
