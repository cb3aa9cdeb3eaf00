//! Whether a process that a test has not started itself still runs.

/// Whether a process exists and has not ended. A zombie has ended: the first process of a container may never reap it.
#[cfg(target_os = "linux")]
pub fn is_running(id: &str) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{id}/stat")) else {
        return false;
    };
    // The name of the program, which is before the state, may contain parentheses.
    let fields = stat.rsplit_once(") ").unwrap().1;
    !fields.starts_with(['Z', 'X'])
}

/// Whether a process exists and has not ended.
#[cfg(all(unix, not(target_os = "linux")))]
pub fn is_running(id: &str) -> bool {
    let mut list = std::process::Command::new("ps");
    let output = list.args(["-o", "stat=", "-p", id]).output().unwrap();
    let state = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    !state.is_empty() && !state.starts_with('Z')
}
