//! Location and names of session files.

use std::path::{Component, Path, PathBuf};

/// Subdirectory of the agent directory with one directory per working directory.
pub(crate) const SESSIONS_DIR: &str = "sessions";

pub(crate) const EXTENSION: &str = "jsonl";

/// Maximum length of an encoded working directory; file systems allow 255 bytes per name.
const MAX_NAME_BYTES: usize = 250;

/// How much of a longer path is kept.
const LONG_NAME_PREFIX_BYTES: usize = 200;

/// Returns the directory that contains the default session directories of all working directories.
pub fn sessions_root(agent_directory: &Path) -> PathBuf {
    resolve(agent_directory).join(SESSIONS_DIR)
}

/// Returns the name of the default session directory of a working directory.
pub(crate) fn directory_name(cwd: &Path) -> String {
    let cwd = cwd.to_string_lossy();
    let inner = cwd.strip_prefix(['/', '\\']).unwrap_or(&cwd);
    let name = inner.replace(['/', '\\', ':'], "-");
    if name.len() <= MAX_NAME_BYTES {
        return format!("--{name}--");
    }
    // The prefix keeps the name readable and the hash keeps it unique. The TypeScript pi cannot use
    // such directories.
    let kept = name.floor_char_boundary(LONG_NAME_PREFIX_BYTES);
    let prefix = name.get(..kept).unwrap_or_default();
    format!("--{prefix}-{:016x}--", fnv1a(&cwd))
}

/// FNV-1a hash, which is the same on every machine.
fn fnv1a(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// Returns the file name of a session.
pub(crate) fn file_name(timestamp: &str, id: &str) -> String {
    format!("{}_{id}.{EXTENSION}", timestamp.replace([':', '.'], "-"))
}

/// Makes a path absolute and resolves `.` and `..` without accessing the disk.
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
    use crate::session_store::SessionStore;

    #[test]
    fn directories_are_named_after_the_working_directory() {
        for (cwd, name) in [
            ("/home/me/project", "--home-me-project--"),
            ("/", "----"),
            ("/a:b\\c", "--a-b-c--"),
            ("/a/./b/../c", "--a-c--"),
            ("/tmp/emoji 🦀\nline", "--tmp-emoji 🦀\nline--"),
        ] {
            let store = SessionStore::default_for(Path::new("/agent"), Path::new(cwd));
            assert_eq!(store.path(), Path::new("/agent/sessions").join(name));
        }
    }

    #[test]
    fn names_of_long_paths_are_short_and_unique() {
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
    fn a_custom_directory_accepts_sessions_of_its_working_directory() {
        let agent = Path::new("/agent");
        let cwd = Path::new("/home/anna/project");
        let custom = SessionStore::custom(Path::new("/else"), agent, cwd);
        assert!(custom.accepts_cwd("/home/anna/other/../project"));
        assert!(!custom.accepts_cwd("/home/anna/other"));
        assert!(!custom.accepts_cwd(""));
        let default = SessionStore::default_for(agent, cwd);
        assert!(default.accepts_cwd("/home/anna/other"));
        assert!(default.accepts_cwd(""));
        // Both have the same default directory.
        assert!(default.accepts_cwd("/home/anna/project"));
        assert!(!default.accepts_cwd("/home/anna-project"));
        assert!(!default.accepts_cwd("/home-anna/project"));
        let same = SessionStore::custom(default.path(), agent, cwd);
        assert_eq!(same, default);
    }
}
