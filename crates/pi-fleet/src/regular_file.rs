//! Opens files of directories that runs can write. Links, pipes and devices in place of a file are errors: they may lead to
//! files of the worker, or block it.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// Opens a file for reading. Directories of its path are followed.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    open_with(path, std::fs::OpenOptions::new().read(true))
}

/// Opens a file for writing.
pub(crate) fn open_for_writing(path: &Path) -> io::Result<File> {
    open_with(path, std::fs::OpenOptions::new().write(true))
}

/// Reads a file.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn open_with(path: &Path, options: &mut std::fs::OpenOptions) -> io::Result<File> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;

        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        options.custom_flags(flags.bits().cast_signed());
    }
    checked(options.open(path)?)
}

fn checked(file: File) -> io::Result<File> {
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    Err(io::Error::other("not a regular file"))
}

/// Opens a file below a directory for reading. Links are followed in no part of `name`, a path with slashes.
#[cfg(unix)]
pub(crate) fn open_below(directory: &Path, name: &str) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags};

    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut parent = File::open(directory)?;
    let (parents, file) = name.rsplit_once('/').unwrap_or(("", name));
    for part in parents.split('/').filter(|part| !part.is_empty()) {
        if part == ".." {
            return Err(io::Error::other("the path leaves its directory"));
        }
        let flags = flags | OFlags::DIRECTORY;
        parent = rustix::fs::openat(&parent, part, flags, Mode::empty())?.into();
    }
    checked(rustix::fs::openat(&parent, file, flags, Mode::empty())?.into())
}

#[cfg(not(unix))]
pub(crate) fn open_below(directory: &Path, name: &str) -> io::Result<File> {
    open(&directory.join(name))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn links_and_pipes_are_not_opened() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        std::fs::create_dir_all(path("outside")).unwrap();
        std::fs::create_dir_all(path("work/sub")).unwrap();
        for name in ["outside/file", "work/sub/file"] {
            std::fs::write(path(name), name).unwrap();
        }
        std::os::unix::fs::symlink("../outside", path("work/link")).unwrap();
        std::os::unix::fs::symlink("../outside/file", path("work/file")).unwrap();
        let pipe = std::process::Command::new("mkfifo")
            .arg(path("work/pipe"))
            .status();
        assert!(pipe.unwrap().success());
        let below = |name: &str| open_below(&path("work"), name);
        assert!(below("sub/file").is_ok());
        for name in [
            "link/file",
            "file",
            "pipe",
            "sub",
            "missing",
            "../outside/file",
        ] {
            assert!(below(name).is_err(), "{name}");
        }
        assert_eq!(read(&path("work/sub/file")).unwrap(), b"work/sub/file");
        for name in ["work/file", "work/pipe", "work/sub"] {
            assert!(open(&path(name)).is_err(), "{name}");
            assert!(open_for_writing(&path(name)).is_err(), "{name}");
        }
    }
}
