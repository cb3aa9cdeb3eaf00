//! Where session files live and what they are called.

use std::path::{Component, Path, PathBuf};

/// The directory below the agent's own that holds one directory for every working directory.
const SESSIONS: &str = "sessions";

/// The extension of session files.
pub(crate) const EXTENSION: &str = "jsonl";

/// The directory that holds the sessions of one working directory.
///
/// The default one holds nothing else. One the user chose may hold sessions of many working
/// directories, so lookups in it go by the headers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionDirectory {
    path: PathBuf,
    cwd: PathBuf,
    shared: bool,
}

impl SessionDirectory {
    /// The default directory of a working directory, below the agent's.
    pub fn default_for(agent_directory: &Path, cwd: &Path) -> Self {
        let cwd = resolve(cwd);
        Self {
            path: sessions_root(agent_directory).join(directory_name(&cwd)),
            cwd,
            shared: false,
        }
    }

    /// A directory the user chose.
    pub fn chosen(path: &Path, agent_directory: &Path, cwd: &Path) -> Self {
        let default = Self::default_for(agent_directory, cwd);
        let path = resolve(path);
        Self {
            shared: path != default.path,
            cwd: default.cwd,
            path,
        }
    }

    /// Returns where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the working directory it is asked for.
    pub fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// Tells whether a session with this working directory in its header belongs here.
    pub fn admits(&self, cwd: &str) -> bool {
        !self.shared || (!cwd.is_empty() && resolve(Path::new(cwd)) == self.cwd)
    }
}

/// Returns the directory that holds the default directories of all working directories.
pub fn sessions_root(agent_directory: &Path) -> PathBuf {
    resolve(agent_directory).join(SESSIONS)
}

/// Names the directory of a working directory.
fn directory_name(cwd: &Path) -> String {
    let cwd = cwd.to_string_lossy();
    let inner = cwd.strip_prefix(['/', '\\']).unwrap_or(&cwd);
    format!("--{}--", inner.replace(['/', '\\', ':'], "-"))
}

/// Names the file of a session.
pub(crate) fn file_name(timestamp: &str, id: &str) -> String {
    format!("{}_{id}.{EXTENSION}", timestamp.replace([':', '.'], "-"))
}

/// Makes a path absolute and takes out `.` and `..`, without asking the disk.
pub(crate) fn resolve(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut resolved = PathBuf::new();
    for component in absolute.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                resolved.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => {
                resolved.push(component);
            }
        }
    }
    resolved
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn directories_are_named_after_the_working_directory() {
        for (cwd, name) in [
            ("/home/me/project", "--home-me-project--"),
            ("/", "----"),
            ("/a:b\\c", "--a-b-c--"),
            ("/a/./b/../c", "--a-c--"),
            ("/tmp/emoji 🦀\nline", "--tmp-emoji 🦀\nline--"),
        ] {
            let directory = SessionDirectory::default_for(Path::new("/agent"), Path::new(cwd));
            assert_eq!(directory.path(), Path::new("/agent/sessions").join(name));
        }
    }

    #[test]
    fn files_are_named_after_time_and_id() {
        assert_eq!(
            file_name("2026-01-02T03:04:05.678Z", "some.id"),
            "2026-01-02T03-04-05-678Z_some.id.jsonl"
        );
    }

    #[test]
    fn a_chosen_directory_admits_sessions_of_its_working_directory() {
        let agent = Path::new("/agent");
        let cwd = Path::new("/home/anna/project");
        let chosen = SessionDirectory::chosen(Path::new("/else"), agent, cwd);
        assert!(chosen.admits("/home/anna/other/../project"));
        assert!(!chosen.admits("/home/anna/other"));
        assert!(!chosen.admits(""));
        let default = SessionDirectory::default_for(agent, cwd);
        assert!(default.admits("/home/anna/other"));
        let same = SessionDirectory::chosen(default.path(), agent, cwd);
        assert_eq!(same, default);
    }
}
