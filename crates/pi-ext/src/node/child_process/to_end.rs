//! A child that is run to its end while JavaScript waits: `spawnSync` and its kin.
//!
//! As in Node, a child that takes too long or says too much is killed, and nobody waits for those it started
//! that hold its output open.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, ChildStdin, Command};

use super::{Spawn, command, signals, spawn_error};
use crate::engine::Reply;
use crate::node::NativeError;
use crate::node::files::OpenFiles;

/// A child said more than may be kept.
struct Overflow;

/// Runs a child to its end, feeding it and keeping its output.
pub(super) fn run(
    spawn: &Spawn,
    files: &OpenFiles,
    input: Option<Vec<u8>>,
) -> Result<Reply, NativeError> {
    let follow_on_own_runtime = || {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| NativeError::from_io(&error, "spawn", None))?
            .block_on(follow(spawn, files, input))
    };
    // The thread of JavaScript has a runtime already, and that one stands still.
    std::thread::scope(|scope| scope.spawn(follow_on_own_runtime).join())
        .unwrap_or_else(|_panicked| Err(NativeError::new("the child could not be followed")))
}

async fn follow(
    spawn: &Spawn,
    files: &OpenFiles,
    input: Option<Vec<u8>>,
) -> Result<Reply, NativeError> {
    let mut child = Command::from(command(spawn, files)?)
        .spawn()
        .map_err(|error| spawn_error(&error, spawn))?;
    let pid = child.id();
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let limit = spawn.max_buffer.unwrap_or(usize::MAX);
    let (mut output, mut errors) = (Vec::new(), Vec::new());
    let ending = async {
        tokio::try_join!(
            keep(stdout, limit, &mut output),
            keep(stderr, limit, &mut errors)
        )?;
        Ok(child.wait().await)
    };
    let ending = async {
        tokio::select! {
            ended = ending => ended,
            never = feed(stdin, input) => never,
        }
    };
    let ended = match spawn.timeout {
        0 => Ok(ending.await),
        timeout => tokio::time::timeout(Duration::from_millis(timeout), ending).await,
    };
    let timed_out = ended.is_err();
    let overflowed = matches!(ended, Ok(Err(Overflow)));
    let status = match ended {
        Ok(Ok(status)) => status,
        Ok(Err(Overflow)) | Err(_) => kill(&mut child).await,
    };
    let status = status.map_err(|error| NativeError::from_io(&error, "wait", None))?;
    let mut description = signals::describe(status);
    if let Value::Object(fields) = &mut description {
        fields.insert("pid".to_owned(), json!(pid));
        fields.insert("timedOut".to_owned(), json!(timed_out));
        fields.insert("overflowed".to_owned(), json!(overflowed));
    }
    Ok(Reply::Parts(description, vec![output, errors]))
}

/// Gives a child its input, then stays for good: the child's end is another's matter.
async fn feed<Never>(stdin: Option<ChildStdin>, input: Option<Vec<u8>>) -> Never {
    if let (Some(mut stdin), Some(input)) = (stdin, input) {
        // A child that does not read its input is no failure of ours.
        drop(stdin.write_all(&input).await);
    }
    std::future::pending().await
}

/// Reads to the end, or until there is one byte more than may be kept.
async fn keep(
    stream: Option<impl AsyncRead + Unpin>,
    limit: usize,
    kept: &mut Vec<u8>,
) -> Result<(), Overflow> {
    if let Some(stream) = stream {
        let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
        // What was read before an error is output all the same.
        drop(stream.take(most).read_to_end(kept).await);
    }
    if kept.len() > limit {
        return Err(Overflow);
    }
    Ok(())
}

async fn kill(child: &mut Child) -> std::io::Result<std::process::ExitStatus> {
    // It may have ended on its own just now.
    drop(child.start_kill());
    child.wait().await
}
