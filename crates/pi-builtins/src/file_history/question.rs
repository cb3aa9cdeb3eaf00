//! What the user is asked before files are restored, and what is reported afterwards.

use std::path::Path;

use pi_checkpoint::{FileCondition, Resolution, RestorePlan, RestoreReport};
use pi_host::{AgentSession, DialogPrompt};

/// Files named in a question or a report.
const MAX_LISTED: usize = 10;

const DIFFERENCES: &str = "Show the differences";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Choice {
    Restore(Resolution),
    Keep,
    Cancel,
}

/// A question about the files of a plan.
#[derive(Debug)]
pub(super) struct RestoreQuestion {
    title: String,
    options: Vec<(String, Option<Choice>)>,
}

impl RestoreQuestion {
    /// The session moves in its tree.
    pub(super) fn tree(plan: &RestorePlan, cwd: &Path) -> Self {
        let count = plan.files.len();
        let title = format!("Restore files too? {count} changed since");
        Self::new(title, plan, cwd, "Keep the files as they are", Choice::Keep)
    }

    /// A turn is undone, and files have changed since.
    pub(super) fn undo(plan: &RestorePlan, cwd: &Path) -> Self {
        let changed = plan.count(FileCondition::ChangedSince);
        let title = format!("Undo the last turn? {changed} changed outside pi since");
        Self::new(title, plan, cwd, "Cancel", Choice::Cancel)
    }

    fn new(
        mut title: String,
        plan: &RestorePlan,
        cwd: &Path,
        decline: &str,
        declined: Choice,
    ) -> Self {
        for line in listed(plan, cwd) {
            title.push('\n');
            title.push_str(&line);
        }
        let restorable = plan.count(FileCondition::Restorable);
        let changed = plan.count(FileCondition::ChangedSince);
        let mut options = vec![(decline.to_owned(), Some(declined))];
        let mut add = |text: String, resolution| {
            options.push((text, Some(Choice::Restore(resolution))));
        };
        if changed == 0 {
            if restorable > 0 {
                add(format!("Restore {}", files(restorable)), Resolution::Skip);
            }
        } else {
            if restorable > 0 {
                let text = format!(
                    "Restore {}, skip {changed} changed outside pi",
                    files(restorable)
                );
                add(text, Resolution::Skip);
            }
            let all = files(restorable + changed);
            add(
                format!("Restore {all}, overwrite changes made outside pi"),
                Resolution::Overwrite,
            );
            add(
                format!("Restore {all}, write {changed} next to the changed ones as NAME.restored"),
                Resolution::WriteNextTo,
            );
        }
        options.push((DIFFERENCES.to_owned(), None));
        Self { title, options }
    }

    pub(super) fn prompt(&self) -> DialogPrompt {
        DialogPrompt::Select {
            title: self.title.clone(),
            options: self.options.iter().map(|(text, _)| text.clone()).collect(),
        }
    }

    /// Returns the choice of an option; `None` to show the differences.
    pub(super) fn choice(&self, answer: &str) -> Option<Choice> {
        let mut options = self.options.iter();
        let chosen = options.find(|(text, _)| text == answer);
        chosen.map_or(Some(Choice::Cancel), |(_, choice)| *choice)
    }
}

fn files(count: usize) -> String {
    match count {
        1 => "1 file".to_owned(),
        count => format!("{count} files"),
    }
}

fn shown<'a>(path: &'a Path, cwd: &Path) -> std::path::Display<'a> {
    path.strip_prefix(cwd).unwrap_or(path).display()
}

fn listed(plan: &RestorePlan, cwd: &Path) -> Vec<String> {
    let lines = plan.files.iter().map(|file| {
        let note = match file.condition {
            FileCondition::Restorable => "",
            FileCondition::ChangedSince => " (changed outside pi)",
            FileCondition::Unavailable => " (contents not stored)",
        };
        format!("{} {}{note}", file.action(), shown(&file.path, cwd))
    });
    shortened(lines)
}

/// Returns the first lines, and how many are left out.
fn shortened(lines: impl ExactSizeIterator<Item = String>) -> Vec<String> {
    let hidden = lines.len().saturating_sub(MAX_LISTED);
    let mut lines: Vec<_> = lines.take(MAX_LISTED).collect();
    if hidden > 0 {
        lines.push(format!("and {hidden} more"));
    }
    lines
}

/// Describes what was restored.
pub(super) fn report_text(report: &RestoreReport, session: Option<&AgentSession>) -> String {
    let cwd = session.map_or(Path::new(""), AgentSession::cwd);
    let mut lines = vec![format!("Restored {}", files(report.restored.len()))];
    let restored = report.restored.iter();
    lines.extend(shortened(restored.map(|path| shown(path, cwd).to_string())));
    for path in &report.written_next_to {
        lines.push(format!("wrote {}", shown(path, cwd)));
    }
    for path in &report.skipped {
        lines.push(format!("skipped {}", shown(path, cwd)));
    }
    for (path, error) in &report.failed {
        lines.push(format!("cannot restore {}: {error}", shown(path, cwd)));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use pi_checkpoint::{FileState, PlannedFile};
    use pretty_assertions::assert_eq;

    use super::*;

    fn plan(conditions: &[FileCondition]) -> RestorePlan {
        let mut plan = RestorePlan::default();
        plan.files = conditions
            .iter()
            .map(|condition| PlannedFile {
                path: "/project/a".into(),
                wanted: FileState::Missing,
                left: FileState::Other,
                condition: *condition,
            })
            .collect();
        plan
    }

    fn options(conditions: &[FileCondition]) -> Vec<String> {
        let question = RestoreQuestion::tree(&plan(conditions), Path::new("/project"));
        question.options.into_iter().map(|(text, _)| text).collect()
    }

    #[test]
    fn the_options_fit_the_files() {
        use FileCondition::{ChangedSince, Restorable, Unavailable};

        let keep = "Keep the files as they are";
        assert_eq!(
            options(&[Restorable, Restorable]),
            [keep, "Restore 2 files", DIFFERENCES]
        );
        assert_eq!(options(&[Unavailable]), [keep, DIFFERENCES]);
        assert_eq!(
            options(&[Restorable, ChangedSince]),
            [
                keep,
                "Restore 1 file, skip 1 changed outside pi",
                "Restore 2 files, overwrite changes made outside pi",
                "Restore 2 files, write 1 next to the changed ones as NAME.restored",
                DIFFERENCES
            ]
        );
    }

    #[test]
    fn an_answer_is_a_choice() {
        let plan = plan(&[FileCondition::ChangedSince]);
        let question = RestoreQuestion::undo(&plan, Path::new("/project"));
        assert_eq!(question.choice("Cancel"), Some(Choice::Cancel));
        assert_eq!(question.choice("anything"), Some(Choice::Cancel));
        assert_eq!(question.choice(DIFFERENCES), None);
        let overwrite = "Restore 1 file, overwrite changes made outside pi";
        let expected = Choice::Restore(Resolution::Overwrite);
        assert_eq!(question.choice(overwrite), Some(expected));
        let DialogPrompt::Select { title, .. } = question.prompt() else {
            panic!("expected a selection");
        };
        assert!(
            title.ends_with("\ndelete a (changed outside pi)"),
            "{title}"
        );
    }
}
