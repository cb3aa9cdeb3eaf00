//! The tool `attach`, which uploads a file to the channel.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt as _};
use pi_core::{RegisteredTool, Tool, ToolContext, ToolError, ToolRegistry};
use pi_protocol::ToolOutput;
use pi_protocol::json::JsonObject;
use serde_json::{Value, json};

use crate::chat::{ChatService, Upload};
use crate::delivery::retried;

/// Largest file that is uploaded, in bytes.
const MAX_UPLOAD: u64 = 100 * 1024 * 1024;

struct AttachTool {
    declaration: pi_protocol::Tool,
    service: Arc<dyn ChatService>,
    channel: String,
}

/// Returns the source of the tool.
pub(crate) fn attach_tool(service: Arc<dyn ChatService>, channel: String) -> Arc<ToolRegistry> {
    let declaration = pi_protocol::Tool {
        name: "attach".to_owned(),
        description: "Upload a file to the channel. Use it to share results such as images, logs or documents."
            .to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "Path of the file"},
                "title": {"type": "string", "description": "Title to show; the file name if absent"},
            },
            "required": ["path"],
        }),
        constrained_sampling: None,
        extra: JsonObject::new(),
    };
    let tool = AttachTool {
        declaration,
        service,
        channel,
    };
    let registered = RegisteredTool {
        snippet: Some("Upload a file to the channel".to_owned()),
        ..RegisteredTool::new(Arc::new(tool))
    };
    Arc::new(ToolRegistry::new(vec![registered]))
}

impl Tool for AttachTool {
    fn declaration(&self) -> &pi_protocol::Tool {
        &self.declaration
    }

    fn call(
        &self,
        cx: ToolContext,
        arguments: JsonObject,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        async move {
            let text = |name: &str| arguments.get(name).and_then(Value::as_str);
            let path = text("path").ok_or_else(|| ToolError::new("path is missing"))?;
            let path = absolute(path, cx.session.cwd());
            let failed = |error: &dyn std::fmt::Display| {
                ToolError::new(format!("Cannot attach {}: {error}", path.display()))
            };
            let files = &cx.env.files;
            let real = files
                .real_path(&path)
                .await
                .map_err(|error| failed(&error))?;
            let status = files.status(&real).await.map_err(|error| failed(&error))?;
            if status.size > MAX_UPLOAD {
                return Err(failed(&format!("larger than {MAX_UPLOAD} bytes")));
            }
            let bytes = files.read(&real).await.map_err(|error| failed(&error))?;
            let name = path
                .file_name()
                .map(|name| name.to_string_lossy().into_owned());
            let name = name.unwrap_or_else(|| "file".to_owned());
            let upload = Upload {
                channel: &self.channel,
                thread: None,
                name: &name,
                title: text("title"),
                bytes: &bytes,
            };
            let uploading = retried(|| self.service.upload(upload));
            match cx.cancel.run_until_cancelled(uploading).await {
                None => Err(ToolError::new("Canceled")),
                Some(Err(error)) => Err(failed(&error)),
                Some(Ok(())) => Ok(ToolOutput::text(format!("Attached {name}"))),
            }
        }
        .boxed()
    }
}

fn absolute(path: &str, cwd: &Path) -> PathBuf {
    cwd.join(path)
}
