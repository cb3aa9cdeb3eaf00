//! Reserves standard input and output for the program.
//!
//! Extensions run in this process, and their children inherit its descriptors. In modes whose output a
//! program reads, descriptor 1 is therefore another name for stderr, and only this module has the real
//! one. In RPC mode descriptor 0 is empty in the same way.

use std::fs::File;
use std::io::{self, IsTerminal as _, Write};
use std::sync::OnceLock;

use tokio::io::{AsyncRead, AsyncWrite};

#[cfg(unix)]
use crate::pipe_writer::PipeWriter;

static STDIN: OnceLock<File> = OnceLock::new();
static STDOUT: OnceLock<File> = OnceLock::new();

/// Moves stdout to a descriptor that children do not inherit. From here on, what others write to
/// stdout goes to stderr.
pub(crate) fn reserve_stdout() {
    #[cfg(unix)]
    reserve(
        &STDOUT,
        io::stdout(),
        || Ok(rustix::stdio::dup2_stdout(io::stderr())?),
        "stdout",
    );
}

/// Moves stdin to a descriptor that children do not inherit. From here on, others read nothing from it.
pub(crate) fn reserve_stdin() {
    #[cfg(unix)]
    reserve(
        &STDIN,
        io::stdin(),
        || Ok(rustix::stdio::dup2_stdin(File::open("/dev/null")?)?),
        "stdin",
    );
}

#[cfg(unix)]
fn reserve(
    reserved: &OnceLock<File>,
    stream: impl std::os::fd::AsFd,
    replace: impl FnOnce() -> io::Result<()>,
    name: &str,
) {
    // Without a descriptor to spare, the stream stays shared.
    let moved = rustix::io::fcntl_dupfd_cloexec(stream, 3)
        .map_err(io::Error::from)
        .and_then(|own| replace().map(|()| reserved.set(own.into())));
    if let Err(error) = moved {
        tracing::warn!(%error, "cannot reserve {name}");
    }
}

/// Whether the program's output goes to a terminal.
pub(crate) fn stdout_is_terminal() -> bool {
    STDOUT
        .get()
        .map_or_else(|| io::stdout().is_terminal(), File::is_terminal)
}

/// Writes to the program's output and flushes it.
pub(crate) fn write_stdout(bytes: &[u8]) -> io::Result<()> {
    match STDOUT.get() {
        Some(mut file) => file.write_all(bytes),
        None => {
            let mut stdout = io::stdout().lock();
            stdout.write_all(bytes)?;
            stdout.flush()
        }
    }
}

/// Returns the program's output for a task.
pub(crate) fn async_stdout() -> Box<dyn AsyncWrite + Send + Unpin> {
    match STDOUT.get().and_then(|file| file.try_clone().ok()) {
        Some(file) => write_in_task(file),
        None => Box::new(tokio::io::stdout()),
    }
}

#[cfg(unix)]
fn write_in_task(file: File) -> Box<dyn AsyncWrite + Send + Unpin> {
    match PipeWriter::new(file) {
        Ok(pipe) => Box::new(pipe),
        Err(file) => Box::new(tokio::fs::File::from_std(file)),
    }
}

#[cfg(not(unix))]
fn write_in_task(file: File) -> Box<dyn AsyncWrite + Send + Unpin> {
    Box::new(tokio::fs::File::from_std(file))
}

/// Returns the program's input for a task.
pub(crate) fn async_stdin() -> Box<dyn AsyncRead + Send + Unpin> {
    match STDIN.get().and_then(|file| file.try_clone().ok()) {
        Some(file) => Box::new(tokio::fs::File::from_std(file)),
        None => Box::new(tokio::io::stdin()),
    }
}
