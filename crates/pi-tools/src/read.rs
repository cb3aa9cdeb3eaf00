//! Reads files.
