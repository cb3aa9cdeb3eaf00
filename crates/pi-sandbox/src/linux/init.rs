//! The first process of the PID namespace: sets up the mounts, starts the program, and reaps orphans until none is left. When
//! it ends, the kernel kills what is left.

use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read as _, Write as _};

use libc::CLONE_NEWUSER;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{DumpableBehavior, WaitOptions, set_dumpable_behavior, wait};

use super::confine::{ConfinedCommand, HelperRequest, SetupError, fail};
use super::placeholders::Placeholders;
use super::relay::close_streams;
use super::system_calls::{BlockedSignals, Cloned, SIGNAL_BYTES, clone_process, send_signal};
use super::{id_maps, mounts};

/// Exit code if the program was not started.
const FAILED: i32 = 126;

/// Runs the first process and returns its exit code.
pub(super) fn run(
    request: &HelperRequest,
    program: &ConfinedCommand,
    placeholders: Placeholders,
    mut control: PipeReader,
    status: PipeWriter,
    signals: &BlockedSignals,
) -> i32 {
    // The process outside maps the IDs first. Nothing arrives if it could not.
    if control.read_exact(&mut [0]).is_err() {
        return FAILED;
    }
    let started = mounts::set_up(request, &placeholders)
        .and_then(|()| start_program(request, program, signals));
    match started {
        Ok(child) => {
            // Nothing can be done about an error: the program runs.
            close_streams().ok();
            let supervised = Supervision {
                program: child,
                control: Some(control),
                status: Some(status),
                ended: None,
                placeholders: Some(placeholders),
                ends_with_program: !request.overlays.is_empty(),
            };
            match supervised.run(&signals.descriptor) {
                Ok(()) => 0,
                Err(_) => FAILED,
            }
        }
        Err(error) => {
            placeholders.remove();
            fail(&error);
            FAILED
        }
    }
}

/// Starts the program in a user namespace below that of the mounts.
#[expect(
    clippy::disallowed_methods,
    reason = "a cloned process must not return to the code of its parent"
)]
fn start_program(
    request: &HelperRequest,
    program: &ConfinedCommand,
    signals: &BlockedSignals,
) -> Result<i32, SetupError> {
    let (mut ready, ready_writer) = io::pipe().map_err(SetupError::at("cannot create a pipe"))?;
    let cloned = clone_process(CLONE_NEWUSER)
        .map_err(SetupError::at("nested user namespaces are not available"))?;
    match cloned {
        Cloned::Child => {
            drop(ready_writer);
            let code = match ready.read_exact(&mut [0]).and_then(|()| signals.unblock()) {
                Ok(()) => i32::from(program.start(request)),
                Err(_) => FAILED,
            };
            std::process::exit(code)
        }
        Cloned::Parent(child) => {
            id_maps::write(child)?;
            // The program runs as the same user; it must not read the memory of this process.
            set_dumpable_behavior(DumpableBehavior::NotDumpable)
                .map_err(SetupError::at("cannot protect the first process"))?;
            let mut ready = ready_writer;
            ready
                .write_all(&[1])
                .map_err(SetupError::at("cannot start the command"))?;
            Ok(child)
        }
    }
}

/// Reaps processes until none is left.
struct Supervision {
    program: i32,
    /// Signals for the program; `None` if the process outside has ended.
    control: Option<PipeReader>,
    /// Where the status of the program is reported; `None` if it was.
    status: Option<PipeWriter>,
    ended: Option<i32>,
    placeholders: Option<Placeholders>,
    /// Whether other processes are killed when the program has ended.
    ends_with_program: bool,
}

impl Supervision {
    fn run(mut self, mut signals: &File) -> io::Result<()> {
        while self.reap()? {
            // Others still run, like daemons.
            if self.ended.is_some() && self.ends_with_program {
                // All others in this namespace.
                send_signal(-1, libc::SIGKILL);
            } else {
                // They do not delay the result.
                self.report();
            }
            let mut events = vec![PollFd::new(&signals, PollFlags::IN)];
            events.extend(
                self.control
                    .iter()
                    .map(|control| PollFd::new(control, PollFlags::IN)),
            );
            poll(&mut events, None)?;
            let is_ready = |event: &PollFd<'_>| !event.revents().is_empty();
            let has_signal = events.first().is_some_and(is_ready);
            let has_control = events.get(1).is_some_and(is_ready);
            if has_signal {
                // A child has ended. Other signals are not for this process.
                signals.read_exact(&mut [0; SIGNAL_BYTES])?;
            }
            if has_control {
                self.pass_signal();
            }
        }
        // Before the result is reported, so that nothing is left when the caller has it.
        if let Some(placeholders) = self.placeholders.take() {
            placeholders.remove();
        }
        self.report();
        Ok(())
    }

    /// Reaps what has ended; returns whether processes are left.
    fn reap(&mut self) -> io::Result<bool> {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((process, status))) => {
                    if process.as_raw_pid() == self.program {
                        self.ended = Some(status.as_raw());
                    }
                }
                Ok(None) => return Ok(true),
                Err(rustix::io::Errno::CHILD) => return Ok(false),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Reports the status of the program once.
    fn report(&mut self) {
        if let Some(ended) = self.ended
            && let Some(mut status) = self.status.take()
        {
            // The process outside may have been killed.
            status.write_all(&ended.to_ne_bytes()).ok();
        }
    }

    fn pass_signal(&mut self) {
        let mut signal = [0];
        let received = self
            .control
            .as_mut()
            .map(|control| control.read_exact(&mut signal));
        let signal = match received {
            Some(Ok(())) => i32::from(signal[0]),
            // The process outside has ended: after the program, or it was killed, and the program with it.
            Some(Err(_)) | None => {
                self.control = None;
                libc::SIGKILL
            }
        };
        if self.ended.is_none() {
            send_signal(self.program, signal);
        }
    }
}
