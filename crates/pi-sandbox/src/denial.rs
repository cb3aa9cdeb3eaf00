//! What the sandbox denied, as a sentence for the model and the user.

use std::path::PathBuf;

use thiserror::Error;

use pi_protocol::settings::{SandboxMode, SandboxNetwork};

use crate::roots::real;
use crate::{Enforcement, Policy};

/// A denied access, and the setting that would allow it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Denial {
    #[error(
        "the sandbox does not allow writing {0}; the user can add its directory to `sandbox.writable` in the settings"
    )]
    Write(PathBuf),
    #[error("the sandbox does not allow writing {0} (mode read-only)")]
    ReadOnly(PathBuf),
    #[error("the sandbox protects {0}; the user can change `sandbox.protect` in the settings")]
    Protected(PathBuf),
    #[error(
        "the sandbox does not allow reading {0}; the user can change `sandbox.denyRead` in the settings"
    )]
    Read(PathBuf),
}

/// What a command was denied, as far as its output shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeniedAccess {
    /// To a path, as the command named it: it may be relative.
    Write(PathBuf),
    Network,
}

/// Bytes of output that are searched: the error is at the end.
const SEARCHED_BYTES: usize = 8 * 1024;

/// Messages of programs that could not write.
const WRITE_ERRORS: [&str; 2] = [READ_ONLY, "EROFS"];

const READ_ONLY: &str = "Read-only file system";

/// Messages of programs that may not read, or, without namespaces, may not write.
const PERMISSION_ERRORS: [&str; 2] = [PERMISSION, "EACCES"];

const PERMISSION: &str = "Permission denied";

/// Messages of programs that could not connect without a network.
const NETWORK_ERRORS: [&str; 9] = [
    "socket: Operation not permitted",
    "socket: operation not permitted",
    "connect EPERM",
    "Address family not supported by protocol",
    "EAFNOSUPPORT",
    "Could not resolve host",
    "Temporary failure in name resolution",
    "Name or service not known",
    "EAI_AGAIN",
];

/// Returns a hint for the output of a confined command that failed, if the sandbox is the likely reason.
pub(crate) fn hint(policy: &Policy, enforcement: Enforcement, output: &str) -> Option<String> {
    let found = find(policy, enforcement, output)?;
    let path = match found {
        Found::Network => {
            return Some(
                "The sandbox denies network access; the user can allow it with `sandbox.network` in the settings."
                    .to_owned(),
            );
        }
        Found::Read(path) => {
            return Some(format!(
                "The sandbox does not allow reading {path}; the user can change `sandbox.denyRead` in the settings."
            ));
        }
        Found::Write(path) => path,
    };
    let what = path.unwrap_or("this path");
    if policy.mode == SandboxMode::ReadOnly {
        return Some(format!(
            "The sandbox does not allow writing {what} (mode read-only)."
        ));
    }
    let real = path.and_then(|path| real_path(policy, path));
    let is_outside = |real: &PathBuf| {
        let mut write = policy.write.iter();
        !write.any(|write| real.starts_with(write))
    };
    Some(match real {
        Some(real) if real.starts_with(&policy.agent_dir) => {
            format!("The sandbox protects {what}: it belongs to pi itself.")
        }
        Some(real) if policy.is_protected(&real) => format!(
            "The sandbox protects {what}; the user can change `sandbox.protect` in the settings."
        ),
        Some(real) if is_outside(&real) => {
            let directory = real.parent().unwrap_or(&real).display();
            format!(
                "The sandbox does not allow writing {what}; the user can add {directory} to `sandbox.writable` in the \
                 settings."
            )
        }
        _ => format!(
            "The sandbox does not allow writing {what}; the user can allow it with `sandbox.writable` in the settings, \
             or with `sandbox.protect` if it is in the workspace."
        ),
    })
}

/// Returns what the user may allow so that a command which failed with this output succeeds.
pub(crate) fn denied_access(
    policy: &Policy,
    enforcement: Enforcement,
    output: &str,
) -> Option<DeniedAccess> {
    match find(policy, enforcement, output)? {
        Found::Network => Some(DeniedAccess::Network),
        Found::Write(path) => Some(DeniedAccess::Write(PathBuf::from(path?))),
        Found::Read(_) => None,
    }
}

/// Returns the real path of a path that a command has named. A relative one is taken as relative to the workspace.
fn real_path(policy: &Policy, path: &str) -> Option<PathBuf> {
    let workspace = policy.roots.first()?;
    Some(real(&workspace.join(path)))
}

enum Found<'output> {
    Network,
    Write(Option<&'output str>),
    Read(&'output str),
}

fn find<'output>(
    policy: &Policy,
    enforcement: Enforcement,
    output: &'output str,
) -> Option<Found<'output>> {
    let start = output.len().saturating_sub(SEARCHED_BYTES);
    let start = (start..=output.len()).find(|start| output.is_char_boundary(*start))?;
    let tail = output.get(start..)?;
    if policy.network == SandboxNetwork::Off
        && NETWORK_ERRORS.iter().any(|text| tail.contains(text))
    {
        return Some(Found::Network);
    }
    tail.lines().rev().find_map(|line| {
        let contains = |errors: &[&str]| errors.iter().any(|text| line.contains(text));
        if contains(&WRITE_ERRORS) {
            return Some(Found::Write(path_in(line, READ_ONLY)));
        }
        if !contains(&PERMISSION_ERRORS) {
            return None;
        }
        // Others may deny that as well: only what the policy denies is due to it.
        let path = denied_path(line)?;
        let real = real_path(policy, path)?;
        if policy.check_read(&real).is_err() {
            return Some(Found::Read(path));
        }
        let is_denied = enforcement == Enforcement::LandlockOnly
            && matches!(
                policy.check_write(&real),
                Err(Denial::Write(_) | Denial::ReadOnly(_))
            );
        is_denied.then_some(Found::Write(Some(path)))
    })
}

/// Returns the path in a message about an error.
fn path_in<'line>(line: &'line str, error: &str) -> Option<&'line str> {
    // `/bin/bash: line 1: /etc/x: Read-only file system`, `touch: cannot touch '/etc/x': Read-only file system`
    if let Some((before, _)) = line.split_once(error) {
        let before = before.trim_end_matches([':', ' ']);
        let named = before.rsplit(": ").next().unwrap_or(before);
        if let Some((_, rest)) = named.split_once(is_quote)
            && let Some((path, _)) = rest.rsplit_once(is_quote)
        {
            return Some(path);
        }
        if named.contains('/') || before.contains(": line ") {
            return words(named).last();
        }
    }
    words(line).find(|word| word.len() > 1 && word.contains('/'))
}

/// Returns the path in a message about missing permissions. The policy shows whether it is one.
fn denied_path(line: &str) -> Option<&str> {
    let named = || match line.split_once(PERMISSION) {
        // `PermissionError: [Errno 13] Permission denied: '.env'`, `cat: .env: Permission denied`
        Some((before, after)) => words(after).last().or_else(|| words(before).last()),
        // `EACCES: permission denied, open '.env'`
        None => words(line).last(),
    };
    path_in(line, PERMISSION).or_else(named)
}

fn is_quote(character: char) -> bool {
    matches!(character, '\'' | '"' | '`' | '‘' | '’')
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_separator = |character: char| {
        character.is_whitespace() || is_quote(character) || matches!(character, ':' | ',')
    };
    text.split(is_separator).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;
    use crate::Roots;

    fn policy(settings: serde_json::Value) -> Policy {
        let roots = Roots {
            workspace: "/var/code".into(),
            agent_dir: "/home/me/.pi/agent".into(),
            ..Roots::default()
        };
        let settings = serde_json::from_value(settings).unwrap();
        Policy::new(&settings, &roots).unwrap().unwrap()
    }

    #[test]
    fn paths_are_found_in_messages() {
        for (line, path) in [
            ("bash: ../x: Read-only file system", "../x"),
            ("/bin/bash: line 3: x: Read-only file system", "x"),
            (
                "mkdir: cannot create directory ‘a b/c’: Read-only file system",
                "a b/c",
            ),
            (
                "OSError: [Errno 30] Read-only file system: '/etc/x'",
                "/etc/x",
            ),
            ("EROFS: read-only file system, open '/etc/x'", "/etc/x"),
        ] {
            assert_eq!(path_in(line, READ_ONLY), Some(path), "{line}");
        }
    }

    #[test]
    fn a_hint_names_the_path_and_the_setting() {
        let workspace = policy(json!({ "mode": "workspace", "network": "off" }));
        let read_only = policy(json!({ "mode": "read-only" }));
        let write = "The sandbox does not allow writing /etc/x; the user can add /etc to `sandbox.writable` in the \
                     settings.";
        let unknown = "The sandbox does not allow writing x; the user can allow it with `sandbox.writable` in the \
                       settings, or with `sandbox.protect` if it is in the workspace.";
        let protected = "The sandbox protects .git/hooks/x; the user can change `sandbox.protect` in the settings.";
        let read = "The sandbox does not allow reading .env; the user can change `sandbox.denyRead` in the settings.";
        let network = "The sandbox denies network access; the user can allow it with `sandbox.network` in the settings.";
        for (policy, output, expected) in [
            (&workspace, "ok\n", None),
            (
                &workspace,
                "touch: cannot touch '/etc/x': Read-only file system\n",
                Some(write),
            ),
            (&workspace, "Error: EROFS: open '/etc/x'", Some(write)),
            (
                &workspace,
                "/bin/bash: line 1: /etc/x: Read-only file system",
                Some(write),
            ),
            (
                &workspace,
                "bash: line 1: x: Read-only file system",
                Some(unknown),
            ),
            (
                &workspace,
                "bash: line 1: .git/hooks/x: Read-only file system",
                Some(protected),
            ),
            (
                &workspace,
                "bash: line 1: /home/me/.pi/agent/x: Read-only file system",
                Some("The sandbox protects /home/me/.pi/agent/x: it belongs to pi itself."),
            ),
            (&workspace, "cat: .env: Permission denied", Some(read)),
            (
                &workspace,
                "PermissionError: [Errno 13] Permission denied: '.env'",
                Some(read),
            ),
            (
                &workspace,
                "Error: EACCES: permission denied, open '.env'",
                Some(read),
            ),
            (&workspace, "cat: /etc/shadow: Permission denied", None),
            (&workspace, "bash: /etc/x: Permission denied", None),
            (
                &workspace,
                "curl: (6) Could not resolve host: x",
                Some(network),
            ),
            (
                &workspace,
                "dial udp 8.8.8.8:53: socket: operation not permitted",
                Some(network),
            ),
            (&read_only, "curl: (6) Could not resolve host: x", None),
            (
                &read_only,
                "bash: /etc/x: Read-only file system",
                Some("The sandbox does not allow writing /etc/x (mode read-only)."),
            ),
        ] {
            let hint = hint(policy, Enforcement::Namespaces, output);
            assert_eq!(hint.as_deref(), expected, "{output}");
        }
        let landlock = |output| hint(&workspace, Enforcement::LandlockOnly, output);
        let denied = "bash: line 1: /etc/x: Permission denied";
        assert_eq!(landlock(denied).as_deref(), Some(write));
        let own = "bash: line 1: /var/code/x: Permission denied";
        assert_eq!(landlock(own), None);
    }
}
