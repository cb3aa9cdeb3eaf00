//! Themes, and the context that every component renders with.

pub(crate) mod image_converter;
pub(crate) mod selector;
pub(crate) mod ui_theme;
pub(crate) mod watch;
