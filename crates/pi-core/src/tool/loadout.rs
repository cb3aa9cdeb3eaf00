//! How an active tool changes the declarations of the active tools.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::RegisteredTool;

/// The tools of a session at the moment a set of them is declared to the model.
#[derive(Clone, Default)]
pub struct ToolLoadout {
    /// The active tools.
    pub declared: Vec<RegisteredTool>,
    /// The tools that other tools may call.
    pub callable: Vec<RegisteredTool>,
    pub registered: Vec<RegisteredTool>,
}

/// Changes of the declarations of active tools; names of other tools are ignored.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct LoadoutChanges {
    /// Descriptions by tool, in place of the registered ones.
    pub descriptions: BTreeMap<String, String>,
    /// Tools whose declarations requests leave out. They stay active.
    pub hidden: Vec<String>,
}

impl LoadoutChanges {
    /// Adds the changes of another tool, which win.
    pub fn merge(&mut self, later: Self) {
        self.descriptions.extend(later.descriptions);
        self.hidden.extend(later.hidden);
    }

    pub fn hides(&self, name: &str) -> bool {
        self.hidden.iter().any(|hidden| hidden == name)
    }
}
