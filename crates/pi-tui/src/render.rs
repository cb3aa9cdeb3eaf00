//! From components to bytes: documents of blocks, frames, and the two kinds of screen.
//!
//! Nothing here performs I/O: a frame takes the content and a size and returns what to write.

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
mod sync_output;
mod viewport;

pub(crate) use content::Content;
pub use document::{BlockId, Document, Liveness};
pub(crate) use frame::RESET;
pub use frame::{RenderError, WidthPolicy};
pub use full_screen::{ExitBehavior, MouseTracking, ScrollbarPolicy};
pub(crate) use main_screen::MainScreen;
pub use main_screen::ShrinkPolicy;
pub(crate) use screen::{Compose, Screen};
pub use screen::{RenderOptions, ScreenMode};
pub(crate) use search::Search;
pub(crate) use selection::{Grain, Place, Selection};
