//! What the user is asked about the changes of a tried command, and what is reported.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;

use pi_host::{DialogPrompt, KeptChanges, TriedChange, TriedChangeKind};
use pi_tools::TextChange;

use crate::shown_text::{one_line, shown_path, shown_text};

/// Changes named in a question or a report.
const MAX_LISTED: usize = 10;

/// Files whose differences are shown.
const MAX_COMPARED: usize = 200;

/// Larger files are not compared.
const MAX_COMPARED_BYTES: u64 = 1024 * 1024;

const KEEP: &str = "Keep";
const DISCARD: &str = "Discard";
const CHOOSE: &str = "Choose what to keep";
const DIFFERENCES: &str = "Show the differences";
const LATER: &str = "Decide later";
const KEEP_NONE: &str = "Back";

/// Marks of changes that are kept or not.
const MARKS: [&str; 2] = ["[ ] ", "[x] "];

/// What the user answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum KeepAnswer {
    Keep,
    Discard,
    Choose,
    Differences,
    Later,
}

/// A question about all changes of a command.
pub(super) fn prompt(command: &str, changes: &[TriedChange], cwd: &Path) -> DialogPrompt {
    let mut title = format!(
        "Keep the changes of `{}`? {}",
        one_line(command),
        summary(changes)
    );
    for line in listed(changes, cwd) {
        title.push('\n');
        title.push_str(&line);
    }
    DialogPrompt::Select {
        title,
        options: [KEEP, DISCARD, CHOOSE, DIFFERENCES, LATER]
            .map(str::to_owned)
            .into(),
    }
}

/// Reads an answer to [`prompt`]; a dismissed question is answered later.
pub(super) fn read_answer(answer: Option<&str>) -> KeepAnswer {
    match answer {
        Some(KEEP) => KeepAnswer::Keep,
        Some(DISCARD) => KeepAnswer::Discard,
        Some(CHOOSE) => KeepAnswer::Choose,
        Some(DIFFERENCES) => KeepAnswer::Differences,
        _ => KeepAnswer::Later,
    }
}

/// The changes that can be chosen one by one, and which of them are.
#[derive(Debug)]
pub(super) struct Choices<'changes> {
    changes: &'changes [TriedChange],
    /// One for each change; no two are the same.
    lines: Vec<String>,
    chosen: BTreeSet<usize>,
}

impl<'changes> Choices<'changes> {
    pub(super) fn new(changes: &'changes [TriedChange], cwd: &Path) -> Self {
        let mut seen = HashSet::new();
        let lines = changes.iter().enumerate().map(|(index, change)| {
            let mut shown = line(change, cwd);
            // An answer is the text of an option, and long paths can look the same.
            while !seen.insert(shown.clone()) {
                shown = format!("{shown} (no. {})", index + 1);
            }
            shown
        });
        Self {
            lines: lines.collect(),
            changes,
            chosen: (0..changes.len()).collect(),
        }
    }

    fn confirm_text(&self) -> String {
        format!("Keep {} of {}", self.chosen.len(), self.changes.len())
    }

    fn options(&self) -> impl Iterator<Item = String> {
        self.lines.iter().enumerate().map(|(index, line)| {
            let mark = MARKS[usize::from(self.chosen.contains(&index))];
            format!("{mark}{line}")
        })
    }

    pub(super) fn prompt(&self) -> DialogPrompt {
        let mut options = vec![self.confirm_text(), KEEP_NONE.to_owned()];
        options.extend(self.options());
        DialogPrompt::Select {
            title: "Choose what to keep".to_owned(),
            options,
        }
    }

    /// Applies an answer. Returns the changes to keep once the user has chosen, or `Err` to go back.
    pub(super) fn answer(&mut self, answer: Option<&str>) -> Result<Option<Vec<TriedChange>>, ()> {
        let answer = answer.ok_or(())?;
        if answer == KEEP_NONE {
            return Err(());
        }
        if answer == self.confirm_text() {
            let chosen = self
                .chosen
                .iter()
                .filter_map(|index| self.changes.get(*index));
            return Ok(Some(chosen.cloned().collect()));
        }
        let index = self.options().position(|option| option == answer);
        if let Some(index) = index
            && !self.chosen.remove(&index)
        {
            self.chosen.insert(index);
        }
        Ok(None)
    }
}

/// Returns the differences of files, as patches.
pub(super) fn differences(changes: &[TriedChange]) -> String {
    let patches = changes
        .iter()
        .filter(|change| !change.is_directory)
        .take(MAX_COMPARED)
        .map(|change| {
            let name = change.path.to_string_lossy();
            let new = match change.kind {
                TriedChangeKind::Deleted => Some(String::new()),
                TriedChangeKind::Created | TriedChangeKind::Modified => {
                    shown_text(&change.tried_path, MAX_COMPARED_BYTES)
                }
            };
            let old = match change.kind {
                TriedChangeKind::Created => Some(String::new()),
                TriedChangeKind::Deleted | TriedChangeKind::Modified => {
                    shown_text(&change.path, MAX_COMPARED_BYTES)
                }
            };
            match (old, new) {
                (Some(old), Some(new)) => TextChange::between(&old, &new, &name).patch,
                _ => format!("{name} is not a text file, or is too large\n"),
            }
        });
    patches.collect::<Vec<_>>().join("\n")
}

/// Counts changes: `2 files changed, 1 created, 1 deleted`.
pub(super) fn summary(changes: &[TriedChange]) -> String {
    let count = |kind| {
        let files = changes.iter().filter(|change| {
            change.kind == kind && (!change.is_directory || kind == TriedChangeKind::Deleted)
        });
        files.count()
    };
    let counts = [
        (count(TriedChangeKind::Modified), "changed"),
        (count(TriedChangeKind::Created), "created"),
        (count(TriedChangeKind::Deleted), "deleted"),
    ];
    let mut parts: Vec<String> = Vec::new();
    for (count, word) in counts {
        match (count, parts.is_empty()) {
            (0, _) => {}
            (1, true) => parts.push(format!("1 file {word}")),
            (_, true) => parts.push(format!("{count} files {word}")),
            (_, false) => parts.push(format!("{count} {word}")),
        }
    }
    if parts.is_empty() {
        return "only directories changed".to_owned();
    }
    parts.join(", ")
}

fn line(change: &TriedChange, cwd: &Path) -> String {
    let verb = match change.kind {
        TriedChangeKind::Created => "create",
        TriedChangeKind::Modified => "change",
        TriedChangeKind::Deleted => "delete",
    };
    let slash = if change.is_directory { "/" } else { "" };
    format!("{verb} {}{slash}", shown_path(&change.path, cwd))
}

/// Returns the first changes, and how many are left out.
fn listed(changes: &[TriedChange], cwd: &Path) -> Vec<String> {
    let mut lines: Vec<String> = changes
        .iter()
        .take(MAX_LISTED)
        .map(|change| line(change, cwd))
        .collect();
    if changes.len() > MAX_LISTED {
        lines.push(format!("and {} more", changes.len() - MAX_LISTED));
    }
    lines
}

/// Describes for the model what was kept of some changes.
pub(super) fn kept_text(kept: &KeptChanges, total: usize, cwd: &Path) -> String {
    let mut lines = vec![if kept.kept.len() == total {
        "The changes were kept.".to_owned()
    } else {
        format!(
            "{} of {total} changes were kept; the others were discarded.",
            kept.kept.len()
        )
    }];
    let shown = |path: &Path| shown_path(path, cwd);
    for path in kept.protected.iter().take(MAX_LISTED) {
        lines.push(format!(
            "Not kept, because the sandbox protects it: {}",
            shown(path)
        ));
    }
    for path in kept.changed_since.iter().take(MAX_LISTED) {
        lines.push(format!(
            "Not kept, because it has changed meanwhile: {}",
            shown(path)
        ));
    }
    for failed in kept.failed.iter().take(MAX_LISTED) {
        lines.push(format!(
            "Cannot keep {}: {}",
            shown(&failed.path),
            failed.error
        ));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn changes_that_look_the_same_are_chosen_one_by_one() {
        let change = |name: &str| TriedChange {
            path: format!("/project/{}{name}{}", "d".repeat(150), "e".repeat(150)).into(),
            kind: TriedChangeKind::Created,
            is_directory: false,
            tried_path: name.into(),
            overlay: 0,
        };
        let changes = [change("1"), change("2"), change("3")];
        let mut choices = Choices::new(&changes, Path::new("/project"));
        let options: Vec<String> = choices.options().collect();
        assert_eq!(choices.answer(Some(&options[1])), Ok(None));
        let confirm = choices.confirm_text();
        let kept = choices.answer(Some(&confirm)).unwrap().unwrap();
        let kept: Vec<_> = kept.iter().map(|change| &change.tried_path).collect();
        assert_eq!(kept, [Path::new("1"), Path::new("3")]);
    }
}
