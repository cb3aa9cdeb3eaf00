//! Keeps the memory of the process, which holds keys and conversations, to the process.
//!
//! No core file is written when it crashes, and no other program of the user can attach to it. Commands
//! are not affected: what they may do is decided anew when they start. The environment of the user's shell,
//! `LD_PRELOAD` included, stays as it is: it is the user's, and whoever can set it can as well replace pi.

/// Lets debuggers attach and core files be written.
#[cfg(target_os = "linux")]
const ALLOW_DEBUGGER: &str = "PI_ALLOW_DEBUGGER";

/// Closes the process to others, unless the user wants to look inside.
#[cfg(target_os = "linux")]
pub(crate) fn close_to_others() {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};

    let is_allowed = std::env::var_os(ALLOW_DEBUGGER).is_some_and(|value| !value.is_empty());
    if !is_allowed {
        // A system that cannot do this is as safe as it was.
        set_dumpable_behavior(DumpableBehavior::NotDumpable).ok();
    }
}

/// Does nothing: other systems ask for more rights than a debugger of the same user has.
#[cfg(not(target_os = "linux"))]
pub(crate) fn close_to_others() {}
