//! Child processes: the Rust half of `child_process` and of `process.kill`.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io::{Read as _, Write as _};
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::rc::Rc;
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::Mutex;

use super::files::OpenFiles;
use super::{NativeError, NativeFuture, Request};
use crate::engine::{Realm, Reply};

/// Bytes of output that are handed to JavaScript at a time.
const CHUNK: usize = 64 * 1024;

/// How often a synchronous child with a time limit is looked at.
const LOOK: Duration = Duration::from_millis(5);

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Stream {
    #[default]
    Pipe,
    Ignore,
    Inherit,
    /// A file that JavaScript has open.
    File(i32),
}

impl Stream {
    fn to_stdio(self, files: &OpenFiles) -> Result<Stdio, NativeError> {
        Ok(match self {
            Self::Pipe => Stdio::piped(),
            Self::Ignore => Stdio::null(),
            Self::Inherit => Stdio::inherit(),
            Self::File(number) => {
                let file = files.get(number, "spawn")?;
                let file = file.try_clone();
                file.map_err(|error| NativeError::from_io(&error, "spawn", None))?
                    .into()
            }
        })
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spawn {
    file: String,
    arguments: Vec<String>,
    cwd: PathBuf,
    env: HashMap<String, String>,
    #[serde(default)]
    streams: [Stream; 3],
    #[serde(default)]
    detached: bool,
    /// Milliseconds.
    #[serde(default)]
    timeout: u64,
    #[serde(default)]
    max_buffer: Option<usize>,
    #[serde(default)]
    uid: Option<u32>,
    #[serde(default)]
    gid: Option<u32>,
}

/// A running child; each part is taken by the operation that uses it.
struct Running {
    child: Mutex<Child>,
    stdin: Mutex<Option<ChildStdin>>,
    stdout: Mutex<Option<Box<dyn AsyncRead + Unpin>>>,
    stderr: Mutex<Option<Box<dyn AsyncRead + Unpin>>>,
    status: RefCell<Option<Value>>,
}

/// Performs what has a synchronous form.
pub(super) fn call(realm: &Rc<Realm>, request: &Request) -> Result<Reply, NativeError> {
    match request.operation.as_str() {
        "spawn" => spawn(realm, &request.read()?),
        "spawnSync" => {
            let spawn: Spawn = request.read()?;
            let input = request.bytes.clone();
            let files = &realm.resources.files;
            realm.watchdog.pause(|| run_to_end(&spawn, files, input))
        }
        "kill" => {
            let pid = request
                .arguments
                .get("pid")
                .and_then(Value::as_i64)
                .unwrap_or_default();
            let signal = request
                .arguments
                .get("signal")
                .and_then(Value::as_str)
                .unwrap_or("SIGTERM");
            kill(pid, signal)
        }
        "release" => {
            realm.resources.release(id_of(request));
            Ok(Reply::Nothing)
        }
        _ => Err(request.unknown("child")),
    }
}

fn id_of(request: &Request) -> u32 {
    let id = request
        .arguments
        .get("id")
        .and_then(Value::as_u64)
        .unwrap_or_default();
    u32::try_from(id).unwrap_or_default()
}

/// Begins what waits.
pub(super) fn start(realm: &Rc<Realm>, request: Request) -> NativeFuture {
    let Some(running) = realm.resources.get::<Running>(id_of(&request)) else {
        return Box::pin(async { Ok(Reply::Nothing) });
    };
    Box::pin(async move {
        match request.operation.as_str() {
            "wait" => {
                let status = running.child.lock().await.wait().await;
                let status = status.map_err(|error| NativeError::from_io(&error, "wait", None))?;
                let status = describe(status);
                *running.status.borrow_mut() = Some(status.clone());
                Ok(Reply::Json(status))
            }
            "readStdout" => read(&running.stdout).await,
            "readStderr" => read(&running.stderr).await,
            "write" => {
                if let Some(stdin) = running.stdin.lock().await.as_mut() {
                    let bytes = request.bytes.unwrap_or_default();
                    let written = async {
                        stdin.write_all(&bytes).await?;
                        stdin.flush().await
                    };
                    written
                        .await
                        .map_err(|error| NativeError::from_io(&error, "write", None))?;
                }
                Ok(Reply::Nothing)
            }
            "closeStdin" => {
                drop(running.stdin.lock().await.take());
                Ok(Reply::Nothing)
            }
            _ => Err(request.unknown("child")),
        }
    })
}

/// Reads what there is; nothing at the end.
async fn read(source: &Mutex<Option<Box<dyn AsyncRead + Unpin>>>) -> Result<Reply, NativeError> {
    let mut source = source.lock().await;
    let Some(stream) = source.as_mut() else {
        return Ok(Reply::Nothing);
    };
    let mut buffer = vec![0; CHUNK];
    match stream.read(&mut buffer).await {
        Ok(0) => {
            *source = None;
            Ok(Reply::Nothing)
        }
        Ok(count) => {
            buffer.truncate(count);
            Ok(Reply::Bytes(buffer))
        }
        Err(error) => Err(NativeError::from_io(&error, "read", None)),
    }
}

fn spawn(realm: &Rc<Realm>, spawn: &Spawn) -> Result<Reply, NativeError> {
    let mut command = Command::from(command(spawn, &realm.resources.files)?);
    let mut child = command
        .spawn()
        .map_err(|error| spawn_error(&error, spawn))?;
    let pid = child.id();
    let stdout = child.stdout.take();
    let stderr = child.stderr.take();
    let running = Running {
        stdin: Mutex::new(child.stdin.take()),
        stdout: Mutex::new(stdout.map(|stream| Box::new(stream) as Box<dyn AsyncRead + Unpin>)),
        stderr: Mutex::new(stderr.map(|stream| Box::new(stream) as Box<dyn AsyncRead + Unpin>)),
        child: Mutex::new(child),
        status: RefCell::new(None),
    };
    let id = realm.resources.keep(running);
    Ok(Reply::Json(json!({ "id": id, "pid": pid })))
}

fn command(spawn: &Spawn, files: &OpenFiles) -> Result<std::process::Command, NativeError> {
    let mut command = std::process::Command::new(&spawn.file);
    let [stdin, stdout, stderr] = spawn.streams;
    command
        .args(&spawn.arguments)
        .current_dir(&spawn.cwd)
        .env_clear()
        .envs(&spawn.env)
        .stdin(stdin.to_stdio(files)?)
        .stdout(stdout.to_stdio(files)?)
        .stderr(stderr.to_stdio(files)?);
    #[cfg(unix)]
    {
        use std::os::unix::process::CommandExt as _;
        if spawn.detached {
            command.process_group(0);
        }
        if let Some(uid) = spawn.uid {
            command.uid(uid);
        }
        if let Some(gid) = spawn.gid {
            command.gid(gid);
        }
    }
    #[cfg(not(unix))]
    let _unix_only = (spawn.detached, spawn.uid, spawn.gid);
    Ok(command)
}

fn spawn_error(error: &std::io::Error, spawn: &Spawn) -> NativeError {
    NativeError::from_io(error, &format!("spawn {}", spawn.file), None)
}

/// Runs a child to its end, feeding it and keeping its output.
fn run_to_end(
    spawn: &Spawn,
    files: &OpenFiles,
    input: Option<Vec<u8>>,
) -> Result<Reply, NativeError> {
    let began = Instant::now();
    let mut child = command(spawn, files)?
        .spawn()
        .map_err(|error| spawn_error(&error, spawn))?;
    let pid = child.id();
    let limit = spawn.max_buffer.unwrap_or(usize::MAX);
    let stdin = child.stdin.take();
    let stdout = child.stdout.take();
    let stderr = child.stderr.take();
    let (status, stdout, stderr, timed_out) = std::thread::scope(|scope| {
        scope.spawn(move || {
            if let (Some(mut stdin), Some(input)) = (stdin, input) {
                // A child that does not read its input is no failure of ours.
                drop(stdin.write_all(&input));
            }
        });
        let stdout = scope.spawn(move || stdout.map(|stream| drain(stream, limit)));
        let stderr = scope.spawn(move || stderr.map(|stream| drain(stream, limit)));
        let (status, timed_out) = wait(&mut child, spawn.timeout, began);
        let output = |reader: std::thread::ScopedJoinHandle<'_, Option<Vec<u8>>>| {
            reader.join().ok().flatten().unwrap_or_default()
        };
        (status, output(stdout), output(stderr), timed_out)
    });
    let status = status.map_err(|error| NativeError::from_io(&error, "wait", None))?;
    let mut description = describe(status);
    if let Value::Object(fields) = &mut description {
        fields.insert("pid".to_owned(), json!(pid));
        fields.insert("timedOut".to_owned(), json!(timed_out));
        let is_over = stdout.len() > limit || stderr.len() > limit;
        fields.insert("overflowed".to_owned(), json!(is_over));
    }
    Ok(Reply::Parts(description, vec![stdout, stderr]))
}

fn wait(
    child: &mut std::process::Child,
    timeout: u64,
    began: Instant,
) -> (std::io::Result<ExitStatus>, bool) {
    if timeout == 0 {
        return (child.wait(), false);
    }
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return (Ok(status), false),
            Ok(None) if began.elapsed() >= Duration::from_millis(timeout) => {
                // It may have ended on its own just now.
                drop(child.kill());
                return (child.wait(), true);
            }
            Ok(None) => std::thread::sleep(LOOK),
            Err(error) => return (Err(error), false),
        }
    }
}

/// Reads to the end, keeping one byte more than the limit as a sign that there was more.
fn drain(mut stream: impl std::io::Read, limit: usize) -> Vec<u8> {
    let mut kept = Vec::new();
    let limit = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    // What was read before an error is output all the same.
    drop((&mut stream).take(limit).read_to_end(&mut kept));
    drop(std::io::copy(&mut stream, &mut std::io::sink()));
    kept
}

fn describe(status: ExitStatus) -> Value {
    #[cfg(unix)]
    {
        use std::os::unix::process::ExitStatusExt as _;
        if let Some(signal) = status.signal() {
            let name = SIGNALS.iter().find(|(_, number)| *number == signal);
            return json!({ "code": null, "signal": name.map(|(name, _)| name) });
        }
    }
    json!({ "code": status.code(), "signal": null })
}

/// Names and numbers of the signals that have the same number on all systems we run on.
const SIGNALS: [(&str, i32); 13] = [
    ("SIGHUP", 1),
    ("SIGINT", 2),
    ("SIGQUIT", 3),
    ("SIGILL", 4),
    ("SIGTRAP", 5),
    ("SIGABRT", 6),
    ("SIGFPE", 8),
    ("SIGKILL", 9),
    ("SIGSEGV", 11),
    ("SIGPIPE", 13),
    ("SIGALRM", 14),
    ("SIGTERM", 15),
    ("SIGXCPU", 24),
];

/// Sends a signal to a process, or to a group when the number is negative.
#[cfg(unix)]
fn kill(pid: i64, signal: &str) -> Result<Reply, NativeError> {
    use rustix::process::{
        Pid, Signal, kill_process, kill_process_group, test_kill_process, test_kill_process_group,
    };
    let failed = |error: rustix::io::Errno| {
        let (code, text) = match error {
            rustix::io::Errno::SRCH => ("ESRCH", "no such process"),
            rustix::io::Errno::PERM => ("EPERM", "operation not permitted"),
            _ => ("EINVAL", "invalid argument"),
        };
        NativeError::new(format!("kill {code}: {text}")).with_code(code)
    };
    let number = i32::try_from(pid.unsigned_abs()).ok();
    let target = number.and_then(Pid::from_raw).ok_or_else(|| {
        NativeError::new(format!("kill EINVAL: {pid} is no process")).with_code("EINVAL")
    })?;
    let signal = match signal {
        "0" => None,
        "SIGHUP" => Some(Signal::HUP),
        "SIGINT" => Some(Signal::INT),
        "SIGQUIT" => Some(Signal::QUIT),
        "SIGABRT" => Some(Signal::ABORT),
        "SIGKILL" => Some(Signal::KILL),
        "SIGPIPE" => Some(Signal::PIPE),
        "SIGALRM" => Some(Signal::ALARM),
        "SIGTERM" => Some(Signal::TERM),
        "SIGUSR1" => Some(Signal::USR1),
        "SIGUSR2" => Some(Signal::USR2),
        "SIGCONT" => Some(Signal::CONT),
        "SIGSTOP" => Some(Signal::STOP),
        "SIGTSTP" => Some(Signal::TSTP),
        "SIGWINCH" => Some(Signal::WINCH),
        other => {
            return Err(NativeError::new(format!("Unknown signal: {other}"))
                .with_code("ERR_UNKNOWN_SIGNAL"));
        }
    };
    match (signal, pid < 0) {
        (Some(signal), false) => kill_process(target, signal),
        (Some(signal), true) => kill_process_group(target, signal),
        (None, false) => test_kill_process(target),
        (None, true) => test_kill_process_group(target),
    }
    .map_err(failed)?;
    Ok(Reply::Nothing)
}

#[cfg(not(unix))]
fn kill(pid: i64, _: &str) -> Result<Reply, NativeError> {
    let outcome = std::process::Command::new("taskkill")
        .args(["/T", "/F", "/PID", &pid.unsigned_abs().to_string()])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    match outcome {
        Ok(status) if status.success() => Ok(Reply::Nothing),
        _ => Err(NativeError::new("kill ESRCH: no such process").with_code("ESRCH")),
    }
}
