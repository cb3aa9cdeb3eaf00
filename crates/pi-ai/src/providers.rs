//! The built-in providers, as data.
