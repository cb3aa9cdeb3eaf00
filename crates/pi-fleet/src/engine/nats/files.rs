//! Files of batches in a stream, in parts that one message can carry. A file that is stored again replaces the one before;
//! an incomplete upload is ignored.

use async_nats::jetstream::message::PublishMessage;
use serde::{Deserialize, Serialize};

use super::server::{Server, Stored};
use crate::engine::EngineError;

/// Longest part. The server accepts messages of 1 MiB by default.
const PART_BYTES: usize = 512 * 1024;

/// The first line of a message.
#[derive(Serialize, Deserialize)]
struct PartHeader {
    v: u64,
    /// Unique for each time that a file is stored.
    upload: String,
    is_last: bool,
}

pub(super) async fn store(
    server: &Server,
    batch: &str,
    name: &str,
    content: &[u8],
) -> Result<(), EngineError> {
    store_at(server, server.names.file(batch, name), content).await
}

/// Stores a file at a subject.
pub(super) async fn store_at(
    server: &Server,
    subject: String,
    content: &[u8],
) -> Result<(), EngineError> {
    let upload = server.client.new_inbox().replace("_INBOX.", "");
    let mut rest = content;
    loop {
        let (part, after) = rest.split_at(rest.len().min(PART_BYTES));
        let header = PartHeader {
            v: 1,
            upload: upload.clone(),
            is_last: after.is_empty(),
        };
        let header = serde_json::to_vec(&header)
            .map_err(|error| super::server_error("store a file", &error))?;
        let message = [header.as_slice(), b"\n", part].concat();
        let message = PublishMessage::build().payload(message.into());
        server.publish(subject.clone(), message).await?;
        rest = after;
        if rest.is_empty() {
            return Ok(());
        }
    }
}

pub(super) async fn read(server: &Server, batch: &str, name: &str) -> Result<Vec<u8>, EngineError> {
    let found = read_at(server, &server.names.file(batch, name)).await?;
    found.ok_or_else(|| EngineError::Server {
        action: "read a file",
        reason: format!("{name} is not stored"),
    })
}

/// Returns the file at a subject; `None` if there is none.
pub(super) async fn read_at(
    server: &Server,
    subject: &str,
) -> Result<Option<Vec<u8>>, EngineError> {
    let stream = server.names.files_stream();
    let stored = server.read_all(&stream, subject).await?;
    Ok(last_complete(&stored))
}

/// Returns the content of the last upload that is complete.
fn last_complete(messages: &[Stored]) -> Option<Vec<u8>> {
    let parts = messages.iter().filter_map(|message| {
        let end = message.payload.iter().position(|byte| *byte == b'\n')?;
        let (header, content) = message.payload.split_at(end);
        let header: PartHeader = serde_json::from_slice(header).ok()?;
        Some((header, content.get(1..)?))
    });
    let parts: Vec<_> = parts.collect();
    let (last, _) = parts.iter().rev().find(|(header, _)| header.is_last)?;
    let of_upload = parts
        .iter()
        .filter(|(header, _)| header.upload == last.upload);
    Some(
        of_upload
            .flat_map(|(_, content)| *content)
            .copied()
            .collect(),
    )
}
