//! Whether others can change the files that tell pi what to run.
//!
//! Settings, extensions and keys of the agent directory act with the user's rights. A directory that
//! somebody else can write to hands those rights out; it is named, not refused, since containers and
//! shared machines have reasons of their own.

use crate::{AgentDir, ConfigDiagnostic};

/// Returns what is wrong with who may write to the agent directory.
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
    let (who, remedy) = match directory.other_writer(user)? {
        Writer::Owner => ("it belongs to another user", "use a directory of your own"),
        Writer::Group => ("its group may write to it", "chmod g-w closes it"),
        Writer::Everybody => ("everybody may write to it", "chmod o-w closes it"),
    };
    Some(ConfigDiagnostic::warning(
        format!(
            "others can put settings and extensions here that run with your rights: {who}; {remedy}"
        ),
        path,
    ))
}

/// Returns nothing: access lists are not looked at.
#[cfg(not(unix))]
pub fn check_dir_permissions(_agent_dir: &AgentDir) -> Option<ConfigDiagnostic> {
    None
}

/// Whom a directory belongs to, and who may do what.
#[cfg(unix)]
#[derive(Debug, Clone, Copy)]
struct Directory {
    owner: u32,
    group: u32,
    mode: u32,
}

/// Who runs the program.
#[cfg(unix)]
#[derive(Debug, Clone, Copy)]
struct User {
    id: u32,
    group: u32,
}

/// Who else may write.
#[cfg(unix)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Writer {
    Owner,
    Group,
    Everybody,
}

#[cfg(unix)]
impl Directory {
    fn other_writer(self, user: User) -> Option<Writer> {
        const ROOT: u32 = 0;
        // Root may write anywhere anyway, and in a container it often uses a volume of somebody else.
        if self.owner != user.id && self.owner != ROOT && user.id != ROOT {
            return Some(Writer::Owner);
        }
        if self.mode & 0o002 != 0 {
            return Some(Writer::Everybody);
        }
        // Many systems give every user a group of their own and let it write by default.
        (self.mode & 0o020 != 0 && self.group != user.group && self.group != ROOT)
            .then_some(Writer::Group)
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn whoever_else_may_write_is_found() {
        const ME: u32 = 1000;
        let judge = |owner, group, mode, id| {
            Directory { owner, group, mode }.other_writer(User { id, group: ME })
        };
        for (owner, group, mode, id, expected) in [
            (ME, ME, 0o40700, ME, None),
            (ME, ME, 0o40755, ME, None),
            (ME, ME, 0o40775, ME, None),
            (0, 0, 0o40755, ME, None),
            (ME, 50, 0o40755, ME, None),
            (ME, 50, 0o40775, ME, Some(Writer::Group)),
            (ME, ME, 0o40777, ME, Some(Writer::Everybody)),
            (0, 0, 0o41777, ME, Some(Writer::Everybody)),
            (1001, 1001, 0o40755, ME, Some(Writer::Owner)),
            (1001, 1001, 0o40755, 0, None),
            (1001, 1001, 0o40777, 0, Some(Writer::Everybody)),
        ] {
            assert_eq!(
                judge(owner, group, mode, id),
                expected,
                "{owner} {group} {mode:o} {id}"
            );
        }
    }

    #[test]
    fn an_open_directory_is_named_with_the_remedy() {
        let dir = tempfile::tempdir().unwrap();
        let agent_dir = AgentDir::at(dir.path());
        let set_mode = |mode| {
            std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(mode)).unwrap();
        };
        set_mode(0o700);
        assert_eq!(check_dir_permissions(&agent_dir), None);
        set_mode(0o777);
        let told = check_dir_permissions(&agent_dir).unwrap();
        assert!(told.message.contains("chmod o-w"), "{told:?}");
        assert_eq!(told.path.as_deref(), Some(dir.path()));
        assert_eq!(
            check_dir_permissions(&AgentDir::at(dir.path().join("none"))),
            None
        );
    }
}
