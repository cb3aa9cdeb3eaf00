//! The log of a run in a stream: each message is one record, a line feed and its payload. Writers are fenced by the
//! sequence of the last message.

use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::message::PublishMessage;
use futures_util::future::BoxFuture;
use serde_json::json;

use super::names::RunAddress;
use super::server::{Server, Stored};
use crate::engine::{AppendError, EngineError, RunContent, RunLog};
use crate::record::{LogEntry, RunRecord, VERSION};
use crate::run_state::RunState;

/// Longest payload of one message. The server accepts 1 MiB by default; longer payloads are split.
const PART_BYTES: usize = 512 * 1024;

/// How long to wait before an append is sent again; doubled each time.
const FIRST_RETRY: Duration = Duration::from_millis(50);
const LAST_RETRY: Duration = Duration::from_secs(2);

/// How often a log is read from a replica that lags.
const READ_ATTEMPTS: u32 = 100;

/// Identifies a message across retries.
const MESSAGE_ID: &str = "Nats-Msg-Id";

pub(super) struct NatsLog {
    server: Arc<Server>,
    run: RunAddress,
    stream: String,
    subject: String,
    /// Sequence of the last message; 0 if there is none.
    last: u64,
    /// Unique for this writer.
    writer: String,
    written: u64,
    state: RunState,
    content: RunContent,
}

impl NatsLog {
    pub(super) async fn open(server: Arc<Server>, run: RunAddress) -> Result<Self, EngineError> {
        let stream = server.names.log_stream(run.shard());
        let subject = server.names.log(&run);
        let mut log = Self {
            run,
            stream,
            subject,
            last: 0,
            writer: server.client.new_inbox().replace("_INBOX.", ""),
            written: 0,
            state: RunState::default(),
            content: RunContent::default(),
            server,
        };
        let messages = log.read_messages().await?;
        let mut parts = Parts::default();
        for message in messages {
            log.last = message.sequence;
            log.read(&message.payload, &mut parts)
                .map_err(|reason| EngineError::DamagedLog {
                    run: log.run.task.clone(),
                    reason,
                })?;
        }
        Ok(log)
    }

    /// Reads all messages. A replica may lag behind the leader: reads again until it has the last one.
    async fn read_messages(&self) -> Result<Vec<Stored>, EngineError> {
        for _ in 0..READ_ATTEMPTS {
            let messages = self.server.read_all(&self.stream, &self.subject).await?;
            let last = self.server.last(&self.stream, &self.subject).await?;
            let last = last.map_or(0, |last| last.sequence);
            if messages.last().map_or(0, |message| message.sequence) >= last {
                return Ok(messages);
            }
            tokio::time::sleep(FIRST_RETRY).await;
        }
        Err(EngineError::Server {
            action: "read a log",
            reason: "a replica lags behind".to_owned(),
        })
    }

    fn read(&mut self, message: &[u8], parts: &mut Parts) -> Result<(), String> {
        let end = message.iter().position(|byte| *byte == b'\n');
        let (line, payload) = message.split_at(end.unwrap_or(message.len()));
        let payload = payload.get(1..).unwrap_or_default();
        let line = std::str::from_utf8(line).map_err(|error| error.to_string())?;
        if let Some(epoch) = part_epoch(line) {
            parts.push(epoch, payload);
            return Ok(());
        }
        let entry = LogEntry::parse(line).map_err(|error| error.to_string())?;
        let Some(entry) = entry else {
            return Ok(());
        };
        let payload = parts.complete(entry.epoch, payload);
        match &entry.record {
            RunRecord::Bytes { length, .. } => {
                self.content.session.extend_from_slice(&payload);
                let found = self.content.session.len() as u64;
                if found != *length {
                    return Err(format!("the session has {found} bytes instead of {length}"));
                }
            }
            RunRecord::Tree { .. } if !payload.is_empty() => self.content.packs.push(payload),
            RunRecord::Reopen { prompt: None, .. } => self.content = RunContent::default(),
            RunRecord::Tree { .. }
            | RunRecord::Claim { .. }
            | RunRecord::Control { .. }
            | RunRecord::Reopen { .. }
            | RunRecord::Release { .. }
            | RunRecord::End { .. } => {}
        }
        self.state.apply(&entry);
        Ok(())
    }

    async fn write(&mut self, entry: &LogEntry, payload: &[u8]) -> Result<(), AppendError> {
        let mut rest = payload;
        while rest.len() > PART_BYTES {
            let (part, after) = rest.split_at(PART_BYTES);
            let header = json!({"v": VERSION, "epoch": entry.epoch, "kind": PART});
            self.store(&header.to_string(), part).await?;
            rest = after;
        }
        let line = serde_json::to_string(entry);
        let line = line.map_err(|error| AppendError::Failed(error.to_string()))?;
        self.store(&line, rest).await?;
        self.state.apply(entry);
        let is_shown = match &entry.record {
            RunRecord::Bytes { usage, .. } => usage.is_some(),
            RunRecord::Claim { .. }
            | RunRecord::Release { .. }
            | RunRecord::End { .. }
            | RunRecord::Reopen { .. } => true,
            RunRecord::Tree { .. } | RunRecord::Control { .. } => false,
        };
        if is_shown {
            let is_end = matches!(
                entry.record,
                RunRecord::End { .. } | RunRecord::Reopen { .. }
            );
            self.publish_state(is_end).await;
        }
        Ok(())
    }

    /// Appends a message. While the server is not reachable, waits for it.
    async fn store(&mut self, line: &str, payload: &[u8]) -> Result<(), AppendError> {
        self.written += 1;
        let id = format!("{}-{}", self.writer, self.written);
        let message = bytes::Bytes::from([line.as_bytes(), b"\n", payload].concat());
        let mut delay = FIRST_RETRY;
        loop {
            let publish = PublishMessage::build()
                .payload(message.clone())
                .message_id(&id)
                .expected_last_subject_sequence(self.last);
            let stored = self.server.publish(self.subject.clone(), publish).await;
            let error = match stored {
                Ok(sequence) => {
                    self.last = sequence;
                    return Ok(());
                }
                Err(error) => error,
            };
            // The kind of the error does not tell a lost race from a lost acknowledgment: the last message does.
            if let Ok(last) = self.server.last(&self.stream, &self.subject).await {
                let sequence = last.as_ref().map_or(0, |last| last.sequence);
                let last_id = last.as_ref().and_then(|last| last.headers.get(MESSAGE_ID));
                if last_id.is_some_and(|last| last.as_str() == id) {
                    self.last = sequence;
                    return Ok(());
                }
                if sequence > self.last {
                    return Err(AppendError::Fenced);
                }
                if sequence < self.last {
                    let reason = format!("the server has lost messages ({error})");
                    return Err(AppendError::Failed(reason));
                }
            }
            tokio::time::sleep(delay).await;
            delay = (delay * 2).min(LAST_RETRY);
        }
    }

    /// Publishes the state for clients that list runs. The log is what counts: a lost state is published with the next one.
    async fn publish_state(&self, is_end: bool) {
        let Ok(state) = serde_json::to_vec(&self.state) else {
            return;
        };
        let subject = self.server.names.state(&self.run);
        if is_end {
            let message = PublishMessage::build().payload(state.into());
            self.server.publish(subject, message).await.ok();
        } else {
            self.server.client.publish(subject, state.into()).await.ok();
        }
    }

    /// Publishes the state of a finished run again, in case its worker died before it did.
    pub(super) async fn publish_end(&self) {
        self.publish_state(true).await;
    }
}

impl RunLog for NatsLog {
    fn state(&self) -> &RunState {
        &self.state
    }

    fn is_portable(&self) -> bool {
        true
    }

    fn take_content(&mut self) -> RunContent {
        std::mem::take(&mut self.content)
    }

    fn check_owner(&self) -> BoxFuture<'_, Result<(), AppendError>> {
        Box::pin(async move {
            let last = self.server.last(&self.stream, &self.subject).await;
            let last = last.map_err(|error| AppendError::Failed(error.to_string()))?;
            if last.is_some_and(|last| last.sequence > self.last) {
                return Err(AppendError::Fenced);
            }
            Ok(())
        })
    }

    fn append(
        &mut self,
        entry: LogEntry,
        payload: Vec<u8>,
    ) -> BoxFuture<'_, Result<(), AppendError>> {
        Box::pin(async move { self.write(&entry, &payload).await })
    }
}

/// The kind of a message that is the start of the next record's payload.
const PART: &str = "part";

fn part_epoch(line: &str) -> Option<u64> {
    #[derive(serde::Deserialize)]
    struct Header {
        v: u64,
        epoch: u64,
        kind: String,
    }
    let header: Header = serde_json::from_str(line).ok()?;
    (header.v == VERSION && header.kind == PART).then_some(header.epoch)
}

/// The start of a payload that was too long for one message.
#[derive(Default)]
struct Parts {
    epoch: u64,
    bytes: Vec<u8>,
}

impl Parts {
    fn push(&mut self, epoch: u64, bytes: &[u8]) {
        if self.epoch != epoch {
            // The writer was fenced or killed before it wrote the record.
            self.bytes.clear();
            self.epoch = epoch;
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// Returns the payload of a record: the parts before it, and its own bytes.
    fn complete(&mut self, epoch: u64, bytes: &[u8]) -> Vec<u8> {
        let mut payload = std::mem::take(&mut self.bytes);
        if self.epoch != epoch {
            payload.clear();
        }
        payload.extend_from_slice(bytes);
        payload
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn parts_of_a_killed_writer_are_dropped() {
        let mut parts = Parts::default();
        parts.push(1, b"lost");
        assert_eq!(parts.complete(2, b"claim"), b"claim");
        parts.push(2, b"a");
        parts.push(2, b"b");
        assert_eq!(parts.complete(2, b"c"), b"abc");
        parts.push(2, b"lost");
        parts.push(3, b"x");
        assert_eq!(parts.complete(3, b"y"), b"xy");
    }
}
