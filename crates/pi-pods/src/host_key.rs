//! Explains why ssh refuses a host whose key has changed. Reads what ssh logs, and `known_hosts`.

use std::fmt;
use std::path::PathBuf;

use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_STANDARD_NO_PAD};
use sha2::{Digest as _, Sha256};

/// A host that presents another key than the known one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChangedHostKey {
    /// Fingerprint of the key that the host presents.
    presented: String,
    known_hosts: PathBuf,
    /// From 1.
    line: usize,
    /// Fingerprint of the known key, if it can be read.
    known: Option<String>,
}

impl ChangedHostKey {
    /// Finds the report of a changed key in the log of ssh.
    pub(crate) fn find(log: &str) -> Option<Self> {
        if !log.contains("REMOTE HOST IDENTIFICATION HAS CHANGED") {
            return None;
        }
        let mut lines = log.lines().map(str::trim);
        let presented = lines.find_map(|line| line.strip_prefix("SHA256:"))?;
        let offending = lines.find_map(|line| {
            let (_, place) = line.strip_prefix("Offending ")?.split_once(" in ")?;
            place.rsplit_once(':')
        });
        let (file, line) = offending?;
        let line: usize = line.parse().ok()?;
        let known_hosts = PathBuf::from(file);
        let text = std::fs::read_to_string(&known_hosts).ok();
        Some(Self {
            presented: format!("SHA256:{}", presented.trim_end_matches('.')),
            known: text.and_then(|text| fingerprint(text.lines().nth(line.checked_sub(1)?)?)),
            known_hosts,
            line,
        })
    }
}

impl fmt::Display for ChangedHostKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "the host key has changed: known {}, presented {} ({}:{})",
            self.known.as_deref().unwrap_or("(unreadable)"),
            self.presented,
            self.known_hosts.display(),
            self.line
        )
    }
}

/// Returns the fingerprint of the key in a line of `known_hosts`, as ssh shows it.
fn fingerprint(line: &str) -> Option<String> {
    let mut words = line.split_ascii_whitespace();
    words.find(|word| {
        word.starts_with("ssh-") || word.starts_with("ecdsa-") || word.starts_with("sk-")
    })?;
    let key = BASE64_STANDARD.decode(words.next()?).ok()?;
    let digest = BASE64_STANDARD_NO_PAD.encode(Sha256::digest(key));
    Some(format!("SHA256:{digest}"))
}

#[cfg(test)]
mod tests {
    use pi_test_support::TempHome;
    use pretty_assertions::assert_eq;

    use super::*;

    const LOG: &str = "@@@\r\n@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\r\n@@@\r\n\
        The fingerprint for the ED25519 key sent by the remote host is\r\n\
        SHA256:new.\r\nPlease contact your system administrator.\r\n\
        Offending ED25519 key in FILE:2\r\n  remove with:\r\nHost key verification failed.\r\n";

    #[test]
    fn both_fingerprints_are_shown() {
        let home = TempHome::new();
        let known = "# pods\n@cert-authority [h]:22 ssh-ed25519 AAAA me\n";
        let file = home.write("known hosts", known);
        let log = LOG.replace("FILE", &file.display().to_string());
        let changed = ChangedHostKey::find(&log).unwrap();
        let digest = BASE64_STANDARD_NO_PAD.encode(Sha256::digest([0, 0, 0]));
        assert_eq!(changed.known, Some(format!("SHA256:{digest}")));
        assert_eq!(changed.presented, "SHA256:new");
        assert_eq!((changed.known_hosts, changed.line), (file, 2));
    }

    #[test]
    fn other_logs_are_not_mistaken() {
        for log in [
            "",
            "Host key verification failed.",
            "REMOTE HOST IDENTIFICATION HAS CHANGED",
            "REMOTE HOST IDENTIFICATION HAS CHANGED\nSHA256:x.\nOffending ED25519 key in /x:none",
        ] {
            assert_eq!(ChangedHostKey::find(log), None, "{log}");
        }
        let log = LOG.replace("FILE:2", "/nowhere:0");
        assert_eq!(ChangedHostKey::find(&log).and_then(|it| it.known), None);
    }
}
