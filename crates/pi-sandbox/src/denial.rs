//! What the sandbox denied, as a sentence for the model and the user.

use std::path::PathBuf;

use thiserror::Error;

use pi_protocol::settings::{SandboxMode, SandboxNetwork};

use crate::Policy;

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

/// Messages of programs that could not connect without a network.
const NETWORK_ERRORS: [&str; 6] = [
    "Address family not supported by protocol",
    "EAFNOSUPPORT",
    "Could not resolve host",
    "Temporary failure in name resolution",
    "Name or service not known",
    "EAI_AGAIN",
];

/// Returns a hint for the output of a confined command that failed, if the sandbox is the likely reason.
pub(crate) fn hint(policy: &Policy, output: &str) -> Option<String> {
    let what = match find(policy, output)? {
        Found::Network => {
            return Some(
                "The sandbox denies network access; the user can allow it with `sandbox.network` in the settings."
                    .to_owned(),
            );
        }
        Found::Write(path) => path.unwrap_or("this path"),
    };
    Some(match policy.mode {
        SandboxMode::ReadOnly => {
            format!("The sandbox does not allow writing {what} (mode read-only).")
        }
        SandboxMode::Off | SandboxMode::Workspace | SandboxMode::Try => format!(
            "The sandbox does not allow writing {what}; the user can allow it with `sandbox.writable` in the settings, \
             or with `sandbox.protect` if it is in the workspace."
        ),
    })
}

/// Returns what the user may allow so that a command which failed with this output succeeds.
pub(crate) fn denied_access(policy: &Policy, output: &str) -> Option<DeniedAccess> {
    match find(policy, output)? {
        Found::Network => Some(DeniedAccess::Network),
        Found::Write(path) => Some(DeniedAccess::Write(PathBuf::from(path?))),
    }
}

enum Found<'output> {
    Network,
    Write(Option<&'output str>),
}

fn find<'output>(policy: &Policy, output: &'output str) -> Option<Found<'output>> {
    let start = output.len().saturating_sub(SEARCHED_BYTES);
    let start = (start..=output.len()).find(|start| output.is_char_boundary(*start))?;
    let tail = output.get(start..)?;
    if policy.network == SandboxNetwork::Off
        && NETWORK_ERRORS.iter().any(|text| tail.contains(text))
    {
        return Some(Found::Network);
    }
    let mut lines = tail.lines().rev();
    let line = lines.find(|line| WRITE_ERRORS.iter().any(|text| line.contains(text)))?;
    Some(Found::Write(path_in(line)))
}

/// Returns the path in a message about an error.
fn path_in(line: &str) -> Option<&str> {
    // `/bin/bash: line 1: /etc/x: Read-only file system`, `touch: cannot touch '/etc/x': Read-only file system`
    if let Some((before, _)) = line.split_once(READ_ONLY) {
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
            assert_eq!(path_in(line), Some(path), "{line}");
        }
    }

    #[test]
    fn a_hint_names_the_path_and_the_setting() {
        let workspace = policy(json!({ "mode": "workspace", "network": "off" }));
        let read_only = policy(json!({ "mode": "read-only" }));
        let write = "The sandbox does not allow writing /etc/x; the user can allow it with `sandbox.writable` in the \
                     settings, or with `sandbox.protect` if it is in the workspace.";
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
                "curl: (6) Could not resolve host: x",
                Some(network),
            ),
            (&read_only, "curl: (6) Could not resolve host: x", None),
            (
                &read_only,
                "bash: /etc/x: Read-only file system",
                Some("The sandbox does not allow writing /etc/x (mode read-only)."),
            ),
        ] {
            assert_eq!(hint(policy, output).as_deref(), expected, "{output}");
        }
    }
}
