//! The `write` tool: creates or overwrites a file.

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use pi_core::{FileError, FileOperations, Tool, ToolContext, ToolError};
use pi_protocol::json::JsonObject;
use pi_protocol::{ReplayPolicy, Tool as ToolDeclaration, ToolOutput};
use serde::Deserialize;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::context::{
    ToolPrompt, check_canceled, declare_strict, mutation_failure, parse_arguments,
};
use crate::mutation_queue::MutationQueue;
use crate::paths::PathResolver;

/// System prompt text of the write tool.
pub const WRITE_PROMPT: ToolPrompt = ToolPrompt {
    snippet: "Create a file or replace its contents",
    guidelines: &[
        "Use write to create a file or to replace all of it; use edit for anything smaller.",
    ],
};

pub struct WriteTool {
    declaration: ToolDeclaration,
    mutations: MutationQueue,
}

#[derive(Deserialize)]
struct WriteArguments {
    path: String,
    content: String,
}

impl WriteTool {
    /// Creates the tool. Tools that share a queue do not overwrite each other's changes.
    pub fn new(mutations: MutationQueue) -> Self {
        let declaration = declare_strict(
            "write",
            "Write a complete file. Creates it and its parent directories if they do not \
             exist, and overwrites existing contents.",
            json!({
                "type": "object",
                "required": ["path", "content"],
                "properties": {
                    "path": {
                        "type": "string",
                        "description": "Path of the file to write (relative or absolute)",
                    },
                    "content": {
                        "type": "string",
                        "description": "Complete contents of the file",
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
        let WriteArguments { path, content } = parse_arguments(arguments)?;
        let resolved = PathResolver::of(&cx).resolve(&path)?;
        let files = Arc::clone(&cx.env.files);
        let token = cx.cancel.clone();
        let contents = content.into_bytes();
        self.mutations
            .run(
                &*cx.env.files,
                &resolved,
                |real_path| write_file(files, real_path, path.clone(), contents, token),
                &cx.cancel,
            )
            .await
            .map_err(|error| mutation_failure("write", &path, error))?
    }
}

impl Tool for WriteTool {
    fn declaration(&self) -> &ToolDeclaration {
        &self.declaration
    }

    fn replay(&self) -> ReplayPolicy {
        // A second write writes the same bytes.
        ReplayPolicy::Safe
    }

    fn call(
        &self,
        cx: ToolContext,
        arguments: JsonObject,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(self.run(cx, arguments))
    }
}

async fn write_file(
    files: Arc<dyn FileOperations>,
    real_path: PathBuf,
    path: String,
    contents: Vec<u8>,
    cancel: CancellationToken,
) -> Result<ToolOutput, ToolError> {
    let failure = |error: FileError| ToolError::new(format!("Cannot write {path}: {error}"));
    check_canceled(&cancel)?;
    if let Some(parent) = real_path.parent() {
        files.create_directories(parent).await.map_err(failure)?;
    }
    check_canceled(&cancel)?;
    // From here on the file changes, so the result is returned even if the call is canceled.
    files.replace(&real_path, contents).await.map_err(failure)?;
    Ok(ToolOutput::text(format!("Wrote {path}.")))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::memory::MemoryFiles;
    use crate::testing::{TestProject, call, call_with_token, text};

    #[tokio::test]
    async fn files_are_written() {
        let files = MemoryFiles::default().with("/project/old.txt", "old\n");
        let tool = TestProject::new(&files).write();
        for (path, real_path, content) in [
            ("new.txt", "/project/new.txt", "hello\n"),
            ("a/b/c.txt", "/project/a/b/c.txt", "nested"),
            ("old.txt", "/project/old.txt", "new\r\nlines\r\n"),
            ("empty.txt", "/project/empty.txt", ""),
            ("uni.txt", "/project/uni.txt", "grüße 🎉"),
            ("/project/abs.txt", "/project/abs.txt", "abs"),
        ] {
            let output = call(&tool, json!({"path": path, "content": content}))
                .await
                .unwrap();
            assert_eq!(text(&output), format!("Wrote {path}."));
            assert_eq!(output.details, None);
            assert_eq!(files.contents(real_path).unwrap(), content.as_bytes());
        }
    }

    #[tokio::test]
    async fn write_errors_are_reported() {
        let files = MemoryFiles::default().with("/project/dir/f", "x");
        let tool = TestProject::new(&files).write();
        for (path, message) in [
            ("dir", "Cannot write dir: is a directory (EISDIR)"),
            (
                "dir/f/g",
                "Cannot write dir/f/g: a component of the path is not a directory (ENOTDIR)",
            ),
        ] {
            let error = call(&tool, json!({"path": path, "content": ""}))
                .await
                .unwrap_err();
            assert_eq!(error.0, message);
        }
        let cancel = CancellationToken::new();
        cancel.cancel();
        let arguments = json!({"path": "new", "content": ""});
        let error = call_with_token(&tool, arguments, cancel).await.unwrap_err();
        assert_eq!(error.0, "Operation aborted");
        assert_eq!(files.contents("/project/new"), None);
    }
}
