//! The review pane: collects the changes of the session, and undoes single ones.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use pi_protocol::{AgentMessage, AssistantMessage, EntryBody, EntryKind, MessageRole};
use pi_views::dialogs::ReviewFile;
use pi_views::dialogs::dialog::DialogUpdate;
use pi_views::diff_view::DiffHunk;
use pi_views::file_change::FileCall;

use crate::app::command::AppCommand;
use crate::app::context::AppContext;
use crate::app::tasks::AppTask;
use crate::session::history::SessionHistory;

#[derive(Debug)]
pub(crate) enum ReviewMsg {
    /// Undoes a change of a file.
    Revert { path: String, hunk: DiffHunk },
    Reverted {
        path: String,
        hunk: DiffHunk,
        result: Result<(), String>,
    },
}

/// Keeps no state: the pane has the changes.
#[derive(Debug)]
pub(crate) struct ReviewController;

impl ReviewController {
    pub(crate) fn update(message: ReviewMsg, ctx: &AppContext<'_>) -> Vec<AppCommand> {
        match message {
            ReviewMsg::Revert { path, hunk } => {
                let file = absolute(&path, &ctx.session.cwd, ctx.ui.context().home.as_deref());
                vec![AppCommand::Run(AppTask::blocking(
                    "revert a change",
                    move || ReviewMsg::Reverted {
                        result: revert(&file, &hunk),
                        path,
                        hunk,
                    },
                ))]
            }
            ReviewMsg::Reverted { path, hunk, result } => {
                let update = match result {
                    Ok(()) => DialogUpdate::HunkReverted { path, hunk },
                    Err(problem) => {
                        DialogUpdate::Failed(format!("Cannot revert in {path}: {problem}"))
                    }
                };
                vec![AppCommand::UpdateDialog(update)]
            }
        }
    }
}

/// Resolves the path of a call.
fn absolute(path: &str, cwd: &Path, home: Option<&Path>) -> PathBuf {
    match (path.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => cwd.join(path),
    }
}

fn revert(file: &Path, hunk: &DiffHunk) -> Result<(), String> {
    let contents = std::fs::read_to_string(file).map_err(|error| error.to_string())?;
    let reverted = hunk.revert(&contents).map_err(|error| error.to_string())?;
    pi_fs::atomic_file::write(file, reverted.as_bytes(), pi_fs::NewFileMode::Default)
        .map_err(|error| error.to_string())
}

/// Returns the files that the current branch changed with `edit` and `write`, in the order of their first change.
pub(crate) fn changed_files(history: &dyn SessionHistory) -> Vec<ReviewFile> {
    let branch = history.branch();
    let is_prompt = |id| history.kind(id) == Some(EntryKind::Message(MessageRole::User));
    let last_prompt = branch.iter().rposition(is_prompt);
    let mut calls: HashMap<String, FileCall> = HashMap::new();
    let mut files: Vec<ReviewFile> = Vec::new();
    for (index, id) in branch.iter().enumerate() {
        let is_relevant = matches!(
            history.kind(id),
            Some(EntryKind::Message(
                MessageRole::Assistant | MessageRole::ToolResult
            ))
        );
        let Some(entry) = is_relevant.then(|| history.entry(id)).flatten() else {
            continue;
        };
        match &entry.body {
            EntryBody::Message(AgentMessage::Assistant(answer)) => {
                calls.extend(changing_calls(answer));
            }
            EntryBody::Message(AgentMessage::ToolResult(result)) if !result.is_error => {
                if let Some(call) = calls.remove(&result.tool_call_id) {
                    let is_recent = last_prompt.is_none_or(|prompt| index > prompt);
                    let hunks = call.hunks(result.details.as_ref(), is_recent);
                    match files.iter_mut().find(|file| file.path == call.path) {
                        Some(file) => file.hunks.extend(hunks),
                        None if hunks.is_empty() => {}
                        None => files.push(ReviewFile {
                            path: call.path,
                            hunks,
                        }),
                    }
                }
            }
            _ => {}
        }
    }
    files
}

fn changing_calls(answer: &AssistantMessage) -> impl Iterator<Item = (String, FileCall)> {
    answer.tool_calls().filter_map(|call| {
        let changing = FileCall::new(&call.name, &call.arguments)?;
        Some((call.id.clone(), changing))
    })
}

#[cfg(test)]
mod tests {
    use pi_protocol::{AssistantBlock, ToolCall};
    use pretty_assertions::assert_eq;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_change_is_undone_in_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let file = absolute("a.txt", directory.path(), None);
        let contents = b"one\nTWO\nthree\n";
        pi_fs::atomic_file::write(&file, contents, pi_fs::NewFileMode::Default).unwrap();
        let hunk = DiffHunk::split(" 1 one\n-2 two\n+2 TWO\n 3 three").remove(0);
        revert(&file, &hunk).unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "one\ntwo\nthree\n");
        assert_eq!(
            revert(&file, &hunk).unwrap_err(),
            "the file has changed since"
        );
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "one\ntwo\nthree\n");
    }

    #[test]
    fn edits_and_writes_have_hunks() {
        let call = |name: &str, arguments: Value| {
            AssistantBlock::ToolCall(ToolCall {
                id: name.to_owned(),
                name: name.to_owned(),
                arguments: arguments.as_object().unwrap().clone(),
                ..ToolCall::default()
            })
        };
        let answer = AssistantMessage {
            content: vec![
                call("edit", json!({"path": "a.rs"})),
                call("write", json!({"path": "b.rs", "content": "x\ny\n"})),
                call("bash", json!({"command": "ls"})),
            ],
            ..AssistantMessage::default()
        };
        let calls: HashMap<String, FileCall> = changing_calls(&answer).collect();
        assert_eq!(calls.len(), 2);
        let diff = json!({"diff": "-1 a\n+1 b"});
        let edited = calls["edit"].hunks(Some(&diff), true);
        assert_eq!((edited.len(), edited[0].is_whole_file), (1, false));
        let written = calls["write"].hunks(None, false);
        assert_eq!((written[0].hunk.added, written[0].is_whole_file), (2, true));
    }
}
