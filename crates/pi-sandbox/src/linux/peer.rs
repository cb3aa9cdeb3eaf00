//! Recognizes confined processes that connect to a socket of pi: such a socket steers sessions outside of the sandbox.

use std::fs;

/// Whether a process that has connected runs in a sandbox, or has ended so that nothing is known about it.
///
/// A confined process cannot leave its process namespace and cannot gain privileges again. Both are necessary: containers
/// have namespaces, and services cannot gain privileges.
pub fn is_confined(process: i32) -> bool {
    // Outside of the namespace of this process, which contains those of its sandboxes.
    if process <= 0 {
        return false;
    }
    let own = status("self").map(|status| status.depth);
    match (own, status(&process.to_string())) {
        (Some(own), Some(peer)) => peer.depth > own && peer.no_new_privileges,
        (Some(_), None) => true,
        // Without `/proc` no sandbox starts.
        (None, _) => false,
    }
}

struct ProcessStatus {
    /// The number of nested namespaces.
    depth: usize,
    no_new_privileges: bool,
}

fn status(process: &str) -> Option<ProcessStatus> {
    let text = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let value = |name: &str| {
        let mut lines = text.lines();
        lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
    };
    Some(ProcessStatus {
        depth: value("NSpid")?.split_whitespace().count(),
        no_new_privileges: value("NoNewPrivs")?.trim() == "1",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_processes_in_a_sandbox_are_confined() {
        let own = i32::try_from(std::process::id()).unwrap();
        assert!(!is_confined(own));
        assert!(!is_confined(0));
        // More than any kernel allows.
        assert!(is_confined(i32::MAX));
    }
}
