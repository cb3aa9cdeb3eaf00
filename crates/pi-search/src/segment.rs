//! A segment: the documents of some session files and, for every term, which of them contain it.
//!
//! ```text
//! magic
//! blocks of terms, each preceded by its long posting lists
//! rows of documents, in blocks with a checksum each
//! runs: which documents belong to which session file
//! index of the blocks of terms
//! footer
//! ```
//!
//! Everything read has a checksum and a position inside of the file, so damage is found and nothing is allocated for
//! it. Short posting lists are part of their block. Terms are sorted; documents are in the order of their lines.

mod build;
mod encoding;
mod merge;
mod reader;
mod writer;

pub(crate) use build::SegmentBuilder;
pub(crate) use encoding::{Posting, length_of};
pub(crate) use merge::merge_segments;
pub(crate) use reader::SegmentReader;

#[cfg(test)]
mod tests;
