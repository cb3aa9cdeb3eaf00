//! Turns components into bytes: documents of blocks, frames, and the two screen modes.
//!
//! Nothing here performs I/O: a frame takes the content and a size and returns the bytes to write.

mod content;
mod diff;
mod document;
mod frame;
mod full_screen;
mod image_cache;
mod line_index;
mod main_screen;
mod screen;
mod search;
mod selection;
mod switchable_screen;
mod sync_output;
mod viewport;

pub(crate) use content::ScreenContent;
pub use document::{BlockId, Document, Liveness};
pub(crate) use frame::RESET;
pub use frame::{RenderError, WidthPolicy};
pub(crate) use full_screen::FullScreen;
pub use full_screen::{ExitBehavior, MouseTracking, ScrollbarPolicy};
pub use main_screen::ShrinkPolicy;
pub(crate) use screen::ComposeFn;
pub use screen::{RenderOptions, ScreenMode};
pub(crate) use search::TranscriptSearch;
pub(crate) use selection::{CellPosition, MouseSelection, SelectionGranularity};
pub(crate) use switchable_screen::SwitchableScreen;
pub(crate) use viewport::Viewport;
