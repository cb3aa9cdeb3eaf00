//! Open files by number.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::json;

use super::{Arguments, metadata};
use crate::engine::Reply;
use crate::node::{NativeError, Request};

/// Numbers start above the three standard streams, and high enough to be told from real ones.
const FIRST: i32 = 1000;

/// Most bytes one read gives.
const LARGEST_READ: u64 = 64 * 1024 * 1024;

/// Files that JavaScript opened.
#[derive(Debug, Default)]
pub(crate) struct OpenFiles(Mutex<Table>);

#[derive(Debug, Default)]
struct Table {
    files: HashMap<i32, Arc<File>>,
    opened: i32,
}

impl OpenFiles {
    fn add(&self, file: File) -> i32 {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        table.opened += 1;
        let number = FIRST + table.opened;
        table.files.insert(number, Arc::new(file));
        number
    }

    /// Returns an open file.
    pub(in crate::node) fn get(
        &self,
        number: i32,
        system_call: &str,
    ) -> Result<Arc<File>, NativeError> {
        let table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        table
            .files
            .get(&number)
            .cloned()
            .ok_or_else(|| bad_descriptor(system_call))
    }

    fn close(&self, number: i32) -> Result<(), NativeError> {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        table
            .files
            .remove(&number)
            .map(drop)
            .ok_or_else(|| bad_descriptor("close"))
    }
}

fn bad_descriptor(system_call: &str) -> NativeError {
    NativeError::new(format!("EBADF: bad file descriptor, {system_call}")).with_code("EBADF")
}

/// Opens a file by one of Node's flags (`r`, `w+`, `ax`, …), or by `c`, for which Node has only numbers: what is not
/// there is made, and what is there stays.
pub(super) fn open_with(path: &Path, flag: &str, mode: Option<u32>) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    let plus = flag.contains('+');
    let exclusive = flag.contains('x');
    match flag.chars().next() {
        Some('r') => options.read(true).write(plus),
        Some('w') => options.read(plus).write(true).truncate(!exclusive),
        Some('c') => options.read(plus).write(true).truncate(false),
        Some('a') => options.read(plus).append(true),
        _ => return Err(std::io::ErrorKind::InvalidInput.into()),
    };
    if !flag.starts_with('r') {
        if exclusive {
            options.create_new(true);
        } else {
            options.create(true);
        }
    }
    #[cfg(unix)]
    if let Some(mode) = mode {
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
    }
    #[cfg(not(unix))]
    let _mode = mode;
    options.open(path)
}

/// Performs an operation on a descriptor; `None` if it is none of these.
pub(super) fn run(
    files: &OpenFiles,
    request: &Request,
    arguments: &Arguments,
) -> Option<Result<Reply, NativeError>> {
    let number = arguments.descriptor;
    let io = |system_call: &'static str| {
        move |error: std::io::Error| NativeError::from_io(&error, system_call, None)
    };
    let with = |system_call: &'static str, work: &dyn Fn(&File) -> std::io::Result<Reply>| {
        let file = files.get(number, system_call)?;
        work(&file).map_err(io(system_call))
    };
    Some(match request.operation.as_str() {
        "open" => open_with(Path::new(&arguments.path), &arguments.flag, arguments.mode)
            .map(|file| Reply::Json(json!(files.add(file))))
            .map_err(|error| NativeError::from_io(&error, "open", Some(&arguments.path))),
        "close" => files.close(number).map(|()| Reply::Nothing),
        "read" => with("read", &|file| {
            read(file, arguments.length, arguments.position)
        }),
        "write" => with("write", &|file| {
            write(
                file,
                request.bytes.as_deref().unwrap_or_default(),
                arguments.position,
            )
        }),
        "fstat" => with("fstat", &|file| Ok(metadata::describe(&file.metadata()?))),
        "fsync" => with("fsync", &|file| file.sync_all().map(|()| Reply::Nothing)),
        "ftruncate" => with("ftruncate", &|file| {
            file.set_len(arguments.length).map(|()| Reply::Nothing)
        }),
        "fchmod" => with("fchmod", &|file| {
            metadata::set_file_mode(file, arguments.mode.unwrap_or(0o666)).map(|()| Reply::Nothing)
        }),
        _ => return None,
    })
}

fn read(mut file: &File, length: u64, position: Option<u64>) -> std::io::Result<Reply> {
    let length = length.min(LARGEST_READ);
    let before = file.stream_position().ok();
    if let Some(position) = position {
        file.seek(SeekFrom::Start(position))?;
    }
    let mut buffer = vec![0; usize::try_from(length).unwrap_or_default()];
    let count = file.read(&mut buffer)?;
    buffer.truncate(count);
    restore(file, position.and(before))?;
    Ok(Reply::Bytes(buffer))
}

fn write(mut file: &File, bytes: &[u8], position: Option<u64>) -> std::io::Result<Reply> {
    let before = file.stream_position().ok();
    if let Some(position) = position {
        file.seek(SeekFrom::Start(position))?;
    }
    file.write_all(bytes)?;
    restore(file, position.and(before))?;
    Ok(Reply::Json(json!(bytes.len())))
}

/// A read or write at a position leaves the file's own position alone.
fn restore(mut file: &File, position: Option<u64>) -> std::io::Result<()> {
    match position {
        Some(position) => file.seek(SeekFrom::Start(position)).map(drop),
        None => Ok(()),
    }
}
