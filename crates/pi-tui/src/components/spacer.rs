//! Empty lines.

use crate::component::Component;
use crate::line::{Line, Lines};

/// A number of empty lines.
#[derive(Clone, Debug)]
pub struct Spacer {
    lines: Lines,
}

impl Spacer {
    /// Returns this many empty lines.
    pub fn new(lines: usize) -> Self {
        Self {
            lines: std::iter::repeat_n(Line::default(), lines).collect(),
        }
    }

    /// Changes the number of lines.
    pub fn set_lines(&mut self, lines: usize) {
        *self = Self::new(lines);
    }
}

impl Default for Spacer {
    fn default() -> Self {
        Self::new(1)
    }
}

impl Component for Spacer {
    fn render(&mut self, _width: usize) -> Lines {
        self.lines.clone()
    }
}
