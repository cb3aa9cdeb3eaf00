//! Finds files by name.
