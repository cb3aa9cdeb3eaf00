//! Disk faults injected with a seccomp filter: the kernel fails a kind of system call, or kills the process at it.
//!
//! A filter applies to the process that installs it and to its children, and cannot be removed. A test therefore
//! runs itself again as a child process, which installs the filter and then executes the code under test.

use std::process::{Command, ExitStatus};

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};

/// Environment variable that passes the fault to the child process.
const FAULT_VARIABLE: &str = "PI_TEST_KERNEL_FAULT";

/// A disk operation that can fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiskOperation {
    /// Also how lock directories are acquired.
    CreateDir,
    Create,
    Write,
    SetMode,
    Sync,
    Rename,
    /// Also how lock directories are released.
    RemoveDir,
    /// Creates a hard link.
    Link,
    /// `flock`.
    Lock,
}

impl DiskOperation {
    /// All operations. The first seven are those that replace a file under a lock, in order.
    pub const ALL: [Self; 9] = [
        Self::CreateDir,
        Self::Create,
        Self::Write,
        Self::SetMode,
        Self::Sync,
        Self::Rename,
        Self::RemoveDir,
        Self::Link,
        Self::Lock,
    ];
}

/// The injected outcome of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiskFault {
    /// `ENOSPC`.
    NoSpace,
    /// `EIO`.
    IoError,
    /// `EROFS`.
    ReadOnly,
    /// `EOPNOTSUPP`.
    Unsupported,
    /// The process is killed at the call.
    Kill,
}

impl DiskFault {
    /// All faults. The first four apply to every operation.
    pub const ALL: [Self; 5] = [
        Self::NoSpace,
        Self::IoError,
        Self::ReadOnly,
        Self::Kill,
        Self::Unsupported,
    ];

    fn action(self) -> SeccompAction {
        let number = match self {
            Self::NoSpace => libc::ENOSPC,
            Self::IoError => libc::EIO,
            Self::ReadOnly => libc::EROFS,
            Self::Unsupported => libc::EOPNOTSUPP,
            Self::Kill => return SeccompAction::KillProcess,
        };
        SeccompAction::Errno(number.unsigned_abs())
    }
}

/// Returns a command that runs one ignored test of this test binary under a fault. That test must call
/// [`install_kernel_fault`].
pub fn kernel_fault_command(test: &str, operation: DiskOperation, fault: DiskFault) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--ignored", "--exact", test, "--nocapture"])
        .env(FAULT_VARIABLE, format!("{operation:?} {fault:?}"));
    command
}

/// Installs the fault requested by [`kernel_fault_command`]. Returns `false` in a process that was not started
/// by it.
pub fn install_kernel_fault() -> bool {
    let Ok(spec) = std::env::var(FAULT_VARIABLE) else {
        return false;
    };
    let (operation, fault) = spec.split_once(' ').unwrap();
    let operation = DiskOperation::ALL
        .into_iter()
        .find(|it| format!("{it:?}") == operation);
    let fault = DiskFault::ALL
        .into_iter()
        .find(|it| format!("{it:?}") == fault);
    let filter = SeccompFilter::new(
        rules(operation.unwrap()).into_iter().collect(),
        SeccompAction::Allow,
        fault.unwrap().action(),
        std::env::consts::ARCH.try_into().unwrap(),
    );
    let program: BpfProgram = filter.unwrap().try_into().unwrap();
    seccompiler::apply_filter(&program).unwrap();
    true
}

/// Returns whether a process was killed by an injected fault.
pub fn was_killed_by_fault(status: ExitStatus) -> bool {
    std::os::unix::process::ExitStatusExt::signal(&status) == Some(libc::SIGSYS)
}

/// The system calls of an operation, each with the argument conditions that must hold.
fn rules(operation: DiskOperation) -> Vec<(i64, Vec<SeccompRule>)> {
    let any = |calls: &[i64]| calls.iter().map(|call| (*call, Vec::new())).collect();
    match operation {
        #[cfg(target_arch = "x86_64")]
        DiskOperation::CreateDir => any(&[libc::SYS_mkdir, libc::SYS_mkdirat]),
        #[cfg(not(target_arch = "x86_64"))]
        DiskOperation::CreateDir => any(&[libc::SYS_mkdirat]),
        DiskOperation::Create => {
            let creates = u64::from(libc::O_CREAT.unsigned_abs());
            let condition = SeccompCondition::new(
                2,
                SeccompCmpArgLen::Dword,
                SeccompCmpOp::MaskedEq(creates),
                creates,
            );
            vec![(libc::SYS_openat, vec![rule(vec![condition])])]
        }
        // Writes of up to eight bytes are wake-ups between threads; descriptors 0 to 2 are the test's own output.
        DiskOperation::Write => {
            let file = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Gt, 2);
            let long = SeccompCondition::new(2, SeccompCmpArgLen::Qword, SeccompCmpOp::Gt, 8);
            vec![(libc::SYS_write, vec![rule(vec![file, long])])]
        }
        DiskOperation::SetMode => any(&[libc::SYS_fchmod]),
        DiskOperation::Sync => any(&[libc::SYS_fsync, libc::SYS_fdatasync]),
        #[cfg(target_arch = "x86_64")]
        DiskOperation::Rename => any(&[libc::SYS_rename, libc::SYS_renameat, libc::SYS_renameat2]),
        #[cfg(not(target_arch = "x86_64"))]
        DiskOperation::Rename => any(&[libc::SYS_renameat, libc::SYS_renameat2]),
        #[cfg(target_arch = "x86_64")]
        DiskOperation::RemoveDir => any(&[libc::SYS_rmdir]),
        #[cfg(not(target_arch = "x86_64"))]
        DiskOperation::RemoveDir => any(&[libc::SYS_unlinkat]),
        DiskOperation::Link => any(&[libc::SYS_linkat]),
        DiskOperation::Lock => any(&[libc::SYS_flock]),
    }
}

fn rule(conditions: Vec<Result<SeccompCondition, seccompiler::BackendError>>) -> SeccompRule {
    let conditions = conditions.into_iter().map(Result::unwrap).collect();
    SeccompRule::new(conditions).unwrap()
}
