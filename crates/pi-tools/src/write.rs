//! Writes files.
