//! The `read` tool: returns a text file, a range of its lines, or an image. A file is read once in
//! chunks, so a large file takes time but not memory. The type is determined by content, not by
//! name. Pipes, devices and directories are rejected; for binary files the error suggests how to
//! inspect them.

mod window;

use futures_util::future::BoxFuture;
use pi_core::{FileError, OpenFile, Tool, ToolContext, ToolError};
use pi_protocol::json::JsonObject;
use pi_protocol::{ImageContent, InputBlock, ReplayPolicy, Tool as ToolDeclaration, ToolOutput};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::AsyncReadExt;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use crate::context::{SharedImagePolicy, ToolPrompt, aborted, declare_strict, parse_arguments};
use crate::images::{ImageError, MAX_IMAGE_FILE_BYTES, prepare_image, sniff_image};
use crate::paths::PathResolver;
use crate::truncate::{MAX_BYTES, MAX_LINES, TruncatedBy, TruncationLimits, format_size};
use window::{LineRange, LineWindow, LineWindowBuilder};

/// System prompt text of the read tool.
pub const READ_PROMPT: ToolPrompt = ToolPrompt {
    snippet: "Read a text file or an image",
    guidelines: &["To look at a file, call read rather than running cat or sed."],
};

/// Size of the file header used to detect the type.
const HEAD_BYTES: usize = 8192;

const CHUNK_BYTES: usize = 256 * 1024;

/// Held while an image is read and prepared: a response may contain many calls, and their files
/// must not be in memory at the same time.
static IMAGE_READS: Mutex<()> = Mutex::const_new(());

pub struct ReadTool {
    declaration: ToolDeclaration,
    images: SharedImagePolicy,
}

#[derive(Deserialize)]
struct ReadArguments {
    path: String,
    offset: Option<f64>,
    limit: Option<f64>,
}

impl ReadArguments {
    /// Line numbers are integers starting at 1; smaller values mean the first line.
    fn range(&self) -> LineRange {
        LineRange {
            start: self.offset.map_or(0, to_usize).saturating_sub(1),
            limit: self.limit.map(to_usize),
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates, which is correct for out-of-range numbers"
)]
fn to_usize(number: f64) -> usize {
    number as usize
}

/// Returns the schema of what the tool returns as data: a text, or an image with a note.
pub(crate) fn output_schema() -> Value {
    json!({"anyOf": [
        {"type": "string"},
        {
            "type": "object",
            "required": ["type", "data", "mimeType", "note"],
            "properties": {
                "type": {"const": "image", "type": "string"},
                "data": {"type": "string"},
                "mimeType": {"type": "string"},
                "note": {"type": "string"},
            },
        },
    ]})
}

impl ReadTool {
    /// Creates the tool; `images` decides how images are prepared for the current model.
    pub fn new(images: SharedImagePolicy) -> Self {
        let declaration = declare_strict(
            "read",
            &format!(
                "Read a file: text or images (jpg, png, gif, webp, bmp); \
                 images are attached. Text output is truncated to {MAX_LINES} lines or {} (whichever is \
                 reached first); use offset and limit to read large files.",
                format_size(MAX_BYTES)
            ),
            json!({
                "type": "object",
                "required": ["path"],
                "properties": {
                    "path": {
                        "type": "string",
                        "description": "Path of the file to read (relative or absolute)",
                    },
                    "offset": {
                        "type": "number",
                        "description": "Line number to start reading from (1-based)",
                    },
                    "limit": {
                        "type": "number",
                        "description": "Number of lines to return at most",
                    },
                },
            }),
        );
        Self {
            declaration,
            images,
        }
    }

    async fn run(&self, cx: ToolContext, arguments: JsonObject) -> Result<ToolOutput, ToolError> {
        let arguments: ReadArguments = parse_arguments(arguments)?;
        cx.cancel
            .run_until_cancelled(self.read(&cx, &arguments))
            .await
            .ok_or_else(aborted)?
            .map(with_structured_content)
    }

    async fn read(
        &self,
        cx: &ToolContext,
        arguments: &ReadArguments,
    ) -> Result<ToolOutput, ToolError> {
        let failure = |error: FileError| read_failure(&arguments.path, &error);
        let mut file = open(cx, &arguments.path).await?;
        let head = read_head(&mut file).await.map_err(failure)?;
        if let Some(media_type) = sniff_image(&head) {
            return self
                .read_image(arguments, file, head, media_type, &cx.cancel)
                .await;
        }
        if memchr::memchr(0, &head).is_some() {
            return Err(binary_failure(arguments, &file, &head));
        }
        let window = read_window(&mut file, &head, arguments.range())
            .await
            .map_err(failure)?;
        text_output(arguments, window)
    }

    async fn read_image(
        &self,
        arguments: &ReadArguments,
        mut file: OpenFile,
        mut bytes: Vec<u8>,
        media_type: &'static str,
        cancel: &CancellationToken,
    ) -> Result<ToolOutput, ToolError> {
        let policy = self.images.get();
        let prepared = if file.size > MAX_IMAGE_FILE_BYTES {
            Err(ImageError::TooLarge)
        } else {
            let _turn = IMAGE_READS.lock().await;
            let mut rest = (&mut file.reader).take(MAX_IMAGE_FILE_BYTES);
            rest.read_to_end(&mut bytes).await.map_err(|error| {
                let error = FileError::from(error);
                ToolError::new(format!("Cannot read {}: {error}", arguments.path))
            })?;
            let cancel = cancel.clone();
            tokio::task::spawn_blocking(move || {
                prepare_image(&bytes, media_type, policy.limits, &cancel)
            })
            .await
            .unwrap_or(Err(ImageError::Unreadable))
        };
        let mut notes = Vec::new();
        let mut image = None;
        match prepared {
            Ok(prepared) => {
                notes.push(format!("Image file, {}", prepared.media_type));
                notes.extend(prepared.notes);
                image = Some(InputBlock::Image(ImageContent::new(
                    prepared.data,
                    prepared.media_type,
                )));
            }
            Err(ImageError::Canceled) => return Err(aborted()),
            Err(failure) => {
                notes.push(format!("Image file, {media_type}"));
                notes.push(format!("[{failure}]"));
            }
        }
        if !policy.model_supports_images {
            notes.push(
                "[The current model does not support images; the image is omitted from the request]".to_owned(),
            );
        }
        let mut output = ToolOutput::text(notes.join("\n"));
        output.content.extend(image);
        Ok(output)
    }
}

impl Tool for ReadTool {
    fn declaration(&self) -> &ToolDeclaration {
        &self.declaration
    }

    fn replay(&self) -> ReplayPolicy {
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

/// Adds the result as data: the text, or the image with its note.
fn with_structured_content(mut output: ToolOutput) -> ToolOutput {
    let text = output.content.iter().find_map(InputBlock::as_text);
    let text = text.unwrap_or_default();
    let image = output.content.iter().find_map(|block| match block {
        InputBlock::Image(image) => Some(image),
        InputBlock::Text(_) | InputBlock::Unknown(_) => None,
    });
    output.structured_content = Some(match image {
        Some(image) => json!({
            "type": "image", "data": image.data, "mimeType": image.mime_type, "note": text,
        }),
        None => json!(text),
    });
    output
}

/// Opens the file, trying name variants that look the same.
async fn open(cx: &ToolContext, raw_path: &str) -> Result<OpenFile, ToolError> {
    let failure = |error: FileError| read_failure(raw_path, &error);
    let mut first_error = FileError::Missing;
    for (index, candidate) in PathResolver::of(cx)
        .candidates(raw_path)?
        .iter()
        .enumerate()
    {
        match cx.env.files.open(candidate).await {
            Err(error @ (FileError::Missing | FileError::NotADirectory)) if index == 0 => {
                first_error = error;
            }
            Err(FileError::Missing | FileError::NotADirectory) => {}
            opened => return opened.map_err(failure),
        }
    }
    Err(failure(first_error))
}

fn read_failure(raw_path: &str, error: &FileError) -> ToolError {
    ToolError::new(format!("Cannot read {raw_path}: {error}"))
}

async fn read_head(file: &mut OpenFile) -> Result<Vec<u8>, FileError> {
    let mut head = Vec::with_capacity(HEAD_BYTES);
    let mut limited = (&mut file.reader).take(HEAD_BYTES as u64);
    limited.read_to_end(&mut head).await?;
    Ok(head)
}

async fn read_window(
    file: &mut OpenFile,
    head: &[u8],
    range: LineRange,
) -> Result<LineWindow, FileError> {
    let mut window = LineWindowBuilder::new(range, TruncationLimits::default());
    window.push(head);
    if head.len() < HEAD_BYTES {
        return Ok(window.finish());
    }
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        let length = file.reader.read(&mut chunk).await?;
        match chunk.get(..length) {
            Some([]) | None => return Ok(window.finish()),
            Some(bytes) => window.push(bytes),
        }
    }
}

fn text_output(arguments: &ReadArguments, window: LineWindow) -> Result<ToolOutput, ToolError> {
    let range = arguments.range();
    let LineWindow {
        truncation,
        file_lines,
        first_line_bytes,
    } = window;
    if range.start >= file_lines {
        return Err(ToolError::new(format!(
            "Line {} is beyond the end of {} ({file_lines} lines)",
            range.start + 1,
            arguments.path
        )));
    }
    let first = range.start + 1;
    let notice = if truncation.first_line_exceeds_limit {
        let path = shell_quoted(&arguments.path);
        Some(format!(
            "Line {first} is {}, which exceeds the {} limit; use bash to read a part of it: \
             sed -n '{first}p' {path} | head -c {MAX_BYTES}",
            format_size(first_line_bytes),
            format_size(MAX_BYTES)
        ))
    } else if let Some(by) = truncation.truncated_by {
        let next = first + truncation.output_lines;
        let reason = match by {
            TruncatedBy::Lines => String::new(),
            TruncatedBy::Bytes => format!(" ({} limit)", format_size(MAX_BYTES)),
        };
        Some(format!(
            "Showing lines {first}-{} of {file_lines}{reason}. Use offset={next} to continue",
            next - 1
        ))
    } else {
        let shown = range.limit.unwrap_or(file_lines);
        let end = range.start.saturating_add(shown);
        (end < file_lines).then(|| {
            let left = file_lines - end;
            format!(
                "{left} more lines in file. Use offset={} to continue",
                end + 1
            )
        })
    };
    let text = match notice {
        Some(notice) if truncation.first_line_exceeds_limit => format!("[{notice}]"),
        Some(notice) => format!("{}\n\n[{notice}]", truncation.content),
        None => truncation.content.clone(),
    };
    Ok(ToolOutput {
        details: truncation
            .truncated
            .then(|| json!({"truncation": truncation})),
        ..ToolOutput::text(text)
    })
}

fn binary_failure(arguments: &ReadArguments, file: &OpenFile, head: &[u8]) -> ToolError {
    let path = shell_quoted(&arguments.path);
    if head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff") {
        return ToolError::new(format!(
            "Cannot read {}: the file is UTF-16 text. Use `iconv -f UTF-16 -t UTF-8 {path}`.",
            arguments.path
        ));
    }
    let size = usize::try_from(file.size).unwrap_or(usize::MAX);
    ToolError::new(format!(
        "Cannot read {}: the file is binary ({}). Use `file {path}` to identify it or \
         `xxd {path} | head` to inspect it.",
        arguments.path,
        format_size(size)
    ))
}

/// Quotes a path as a single shell word.
fn shell_quoted(path: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+,:@%".contains(c);
    if !path.is_empty() && path.chars().all(plain) {
        return path.to_owned();
    }
    format!("'{}'", path.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests;
