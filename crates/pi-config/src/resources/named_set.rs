//! Resources of one kind, one of each name: whichever comes first keeps the name.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::ConfigDiagnostic;

/// Gathers the resources of a kind.
#[derive(Debug)]
pub(super) struct NamedSet<Item> {
    /// What the kind is called in messages.
    kind: &'static str,
    items: Vec<Item>,
    /// The file each name belongs to.
    files: HashMap<String, PathBuf>,
    diagnostics: Vec<ConfigDiagnostic>,
    /// Told last: what is wrong with a file matters more than which of two was taken.
    collisions: Vec<ConfigDiagnostic>,
}

impl<Item> NamedSet<Item> {
    /// Begins with nothing.
    pub(super) fn new(kind: &'static str) -> Self {
        Self {
            kind,
            items: Vec::new(),
            files: HashMap::new(),
            diagnostics: Vec::new(),
            collisions: Vec::new(),
        }
    }

    /// Adds what a file holds, unless its name is taken, which is reported. Returns whether it was
    /// added.
    pub(super) fn add(&mut self, name: &str, path: &Path, item: impl FnOnce() -> Item) -> bool {
        if let Some(winner) = self.files.get(name) {
            let message = format!(
                "{} {name:?} is left out: {} has the same name",
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

    /// Reports something about a file.
    pub(super) fn warn(&mut self, message: impl Into<String>, path: &Path) {
        self.diagnostics
            .push(ConfigDiagnostic::warning(message, path));
    }

    /// Returns the resources and what the user should know.
    pub(super) fn finish(mut self) -> (Vec<Item>, Vec<ConfigDiagnostic>) {
        self.diagnostics.append(&mut self.collisions);
        (self.items, self.diagnostics)
    }
}
