//! The one owner of an output stream: whole lines, in the order they were sent.
//!
//! Senders wait while the reader at the other end is slow, so that a run goes no faster than its
//! output is taken. Lines that wait together are written together.

use std::io;

use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

/// How many lines may wait: enough to write a burst of deltas at once, few enough that memory stays
/// small when the reader stops.
const WAITING_LINES: usize = 64;

/// How many bytes are gathered before they are written.
const BATCH_BYTES: usize = 64 * 1024;

/// The stream is closed: nobody reads what is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the output is closed")]
pub struct OutputClosed;

enum Item {
    Line(String),
    Flushed(oneshot::Sender<()>),
}

/// Sends lines to a stream; cheap to clone.
#[derive(Debug, Clone)]
pub struct LineSink(mpsc::Sender<Item>);

impl LineSink {
    /// Sends a line, given without its end; waits while too many are under way.
    pub async fn send(&self, line: String) -> Result<(), OutputClosed> {
        self.put(Item::Line(line)).await
    }

    /// Waits until everything sent before is written.
    pub async fn flush(&self) -> Result<(), OutputClosed> {
        let (done, flushed) = oneshot::channel();
        self.put(Item::Flushed(done)).await?;
        flushed.await.map_err(|_closed| OutputClosed)
    }

    /// Waits until the stream is closed by the other end.
    pub async fn closed(&self) {
        self.0.closed().await;
    }

    async fn put(&self, item: Item) -> Result<(), OutputClosed> {
        self.0.send(item).await.map_err(|_closed| OutputClosed)
    }
}

/// The task that owns a stream. Dropping it ends the writing, in the middle of a line if need be.
#[derive(Debug)]
pub struct LineWriter {
    sink: LineSink,
    task: JoinHandle<io::Result<()>>,
}

impl LineWriter {
    /// Starts writing to a stream.
    pub fn start(writer: impl AsyncWrite + Send + Unpin + 'static) -> Self {
        let (sender, receiver) = mpsc::channel(WAITING_LINES);
        Self {
            sink: LineSink(sender),
            task: tokio::spawn(write_lines(receiver, writer)),
        }
    }

    /// Returns what sends lines to the stream.
    pub fn sink(&self) -> LineSink {
        self.sink.clone()
    }

    /// Returns why the stream was closed. To be asked when a sink says that it is: before that, this waits.
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
    }
}

async fn write_lines(
    mut receiver: mpsc::Receiver<Item>,
    mut writer: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    let mut items = Vec::with_capacity(WAITING_LINES);
    let mut bytes = Vec::new();
    while receiver.recv_many(&mut items, WAITING_LINES).await > 0 {
        for item in items.drain(..) {
            match item {
                Item::Line(line) => {
                    bytes.extend_from_slice(line.as_bytes());
                    bytes.push(b'\n');
                    if bytes.len() < BATCH_BYTES {
                        continue;
                    }
                    write(&mut writer, &mut bytes).await?;
                }
                Item::Flushed(done) => {
                    write(&mut writer, &mut bytes).await?;
                    // Whoever asked may have stopped waiting.
                    done.send(()).ok();
                }
            }
        }
        write(&mut writer, &mut bytes).await?;
    }
    Ok(())
}

async fn write(writer: &mut (impl AsyncWrite + Unpin), bytes: &mut Vec<u8>) -> io::Result<()> {
    if bytes.is_empty() {
        return Ok(());
    }
    writer.write_all(bytes).await?;
    writer.flush().await?;
    bytes.clear();
    // One long line must not keep its size for ever.
    bytes.shrink_to(2 * BATCH_BYTES);
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
    async fn lines_arrive_whole_and_in_order() {
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
            assert!(sent <= 4 * WAITING_LINES, "the queue has no end");
        }
    }

    #[tokio::test]
    async fn a_closed_stream_is_told_to_senders() {
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
