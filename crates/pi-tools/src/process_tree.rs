//! A command and everything it starts: spawned together, ended together.
//!
//! The shell leads a session of its own, without a terminal, and both its output streams are one
//! pipe. Descendants may leave the session, fork twice and outlive their parents; [`ProcessTree::kill`]
//! finds them all the same. What the output means is left to others.
//!
//! On Linux the shell is made a subreaper: whatever loses its parent becomes the shell's child, so
//! that as long as the shell lives every descendant is below it. Killing therefore stops the shell
//! first, ends what is below it until nothing is left, and ends the shell last. The shell is reaped
//! after that only: until then nobody else can be given its id.

#[cfg(any(target_os = "linux", target_os = "android"))]
#[path = "process_tree/proc_table.rs"]
mod table;
#[cfg(all(unix, not(any(target_os = "linux", target_os = "android"))))]
#[path = "process_tree/ps_table.rs"]
mod table;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(crate) use unix::{OutputPipe, ProcessTree};
#[cfg(windows)]
pub(crate) use windows::{OutputPipe, ProcessTree};

use std::time::Duration;

/// How long a killed process may take to disappear before it is left alone: one that the kernel
/// holds, or that runs as somebody else, cannot be waited for.
pub(crate) const KILL_PATIENCE: Duration = Duration::from_secs(2);

/// Lets a command lead a session of its own and inherit what its descendants orphan.
#[cfg(unix)]
fn lead_session(command: &mut std::process::Command) {
    use std::os::unix::process::CommandExt;

    let prepare = || {
        rustix::process::setsid()?;
        // Kept across `exec`, not inherited by children. A kernel without it is no obstacle: only
        // orphans that also left the session are out of reach then.
        #[cfg(any(target_os = "linux", target_os = "android"))]
        rustix::process::set_child_subreaper(Some(rustix::process::getpid())).unwrap_or_default();
        Ok(())
    };
    #[expect(unsafe_code, reason = "the standard library has no safe way to setsid")]
    // SAFETY: between fork and exec only async-signal-safe work is allowed. The closure makes three
    // system calls through rustix and neither allocates nor locks.
    unsafe {
        command.pre_exec(prepare);
    }
}
