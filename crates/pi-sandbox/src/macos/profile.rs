//! The profile of `sandbox-exec`, in the Sandbox Profile Language. Later rules win over earlier ones.

use std::fmt::Write as _;
use std::path::Path;

use pi_protocol::settings::SandboxNetwork;

use crate::Policy;

/// Everything is allowed that has no effect outside of the process.
const START: &str = "\
(version 1)
(deny default)
(allow process-exec)
(allow process-fork)
(allow process-info* (target same-sandbox))
(allow signal (target same-sandbox))
(allow sysctl-read)
(allow mach-lookup
  (global-name \"com.apple.system.opendirectoryd.libinfo\")
  (global-name \"com.apple.system.opendirectoryd.membership\")
  (global-name \"com.apple.system.logger\")
  (global-name \"com.apple.system.notification_center\")
  (global-name \"com.apple.bsd.dirhelper\")
  (global-name \"com.apple.trustd.agent\")
  (global-name \"com.apple.SecurityServer\"))
(allow ipc-posix-sem)
(allow ipc-posix-shm)
(allow pseudo-tty)
(allow file-read*)
(allow file-ioctl (regex #\"^/dev/tty\") (regex #\"^/dev/pty\") (literal \"/dev/ptmx\"))
(allow file-write*
  (literal \"/dev/null\") (literal \"/dev/zero\") (literal \"/dev/dtracehelper\") (literal \"/dev/tty\")
  (literal \"/dev/ptmx\") (regex #\"^/dev/ttys\"))
";

const NETWORK: &str = "\
(allow network*)
(allow system-socket)
(allow mach-lookup
  (global-name \"com.apple.SystemConfiguration.configd\")
  (global-name \"com.apple.dnssd.service\")
  (global-name \"com.apple.networkd\"))
";

/// Returns the profile of a policy.
pub fn profile(policy: &Policy) -> String {
    let mut text = START.to_owned();
    if policy.network == SandboxNetwork::On {
        text.push_str(NETWORK);
    }
    for path in &policy.write {
        rule(&mut text, "allow file-write*", &subpath(path));
    }
    for path in &policy.protect {
        rule(&mut text, "deny file-write*", &subpath(path));
        // Neither may a directory above it be moved away.
        for parent in path.ancestors().skip(1) {
            let is_writable = policy.write.iter().any(|write| parent.starts_with(write));
            if is_writable {
                let name = quote(&parent.to_string_lossy());
                rule(
                    &mut text,
                    "deny file-write-unlink",
                    &format!("(literal {name})"),
                );
            }
        }
    }
    for path in policy.deny_read.paths() {
        rule(&mut text, "deny file-read* file-write*", &subpath(path));
    }
    for glob in policy.deny_read.globs() {
        let pattern = format!("(regex #{})", quote(&regex(glob)));
        rule(&mut text, "deny file-read* file-write*", &pattern);
    }
    for path in &policy.hidden_sockets {
        rule(
            &mut text,
            "deny file-read* file-write* network-outbound",
            &subpath(path),
        );
    }
    text
}

fn rule(text: &mut String, action: &str, filter: &str) {
    // Writing to a string cannot fail.
    writeln!(text, "({action} {filter})").ok();
}

fn subpath(path: &Path) -> String {
    format!("(subpath {})", quote(&path.to_string_lossy()))
}

fn quote(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Translates a glob to a regular expression for the path and everything below it.
fn regex(glob: &str) -> String {
    let mut expression = String::from("^");
    let mut rest = glob;
    if let Some(after) = rest.strip_prefix("**/") {
        expression.push_str("(.*/)?");
        rest = after;
    }
    let mut characters = rest.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '*' if characters.peek() == Some(&'*') => {
                characters.next();
                expression.push_str(".*");
            }
            '*' => expression.push_str("[^/]*"),
            '?' => expression.push_str("[^/]"),
            '.' | '+' | '(' | ')' | '^' | '$' | '|' | '\\' => {
                expression.push('\\');
                expression.push(character);
            }
            '{' => expression.push('('),
            '}' => expression.push(')'),
            ',' => expression.push('|'),
            _ => expression.push(character),
        }
    }
    expression.push_str("(/.*)?$");
    expression
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Roots;

    fn policy(settings: serde_json::Value) -> Policy {
        let roots = Roots {
            workspace: "/Users/me/project".into(),
            home: Some("/Users/me".into()),
            agent_dir: "/Users/me/.pi/agent".into(),
            caches: vec!["/private/tmp".into()],
            sockets: vec!["/private/var/run/docker.sock".into()],
            git_dirs: Vec::new(),
            git_files: Vec::new(),
        };
        Policy::new(&serde_json::from_value(settings).unwrap(), &roots)
            .unwrap()
            .unwrap()
    }

    #[test]
    fn a_workspace_is_writable_without_what_is_protected() {
        let policy = policy(json!({ "mode": "workspace", "protect": [".git/hooks", ".pi"] }));
        insta::assert_snapshot!(profile(&policy));
    }

    #[test]
    fn read_only_without_network() {
        let settings =
            json!({ "mode": "read-only", "network": "off", "denyRead": ["a\"b", "*.{key,pem}"] });
        insta::assert_snapshot!(profile(&policy(settings)));
    }
}
