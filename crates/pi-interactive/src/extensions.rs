//! Extensions on screen: their requests, components, dialogs and completions.

pub(crate) mod bridge;
pub(crate) mod completion;
pub(crate) mod question;
pub(crate) mod theme;
pub(crate) mod toolkit;
pub(crate) mod view;
