//! Lines that Node writes.

use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, BufReader};
use tokio::sync::mpsc;

/// Lines of this length or more are not frames: the script sends at most 64 MiB (`js/node_host/main.js`).
const MAX_FRAME_BYTES: u64 = 64 * 1024 * 1024 + 1;

/// Maximum length of a line of other output; longer ones are split.
const MAX_TEXT_BYTES: u64 = 64 * 1024;

/// A line of Node's stdout or stderr.
pub(super) enum OutputLine {
    /// Of stdout, which has the frames of the script.
    Frame(String),
    /// Of stderr, which also has the output of child processes.
    Text(String),
    /// A line of stdout exceeds [`MAX_FRAME_BYTES`].
    TooLong,
}

/// Forwards the lines of stdout until it ends or a line is too long.
pub(super) async fn forward_frames(
    stdout: impl AsyncRead + Unpin,
    lines: mpsc::Sender<OutputLine>,
) {
    let mut reader = BufReader::new(stdout);
    while let Some(line) = next_line(&mut reader, MAX_FRAME_BYTES).await {
        let is_too_long = line.len() as u64 >= MAX_FRAME_BYTES;
        let line = if is_too_long {
            OutputLine::TooLong
        } else {
            OutputLine::Frame(text(&line))
        };
        if lines.send(line).await.is_err() || is_too_long {
            return;
        }
    }
}

/// Forwards the lines of stderr until it ends.
pub(super) async fn forward_text(stderr: impl AsyncRead + Unpin, lines: mpsc::Sender<OutputLine>) {
    let mut reader = BufReader::new(stderr);
    while let Some(line) = next_line(&mut reader, MAX_TEXT_BYTES).await {
        if lines.send(OutputLine::Text(text(&line))).await.is_err() {
            return;
        }
    }
}

/// Reads a line, or as much of it as `limit` allows; `None` at the end.
async fn next_line(reader: &mut BufReader<impl AsyncRead + Unpin>, limit: u64) -> Option<Vec<u8>> {
    let mut line = Vec::new();
    let read = reader.take(limit).read_until(b'\n', &mut line).await;
    matches!(read, Ok(1..)).then_some(line)
}

fn text(line: &[u8]) -> String {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    String::from_utf8_lossy(line).into_owned()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[tokio::test]
    async fn a_line_without_end_is_split() {
        let limit = usize::try_from(MAX_TEXT_BYTES).unwrap();
        let output = format!("first\n{}\n", "x".repeat(limit + 1));
        let (sender, mut lines) = mpsc::channel(8);
        forward_text(output.as_bytes(), sender).await;
        let mut lengths = Vec::new();
        while let Some(OutputLine::Text(line)) = lines.recv().await {
            lengths.push(line.len());
        }
        assert_eq!(lengths, [5, limit, 1]);
    }
}
