//! Themes, and the context that every component renders with.

pub mod image_converter;
pub mod selector;
pub mod ui_theme;
