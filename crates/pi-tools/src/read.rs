//! `read`: shows a text file, or the part of it that was asked for, or an image.
//!
//! A file is read once and in pieces: a large one costs time, not memory. What it is decides its
//! content, not its name. Pipes, devices and directories are refused, and so are files that are not
//! text, with a word on how to look at them.

mod window;

use std::path::PathBuf;

use futures_util::future::BoxFuture;
use pi_agent::{Tool, ToolError, ToolOutput, UpdateSink};
use pi_ai::json::JsonObject;
use pi_ai::{ImageContent, InputBlock, Tool as ToolDeclaration};
use serde::Deserialize;
use serde_json::json;
use tokio::io::AsyncReadExt;
use tokio_util::sync::CancellationToken;

use crate::context::{ToolContext, ToolPrompt, aborted, declare_strict, parse_arguments};
use crate::images::{ImageError, prepare_image, sniff_image};
use crate::operations::{FileError, OpenFile};
use crate::truncate::{MAX_BYTES, MAX_LINES, TruncatedBy, TruncationLimits, format_size};
use window::{LineRange, LineWindow, Window};

/// What the read tool adds to the system prompt.
pub const READ_PROMPT: ToolPrompt = ToolPrompt {
    snippet: "Show the contents of a file",
    guidelines: &["Look at files with read rather than with cat or sed."],
};

/// The beginning of a file that tells what it is.
const HEAD_BYTES: usize = 8192;

/// Large enough to make reading cheap, small enough not to matter.
const PIECE_BYTES: usize = 256 * 1024;

/// No image a model could use is larger; reading more would only fill the memory.
const MOST_IMAGE_BYTES: u64 = 128 * 1024 * 1024;

/// Shows files.
pub struct ReadTool {
    declaration: ToolDeclaration,
    context: ToolContext,
}

#[derive(Deserialize)]
struct ReadArguments {
    path: String,
    offset: Option<f64>,
    limit: Option<f64>,
}

impl ReadArguments {
    /// Line numbers are whole and start at 1; what lies below is the first line.
    fn range(&self) -> LineRange {
        LineRange {
            start: self.offset.map_or(0, whole).saturating_sub(1),
            limit: self.limit.map(whole),
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates, which is what a number out of range means"
)]
fn whole(number: f64) -> usize {
    number as usize
}

impl ReadTool {
    /// Creates the tool.
    pub fn new(context: ToolContext) -> Self {
        let declaration = declare_strict(
            "read",
            &format!(
                "Shows the contents of a file: text, or an image (jpg, png, gif, webp, bmp), which is \
                 attached. At most {MAX_LINES} lines or {} of text are shown at once; read a longer \
                 file part by part with offset and limit.",
                format_size(MAX_BYTES)
            ),
            json!({
                "type": "object",
                "required": ["path"],
                "properties": {
                    "path": {
                        "type": "string",
                        "description": "The file to read, relative or absolute",
                    },
                    "offset": {
                        "type": "number",
                        "description": "The first line to show, counted from 1",
                    },
                    "limit": {
                        "type": "number",
                        "description": "How many lines to show at most",
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
        let arguments: ReadArguments = parse_arguments(arguments)?;
        cancel
            .run_until_cancelled(self.read(&arguments, &cancel))
            .await
            .ok_or_else(aborted)?
    }

    async fn read(
        &self,
        arguments: &ReadArguments,
        cancel: &CancellationToken,
    ) -> Result<ToolOutput, ToolError> {
        let failure =
            |error: FileError| ToolError::new(format!("Cannot read {}: {error}", arguments.path));
        let path = self.locate(&arguments.path).await?;
        let mut file = self.context.files.open(&path).await.map_err(failure)?;
        let head = read_head(&mut file).await.map_err(failure)?;
        if let Some(media_type) = sniff_image(&head) {
            return self
                .read_image(arguments, file, head, media_type, cancel)
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

    /// Returns the path at which the file stands, trying the spellings that look the same.
    async fn locate(&self, written: &str) -> Result<PathBuf, ToolError> {
        let candidates = self.context.paths.candidates(written)?;
        for candidate in &candidates {
            let status = self.context.files.status(candidate).await;
            if !matches!(status, Err(FileError::Missing | FileError::NotADirectory)) {
                return Ok(candidate.clone());
            }
        }
        Ok(candidates.into_iter().next().unwrap_or_default())
    }

    async fn read_image(
        &self,
        arguments: &ReadArguments,
        mut file: OpenFile,
        mut bytes: Vec<u8>,
        media_type: &'static str,
        cancel: &CancellationToken,
    ) -> Result<ToolOutput, ToolError> {
        let policy = self.context.images.get();
        let fitted = if file.size > MOST_IMAGE_BYTES {
            Err(ImageError::TooLarge)
        } else {
            let mut rest = (&mut file.reader).take(MOST_IMAGE_BYTES);
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
        match fitted {
            Ok(fitted) => {
                notes.push(format!("Image file, {}", fitted.media_type));
                notes.extend(fitted.notes);
                image = Some(InputBlock::Image(ImageContent::new(
                    fitted.data,
                    fitted.media_type,
                )));
            }
            Err(ImageError::Cancelled) => return Err(aborted()),
            Err(failure) => {
                notes.push(format!("Image file, {media_type}"));
                notes.push(format!("[{failure}]"));
            }
        }
        if !policy.model_supports_images {
            notes.push(
                "[This model does not see images; the image is left out of the request]".to_owned(),
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
) -> Result<Window, FileError> {
    let mut window = LineWindow::new(range, TruncationLimits::default());
    window.push(head);
    if head.len() < HEAD_BYTES {
        return Ok(window.finish());
    }
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        let length = file.reader.read(&mut piece).await?;
        match piece.get(..length) {
            Some([]) | None => return Ok(window.finish()),
            Some(bytes) => window.push(bytes),
        }
    }
}

fn text_output(arguments: &ReadArguments, window: Window) -> Result<ToolOutput, ToolError> {
    let range = arguments.range();
    let Window {
        truncation,
        file_lines,
        first_line_bytes,
    } = window;
    if range.start >= file_lines {
        return Err(ToolError::new(format!(
            "Line {} is past the end of {}, which has {file_lines} lines",
            range.start + 1,
            arguments.path
        )));
    }
    let first = range.start + 1;
    let notice = if truncation.first_line_exceeds_limit {
        let path = shell_quoted(&arguments.path);
        Some(format!(
            "Line {first} has {}, more than the {} that can be shown; for a part of it run in a shell: \
             sed -n '{first}p' {path} | head -c {MAX_BYTES}",
            format_size(first_line_bytes),
            format_size(MAX_BYTES)
        ))
    } else if let Some(by) = truncation.truncated_by {
        let next = first + truncation.output_lines;
        let reason = match by {
            TruncatedBy::Lines => String::new(),
            TruncatedBy::Bytes => format!(", cut at {}", format_size(MAX_BYTES)),
        };
        Some(format!(
            "Lines {first} to {} of {file_lines} are shown{reason}; go on with offset={next}",
            next - 1
        ))
    } else {
        let shown = range.limit.unwrap_or(file_lines);
        let end = range.start.saturating_add(shown);
        (end < file_lines).then(|| {
            let left = file_lines - end;
            format!("{left} more lines follow; go on with offset={}", end + 1)
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
            "Cannot read {}: it is text in UTF-16. Show it with `iconv -f UTF-16 -t UTF-8 {path}`.",
            arguments.path
        ));
    }
    let size = usize::try_from(file.size).unwrap_or(usize::MAX);
    ToolError::new(format!(
        "Cannot read {}: it is not text ({} of binary data). Find out what it is with \
         `file {path}`, or look at its bytes with `xxd {path} | head`.",
        arguments.path,
        format_size(size)
    ))
}

/// Writes a path so that a shell takes it as one word.
fn shell_quoted(path: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+,:@%".contains(c);
    if !path.is_empty() && path.chars().all(plain) {
        return path.to_owned();
    }
    format!("'{}'", path.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests;
