//! Extended attributes of files that are replaced: access control lists, labels, and what users and
//! programs attach. A new file at the same path must not lose them.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io;

use rustix::fs::XattrFlags;
use rustix::io::Errno;

/// Attributes that describe the replaced contents. The kernel drops or recomputes them when a file
/// is written.
const CONTENT_ATTRIBUTES: [&CStr; 3] = [c"security.capability", c"security.ima", c"security.evm"];

/// An access control list, which a new file may inherit from its directory.
const ACCESS_LIST: &CStr = c"system.posix_acl_access";

/// The limit of the kernel for a value and for the list of names.
const MAX_ATTRIBUTE_BYTES: usize = 64 * 1024;

/// Copies the attributes of the file that will be replaced. Fails if one cannot be set, because the
/// file can be written in place then.
pub(super) fn copy_attributes(from: &File, to: &File) -> io::Result<()> {
    let names = names(from)?;
    for name in &names {
        if CONTENT_ATTRIBUTES.contains(&name.as_c_str()) {
            continue;
        }
        let Some(value) = value(from, name)? else {
            continue;
        };
        if self::value(to, name)?.is_none_or(|own| own != value) {
            rustix::fs::fsetxattr(to, name.as_c_str(), &value, XattrFlags::empty())?;
        }
    }
    if !names.iter().any(|name| name.as_c_str() == ACCESS_LIST) {
        match rustix::fs::fremovexattr(to, ACCESS_LIST) {
            Ok(()) | Err(Errno::NODATA | Errno::OPNOTSUPP | Errno::INVAL) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn names(file: &File) -> io::Result<Vec<CString>> {
    let list = match read_all(|buffer| rustix::fs::flistxattr(file, buffer)) {
        Ok(list) => list,
        // The file system has no attributes.
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    Ok(list
        .split_inclusive(|byte| *byte == 0)
        .filter_map(|name| Some(CStr::from_bytes_with_nul(name).ok()?.to_owned()))
        .collect())
}

/// Returns an attribute; `None` if the file does not have it.
fn value(file: &File, name: &CStr) -> io::Result<Option<Vec<u8>>> {
    match read_all(|buffer| rustix::fs::fgetxattr(file, name, buffer)) {
        Ok(value) => Ok(Some(value)),
        Err(Errno::NODATA) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn read_all(read: impl FnOnce(&mut [u8]) -> Result<usize, Errno>) -> Result<Vec<u8>, Errno> {
    let mut buffer = vec![0; MAX_ATTRIBUTE_BYTES];
    let size = read(&mut buffer)?;
    buffer.truncate(size);
    Ok(buffer)
}
