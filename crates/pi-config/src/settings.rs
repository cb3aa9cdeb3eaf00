//! Reads, merges and writes `settings.json`. Its schema is [`Settings`](pi_protocol::settings::Settings).

mod decode;
mod extension_engine;
mod merge;
mod migrate;
mod shell_path;
mod store;

pub use extension_engine::extension_engine;
pub use shell_path::shell_path;
pub use store::{SettingsError, SettingsOverrides, SettingsStore};

#[cfg(test)]
mod tests;
