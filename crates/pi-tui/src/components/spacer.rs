//! Empty lines.

use crate::component::Component;
use crate::line::{Line, Lines};

#[derive(Clone, Debug)]
pub struct Spacer {
    lines: Lines,
}

impl Spacer {
    pub fn new(lines: usize) -> Self {
        Self {
            lines: std::iter::repeat_n(Line::default(), lines).collect(),
        }
    }

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
