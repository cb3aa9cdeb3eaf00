//! All of the output of a finished command, or its beginning and end.

use std::io::SeekFrom;
use std::path::Path;

use tokio::fs::File;
use tokio::io::{AsyncReadExt as _, AsyncSeekExt as _};

use super::{OutputSpool, Spill};
use crate::utf8_stream::Utf8Stream;

/// The text of an output, possibly without its middle.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FullOutput {
    pub(crate) text: String,
    pub(crate) is_cut: bool,
}

impl OutputSpool {
    /// Returns the output as written, once it is finished. Of an output with more bytes the first and the last half of
    /// them are kept. If the output could not be saved, the end that is in memory is returned.
    pub(crate) async fn full_output(&self, max_bytes: usize) -> FullOutput {
        match &self.spill {
            Spill::Memory(bytes) => FullOutput {
                text: decoded(bytes),
                is_cut: false,
            },
            Spill::File(file) => match read(file.path(), max_bytes).await {
                Ok(output) => FullOutput {
                    is_cut: output.is_cut || file.is_truncated(),
                    ..output
                },
                Err(error) => {
                    tracing::warn!(%error, "cannot read command output");
                    self.end_in_memory()
                }
            },
            Spill::Failed(_) => self.end_in_memory(),
        }
    }

    fn end_in_memory(&self) -> FullOutput {
        FullOutput {
            text: self.tail.clone(),
            is_cut: self.tail.len() < self.text_bytes,
        }
    }
}

async fn read(path: &Path, max_bytes: usize) -> std::io::Result<FullOutput> {
    let mut file = File::open(path).await?;
    let size = usize::try_from(file.metadata().await?.len()).unwrap_or(usize::MAX);
    if size <= max_bytes {
        let mut bytes = Vec::with_capacity(size);
        file.read_to_end(&mut bytes).await?;
        return Ok(FullOutput {
            text: decoded(&bytes),
            is_cut: false,
        });
    }
    let mut head = vec![0; max_bytes / 2];
    file.read_exact(&mut head).await?;
    let mut tail = vec![0; max_bytes - head.len()];
    file.seek(SeekFrom::Start((size - tail.len()) as u64))
        .await?;
    file.read_exact(&mut tail).await?;
    let omitted = size - max_bytes;
    let text = format!(
        "{}\n\n[... {omitted} bytes omitted ...]\n\n{}",
        complete_characters(&head),
        decoded(from_character_start(&tail))
    );
    Ok(FullOutput { text, is_cut: true })
}

fn decoded(bytes: &[u8]) -> String {
    let mut decoder = Utf8Stream::default();
    let mut text = String::new();
    decoder.push(bytes, &mut text);
    decoder.finish(&mut text);
    text
}

/// Decodes bytes without a character that is cut off at their end.
fn complete_characters(bytes: &[u8]) -> String {
    let mut text = String::new();
    Utf8Stream::default().push(bytes, &mut text);
    text
}

/// Returns the bytes without the rest of a character whose start is missing.
fn from_character_start(bytes: &[u8]) -> &[u8] {
    let is_continuation = |byte: &u8| byte & 0xc0 == 0x80;
    let start = bytes.iter().position(|byte| !is_continuation(byte));
    start
        .and_then(|start| bytes.get(start..))
        .unwrap_or_default()
}
