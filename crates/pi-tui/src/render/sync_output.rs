//! The bytes of one frame, wrapped in synchronized-output markers so that the terminal shows them
//! at once.
//!
//! See <https://gist.github.com/christianparpart/d8a62cc1ab659194337d73e399004036>. Terminals that
//! do not support mode 2026 ignore it.

use std::fmt::Write as _;

const BEGIN: &str = "\x1b[?2026h";
const END: &str = "\x1b[?2026l";

/// Collects a frame. An empty frame gets no markers.
#[derive(Debug, Default)]
pub(super) struct SyncOutput {
    bytes: String,
}

impl SyncOutput {
    pub(super) fn push(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        if self.bytes.is_empty() {
            self.bytes.push_str(BEGIN);
        }
        self.bytes.push_str(text);
    }

    pub(super) fn push_fmt(&mut self, arguments: std::fmt::Arguments<'_>) {
        if self.bytes.is_empty() {
            self.bytes.push_str(BEGIN);
        }
        // Writing to a string cannot fail.
        self.bytes.write_fmt(arguments).unwrap_or_default();
    }

    /// Moves the cursor between rows, keeping its column.
    pub(super) fn move_row(&mut self, from: usize, to: usize) {
        match to.abs_diff(from) {
            0 => {}
            1 if to > from => self.push("\x1b[B"),
            1 => self.push("\x1b[A"),
            rows if to > from => self.push_fmt(format_args!("\x1b[{rows}B")),
            rows => self.push_fmt(format_args!("\x1b[{rows}A")),
        }
    }

    /// Moves the cursor to a column of its row, from 0.
    pub(super) fn move_column(&mut self, column: usize) {
        if column == 0 {
            self.push("\r");
        } else {
            self.push_fmt(format_args!("\x1b[{}G", column + 1));
        }
    }

    /// Moves the cursor to a cell of the screen, from 0.
    pub(super) fn move_to(&mut self, row: usize, column: usize) {
        self.push_fmt(format_args!("\x1b[{};{}H", row + 1, column + 1));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(super) fn finish(mut self) -> String {
        if !self.bytes.is_empty() {
            self.bytes.push_str(END);
        }
        self.bytes
    }
}
