//! What the user is asked before files are restored, and what is reported afterwards.

use std::path::Path;

use pi_checkpoint::{FileCondition, Resolution, RestorePlan, RestoreReport};
use pi_host::{AgentSession, DialogPrompt};

use crate::shown_text::shown_path;

/// Files named in a question or a report.
const MAX_LISTED: usize = 10;

const DIFFERENCES: &str = "Show the differences";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Choice {
    /// Restore files; when the session moves in its tree, it moves, too.
    Restore(Resolution),
    /// Restore files, and leave the session where it is.
    OnlyFiles,
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
    /// The session moves in its tree. If files were changed outside pi, [`changed`](Self::changed) asks about them
    /// afterwards.
    pub(super) fn tree(plan: &RestorePlan, cwd: &Path) -> Self {
        let count = files(plan.files.len());
        let title = format!("Restore conversation, files or both?\nRestoring {count} would:");
        let mut options = vec![("Conversation".to_owned(), Some(Choice::Keep))];
        if plan.count(FileCondition::Restorable) + plan.count(FileCondition::ChangedSince) > 0 {
            let both = Choice::Restore(Resolution::Skip);
            options.push(("Conversation and files".to_owned(), Some(both)));
            options.push(("Files".to_owned(), Some(Choice::OnlyFiles)));
        }
        Self::new(title, options, plan, cwd)
    }

    /// A turn is undone, and files have changed since.
    pub(super) fn undo(plan: &RestorePlan, cwd: &Path) -> Self {
        let changed = plan.count(FileCondition::ChangedSince);
        let title = format!("Undo the last turn? {changed} changed outside pi since");
        Self::changed(title, plan, cwd)
    }

    /// Files of a move in the tree have changed outside pi.
    pub(super) fn changed_files(plan: &RestorePlan, cwd: &Path) -> Self {
        let changed = plan.count(FileCondition::ChangedSince);
        let title = format!("Restore files? {changed} changed outside pi since");
        Self::changed(title, plan, cwd)
    }

    /// Asks what happens to the files that were changed outside pi.
    fn changed(title: String, plan: &RestorePlan, cwd: &Path) -> Self {
        let restorable = plan.count(FileCondition::Restorable);
        let changed = plan.count(FileCondition::ChangedSince);
        let mut options = vec![("Cancel".to_owned(), Some(Choice::Cancel))];
        let mut add = |text: String, resolution| {
            options.push((text, Some(Choice::Restore(resolution))));
        };
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
        Self::new(title, options, plan, cwd)
    }

    fn new(
        mut title: String,
        mut options: Vec<(String, Option<Choice>)>,
        plan: &RestorePlan,
        cwd: &Path,
    ) -> Self {
        for line in listed(plan, cwd) {
            title.push('\n');
            title.push_str(&line);
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

fn listed(plan: &RestorePlan, cwd: &Path) -> Vec<String> {
    let lines = plan.files.iter().map(|file| {
        let note = match file.condition {
            FileCondition::Restorable => "",
            FileCondition::ChangedSince => " (changed outside pi)",
            FileCondition::Unavailable => " (contents not stored)",
        };
        format!("{} {}{note}", file.action(), shown_path(&file.path, cwd))
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
    lines.extend(shortened(restored.map(|path| shown_path(path, cwd))));
    for path in &report.written_next_to {
        lines.push(format!("wrote {}", shown_path(path, cwd)));
    }
    for path in &report.skipped {
        lines.push(format!("skipped {}", shown_path(path, cwd)));
    }
    for (path, error) in &report.failed {
        lines.push(format!("cannot restore {}: {error}", shown_path(path, cwd)));
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

    fn options(question: RestoreQuestion) -> Vec<String> {
        question.options.into_iter().map(|(text, _)| text).collect()
    }

    #[test]
    fn the_options_fit_the_files() {
        use FileCondition::{ChangedSince, Restorable, Unavailable};

        let cwd = Path::new("/project");
        let tree = |conditions: &[_]| options(RestoreQuestion::tree(&plan(conditions), cwd));
        assert_eq!(
            tree(&[Restorable, ChangedSince]),
            [
                "Conversation",
                "Conversation and files",
                "Files",
                DIFFERENCES
            ]
        );
        assert_eq!(tree(&[Unavailable]), ["Conversation", DIFFERENCES]);
        let changed = plan(&[Restorable, ChangedSince]);
        assert_eq!(
            options(RestoreQuestion::changed_files(&changed, cwd)),
            [
                "Cancel",
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

    #[test]
    fn a_file_name_adds_no_line_to_a_question() {
        let mut plan = plan(&[FileCondition::Restorable]);
        plan.files[0].path = "/project/a\nand 9 more\u{202e}".into();
        let question = RestoreQuestion::tree(&plan, Path::new("/project"));
        assert!(
            question.title.ends_with("\ndelete a\\nand 9 more<U+202E>"),
            "{}",
            question.title
        );
    }
}
