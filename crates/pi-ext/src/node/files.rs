//! File operations: native half of `fs`.
//!
//! Paths are absolute: the JavaScript half resolves them against `process.cwd()`, which may differ
//! from the working directory of this process.

mod descriptors;
mod directories;
mod metadata;

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::time::{Duration, SystemTime};

use serde::Deserialize;
use serde_json::json;

pub(crate) use descriptors::OpenFiles;

use super::{NativeError, NativeRequest};
use crate::engine::NativeReply;

/// Maximum size for `readFile`, in bytes. Larger files must be read through a stream or descriptor.
const MAX_READ: u64 = 512 * 1024 * 1024;

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct FsArguments {
    path: String,
    destination: String,
    flag: String,
    mode: Option<u32>,
    recursive: bool,
    force: bool,
    follow: bool,
    prefix: String,
    length: u64,
    position: Option<u64>,
    descriptor: i32,
    modified: f64,
    accessed: f64,
    user: u32,
    group: u32,
    exclusive: bool,
}

pub(super) fn run(files: &OpenFiles, request: &NativeRequest) -> Result<NativeReply, NativeError> {
    let arguments: FsArguments = request.read()?;
    let path = Path::new(&arguments.path);
    let failed = |system_call: &'static str| {
        let path = arguments.path.clone();
        move |error: std::io::Error| NativeError::from_io(&error, system_call, Some(&path))
    };
    match request.operation.as_str() {
        "readFile" => read_file(path).map_err(failed("open")),
        "writeFile" => {
            let bytes = request.bytes.as_deref().unwrap_or_default();
            let flag = if arguments.flag.is_empty() {
                "w"
            } else {
                &arguments.flag
            };
            descriptors::open_with(path, flag, arguments.mode)
                .and_then(|mut file| file.write_all(bytes))
                .map_err(failed("open"))?;
            Ok(NativeReply::Nothing)
        }
        "exists" => Ok(NativeReply::Json(json!(path.exists()))),
        "access" => metadata::access(path, arguments.mode.unwrap_or(0))
            .map(|()| NativeReply::Nothing)
            .map_err(failed("access")),
        "stat" => fs::metadata(path)
            .map(|it| metadata::describe(&it))
            .map_err(failed("stat")),
        "lstat" => fs::symlink_metadata(path)
            .map(|it| metadata::describe(&it))
            .map_err(failed("lstat")),
        "readdir" => directories::list(path, arguments.recursive).map_err(failed("scandir")),
        "mkdir" => {
            directories::create(path, arguments.recursive, arguments.mode).map_err(failed("mkdir"))
        }
        "mkdtemp" => directories::create_temporary(&arguments.prefix)
            .map_err(|error| NativeError::from_io(&error, "mkdtemp", Some(&arguments.prefix))),
        "rm" => {
            directories::remove(path, arguments.recursive, arguments.force).map_err(failed("rm"))
        }
        "rmdir" => fs::remove_dir(path)
            .map(|()| NativeReply::Nothing)
            .map_err(failed("rmdir")),
        "unlink" => fs::remove_file(path)
            .map(|()| NativeReply::Nothing)
            .map_err(failed("unlink")),
        "realpath" => fs::canonicalize(path)
            .map(|found| NativeReply::Text(found.to_string_lossy().into_owned()))
            .map_err(failed("realpath")),
        "readlink" => fs::read_link(path)
            .map(|found| NativeReply::Text(found.to_string_lossy().into_owned()))
            .map_err(failed("readlink")),
        "chmod" => metadata::set_mode(path, arguments.mode.unwrap_or(0o666))
            .map(|()| NativeReply::Nothing)
            .map_err(failed("chmod")),
        "chown" => metadata::set_owner(path, arguments.user, arguments.group, arguments.follow)
            .map(|()| NativeReply::Nothing)
            .map_err(failed("chown")),
        "utimes" => set_times(path, arguments.accessed, arguments.modified)
            .map(|()| NativeReply::Nothing)
            .map_err(failed("utime")),
        "truncate" => fs::OpenOptions::new()
            .write(true)
            .open(path)
            .and_then(|file| file.set_len(arguments.length))
            .map(|()| NativeReply::Nothing)
            .map_err(failed("open")),
        operation => run_with_destination(operation, &arguments, path)
            .or_else(|| descriptors::run(files, request, &arguments))
            .unwrap_or_else(|| Err(request.unknown("fs"))),
    }
}

/// Runs an operation with a source and a destination.
fn run_with_destination(
    operation: &str,
    arguments: &FsArguments,
    path: &Path,
) -> Option<Result<NativeReply, NativeError>> {
    let destination = Path::new(&arguments.destination);
    let (system_call, outcome) = match operation {
        "rename" => ("rename", fs::rename(path, destination)),
        "copyFile" => (
            "copyfile",
            copy_file(path, destination, arguments.exclusive),
        ),
        "cp" => (
            "cp",
            directories::copy(path, destination, arguments.recursive, arguments.force),
        ),
        "link" => ("link", fs::hard_link(path, destination)),
        "symlink" => ("symlink", metadata::create_symlink(path, destination)),
        _ => return None,
    };
    Some(outcome.map(|()| NativeReply::Nothing).map_err(|error| {
        NativeError::from_io(&error, system_call, Some(&arguments.path))
            .with_destination(&arguments.destination)
    }))
}

fn read_file(path: &Path) -> std::io::Result<NativeReply> {
    let file = fs::File::open(path)?;
    let size = file.metadata()?.len().min(MAX_READ);
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
    // Some files, such as devices, are longer than their metadata reports.
    file.take(MAX_READ + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_READ {
        return Err(std::io::Error::other(
            "the file is too large for readFile; use a stream",
        ));
    }
    Ok(NativeReply::Bytes(bytes))
}

fn copy_file(path: &Path, destination: &Path, exclusive: bool) -> std::io::Result<()> {
    if exclusive {
        // Create the destination atomically, since checking first would race with other processes.
        // The metadata call prevents creating it if the source does not exist.
        fs::metadata(path)?;
        descriptors::open_with(destination, "wx", None)?;
    }
    fs::copy(path, destination).map(drop)
}

fn set_times(path: &Path, accessed: f64, modified: f64) -> std::io::Result<()> {
    let at = |seconds: f64| {
        SystemTime::UNIX_EPOCH
            .checked_add(Duration::try_from_secs_f64(seconds).unwrap_or_default())
            .unwrap_or(SystemTime::UNIX_EPOCH)
    };
    let times = fs::FileTimes::new()
        .set_accessed(at(accessed))
        .set_modified(at(modified));
    fs::File::open(path)?.set_times(times)
}
