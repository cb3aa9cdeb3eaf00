//! Errors with the properties of Node's system errors.

use rquickjs::{Ctx, Error, Exception, IntoJs as _, Result, Value};

use crate::host::HostError;

/// An error to throw in JavaScript.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct NativeError(Box<ErrorDetails>);

/// Boxed to keep the `Result` of operations small.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct ErrorDetails {
    message: String,
    code: Option<String>,
    errno: Option<i32>,
    system_call: Option<String>,
    path: Option<String>,
    destination: Option<String>,
}

impl NativeError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(Box::new(ErrorDetails {
            message: message.into(),
            ..ErrorDetails::default()
        }))
    }

    pub(crate) fn with_code(mut self, code: &str) -> Self {
        self.0.code = Some(code.to_owned());
        self
    }

    /// Formats a failed system call like Node: `ENOENT: no such file or directory, open 'x'`.
    pub(crate) fn from_io(error: &std::io::Error, system_call: &str, path: Option<&str>) -> Self {
        let (code, text) = describe(error);
        let location = path.map(|path| format!(" '{path}'")).unwrap_or_default();
        Self(Box::new(ErrorDetails {
            message: format!("{code}: {text}, {system_call}{location}"),
            code: Some(code),
            errno: error.raw_os_error().map(|number| -number),
            system_call: Some(system_call.to_owned()),
            path: path.map(str::to_owned),
            destination: None,
        }))
    }

    pub(crate) fn with_destination(mut self, destination: &str) -> Self {
        self.0.message = format!("{} -> '{destination}'", self.0.message);
        self.0.destination = Some(destination.to_owned());
        self
    }

    pub(crate) fn into_value<'js>(self, ctx: &Ctx<'js>) -> Result<Value<'js>> {
        let details = *self.0;
        let exception = Exception::from_message(ctx.clone(), &details.message)?;
        let object = exception.as_object();
        if let Some(code) = details.code {
            object.set("code", code)?;
        }
        if let Some(errno) = details.errno {
            object.set("errno", errno)?;
        }
        if let Some(system_call) = details.system_call {
            object.set("syscall", system_call)?;
        }
        if let Some(path) = details.path {
            object.set("path", path)?;
        }
        if let Some(destination) = details.destination {
            object.set("dest", destination)?;
        }
        exception.into_js(ctx)
    }

    /// Throws the error in JavaScript.
    pub(crate) fn throw(self, ctx: &Ctx<'_>) -> Error {
        match self.into_value(ctx) {
            Ok(value) => ctx.throw(value),
            Err(error) => error,
        }
    }
}

impl From<HostError> for NativeError {
    fn from(error: HostError) -> Self {
        Self(Box::new(ErrorDetails {
            message: error.message,
            code: error.code,
            ..ErrorDetails::default()
        }))
    }
}

/// Returns the code and description of a system error.
fn describe(error: &std::io::Error) -> (String, String) {
    use std::io::ErrorKind;
    let (code, text) = match error.kind() {
        ErrorKind::NotFound => ("ENOENT", "no such file or directory"),
        ErrorKind::PermissionDenied => match error.raw_os_error() {
            Some(1) => ("EPERM", "operation not permitted"),
            _ => ("EACCES", "permission denied"),
        },
        ErrorKind::AlreadyExists => ("EEXIST", "file already exists"),
        ErrorKind::NotADirectory => ("ENOTDIR", "not a directory"),
        ErrorKind::IsADirectory => ("EISDIR", "illegal operation on a directory"),
        ErrorKind::DirectoryNotEmpty => ("ENOTEMPTY", "directory not empty"),
        ErrorKind::ReadOnlyFilesystem => ("EROFS", "read-only file system"),
        ErrorKind::StorageFull => ("ENOSPC", "no space left on device"),
        ErrorKind::CrossesDevices => ("EXDEV", "cross-device link not permitted"),
        ErrorKind::InvalidInput => ("EINVAL", "invalid argument"),
        ErrorKind::InvalidFilename => ("ENAMETOOLONG", "name too long"),
        ErrorKind::ResourceBusy => ("EBUSY", "resource busy or locked"),
        ErrorKind::ExecutableFileBusy => ("ETXTBSY", "text file is busy"),
        ErrorKind::BrokenPipe => ("EPIPE", "broken pipe"),
        ErrorKind::ConnectionRefused => ("ECONNREFUSED", "connection refused"),
        ErrorKind::ConnectionReset => ("ECONNRESET", "connection reset by peer"),
        ErrorKind::AddrInUse => ("EADDRINUSE", "address already in use"),
        ErrorKind::TimedOut => ("ETIMEDOUT", "connection timed out"),
        ErrorKind::HostUnreachable => ("EHOSTUNREACH", "host is unreachable"),
        _ => {
            let code = match error.raw_os_error() {
                Some(9) => "EBADF",
                Some(24) => "EMFILE",
                Some(40) => "ELOOP",
                _ => "EIO",
            };
            return (code.to_owned(), error.to_string());
        }
    };
    (code.to_owned(), text.to_owned())
}
