//! Lists a directory.
