//! Searches file contents.
