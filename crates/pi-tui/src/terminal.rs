//! The terminal: capabilities, escape sequences and process I/O.
//!
//! Everything except `process`, `raw_mode` and `restore` takes data and returns data.

mod capabilities;
mod clipboard;
mod color_scheme;
mod colors;
mod image_painter;
mod image_protocol;
mod process;
mod program_status;
mod progress;
mod raw_mode;
mod replies;
mod restore;
mod title;

pub use capabilities::{
    CapabilityOverrides, TerminalCapabilities, TerminalEnvironment, probe_tmux_hyperlinks,
};
pub use clipboard::clipboard_sequence;
pub use color_scheme::{ColorScheme, DISABLE_COLOR_SCHEME_REPORTS, ENABLE_COLOR_SCHEME_REPORTS};
pub(crate) use colors::TEXT_CONTRAST;
pub use colors::TerminalColors;
pub use image_painter::ProtocolImagePainter;
pub use image_protocol::{
    CellSize, ImageCells, ImageDimensions, ImageProtocol, ImageSpan, KITTY_DELETE_ALL,
    KITTY_HIDE_ALL, QUERY_CELL_SIZE, image_dimensions, image_fallback, image_lines, iterm2_image,
    kitty_delete, kitty_image, next_image_id,
};
pub use process::{ProcessTerminal, TerminalEvent, TerminationSignals, log_terminal_writes};
pub(crate) use program_status::ProgramStatusReport;
pub use program_status::{BlockedKind, ProgramState, ProgramStatus, ProgramStatusSupport};
pub use progress::TerminalProgress;
pub use raw_mode::RawModeGuard;
pub use replies::{KeyboardNegotiation, PendingReplies};
pub use restore::TerminalModes;
pub use title::title_sequence;

/// Screen size in cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Size {
    pub columns: usize,
    pub rows: usize,
}

impl Default for Size {
    fn default() -> Self {
        Self {
            columns: 80,
            rows: 24,
        }
    }
}

impl Size {
    /// Returns the size with at least one cell in each dimension, since some terminals report zero.
    #[must_use]
    pub fn at_least_one_cell(self) -> Self {
        Self {
            columns: self.columns.max(1),
            rows: self.rows.max(1),
        }
    }
}
