//! Reads, merges and writes `settings.json`. Its schema is [`Settings`](pi_protocol::settings::Settings).

mod decode;
mod extension_engine;
mod file_changes;
mod merge;
mod migrate;
mod restrictions;
mod sandbox_layer;
mod shell_path;
mod store;

pub use extension_engine::extension_engine;
pub use file_changes::change_settings_file;
pub use restrictions::{InvalidRestriction, check_restrictions};
pub use shell_path::shell_path;
pub use store::{SettingsError, SettingsOverrides, SettingsStore};

#[cfg(test)]
mod tests;
