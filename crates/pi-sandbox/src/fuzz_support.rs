//! Internals exposed for the fuzz checks. Not part of the public API; may change at any time.

use std::io;
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, XattrFlags};

use crate::attempt::TriedChange;

/// Returns what differs between the directory of an overlay and the one below it.
pub fn overlay_changes(upper: &Path, root: &Path) -> io::Result<Vec<TriedChange>> {
    crate::linux::overlay_changes(upper, root)
}

/// Creates the mark that an overlay has for a deleted entry.
pub fn create_whiteout(path: &Path) -> io::Result<()> {
    let mode = Mode::empty();
    Ok(rustix::fs::mknodat(
        CWD,
        path,
        FileType::CharacterDevice,
        mode,
        0,
    )?)
}

/// Makes a directory of an overlay hide the one below it.
pub fn make_opaque(directory: &Path) -> io::Result<()> {
    let name = "user.overlay.opaque";
    Ok(rustix::fs::setxattr(
        directory,
        name,
        b"y",
        XattrFlags::empty(),
    )?)
}
