//! Components of extensions outside of a terminal.
//!
//! [`OffScreen`] is the screen of a session without a terminal: components are drawn there like in the terminal, and
//! any number of clients receive the changed lines and send input back. The terminal uses the same filter for rows and
//! the same layout of overlays. [`MirroredUi`] shows clients what a terminal shows.

mod components;
mod feed;
mod mirror;
mod off_screen;
mod overlay;
mod row;
mod service;
mod transcript_row;

pub use mirror::MirroredUi;
pub use off_screen::{OffScreen, ThemeSource};
pub use overlay::overlay_options;
pub use row::{MAX_ROW_BYTES, fitted_row};
