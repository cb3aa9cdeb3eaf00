//! Files and directories that only the user can access: mode 0600 and 0700 from their creation on.
//!
//! On Windows, access is inherited from the directory.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::random::random_u64;

/// Creates a directory and its parents; an existing directory is not changed.
pub fn create_directory(path: &Path) -> io::Result<()> {
    directory_builder().recursive(true).create(path)
}

/// Creates a directory; fails if it exists or its parent does not.
pub fn create_new_directory(path: &Path) -> io::Result<()> {
    directory_builder().create(path)
}

/// Removes the access of other users to an existing directory.
#[cfg(unix)]
pub fn restrict_directory(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;

    fs::set_permissions(path, fs::Permissions::from_mode(0o700))
}

/// Removes the access of other users to an existing directory.
#[cfg(not(unix))]
pub fn restrict_directory(_path: &Path) -> io::Result<()> {
    Ok(())
}

/// Creates a directory that only the user can access, or makes sure that an existing one is: a link, or a directory of
/// another user, is an error, and the access of others is removed.
pub fn claim_directory(path: &Path) -> io::Result<()> {
    create_directory(path)?;
    let found = fs::symlink_metadata(path)?;
    if !found.is_dir() {
        return Err(io::Error::other("it is a link or a file, not a directory"));
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;

        if found.uid() != effective_user() {
            return Err(io::Error::other("the directory belongs to another user"));
        }
        if found.mode() & 0o077 != 0 {
            restrict_directory(path)?;
        }
    }
    Ok(())
}

/// Returns the ID of the user this process acts for.
#[cfg(unix)]
pub fn effective_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Creates a file for writing; fails if it exists.
pub fn create_file(path: &Path) -> io::Result<File> {
    file_options().write(true).create_new(true).open(path)
}

/// Creates a file for reading and appending; fails if it exists.
pub fn create_log_file(path: &Path) -> io::Result<File> {
    file_options()
        .read(true)
        .append(true)
        .create_new(true)
        .open(path)
}

/// Opens a file for appending and creates it if necessary; an existing file keeps its mode.
pub fn open_for_append(path: &Path) -> io::Result<File> {
    file_options().append(true).create(true).open(path)
}

/// Opens a file for reading and writing, and creates it if necessary; an existing file keeps its mode. A link, a pipe or
/// a device is an error: the file is in a directory that others may have prepared.
pub fn open_or_create(path: &Path) -> io::Result<File> {
    let mut options = file_options();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;

        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        options.custom_flags(flags.bits().cast_signed());
    }
    let file = options.open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    Ok(file)
}

/// Creates a file with this content, without syncing it; fails if it exists.
pub fn write_new_file(path: &Path, content: &[u8]) -> io::Result<()> {
    create_file(path)?.write_all(content)
}

/// Opens a new file without a name: it is deleted when its handle is closed.
pub fn unnamed_file(directory: &Path) -> io::Result<File> {
    let path = directory.join(format!("pi-{:016x}{:016x}", random_u64()?, random_u64()?));
    let mut options = file_options();
    options.read(true).write(true).create_new(true);
    #[cfg(windows)]
    {
        const FILE_FLAG_DELETE_ON_CLOSE: u32 = 0x0400_0000;
        std::os::windows::fs::OpenOptionsExt::custom_flags(&mut options, FILE_FLAG_DELETE_ON_CLOSE);
    }
    let file = options.open(&path)?;
    #[cfg(unix)]
    fs::remove_file(&path)?;
    Ok(file)
}

#[cfg(unix)]
fn directory_builder() -> DirBuilder {
    use std::os::unix::fs::DirBuilderExt as _;

    let mut builder = DirBuilder::new();
    builder.mode(0o700);
    builder
}

#[cfg(not(unix))]
fn directory_builder() -> DirBuilder {
    DirBuilder::new()
}

#[cfg(unix)]
pub(crate) fn file_options() -> OpenOptions {
    use std::os::unix::fs::OpenOptionsExt as _;

    let mut options = OpenOptions::new();
    options.mode(0o600);
    options
}

#[cfg(not(unix))]
pub(crate) fn file_options() -> OpenOptions {
    OpenOptions::new()
}

/// A directory in the system's temporary directory; deleted with its contents when dropped.
#[derive(Debug)]
pub struct PrivateTempDir(PathBuf);

impl PrivateTempDir {
    /// Creates a directory whose name starts with `name`.
    pub fn create(name: &str) -> io::Result<Self> {
        let unique = format!("{name}-{:016x}{:016x}", random_u64()?, random_u64()?);
        let path = std::env::temp_dir().join(unique);
        create_new_directory(&path)?;
        Ok(Self(path))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for PrivateTempDir {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            tracing::warn!(%error, "cannot delete temporary directory");
        }
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::io::{Read as _, Seek as _};
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn created_directories_and_their_parents_are_private() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("a/b");
        create_directory(&path).unwrap();
        assert_eq!(mode(&path), 0o700);
        assert_eq!(mode(&home.path().join("a")), 0o700);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        create_directory(&path).unwrap();
        assert_eq!(mode(&path), 0o755, "an existing directory is not changed");
        restrict_directory(&path).unwrap();
        assert_eq!(mode(&path), 0o700);
    }

    #[test]
    fn a_new_directory_is_never_an_existing_one() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("new");
        create_new_directory(&path).unwrap();
        assert_eq!(mode(&path), 0o700);
        assert!(create_new_directory(&path).is_err());
        assert!(create_new_directory(&home.path().join("missing/new")).is_err());
    }

    #[test]
    fn files_are_private_and_never_replaced() {
        let home = tempfile::tempdir().unwrap();
        for (name, create) in [
            ("a", create_file as fn(&Path) -> io::Result<File>),
            ("b", create_log_file),
        ] {
            let path = home.path().join(name);
            drop(create(&path).unwrap());
            assert_eq!(mode(&path), 0o600);
            let refused = create(&path).unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists);
        }
        let path = home.path().join("c");
        write_new_file(&path, b"content").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"content");
        assert!(write_new_file(&path, b"other").is_err());
    }

    #[test]
    fn appending_creates_a_private_file_and_keeps_existing_content() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("log");
        open_for_append(&path).unwrap().write_all(b"one ").unwrap();
        open_for_append(&path).unwrap().write_all(b"two").unwrap();
        assert_eq!(mode(&path), 0o600);
        assert_eq!(fs::read(&path).unwrap(), b"one two");
    }

    #[test]
    fn an_unnamed_file_leaves_nothing_behind() {
        let home = tempfile::tempdir().unwrap();
        let mut file = unnamed_file(home.path()).unwrap();
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
        file.write_all(b"text").unwrap();
        file.rewind().unwrap();
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        assert_eq!(text, "text");
    }

    #[test]
    fn a_temporary_directory_is_deleted_with_its_contents() {
        let directory = PrivateTempDir::create("pi-fs-test").unwrap();
        let path = directory.path().to_owned();
        assert_eq!(mode(&path), 0o700);
        drop(create_file(&path.join("file")).unwrap());
        drop(directory);
        assert!(!path.exists());
    }
}
