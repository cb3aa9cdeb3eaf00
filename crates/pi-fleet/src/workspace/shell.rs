//! Runs shell commands of tasks. Only the end of their output is kept, and only their shell is waited for: a server that it
//! starts keeps its output open.

use std::collections::VecDeque;
use std::io;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::Command;
use tokio::task::JoinSet;

use super::{ERROR_TAIL, ProcessGroup};

/// How long output may take that a shell has written before its exit.
const LAST_OUTPUT: Duration = Duration::from_millis(200);

/// How a command has ended.
#[derive(Debug)]
pub(crate) struct ShellOutput {
    pub(crate) status: ExitStatus,
    /// The end of what it has written.
    pub(crate) tail: String,
}

/// Reads what commands write that have outlived their shell. Without a reader, they would be killed.
#[derive(Default)]
pub(super) struct OpenOutputs(Mutex<JoinSet<()>>);

/// The last bytes of both outputs.
#[derive(Clone, Default)]
struct Tail(Arc<Mutex<VecDeque<u8>>>);

/// Runs a command whose outputs are pipes. If it is not awaited to its end, its processes are killed.
pub(super) async fn run(command: &mut Command, open: &OpenOutputs) -> io::Result<ShellOutput> {
    let (mut process, group) = ProcessGroup::spawn(command)?;
    let tail = Tail::default();
    let mut reading = JoinSet::new();
    if let Some(output) = process.stdout.take() {
        reading.spawn(tail.clone().read(output));
    }
    if let Some(errors) = process.stderr.take() {
        reading.spawn(tail.clone().read(errors));
    }
    let status = process.wait().await?;
    let ending = async { while reading.join_next().await.is_some() {} };
    let is_open = tokio::time::timeout(LAST_OUTPUT, ending).await.is_err();
    if is_open {
        open.keep(reading);
    }
    // A server that the command has started stays.
    group.keep();
    let tail = tail.text();
    Ok(ShellOutput { status, tail })
}

impl OpenOutputs {
    fn keep(&self, mut reading: JoinSet<()>) {
        let mut open = self.0.lock();
        open.spawn(async move { while reading.join_next().await.is_some() {} });
    }
}

impl Tail {
    async fn read(self, mut output: impl AsyncRead + Unpin) {
        let mut buffer = vec![0; 8192];
        while let Ok(length @ 1..) = output.read(&mut buffer).await {
            let read = buffer.get(..length).unwrap_or_default();
            let mut bytes = self.0.lock();
            bytes.extend(read);
            let superfluous = bytes.len().saturating_sub(ERROR_TAIL);
            bytes.drain(..superfluous);
        }
    }

    fn text(&self) -> String {
        let mut bytes = self.0.lock();
        String::from_utf8_lossy(bytes.make_contiguous())
            .trim()
            .to_owned()
    }
}
