//! The thread that reads the terminal.

use std::io;
use std::thread::JoinHandle;

use tokio::sync::mpsc;

/// Capacity of the channel: more reads than a fast paste produces between two frames.
const CHANNEL_CAPACITY: usize = 256;
const READ_SIZE: usize = 16 * 1024;

#[derive(Debug)]
pub(super) struct InputReader {
    received: mpsc::Receiver<Vec<u8>>,
    thread: Option<JoinHandle<()>>,
    stop: platform::StopSignal,
}

impl InputReader {
    pub(super) fn start() -> io::Result<Self> {
        let (sender, received) = mpsc::channel(CHANNEL_CAPACITY);
        let (stop, stopped) = platform::stop_signal()?;
        let thread = std::thread::Builder::new()
            .name("terminal input".to_owned())
            .spawn(move || platform::read_all(&stopped, &sender))?;
        Ok(Self {
            received,
            thread: Some(thread),
            stop,
        })
    }

    pub(super) async fn next(&mut self) -> Option<Vec<u8>> {
        self.received.recv().await
    }

    pub(super) fn try_next(&mut self) -> Option<Vec<u8>> {
        self.received.try_recv().ok()
    }

    pub(super) fn is_finished(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Stops the thread and joins it.
    pub(super) fn stop(&mut self) {
        // A thread that waits for room in the channel notices that the channel is closed.
        self.received.close();
        self.stop.send();
        if let Some(thread) = self.thread.take()
            && platform::CAN_STOP
            && thread.join().is_err()
        {
            tracing::error!("terminal reader thread panicked");
        }
    }
}

impl Drop for InputReader {
    fn drop(&mut self) {
        self.stop();
    }
}

#[cfg(unix)]
mod platform {
    use std::io;
    use std::os::fd::OwnedFd;

    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::io::Errno;
    use tokio::sync::mpsc;

    pub(super) const CAN_STOP: bool = true;

    /// Write end of a pipe. A byte written to it stops the thread.
    #[derive(Debug)]
    pub(super) struct StopSignal(OwnedFd);

    impl StopSignal {
        pub(super) fn send(&self) {
            if let Err(error) = rustix::io::write(&self.0, b"x") {
                tracing::debug!(%error, "terminal reader thread has ended");
            }
        }
    }

    pub(super) fn stop_signal() -> io::Result<(StopSignal, OwnedFd)> {
        let (read, write) = rustix::pipe::pipe()?;
        Ok((StopSignal(write), read))
    }

    pub(super) fn read_all(stopped: &OwnedFd, sender: &mpsc::Sender<Vec<u8>>) {
        let stdin = rustix::stdio::stdin();
        let mut buffer = vec![0; super::READ_SIZE];
        loop {
            let mut descriptors = [
                PollFd::new(&stdin, PollFlags::IN),
                PollFd::new(stopped, PollFlags::IN),
            ];
            match poll(&mut descriptors, None) {
                Ok(_) => {}
                Err(Errno::INTR) => continue,
                Err(error) => {
                    tracing::error!(%error, "cannot poll the terminal");
                    return;
                }
            }
            let [input, stop] = &descriptors;
            if !stop.revents().is_empty() {
                return;
            }
            if input.revents().is_empty() {
                continue;
            }
            match rustix::io::read(stdin, &mut buffer) {
                Ok(0) => return,
                Ok(count) => {
                    let bytes = buffer.get(..count).unwrap_or_default().to_vec();
                    if sender.blocking_send(bytes).is_err() {
                        return;
                    }
                }
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(error) => {
                    tracing::debug!(%error, "terminal is closed");
                    return;
                }
            }
        }
    }
}

#[cfg(not(unix))]
mod platform {
    use std::io::{self, Read as _};

    use tokio::sync::mpsc;

    /// A console read cannot be canceled; the thread ends with the next key or with the process.
    pub(super) const CAN_STOP: bool = false;

    #[derive(Debug)]
    pub(super) struct StopSignal;

    impl StopSignal {
        pub(super) fn send(&self) {}
    }

    pub(super) fn stop_signal() -> io::Result<(StopSignal, ())> {
        Ok((StopSignal, ()))
    }

    pub(super) fn read_all(_stopped: &(), sender: &mpsc::Sender<Vec<u8>>) {
        let mut buffer = vec![0; super::READ_SIZE];
        while let Ok(count @ 1..) = io::stdin().lock().read(&mut buffer) {
            let bytes = buffer.get(..count).unwrap_or_default().to_vec();
            if sender.blocking_send(bytes).is_err() {
                return;
            }
        }
    }
}
