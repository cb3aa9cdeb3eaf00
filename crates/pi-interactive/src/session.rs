//! The live session as the terminal application sees it.

pub(crate) mod events;
pub(crate) mod report;
