//! Single owner of an output stream: writes complete lines in the order they were sent.
//!
//! Lines are collected in one buffer and written together. Senders wait while it is full, so a run
//! cannot get ahead of the reader.

use std::io;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Maximum number of buffered bytes. A longer line is buffered alone.
const MAX_BUFFERED_BYTES: usize = 128 * 1024;

/// The stream is closed; nothing reads what is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("output closed")]
pub struct OutputClosed;

/// Buffer shared by senders and the writer task.
#[derive(Debug, Default)]
struct LineBuffer {
    waiting: Mutex<QueuedBytes>,
    /// Notified when there is something to write.
    filled: Notify,
    /// Total number of bytes ever written.
    written: watch::Sender<u64>,
    /// Separate from `written`: what waits for the end must not wake up for every line.
    closed: CancellationToken,
}

#[derive(Debug, Default)]
struct QueuedBytes {
    bytes: Vec<u8>,
    /// Total number of bytes ever queued.
    sent: u64,
}

impl LineBuffer {
    fn waiting(&self) -> MutexGuard<'_, QueuedBytes> {
        self.waiting.lock()
    }

    /// Queues a line if there is room; returns whether it was queued.
    fn insert(&self, line: &str) -> Result<bool, OutputClosed> {
        if self.closed.is_cancelled() {
            return Err(OutputClosed);
        }
        let mut waiting = self.waiting();
        let is_empty = waiting.bytes.is_empty();
        if !is_empty && waiting.bytes.len() + line.len() >= MAX_BUFFERED_BYTES {
            return Ok(false);
        }
        waiting.bytes.extend_from_slice(line.as_bytes());
        waiting.bytes.push(b'\n');
        waiting.sent += line.len() as u64 + 1;
        drop(waiting);
        if is_empty {
            self.filled.notify_one();
        }
        Ok(true)
    }

    /// Waits for lines and moves them to `bytes`; returns `false` when the stream is closed.
    async fn take(&self, bytes: &mut Vec<u8>) -> bool {
        bytes.clear();
        // Do not keep the capacity of one very long line.
        bytes.shrink_to(2 * MAX_BUFFERED_BYTES);
        loop {
            std::mem::swap(&mut self.waiting().bytes, bytes);
            if !bytes.is_empty() {
                return true;
            }
            let filled = self.filled.notified();
            if self.closed.run_until_cancelled(filled).await.is_none() {
                return false;
            }
        }
    }

    /// Records the outcome of writing `bytes`.
    fn record(&self, bytes: &[u8], outcome: io::Result<()>) -> io::Result<()> {
        match &outcome {
            Ok(()) => self
                .written
                .send_modify(|written| *written += bytes.len() as u64),
            Err(_) => self.closed.cancel(),
        }
        outcome
    }
}

/// Sends lines to a stream; cheap to clone.
#[derive(Debug, Clone)]
pub struct LineSink(Arc<LineBuffer>);

impl LineSink {
    /// Sends a line without its line ending if there is room; returns whether it was sent.
    pub fn try_send(&self, line: &str) -> Result<bool, OutputClosed> {
        self.0.insert(line)
    }

    /// Sends a line without its line ending; waits while the buffer is full.
    pub async fn send(&self, line: String) -> Result<(), OutputClosed> {
        let mut written = self.0.written.subscribe();
        while !self.0.insert(&line)? {
            let progress = self.0.closed.run_until_cancelled(written.changed());
            progress.await.ok_or(OutputClosed)?.ok();
        }
        Ok(())
    }

    /// Waits until everything sent before is written.
    pub async fn flush(&self) -> Result<(), OutputClosed> {
        let sent = self.0.waiting().sent;
        let mut written = self.0.written.subscribe();
        let reached = written.wait_for(|written| *written >= sent);
        match self.0.closed.run_until_cancelled(reached).await {
            Some(_reached) => Ok(()),
            None if *self.0.written.borrow() >= sent => Ok(()),
            None => Err(OutputClosed),
        }
    }

    /// Waits until the other end closes the stream.
    pub async fn closed(&self) {
        self.0.closed.cancelled().await;
    }
}

/// The task that owns a stream. Dropping it stops writing, possibly in the middle of a line.
#[derive(Debug)]
pub struct LineWriter {
    sink: LineSink,
    task: JoinHandle<io::Result<()>>,
}

impl LineWriter {
    pub fn start(writer: impl AsyncWrite + Send + Unpin + 'static) -> Self {
        let buffer = Arc::new(LineBuffer::default());
        Self {
            sink: LineSink(Arc::clone(&buffer)),
            task: tokio::spawn(write_lines(buffer, writer)),
        }
    }

    pub fn sink(&self) -> LineSink {
        self.sink.clone()
    }

    /// Returns why the stream was closed. Call it only after a sink reported [`OutputClosed`];
    /// before that, it waits.
    pub async fn closed_by(mut self) -> Option<io::Error> {
        match (&mut self.task).await {
            Ok(Err(error)) => Some(error),
            Ok(Ok(())) | Err(_) => None,
        }
    }
}

impl Drop for LineWriter {
    fn drop(&mut self) {
        self.task.abort();
        self.sink.0.closed.cancel();
    }
}

async fn write_lines(
    buffer: Arc<LineBuffer>,
    mut writer: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    let mut bytes = Vec::new();
    while buffer.take(&mut bytes).await {
        let outcome = async {
            writer.write_all(&bytes).await?;
            writer.flush().await
        };
        buffer.record(&bytes, outcome.await)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use futures_util::FutureExt as _;
    use pretty_assertions::assert_eq;
    use tokio::io::AsyncReadExt as _;

    use super::*;

    #[tokio::test]
    async fn lines_arrive_complete_and_in_order() {
        let (near, mut far) = tokio::io::duplex(16);
        let writer = LineWriter::start(near);
        let sink = writer.sink();
        let reading = tokio::spawn(async move {
            let mut text = String::new();
            far.read_to_string(&mut text).await.unwrap();
            text
        });
        let mut expected = String::new();
        for number in 0..500 {
            sink.send(number.to_string()).await.unwrap();
            writeln!(expected, "{number}").unwrap();
        }
        sink.flush().await.unwrap();
        drop((writer, sink));
        assert_eq!(reading.await.unwrap(), expected);
    }

    #[tokio::test]
    async fn senders_wait_for_a_slow_reader() {
        let (near, _far) = tokio::io::duplex(1);
        let writer = LineWriter::start(near);
        let sink = writer.sink();
        let mut sent = 0;
        while tokio::task::unconstrained(sink.send("x".repeat(100)))
            .now_or_never()
            .is_some()
        {
            sent += 1;
            tokio::task::yield_now().await;
            assert!(
                sent <= 4 * MAX_BUFFERED_BYTES / 100,
                "the queue is unbounded"
            );
        }
    }

    #[tokio::test]
    async fn a_line_longer_than_the_buffer_is_buffered_alone() {
        let (near, mut far) = tokio::io::duplex(1024);
        let writer = LineWriter::start(near);
        let sink = writer.sink();
        let long = "x".repeat(2 * MAX_BUFFERED_BYTES);
        assert_eq!(sink.try_send("first"), Ok(true));
        assert_eq!(sink.try_send(&long), Ok(false));
        let reading = tokio::spawn(async move {
            let mut text = String::new();
            far.read_to_string(&mut text).await.unwrap();
            text
        });
        sink.send(long.clone()).await.unwrap();
        sink.flush().await.unwrap();
        drop((writer, sink));
        assert_eq!(reading.await.unwrap(), format!("first\n{long}\n"));
    }

    #[tokio::test]
    async fn senders_see_a_closed_stream() {
        let (near, far) = tokio::io::duplex(16);
        let writer = LineWriter::start(near);
        let sink = writer.sink();
        drop(far);
        sink.send("lost".to_owned()).await.unwrap();
        sink.closed().await;
        assert_eq!(sink.send("lost too".to_owned()).await, Err(OutputClosed));
        assert_eq!(sink.flush().await, Err(OutputClosed));
        let reason = writer.closed_by().await.unwrap();
        assert_eq!(reason.kind(), io::ErrorKind::BrokenPipe);
    }
}
