//! Attacks that are system calls, which a shell cannot make.
#![expect(unsafe_code, reason = "system calls without a safe wrapper")]

use std::ffi::{CString, OsString};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::process::ExitCode;

/// The argument of a process that performs an attack.
pub(crate) const ATTACK: &str = "__attack";

/// Performs the named attack; the exit code is success if it succeeded.
pub(crate) fn run(words: impl Iterator<Item = OsString>) -> ExitCode {
    let words: Vec<String> = words.map(|word| word.into_string().unwrap()).collect();
    let argument = words.get(1).map_or("", String::as_str);
    let has_succeeded = match words.first().map(String::as_str).unwrap() {
        "connect" => UnixStream::connect(argument).is_ok(),
        "connect-abstract" => {
            UnixStream::connect_addr(&SocketAddr::from_abstract_name(argument).unwrap()).is_ok()
        }
        "ptrace" => ptrace_child(),
        "keyctl" => call(libc::SYS_keyctl, &[0, -3, 1]),
        "add-key" => {
            let (kind, name) = (c"user", c"pi-sandbox-test");
            let pointers = [
                kind.as_ptr() as i64,
                name.as_ptr() as i64,
                name.as_ptr() as i64,
                3,
                -2,
            ];
            call(libc::SYS_add_key, &pointers)
        }
        "unshare-user" => call(libc::SYS_unshare, &[i64::from(libc::CLONE_NEWUSER)]),
        "unshare-mount" => call(libc::SYS_unshare, &[i64::from(libc::CLONE_NEWNS)]),
        "clone-user" => clone_user_namespace(),
        "io-uring" => {
            let parameters = [0_u64; 64];
            call(libc::SYS_io_uring_setup, &[1, parameters.as_ptr() as i64])
        }
        "remount" => mount(argument, libc::MS_REMOUNT | libc::MS_BIND),
        "mount" => mount(argument, libc::MS_BIND),
        "unmount" => {
            let path = CString::new(argument).unwrap();
            call(
                libc::SYS_umount2,
                &[path.as_ptr() as i64, i64::from(libc::MNT_DETACH)],
            )
        }
        "chroot" => {
            let path = CString::new(argument).unwrap();
            call(libc::SYS_chroot, &[path.as_ptr() as i64])
        }
        "signal" => call(libc::SYS_kill, &[argument.parse().unwrap(), 0]),
        "socket-vsock" => call(libc::SYS_socket, &[40, 1, 0]),
        other => panic!("unknown attack: {other}"),
    };
    if has_succeeded {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn call(number: i64, arguments: &[i64]) -> bool {
    let argument = |index: usize| arguments.get(index).copied().unwrap_or_default();
    // SAFETY: pointers among the arguments are valid for the whole call.
    let result = unsafe {
        libc::syscall(
            number,
            argument(0),
            argument(1),
            argument(2),
            argument(3),
            argument(4),
        )
    };
    result >= 0
}

fn mount(path: &str, flags: u64) -> bool {
    let path = CString::new(path).unwrap();
    let path = path.as_ptr() as i64;
    call(
        libc::SYS_mount,
        &[path, path, 0, i64::try_from(flags).unwrap(), 0],
    )
}

fn ptrace_child() -> bool {
    // SAFETY: the child only waits to be killed.
    let child = unsafe { libc::fork() };
    if child == 0 {
        loop {
            std::thread::park();
        }
    }
    let attached = call(
        libc::SYS_ptrace,
        &[i64::from(libc::PTRACE_SEIZE), i64::from(child), 0, 0],
    );
    // SAFETY: ends and reaps the child of this process.
    unsafe {
        libc::kill(child, libc::SIGKILL);
        libc::waitpid(child, std::ptr::null_mut(), 0);
    }
    attached
}

fn clone_user_namespace() -> bool {
    let flags = i64::from(libc::CLONE_NEWUSER | libc::SIGCHLD);
    // SAFETY: a fork; the child exits at once.
    let child = unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) };
    if child == 0 {
        std::process::exit(0);
    }
    child > 0
}
