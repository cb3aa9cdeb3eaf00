//! Protects the memory of the process, which contains keys and conversations.
//!
//! Disables core dumps and ptrace by other processes of the user. Child processes are not affected. The user's
//! environment, including `LD_PRELOAD`, is not restricted: anyone who can set it can also replace pi.

/// Keeps ptrace and core dumps enabled.
#[cfg(target_os = "linux")]
const ALLOW_DEBUGGER: &str = "PI_ALLOW_DEBUGGER";

/// Does nothing if `PI_ALLOW_DEBUGGER` is set.
#[cfg(target_os = "linux")]
pub(crate) fn disable_ptrace_and_core_dumps() {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};

    let is_allowed = std::env::var_os(ALLOW_DEBUGGER).is_some_and(|value| !value.is_empty());
    if !is_allowed {
        // Best effort: not supported everywhere.
        set_dumpable_behavior(DumpableBehavior::NotDumpable).ok();
    }
}

/// Does nothing: other systems restrict debuggers by default.
#[cfg(not(target_os = "linux"))]
pub(crate) fn disable_ptrace_and_core_dumps() {}
