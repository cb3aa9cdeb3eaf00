//! `edit`: replaces parts of a file, all of them or none.
//!
//! What the edits mean is found by `matcher`; `diff` describes the outcome. Lines that are not
//! touched keep every byte: byte order mark, line ends and bytes that are no UTF-8 stay.

mod diff;
mod fuzzy;
mod matcher;
mod nearest;
mod repair;

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_agent::{Tool, ToolError, ToolOutput, UpdateSink};
use pi_ai::Tool as ToolDeclaration;
use pi_ai::json::JsonObject;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::context::{
    ToolContext, ToolPrompt, check_cancelled, declare_strict, mutation_failure, parse_arguments,
};
use crate::line_endings::{PlainText, replace_ranges};
use crate::operations::{FileError, FileOperations};
use diff::LineDiff;
use matcher::{Edit, find_replacements};

/// What the edit tool adds to the system prompt.
pub const EDIT_PROMPT: ToolPrompt = ToolPrompt {
    snippet: "Change parts of a file by replacing exact text, several places at once",
    guidelines: &[
        "Change files with edit; copy each oldText letter by letter from the file.",
        "Put all changes of one file into one edit call, one entry of edits for each place.",
        "Every oldText is looked up in the file as it is before the call, so entries must not overlap: join changes that touch the same lines.",
        "Keep each oldText as short as it can be while it still occurs only once.",
    ],
};

/// How a text became another, as people and models are shown it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextChange {
    /// The lines with numbers and signs.
    pub display: String,
    /// A patch in the unified format.
    pub patch: String,
    /// The first line that differs, in the new text.
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

/// Replaces parts of a file.
pub struct EditTool {
    declaration: ToolDeclaration,
    context: ToolContext,
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
    /// Creates the tool.
    pub fn new(context: ToolContext) -> Self {
        let declaration = declare_strict(
            "edit",
            "Replaces parts of one file. Each oldText must occur exactly once in the file, and no two \
             may overlap; changes to the same or neighboring lines belong in one entry. Either all \
             edits are made or none.",
            json!({
                "type": "object",
                "required": ["path", "edits"],
                "properties": {
                    "path": {
                        "type": "string",
                        "description": "The file to change, relative or absolute",
                    },
                    "edits": {
                        "type": "array",
                        "description": "The replacements, each looked up in the file as it is before \
                                        the call; they must not overlap",
                        "items": {
                            "type": "object",
                            "required": ["oldText", "newText"],
                            "properties": {
                                "oldText": {
                                    "type": "string",
                                    "description": "The text to replace, exactly as in the file, \
                                                    where it occurs once",
                                },
                                "newText": {
                                    "type": "string",
                                    "description": "The text to put in its place",
                                },
                            },
                        },
                    },
                },
            }),
        );
        Self {
            declaration,
            context,
        }
    }

    async fn run(
        &self,
        arguments: JsonObject,
        cancel: CancellationToken,
    ) -> Result<ToolOutput, ToolError> {
        let EditArguments { path, edits } = parse_arguments(arguments)?;
        if edits.is_empty() {
            return Err(ToolError::new(
                "edits is empty; give at least one replacement",
            ));
        }
        let edits: Vec<Edit> = edits
            .into_iter()
            .map(|edit| Edit {
                old_text: edit.old_text,
                new_text: edit.new_text,
            })
            .collect();
        let resolved = self.context.paths.resolve(&path)?;
        let files = Arc::clone(&self.context.files);
        let token = cancel.clone();
        let written_path = path.clone();
        self.context
            .mutations
            .run(
                &*self.context.files,
                &resolved,
                |real_path| edit_file(files, real_path, written_path, edits, token),
                &cancel,
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

    fn execute<'a>(
        &'a self,
        _call_id: &'a str,
        arguments: JsonObject,
        _updates: UpdateSink,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(self.run(arguments, cancel))
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
    check_cancelled(&cancel)?;
    files.check_editable(&real_path).await.map_err(failure)?;
    check_cancelled(&cancel)?;
    let original = files.read(&real_path).await.map_err(failure)?;
    check_cancelled(&cancel)?;

    let count = edits.len();
    let shown_path = path.clone();
    let planned = tokio::task::spawn_blocking(move || plan(&original, &edits, &shown_path))
        .await
        .map_err(|error| ToolError::new(format!("Cannot edit {path}: {error}")))?;
    let (contents, details) =
        planned.map_err(|error| ToolError::new(format!("{path} was not changed: {error}.")))?;
    check_cancelled(&cancel)?;
    // From here on the file changes, so that the outcome is told whatever the token says.
    files.replace(&real_path, contents).await.map_err(failure)?;
    let places = if count == 1 { "place" } else { "places" };
    Ok(ToolOutput {
        details: Some(details),
        ..ToolOutput::text(format!("Changed {count} {places} in {path}."))
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
