//! Child processes: native half of `child_process` and `process.kill`.

mod signals;
mod spawn_sync;

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Stdio;
use std::rc::Rc;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::Mutex;

use spawn_sync::SyncEnvironment;

use super::files::OpenFiles;
use super::{NativeError, NativeFuture, NativeRequest};
use crate::child_guard::{ChildGuard, ChildUse};
use crate::child_launcher::SharedLauncher;
use crate::engine::{NativeReply, Realm};

/// Maximum size of an output chunk passed to JavaScript.
const CHUNK: usize = 64 * 1024;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum StdioKind {
    #[default]
    Pipe,
    Ignore,
    Inherit,
    /// A file descriptor opened by JavaScript.
    File(i32),
}

impl StdioKind {
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
struct SpawnArguments {
    file: String,
    arguments: Vec<String>,
    cwd: PathBuf,
    env: HashMap<String, String>,
    #[serde(default)]
    streams: [StdioKind; 3],
    #[serde(default)]
    detached: bool,
    #[serde(default)]
    timeout: u64,
    #[serde(default)]
    max_buffer: Option<usize>,
    #[serde(default)]
    uid: Option<u32>,
    #[serde(default)]
    gid: Option<u32>,
}

/// A running child process. Each stream is locked by the operation that uses it.
struct RunningChild {
    child: Mutex<(Child, ChildGuard)>,
    stdin: Mutex<Option<ChildStdin>>,
    stdout: Mutex<Option<Box<dyn AsyncRead + Unpin>>>,
    stderr: Mutex<Option<Box<dyn AsyncRead + Unpin>>>,
}

/// Runs a synchronous operation.
pub(super) fn call(realm: &Rc<Realm>, request: &NativeRequest) -> Result<NativeReply, NativeError> {
    match request.operation.as_str() {
        "spawn" => {
            count_child(realm);
            spawn(realm, &request.read()?)
        }
        "spawnSync" => {
            count_child(realm);
            let spawn: SpawnArguments = request.read()?;
            let input = request.bytes.clone();
            let environment = SyncEnvironment {
                files: &realm.resources.files,
                heartbeat: &realm.heartbeat,
                supervisor: &realm.options.child_supervisor,
                launcher: &realm.options.child_launcher,
            };
            realm
                .watchdog
                .pause(|| spawn_sync::run(&spawn, input, &environment))
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
            signals::kill(pid, signal)
        }
        "release" => {
            realm.resources.release(request.number("id"));
            Ok(NativeReply::Nothing)
        }
        _ => Err(request.unknown("child")),
    }
}

/// Starts an asynchronous operation on a running child.
pub(super) fn start(realm: &Rc<Realm>, request: NativeRequest) -> NativeFuture {
    let Some(running) = realm.resources.get::<RunningChild>(request.number("id")) else {
        return Box::pin(async { Ok(NativeReply::Nothing) });
    };
    Box::pin(async move {
        match request.operation.as_str() {
            "wait" => {
                let (child, guard) = &mut *running.child.lock().await;
                let status = child.wait().await;
                drop(guard.take());
                let status = status.map_err(|error| NativeError::from_io(&error, "wait", None))?;
                Ok(NativeReply::Json(signals::describe(status)))
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
                Ok(NativeReply::Nothing)
            }
            "closeStdin" => {
                drop(running.stdin.lock().await.take());
                Ok(NativeReply::Nothing)
            }
            _ => Err(request.unknown("child")),
        }
    })
}

/// Reads available bytes. Returns nothing at the end of the stream.
async fn read(
    source: &Mutex<Option<Box<dyn AsyncRead + Unpin>>>,
) -> Result<NativeReply, NativeError> {
    let mut source = source.lock().await;
    let Some(stream) = source.as_mut() else {
        return Ok(NativeReply::Nothing);
    };
    let mut buffer = vec![0; CHUNK];
    match stream.read(&mut buffer).await {
        Ok(0) => {
            *source = None;
            Ok(NativeReply::Nothing)
        }
        Ok(count) => {
            buffer.truncate(count);
            Ok(NativeReply::Bytes(buffer))
        }
        Err(error) => Err(NativeError::from_io(&error, "read", None)),
    }
}

/// Counts a child process for the extension that starts it.
fn count_child(realm: &Realm) {
    if let Some(extension) = realm.owner().charged {
        realm.options.running_hooks.meter().add_child(&extension);
    }
}

fn spawn(realm: &Rc<Realm>, spawn: &SpawnArguments) -> Result<NativeReply, NativeError> {
    let launcher = &realm.options.child_launcher;
    let mut command = Command::from(command(spawn, &realm.resources.files, launcher)?);
    let supervisor = &realm.options.child_supervisor;
    if !spawn.detached {
        supervisor.prepare();
    }
    let mut child = command
        .spawn()
        .map_err(|error| spawn_error(&error, spawn))?;
    let pid = child.id();
    let guard = supervisor.supervise(pid.filter(|_| !spawn.detached), ChildUse::Background);
    let stdout = child.stdout.take();
    let stderr = child.stderr.take();
    let running = RunningChild {
        stdin: Mutex::new(child.stdin.take()),
        stdout: Mutex::new(stdout.map(|stream| Box::new(stream) as Box<dyn AsyncRead + Unpin>)),
        stderr: Mutex::new(stderr.map(|stream| Box::new(stream) as Box<dyn AsyncRead + Unpin>)),
        child: Mutex::new((child, guard)),
    };
    let id = realm.resources.insert(running);
    Ok(NativeReply::Json(json!({ "id": id, "pid": pid })))
}

fn command(
    spawn: &SpawnArguments,
    files: &OpenFiles,
    launcher: &SharedLauncher,
) -> Result<std::process::Command, NativeError> {
    let path = spawn.env.get("PATH").map(OsStr::new);
    let mut command = launcher
        .command(OsStr::new(&spawn.file), path, &spawn.cwd)
        .map_err(|error| spawn_error(&error, spawn))?;
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

fn spawn_error(error: &std::io::Error, spawn: &SpawnArguments) -> NativeError {
    NativeError::from_io(error, &format!("spawn {}", spawn.file), None)
}
