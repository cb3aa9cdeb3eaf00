//! Attacks that are system calls, which a shell cannot make.
#![expect(unsafe_code, reason = "system calls without a safe wrapper")]

use std::ffi::{CString, OsString};
use std::io::Read as _;
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
        "connect-and-wait" => UnixStream::connect(argument)
            .is_ok_and(|mut stream| stream.read_to_end(&mut Vec::new()).is_ok()),
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
        "bind" => std::os::unix::net::UnixListener::bind(argument).is_ok(),
        "nest" => nest(argument.parse().unwrap()),
        "set-attribute" => set_attribute(argument),
        "terminal-input" => {
            let input = c"x";
            call(
                libc::SYS_ioctl,
                &[0, libc::TIOCSTI.cast_signed(), input.as_ptr() as i64],
            )
        }
        "any-denied-call" => DENIED_CALLS.iter().any(|number| reaches_kernel(*number)),
        "any-datagram-socket" => SOCKET_FAMILIES
            .iter()
            .any(|family| call(libc::SYS_socket, &[i64::from(*family), 2, 0])),
        "any-packet-socket" => [libc::SOCK_RAW, libc::SOCK_DGRAM].iter().any(|kind| {
            let all = i64::from(0x0300_u16);
            call(
                libc::SYS_socket,
                &[i64::from(libc::AF_PACKET), i64::from(*kind), all],
            )
        }),
        "any-netlink-socket" => NETLINK_PROTOCOLS.iter().any(|protocol| {
            let family = i64::from(libc::AF_NETLINK);
            call(libc::SYS_socket, &[family, 3, i64::from(*protocol)])
        }),
        "interfaces" => list_interfaces(),
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

/// Calls that must not reach the kernel, which would complain about invalid arguments.
const DENIED_CALLS: [i64; 26] = [
    libc::SYS_process_vm_readv,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_request_key,
    libc::SYS_pivot_root,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_setns,
    libc::SYS_open_by_handle_at,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_fanotify_init,
    libc::SYS_finit_module,
    libc::SYS_quotactl_fd,
    libc::SYS_acct,
    libc::SYS_settimeofday,
    libc::SYS_sethostname,
    libc::SYS_clone3,
];

/// Sockets that lead out without a connection, or to hardware.
const SOCKET_FAMILIES: [i32; 5] = [
    libc::AF_INET,
    libc::AF_INET6,
    libc::AF_VSOCK,
    libc::AF_PACKET,
    libc::AF_BLUETOOTH,
];

/// Sockets to the kernel that do more than to describe the network.
const NETLINK_PROTOCOLS: [i32; 7] = [
    libc::NETLINK_USERSOCK,
    libc::NETLINK_SOCK_DIAG,
    libc::NETLINK_AUDIT,
    libc::NETLINK_CONNECTOR,
    libc::NETLINK_NETFILTER,
    libc::NETLINK_KOBJECT_UEVENT,
    libc::NETLINK_GENERIC,
];

/// Prints the names of the network interfaces.
fn list_interfaces() -> bool {
    let mut address: *mut libc::ifaddrs = std::ptr::null_mut();
    // SAFETY: the list is written to the variable.
    if unsafe { libc::getifaddrs(&raw mut address) } != 0 {
        return false;
    }
    let mut names = std::collections::BTreeSet::new();
    while !address.is_null() {
        // SAFETY: the list is valid until it is freed, which it is not.
        let name = unsafe {
            let name = std::ffi::CStr::from_ptr((*address).ifa_name);
            address = (*address).ifa_next;
            name
        };
        names.insert(name.to_str().unwrap());
    }
    for name in names {
        println!("{name}");
    }
    true
}

fn reaches_kernel(number: i64) -> bool {
    let is_denied = || {
        let error = std::io::Error::last_os_error().raw_os_error();
        // The filter pretends that one of them does not exist.
        let pretends = number == libc::SYS_clone3 && error == Some(libc::ENOSYS);
        pretends || error == Some(libc::EPERM)
    };
    let reaches = call(number, &[-1, -1, -1, -1, -1]) || !is_denied();
    if reaches {
        println!("system call {number} reaches the kernel");
    }
    reaches
}

/// Creates directories in each other.
fn nest(depth: usize) -> bool {
    (0..depth).all(|_| std::fs::create_dir("d").is_ok() && std::env::set_current_dir("d").is_ok())
}

/// Sets an attribute of a file.
fn set_attribute(path: &str) -> bool {
    let flags = rustix::fs::XattrFlags::empty();
    rustix::fs::lsetxattr(path, "user.pi-test", path.as_bytes(), flags).is_ok()
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
