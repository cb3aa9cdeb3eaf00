//! The `edit` tool: replaces parts of a file, all or nothing. `matcher` finds the text to replace
//! and `diff` describes the result. Untouched lines keep every byte, including byte order mark,
//! line endings and invalid UTF-8.

mod diff;
mod fuzzy;
mod matcher;
mod nearest;
mod repair;

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_core::{FileError, FileOperations, Tool, ToolContext, ToolError};
use pi_protocol::json::JsonObject;
use pi_protocol::{Tool as ToolDeclaration, ToolOutput};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::context::{
    ToolPrompt, check_canceled, declare_strict, mutation_failure, parse_arguments,
};
use crate::line_endings::{PlainText, replace_ranges};
use crate::mutation_queue::MutationQueue;
use crate::paths::PathResolver;
use diff::LineDiff;
pub use diff::line_diff;
use matcher::{Edit, find_replacements};

/// System prompt text of the edit tool.
pub const EDIT_PROMPT: ToolPrompt = ToolPrompt {
    snippet: "Edit a file by replacing exact text, with several replacements per call",
    guidelines: &[
        "Use edit to change files; oldText must match the file exactly.",
        "Put all changes of one file into one edit call, with one entry in edits per location.",
        "Every oldText refers to the file as it was before the call, so entries must not overlap; combine changes to the same lines.",
        "Prefer the shortest oldText that occurs only once in the file.",
    ],
};

/// The difference between two texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextChange {
    /// Lines with numbers and `+`/`-` signs.
    pub display: String,
    /// A unified diff.
    pub patch: String,
    /// Number of the first line that differs in the new text.
    pub first_changed_line: Option<usize>,
}

impl TextChange {
    /// Compares two texts; `file` is the name in the patch.
    pub fn between(before: &str, after: &str, file: &str) -> Self {
        let diff = LineDiff::new(before, after);
        Self {
            display: diff.display(),
            patch: diff.patch(file),
            first_changed_line: diff.first_changed_line(),
        }
    }
}

pub struct EditTool {
    declaration: ToolDeclaration,
    mutations: MutationQueue,
}

#[derive(Deserialize)]
struct EditArguments {
    path: String,
    edits: Vec<EditArgument>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct EditArgument {
    old_text: String,
    new_text: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct EditDetails {
    diff: String,
    patch: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_changed_line: Option<usize>,
}

impl EditTool {
    /// Creates the tool. Tools that share a queue do not overwrite each other's changes.
    pub fn new(mutations: MutationQueue) -> Self {
        let declaration = declare_strict(
            "edit",
            "Edit a single file by exact text replacement. Each oldText must occur exactly once in the \
             file, and replacements must not overlap; merge changes to the same or adjacent lines into \
             one entry. Either all edits are applied or none.",
            json!({
                "type": "object",
                "required": ["path", "edits"],
                "properties": {
                    "path": {
                        "type": "string",
                        "description": "Path of the file to edit (relative or absolute)",
                    },
                    "edits": {
                        "type": "array",
                        "description": "Replacements, each matched against the original file; \
                                        they must not overlap",
                        "items": {
                            "type": "object",
                            "required": ["oldText", "newText"],
                            "properties": {
                                "oldText": {
                                    "type": "string",
                                    "description": "Exact text to replace; must be unique in the \
                                                    file",
                                },
                                "newText": {
                                    "type": "string",
                                    "description": "Replacement text",
                                },
                            },
                        },
                    },
                },
            }),
        );
        Self {
            declaration,
            mutations,
        }
    }

    async fn run(&self, cx: ToolContext, arguments: JsonObject) -> Result<ToolOutput, ToolError> {
        let EditArguments { path, edits } = parse_arguments(arguments)?;
        if edits.is_empty() {
            return Err(ToolError::new(
                "edits is empty; provide at least one replacement",
            ));
        }
        let edits: Vec<Edit> = edits
            .into_iter()
            .map(|edit| Edit {
                old_text: edit.old_text,
                new_text: edit.new_text,
            })
            .collect();
        let resolved = PathResolver::of(&cx).resolve(&path)?;
        let files = Arc::clone(&cx.env.files);
        let token = cx.cancel.clone();
        let written_path = path.clone();
        self.mutations
            .run(
                &*cx.env.files,
                &resolved,
                |real_path| edit_file(files, real_path, written_path, edits, token),
                &cx.cancel,
            )
            .await
            .map_err(|error| mutation_failure("edit", &path, error))?
    }
}

impl Tool for EditTool {
    fn declaration(&self) -> &ToolDeclaration {
        &self.declaration
    }

    fn prepare_arguments(&self, arguments: JsonObject) -> JsonObject {
        repair::repair(arguments)
    }

    fn call(
        &self,
        cx: ToolContext,
        arguments: JsonObject,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(self.run(cx, arguments))
    }
}

async fn edit_file(
    files: Arc<dyn FileOperations>,
    real_path: PathBuf,
    path: String,
    edits: Vec<Edit>,
    cancel: CancellationToken,
) -> Result<ToolOutput, ToolError> {
    let failure = |error: FileError| ToolError::new(format!("Cannot edit {path}: {error}"));
    check_canceled(&cancel)?;
    files.check_editable(&real_path).await.map_err(failure)?;
    check_canceled(&cancel)?;
    let original = files.read(&real_path).await.map_err(failure)?;
    check_canceled(&cancel)?;

    let count = edits.len();
    let shown_path = path.clone();
    let planned = tokio::task::spawn_blocking(move || plan(&original, &edits, &shown_path))
        .await
        .map_err(|error| ToolError::new(format!("Cannot edit {path}: {error}")))?;
    let (contents, details) =
        planned.map_err(|error| ToolError::new(format!("File not changed: {path}: {error}")))?;
    check_canceled(&cancel)?;
    // From here on the file changes, so the result is returned even if the call is canceled.
    files.replace(&real_path, contents).await.map_err(failure)?;
    let replacements = if count == 1 {
        "replacement"
    } else {
        "replacements"
    };
    Ok(ToolOutput {
        details: Some(details),
        ..ToolOutput::text(format!("Applied {count} {replacements} to {path}."))
    })
}

/// Returns the new contents and the details of the result.
fn plan(
    original: &[u8],
    edits: &[Edit],
    path: &str,
) -> Result<(Vec<u8>, Value), matcher::EditError> {
    let plain = PlainText::read(original);
    let replacements = find_replacements(&plain, edits)?;
    let changed = replace_ranges(plain.text(), &replacements);
    let change = TextChange::between(plain.text(), &changed, path);
    let details = EditDetails {
        diff: change.display,
        patch: change.patch,
        first_changed_line: change.first_changed_line,
    };
    Ok((plain.splice(&replacements), json!(details)))
}

#[cfg(test)]
mod tests;
