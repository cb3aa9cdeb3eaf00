//! Resources of one kind, unique by name; the first one wins.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use pi_protocol::ConfigDiagnostic;

/// Collects the resources of a kind.
#[derive(Debug)]
pub(super) struct NamedSet<Item> {
    /// Name of the kind in messages.
    kind: &'static str,
    items: Vec<Item>,
    /// The file that claimed each name.
    files: HashMap<String, PathBuf>,
    diagnostics: Vec<ConfigDiagnostic>,
    /// Reported last: broken files matter more than name collisions.
    collisions: Vec<ConfigDiagnostic>,
}

impl<Item> NamedSet<Item> {
    pub(super) fn new(kind: &'static str) -> Self {
        Self {
            kind,
            items: Vec::new(),
            files: HashMap::new(),
            diagnostics: Vec::new(),
            collisions: Vec::new(),
        }
    }

    /// Adds a resource, or reports a collision if its name is taken. Returns whether it was
    /// added.
    pub(super) fn add(&mut self, name: &str, path: &Path, item: impl FnOnce() -> Item) -> bool {
        if let Some(winner) = self.files.get(name) {
            let message = format!(
                "skipped {} {name:?}: the name is already used by {}",
                self.kind,
                winner.display()
            );
            self.collisions
                .push(ConfigDiagnostic::warning(message, path));
            return false;
        }
        self.files.insert(name.to_owned(), path.to_owned());
        self.items.push(item());
        true
    }

    /// Adds a warning about a file.
    pub(super) fn warn(&mut self, message: impl Into<String>, path: &Path) {
        self.diagnostics
            .push(ConfigDiagnostic::warning(message, path));
    }

    /// Returns the resources and the diagnostics.
    pub(super) fn finish(mut self) -> (Vec<Item>, Vec<ConfigDiagnostic>) {
        self.diagnostics.append(&mut self.collisions);
        (self.items, self.diagnostics)
    }
}
