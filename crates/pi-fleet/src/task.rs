//! Tasks: the lines of a task file. They are untrusted input.

use std::collections::HashSet;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::secrets::is_secret_name;
use crate::telemetry::is_trace_parent;

/// Longest ID of a task: it is part of file names.
const MAX_ID_BYTES: usize = 96;

/// One run of an agent.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FleetTask {
    /// Unique in its batch.
    pub id: String,
    pub prompt: String,
    /// Git repository; without one, the run starts in an empty directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repo: Option<String>,
    /// Commit, branch or tag of the repository.
    #[serde(rename = "ref", default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking: Option<String>,
    /// The only tools of the model; by default, those that pi selects.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// Shell command that prepares a new workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup: Option<String>,
    /// Shell command whose exit code decides whether the task is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify: Option<String>,
    /// Files of the workspace to keep, as paths or with `*` in the last component.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<String>,
    #[serde(default)]
    pub limits: TaskLimits,
    /// Names of secrets whose values the worker has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<String>,
    /// Where the agent runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceKind>,
    /// The label of the workers that take the task; any worker without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<String>,
    /// Tasks with a higher priority start first.
    #[serde(default)]
    pub priority: i64,
    /// The trace that the run is part of (W3C Trace Context).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum WorkspaceKind {
    /// On the machine of the worker.
    Worktree,
    /// In a container that has the worktree.
    Container {
        /// The image; by default that of the worker.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        image: Option<String>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskLimits {
    /// Number of responses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<u64>,
    /// Time since the last start of the agent.
    #[serde(
        default,
        with = "crate::duration",
        skip_serializing_if = "Option::is_none"
    )]
    pub wall: Option<Duration>,
    /// In US dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Number of starts without a new response between them, after which a task is `poisoned`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u32>,
}

impl TaskLimits {
    pub(crate) fn attempts(&self) -> u32 {
        const DEFAULT: u32 = 5;
        self.attempts.unwrap_or(DEFAULT)
    }
}

/// Why a task is rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct TaskError {
    /// 1-based.
    pub line: usize,
    pub reason: String,
}

/// Parses a task file; empty lines are skipped.
pub fn parse_tasks(text: &str) -> Result<Vec<FleetTask>, TaskError> {
    let mut tasks: Vec<FleetTask> = Vec::new();
    let mut ids = HashSet::new();
    for (index, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let fail = |reason: String| TaskError {
            line: index + 1,
            reason,
        };
        let task: FleetTask = serde_json::from_str(line).map_err(|error| fail(describe(&error)))?;
        task.check().map_err(fail)?;
        if !ids.insert(task.id.clone()) {
            return Err(fail(format!("the ID `{}` is not unique", task.id)));
        }
        tasks.push(task);
    }
    Ok(tasks)
}

/// A stored task that this version cannot read: a newer one may have written it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UnreadableTask {
    pub(crate) id: String,
    pub(crate) reason: String,
}

/// Parses tasks that are stored, and names those that cannot be read.
pub(crate) fn parse_stored_tasks(text: &str) -> (Vec<FleetTask>, Vec<UnreadableTask>) {
    let (mut tasks, mut unreadable) = (Vec::new(), Vec::new());
    for (index, line) in text.lines().enumerate() {
        match parse_tasks(line) {
            Ok(parsed) => tasks.extend(parsed),
            Err(error) => unreadable.push(UnreadableTask {
                id: id_of(line).unwrap_or_else(|| format!("line {}", index + 1)),
                reason: error.reason,
            }),
        }
    }
    (tasks, unreadable)
}

fn id_of(line: &str) -> Option<String> {
    let task: serde_json::Value = serde_json::from_str(line).ok()?;
    let id = task.get("id")?.as_str()?;
    is_id(id).then(|| id.to_owned())
}

/// Returns an error with its column; the line is that of the file.
fn describe(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    match text.strip_suffix(&position) {
        Some(reason) => format!("{reason} (column {})", error.column()),
        None => text,
    }
}

impl FleetTask {
    /// Returns why the task cannot run.
    pub(crate) fn check(&self) -> Result<(), String> {
        if !is_id(&self.id) {
            return Err(format!(
                "invalid ID `{}`: use at most {MAX_ID_BYTES} letters, digits, `-`, `_` and `.`; it must start and end \
                 with a letter or digit",
                self.id
            ));
        }
        if self.prompt.trim().is_empty() {
            return Err("the prompt is empty".to_owned());
        }
        if let Some(repo) = &self.repo
            && (repo.is_empty() || repo.starts_with('-') || has_control(repo))
        {
            return Err(format!("invalid repository `{repo}`"));
        }
        if let Some(reference) = &self.reference
            && !is_reference(reference)
        {
            return Err(format!("invalid ref `{reference}`"));
        }
        let words = [&self.model, &self.thinking];
        for word in words.into_iter().flatten().chain(&self.tools) {
            if word.is_empty() || word.starts_with('-') || word.contains(',') || has_control(word) {
                return Err(format!("invalid name `{word}`"));
            }
        }
        if let Some(name) = self.secrets.iter().find(|name| !is_secret_name(name)) {
            return Err(format!("invalid name of a secret `{name}`"));
        }
        if let Some(queue) = &self.queue
            && !is_label(queue)
        {
            return Err(format!(
                "invalid queue `{queue}`: use letters, digits, `-` and `_`"
            ));
        }
        if let Some(parent) = &self.traceparent
            && !is_trace_parent(parent)
        {
            return Err(format!("invalid traceparent `{parent}`"));
        }
        if let Some(WorkspaceKind::Container { image: Some(image) }) = &self.workspace
            && !is_image(image)
        {
            return Err(format!("invalid image `{image}`"));
        }
        for path in &self.artifacts {
            let leaves = path.split('/').any(|part| part == ".." || part.is_empty());
            if leaves || has_control(path) {
                return Err(format!("invalid artifact `{path}`"));
            }
        }
        Ok(())
    }
}

/// Whether a text can be part of file names and session IDs.
pub(crate) fn is_id(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_alphanumeric = |end: Option<&u8>| end.is_some_and(u8::is_ascii_alphanumeric);
    bytes.len() <= MAX_ID_BYTES
        && is_alphanumeric(bytes.first())
        && is_alphanumeric(bytes.last())
        && bytes
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'))
        && !text.contains("..")
}

fn is_reference(text: &str) -> bool {
    let is_allowed =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '/' | '+' | '@');
    !text.is_empty()
        && !text.starts_with('-')
        && !text.contains("..")
        && !text.contains("@{")
        && text.chars().all(is_allowed)
}

/// Whether a text can be a label of workers.
pub(crate) fn is_label(text: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    (1..=32).contains(&text.len()) && text.bytes().all(is_allowed)
}

fn is_image(text: &str) -> bool {
    let is_allowed =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '/' | ':' | '@');
    text.starts_with(|c: char| c.is_ascii_alphanumeric()) && text.chars().all(is_allowed)
}

fn has_control(text: &str) -> bool {
    text.chars().any(char::is_control)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn a_task_file_has_one_task_per_line() {
        let tasks = parse_tasks(
            "{\"id\":\"a\",\"prompt\":\"x\"}\n\n{\"id\":\"b-1\",\"prompt\":\"y\",\"repo\":\"https://git.example/r.git\",\
             \"ref\":\"d26b242\",\"limits\":{\"wall\":\"45m\",\"cost\":3.5,\"turns\":80},\"priority\":5}\n",
        )
        .unwrap();
        assert_eq!(tasks.len(), 2);
        assert_eq!(tasks[1].limits.wall, Some(Duration::from_mins(45)));
        assert_eq!(tasks[1].reference.as_deref(), Some("d26b242"));
        let again = serde_json::to_string(&tasks[1]).unwrap();
        assert_eq!(parse_tasks(&again).unwrap(), tasks[1..]);
    }

    #[test]
    fn tasks_that_could_leave_their_place_are_rejected() {
        let task = |fields: &str| format!("{{\"prompt\":\"x\",{fields}}}");
        for fields in [
            r#""id":"../a""#,
            r#""id":"a/b""#,
            r#""id":"-a""#,
            r#""id":"""#,
            r#""id":"a..b""#,
            r#""id":"a","repo":"--upload-pack=x""#,
            r#""id":"a","repo":"""#,
            r#""id":"a","ref":"-x""#,
            r#""id":"a","ref":"a..b""#,
            r#""id":"a","ref":"a b""#,
            r#""id":"a","model":"--mode""#,
            r#""id":"a","tools":["a,b"]"#,
            r#""id":"a","artifacts":["../x"]"#,
            r#""id":"a","artifacts":["/etc/passwd"]"#,
            r#""id":"a","limits":{"wall":"soon"}"#,
            r#""id":"a","secrets":["PATH"]"#,
            r#""id":"a","secrets":["a=b"]"#,
            r#""id":"a","queue":"a.b""#,
            r#""id":"a","workspace":{"kind":"vm"}"#,
            r#""id":"a","workspace":{"kind":"container","image":"--privileged"}"#,
            r#""id":"a","traceparent":"00-1-2-01""#,
            r#""id":"a","unknown":1"#,
            r#""id":"a","prompt":" ""#,
        ] {
            assert!(parse_tasks(&task(fields)).is_err(), "{fields}");
        }
    }

    #[test]
    fn errors_name_the_line() {
        let text = "{\"id\":\"a\",\"prompt\":\"x\"}\n{\"id\":\"a\",\"prompt\":\"y\"}";
        let error = parse_tasks(text).unwrap_err();
        assert_eq!(error.to_string(), "line 2: the ID `a` is not unique");
        let error = parse_tasks("\n{\"id\":\"a\",\"prompt\":\"x\",\"wall\":1}").unwrap_err();
        let text = error.to_string();
        assert!(text.starts_with("line 2: unknown field `wall`"), "{text}");
        assert!(text.ends_with(" (column 29)"), "{text}");
    }
}
