//! Warns if other users can write to the agent directory.
//!
//! Settings and extensions in the agent directory run with the user's permissions, so write access to it grants
//! those permissions. This is only a warning, because containers and shared machines may need it.

use pi_protocol::ConfigDiagnostic;

use crate::AgentDir;

/// Returns a warning if other users can write to the agent directory.
#[cfg(unix)]
pub fn check_dir_permissions(agent_dir: &AgentDir) -> Option<ConfigDiagnostic> {
    use std::os::unix::fs::MetadataExt as _;

    let path = agent_dir.path();
    let metadata = std::fs::metadata(path).ok()?;
    let directory = Directory {
        owner: metadata.uid(),
        group: metadata.gid(),
        mode: metadata.mode(),
    };
    let user = User {
        id: rustix::process::geteuid().as_raw(),
        group: rustix::process::getegid().as_raw(),
    };
    let (problem, remedy) = match directory.other_writer(user)? {
        OtherWriter::Owner => ("owned by another user", "use a directory that you own"),
        OtherWriter::Group => ("writable by its group", "run `chmod g-w` on it"),
        OtherWriter::Everyone => ("writable by everyone", "run `chmod o-w` on it"),
    };
    Some(ConfigDiagnostic::warning(
        format!(
            "{problem}: others can add settings and extensions that run with your permissions; {remedy}"
        ),
        path,
    ))
}

/// Always `None`: access control lists are not checked.
#[cfg(not(unix))]
pub fn check_dir_permissions(_agent_dir: &AgentDir) -> Option<ConfigDiagnostic> {
    None
}

#[cfg(unix)]
#[derive(Debug, Clone, Copy)]
struct Directory {
    owner: u32,
    group: u32,
    mode: u32,
}

/// The current user.
#[cfg(unix)]
#[derive(Debug, Clone, Copy)]
struct User {
    id: u32,
    group: u32,
}

/// Who else has write access.
#[cfg(unix)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OtherWriter {
    Owner,
    Group,
    Everyone,
}

#[cfg(unix)]
impl Directory {
    fn other_writer(self, user: User) -> Option<OtherWriter> {
        const ROOT: u32 = 0;
        // Root can write anywhere, and in containers it often uses a volume owned by another user.
        if self.owner != user.id && self.owner != ROOT && user.id != ROOT {
            return Some(OtherWriter::Owner);
        }
        if self.mode & 0o002 != 0 {
            return Some(OtherWriter::Everyone);
        }
        // Many systems give each user a private group with write access by default.
        (self.mode & 0o020 != 0 && self.group != user.group && self.group != ROOT)
            .then_some(OtherWriter::Group)
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn other_writers_are_detected() {
        const ME: u32 = 1000;
        let other_writer = |owner, group, mode, id| {
            Directory { owner, group, mode }.other_writer(User { id, group: ME })
        };
        for (owner, group, mode, id, expected) in [
            (ME, ME, 0o40700, ME, None),
            (ME, ME, 0o40755, ME, None),
            (ME, ME, 0o40775, ME, None),
            (0, 0, 0o40755, ME, None),
            (ME, 50, 0o40755, ME, None),
            (ME, 50, 0o40775, ME, Some(OtherWriter::Group)),
            (ME, ME, 0o40777, ME, Some(OtherWriter::Everyone)),
            (0, 0, 0o41777, ME, Some(OtherWriter::Everyone)),
            (1001, 1001, 0o40755, ME, Some(OtherWriter::Owner)),
            (1001, 1001, 0o40755, 0, None),
            (1001, 1001, 0o40777, 0, Some(OtherWriter::Everyone)),
        ] {
            assert_eq!(
                other_writer(owner, group, mode, id),
                expected,
                "{owner} {group} {mode:o} {id}"
            );
        }
    }

    #[test]
    fn warning_for_writable_directory_names_the_fix() {
        let dir = tempfile::tempdir().unwrap();
        let agent_dir = AgentDir::at(dir.path());
        let set_mode = |mode| {
            std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(mode)).unwrap();
        };
        set_mode(0o700);
        assert_eq!(check_dir_permissions(&agent_dir), None);
        set_mode(0o777);
        let warning = check_dir_permissions(&agent_dir).unwrap();
        assert!(warning.message.contains("chmod o-w"), "{warning:?}");
        assert_eq!(warning.path.as_deref(), Some(dir.path()));
        assert_eq!(
            check_dir_permissions(&AgentDir::at(dir.path().join("none"))),
            None
        );
    }
}
