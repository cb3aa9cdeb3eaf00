//! A command and its descendants: spawned together, killed together.
//!
//! The shell leads a new session without a terminal, and both output streams share one pipe.
//! Descendants may leave the session, fork twice and outlive their parents; [`ProcessTree::kill`]
//! still finds them.
//!
//! On Linux the shell is made a subreaper: orphaned descendants become its children, so every
//! descendant stays below the shell while it lives. Killing therefore stops the shell first, kills
//! everything below it until nothing is left, and kills the shell last. The shell is reaped only
//! after that, so that its process ID cannot be reused before. A supervisor does the same if this
//! process is killed while a command runs.

#[cfg(unix)]
mod server_process;
#[cfg(windows)]
#[path = "process_tree/server_process_windows.rs"]
mod server_process;
#[cfg(any(target_os = "linux", target_os = "android"))]
mod supervisor;
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

pub use server_process::{ServerProcess, ServerStreams};
#[cfg(any(target_os = "linux", target_os = "android"))]
pub use supervisor::{
    ChildPurpose, SupervisedChild, end_commands_with_process, release_children, supervise_commands,
};
#[cfg(unix)]
pub(crate) use unix::{OutputPipe, ProcessTree};
#[cfg(windows)]
pub(crate) use windows::{OutputPipe, ProcessTree};

use std::time::Duration;

/// How long to wait for killed processes to exit. A process that is blocked in the kernel or runs
/// as another user cannot be waited for.
pub(crate) const KILL_TIMEOUT: Duration = Duration::from_secs(2);

/// Makes a command lead a new session and adopt orphaned descendants.
#[cfg(unix)]
fn lead_session(command: &mut std::process::Command) {
    use std::os::unix::process::CommandExt;

    let prepare = || {
        rustix::process::setsid()?;
        // Kept across `exec`, not inherited by children. If the kernel does not support it, only
        // orphans that left the session cannot be found.
        #[cfg(any(target_os = "linux", target_os = "android"))]
        rustix::process::set_child_subreaper(Some(rustix::process::getpid())).unwrap_or_default();
        Ok(())
    };
    #[expect(unsafe_code, reason = "std has no safe API for setsid")]
    // SAFETY: between fork and exec only async-signal-safe operations are allowed. The closure
    // makes three system calls through rustix and neither allocates nor locks.
    unsafe {
        command.pre_exec(prepare);
    }
}
