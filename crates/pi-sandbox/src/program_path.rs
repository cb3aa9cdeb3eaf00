//! Finds a program like `exec` does, so that a missing one is reported when it is started, as without a sandbox.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

/// Returns the path of a program. Relative paths are relative to `cwd`, and names are searched in `path`.
pub(crate) fn find(
    program: &OsStr,
    path: Option<&OsStr>,
    cwd: Option<&Path>,
) -> io::Result<PathBuf> {
    let named = Path::new(program);
    if named.components().count() > 1 || named.has_root() {
        let absolute = cwd.map_or_else(|| named.to_owned(), |cwd| cwd.join(named));
        check(&absolute)?;
        return Ok(named.to_owned());
    }
    let mut denied = None;
    for directory in std::env::split_paths(path.unwrap_or_default()) {
        let candidate = directory.join(named);
        match check(&candidate) {
            Ok(()) => return Ok(candidate),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => denied = Some(error),
            Err(_) => {}
        }
    }
    Err(denied.unwrap_or_else(|| io::ErrorKind::NotFound.into()))
}

#[cfg(unix)]
fn check(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let metadata = path.metadata()?;
    if !metadata.is_file() || metadata.permissions().mode() & 0o111 == 0 {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    Ok(())
}

#[cfg(not(unix))]
fn check(path: &Path) -> io::Result<()> {
    path.metadata().map(drop)
}
