//! Where an open file is, whatever happens to the path it was opened by.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// Returns the path of an open file with all symbolic links resolved. Another process may replace a link between two
/// uses of `path`; where the system can answer for the open file itself (Linux, macOS), that does not change the result.
pub fn opened_path(file: &File, path: &Path) -> io::Result<PathBuf> {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        use std::os::fd::AsRawFd as _;

        let link = format!("/proc/self/fd/{}", file.as_raw_fd());
        if let Ok(target) = std::fs::read_link(link) {
            return Ok(target);
        }
    }
    #[cfg(target_vendor = "apple")]
    {
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt as _;

        if let Ok(target) = rustix::fs::getpath(file) {
            return Ok(PathBuf::from(OsStr::from_bytes(target.as_bytes())));
        }
    }
    let target = path.canonicalize()?;
    if is_same_file(file, &target)? {
        Ok(target)
    } else {
        Err(io::Error::other("the file was replaced while being opened"))
    }
}

#[cfg(unix)]
fn is_same_file(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt as _;

    let (opened, found) = (file.metadata()?, path.symlink_metadata()?);
    Ok((opened.dev(), opened.ino()) == (found.dev(), found.ino()))
}

/// Files have no stable identity here.
#[cfg(not(unix))]
fn is_same_file(_file: &File, _path: &Path) -> io::Result<bool> {
    Ok(true)
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn a_replaced_link_does_not_change_the_path_of_the_open_file() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        for name in ["private", "public"] {
            File::create(home.join(name)).unwrap();
        }
        let link = home.join("link");
        symlink("private", &link).unwrap();
        let file = File::open(&link).unwrap();
        std::fs::remove_file(&link).unwrap();
        symlink("public", &link).unwrap();
        if let Ok(path) = opened_path(&file, &link) {
            assert_eq!(path, home.join("private"));
        }
    }
}
