//! Signals by Node's names: exit status of a child and `process.kill`.

use std::process::ExitStatus;

#[cfg(unix)]
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::engine::NativeReply;
use crate::node::NativeError;

#[cfg(unix)]
const SIGNALS: [(&str, Signal); 29] = [
    ("SIGHUP", Signal::HUP),
    ("SIGINT", Signal::INT),
    ("SIGQUIT", Signal::QUIT),
    ("SIGILL", Signal::ILL),
    ("SIGTRAP", Signal::TRAP),
    ("SIGABRT", Signal::ABORT),
    ("SIGBUS", Signal::BUS),
    ("SIGFPE", Signal::FPE),
    ("SIGKILL", Signal::KILL),
    ("SIGUSR1", Signal::USR1),
    ("SIGSEGV", Signal::SEGV),
    ("SIGUSR2", Signal::USR2),
    ("SIGPIPE", Signal::PIPE),
    ("SIGALRM", Signal::ALARM),
    ("SIGTERM", Signal::TERM),
    ("SIGCHLD", Signal::CHILD),
    ("SIGCONT", Signal::CONT),
    ("SIGSTOP", Signal::STOP),
    ("SIGTSTP", Signal::TSTP),
    ("SIGTTIN", Signal::TTIN),
    ("SIGTTOU", Signal::TTOU),
    ("SIGURG", Signal::URG),
    ("SIGXCPU", Signal::XCPU),
    ("SIGXFSZ", Signal::XFSZ),
    ("SIGVTALRM", Signal::VTALARM),
    ("SIGPROF", Signal::PROF),
    ("SIGWINCH", Signal::WINCH),
    ("SIGIO", Signal::IO),
    ("SIGSYS", Signal::SYS),
];

/// Returns the exit code of a child, or the signal that terminated it.
pub(super) fn describe(status: ExitStatus) -> Value {
    #[cfg(unix)]
    {
        use std::os::unix::process::ExitStatusExt as _;
        if let Some(number) = status.signal() {
            let known = SIGNALS.iter().find(|(_, it)| it.as_raw() == number);
            return json!({ "code": null, "signal": known.map(|(name, _)| name) });
        }
    }
    json!({ "code": status.code(), "signal": null })
}

/// Sends a signal to a process, or to a process group if `pid` is negative.
#[cfg(unix)]
pub(super) fn kill(pid: i64, signal: &str) -> Result<NativeReply, NativeError> {
    use rustix::process::{
        Pid, kill_process, kill_process_group, test_kill_process, test_kill_process_group,
    };
    let failed = |error: rustix::io::Errno| {
        let (code, text) = match error {
            rustix::io::Errno::SRCH => ("ESRCH", "no such process"),
            rustix::io::Errno::PERM => ("EPERM", "operation not permitted"),
            _ => ("EINVAL", "invalid argument"),
        };
        NativeError::new(format!("kill {code}: {text}")).with_code(code)
    };
    let number = i32::try_from(pid.unsigned_abs()).ok();
    let target = number.and_then(Pid::from_raw).ok_or_else(|| {
        NativeError::new(format!("kill EINVAL: invalid process ID {pid}")).with_code("EINVAL")
    })?;
    let known = SIGNALS.iter().find(|(name, _)| *name == signal);
    let outcome = match (known, pid < 0) {
        (Some((_, signal)), false) => kill_process(target, *signal),
        (Some((_, signal)), true) => kill_process_group(target, *signal),
        // Signal 0 only checks that the process exists.
        (None, false) if signal == "0" => test_kill_process(target),
        (None, true) if signal == "0" => test_kill_process_group(target),
        (None, _) => {
            let error = NativeError::new(format!("Unknown signal: {signal}"));
            return Err(error.with_code("ERR_UNKNOWN_SIGNAL"));
        }
    };
    outcome.map_err(failed)?;
    Ok(NativeReply::Nothing)
}

#[cfg(not(unix))]
pub(super) fn kill(pid: i64, _: &str) -> Result<NativeReply, NativeError> {
    let outcome = std::process::Command::new("taskkill")
        .args(["/T", "/F", "/PID", &pid.unsigned_abs().to_string()])
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .status();
    match outcome {
        Ok(status) if status.success() => Ok(NativeReply::Nothing),
        _ => Err(NativeError::new("kill ESRCH: no such process").with_code("ESRCH")),
    }
}
