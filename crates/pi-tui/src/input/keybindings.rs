//! Keybindings: which keys trigger which action.
//!
//! The application provides action definitions (IDs, descriptions, default keys by platform) and
//! the user's bindings; this resolves whether a key event triggers an action. The application reads
//! and writes the user's file.

use std::collections::{BTreeMap, HashMap};

use super::key::KeyEvent;
use super::key_id::{KeyId, KeyIdError};

pub mod action;

pub use action::TUI_ACTIONS;

#[cfg(test)]
mod tests;

/// A platform with its own default keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Platform {
    /// Linux and other Unix systems.
    Linux,
    MacOs,
    Windows,
    /// Linux inside Windows (WSL), whose terminal is a Windows program.
    Wsl,
}

impl Platform {
    /// Returns the platform of this process. `variable` looks up environment variables.
    pub fn current(variable: impl Fn(&str) -> Option<String>) -> Self {
        if cfg!(windows) {
            Self::Windows
        } else if cfg!(target_os = "macos") {
            Self::MacOs
        } else if ["WSL_DISTRO_NAME", "WSL_INTEROP"]
            .into_iter()
            .any(|name| variable(name).is_some())
        {
            Self::Wsl
        } else {
            Self::Linux
        }
    }
}

/// An action that keys can be bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActionDefinition {
    /// The name users write in their keybindings file, such as `tui.editor.cursorUp`.
    pub id: &'static str,
    /// Shown in help.
    pub description: &'static str,
    pub keys: &'static [&'static str],
    /// Default keys on platforms that differ.
    pub overrides: &'static [(Platform, &'static [&'static str])],
}

impl ActionDefinition {
    /// Returns the default keys on `platform`, skipping invalid key names.
    pub fn default_keys(&self, platform: Platform) -> Vec<KeyId> {
        let keys = self
            .overrides
            .iter()
            .find(|(overridden, _)| *overridden == platform)
            .map_or(self.keys, |(_, keys)| *keys);
        keys.iter().filter_map(|key| key.parse().ok()).collect()
    }
}

/// The user's bindings: keys by action, and the key names that are invalid.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserKeybindings {
    keys: BTreeMap<String, Vec<KeyId>>,
    invalid: Vec<InvalidKey>,
}

/// An invalid key name in the user's bindings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidKey {
    pub action: String,
    /// The key name as written.
    pub key: String,
    pub error: KeyIdError,
}

impl UserKeybindings {
    /// Parses the object of a keybindings file: a key or list of keys per action. Values of other
    /// types are ignored.
    ///
    /// `current_name` returns the new name of a renamed action. If a file has both names, the new
    /// one applies.
    pub fn from_json<'a>(
        object: &'a serde_json::Map<String, serde_json::Value>,
        current_name: impl Fn(&str) -> Option<&'a str>,
    ) -> Self {
        let mut bindings = Self::default();
        for (name, value) in object {
            let renamed = current_name(name);
            if renamed.is_some_and(|name| object.contains_key(name)) {
                continue;
            }
            let action = renamed.unwrap_or(name);
            match value {
                serde_json::Value::String(key) => bindings.bind(action, [key.as_str()]),
                serde_json::Value::Array(keys) if keys.iter().all(serde_json::Value::is_string) => {
                    bindings.bind(action, keys.iter().filter_map(serde_json::Value::as_str));
                }
                _ => {}
            }
        }
        bindings
    }

    /// Binds an action to these keys instead of its defaults. An empty list disables the action.
    ///
    /// Invalid key names are recorded in [`invalid`](Self::invalid). If all names are invalid, the
    /// defaults stay, so that a typo cannot make it impossible to exit the program.
    pub fn bind<'a>(&mut self, action: &str, names: impl IntoIterator<Item = &'a str>) {
        let (mut keys, mut has_invalid) = (Vec::new(), false);
        for name in names {
            match name.parse() {
                Ok(key) if keys.contains(&key) => {}
                Ok(key) => keys.push(key),
                Err(error) => {
                    has_invalid = true;
                    let (action, key) = (action.to_owned(), name.to_owned());
                    self.invalid.push(InvalidKey { action, key, error });
                }
            }
        }
        if !keys.is_empty() || !has_invalid {
            self.keys.insert(action.to_owned(), keys);
        }
    }

    /// Returns the user's keys for an action, or `None` if the defaults apply.
    pub fn get(&self, action: &str) -> Option<&[KeyId]> {
        self.keys.get(action).map(Vec::as_slice)
    }

    /// Returns the invalid key names.
    pub fn invalid(&self) -> &[InvalidKey] {
        &self.invalid
    }
}

/// A key that the user bound to several actions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyConflict {
    pub key: KeyId,
    /// The actions bound to it, in definition order.
    pub actions: Vec<&'static str>,
}

/// The keys of every action.
#[derive(Clone, Debug, Default)]
pub struct Keybindings {
    definitions: Vec<ActionDefinition>,
    keys: HashMap<&'static str, Vec<KeyId>>,
    conflicts: Vec<KeyConflict>,
}

impl Keybindings {
    /// Resolves the keys of `definitions` on `platform`: the user's bindings where present,
    /// otherwise the defaults.
    pub fn new(
        definitions: &[ActionDefinition],
        platform: Platform,
        user: &UserKeybindings,
    ) -> Self {
        let keys = definitions
            .iter()
            .map(|definition| {
                let chosen = user.get(definition.id).map(<[KeyId]>::to_vec);
                (
                    definition.id,
                    chosen.unwrap_or_else(|| definition.default_keys(platform)),
                )
            })
            .collect();
        Self {
            definitions: definitions.to_vec(),
            keys,
            conflicts: find_conflicts(definitions, user),
        }
    }

    /// Whether `event` triggers `action`.
    pub fn matches(&self, event: &KeyEvent, action: &str) -> bool {
        self.keys(action).iter().any(|key| event.is(*key))
    }

    /// Returns the keys of `action`; empty if it is disabled or unknown.
    pub fn keys(&self, action: &str) -> &[KeyId] {
        self.keys.get(action).map_or(&[], Vec::as_slice)
    }

    /// Returns every action in definition order.
    pub fn definitions(&self) -> &[ActionDefinition] {
        &self.definitions
    }

    /// Returns the keys that the user bound to more than one action.
    ///
    /// Defaults share keys on purpose and do not conflict; the first handler that checks wins.
    pub fn conflicts(&self) -> &[KeyConflict] {
        &self.conflicts
    }
}

fn find_conflicts(definitions: &[ActionDefinition], user: &UserKeybindings) -> Vec<KeyConflict> {
    let mut claims: BTreeMap<KeyId, Vec<&'static str>> = BTreeMap::new();
    for definition in definitions {
        for key in user.get(definition.id).unwrap_or_default() {
            claims.entry(*key).or_default().push(definition.id);
        }
    }
    claims
        .into_iter()
        .filter(|(_, actions)| actions.len() > 1)
        .map(|(key, actions)| KeyConflict { key, actions })
        .collect()
}
