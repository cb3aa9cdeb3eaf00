//! File metadata: `stat`, permissions, owners, links.

use std::fs::{self, File, Metadata};
use std::io;
use std::path::Path;
use std::time::SystemTime;

use serde_json::{Value, json};

use crate::engine::NativeReply;

fn milliseconds(time: io::Result<SystemTime>) -> f64 {
    time.ok()
        .and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok())
        .map_or(0.0, |duration| duration.as_secs_f64() * 1000.0)
}

/// Returns the fields of Node's `Stats`.
pub(super) fn describe(metadata: &Metadata) -> NativeReply {
    let mut fields = json!({
        "size": metadata.len(),
        "atimeMs": milliseconds(metadata.accessed()),
        "mtimeMs": milliseconds(metadata.modified()),
        "birthtimeMs": milliseconds(metadata.created()),
    });
    add_system_fields(&mut fields, metadata);
    NativeReply::Json(fields)
}

#[cfg(unix)]
#[expect(
    clippy::cast_precision_loss,
    reason = "JavaScript's numbers are doubles"
)]
fn add_system_fields(fields: &mut Value, metadata: &Metadata) {
    use std::os::unix::fs::MetadataExt as _;
    let changed = metadata.ctime() as f64 * 1000.0 + metadata.ctime_nsec() as f64 / 1e6;
    let more = json!({
        "mode": metadata.mode(), "dev": metadata.dev(), "ino": metadata.ino(),
        "nlink": metadata.nlink(), "uid": metadata.uid(), "gid": metadata.gid(),
        "rdev": metadata.rdev(), "blksize": metadata.blksize(), "blocks": metadata.blocks(),
        "ctimeMs": changed,
    });
    merge(fields, more);
}

#[cfg(not(unix))]
fn add_system_fields(fields: &mut Value, metadata: &Metadata) {
    let kind = if metadata.is_dir() {
        0o040_777
    } else if metadata.is_symlink() {
        0o120_777
    } else {
        0o100_666
    };
    let more = json!({
        "mode": kind, "dev": 0, "ino": 0, "nlink": 1, "uid": 0, "gid": 0, "rdev": 0,
        "blksize": 4096, "blocks": metadata.len().div_ceil(512),
        "ctimeMs": milliseconds(metadata.modified()),
    });
    merge(fields, more);
}

fn merge(fields: &mut Value, more: Value) {
    if let (Value::Object(fields), Value::Object(more)) = (fields, more) {
        fields.extend(more);
    }
}

/// Checks permissions like `access(2)` (4 read, 2 write, 1 execute).
#[cfg(unix)]
pub(super) fn access(path: &Path, mode: u32) -> io::Result<()> {
    let flags = [
        (4, rustix::fs::Access::READ_OK),
        (2, rustix::fs::Access::WRITE_OK),
        (1, rustix::fs::Access::EXEC_OK),
    ];
    let requested = flags
        .into_iter()
        .filter(|(bit, _)| mode & bit != 0)
        .fold(rustix::fs::Access::EXISTS, |all, (_, flag)| all | flag);
    Ok(rustix::fs::access(path, requested)?)
}

#[cfg(not(unix))]
pub(super) fn access(path: &Path, mode: u32) -> io::Result<()> {
    let metadata = fs::metadata(path)?;
    if mode & 2 != 0 && metadata.permissions().readonly() {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    Ok(())
}

#[cfg(unix)]
pub(super) fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
pub(super) fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    let mut permissions = fs::metadata(path)?.permissions();
    permissions.set_readonly(mode & 0o200 == 0);
    fs::set_permissions(path, permissions)
}

#[cfg(unix)]
pub(super) fn set_file_mode(file: &File, mode: u32) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    file.set_permissions(fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
pub(super) fn set_file_mode(file: &File, mode: u32) -> io::Result<()> {
    let mut permissions = file.metadata()?.permissions();
    permissions.set_readonly(mode & 0o200 == 0);
    file.set_permissions(permissions)
}

#[cfg(unix)]
pub(super) fn set_owner(path: &Path, user: u32, group: u32, follow: bool) -> io::Result<()> {
    if follow {
        std::os::unix::fs::chown(path, Some(user), Some(group))
    } else {
        std::os::unix::fs::lchown(path, Some(user), Some(group))
    }
}

#[cfg(not(unix))]
pub(super) fn set_owner(_: &Path, _: u32, _: u32, _: bool) -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
pub(super) fn create_symlink(target: &Path, link: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, link)
}

#[cfg(windows)]
pub(super) fn create_symlink(target: &Path, link: &Path) -> io::Result<()> {
    if target.is_dir() {
        std::os::windows::fs::symlink_dir(target, link)
    } else {
        std::os::windows::fs::symlink_file(target, link)
    }
}
