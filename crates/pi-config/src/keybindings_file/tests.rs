//! Tests of `keybindings.json`.
