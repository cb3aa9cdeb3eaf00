//! The process that the caller knows: forwards signals to the program and ends like it.

use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read as _, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{ExitCode, ExitStatus};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, WaitOptions, waitpid};

use super::confine::SetupError;
use super::system_calls::{SIGNAL_BYTES, die_by_signal, parse_signal};

/// Lets the first process start and waits for the program.
pub(super) fn run(
    child: i32,
    mut status: PipeReader,
    mut control: PipeWriter,
    mut signals: File,
) -> Result<ExitCode, SetupError> {
    let lost = || SetupError::at("cannot wait for the command");
    // Fails if the child is gone, which the status shows.
    control.write_all(&[START]).ok();
    close_streams().map_err(lost())?;
    loop {
        let mut events = [
            PollFd::new(&status, PollFlags::IN),
            PollFd::new(&signals, PollFlags::IN),
        ];
        poll(&mut events, None)
            .map_err(io::Error::from)
            .map_err(lost())?;
        let [has_status, has_signal] = events.map(|event| !event.revents().is_empty());
        if has_signal {
            let mut bytes = [0; SIGNAL_BYTES];
            signals.read_exact(&mut bytes).map_err(lost())?;
            let signal = parse_signal(&bytes);
            // What a terminal sends reaches the program, too, because it is in the same process group.
            if signal.is_sent && signal.number != libc::SIGCHLD {
                control
                    .write_all(&[u8::try_from(signal.number).unwrap_or_default()])
                    .ok();
            }
        }
        if has_status {
            return Ok(match read_status(&mut status) {
                Some(status) => end_like(status),
                // The first process has ended before the program, or could not start it.
                None => end_like(wait_for(child).map_err(lost())?),
            });
        }
    }
}

/// The first byte on the control pipe; the others are signals.
pub(super) const START: u8 = 1;

/// Closes the standard streams, so that the end of the program's output is visible.
pub(super) fn close_streams() -> io::Result<()> {
    let null = rustix::fs::open(
        "/dev/null",
        rustix::fs::OFlags::RDWR | rustix::fs::OFlags::CLOEXEC,
        rustix::fs::Mode::empty(),
    )?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)?;
    Ok(())
}

fn read_status(pipe: &mut PipeReader) -> Option<i32> {
    let mut bytes = [0; 4];
    pipe.read_exact(&mut bytes).ok()?;
    Some(i32::from_ne_bytes(bytes))
}

fn wait_for(child: i32) -> io::Result<i32> {
    let waited = waitpid(Pid::from_raw(child), WaitOptions::empty())?;
    Ok(waited.map_or(0, |(_, status)| status.as_raw()))
}

fn end_like(status: i32) -> ExitCode {
    let status = ExitStatus::from_raw(status);
    if let Some(signal) = status.signal() {
        die_by_signal(signal);
        // Not killed by a signal that does not end a process.
        return u8::try_from(128 + signal).unwrap_or(1).into();
    }
    let code = status.code().unwrap_or(1);
    u8::try_from(code).unwrap_or(1).into()
}
