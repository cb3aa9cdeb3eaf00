//! Tests of the settings themselves.
