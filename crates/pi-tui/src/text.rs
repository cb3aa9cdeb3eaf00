//! Text as a terminal displays it: columns, graphemes and escape sequences.
//!
//! Everything here takes `&str` and returns data, independent of a screen.

mod ansi;
mod cjk;
mod normalize;
mod sanitize;
mod slice;
mod styled_line;
mod truncate;
mod width;
mod wrap;

pub use ansi::{AnsiToken, AnsiTokens, StyleState, strip_ansi};
pub(crate) use cjk::is_cjk;
pub use normalize::expand_for_terminal;
pub use sanitize::{Sanitizer, sanitize};
pub use slice::{LineSlice, WideCharPolicy, cell_range_at, link_at, slice_columns, split_around};
pub use styled_line::styled_line;
pub use truncate::{TruncateOptions, pad_to_width, truncate_to_width};
pub use width::{Graphemes, TAB_WIDTH, grapheme_width, graphemes, visible_width};
pub use wrap::wrap_text;

#[cfg(test)]
mod linearity;
