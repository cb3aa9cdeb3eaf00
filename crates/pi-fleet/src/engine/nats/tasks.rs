//! Tasks in the stream of states. A task that one message cannot carry is a file, and its message refers to it.

use async_nats::jetstream::message::PublishMessage;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::files;
use super::names::RunAddress;
use super::server::{Server, parse, server_error};
use crate::engine::EngineError;
use crate::task::FleetTask;

/// Longest task that is stored as a message. The server accepts messages of 1 MiB by default.
const INLINE_BYTES: usize = 512 * 1024;

/// Longest task.
const MAX_BYTES: usize = 16 * 1024 * 1024;

const ACTION: &str = "store a task";

/// The message of a task that is a file.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct TaskReference {
    id: String,
    /// SHA-256 of the task, which names its file: a file never changes.
    digest: String,
}

/// Refuses a task that is too long for a server.
pub(super) fn check_length(task: &FleetTask) -> Result<(), EngineError> {
    check(&task.id, serialize(task)?.len(), MAX_BYTES)
}

/// Refuses the prompt of a reopened run if its record would be too long.
pub(super) fn check_prompt(task: &str, prompt: Option<&str>) -> Result<(), EngineError> {
    let line = serde_json::to_vec(&prompt).map_err(|error| server_error(ACTION, &error))?;
    check(task, line.len(), INLINE_BYTES)
}

fn check(task: &str, bytes: usize, limit: usize) -> Result<(), EngineError> {
    let task = task.to_owned();
    if bytes > limit {
        return Err(EngineError::TaskTooLong { task, bytes });
    }
    Ok(())
}

fn serialize(task: &FleetTask) -> Result<Vec<u8>, EngineError> {
    serde_json::to_vec(task).map_err(|error| server_error(ACTION, &error))
}

/// Stores a task; returns `false` if the run has one.
pub(super) async fn store(
    server: &Server,
    run: &RunAddress,
    task: &FleetTask,
) -> Result<bool, EngineError> {
    let (stream, subject) = (server.names.state_stream(), server.names.task(run));
    let mut line = serialize(task)?;
    if line.len() > INLINE_BYTES {
        if server.last(&stream, &subject).await?.is_some() {
            return Ok(false);
        }
        let digest = pi_protocol::hex(&Sha256::digest(&line));
        let file = server.names.task_file(&run.batch, &digest);
        files::store_at(server, file, &line).await?;
        let id = task.id.clone();
        let reference = serde_json::to_vec(&TaskReference { id, digest });
        line = reference.map_err(|error| server_error(ACTION, &error))?;
    }
    let message = PublishMessage::build()
        .payload(line.into())
        .expected_last_subject_sequence(0);
    match server.publish(subject.clone(), message).await {
        Ok(_sequence) => Ok(true),
        Err(error) => {
            let found = server.last(&stream, &subject).await?;
            found.map(|_stored| false).ok_or(error)
        }
    }
}

/// Parses the message of a task, and reads its file if it is one.
pub(super) async fn read(
    server: &Server,
    run: &RunAddress,
    message: &[u8],
) -> Result<FleetTask, EngineError> {
    let Ok(reference) = serde_json::from_slice::<TaskReference>(message) else {
        return parse(&run.task, message);
    };
    let file = server.names.task_file(&run.batch, &reference.digest);
    let content = files::read_at(server, &file).await?;
    let content = content.ok_or_else(|| EngineError::DamagedLog {
        run: run.task.clone(),
        reason: "its task is not stored".to_owned(),
    })?;
    parse(&run.task, &content)
}
