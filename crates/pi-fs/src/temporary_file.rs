//! Temporary files next to the file that they will replace, and those left behind by killed writers.
//!
//! A writer locks its temporary file while it writes, so an unlocked file is abandoned. On a file system without
//! locks, nothing is removed.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::atomic_file::NewFileMode;
use crate::private;
use crate::random::random_u64;

/// Younger files are kept: a writer does not hold the lock between creating and locking its file, and between
/// unlocking and renaming it.
const MIN_AGE: Duration = Duration::from_secs(10);

const SUFFIX: &str = ".tmp";

/// How temporary files are named. A writer removes the abandoned files with its own kind of name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TemporaryNames {
    /// `.<name of the target>.<16 hexadecimal digits>.tmp`.
    #[default]
    OfTarget,
    /// `<prefix><32 hexadecimal digits>.tmp`: short even if the target's name is as long as the system permits.
    Prefix(&'static str),
}

impl TemporaryNames {
    fn generate(self, target: &OsStr) -> io::Result<OsString> {
        let random = random_u64()?;
        Ok(match self {
            Self::OfTarget => {
                let mut name = OsString::from(".");
                name.push(target);
                name.push(format!(".{random:016x}{SUFFIX}"));
                name
            }
            Self::Prefix(prefix) => {
                format!("{prefix}{random:016x}{:016x}{SUFFIX}", random_u64()?).into()
            }
        })
    }

    fn matches(self, name: &OsStr, target: &OsStr) -> bool {
        let name = name.as_encoded_bytes();
        let (rest, digits) = match self {
            Self::OfTarget => {
                let rest = name
                    .strip_prefix(b".")
                    .and_then(|name| name.strip_prefix(target.as_encoded_bytes()))
                    .and_then(|name| name.strip_prefix(b"."));
                (rest, 16)
            }
            Self::Prefix(prefix) => (name.strip_prefix(prefix.as_bytes()), 32),
        };
        rest.and_then(|rest| rest.strip_suffix(SUFFIX.as_bytes()))
            .is_some_and(|rest| rest.len() == digits && rest.iter().all(u8::is_ascii_hexdigit))
    }
}

/// A temporary file, removed on drop unless it was renamed.
#[derive(Debug)]
pub(crate) struct TemporaryFile(PathBuf);

impl TemporaryFile {
    /// Creates a locked temporary file in the directory of `target`.
    pub(crate) fn create(
        target: &Path,
        names: TemporaryNames,
        mode: NewFileMode,
    ) -> io::Result<(File, Self)> {
        let own = target.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        loop {
            let path = target.with_file_name(names.generate(own)?);
            match creation(mode).open(&path) {
                Ok(file) => {
                    lock(&file);
                    return Ok((file, Self(path)));
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Keeps what is at the path: the file was renamed.
    pub(crate) fn forget(mut self) {
        self.0.clear();
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        if !self.0.as_os_str().is_empty()
            && let Err(error) = fs::remove_file(&self.0)
        {
            tracing::warn!(%error, file = %self.0.display(), "cannot remove temporary file");
        }
    }
}

/// Options that create a file and fail if it exists.
pub(crate) fn creation(mode: NewFileMode) -> OpenOptions {
    let mut options = match mode {
        NewFileMode::Private | NewFileMode::AlwaysPrivate => private::file_options(),
        NewFileMode::Default => OpenOptions::new(),
    };
    options.write(true).create_new(true);
    options
}

/// Locks a temporary file, so other processes do not remove it.
fn lock(file: &File) {
    if let Err(error) = file.try_lock() {
        tracing::debug!(%error, "cannot lock temporary file");
    }
}

/// Removes the temporary files in the directory of `target` that have lost their writer.
pub(crate) fn remove_abandoned(target: &Path, names: TemporaryNames) {
    let Some(own) = target.file_name() else {
        return;
    };
    let Ok(entries) = fs::read_dir(crate::atomic_file::parent(target)) else {
        return;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        if names.matches(&entry.file_name(), own)
            && is_abandoned(&path)
            && let Err(error) = fs::remove_file(&path)
        {
            tracing::debug!(%error, file = %path.display(), "cannot remove abandoned temporary file");
        }
    }
}

fn is_abandoned(path: &Path) -> bool {
    let Ok(metadata) = fs::symlink_metadata(path) else {
        return false;
    };
    let age = metadata
        .modified()
        .ok()
        .and_then(|time| time.elapsed().ok());
    let is_old = metadata.is_file() && age.is_some_and(|age| age >= MIN_AGE);
    let is_free = |file: File| file.try_lock().is_ok();
    is_old && OpenOptions::new().write(true).open(path).is_ok_and(is_free)
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use pretty_assertions::assert_eq;

    use super::*;

    fn create_aged(path: &Path, age: u64) -> File {
        let file = File::create(path).unwrap();
        let then = SystemTime::now() - Duration::from_secs(age);
        file.set_modified(then).unwrap();
        file
    }

    fn names(directory: &Path) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn generated_names_are_recognized() {
        let target = OsStr::new("auth.json");
        for (scheme, length) in [
            (TemporaryNames::OfTarget, ".auth.json.".len() + 16 + 4),
            (TemporaryNames::Prefix(".pi-session-"), 12 + 32 + 4),
        ] {
            let name = scheme.generate(target).unwrap();
            assert_eq!(name.len(), length, "{name:?}");
            assert!(scheme.matches(&name, target), "{name:?}");
        }
    }

    #[test]
    fn only_unlocked_old_temporary_files_of_the_target_are_removed() {
        let home = tempfile::tempdir().unwrap();
        let target = home.path().join("auth.json");
        let put = |name: &str, age| create_aged(&home.path().join(name), age);
        drop(put(".auth.json.0123456789abcdef.tmp", 60));
        // Another file's, not a temporary name, too young, and held by a live writer.
        drop(put(".settings.json.0123456789abcdef.tmp", 60));
        drop(put(".auth.json.notes.tmp", 60));
        drop(put(".auth.json.0000000000000001.tmp", 0));
        let held = put(".auth.json.0000000000000002.tmp", 60);
        lock(&held);
        remove_abandoned(&target, TemporaryNames::OfTarget);
        assert_eq!(
            names(home.path()),
            [
                ".auth.json.0000000000000001.tmp",
                ".auth.json.0000000000000002.tmp",
                ".auth.json.notes.tmp",
                ".settings.json.0123456789abcdef.tmp",
            ]
        );
        drop(held);
        remove_abandoned(&target, TemporaryNames::OfTarget);
        assert!(!names(home.path()).contains(&".auth.json.0000000000000002.tmp".to_owned()));
    }

    #[test]
    fn prefixed_temporary_files_are_removed_for_any_target() {
        let home = tempfile::tempdir().unwrap();
        let scheme = TemporaryNames::Prefix(".pi-session-");
        let put = |age| {
            let name = scheme.generate(OsStr::new("other.jsonl")).unwrap();
            let path = home.path().join(name);
            (create_aged(&path, age), path)
        };
        let (_, abandoned) = put(60);
        let (_, young) = put(0);
        let unrelated = home.path().join(".x.tmp");
        drop(create_aged(&unrelated, 60));
        let (writer, locked) = put(60);
        lock(&writer);
        remove_abandoned(&home.path().join("s.jsonl"), scheme);
        assert!(!abandoned.exists());
        assert!(young.exists() && unrelated.exists() && locked.exists());
    }

    #[test]
    fn a_dropped_temporary_file_is_removed() {
        let home = tempfile::tempdir().unwrap();
        let target = home.path().join("file");
        let create =
            || TemporaryFile::create(&target, TemporaryNames::OfTarget, NewFileMode::Default);
        drop(create().unwrap());
        assert_eq!(names(home.path()), Vec::<String>::new());
        let (_, renamed) = create().unwrap();
        fs::rename(renamed.path(), &target).unwrap();
        renamed.forget();
        assert_eq!(names(home.path()), ["file"]);
    }
}
