//! What the user is asked about the changes of a tried command, and what is reported.

use std::collections::BTreeSet;
use std::path::Path;

use pi_host::{DialogPrompt, KeptChanges, TriedChange, TriedChangeKind};
use pi_tools::TextChange;

use crate::shown_text::shown_text;

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
    chosen: BTreeSet<usize>,
}

impl<'changes> Choices<'changes> {
    pub(super) fn new(changes: &'changes [TriedChange]) -> Self {
        Self {
            changes,
            chosen: (0..changes.len()).collect(),
        }
    }

    fn confirm_text(&self) -> String {
        format!("Keep {} of {}", self.chosen.len(), self.changes.len())
    }

    fn option(&self, index: usize, cwd: &Path) -> Option<String> {
        let change = self.changes.get(index)?;
        let mark = MARKS[usize::from(self.chosen.contains(&index))];
        Some(format!("{mark}{}", line(change, cwd)))
    }

    pub(super) fn prompt(&self, cwd: &Path) -> DialogPrompt {
        let mut options = vec![self.confirm_text(), KEEP_NONE.to_owned()];
        options.extend((0..self.changes.len()).filter_map(|index| self.option(index, cwd)));
        DialogPrompt::Select {
            title: "Choose what to keep".to_owned(),
            options,
        }
    }

    /// Applies an answer. Returns the changes to keep once the user has chosen, or `Err` to go back.
    pub(super) fn answer(
        &mut self,
        answer: Option<&str>,
        cwd: &Path,
    ) -> Result<Option<Vec<TriedChange>>, ()> {
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
        let mut all = 0..self.changes.len();
        if let Some(index) = all.find(|index| self.option(*index, cwd).as_deref() == Some(answer))
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
    let path = change.path.strip_prefix(cwd).unwrap_or(&change.path);
    one_line(&format!("{verb} {}{slash}", path.display()))
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

/// Shows control characters as escapes, and shortens the text.
fn one_line(text: &str) -> String {
    const MAX_CHARACTERS: usize = 200;
    let mut line: String = text.chars().take(MAX_CHARACTERS).collect();
    if line.len() < text.len() {
        line.push('…');
    }
    line.chars()
        .flat_map(|character| match character {
            character if character.is_control() => {
                character.escape_default().collect::<Vec<char>>()
            }
            character => vec![character],
        })
        .collect()
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
    let shown = |path: &Path| {
        let path = path.strip_prefix(cwd).unwrap_or(path);
        one_line(&path.display().to_string())
    };
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
