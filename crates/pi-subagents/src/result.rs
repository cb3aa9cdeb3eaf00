//! What a model receives from its sub-agents.

use pi_protocol::{ToolOutput, Usage};
use serde_json::json;

use crate::child::{ChildEnd, EndedChild};

/// Bytes of text that a result has at most; the sub-agents of a call share them.
pub(crate) const MAX_RESULT: usize = 50 * 1024;

/// Returns the bytes of each of several results.
pub(crate) fn share(count: usize) -> usize {
    MAX_RESULT / count.max(1)
}

/// Returns the result of a call. One sub-agent without an answer makes it an error.
pub(crate) fn call_result(ended: &[EndedChild]) -> ToolOutput {
    let limit = share(ended.len());
    let text = match ended {
        [one] => body(one, limit),
        several => {
            let completed = several.iter().filter(|one| one.end.problem().is_none());
            let mut text = format!(
                "{} of {} tasks completed.",
                completed.count(),
                several.len()
            );
            for (index, one) in several.iter().enumerate() {
                let status = one.child.status();
                let more = format!(
                    "\n\n## Task {}: {} ({}), {}\n\n{}",
                    index + 1,
                    status.agent,
                    status.id,
                    one.end.state().name(),
                    body(one, limit)
                );
                text.push_str(&more);
            }
            text
        }
    };
    let usage = ended
        .iter()
        .fold(Usage::default(), |sum, one| sum.plus(&one.usage));
    let tasks: Vec<_> = ended.iter().map(|one| one.child.status()).collect();
    ToolOutput {
        details: Some(json!({ "tasks": tasks })),
        is_error: ended
            .iter()
            .any(|one| one.end.problem().is_some())
            .then_some(true),
        usage: Some(usage),
        ..ToolOutput::text(text)
    }
}

/// Returns the message about a sub-agent in the background that has ended.
pub(crate) fn report(ended: &EndedChild) -> String {
    let status = ended.child.status();
    format!(
        "The sub-agent {} ({}) {}.\n\n{}",
        status.agent,
        status.id,
        match ended.end {
            ChildEnd::Completed(_) => "has completed its task",
            ChildEnd::Failed { .. } => "has failed",
            ChildEnd::Stopped { .. } => "was stopped",
        },
        body(ended, MAX_RESULT)
    )
}

fn body(ended: &EndedChild, limit: usize) -> String {
    let mut text = match &ended.end {
        ChildEnd::Completed(_) => String::new(),
        ChildEnd::Failed { reason, .. } => format!("The task failed: {reason}."),
        ChildEnd::Stopped { reason, .. } => format!("The task was stopped: {reason}."),
    };
    if let Some(words) = ended.end.text() {
        if !text.is_empty() {
            text.push_str("\n\nIts last message:\n\n");
        }
        text.push_str(clipped(words, limit));
        if words.len() > limit {
            let more = format!("\n\n[{limit} of {} bytes.", words.len());
            text.push_str(&more);
            if let Some(file) = &ended.text_file {
                let more = format!(" The complete text is in {}.", file.display());
                text.push_str(&more);
            }
            text.push(']');
        }
    }
    if let Some(worktree) = &ended.worktree {
        let (path, branch) = (worktree.path.display(), &worktree.branch);
        let more = format!("\n\nChanges are in the worktree {path} (branch {branch}).");
        text.push_str(&more);
    }
    text
}

fn clipped(text: &str, limit: usize) -> &str {
    text.split_at(text.floor_char_boundary(limit)).0
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use pi_protocol::InputBlock;
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::child::Child;
    use crate::worktree::KeptWorktree;

    fn ended(end: ChildEnd) -> EndedChild {
        let child = Child::new(
            Arc::default(),
            "Go".to_owned(),
            false,
            "c".to_owned(),
            false,
        );
        child.change(|status| {
            status.id = "task-1".to_owned();
            status.agent = "general".to_owned();
        });
        EndedChild {
            child: Arc::new(child),
            end,
            usage: Usage {
                input: 3,
                total_tokens: 5,
                ..Usage::default()
            },
            worktree: None,
            text_file: None,
        }
    }

    fn completed(text: &str) -> EndedChild {
        ended(ChildEnd::Completed(text.to_owned()))
    }

    fn failed() -> EndedChild {
        ended(ChildEnd::Failed {
            reason: "no network".to_owned(),
            output: Some("I tried".to_owned()),
        })
    }

    fn text_of(output: &ToolOutput) -> String {
        let texts = output.content.iter().map(|block| match block {
            InputBlock::Text(text) => text.text.clone(),
            _ => String::new(),
        });
        texts.collect()
    }

    #[test]
    fn one_answer_is_the_result() {
        let output = call_result(&[completed("All good.")]);
        assert_eq!(text_of(&output), "All good.");
        assert_eq!(output.is_error, None);
        assert_eq!(output.usage.map(|usage| usage.total_tokens), Some(5));
    }

    #[test]
    fn failures_are_errors_with_the_last_message() {
        let output = call_result(&[failed()]);
        assert_eq!(
            text_of(&output),
            "The task failed: no network.\n\nIts last message:\n\nI tried"
        );
        assert_eq!(output.is_error, Some(true));
        let stopped = ended(ChildEnd::Stopped {
            reason: "the user stopped it".to_owned(),
            output: None,
        });
        let output = call_result(&[completed("A"), stopped, failed()]);
        let text = text_of(&output);
        assert!(text.starts_with("1 of 3 tasks completed.\n\n## Task 1: general (task-1), completed\n\nA\n\n## Task 2: general (task-1), stopped\n\nThe task was stopped: the user stopped it.\n\n## Task 3"), "{text}");
        assert_eq!(output.is_error, Some(true));
        assert_eq!(output.usage.map(|usage| usage.input), Some(9));
    }

    #[test]
    fn long_answers_are_cut_and_name_the_file() {
        let mut long = completed(&"ü".repeat(MAX_RESULT));
        long.text_file = Some("/s/answer.md".into());
        let text = text_of(&call_result(&[long]));
        let end = format!(
            "ü\n\n[51200 of {} bytes. The complete text is in /s/answer.md.]",
            2 * MAX_RESULT
        );
        assert!(text.ends_with(&end));
        assert!(text.len() < MAX_RESULT + 200);
        let text = text_of(&call_result(&[
            completed(&"x".repeat(MAX_RESULT)),
            completed("y"),
        ]));
        assert!(text.len() < MAX_RESULT / 2 + 300);
    }

    #[test]
    fn a_report_names_the_sub_agent_and_its_worktree() {
        let mut one = completed("Done.");
        one.worktree = Some(KeptWorktree {
            path: "/w/task-1".into(),
            branch: "pi/task-1".to_owned(),
        });
        assert_eq!(
            report(&one),
            "The sub-agent general (task-1) has completed its task.\n\nDone.\n\nChanges are in the worktree /w/task-1 (branch pi/task-1)."
        );
    }
}
