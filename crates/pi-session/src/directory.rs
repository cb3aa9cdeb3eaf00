//! Where session files live and what they are called.

use std::path::{Component, Path, PathBuf};

/// The directory below the agent's own that holds one directory for every working directory.
const SESSIONS: &str = "sessions";

/// The extension of session files.
pub(crate) const EXTENSION: &str = "jsonl";

/// The longest name of a working directory that a directory is called after; a disk takes 255 bytes.
const LONGEST_NAME: usize = 250;

/// How much of a longer one is kept.
const KEPT_OF_LONG_NAME: usize = 200;

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
    pub fn custom(path: &Path, agent_directory: &Path, cwd: &Path) -> Self {
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

    /// Returns whether a session with this working directory in its header belongs here.
    pub fn accepts_cwd(&self, cwd: &str) -> bool {
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
    let name = inner.replace(['/', '\\', ':'], "-");
    if name.len() <= LONGEST_NAME {
        return format!("--{name}--");
    }
    // No disk takes a longer name. The beginning tells people where it belongs, the rest tells it from
    // others; the TypeScript pi cannot work there at all.
    let kept = name.floor_char_boundary(KEPT_OF_LONG_NAME);
    let beginning = name.get(..kept).unwrap_or_default();
    format!("--{beginning}-{:016x}--", fingerprint(&cwd))
}

/// Returns a number for a text that is the same on every machine (FNV-1a).
fn fingerprint(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
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
    fn the_names_of_long_paths_are_short_and_differ() {
        let name = |cwd: &str| directory_name(Path::new(cwd));
        let long = format!("/{}", "日本/".repeat(100));
        let other = format!("{long}x");
        assert_ne!(name(&long), name(&other));
        for name in [name(&long), name(&other), name(&"/a".repeat(125))] {
            assert!(name.len() <= 255, "{}", name.len());
            assert!(name.starts_with("--") && name.ends_with("--"));
        }
        assert_eq!(name(&"/a".repeat(125)).len(), 249 + 4);
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
        let chosen = SessionDirectory::custom(Path::new("/else"), agent, cwd);
        assert!(chosen.accepts_cwd("/home/anna/other/../project"));
        assert!(!chosen.accepts_cwd("/home/anna/other"));
        assert!(!chosen.accepts_cwd(""));
        let default = SessionDirectory::default_for(agent, cwd);
        assert!(default.accepts_cwd("/home/anna/other"));
        let same = SessionDirectory::custom(default.path(), agent, cwd);
        assert_eq!(same, default);
    }
}
