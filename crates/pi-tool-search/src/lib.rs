//! Finds tools by words: the ranking, and the tool `tool_search` that loads what a model needs.
//!
//! A tool that is not declared costs no tokens. [`rank_tools`] finds it by its name, its description and its schema;
//! scripts call what they find, and [`tool_search`] activates it for the next request.

mod ranking;
mod tool;
mod words;

pub use ranking::{DEFAULT_LIMIT, rank_tools};
pub use tool::tool_search;
pub use words::{TextPart, text_parts, words};
