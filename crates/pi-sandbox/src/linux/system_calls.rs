//! System calls that neither std nor rustix has a safe function for.
#![expect(unsafe_code, reason = "system calls without a safe wrapper")]

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, FromRawFd as _, OwnedFd};

use libc::{c_int, c_ulong};

/// The two sides of [`clone_process`].
pub(super) enum Cloned {
    Child,
    Parent(c_int),
}

/// Forks into new namespaces. This process must have one thread.
pub(super) fn clone_process(namespaces: c_int) -> io::Result<Cloned> {
    let flags = c_ulong::from((namespaces | libc::SIGCHLD).cast_unsigned());
    // SAFETY: without a stack and without shared memory, `clone` is a fork; there are no other threads whose locks the child
    // would inherit.
    let result = unsafe { libc::syscall(libc::SYS_clone, flags, 0_u64, 0_u64, 0_u64, 0_u64) };
    match c_int::try_from(check(result)?) {
        Ok(0) => Ok(Cloned::Child),
        Ok(child) => Ok(Cloned::Parent(child)),
        Err(_) => Err(io::Error::other("invalid process ID")),
    }
}

/// Makes a mount read-only, with all mounts below it.
pub(super) fn make_read_only(mount: impl AsFd) -> io::Result<()> {
    let attributes = libc::mount_attr {
        attr_set: libc::MOUNT_ATTR_RDONLY,
        attr_clr: 0,
        propagation: 0,
        userns_fd: 0,
    };
    let flags = libc::AT_EMPTY_PATH | libc::AT_RECURSIVE;
    // SAFETY: the path is a valid string, and the structure has the passed size.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_fd().as_raw_fd(),
            c"".as_ptr(),
            flags,
            &raw const attributes,
            size_of::<libc::mount_attr>(),
        )
    };
    check(result).map(drop)
}

/// Closes descriptors when a program is executed.
pub(super) fn close_on_exec_from(first: u32) -> io::Result<()> {
    // SAFETY: only sets a flag of descriptors.
    let result = unsafe {
        libc::syscall(
            libc::SYS_close_range,
            first,
            u32::MAX,
            libc::CLOSE_RANGE_CLOEXEC,
        )
    };
    check(result).map(drop)
}

/// Signals that are read instead of interrupting this process.
pub(super) struct BlockedSignals {
    pub(super) descriptor: File,
    before: libc::sigset_t,
}

impl BlockedSignals {
    /// Blocks all signals.
    pub(super) fn new() -> io::Result<Self> {
        // SAFETY: the sets are initialized by `sigfillset` and `sigprocmask`, and the descriptor is owned by no other value.
        unsafe {
            let mut signals = std::mem::zeroed();
            let mut before = std::mem::zeroed();
            libc::sigfillset(&raw mut signals);
            check(i64::from(libc::sigprocmask(
                libc::SIG_SETMASK,
                &raw const signals,
                &raw mut before,
            )))?;
            let descriptor = libc::signalfd(-1, &raw const signals, libc::SFD_CLOEXEC);
            check(i64::from(descriptor))?;
            Ok(Self {
                descriptor: OwnedFd::from_raw_fd(descriptor).into(),
                before,
            })
        }
    }

    /// Unblocks them for a program that is executed, which inherits the mask.
    pub(super) fn unblock(&self) -> io::Result<()> {
        // SAFETY: the mask was initialized by the kernel.
        let result = unsafe {
            libc::sigprocmask(
                libc::SIG_SETMASK,
                &raw const self.before,
                std::ptr::null_mut(),
            )
        };
        check(i64::from(result)).map(drop)
    }
}

/// Number and origin of a signal.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReceivedSignal {
    pub(super) number: c_int,
    /// Whether a process sent it; otherwise the kernel, like a terminal does to a whole process group.
    pub(super) is_sent: bool,
}

/// Parses what the descriptor of [`BlockedSignals`] returns.
pub(super) fn parse_signal(bytes: &[u8; SIGNAL_BYTES]) -> ReceivedSignal {
    // SAFETY: the structure consists of integers, and the array has its size.
    let info: libc::signalfd_siginfo = unsafe { std::mem::transmute_copy(bytes) };
    ReceivedSignal {
        number: c_int::try_from(info.ssi_signo).unwrap_or_default(),
        is_sent: info.ssi_code <= 0,
    }
}

/// Size of what the descriptor of [`BlockedSignals`] returns.
pub(super) const SIGNAL_BYTES: usize = size_of::<libc::signalfd_siginfo>();

/// Sends a signal to a process.
pub(super) fn send_signal(process: c_int, signal: c_int) {
    // SAFETY: has no effect on memory. The process may be gone.
    unsafe { libc::kill(process, signal) };
}

/// Ends this process like another one that a signal has killed.
pub(super) fn die_by_signal(signal: c_int) {
    let no_core = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: restores the default action of a signal and sends it to this process.
    unsafe {
        // The program has written its core already.
        libc::setrlimit(libc::RLIMIT_CORE, &raw const no_core);
        libc::signal(signal, libc::SIG_DFL);
        let mut signals = std::mem::zeroed();
        libc::sigemptyset(&raw mut signals);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const signals, std::ptr::null_mut());
        libc::raise(signal);
    }
}

fn check(result: i64) -> io::Result<i64> {
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(result)
}
