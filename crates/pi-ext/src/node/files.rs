//! File operations: the Rust half of `fs`.
//!
//! Paths arrive absolute: the JavaScript half resolves them against `process.cwd()`, which is
//! not the directory of this process.

mod descriptors;
mod metadata;
mod trees;

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::time::{Duration, SystemTime};

use serde::Deserialize;
use serde_json::json;

pub(crate) use descriptors::OpenFiles;

use super::{NativeError, Request};
use crate::engine::Reply;

/// The largest file that is read in one piece; larger ones are read by stream or descriptor.
const LARGEST_READ: u64 = 512 * 1024 * 1024;

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Arguments {
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

/// Performs a file operation.
pub(super) fn run(files: &OpenFiles, request: &Request) -> Result<Reply, NativeError> {
    let arguments: Arguments = request.read()?;
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
            Ok(Reply::Nothing)
        }
        "exists" => Ok(Reply::Json(json!(path.exists()))),
        "access" => metadata::access(path, arguments.mode.unwrap_or(0))
            .map(|()| Reply::Nothing)
            .map_err(failed("access")),
        "stat" => fs::metadata(path)
            .map(|it| metadata::describe(&it))
            .map_err(failed("stat")),
        "lstat" => fs::symlink_metadata(path)
            .map(|it| metadata::describe(&it))
            .map_err(failed("lstat")),
        "readdir" => trees::list(path, arguments.recursive).map_err(failed("scandir")),
        "mkdir" => trees::make(path, arguments.recursive, arguments.mode).map_err(failed("mkdir")),
        "mkdtemp" => trees::make_temporary(&arguments.prefix)
            .map_err(|error| NativeError::from_io(&error, "mkdtemp", Some(&arguments.prefix))),
        "rm" => trees::remove(path, arguments.recursive, arguments.force).map_err(failed("rm")),
        "rmdir" => fs::remove_dir(path)
            .map(|()| Reply::Nothing)
            .map_err(failed("rmdir")),
        "unlink" => fs::remove_file(path)
            .map(|()| Reply::Nothing)
            .map_err(failed("unlink")),
        "realpath" => fs::canonicalize(path)
            .map(|found| Reply::Text(found.to_string_lossy().into_owned()))
            .map_err(failed("realpath")),
        "readlink" => fs::read_link(path)
            .map(|found| Reply::Text(found.to_string_lossy().into_owned()))
            .map_err(failed("readlink")),
        "chmod" => metadata::set_mode(path, arguments.mode.unwrap_or(0o666))
            .map(|()| Reply::Nothing)
            .map_err(failed("chmod")),
        "chown" => metadata::set_owner(path, arguments.user, arguments.group, arguments.follow)
            .map(|()| Reply::Nothing)
            .map_err(failed("chown")),
        "utimes" => set_times(path, arguments.accessed, arguments.modified)
            .map(|()| Reply::Nothing)
            .map_err(failed("utime")),
        "truncate" => fs::OpenOptions::new()
            .write(true)
            .open(path)
            .and_then(|file| file.set_len(arguments.length))
            .map(|()| Reply::Nothing)
            .map_err(failed("open")),
        operation => run_on_two(operation, &arguments, path)
            .or_else(|| descriptors::run(files, request, &arguments))
            .unwrap_or_else(|| Err(request.unknown("fs"))),
    }
}

/// Performs an operation with a source and a destination.
fn run_on_two(
    operation: &str,
    arguments: &Arguments,
    path: &Path,
) -> Option<Result<Reply, NativeError>> {
    let destination = Path::new(&arguments.destination);
    let (system_call, outcome) = match operation {
        "rename" => ("rename", fs::rename(path, destination)),
        "copyFile" => (
            "copyfile",
            copy_file(path, destination, arguments.exclusive),
        ),
        "cp" => (
            "cp",
            trees::copy(path, destination, arguments.recursive, arguments.force),
        ),
        "link" => ("link", fs::hard_link(path, destination)),
        "symlink" => ("symlink", metadata::make_link(path, destination)),
        _ => return None,
    };
    Some(outcome.map(|()| Reply::Nothing).map_err(|error| {
        NativeError::from_io(&error, system_call, Some(&arguments.path)).to(&arguments.destination)
    }))
}

fn read_file(path: &Path) -> std::io::Result<Reply> {
    let file = fs::File::open(path)?;
    let size = file.metadata()?.len().min(LARGEST_READ);
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
    // Some files are longer than they say, such as devices.
    file.take(LARGEST_READ + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST_READ {
        return Err(std::io::Error::other(
            "the file is too large to be read in one piece",
        ));
    }
    Ok(Reply::Bytes(bytes))
}

fn copy_file(path: &Path, destination: &Path, exclusive: bool) -> std::io::Result<()> {
    if exclusive {
        // Made here, since a look and a copy after it would let another in between. Without a source nothing is made.
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
