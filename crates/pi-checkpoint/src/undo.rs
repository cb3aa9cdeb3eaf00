//! Which turns of a branch can be undone: those that changed files and whose changes are in effect.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::Path;

use pi_protocol::EntryId;

use crate::change_index::ChangeSource;
use crate::history::FileHistory;

/// Turns by the positions of their user messages in a branch.
#[derive(Default)]
struct Turns {
    /// Turns that changed files, each with those that were undone when it began.
    undone_before: BTreeMap<usize, BTreeSet<usize>>,
    undone: BTreeSet<usize>,
}

impl Turns {
    fn changed(&mut self, turn: usize) {
        let before = &self.undone;
        self.undone_before
            .entry(turn)
            .or_insert_with(|| before.clone());
        self.undone.remove(&turn);
    }

    /// The files became what they were at an entry: turns that it follows are as they were then, later ones are undone.
    fn restored(&mut self, entry: usize) {
        let known = self.undone_before.range(..=entry).next_back();
        let mut undone = known.map(|(_, undone)| undone.clone()).unwrap_or_default();
        undone.extend(self.undone_before.range(entry..).map(|(turn, _)| turn));
        self.undone = undone;
    }
}

impl FileHistory {
    /// Returns the turns of a branch that can be undone, latest first: the position of the user message, and the changed
    /// paths.
    pub(crate) fn turns_to_undo(&self, branch: &[EntryId]) -> Vec<(usize, HashSet<&Path>)> {
        let positions: HashMap<&str, usize> = branch
            .iter()
            .enumerate()
            .map(|(position, entry)| (entry.as_str(), position))
            .collect();
        let position = |entry: &Option<EntryId>| {
            let entry = entry.as_ref()?;
            positions.get(entry.as_str()).copied()
        };
        let mut turns = Turns::default();
        let mut paths: BTreeMap<usize, HashSet<&Path>> = BTreeMap::new();
        for change in self.changes() {
            match &change.source {
                ChangeSource::Tool { .. } => {
                    if let Some(turn) = position(&change.turn) {
                        turns.changed(turn);
                        paths.entry(turn).or_default().insert(&change.path);
                    }
                }
                ChangeSource::Restore { to } => {
                    if let Some(entry) = position(to) {
                        turns.restored(entry);
                    }
                }
                ChangeSource::Other | ChangeSource::Move => {}
            }
        }
        let in_effect = paths.into_iter().rev();
        in_effect
            .filter(|(turn, _)| !turns.undone.contains(turn))
            .collect()
    }
}
