//! Writes to a pipe from a task.
//!
//! Files and pipes have no asynchronous interface that leaves the descriptor unchanged for the processes that share it,
//! so that tokio writes to them on another thread. Most lines are short and most pipes have room: then the task itself
//! writes, which saves two switches of threads per line.

use std::fs::File;
use std::io::{self, Write as _};
use std::pin::Pin;
use std::task::{Context, Poll};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::io::AsyncWrite;

/// A writable pipe has room for this many bytes. The value of Linux; POSIX guarantees 512.
const GUARANTEED_ROOM: usize = if cfg!(target_os = "linux") { 4096 } else { 512 };

/// Longer output is written on another thread, in fewer calls.
const MAX_DIRECT_WRITE: usize = 16 * 1024;

pub(crate) struct PipeWriter {
    pipe: File,
    /// Writes to the same pipe on another thread.
    threaded: tokio::fs::File,
    /// Whether the other thread may have output left to write.
    is_threaded: bool,
}

impl PipeWriter {
    /// Returns the file if it is not a pipe.
    pub(crate) fn new(pipe: File) -> Result<Self, File> {
        use std::os::unix::fs::FileTypeExt as _;
        let is_pipe = pipe.metadata().is_ok_and(|file| file.file_type().is_fifo());
        match pipe.try_clone() {
            Ok(clone) if is_pipe => Ok(Self {
                pipe,
                threaded: tokio::fs::File::from_std(clone),
                is_threaded: false,
            }),
            Ok(_) | Err(_) => Err(pipe),
        }
    }

    /// Writes a part that the pipe has room for; `None` if it has none.
    fn write_ready(&mut self, bytes: &[u8]) -> Option<io::Result<usize>> {
        let mut waiting = [PollFd::new(&self.pipe, PollFlags::OUT)];
        let no_time = Timespec::default();
        let is_ready = poll(&mut waiting, Some(&no_time)).is_ok_and(|ready| ready > 0);
        let part = bytes.get(..GUARANTEED_ROOM).unwrap_or(bytes);
        is_ready.then(|| self.pipe.write(part))
    }
}

impl AsyncWrite for PipeWriter {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if !self.is_threaded
            && bytes.len() <= MAX_DIRECT_WRITE
            && let Some(written) = self.write_ready(bytes)
        {
            return Poll::Ready(written);
        }
        self.is_threaded = true;
        Pin::new(&mut self.threaded).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.is_threaded {
            return Poll::Ready(Ok(()));
        }
        let flushed = Pin::new(&mut self.threaded).poll_flush(context);
        if flushed.is_ready() {
            self.is_threaded = false;
        }
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.threaded).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use tokio::io::AsyncWriteExt as _;

    use super::*;

    fn pipe() -> (std::io::PipeReader, PipeWriter) {
        let (reader, writer) = std::io::pipe().unwrap();
        let file = File::from(std::os::fd::OwnedFd::from(writer));
        (reader, PipeWriter::new(file).ok().unwrap())
    }

    #[tokio::test]
    async fn output_of_any_length_arrives_in_order() {
        let (mut reader, mut writer) = pipe();
        let lengths = [1, 4096, 4097, 200_000, 3, 16 * 1024, 16 * 1024 + 1, 10];
        let reading = std::thread::spawn(move || {
            let mut bytes = Vec::new();
            reader.read_to_end(&mut bytes).map(|_| bytes)
        });
        let mut expected = Vec::new();
        for (number, length) in (b'a'..).zip(lengths) {
            let part = vec![number; length];
            writer.write_all(&part).await.unwrap();
            writer.flush().await.unwrap();
            expected.extend(part);
        }
        drop(writer);
        assert!(reading.join().unwrap().unwrap() == expected);
    }

    #[tokio::test]
    async fn a_full_pipe_does_not_block_the_task() {
        let (mut reader, mut writer) = pipe();
        let full = vec![b'x'; 1024 * 1024];
        let writing = tokio::spawn(async move {
            for _ in 0..1024 {
                writer.write_all(&full[..1024]).await.unwrap();
            }
            writer.flush().await.unwrap();
        });
        // The only thread of this test reads after the task has filled the pipe.
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        let mut bytes = vec![0; 1024 * 1024];
        let reading = tokio::task::spawn_blocking(move || reader.read_exact(&mut bytes));
        writing.await.unwrap();
        reading.await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn a_closed_pipe_is_an_error() {
        let (reader, mut writer) = pipe();
        drop(reader);
        let error = writer.write_all(b"line\n").await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }

    #[test]
    fn other_files_are_returned() {
        assert!(PipeWriter::new(File::open("/dev/null").unwrap()).is_err());
    }
}
