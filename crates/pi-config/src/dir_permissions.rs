//! Warns if other users can write to the agent directory, or to a directory in it whose files are loaded.
//!
//! Settings and extensions in the agent directory run with the user's permissions, so write access to it grants
//! those permissions. This is only a warning, because containers and shared machines may need it.

#[cfg(unix)]
use std::path::Path;

use pi_protocol::ConfigDiagnostic;

use crate::AgentDir;

/// Directories in the agent directory whose files run or instruct the model.
#[cfg(unix)]
const LOADED_DIRS: [&str; 6] = ["extensions", "npm", "git", "skills", "prompts", "bin"];

/// Returns a warning for every directory of the user's files that other users can write to.
#[cfg(unix)]
pub fn check_dir_permissions(agent_dir: &AgentDir) -> Vec<ConfigDiagnostic> {
    let agent = agent_dir.path();
    let loaded = LOADED_DIRS.iter().map(|name| agent.join(name));
    let all = std::iter::once(agent.to_owned()).chain(loaded);
    all.filter_map(|path| check_directory(&path)).collect()
}

#[cfg(unix)]
fn check_directory(path: &Path) -> Option<ConfigDiagnostic> {
    use std::os::unix::fs::MetadataExt as _;

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

/// Always empty: access control lists are not checked.
#[cfg(not(unix))]
pub fn check_dir_permissions(_agent_dir: &AgentDir) -> Vec<ConfigDiagnostic> {
    Vec::new()
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
        let set_mode = |path: &Path, mode| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        set_mode(dir.path(), 0o700);
        let extensions = dir.path().join("extensions");
        std::fs::create_dir(&extensions).unwrap();
        set_mode(&extensions, 0o755);
        assert_eq!(check_dir_permissions(&agent_dir), []);
        for path in [dir.path(), &extensions] {
            set_mode(path, 0o777);
            let warnings = check_dir_permissions(&agent_dir);
            let [warning] = &warnings[..] else {
                panic!("{warnings:?}");
            };
            assert!(warning.message.contains("chmod o-w"), "{warning:?}");
            assert_eq!(warning.path.as_deref(), Some(path));
            set_mode(path, 0o700);
        }
        let missing = AgentDir::at(dir.path().join("none"));
        assert_eq!(check_dir_permissions(&missing), []);
    }
}
