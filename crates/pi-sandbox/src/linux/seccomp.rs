//! System calls that a confined program may not make: they reach other processes, the kernel or its settings, or would undo
//! the other restrictions. They fail like calls without permission.

use std::collections::BTreeMap;
use std::io;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};

use super::confine::SetupError;

/// Sockets that can be created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sockets {
    /// All that lead through namespaces.
    All,
    /// Only those within the system.
    Local,
    /// Only those to the network: there is no namespace, and sockets of other programs are visible.
    Internet,
    /// Only those that describe the network.
    None,
}

/// Calls that always fail.
const DENIED: &[i64] = &[
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    // Keys of the user.
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    // Mounts and namespaces.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_setns,
    libc::SYS_open_by_handle_at,
    // Calls that this filter would not see.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // The kernel.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_fanotify_init,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_syslog,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_vhangup,
];

#[cfg(target_arch = "x86_64")]
const DENIED_HERE: &[i64] = &[
    libc::SYS_kexec_file_load,
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_modify_ldt,
];
#[cfg(not(target_arch = "x86_64"))]
const DENIED_HERE: &[i64] = &[];

/// All namespaces that `clone` and `unshare` create.
const NAMESPACES: i32 = libc::CLONE_NEWUSER
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWCGROUP;

/// Types something into a terminal, as if the user had typed it.
const TERMINAL_INPUT: [u64; 2] = [libc::TIOCSTI, libc::TIOCLINUX];

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Restricts this process and what it executes.
pub(super) fn restrict(sockets: Sockets) -> Result<(), SetupError> {
    let failed = |error: &dyn std::fmt::Display| {
        SetupError::at("seccomp")(io::Error::other(error.to_string()))
    };
    let denied = program(rules(sockets), libc::EPERM).map_err(|error| failed(&error))?;
    // Its flags are in memory, which a filter cannot read; programs fall back to `clone`.
    let unknown = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
    let unknown = program(unknown, libc::ENOSYS).map_err(|error| failed(&error))?;
    seccompiler::apply_filter(&denied).map_err(|error| failed(&error))?;
    seccompiler::apply_filter(&unknown).map_err(|error| failed(&error))
}

fn program(rules: Rules, error: i32) -> Result<BpfProgram, seccompiler::BackendError> {
    let mut rules = rules;
    add_x32_calls(&mut rules);
    SeccompFilter::new(
        rules,
        SeccompAction::Allow,
        SeccompAction::Errno(error.cast_unsigned()),
        std::env::consts::ARCH.try_into()?,
    )?
    .try_into()
}

fn rules(sockets: Sockets) -> Rules {
    let denied = DENIED.iter().chain(DENIED_HERE);
    let mut rules: Rules = denied.map(|call| (*call, Vec::new())).collect();
    let mut namespaces = Vec::new();
    for bit in (0..32).map(|shift| 1_u64 << shift) {
        if u64::from(NAMESPACES.cast_unsigned()) & bit != 0 {
            namespaces.extend(rule(vec![condition(0, SeccompCmpOp::MaskedEq(bit), bit)]));
        }
    }
    rules.insert(libc::SYS_clone, namespaces.clone());
    rules.insert(libc::SYS_unshare, namespaces);
    let input = TERMINAL_INPUT.iter();
    let input = input.flat_map(|code| rule(vec![condition(1, SeccompCmpOp::Eq, *code)]));
    rules.insert(libc::SYS_ioctl, input.collect());
    rules.insert(libc::SYS_socket, socket_rules(sockets));
    rules
}

fn socket_rules(sockets: Sockets) -> Vec<SeccompRule> {
    let allowed: &[i32] = match sockets {
        // Leads to the host of a virtual machine.
        Sockets::All => return rule(vec![family(SeccompCmpOp::Eq, libc::AF_VSOCK)]),
        Sockets::Local => &[libc::AF_UNIX, libc::AF_NETLINK],
        Sockets::Internet => &[libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK],
        Sockets::None => &[libc::AF_NETLINK],
    };
    let others = allowed.iter();
    let mut rules = rule(
        others
            .map(|allowed| family(SeccompCmpOp::Ne, *allowed))
            .collect(),
    );
    // Of the sockets to the kernel, those that list the interfaces, which name resolution needs. Others report what devices,
    // firewalls and other programs do.
    let route = u64::from(libc::NETLINK_ROUTE.cast_unsigned());
    rules.extend(rule(vec![
        family(SeccompCmpOp::Eq, libc::AF_NETLINK),
        condition(2, SeccompCmpOp::Ne, route),
    ]));
    rules
}

fn family(operator: SeccompCmpOp, family: i32) -> SeccompCondition {
    condition(0, operator, u64::from(family.cast_unsigned()))
}

fn condition(argument: u8, operator: SeccompCmpOp, value: u64) -> SeccompCondition {
    #[expect(clippy::expect_used, reason = "the number of the argument is constant")]
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)
        .expect("system calls have six arguments")
}

/// A rule whose conditions must all hold.
fn rule(conditions: Vec<SeccompCondition>) -> Vec<SeccompRule> {
    #[expect(clippy::expect_used, reason = "every caller passes a condition")]
    let rule = SeccompRule::new(conditions).expect("a rule has conditions");
    vec![rule]
}

/// Also denies the calls under the numbers of the x32 ABI, which is the same architecture for a filter.
#[cfg(target_arch = "x86_64")]
fn add_x32_calls(rules: &mut Rules) {
    const X32: i64 = 0x4000_0000;
    /// Calls with another number there.
    const RENUMBERED: [(i64, i64); 5] = [
        (libc::SYS_ptrace, 521),
        (libc::SYS_ioctl, 514),
        (libc::SYS_process_vm_readv, 539),
        (libc::SYS_process_vm_writev, 540),
        (libc::SYS_kexec_load, 528),
    ];
    let mut more = Rules::new();
    for (call, conditions) in rules.iter() {
        let renumbered = RENUMBERED.iter().find(|(known, _)| known == call);
        let number = renumbered.map_or(*call, |(_, number)| *number);
        more.insert(X32 | number, conditions.clone());
    }
    rules.append(&mut more);
}

#[cfg(not(target_arch = "x86_64"))]
fn add_x32_calls(_rules: &mut Rules) {}
