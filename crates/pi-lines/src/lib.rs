//! Line framing of pi's protocols: one record per line, read and written by sessions, their clients and their supervisors.
//!
//! [`LineReader`] splits a stream into lines of limited length; [`LineWriter`] owns a stream and writes complete lines in
//! the order they were sent to its [`LineSink`]s.

mod framing;
mod sink;

pub use framing::{COMMAND_LINE_LIMIT, LineDecoder, LineFrame, LineReader};
pub use sink::{LineSink, LineWriter, OutputClosed};
