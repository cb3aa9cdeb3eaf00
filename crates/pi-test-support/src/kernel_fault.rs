//! Faults of a disk, made by the kernel: a process asks it to refuse a kind of system call, or to kill the
//! process at it, and whatever the process runs from then on meets the fault for real.
//!
//! The filter holds for the process that installs it and for what it becomes or starts, and can never be
//! taken off. So a test runs itself again as another process, which installs the filter and goes on.

use std::process::{Command, ExitStatus};

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};

/// The variable that carries a fault to the other process.
const VARIABLE: &str = "PI_TEST_KERNEL_FAULT";

/// A step of storing something at which the disk can fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiskStep {
    /// A folder is made, which is how locks are taken.
    MakeFolder,
    /// A file is created.
    Create,
    Write,
    /// A mode is set.
    SetMode,
    /// Bytes are brought to the disk.
    Sync,
    /// A file takes another's place.
    Rename,
    /// A folder is removed, which is how locks are released.
    RemoveFolder,
    /// A file gets a second name.
    Link,
    /// A file is locked by the kernel.
    Lock,
}

impl DiskStep {
    /// All of them; the first seven are those of a file that is replaced under a lock, in their order.
    pub const ALL: [Self; 9] = [
        Self::MakeFolder,
        Self::Create,
        Self::Write,
        Self::SetMode,
        Self::Sync,
        Self::Rename,
        Self::RemoveFolder,
        Self::Link,
        Self::Lock,
    ];
}

/// What happens at the step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiskFault {
    /// There is no space: `ENOSPC`.
    Full,
    /// The device is broken: `EIO`.
    Broken,
    /// The file system can only be read: `EROFS`.
    ReadOnly,
    /// The file system knows no such thing: `EOPNOTSUPP`.
    Unsupported,
    Kill,
}

impl DiskFault {
    /// All of them; the first four can strike at every step.
    pub const ALL: [Self; 5] = [
        Self::Full,
        Self::Broken,
        Self::ReadOnly,
        Self::Kill,
        Self::Unsupported,
    ];

    fn action(self) -> SeccompAction {
        let number = match self {
            Self::Full => libc::ENOSPC,
            Self::Broken => libc::EIO,
            Self::ReadOnly => libc::EROFS,
            Self::Unsupported => libc::EOPNOTSUPP,
            Self::Kill => return SeccompAction::KillProcess,
        };
        SeccompAction::Errno(number.unsigned_abs())
    }
}

/// Prepares this test program to run one of its ignored tests under a fault; that test calls
/// [`install_kernel_fault`].
pub fn under_kernel_fault(test: &str, step: DiskStep, fault: DiskFault) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--ignored", "--exact", test, "--nocapture"])
        .env(VARIABLE, format!("{step:?} {fault:?}"));
    command
}

/// Installs the fault that [`under_kernel_fault`] asked for; `false` in a process that was not started
/// so.
pub fn install_kernel_fault() -> bool {
    let Ok(wanted) = std::env::var(VARIABLE) else {
        return false;
    };
    let (step, fault) = wanted.split_once(' ').unwrap();
    let step = DiskStep::ALL
        .into_iter()
        .find(|it| format!("{it:?}") == step);
    let fault = DiskFault::ALL
        .into_iter()
        .find(|it| format!("{it:?}") == fault);
    let filter = SeccompFilter::new(
        rules(step.unwrap()).into_iter().collect(),
        SeccompAction::Allow,
        fault.unwrap().action(),
        std::env::consts::ARCH.try_into().unwrap(),
    );
    let program: BpfProgram = filter.unwrap().try_into().unwrap();
    seccompiler::apply_filter(&program).unwrap();
    true
}

/// Returns whether a process ended because a fault killed it.
pub fn was_killed(status: ExitStatus) -> bool {
    std::os::unix::process::ExitStatusExt::signal(&status) == Some(libc::SIGSYS)
}

/// The system calls of a step, each with the arguments it must have to count.
fn rules(step: DiskStep) -> Vec<(i64, Vec<SeccompRule>)> {
    let any = |calls: &[i64]| calls.iter().map(|call| (*call, Vec::new())).collect();
    match step {
        #[cfg(target_arch = "x86_64")]
        DiskStep::MakeFolder => any(&[libc::SYS_mkdir, libc::SYS_mkdirat]),
        #[cfg(not(target_arch = "x86_64"))]
        DiskStep::MakeFolder => any(&[libc::SYS_mkdirat]),
        DiskStep::Create => {
            let creates = u64::from(libc::O_CREAT.unsigned_abs());
            let condition = SeccompCondition::new(
                2,
                SeccompCmpArgLen::Dword,
                SeccompCmpOp::MaskedEq(creates),
                creates,
            );
            vec![(libc::SYS_openat, vec![rule(vec![condition])])]
        }
        // Up to eight bytes are signals between threads, and the first descriptors are the test's.
        DiskStep::Write => {
            let file = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Gt, 2);
            let long = SeccompCondition::new(2, SeccompCmpArgLen::Qword, SeccompCmpOp::Gt, 8);
            vec![(libc::SYS_write, vec![rule(vec![file, long])])]
        }
        DiskStep::SetMode => any(&[libc::SYS_fchmod]),
        DiskStep::Sync => any(&[libc::SYS_fsync, libc::SYS_fdatasync]),
        #[cfg(target_arch = "x86_64")]
        DiskStep::Rename => any(&[libc::SYS_rename, libc::SYS_renameat, libc::SYS_renameat2]),
        #[cfg(not(target_arch = "x86_64"))]
        DiskStep::Rename => any(&[libc::SYS_renameat, libc::SYS_renameat2]),
        #[cfg(target_arch = "x86_64")]
        DiskStep::RemoveFolder => any(&[libc::SYS_rmdir]),
        #[cfg(not(target_arch = "x86_64"))]
        DiskStep::RemoveFolder => any(&[libc::SYS_unlinkat]),
        DiskStep::Link => any(&[libc::SYS_linkat]),
        DiskStep::Lock => any(&[libc::SYS_flock]),
    }
}

fn rule(conditions: Vec<Result<SeccompCondition, seccompiler::BackendError>>) -> SeccompRule {
    let conditions = conditions.into_iter().map(Result::unwrap).collect();
    SeccompRule::new(conditions).unwrap()
}
